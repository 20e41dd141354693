"""Places of signoff's own things on this machine: home folder and the user's own file.

A leaf, and light: everything that must answer at once starts here.
"""

from __future__ import annotations

import errno
import os
import stat
import sys

from signoff.errors import ConfigInvalid, HomeUnsafe

# Not `typing.TYPE_CHECKING`: loading `typing` and `pathlib` takes longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

CLIENTS_FOLDER = "seats"  # stored; in the home: which clients work where
CLIENT_SUFFIX = ".seat"
HOME_VARIABLE = "SIGNOFF_HOME"
# Marks every process of an attempt, and tells our own commands that they run inside one.
ATTEMPT_VARIABLE = "SIGNOFF_ATTEMPT"
DATABASE_VARIABLE = "SIGNOFF_DATABASE"
_NO_FILE = "/no-configuration-is-shown"
USER_FILE_VARIABLE = "SIGNOFF_CONFIG"
LARGEST_FILE = 1_000_000


def as_path(text: str | os.PathLike[str]) -> Path:
    """A path as an object, for who can afford it."""
    from pathlib import Path  # noqa: PLC0415 - what must answer at once works on plain text

    return Path(text)


def resolve_home(environ: Mapping[str, str]) -> Path:
    """`$SIGNOFF_HOME`, else the user's state folder; nothing is created."""
    return as_path(home_folder(environ))


def home_folder(environ: Mapping[str, str]) -> str:
    """The home folder as text."""
    chosen = environ.get(HOME_VARIABLE)
    if not chosen:
        return os.path.join(_state_folder(environ), "signoff")
    path = os.path.expanduser(chosen)
    if not os.path.isabs(path):
        raise HomeUnsafe(
            f"{HOME_VARIABLE} is `{chosen}`: a relative path is another folder wherever you are",
            f"export {HOME_VARIABLE}={os.path.join(os.getcwd(), path)}",
        )
    return path


def user_file(environ: Mapping[str, str]) -> Path:
    """Path of the user's own configuration."""
    return as_path(_user_file(environ))


def as_shown(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without the user's configuration where that is hidden, as in a contract.

    For who only looks: whoever works must not go on without rules that cannot be read.
    """
    try:
        os.close(os.open(_user_file(environ), os.O_RDONLY | os.O_CLOEXEC))
    except FileNotFoundError:
        return dict(environ)
    except OSError:
        return {**environ, USER_FILE_VARIABLE: _NO_FILE}
    return dict(environ)


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """A configuration file as it is, unchecked; a missing one is an empty one."""
    data = _read(path)
    if not data:
        return {}
    import tomllib  # noqa: PLC0415 - most users have no such file, and start-up pays for it

    try:
        return tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigInvalid(f"`{path}` is not valid TOML: {error}") from error


def user_choice(environ: Mapping[str, str], name: str) -> Any:
    """One value of the user's own file, or None; a file that does not name it is not parsed."""
    path = _user_file(environ)
    data = _read(path)
    # A key can also be spelt with escapes; then only parsing tells.
    if name.encode() not in data and b"\\" not in data:
        return None
    return read_toml(path).get(name)


def read_config_file(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a configuration file.

    An agent can put a pipe or an endless device in the file's place: neither is waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        if state.st_size > LARGEST_FILE:
            raise OSError(errno.EFBIG, f"it is larger than {LARGEST_FILE} bytes")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(LARGEST_FILE)
    finally:
        os.close(descriptor)


def _user_file(environ: Mapping[str, str]) -> str:
    named = environ.get(USER_FILE_VARIABLE)
    if named:
        return named
    base = environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME", "/"), ".config")
    return os.path.join(base, "signoff", "config.toml")


def _read(path: str | os.PathLike[str]) -> bytes:
    try:
        return read_config_file(path)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise ConfigInvalid(f"cannot read `{path}`: {error.strerror}") from error


def _state_folder(environ: Mapping[str, str]) -> str:
    """Folder in which programs keep state, by the custom of the system."""
    user = os.path.expanduser("~")
    if sys.platform == "darwin":
        return os.path.join(user, "Library", "Application Support")
    return environ.get("XDG_STATE_HOME", "").strip() or os.path.join(user, ".local", "state")


def any_clients(environ: Mapping[str, str]) -> bool:
    """True when a client connected and its note is still there; hooks ask this at once."""
    try:
        names = os.listdir(os.path.join(home_folder(environ), CLIENTS_FOLDER))
    except OSError:
        return False
    return any(name.endswith(CLIENT_SUFFIX) for name in names)
