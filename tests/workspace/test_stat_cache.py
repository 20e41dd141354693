"""The stat cache saves reading, survives the process, and is never believed when it is damaged."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from signoff.workspace.content import is_settled
from signoff.workspace.ignore import IgnoreFile, IgnoreRules
from signoff.workspace.records import FileRecord, Folder
from signoff.workspace.store import load_stat_cache, save_stat_cache
from tests.workspace.conftest import Desk

FILES = 200


def fill(desk: Desk) -> None:
    for i in range(FILES):
        desk.write(f"d{i % 5}/f{i}", str(i))
    desk.settle()


def cache_file(desk: Desk) -> Path:
    (found,) = desk.store.glob("stat-*")
    return found


def remembered(path: Path) -> int:
    return sum(len(folder.files) for folder in load_stat_cache(path).values())


def test_what_was_read_is_remembered_for_the_next_process(desk: Desk) -> None:
    fill(desk)
    first = desk.workspace().snapshot()
    assert remembered(cache_file(desk)) == FILES
    assert desk.workspace().digest_now() == first


def test_the_cache_is_really_used(desk: Desk) -> None:
    """A cache with a wrong hash in it shows in the digest: the file was not read again."""
    fill(desk)
    first = desk.workspace().snapshot()
    folders = load_stat_cache(cache_file(desk))
    folder = next(iter(folders.values()))
    name, record = next(iter(folder.files.items()))
    folder.files[name] = record._replace(sha256=bytes(32))
    save_stat_cache(cache_file(desk), folders)
    assert desk.workspace().digest_now().digest != first.digest


def test_what_an_earlier_process_knew_is_told_apart_by_the_rules_of_this_one(desk: Desk) -> None:
    fill(desk)
    desk.workspace().snapshot()
    rules = IgnoreRules((IgnoreFile("", "d0/\nf1\n"),))
    workspace = desk.workspace(rules, frozenset({"d2/f2"}))
    expected = desk.fresh_digest(rules, frozenset({"d2/f2"}))
    for _ in range(3):
        found = workspace.snapshot()
        assert (found.files, found.digest) == (FILES - FILES // 5 - 2, expected)


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "other", "huge count"])
def test_a_damaged_cache_is_ignored(desk: Desk, damage: str) -> None:
    fill(desk)
    first = desk.workspace().snapshot()
    path = cache_file(desk)
    data = path.read_bytes()
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 4
    path.write_bytes(
        {
            "cut": data[: len(data) // 2],
            "flipped": bytes(flipped),
            "empty": b"",
            "other": b"something else entirely",
            "huge count": data[:53] + b"\xff" * 8 + data[61:],
        }[damage]
    )
    assert load_stat_cache(path) == {}
    assert desk.workspace().snapshot() == first


def test_changes_made_while_no_process_watched_are_seen(desk: Desk) -> None:
    fill(desk)
    first = desk.workspace().snapshot()
    file = desk.root / "d1/f1"
    seen = file.stat()
    file.write_text("9")
    os.utime(file, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert desk.workspace().digest_now().digest != first.digest


def test_what_was_hashed_too_soon_after_its_change_is_not_remembered(desk: Desk) -> None:
    for i in range(FILES):
        desk.write(f"f{i}", str(i))
    os.utime(desk.root / "f0")
    workspace = desk.workspace()
    workspace.snapshot()
    written = remembered(cache_file(desk))
    assert written < FILES


def test_nothing_read_while_an_agent_lives_is_remembered(desk: Desk) -> None:
    fill(desk)
    desk.workspace().snapshot(quiet=False)
    assert remembered(cache_file(desk)) == 0


@pytest.mark.parametrize(
    ("age_ns", "fraction_ns", "settled"),
    [
        (10_000_000, 1, False),
        (-5_000_000_000, 1, False),
        (200_000_000, 1, True),
        (2_000_000_000, 0, False),
        (3_000_000_000, 0, True),
    ],
)
def test_how_old_a_change_must_be_depends_on_the_clock_it_shows(
    age_ns: int, fraction_ns: int, settled: bool
) -> None:
    changed_ns = 1_700_000_000_000_000_000 + fraction_ns
    key = (1, 2, 3, changed_ns, 0o100644)
    assert is_settled(key, changed_ns + age_ns) is settled


def test_any_name_survives_the_cache(tmp_path: Path) -> None:
    names = ["new\nline", os.fsdecode(b"\xff"), "é", "%2F", " "]
    files = {
        name: FileRecord((i, 2, -3, 4, 0o100644), bytes([i] * 32), bytes([i] * 20), True)
        for i, name in enumerate(names)
    }
    folders = {p: Folder(p, dict(files), set(), False) for p in ("", "a", "a/\n")}
    save_stat_cache(tmp_path / "cache", folders)
    loaded = load_stat_cache(tmp_path / "cache")
    assert {p: f.files for p, f in loaded.items()} == dict.fromkeys(folders, files)


def test_caches_of_two_workspaces_in_one_store_do_not_mix(desk: Desk, tmp_path: Path) -> None:
    fill(desk)
    other = Desk(tmp_path / "other")
    fill(other)
    other.store = desk.store
    desk.workspace().snapshot()
    other.workspace().snapshot()
    assert len(list(desk.store.glob("stat-*"))) == 2
