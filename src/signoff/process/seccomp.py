"""System call filters: no keyrings, no hand on pid 1, where asked only harmless sockets.

Pid 1 relays the exit code of a command inside a namespace; elsewhere it is nobody's to touch.

Sockets are filtered by their family when they are made, so the filter needs no view of memory.
Every kind of system call that the processor offers is covered; those not known here are refused.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

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
