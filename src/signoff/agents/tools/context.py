"""Things that a tool call may reach: files, the shell, the notebook, the person.

Writes stay in the workspace, reads in it and in allowed folders. A name is resolved once, compared
with what is allowed, and then opened from the top without following any link: what is swapped in
between is not reached.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from signoff.domain.digests import digest_bytes
from signoff.domain.text import escape_line, shown_list, storable_path
from signoff.process.environment import STANDARD_PATH
from signoff.settings.roles import Role
from signoff.toolbatch.calls import CallResult
from signoff.verification.enclosure import UNCONFINED, Enclosure

Ask = Callable[[str], str | None]
LARGEST_FILE = 10_000_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE_MODE = 0o666  # the kernel takes the umask off


class ToolError(Exception):
    """A tool's honest no: its message is what the model gets."""


class FileContent(Struct, frozen=True):
    """A file as it was read or written; the path is relative to the workspace where it can be."""

    path: str
    data: bytes
    sha256: str


class Files(Struct, frozen=True):
    """Files that a session may read and write.

    `readable` are more roots that may be read. Nothing at or below `untouchable` is written: the
    vault, the plan, the configuration, `.git`. Nothing at or below `hidden` is even read.
    """

    workspace: Path
    readable: tuple[Path, ...] = ()
    untouchable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()

    def read(self, named: str) -> FileContent:
        path = self.to_read(named)
        try:
            with _folder_of(path, named) as folder:
                fd = os.open(path.name or ".", _FILE, dir_fd=folder)
        except OSError as error:
            raise _told(named, error) from None
        try:
            state = os.fstat(fd)
            if stat.S_ISDIR(state.st_mode):
                raise ToolError(f"`{named}` is a folder; list it with glob")
            if not stat.S_ISREG(state.st_mode):
                raise ToolError(f"`{named}` is not a regular file")
            if state.st_size > LARGEST_FILE:
                raise ToolError(
                    f"`{named}` has {state.st_size} bytes, more than {LARGEST_FILE}; "
                    "search it with grep, or cut a part out with bash (sed -n, head, tail)"
                )
            with open(fd, "rb", closefd=False) as file:
                data = file.read(LARGEST_FILE + 1)
        finally:
            os.close(fd)
        return FileContent(self.shown(path), data, digest_bytes(data))

    def write(self, named: str, data: bytes) -> FileContent:
        """Replace a file as a whole, or make it and the folders above it.

        A new file takes the old one's place, so that other names of the old one (hard links) keep
        what they had.
        """
        path = self.to_write(named)
        if path == self.workspace:
            raise ToolError(f"`{named}` is the workspace itself; name a file")
        with _folder_of(path, named, make=True) as folder:
            _replace(folder, path.name, data, named)
        return FileContent(self.shown(path), data, digest_bytes(data))

    def remove(self, named: str) -> str:
        path = self.to_write(named)
        with _folder_of(path, named) as folder:
            try:
                os.unlink(path.name, dir_fd=folder)
            except OSError as error:
                raise _told(named, error) from None
        return self.shown(path)

    def to_read(self, named: str) -> Path:
        """Resolve a name that may be read."""
        path = self._resolved(named)
        roots = (str(self.workspace), *(os.path.realpath(root) for root in self.readable))
        if not any(_lies_in(path, root) for root in roots):
            raise ToolError(
                f"`{named}` leads outside the workspace; readable are `.` and "
                + (shown_list(map(str, self.readable)) or "nothing else")
            )
        return path

    def to_write(self, named: str) -> Path:
        """Resolve a name that may be written."""
        path = self._resolved(named)
        if not _lies_in(path, self.workspace):
            raise ToolError(f"`{named}` leads outside the workspace; write inside it")
        if any(_lies_in(path, os.path.realpath(place)) for place in self.untouchable):
            raise ToolError(
                f"`{named}` belongs to the harness or the user; agents may not write it"
            )
        return path

    def shown(self, path: Path) -> str:
        """A path as reports and evidence name it."""
        whole, root = str(path), str(self.workspace)
        inside = _lies_in(whole, root)
        return storable_path((whole[len(root) :].lstrip("/") or ".") if inside else whole)

    def is_open(self, path: Path) -> bool:
        """True when a path that a walk met may be shown; links are met, not followed."""
        return not any(_lies_in(path, os.path.realpath(place)) for place in self.hidden)

    def holds_hidden(self, folder: Path) -> bool:
        """True when something hidden lies in a folder, for searches that cannot step around it."""
        return any(_lies_in(os.path.realpath(place), folder) for place in self.hidden)

    def _resolved(self, named: str) -> Path:
        if not named or "\0" in named:
            raise ToolError("the path is empty" if not named else "the path has a NUL in it")
        try:
            path = Path(os.path.realpath(self.workspace / named))
        except OSError as error:
            raise _told(named, error) from None
        except ValueError:
            raise ToolError(f"`{escape_line(named)}` cannot be a file's name") from None
        if not self.is_open(path):
            raise ToolError(f"`{named}` is the harness's own; agents neither read nor write it")
        return path


def _lies_in(path: Path | str, folder: Path | str) -> bool:
    """True when a path is this one or below it, both resolved; asked often, so without parsing."""
    whole, above = str(path), str(folder)
    return whole == above or whole.startswith(above if above.endswith("/") else f"{above}/")


@contextmanager
def _folder_of(path: Path, named: str, *, make: bool = False) -> Iterator[int]:
    """The folder of a resolved path, reached step by step: a link that appeared is not followed."""
    fd = os.open(path.anchor, _FOLDER)
    try:
        for part in path.parent.parts[1:]:
            try:
                deeper = _opened(fd, part, make)
            except OSError as error:
                raise _told(named, error) from None
            os.close(fd)
            fd = deeper
        yield fd
    finally:
        os.close(fd)


def _opened(folder: int, name: str, make: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)
        return os.open(name, _FOLDER, dir_fd=folder)


def _replace(folder: int, name: str, data: bytes, named: str) -> None:
    temporary = f".{name[:100]}.{secrets.token_hex(6)}.tmp"
    try:
        before = None
        with suppress(FileNotFoundError):
            before = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if before is not None and not stat.S_ISREG(before.st_mode):
            raise ToolError(f"`{named}` is not a regular file")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(temporary, flags, _NEW_FILE_MODE, dir_fd=folder)
        with open(fd, "wb") as file:
            if before is not None:
                os.fchmod(fd, stat.S_IMODE(before.st_mode))
            file.write(data)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise _told(named, error) from None


def _told(named: str, error: OSError) -> ToolError:
    if error.errno == errno.ENOENT:
        return ToolError(f"no file `{named}`; look with glob")
    return ToolError(f"`{named}`: {(error.strerror or str(error)).lower()}")


class Trace(Struct):
    """The files that one call read and wrote, each with its digest; empty for one that is gone.

    `content` is the workspace's digest after a call that may rest on any file of it; `touched` is
    what it changed otherwise: links, permissions, folders, ignored files.
    """

    reads: dict[str, str] = field(default_factory=dict)
    writes: dict[str, str] = field(default_factory=dict)
    content: str = ""
    touched: tuple[str, ...] = ()
    exit_code: int | None = None  # of a command that was started and came to its end
    says_no: bool = False  # it answered, and the answer is no: it proves nothing

    def result(self, text: str, ok: bool) -> CallResult:
        return CallResult(text, ok, **asdict(self))


class Changes(Struct, frozen=True):
    """Changes of the workspace: files with their digests, anything else, and the whole."""

    files: Mapping[str, str]
    others: tuple[str, ...]
    content: str


class Watch(Protocol):
    """Sees what a command did to the workspace, whatever the command says."""

    def mark(self) -> str:
        """The digest of the content as it is now, to be compared with later."""

    def content(self) -> str:
        """The digest of the content as it is now."""

    def changed_since(self, mark: str) -> Changes:
        """Changes since then."""


class Notebook(Struct):
    """The model's own notes; they outlive a compaction."""

    todo: tuple[tuple[str, bool], ...] = ()
    scratchpad: dict[str, str] = field(default_factory=dict)

    def to_data(self) -> dict[str, Any]:
        return {"todo": [list(item) for item in self.todo], "scratchpad": dict(self.scratchpad)}

    def load(self, data: Mapping[str, Any]) -> None:
        self.todo = tuple((str(text), bool(done)) for text, done in data["todo"])
        self.scratchpad = {str(key): str(text) for key, text in data["scratchpad"].items()}


class Shell(Struct, frozen=True):
    """Settings for commands of the model: the sandbox, the environment, the limits."""

    role: Role = field(default_factory=lambda: Role("agent", ""))
    enclosure: Enclosure = UNCONFINED
    environ: Mapping[str, str] = field(default_factory=dict)
    search_path: str = STANDARD_PATH
    longest_s: float = 600.0
    mark: str | None = None  # of the workspace, to find what outlives a killed harness
    cancelled: Callable[[], bool] | None = None


class ToolContext(Struct, frozen=True):
    """Given to every tool that asks for it; the trace is of one call."""

    files: Files
    shell: Shell = Shell()
    notebook: Notebook = field(default_factory=Notebook)
    ask: Ask | None = None
    watch: Watch | None = None
    trace: Trace = field(default_factory=Trace)

    @property
    def workspace(self) -> Path:
        return self.files.workspace

    def for_call(self) -> ToolContext:
        """The context for one call, with nothing touched yet."""
        return replace(self, trace=Trace())

    def read(self, named: str) -> bytes:
        """A file's content; the call is noted to rest on it."""
        content = self.files.read(named)
        self.trace.reads[content.path] = content.sha256
        return content.data

    def rest_on_all(self) -> None:
        """The call looked at more files than can be named: it rests on the whole content."""
        if self.watch is not None:
            self.trace.content = self.watch.content()

    def write(self, named: str, data: bytes) -> str:
        """Replace or make a file; returns its path as reports name it."""
        content = self.files.write(named, data)
        self.trace.writes[content.path] = content.sha256
        return content.path

    def remove(self, named: str) -> str:
        path = self.files.remove(named)
        self.trace.writes[path] = ""
        return path
