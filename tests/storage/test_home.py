"""The home folder is ours alone and stays so."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from signoff.errors import HomeUnsafe, StorageFailed
from signoff.places import resolve_home
from signoff.storage.home import Home, hold, open_database
from tests.storage.kit import HOLDER


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_home_is_made_for_its_owner_only(tmp_path: Path) -> None:
    home = Home(tmp_path / "deep" / "home")
    folders = [home.path, home.locks, home.logs, home.snapshots]
    assert [mode(folder) for folder in folders] == [0o700] * 4
    open_database(home.database_url).close()
    assert all(mode(p) & 0o077 == 0 for p in home.path.iterdir())
    Home(home.path)


def test_a_home_with_odd_characters_holds_its_database(tmp_path: Path) -> None:
    home = Home(tmp_path / "a b?c#d%20é")
    open_database(home.database_url).close()
    assert (home.path / "ledger.sqlite3").is_file()


def test_looking_for_a_home_creates_nothing(tmp_path: Path) -> None:
    assert resolve_home({"SIGNOFF_HOME": str(tmp_path / "h")}) == tmp_path / "h"
    with pytest.raises(StorageFailed, match="home folder"):
        Home(tmp_path / "h", create=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("environ", [{}, {"SIGNOFF_HOME": ""}])
def test_without_a_choice_the_users_state_folder_is_taken(environ: dict[str, str]) -> None:
    path = resolve_home(environ)
    assert path.is_absolute() and path.name == "signoff"


def test_a_relative_home_is_refused() -> None:
    with pytest.raises(HomeUnsafe, match="another folder wherever you are"):
        resolve_home({"SIGNOFF_HOME": "state"})


@pytest.mark.parametrize("before", [0o755, 0o777, 0o770, 0o1777])
def test_a_home_open_to_others_is_closed_when_it_is_ours(tmp_path: Path, before: int) -> None:
    (tmp_path / "h").mkdir()
    (tmp_path / "h").chmod(before)
    assert mode(Home(tmp_path / "h").path) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_a_home_of_somebody_else_that_others_can_write_is_refused(tmp_path: Path) -> None:
    path = Home(tmp_path / "h").path
    os.chown(path, 12345, 12345)
    path.chmod(0o770)
    with pytest.raises(HomeUnsafe, match="other users can write"):
        Home(path)


def test_a_home_that_is_a_link_or_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").touch()
    with pytest.raises(HomeUnsafe, match="is a symbolic link to `real`"):
        Home(tmp_path / "link")
    with pytest.raises(HomeUnsafe):
        Home(tmp_path / "file")


@pytest.mark.parametrize("folder", ["locks", "logs", "snapshots"])
def test_a_linked_folder_inside_the_home_is_refused(tmp_path: Path, folder: str) -> None:
    home = Home(tmp_path / "h")
    (tmp_path / "elsewhere").mkdir()
    (home.path / folder).rmdir()
    (home.path / folder).symlink_to(tmp_path / "elsewhere")
    for create in (True, False):
        with pytest.raises(HomeUnsafe, match="is a symbolic link"):
            Home(home.path, create=create)


def test_a_database_that_is_a_link_is_refused(tmp_path: Path) -> None:
    home = Home(tmp_path / "h")
    open_database(f"sqlite://{tmp_path}/forged.sqlite3").close()
    (home.path / "ledger.sqlite3").symlink_to(tmp_path / "forged.sqlite3")
    for read_only in (True, False):
        with pytest.raises(HomeUnsafe, match="is a symbolic link"):
            open_database(home.database_url, read_only=read_only)


def test_a_home_inside_the_workspace_is_refused(tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    home = Home(workspace / ".signoff")
    with pytest.raises(HomeUnsafe, match="lies inside the workspace"):
        home.keep_apart(workspace)
    with pytest.raises(HomeUnsafe, match="lies inside the workspace"):
        home.keep_apart(home.path)
    with pytest.raises(HomeUnsafe, match="lies inside the workspace"):
        home.keep_apart(Path("/"))


def test_a_workspace_inside_the_home_is_refused_through_any_link(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    (home.path / "inside").mkdir()
    (tmp_path / "link").symlink_to(home.path / "inside")
    with pytest.raises(HomeUnsafe, match="lies inside the home folder"):
        home.keep_apart(tmp_path / "link")


def test_a_neighbour_with_a_longer_name_is_no_conflict(tmp_path: Path) -> None:
    Home(tmp_path / "work-home").keep_apart(tmp_path / "work")


def test_the_reserve_takes_room_until_it_is_dropped(tmp_path: Path) -> None:
    home = Home(tmp_path / "h")
    assert not home.drop_reserve()
    assert home.keep_reserve() and home.keep_reserve()
    reserve = home.path / "reserve"
    assert reserve.stat().st_size >= 1 << 20
    assert home.drop_reserve() and not reserve.exists()
    assert home.keep_reserve()


def test_a_link_planted_as_the_reserve_is_not_written_through(tmp_path: Path) -> None:
    home = Home(tmp_path / "h")
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (home.path / "reserve").symlink_to(victim)
    assert home.keep_reserve()
    assert victim.read_bytes() == b"precious"


def test_locks_are_held_in_the_home(tmp_path: Path) -> None:
    home = Home(tmp_path / "h")
    with hold(home.locks, "p", HOLDER):
        assert [p.name for p in home.locks.iterdir()] == ["p.lock"]
