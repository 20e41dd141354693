"""Bundles as zip files in one form only: stored, sorted, without times; anything else is refused.

The same content always gives the same bytes, so reading can end with the simplest of checks: pack
what was read and compare. A changed byte anywhere, in headers that nobody looks at too, shows.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Mapping

from signoff.domain.text import escape_line
from signoff.errors import ProofInvalid, StorageFailed

MAX_BUNDLE_BYTES = 512 * 1024 * 1024
MAX_MEMBERS = 0xFFFF - 1
_NAME = re.compile(r"[a-z]+(?:/[0-9a-f]{1,64})?(?:\.[a-z]{2,5})?|content/manifest\.json")
_LOCAL = struct.Struct("<4sHHHHHIIIHH")
_CENTRAL = struct.Struct("<4sHHHHHHIIIHHHHHII")
_END = struct.Struct("<4sHHHHIIH")
_LOCAL_MARK, _CENTRAL_MARK, _END_MARK = b"PK\3\4", b"PK\1\2", b"PK\5\6"
_VERSION, _MADE_BY = 10, (3 << 8) | 10  # plain storage, made on Unix
_TIME, _DATE = 0, (1 << 5) | 1  # the first day that a zip file can name
_MODE = 0o100644 << 16


def pack(members: Mapping[str, bytes]) -> bytes:
    """The one zip file with these members."""
    if len(members) > MAX_MEMBERS or sum(map(len, members.values())) > MAX_BUNDLE_BYTES:
        raise StorageFailed(
            f"the bundle would hold {len(members)} files with "
            f"{sum(map(len, members.values()))} bytes; the limits are {MAX_MEMBERS} and "
            f"{MAX_BUNDLE_BYTES}",
            "leave out --with-content: the receipt names the content by its digest",
        )
    parts: list[bytes] = []
    central: list[bytes] = []
    offset = 0
    for name, data in sorted(members.items()):
        encoded = name.encode("ascii")
        fields = (_TIME, _DATE, zlib.crc32(data), len(data), len(data), len(encoded), 0)
        local = _LOCAL.pack(_LOCAL_MARK, _VERSION, 0, 0, *fields) + encoded
        central.append(
            _CENTRAL.pack(_CENTRAL_MARK, _MADE_BY, _VERSION, 0, 0, *fields, 0, 0, 0, _MODE, offset)
            + encoded
        )
        parts += [local, data]
        offset += len(local) + len(data)
    directory = b"".join(central)
    count = len(members)
    end = _END.pack(_END_MARK, 0, 0, count, count, len(directory), offset, 0)
    return b"".join([*parts, directory, end])


def unpack(data: bytes, where: str) -> dict[str, bytes]:
    """The members of a bundle, in memory; ProofInvalid for every zip file but the one `pack` gives.

    Nothing is decompressed and nothing is written, so no member can unfold, escape or overwrite.
    """
    members: dict[str, bytes] = {}
    offset = 0
    while data[offset : offset + 4] == _LOCAL_MARK:
        name, body, offset = _member(data, offset, where)
        if name in members:
            raise ProofInvalid(f"`{where}` holds `{name}` twice")
        members[name] = body
        if len(members) > MAX_MEMBERS:
            raise ProofInvalid(f"`{where}` holds more than {MAX_MEMBERS} files")
    if not members:
        raise ProofInvalid(f"`{where}` is not a bundle", "signoff receipt bundle PLAN --output F")
    if pack(members) != data:
        raise ProofInvalid(f"`{where}` was changed: it is not in the one form that a bundle has")
    return members


def _member(data: bytes, offset: int, where: str) -> tuple[str, bytes, int]:
    start = offset + _LOCAL.size
    if start > len(data):
        raise ProofInvalid(f"`{where}` is cut off")
    header = _LOCAL.unpack_from(data, offset)
    flags, method, size, stored, name_size = header[2], header[3], header[8], header[7], header[9]
    name = data[start : start + name_size].decode("ascii", "backslashreplace")
    shown = escape_line(name[:100])
    if not _NAME.fullmatch(name):
        raise ProofInvalid(f"`{where}` holds `{shown}`, which is no name in a bundle")
    if method or flags or size != stored:
        raise ProofInvalid(f"`{where}`: `{shown}` is compressed or encrypted; bundles are neither")
    body = start + name_size
    if body + size > len(data):
        raise ProofInvalid(f"`{where}`: `{shown}` is cut off")
    return name, data[body : body + size], body + size
