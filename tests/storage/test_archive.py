"""Bundles as zip files: one form for each content, and no way to hide anything in another."""

from __future__ import annotations

import io
import random
import stat
import zipfile
from collections.abc import Callable

import pytest

from signoff.errors import ProofInvalid, StorageFailed
from signoff.storage.archive import MAX_BUNDLE_BYTES, pack, unpack

MEMBERS = {
    "plan.md": b"# Plan\n",
    "pins/00ff.json": b"{}",
    "key.pem": b"",
    "ledger.jsonl": b"x" * 99,
}
Fill = Callable[[zipfile.ZipFile], None]


def made(fill: Fill, compression: int = zipfile.ZIP_STORED) -> bytes:
    """A zip file as somebody else's tool writes it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        fill(archive)
    return out.getvalue()


def test_the_same_members_give_the_same_bytes_in_any_order() -> None:
    assert pack(dict(reversed(MEMBERS.items()))) == pack(MEMBERS)
    assert unpack(pack(MEMBERS), "b.zip") == MEMBERS


def test_every_zip_tool_can_read_it() -> None:
    with zipfile.ZipFile(io.BytesIO(pack(MEMBERS))) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == sorted(MEMBERS)
        assert {name: archive.read(name) for name in archive.namelist()} == MEMBERS
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_a_flipped_bit_anywhere_is_found() -> None:
    data = pack(MEMBERS)
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 1 << random.Random(place).randrange(8)
        with pytest.raises(ProofInvalid):
            unpack(bytes(changed), "b.zip")


@pytest.mark.parametrize("cut", range(0, len(pack(MEMBERS)), 7))
def test_a_file_that_was_cut_off_is_found(cut: int) -> None:
    with pytest.raises(ProofInvalid):
        unpack(pack(MEMBERS)[:cut], "b.zip")


def test_what_was_put_before_or_behind_is_found() -> None:
    for data in (b"#!/bin/sh\n" + pack(MEMBERS), pack(MEMBERS) + b"\n", pack(MEMBERS) * 2):
        with pytest.raises(ProofInvalid):
            unpack(data, "b.zip")


@pytest.mark.parametrize(
    "name",
    [
        "../plan.md",
        "/etc/passwd",
        "pins/../../x",
        "C:plan.md",
        "plan.md\0.txt",
        "pl\u00e4n.md",
        "PLAN.md",
        "pins/",
        "content/manifest.json/x",
        "a\\b",
        "",
    ],
)
def test_no_member_can_have_a_name_that_leads_anywhere(name: str) -> None:
    def fill(archive: zipfile.ZipFile) -> None:
        info = zipfile.ZipInfo("x")
        info.filename = name
        archive.writestr(info, b"data")

    with pytest.raises(ProofInvalid, match=r"does not belong in a bundle|not a bundle|changed"):
        unpack(made(fill), "b.zip")


def test_a_bomb_is_refused_before_anything_unfolds() -> None:
    bomb = made(
        lambda archive: archive.writestr("ledger.jsonl", bytes(50_000_000)),
        compression=zipfile.ZIP_DEFLATED,
    )
    assert len(bomb) < 100_000
    with pytest.raises(ProofInvalid, match="compressed or encrypted"):
        unpack(bomb, "b.zip")


def test_the_same_name_twice_is_refused() -> None:
    def fill(archive: zipfile.ZipFile) -> None:
        archive.writestr("plan.md", b"one")
        with pytest.warns(UserWarning):
            archive.writestr("plan.md", b"two")

    with pytest.raises(ProofInvalid, match="twice"):
        unpack(made(fill), "b.zip")


def test_a_symbolic_link_is_refused() -> None:
    def fill(archive: zipfile.ZipFile) -> None:
        info = zipfile.ZipInfo("plan.md")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, b"/etc/passwd")

    with pytest.raises(ProofInvalid):
        unpack(made(fill), "b.zip")


def test_a_zip_file_of_another_tool_is_refused_even_with_the_same_members() -> None:
    def fill(archive: zipfile.ZipFile) -> None:
        for name, data in sorted(MEMBERS.items()):
            archive.writestr(name, data)

    with pytest.raises(ProofInvalid, match="the one form"):
        unpack(made(fill), "b.zip")


def test_a_directory_that_shows_other_members_than_the_file_holds_is_refused() -> None:
    """Readers that go by the directory would see another plan than those that go by the file."""
    honest, other = pack({"plan.md": b"honest"}), pack({"plan.md": b"forged"})
    marker = b"PK\1\2"
    spliced = honest[: honest.index(marker)] + other[other.index(marker) :]
    with pytest.raises(ProofInvalid):
        unpack(spliced, "b.zip")


@pytest.mark.parametrize("data", [b"", b"PK", b"hello", b"PK\5\6" + bytes(18), b"PK\3\4"])
def test_what_is_no_bundle_is_told_in_one_line(data: bytes) -> None:
    with pytest.raises(ProofInvalid, match=r"`b.zip`"):
        unpack(data, "b.zip")


def test_a_bundle_keeps_to_its_limits() -> None:
    piece = bytes(MAX_BUNDLE_BYTES // 8 + 1)
    with pytest.raises(StorageFailed, match="the limits are"):
        pack({f"content/{number}": piece for number in range(8)})
