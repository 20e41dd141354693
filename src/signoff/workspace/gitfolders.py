"""Find a repository's folders of objects, refs and worktrees, and check that we may use them.

Everything here may have been arranged by an agent: files are read without following links, and a
link where git would write is refused.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from signoff.errors import StorageFailed, UsageError
from signoff.workspace.checkout import read_pointer
from signoff.workspace.folders import FOLDER_FLAGS, Repository, read_small, wait_for

LOCK_TIMEOUT_S = 300.0
_CONFIG_BYTES = 1 << 20
_BRANCHES = "refs/heads/"
_SECTION = re.compile(r'\s*\[\s*([-.\w]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]')
_SETTING = re.compile(r"\s*([A-Za-z][-\w]*)\s*(?:=\s*(.*)|[#;].*)?$")
_NEWEST_VERSION = 1
# What these change is not what we do: nothing is fetched, collected or read from configuration.
_HARMLESS = frozenset(
    {"noop", "noop-v1", "preciousobjects", "partialclone", "worktreeconfig", "relativeworktrees"}
)

_UNDERSTOOD = {("refstorage", "files"), ("objectformat", "sha1")}
_RULES_ELSEWHERE = frozenset({"core.excludesfile", "core.attributesfile"})


class Head(NamedTuple):
    """HEAD of a checkout: a branch, or a commit without one."""

    branch: str | None
    commit: str | None


def common_folder(repository: Repository) -> Path:
    """The folder with objects and refs; UsageError where a write could land somewhere else."""
    dot_git = repository.top / ".git"
    if dot_git.is_dir():
        common = dot_git
    elif repository.main != repository.top:
        shared = repository.main / ".git"
        common = shared if shared.is_dir() else repository.main
    else:
        raise UsageError(
            f"`{dot_git}` leads elsewhere; nothing is written there",
            "work in the checkout that it belongs to, or in a worktree of it",
        )
    refuse_links(common, ("", "refs", "refs/heads", "packed-refs", "worktrees", "info", "config"))
    objects = common / "objects"
    refuse_links(objects, ("", *(entry.name for entry in _scan(objects))))
    return common


def refuse_links(folder: Path, names: tuple[str, ...]) -> None:
    """UsageError when one of the places is a symbolic link: a write would follow it."""
    for place in (folder / name for name in names):
        if place.is_symlink():
            raise UsageError(
                f"`{place}` is a symbolic link; nothing is written there",
                "find out who made it, then put back what belongs there: "
                f"ls -l {shlex.quote(str(place))}",
            )


def refuse_linked_ref(common: Path, ref: str) -> None:
    """Refuse a symbolic link at the place of a ref or on the way to it."""
    parts = ref.split("/")
    refuse_links(common, tuple("/".join(parts[:n]) for n in range(1, len(parts) + 1)))


def read_bare(common: Path) -> bool:
    """True when the configuration says that there is no checkout; an unknown format is refused.

    Nothing else in it is read.
    """
    place = common / "config"
    data = read_small(place, _CONFIG_BYTES)
    if data is None and place.exists():
        raise UsageError(
            f"`{place}` cannot be read as a small regular file",
            f"look at it: ls -l {shlex.quote(str(place))}",
        )
    settings = _settings((data or b"").decode("utf-8", "replace"))
    version = settings.get("core.repositoryformatversion", "0")
    if not version.isdecimal() or int(version) > _NEWEST_VERSION:
        raise _unknown(f"format version `{version}`", place)
    for name, value in settings.items():
        section, _, key = name.partition(".")
        known = key in _HARMLESS or (key, value) in _UNDERSTOOD
        if section == "extensions" and not known:
            raise _unknown(f"extension `{key}` = `{value}`", place)
    return settings.get("core.bare", "false").lower() in ("true", "yes", "on", "1")


def read_head(own: Path) -> Head:
    """Read a checkout's HEAD; `own` is the folder with the HEAD."""
    place = own / "HEAD"
    # As a link, git wrote it before 2005, and still reads it.
    text = f"ref: {place.readlink()}" if place.is_symlink() else read_pointer(place) or ""
    if not text.startswith("ref:"):
        return Head(None, text if re.fullmatch("[0-9a-f]{40}", text) else None)
    ref = text.removeprefix("ref:").strip()
    return Head(ref.removeprefix(_BRANCHES) if ref.startswith(_BRANCHES) else None, None)


@contextmanager
def locked(common: Path, timeout_s: float = LOCK_TIMEOUT_S) -> Iterator[None]:
    """One of us at a time changes worktrees and checkouts of a repository."""
    with refusals(common), wait_for(common, FOLDER_FLAGS, timeout_s):
        yield


@contextmanager
def refusals(place: Path) -> Iterator[None]:
    """Turn a refusal of the system into an error that names the place."""
    try:
        yield
    except OSError as error:
        raise StorageFailed(
            f"`{error.filename or place}`: {error.strerror or error}",
            facts={"path": str(place), "errno": error.errno},
        ) from error


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        raise UsageError(
            f"`{folder}` cannot be read: {error.strerror}",
            f"look at it: ls -ld {shlex.quote(str(folder))}",
        ) from error


def _settings(text: str) -> dict[str, str]:
    """`section.key` to value, the last one counts; sections with a subsection are left out."""
    return {
        f"{section}.{key}": value
        for section, is_sub, key, value in _configured(text)
        if section and not is_sub
    }


def ignore_settings(text: str) -> dict[str, list[str]]:
    """Settings that name more rules of what to pass over, or more settings, in their order."""
    found: dict[str, list[str]] = {}
    for section, _, key, value in _configured(text):
        name = f"{section}.{key}"
        if name in _RULES_ELSEWHERE or section in ("include", "includeif"):
            found.setdefault(name, []).append(value)
    return found


def _configured(text: str) -> Iterator[tuple[str, bool, str, str]]:
    """Section, whether it is a subsection, key and value of each setting of a git configuration."""
    section, is_sub = "", False
    for line in text.removeprefix("\ufeff").replace("\\\n", "").split("\n"):
        rest = line
        while header := _SECTION.match(rest):
            section, is_sub = header[1].lower(), header[2] is not None or "." in header[1]
            rest = rest[header.end() :]
        setting = _SETTING.match(rest)
        if setting:
            value = "true" if setting[2] is None else _plain(setting[2])
            yield section, is_sub, setting[1].lower(), value


def _plain(value: str) -> str:
    """A value without quotes and comment."""
    out, quoted = [], False
    for char in value:
        if char == '"':
            quoted = not quoted
        elif char in "#;" and not quoted:
            break
        else:
            out.append(char)
    return "".join(out).strip()


def _unknown(what: str, place: Path) -> UsageError:
    return UsageError(
        f"the repository has the {what} (`{place}`), which signoff cannot work with",
        "use a clone of it without that",
    )


def exclude_from_git(repository: Repository, line: str) -> bool:
    """Append a pattern once to what git passes over; whether it had to be."""
    if not line.strip() or "\n" in line:
        raise UsageError(f"`{line!r}` is not one line of ignore rules", "pass one pattern")
    common = common_folder(repository)
    refuse_links(common, ("info/exclude",))
    place = common / "info" / "exclude"
    with locked(common), refusals(place):
        before = read_small(place, _CONFIG_BYTES)
        if before is None and os.path.lexists(place):
            raise UsageError(f"`{place}` cannot be read as a small regular file", "look at it")
        wanted = os.fsencode(line)
        if before and wanted in before.replace(b"\r\n", b"\n").split(b"\n"):
            return False
        gap = b"" if not before or before.endswith(b"\n") else b"\n"
        place.parent.mkdir(exist_ok=True)
        fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o644)
        with open(fd, "ab") as file:
            file.write(gap + wanted + b"\n")
            file.flush()
            os.fsync(fd)
    return True
