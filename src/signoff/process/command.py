"""A command, its limits and rights, the reason when it cannot be started, and its output."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum, StrEnum, auto
from pathlib import Path

from msgspec import Struct

from signoff.domain.verdict import Ending, Isolation, Output
from signoff.process.limits import Limits, PidGroup, limit_running
from signoff.process.tree import Tree


class Unavailable(Exception):
    """A sandbox cannot do here what is asked of it; the message says why."""


class Mount(Struct, frozen=True):
    """Shows `source` at the path `at`."""

    source: Path
    at: Path
    writable: bool = False
    holds_parents: bool = True  # whether folders on the way to it are kept from being moved


class Confinement(Struct, frozen=True):
    """Everything is readable except what is hidden or private; only what is named can be changed.

    The most specific rule holds: a writable folder below a hidden one is seen, a hidden one below
    a writable one is not. `readonly`, `readable`, `hidden` and `scratch` paths that do not exist
    are left out; a `writable` path that does not exist is refused.
    """

    isolation: Isolation
    writable: tuple[Path, ...]
    readonly: tuple[Path, ...] = ()
    """Holes in the writable ones: seen, not changeable."""
    absent: tuple[Path, ...] = ()
    """Not there, and not to be made: shown empty and not changeable while the command runs."""
    readable: tuple[Path, ...] = ()
    """Seen although they lie below a private or hidden folder."""
    shown: tuple[Path, ...] = ()  # and not changeable, even below a hidden folder
    hidden: tuple[Path, ...] = ()  # folders or files of which nothing can be read
    scratch: tuple[Path, ...] = ()  # empty, writable, and gone afterwards
    mounts: tuple[Mount, ...] = ()
    network: bool = False
    hosts: tuple[str, ...] | None = None
    """All that the network is, where it is not all of it: names, `*.name`, or with one port."""
    traceless: bool = False
    """Leaves nothing of what it saw behind in shared memory or in attributes of files."""

    def __post_init__(self) -> None:
        if self.isolation is Isolation.NONE:
            raise ValueError("a run without a sandbox has no confinement")


def is_within(path: Path, folder: Path) -> bool:
    """True when a path is the folder or lies in it, links followed."""
    return path.resolve().is_relative_to(folder.resolve())


class Command(Struct, frozen=True):
    """A program with its folder and environment, and the words to find in its output.

    `marked_by` names the variable of `env` by which `kill_marked` finds the run's processes after
    the harness itself was killed; its value must be unique to the run. `born_with` is such a name
    and value for a command whose environment is not to tell who runs it: then only the birthmark
    does. Without a `confinement` the command may do what the user may.
    """

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    limits: Limits
    stdin: bytes = b""
    find_stdout: tuple[bytes, ...] = ()
    find_stderr: tuple[bytes, ...] = ()
    marked_by: str | None = None
    born_with: tuple[str, str] | None = None
    confinement: Confinement | None = None


class Refusal(Struct, frozen=True):
    """The reason why there is no process."""

    ending: Ending
    detail: str


def popen(
    command: Command,
    argv: tuple[str, ...],
    env: Mapping[str, str],
    cwd: Path,
    pass_fds: tuple[int, ...] = (),
) -> subprocess.Popen[bytes]:
    """A process in a session of its own, its output in pipes."""
    return subprocess.Popen(
        [as_bytes(word) for word in argv],
        cwd=cwd,
        env={as_bytes(name): as_bytes(value) for name, value in env.items()},
        stdin=subprocess.PIPE if command.stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
        pass_fds=pass_fds,
    )


def as_bytes(text: str) -> bytes:
    """The bytes that a process is given: UTF-8, whatever the caller's locale can write."""
    return text.encode("utf-8", "surrogateescape")


def refusal_of(command: Command, error: OSError | ValueError) -> Refusal:
    """Explain why the system did not start the command."""
    program = command.argv[0]
    if not isinstance(error, OSError):
        return Refusal(Ending.NOT_STARTED, f"`{program}`: {error}")
    missing = refusal_of_folder(command.cwd)
    return missing or refusal_of_program(program, error.errno or 0)


def refusal_of_folder(cwd: Path) -> Refusal | None:
    """The reason why nothing can run in this folder; None when something can."""
    if not cwd.is_dir():
        return Refusal(Ending.NOT_STARTED, f"the folder `{cwd}` is not there")
    if not os.access(cwd, os.X_OK):
        return Refusal(Ending.NOT_STARTED, f"the folder `{cwd}` may not be entered")
    return None


def refusal_of_program(program: str, number: int) -> Refusal:
    """Explain the error number that starting a program gave."""
    reason = os.strerror(number).lower()
    ending = Ending.NOT_STARTED
    if number in (errno.ENOENT, errno.ENOTDIR):
        ending = Ending.NOT_FOUND
    elif number in (errno.EACCES, errno.ENOEXEC, errno.EPERM):
        ending = Ending.NOT_EXECUTABLE
    return Refusal(ending, f"`{program}`: {reason}")


class Unconfined:
    """A command without a sandbox: the main process is the command."""

    denied_hosts: tuple[str, ...] = ()

    def __init__(self, command: Command):
        self.command = command

    def popen(self) -> subprocess.Popen[bytes]:
        """Start the command itself."""
        return popen(self.command, self.command.argv, self.command.env, self.command.cwd)

    def settle(
        self, process: subprocess.Popen[bytes], tree: Tree, group: PidGroup | None
    ) -> int | None:
        """Limit the running command from outside: a `preexec_fn` would make it a full fork.

        What it forked in the meantime gets the limits too, so only processor time and files of
        the first moments go uncounted.
        """
        del tree, group  # most commands have ended by the time a group would hold them
        return limit_running(process.pid, self.command.limits)

    def outcome(self, code: int, stderr: bytes) -> int | Refusal:
        """The command's own end."""
        del stderr
        return code

    def close(self) -> None:
        """Do nothing: nothing is held."""

    @property
    def listener(self) -> tuple[int, Callable[[], None]] | None:
        """A descriptor that tells of refused calls, and what takes them in; None without one."""
        return None

    @property
    def denied(self) -> tuple[str, ...]:
        """Refused accesses that were seen, in words."""
        return ()


class StreamName(StrEnum):
    """Names of the two output streams."""

    STDOUT = "stdout"
    STDERR = "stderr"


class StreamRecord:
    """Takes chunks of any size in bounded memory."""

    def __init__(self, keep_head: int, keep_tail: int, needles: tuple[bytes, ...] = ()):
        self.size = 0
        self._hash = hashlib.sha256()
        self._head = bytearray()
        self._tail = bytearray()
        self._keep_head = keep_head
        self._keep_tail = keep_tail
        self._needles = needles
        self._found = [needle == b"" for needle in needles]
        self._carry = b""

    def feed(self, chunk: bytes) -> None:
        """Account for the next piece of the stream."""
        self.size += len(chunk)
        self._hash.update(chunk)
        self._search(chunk)
        room = self._keep_head - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        self._tail += chunk[-self._keep_tail :] if self._keep_tail else b""
        # Trimming at twice the length keeps the copying linear in the output.
        if len(self._tail) > 2 * self._keep_tail:
            del self._tail[: -self._keep_tail]

    def output(self) -> Output:
        """The stream as far as it was read."""
        tail = self._tail[-self._keep_tail :] if self._keep_tail else b""
        return Output(self.size, self._hash.hexdigest(), bytes(self._head), bytes(tail))

    def matches(self) -> tuple[bool, ...]:
        """One flag per needle: True when it appeared anywhere."""
        return tuple(self._found)

    def _search(self, chunk: bytes) -> None:
        missing = [i for i, found in enumerate(self._found) if not found]
        if not missing:
            return
        text = self._carry + chunk
        for i in missing:
            self._found[i] = self._needles[i] in text
        longest = max(len(self._needles[i]) for i in missing)
        self._carry = text[-(longest - 1) :] if longest > 1 else b""


# Sockets of the host's services, other programs' temporary files and shared memory live here.
_PRIVATE = ("/tmp", "/var/tmp", "/run")
_SYSTEM_IN_RUN = ("/run/current-system", "/run/opengl-driver")
_RESOLVER = "/etc/resolv.conf"


# The view of the file system inside bubblewrap: one rule per place, the most specific wins. Outer
# places are mounted before inner ones. A folder on the way from a writable folder to a protected
# place is mounted onto itself: a mount point cannot be renamed, and so the protected place cannot
# be carried away with its parent and replaced.
class _Kind(Enum):
    PRIVATE = auto()
    READABLE = auto()
    WRITABLE = auto()
    SCRATCH = auto()
    READONLY = auto()
    HIDDEN = auto()


class _Rule(Struct, frozen=True):
    kind: _Kind
    source: Path


def mount_arguments(confinement: Confinement) -> list[str]:
    """Arguments for bubblewrap that make the view; the order is part of the meaning.

    Raises Unavailable when what is asked for cannot be shown.
    """
    rules = _Rules(confinement)
    arguments = ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
    # The first process relays the command's exit code: nobody inside may write its memory. Kernel
    # settings belong to root's number, capabilities or not, and `bwrap` leaves them writable:
    # `/proc/sys/kernel/core_pattern` alone would run any program outside, with all rights.
    arguments += ["--perms", "0111", "--tmpfs", "/proc/1"]
    sealed = ["/proc/1", "/proc"] if os.geteuid() == 0 else ["/proc/1"]
    for place, rule in rules.outer_first():
        arguments += _mount(place, rule)
        if rule.kind is _Kind.HIDDEN and rule.source.is_dir():
            sealed.append(str(place))
    # Sealed at the end, because inner mount points are made in them.
    for folder in sealed:
        arguments += ["--remount-ro", folder]
    return arguments


class _Rules:
    """Rules of a sandbox: at most one for each place, links resolved."""

    def __init__(self, confinement: Confinement):
        self._mounts = {_real(mount.at): mount for mount in confinement.mounts}
        self._rules: dict[Path, _Rule] = {}
        cwd = os.getcwd()  # noqa: PTH109 - places are compared as text: there are many
        self._cwd = cwd
        self._writable = [(_named(cwd, root), str(_real(root))) for root in confinement.writable]
        for path in (*confinement.writable, *(mount.at for mount in confinement.mounts)):
            if self._leads_out(path):
                raise Unavailable(f"a link leads from `{path}` out of its writable folder")
        # From the weakest to the strongest: for the same place the later one holds.
        always = (*_SYSTEM_IN_RUN, *((_RESOLVER,) if confinement.network else ()))
        readable = (*map(Path, always), *confinement.readable)
        self._add(_Kind.READABLE, (path for path in readable if not self._leads_out(path)))
        self._add(_Kind.PRIVATE, map(Path, _PRIVATE))
        self._add(_Kind.WRITABLE, confinement.writable, required=True)
        self._add(_Kind.SCRATCH, confinement.scratch)
        for place, mount in self._mounts.items():
            kind = _Kind.WRITABLE if mount.writable else _Kind.READONLY
            self._rules[place] = _Rule(kind, _real(mount.source))
        self._add(_Kind.READONLY, (*confinement.readonly, *confinement.absent))
        self._add(_Kind.HIDDEN, confinement.hidden)
        self._add(_Kind.READONLY, confinement.shown)
        self._drop_what_needs_no_mount()
        self._hold_parents_in_place()

    def outer_first(self) -> Iterator[tuple[Path, _Rule]]:
        """Every place before those inside it."""
        return iter(sorted(self._rules.items(), key=lambda item: len(item[0].parts)))

    def _add(self, kind: _Kind, paths: Iterable[Path], *, required: bool = False) -> None:
        for path in paths:
            place = _real(path)
            source = self._source(place)
            if source.exists():
                self._rules[place] = _Rule(kind, source)
            elif required:
                raise Unavailable(f"`{path}` is to be writable and is not there")

    def _source(self, place: Path) -> Path:
        """The host's path of a place: below a mount it lies in the mount's source."""
        for outer in (place, *place.parents):
            mount = self._mounts.get(outer)
            if mount is not None:
                return _real(mount.source) / place.relative_to(outer)
        return place

    def _enclosing(self, place: Path) -> tuple[Path, _Rule] | None:
        for outer in place.parents:
            if outer in self._rules:
                return outer, self._rules[outer]
        return None

    def _drop_what_needs_no_mount(self) -> None:
        """Drop rules that need no mount: what is visible anyway would become read-only."""
        readable = [p for p, rule in self._rules.items() if rule.kind is _Kind.READABLE]
        for place in sorted(readable, key=lambda path: len(path.parts)):
            outer = self._enclosing(place)
            if outer is None or outer[1].kind not in (_Kind.PRIVATE, _Kind.SCRATCH):
                del self._rules[place]

    def _hold_parents_in_place(self) -> None:
        loose = {at for at, mount in self._mounts.items() if not mount.holds_parents}
        for place in [place for place in self._rules if place not in loose]:
            outer = self._enclosing(place)
            if outer is None or outer[1].kind is not _Kind.WRITABLE:
                continue
            for between in place.relative_to(outer[0]).parents:
                held = outer[0] / between
                if held != outer[0] and self._source(held).is_dir():
                    self._rules.setdefault(held, _Rule(_Kind.WRITABLE, self._source(held)))

    def _leads_out(self, path: Path) -> bool:
        """True for a link in a writable folder that leads out: following it would widen rights."""
        named = _named(self._cwd, path)
        roots = [real for root, real in self._writable if _is_in(named, root)]
        return bool(roots) and not all(_is_in(str(_real(path)), real) for real in roots)


def _named(cwd: str, path: Path) -> str:
    return os.path.normpath(os.path.join(cwd, path))  # noqa: PTH118 - text, as above


def _is_in(place: str, folder: str) -> bool:
    return place == folder or place.startswith(f"{folder.rstrip('/')}/")


def _mount(place: Path, rule: _Rule) -> list[str]:
    source, at = str(rule.source), str(place)
    if rule.kind in (_Kind.READABLE, _Kind.READONLY):
        return ["--ro-bind", source, at]
    if rule.kind is _Kind.WRITABLE:
        return ["--bind", source, at]
    if rule.kind is _Kind.HIDDEN:
        # A device on a mount without devices: the name is there, opening it is refused.
        is_folder = rule.source.is_dir()
        return ["--perms", "0111", "--tmpfs", at] if is_folder else ["--ro-bind", "/dev/null", at]
    if rule.kind is _Kind.PRIVATE and place != _real(Path("/run")):
        return ["--perms", "1777", "--tmpfs", at]
    return ["--tmpfs", at]


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
