"""Limits of a run: its time, the output that is kept, the kernel's caps and what they carry.

The kernel exempts root from `RLIMIT_NPROC`, also inside user namespaces; a control group it does
not. Making one takes rights that usually only root has: where it is refused there is none.
"""

from __future__ import annotations

import errno
import hashlib
import itertools
import os
import platform
import re
import secrets
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from signoff.process.proctable import descendants, read_proc, read_stat

if sys.platform != "win32":
    import resource


class Limits(Struct, frozen=True):
    """`max_output` counts both streams together, `processes` all processes of the run.

    `open_files`, `file_size`, `cpu_s` and `memory` hold for each process of the run. `memory`
    counts what a process may write for itself alone, not what it merely reserves or shares.
    """

    wall_s: float
    grace_s: float = 1.0
    keep_head: int = 16_384
    keep_tail: int = 49_152
    max_output: int | None = None
    open_files: int | None = None
    file_size: int | None = None
    cpu_s: int | None = None
    memory: int | None = None
    processes: int | None = None


def apply_limits(pids: Iterable[int], limits: Limits) -> None:
    """Cap running processes from outside; what they start later inherits the caps."""
    wanted = {
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_FSIZE: limits.file_size,
        resource.RLIMIT_CPU: limits.cpu_s,
        # Not RLIMIT_AS: runtimes such as Node reserve address space by the gigabyte.
        resource.RLIMIT_DATA: limits.memory,
    }
    asked = {number: value for number, value in wanted.items() if value is not None}
    if not asked:
        return
    for pid in pids:
        for number, value in asked.items():
            _cap(pid, number, value)


def limit_running(main: int, limits: Limits) -> int | None:
    """Limit a process that already runs, and what it has started by now; the cap on processes."""
    apply_limits((main, *descendants([main])), limits)
    return limits.processes


def cap_user_processes(pid: int, most: int) -> None:
    """Cap how many processes the user may have; meaningful only inside a user namespace."""
    _cap(pid, resource.RLIMIT_NPROC, most)


def _cap(pid: int, number: int, value: int) -> None:
    if sys.platform != "linux":
        return
    with suppress(OSError):
        hard = resource.prlimit(pid, number)[1]
        cap = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.prlimit(pid, number, (cap, cap))


_PREFIX = "signoff-"
_numbers = itertools.count()


class PidGroup:
    """One run's control group, made when it is first needed, closed when all of the run is dead.

    To move a process into a group the kernel waits for every processor, some milliseconds.
    """

    def __init__(self, most: int):
        self._most = most
        self._folder: Path | None = None

    def add(self, pid: int) -> bool:
        """Put a process, and what it starts from now on, under the cap; False where refused."""
        self._folder = self._folder or _make_folder(self._most)
        if self._folder is None:
            return False
        try:
            (self._folder / "cgroup.procs").write_text(str(pid))
        except OSError:
            return False
        return True

    def members(self) -> frozenset[int]:
        """Processes under the cap."""
        if self._folder is None:
            return frozenset()
        return frozenset(map(int, read_proc(f"{self._folder}/cgroup.procs").split()))

    def close(self) -> None:
        """Remove the group; one that is still in use stays, and is removed by a later run."""
        if self._folder is not None:
            _remove(self._folder)


def _make_folder(most: int) -> Path | None:
    """A group that holds at most so many processes and threads; None where that is refused."""
    parent = _parent_folder()
    if parent is None:
        return None
    for left in parent.glob(f"{_PREFIX}*-*"):  # by drivers that are dead
        pid = left.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdecimal() and read_stat(int(pid)) is None:
            _remove(left)
    folder = parent / f"{_PREFIX}{os.getpid()}-{next(_numbers)}"
    try:
        folder.mkdir()
    except OSError:
        return None
    try:
        (folder / "pids.max").write_text(str(most))
    except OSError:
        _remove(folder)
        return None
    return folder


def _remove(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def _parent_folder() -> Path | None:
    """Our own group, where it may have groups with a cap: any other has other limits than ours."""
    own = _own_groups()
    for line in read_proc("/proc/self/mountinfo").decode(errors="replace").splitlines():
        fields, _, rest = line.partition(" - ")
        kind, _, options = rest.partition(" ")
        root, place = fields.split(" ")[3:5]
        if kind == "cgroup" and "pids" in re.split("[ ,]", options):
            return _below(place, root, own.get("pids", "/"))
        if kind == "cgroup2":
            folder = _below(place, root, own.get("", "/"))
            if b"pids" in read_proc(f"{folder}/cgroup.subtree_control").split():
                return folder
    return None


def _below(place: str, root: str, group: str) -> Path:
    inner = os.path.relpath(group, root)
    return Path(place) if inner.startswith("..") else Path(place, inner)


def _own_groups() -> dict[str, str]:
    """Our own group in each hierarchy, by controller; the unified one has no name."""
    groups = {}
    for line in read_proc("/proc/self/cgroup").decode(errors="replace").splitlines():
        _number, controllers, group = line.split(":", 2)
        groups.update(dict.fromkeys(controllers.split(","), group))
    return groups


_RLIMIT_LOCKS = 10
_LOWEST = 1 << 56
_BITS = 55


# A mark that every process of a run carries from birth and cannot wash off. Environments can be
# emptied (`env -i`) and sessions left (`setsid`), but resource limits are inherited through both,
# and a hard limit can only be lowered without privileges. The kernel keeps `RLIMIT_LOCKS` and has
# ignored it since Linux 2.4.25, so its value is free to carry a number.
def mark_for(name: str, value: str) -> int:
    """The mark of runs whose environment carries NAME=value, the same in every driver."""
    text = f"{name}={value}".encode("utf-8", "surrogateescape")
    return _LOWEST + (int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> (64 - _BITS))


def choose_mark(wanted: int | None) -> int | None:
    """The wanted mark or a random one, within what our own hard limit allows; None without any."""
    if sys.platform != "linux":
        return None
    hard = resource.getrlimit(_RLIMIT_LOCKS)[1]
    mark = wanted if wanted is not None else _LOWEST + secrets.randbits(_BITS)
    if hard == resource.RLIM_INFINITY or mark < hard:
        return mark
    # Inside another run's limit only lower numbers are allowed.
    return secrets.randbelow(hard - 1) + 1 if hard > _LOWEST >> 16 else None


def own_mark() -> int:
    """The mark of processes that belong to no run: our own limit."""
    return resource.getrlimit(_RLIMIT_LOCKS)[0] if sys.platform == "linux" else -1


def mark_of(pid: int) -> int | None:
    """The mark a process carries; None when it is gone or belongs to another user."""
    if sys.platform != "linux":
        return None
    try:
        return resource.prlimit(pid, _RLIMIT_LOCKS)[0]
    except (OSError, ValueError):
        return None


@contextmanager
def inherited_mark(mark: int | None) -> Iterator[None]:
    """Give the mark to children started inside the block; the caller serialises."""
    if sys.platform != "linux" or mark is None:
        yield
        return
    before = resource.getrlimit(_RLIMIT_LOCKS)
    resource.setrlimit(_RLIMIT_LOCKS, (mark, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(_RLIMIT_LOCKS, before)


def fix_mark(pid: int, mark: int | None) -> None:
    """Make the mark final: from now on it can only be lowered, which gives the process away."""
    if sys.platform == "linux" and mark is not None:
        with suppress(OSError, ValueError):
            resource.prlimit(pid, _RLIMIT_LOCKS, (mark, mark))


# System call filters: no keyrings, no hand on pid 1, where asked only harmless sockets. Pid 1 tells
# the exit code of a command inside a namespace; elsewhere it is nobody's to touch. Sockets are
# filtered by their family when they are made, so the filter needs no view of memory. Every kind of
# system call that the processor offers is covered; those not known here are refused.
_LOAD, _JUMP_EQ, _JUMP_GE, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER_AT, _ARCH_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_ARGUMENT_SIZE = 8
_ALLOW, _ERRNO, _ASK = 0x7FFF0000, 0x00050000, 0x7FC00000
_X32_BIT = 0x40000000
_IO_URING_SETUP = 425
_PIDFD_GETFD = 438
_ATTRIBUTES_AT = (463, 466)  # setxattrat, removexattrat


class _Abi(Struct, frozen=True):
    """Numbers of one system call interface."""

    audit_arch: int
    keyrings: tuple[int, ...]
    ptrace: int
    process_vm: tuple[int, ...]
    sockets: tuple[int, ...]
    shared: tuple[int, ...]  # get at memory, semaphores and queues that outlive a process
    attributes: tuple[int, ...]  # write extended attributes of files
    multiplexed_sockets: tuple[int, ...] = ()
    has_x32: bool = False


_X86_64 = _Abi(
    0xC000003E,
    (248, 249, 250),
    ptrace=101,
    process_vm=(310, 311),
    sockets=(41, 53),
    shared=(29, 64, 68, 240),
    attributes=(188, 189, 190, 197, 198, 199),
    has_x32=True,
)
_I386 = _Abi(
    0x40000003,
    (286, 287, 288),
    ptrace=26,
    process_vm=(347, 348),
    sockets=(359, 360),
    shared=(117, 277, 393, 395, 399),
    attributes=(226, 227, 228, 235, 236, 237),
    multiplexed_sockets=(102,),
)
_AARCH64 = _Abi(
    0xC00000B7,
    (217, 218, 219),
    ptrace=117,
    process_vm=(270, 271),
    sockets=(198, 199),
    shared=(180, 186, 190, 194),
    attributes=(5, 6, 7, 14, 15, 16),
)
_ABIS: Mapping[str, tuple[_Abi, ...]] = MappingProxyType(
    {"x86_64": (_X86_64, _I386), "aarch64": (_AARCH64,)}
)


def can_filter() -> bool:
    """True when the numbers of this processor's system calls are known."""
    return platform.machine() in _ABIS


def filter_program(
    families: tuple[int, ...] | None, *, traceless: bool = False, asks: bool = False
) -> bytes:
    """A program for the kernel; only sockets of these families can be made, None means any.

    `traceless`: nothing that lasts can be kept in shared memory, queues and attributes of files.
    `asks`: whoever listens to the filter is asked about other sockets.
    """
    code = [_load(_ARCH_AT)]
    for abi in _ABIS[platform.machine()]:
        block = _block(abi, families, traceless, asks)
        code += [_test(_JUMP_EQ, abi.audit_arch, otherwise=len(block)), *block]
    return b"".join((*code, _refuse(errno.ENOSYS)))


def _block(abi: _Abi, families: tuple[int, ...] | None, traceless: bool, asks: bool) -> list[bytes]:
    """Filter code for the calls of one interface; always ends in a decision."""
    code = [_load(_NUMBER_AT)]
    if abi.has_x32:
        code += [_test(_JUMP_GE, _X32_BIT, otherwise=1), _refuse(errno.ENOSYS)]
    refused = dict.fromkeys((*abi.keyrings, _PIDFD_GETFD), errno.EPERM)
    if traceless:
        # As on a machine that has none of it: programs can do without.
        refused |= dict.fromkeys(abi.shared, errno.ENOSYS)
        refused |= dict.fromkeys((*abi.attributes, *_ATTRIBUTES_AT), errno.EOPNOTSUPP)
    if families is not None:
        # io_uring makes and uses sockets without system calls that could be filtered.
        refused |= dict.fromkeys((_IO_URING_SETUP, *abi.multiplexed_sockets), errno.EPERM)
    for number, why in refused.items():
        code += [_test(_JUMP_EQ, number, otherwise=1), _refuse(why)]
    allow, refuse = _return(_ALLOW), _refuse(errno.EPERM)
    of_pid = {abi.ptrace: 1, **dict.fromkeys(abi.process_vm, 0)}
    decisions = {number: _decide(at, (1,), refuse, allow) for number, at in of_pid.items()}
    if families is not None:
        other = _return(_ASK) if asks else refuse
        decisions |= dict.fromkeys(abi.sockets, _decide(0, families, allow, other))
    for number, decision in decisions.items():
        code += [_test(_JUMP_EQ, number, otherwise=len(decision)), *decision]
    return [*code, _return(_ALLOW)]


def _decide(argument: int, values: tuple[int, ...], hit: bytes, miss: bytes) -> list[bytes]:
    """One decision for these values of an argument, another for all others."""
    code = [_load(_FIRST_ARGUMENT_AT + argument * _ARGUMENT_SIZE)]
    for value in values:
        code += [_test(_JUMP_EQ, value, otherwise=1), hit]
    return [*code, miss]


def _load(offset: int) -> bytes:
    return struct.pack("=HBBI", _LOAD, 0, 0, offset)


def _test(kind: int, value: int, *, otherwise: int) -> bytes:
    """Go on with the next instruction where it holds, else skip so many."""
    return struct.pack("=HBBI", kind, 0, otherwise, value)


def _refuse(number: int) -> bytes:
    return _return(_ERRNO | number)


def _return(value: int) -> bytes:
    return struct.pack("=HBBI", _RETURN, 0, 0, value)
