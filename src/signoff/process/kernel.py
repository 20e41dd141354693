"""The kernel's interfaces for giving up rights, as plain functions; each holds for one thread.

System call filters: no keyrings, no hand on pid 1, where asked only harmless sockets. Pid 1 relays
the exit code of a command inside a namespace; elsewhere it is nobody's to touch. Sockets are
filtered by their family when they are made, so the filter needs no view of memory. Every kind of
system call that the processor offers is covered; those not known here are refused.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

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

_PR_SET_SECCOMP = 22
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION_3 = 0x20080522
_MOST_CAPABILITIES = 64
_INSTRUCTION_SIZE = 8


@lru_cache(maxsize=1)
def landlock_abi() -> int:
    """Which Landlock the kernel offers; 0 without any."""
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
    """From now on this thread and its children keep to the rules."""
    _syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0)


def forbid_new_privileges() -> None:
    """Programs that change the user or gain capabilities when started no longer do."""
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


_LOAD, _JUMP_EQ, _JUMP_GE, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER_AT, _ARCH_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_ARGUMENT_SIZE = 8
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_X32_BIT = 0x40000000
_IO_URING_SETUP = 425
_PIDFD_GETFD = 438
_ATTRIBUTES_AT = (463, 466)  # setxattrat, removexattrat


@dataclass(frozen=True)
class _Abi:
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
    """Whether the numbers of this processor's system calls are known."""
    return platform.machine() in _ABIS


def filter_program(families: tuple[int, ...] | None, *, traceless: bool = False) -> bytes:
    """A program for the kernel; only sockets of these families can be made, None means any.

    `traceless`: nothing that lasts can be kept in shared memory, queues and attributes of files.
    """
    code = [_load(_ARCH_AT)]
    for abi in _ABIS[platform.machine()]:
        block = _block(abi, families, traceless)
        code += [_test(_JUMP_EQ, abi.audit_arch, then=0, otherwise=len(block)), *block]
    return b"".join((*code, _refuse(errno.ENOSYS)))


def _block(abi: _Abi, families: tuple[int, ...] | None, traceless: bool) -> list[bytes]:
    """What is done with the calls of one interface; always ends in a decision."""
    code = [_load(_NUMBER_AT)]
    if abi.has_x32:
        code += [_test(_JUMP_GE, _X32_BIT, then=0, otherwise=1), _refuse(errno.ENOSYS)]
    refused = dict.fromkeys((*abi.keyrings, _PIDFD_GETFD), errno.EPERM)
    if traceless:
        # As on a machine that has none of it: programs can do without.
        refused |= dict.fromkeys(abi.shared, errno.ENOSYS)
        refused |= dict.fromkeys((*abi.attributes, *_ATTRIBUTES_AT), errno.EOPNOTSUPP)
    if families is not None:
        # io_uring makes and uses sockets without system calls that could be filtered.
        refused |= dict.fromkeys((_IO_URING_SETUP, *abi.multiplexed_sockets), errno.EPERM)
    for number, why in refused.items():
        code += [_test(_JUMP_EQ, number, then=0, otherwise=1), _refuse(why)]
    allow, refuse = _return(_ALLOW), _refuse(errno.EPERM)
    of_pid = {abi.ptrace: 1, **dict.fromkeys(abi.process_vm, 0)}
    decisions = {number: _decide(at, (1,), refuse, allow) for number, at in of_pid.items()}
    if families is not None:
        decisions |= dict.fromkeys(abi.sockets, _decide(0, families, allow, refuse))
    for number, decision in decisions.items():
        code += [_test(_JUMP_EQ, number, then=0, otherwise=len(decision)), *decision]
    return [*code, _return(_ALLOW)]


def _decide(argument: int, values: tuple[int, ...], hit: bytes, miss: bytes) -> list[bytes]:
    """One decision for these values of an argument, another for all others."""
    code = [_load(_FIRST_ARGUMENT_AT + argument * _ARGUMENT_SIZE)]
    for value in values:
        code += [_test(_JUMP_EQ, value, then=0, otherwise=1), hit]
    return [*code, miss]


def _load(offset: int) -> bytes:
    return struct.pack("=HBBI", _LOAD, 0, 0, offset)


def _test(kind: int, value: int, *, then: int, otherwise: int) -> bytes:
    return struct.pack("=HBBI", kind, then, otherwise, value)


def _refuse(number: int) -> bytes:
    return _return(_ERRNO | number)


def _return(value: int) -> bytes:
    return struct.pack("=HBBI", _RETURN, 0, 0, value)
