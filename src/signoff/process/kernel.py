"""The kernel's interfaces for rights, mounts and namespaces, as plain functions for one thread."""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import struct
import sys
from functools import lru_cache

EXECUTE = 1 << 0
WRITE_FILE = 1 << 1
READ_FILE = 1 << 2
READ_DIR = 1 << 3
TRUNCATE = 1 << 14
IOCTL_DEVICE = 1 << 15
TCP = 0b11
SCOPES = 0b11

_FILE_RIGHTS_BY_ABI = {1: 13, 2: 14, 3: 15, 4: 15}
_FILE_RIGHTS_NOW = 16

_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_ADD_RULE = 445
_LANDLOCK_RESTRICT_SELF = 446
_ASK_VERSION = 1
_PATH_BENEATH = 1

_PR_SET_PDEATHSIG = 1
_PR_SET_SECCOMP = 22
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_SECCOMP_BY_MACHINE = {"x86_64": 317, "aarch64": 277}
_SET_FILTER, _NEW_LISTENER = 1, 8
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_NOTICE = struct.Struct("=QIIiIQ6Q")  # id, pid, flags; call, processor, place, arguments
_ANSWER = struct.Struct("=QqiI")
_CAPABILITY_VERSION_3 = 0x20080522
_MOST_CAPABILITIES = 64
_INSTRUCTION_SIZE = 8

_MOUNT_SETATTR = 442
_PIVOT_ROOT_BY_MACHINE = {"x86_64": 155, "aarch64": 41}
_HERE, _RECURSIVE = -100, 0x8000
_BIND_ALL, _PRIVATE_ALL, _DETACH = 0x5000, 0x44000, 2
_SET_INTERFACE_FLAGS, _INTERFACE_UP = 0x8914, 1


@lru_cache(maxsize=1)
def landlock_abi() -> int:
    """Version of Landlock that the kernel offers; 0 without any."""
    if sys.platform != "linux":
        return 0
    version: int = _libc().syscall(
        ctypes.c_long(_LANDLOCK_CREATE_RULESET),
        None,
        ctypes.c_size_t(0),
        ctypes.c_uint32(_ASK_VERSION),
    )
    return max(0, version)


def file_rights(abi: int) -> int:
    """Every right on files that this Landlock controls."""
    return (1 << _FILE_RIGHTS_BY_ABI.get(abi, _FILE_RIGHTS_NOW)) - 1


def create_ruleset(files: int, network: int, scopes: int) -> int:
    """A set of rules that takes all the named rights away, until some are allowed again."""
    attributes = struct.pack("=QQQ", files, network, scopes)
    # Kernels accept the fields they do not know when these are zero.
    return _syscall(_LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0)


def allow_beneath(ruleset: int, folder: int, rights: int) -> None:
    """Allow the rights on everything below an open folder, or on an open file."""
    attributes = struct.pack("=Qi", rights, folder)
    _syscall(_LANDLOCK_ADD_RULE, ruleset, _PATH_BENEATH, attributes, 0)


def restrict_thread(ruleset: int) -> None:
    """Bind this thread and its children to the rules from now on."""
    _syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0)


def forbid_new_privileges() -> None:
    """Keep programs from changing the user or gaining capabilities when started."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def drop_capabilities() -> None:
    """Give up every capability for ever; without any there is nothing to do."""
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    held = ctypes.create_string_buffer(24)
    _checked(_libc().capget(header, held))
    if not any(held.raw):
        return
    for number in range(_MOST_CAPABILITIES):
        # Numbers beyond the last, and all without the right to drop, are refused.
        _libc().prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(number), 0, 0, 0)
    _checked(_libc().capset(header, bytes(24)))


def filter_thread(program: bytes) -> None:
    """Let this thread and its children make only the system calls that the program allows."""
    code = ctypes.create_string_buffer(program, len(program))
    count = len(program) // _INSTRUCTION_SIZE
    description = struct.pack("@HP", count, ctypes.addressof(code))
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, description)


def filter_thread_and_listen(program: bytes) -> int:
    """Filter the thread; returns a descriptor that tells of every call the program asks about.

    Who made such a call waits for `refuse_call`; when the descriptor is closed, it fails at once.
    """
    code = ctypes.create_string_buffer(program, len(program))
    description = struct.pack("@HP", len(program) // _INSTRUCTION_SIZE, ctypes.addressof(code))
    number = ctypes.c_long(_SECCOMP_BY_MACHINE[os.uname().machine])
    listener: int = _libc().syscall(number, _SET_FILTER, _NEW_LISTENER, description)
    return _checked(listener)


def refuse_call(listener: int, error: int) -> tuple[int, ...]:
    """Refuse one call that waits, with this error; its arguments. OSError when none waits."""
    notice = bytearray(_NOTICE.size)
    fcntl.ioctl(listener, _RECEIVE, notice)
    told = _NOTICE.unpack(notice)
    fcntl.ioctl(listener, _SEND, bytearray(_ANSWER.pack(told[0], 0, -error, 0)))
    return tuple(told[6:])


def die_with_parent() -> None:
    """Be killed when the thread that started this process ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def unshare(namespaces: int) -> None:
    """Enter new namespaces; that of processes begins with the next child."""
    _checked(_libc().unshare(namespaces))


def mount(kind: str, at: str, attributes: int, options: str = "") -> None:
    """Mount a new file system of a kind that the kernel makes itself."""
    name = kind.encode()
    _checked(
        _libc().mount(name, os.fsencode(at), name, ctypes.c_ulong(attributes), options.encode())
    )


def bind(source: str, at: str) -> None:
    """Show a folder or file, and what is mounted below it, at another place too."""
    flags = ctypes.c_ulong(_BIND_ALL)
    _checked(_libc().mount(os.fsencode(source), os.fsencode(at), None, flags, None))


def keep_mounts_private() -> None:
    """Let no mount of this namespace be seen in another, or the other way round."""
    _checked(_libc().mount(b"none", b"/", None, ctypes.c_ulong(_PRIVATE_ALL), None))


def set_mount_attributes(at: str, attributes: int, *, recursive: bool) -> None:
    """Add attributes such as read-only to a mount."""
    wanted = struct.pack("=QQQQ", attributes, 0, 0, 0)
    flags = _RECURSIVE if recursive else 0
    _syscall(_MOUNT_SETATTR, _HERE, os.fsencode(at), flags, wanted, len(wanted))


def pivot_root(new: str, old: str) -> None:
    """Make a mount the root of this namespace, and show the old root at another place."""
    _syscall(_PIVOT_ROOT_BY_MACHINE[os.uname().machine], os.fsencode(new), os.fsencode(old))


def unmount(at: str) -> None:
    """Take a mount out of the view at once; who has something open there keeps it."""
    _checked(_libc().umount2(os.fsencode(at), _DETACH))


def bring_loopback_up() -> None:
    """Let the processes of a new network namespace talk to each other over loopback."""
    descriptor = _checked(_libc().socket(2, 2, 0))
    try:
        fcntl.ioctl(descriptor, _SET_INTERFACE_FLAGS, struct.pack("16sh14x", b"lo", _INTERFACE_UP))
    finally:
        os.close(descriptor)


def _prctl(option: int, value: int, pointer: bytes | None = None) -> None:
    _checked(_libc().prctl(option, ctypes.c_ulong(value), pointer, 0, 0))


def _syscall(number: int, *arguments: int | bytes) -> int:
    passed = [ctypes.c_long(a) if isinstance(a, int) else ctypes.c_char_p(a) for a in arguments]
    return _checked(_libc().syscall(ctypes.c_long(number), *passed))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
