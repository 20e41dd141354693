"""Bundles as zip files in one form only: stored, sorted, without times; anything else is refused.

The same content always gives the same bytes, so reading can end with the simplest of checks: pack
what was read and compare. A changed byte anywhere, in headers that nobody looks at too, shows.
"""

from __future__ import annotations

import io
import re
import shlex
import zipfile
from collections.abc import Mapping
from pathlib import Path

from signoff.domain.text import escape_line
from signoff.errors import ProofInvalid, StorageFailed, UsageError

MAX_BUNDLE_BYTES = 512 * 1024 * 1024
MAX_MEMBERS = 0xFFFF - 1
_NAME = re.compile(r"[a-z]+(?:/[0-9a-f]{1,64})?(?:\.[a-z]{2,5})?|content/manifest\.json")
_FIRST_BYTES = b"PK\x03\x04"
_VERSION = 10  # of the format: plain storage
_ON_UNIX = 3
_MODE = 0o100644 << 16


def pack(members: Mapping[str, bytes]) -> bytes:
    """The one zip file with these members."""
    size = sum(map(len, members.values()))
    if len(members) > MAX_MEMBERS or size > MAX_BUNDLE_BYTES:
        raise StorageFailed(
            f"the bundle would hold {len(members)} files with {size} bytes; the limits are"
            f" {MAX_MEMBERS} and {MAX_BUNDLE_BYTES}",
            "leave out --with-content: the receipt names the content by its digest",
        )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED, allowZip64=False) as archive:
        for name, data in sorted(members.items()):
            info = zipfile.ZipInfo(name)  # of the first day that a zip file can name
            info.create_system, info.external_attr = _ON_UNIX, _MODE
            info.create_version = info.extract_version = _VERSION
            archive.writestr(info, data)
    return out.getvalue()


def unpack(data: bytes, where: str) -> dict[str, bytes]:
    """The members of a bundle, in memory; ProofInvalid for every zip file but the one `pack` gives.

    Nothing is decompressed and nothing is written, so no member can unfold, escape or overwrite.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _refuse_odd_members(archive.infolist(), len(data), where)
            members = {info.filename: archive.read(info) for info in archive.infolist()}
    except (zipfile.BadZipFile, ValueError, RuntimeError, OSError, EOFError) as error:
        hint = "signoff receipt bundle PLAN --output F"
        raise ProofInvalid(f"`{where}` is not a bundle: {error}", hint) from error
    if pack(members) != data:
        raise ProofInvalid(f"`{where}` was changed: it is not in the one form that a bundle has")
    return members


def refuse_bundle(path: Path, wanted: str) -> None:
    """Refuse a bundle, and name the verb that reads one."""
    try:
        with path.open("rb") as file:
            is_zip = file.read(len(_FIRST_BYTES)) == _FIRST_BYTES
    except OSError:
        return
    if is_zip:
        check = f"signoff audit --bundle {shlex.quote(str(path))} --key PUBLIC_KEY"
        raise UsageError(f"`{path}` is a bundle, not a {wanted}", check)


def _refuse_odd_members(infos: list[zipfile.ZipInfo], size: int, where: str) -> None:
    seen: set[str] = set()
    for info in infos:
        shown = escape_line(info.orig_filename[:100])
        if not _NAME.fullmatch(info.orig_filename):
            raise ProofInvalid(f"`{where}` holds `{shown}`, which does not belong in a bundle")
        if info.compress_type or info.flag_bits or info.file_size != info.compress_size:
            raise ProofInvalid(
                f"`{where}`: `{shown}` is compressed or encrypted; bundles are neither"
            )
        if info.filename in seen:
            raise ProofInvalid(f"`{where}` holds `{shown}` twice")
        seen.add(info.filename)
    # Members that overlap could make a small file as large as one likes.
    if not infos or sum(info.file_size for info in infos) > size:
        raise ProofInvalid(f"`{where}` is not a bundle", "signoff receipt bundle PLAN --output F")
