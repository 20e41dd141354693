"""Opening databases, and what is said when they refuse."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from signoff.errors import ConfigInvalid, HomeUnsafe, SchemaTooNew, StorageFailed
from signoff.storage.engine import VERSION
from signoff.storage.home import Home, open_database, sqlite_path, sqlite_url
from signoff.storage.ledger import Ledger
from tests.storage.kit import HOLDER, WAIT_S, note, run_sql, verdict, worker

READ = """
import sys
from signoff.storage.home import open_database
from signoff.storage.ledger import Ledger
ledger = Ledger(open_database(sys.argv[1], read_only=True))
print(ledger.head("p")[0], ledger.check_chain("p").holds, len(ledger.plans()))
"""

WRITE = """
import sys
from signoff.domain.ledger import Draft, Kind
from signoff.errors import StorageFailed
from signoff.storage.home import open_database
from signoff.storage.ledger import Ledger
try:
    Ledger(open_database(sys.argv[1])).append("p", [Draft(Kind.AUDITED, {})])
except StorageFailed as error:
    print(error.facts["cause"], bool(error.hint))
"""


def test_a_database_opens_again_with_everything_in_it(database_url: str) -> None:
    database = open_database(database_url)
    (entry,) = Ledger(database).append("p", [note()])
    database.close()
    again = open_database(database_url)
    assert list(Ledger(again).entries("p")) == [entry]
    again.close()


def test_a_closed_database_opens_a_connection_again(database_url: str) -> None:
    database = open_database(database_url)
    database.close()
    Ledger(database).append("p", [note()])
    database.close()


def test_a_newer_schema_is_left_alone(database_url: str) -> None:
    open_database(database_url).close()
    run_sql(database_url, "UPDATE meta SET value = '99' WHERE key = 'schema'")
    for read_only in (False, True):
        with pytest.raises(SchemaTooNew, match="has schema 99, this signoff knows up to 3"):
            open_database(database_url, read_only=read_only)
    assert run_sql(database_url, "SELECT value FROM meta WHERE key = 'schema'") == [("99",)]


def test_a_schema_version_that_is_no_number_is_damage(database_url: str) -> None:
    open_database(database_url).close()
    run_sql(database_url, "UPDATE meta SET value = 'x' WHERE key = 'schema'")
    with pytest.raises(StorageFailed, match="schema version `x`") as caught:
        open_database(database_url)
    assert caught.value.facts["cause"] == "corrupt"


def test_reading_an_absent_database_creates_nothing(database_url: str) -> None:
    with pytest.raises(StorageFailed) as caught:
        open_database(database_url, read_only=True)
    assert caught.value.facts["cause"] == "absent"
    if database_url.startswith("sqlite"):
        assert list(sqlite_path(database_url).parent.iterdir()) == []
    else:
        query = "SELECT 1 FROM information_schema.schemata WHERE schema_name = 'signoff'"
        assert run_sql(database_url, query) == []


def test_a_read_only_database_refuses_to_write(database_url: str) -> None:
    open_database(database_url).close()
    reader = open_database(database_url, read_only=True)
    with pytest.raises(StorageFailed) as caught:
        Ledger(reader).append("p", [note()])
    assert caught.value.facts["cause"] == "read-only"
    assert Ledger(reader).head("p")[0] == 0
    reader.close()


def test_a_database_locked_too_long_is_said_to_be(database_url: str) -> None:
    database = open_database(database_url, busy_timeout_s=0.3)
    ledger = Ledger(database)
    ledger.append("p", [note()])
    blocker = open_database(database_url)
    with blocker.transaction():
        blocker.execute("UPDATE chains SET seq = seq")
        with pytest.raises(StorageFailed, match="is locked by another process") as caught:
            ledger.append("p", [note()])
        assert caught.value.facts["cause"] == "locked"
        assert ledger.head("p")[0] == 1
    ledger.append("p", [note()])
    blocker.close()
    database.close()


def test_a_takeover_waits_for_the_append_in_flight(database_url: str) -> None:
    database = open_database(database_url, busy_timeout_s=0.3)
    ledger = Ledger(database)
    ledger.begin_run("p", "r", HOLDER)
    writer = open_database(database_url)
    with writer.transaction():
        Ledger(writer)._lock_head("p")
        with pytest.raises(StorageFailed, match="locked"):
            ledger.take_over("r", HOLDER)
    assert ledger.take_over("r", HOLDER).token == 2
    writer.close()
    database.close()


@pytest.mark.parametrize(
    "url",
    [
        "mysql://x",
        "sqlite:",
        "sqlite:relative.db",
        "sqlite://host/x",
        "sqlite:///x?mode=memory",
        "",
    ],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        open_database(url)
    assert "sqlite:///absolute/path" in caught.value.hint


def test_a_path_and_its_address_convert_both_ways() -> None:
    for name in ("/a b/?#%20é.db", "/x\udcff"):
        assert sqlite_path(sqlite_url(Path(name))) == Path(name)
    assert sqlite_path("sqlite:////four/slashes") == Path("/four/slashes")


def test_a_damaged_file_is_reported_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite3"
    path.write_bytes(b"this is no database, however long one looks at it" * 100)
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(StorageFailed, match="is damaged or not a database") as caught:
            open_database(sqlite_url(path), read_only=read_only)
        assert caught.value.facts["cause"] == "corrupt"
    assert path.read_bytes() == before


def test_damage_in_the_middle_is_reported(tmp_path: Path) -> None:
    url = sqlite_url(tmp_path / "ledger.sqlite3")
    database = open_database(url)
    Ledger(database).append("p", [note("x" * 3000) for _ in range(50)])
    database.close()
    with sqlite_path(url).open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 60_000)
    with pytest.raises(StorageFailed) as caught:
        again = open_database(url)
        Ledger(again).check_chain("p")
    assert caught.value.facts["cause"] == "corrupt"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    for read_only in (False, True):
        with pytest.raises(StorageFailed, match="no-folder"):
            open_database(sqlite_url(tmp_path / "no-folder" / "x"), read_only=read_only)


def test_a_folder_where_the_database_should_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HomeUnsafe, match="not a regular file"):
        open_database(sqlite_url(tmp_path))


def test_every_connection_waits_for_the_disk(tmp_path: Path) -> None:
    database = open_database(sqlite_url(tmp_path / "x"))
    assert database.fetch("PRAGMA synchronous") == [(2,)]
    assert database.fetch("PRAGMA journal_mode") == [("wal",)]
    database.close()


def test_an_unfinished_creation_is_completed(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    (tmp_path / "x.migrate").touch()
    with pytest.raises(StorageFailed) as caught:
        open_database(sqlite_url(tmp_path / "x"), read_only=True)
    assert caught.value.facts["cause"] == "absent"
    database = open_database(sqlite_url(tmp_path / "x"))
    assert database.schema_version() == VERSION
    database.close()


def test_an_unreachable_server_is_named_without_the_password() -> None:
    url = "postgresql://me:hunter2@127.0.0.1:1/ledger?application_name=hunter3"
    with pytest.raises(StorageFailed) as caught:
        open_database(url)
    assert caught.value.facts["cause"] == "unavailable"
    shown = f"{caught.value} {caught.value.hint} {caught.value.facts}"
    assert "`postgresql://127.0.0.1:1/ledger`" in shown and "hunter" not in shown


def test_a_lost_connection_is_an_error_once_and_then_replaced(postgres_url: str) -> None:
    database = open_database(postgres_url)
    ledger = Ledger(database)
    ledger.append("p", [note()])
    run_sql(
        postgres_url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
    with pytest.raises(StorageFailed) as caught:
        ledger.append("p", [note()])
    assert caught.value.facts["cause"] == "unavailable"
    assert ledger.append("p", [note()])[0].seq == 2
    database.close()


def test_sqlite_needs_no_other_driver(tmp_path: Path) -> None:
    code = """
import sys
from signoff.storage.home import open_database
open_database(sys.argv[1]).close()
print({"psycopg", "platformdirs", "sqlalchemy", "dbos"} & set(sys.modules))
"""
    text, _ = worker(code, sqlite_url(tmp_path / "x")).communicate(timeout=WAIT_S)
    assert text == "set()\n"


def test_a_forked_child_gets_a_connection_of_its_own(database_url: str) -> None:
    database = open_database(database_url)
    ledger = Ledger(database)
    ledger.append("p", [note("parent")])
    session = database._session()
    child = os.fork()
    if child == 0:
        try:
            ledger.append("p", [note("shared" if database._session() is session else "child")])
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    ledger.append("p", [note("parent")])
    assert [e.data["text"] for e in ledger.entries("p")] == ["parent", "child", "parent"]
    assert ledger.check_chain("p").holds
    database.close()


@pytest.fixture
def read_only_home() -> Iterator[Home]:
    # Not below pytest's own folder, which nobody else may enter.
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    home = Home(folder / "h")
    database = open_database(home.database_url)
    Ledger(database).append("p", [note()])
    database.close()
    for path in (home.path, *home.path.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield home
    home.path.chmod(0o700)
    shutil.rmtree(folder)


def as_somebody_without_rights(code: str, url: str) -> str:
    """Run `code` as a user for whom modes count; root is above them."""
    load = "import os, signoff.storage.ledger, signoff.storage.sqlite\n"
    drop = load + "if os.geteuid() == 0: os.setuid(65534)\n"
    text, _ = worker(drop + code, url, stderr=subprocess.STDOUT).communicate(timeout=WAIT_S)
    return text


def test_a_home_that_may_only_be_read_can_be_read(read_only_home: Home) -> None:
    assert as_somebody_without_rights(READ, read_only_home.database_url) == "1 True 0\n"
    names = {path.name for path in read_only_home.path.iterdir() if path.is_file()}
    assert names == {"ledger.sqlite3", "ledger.sqlite3.migrate"}


def test_a_database_in_use_by_its_owner_can_be_read_by_others(read_only_home: Home) -> None:
    home = read_only_home
    for path in (home.path, home.path / "ledger.sqlite3"):
        path.chmod(0o755)
    database = open_database(home.database_url)
    Ledger(database).append("p", [note()])
    assert as_somebody_without_rights(READ, home.database_url) == "2 True 0\n"
    database.close()


def test_writing_to_a_read_only_home_says_so(read_only_home: Home) -> None:
    assert as_somebody_without_rights(WRITE, read_only_home.database_url) == "read-only True\n"
    (read_only_home.path / "ledger.sqlite3").unlink()
    assert as_somebody_without_rights(WRITE, read_only_home.database_url) == "read-only True\n"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("no mount command here to make a small disk with")
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_a_full_disk_loses_nothing_and_the_reserve_records_it(small_disk: Path) -> None:
    home = Home(small_disk / "h")
    assert home.keep_reserve()
    database = open_database(home.database_url)
    ledger = Ledger(database)
    acknowledged = 0
    with pytest.raises(StorageFailed, match="the disk is full") as caught:
        for _ in range(1000):
            ledger.append("p", [note("x" * 20_000)])
            acknowledged += 1
    assert caught.value.facts["cause"] == "disk-full"
    assert 0 < acknowledged < 1000
    with pytest.raises(StorageFailed):
        ledger.append("p", [note("x" * 20_000)])
    assert home.drop_reserve()
    (recorded,) = ledger.append("p", [note("the disk is full")])
    assert recorded.seq == acknowledged + 1
    assert ledger.check_chain("p").holds
    assert not home.keep_reserve() or home.drop_reserve()
    database.close()
    again = open_database(home.database_url)
    assert Ledger(again).check_chain("p").entries == acknowledged + 1
    again.close()


def test_a_full_disk_leaves_plan_and_progress_whole(small_disk: Path) -> None:
    from signoff.storage.vault import Vault

    vault = Vault(small_disk / ".harness")
    digest = vault.swap_plan("", expected=None, text="small")
    vault.append_progress("", "before")
    (small_disk / "filler").write_bytes(b"x" * 3_900_000)
    with pytest.raises(StorageFailed, match="the disk is full"):
        vault.swap_plan("", expected=digest, text="x" * 1_000_000)
    with pytest.raises(StorageFailed, match="the disk is full"):
        vault.append_progress("", "y" * 1_000_000)
    assert vault.read_plan("") == ("small", digest)
    assert (vault.path / "progress.md").read_text() == "before\n"
    assert sorted(p.name for p in vault.path.iterdir()) == ["PLAN.md", "progress.md"]


def test_a_database_removed_while_in_use_is_not_silently_made_anew(tmp_path: Path) -> None:
    url = sqlite_url(tmp_path / "x")
    database = open_database(url)
    Ledger(database).append("p", [note()])
    database.close()
    for path in tmp_path.iterdir():
        path.unlink()
    with pytest.raises(StorageFailed):
        Ledger(database).append("p", [note()])
    with pytest.raises(sqlite3.OperationalError):
        sqlite3.connect(f"file:{tmp_path / 'x'}?mode=ro", uri=True).execute("SELECT 1")


def test_a_ledger_of_the_first_schema_is_carried_over(database_url: str) -> None:
    ledger = Ledger(open_database(database_url))
    ledger.append("p", [verdict("k"), note()])
    run_sql(database_url, "UPDATE entries SET ref = 'k' WHERE kind = 'verdict'")
    index = "CREATE INDEX reusable ON entries (ref, at) WHERE kind = 'verdict' AND ref IS NOT NULL"
    run_sql(database_url, index)
    for table in ("bindings", "leases", "standings"):
        run_sql(database_url, f"DROP TABLE {table}")
    run_sql(database_url, "UPDATE meta SET value = '1' WHERE key = 'schema'")
    assert Ledger(open_database(database_url)).check_chain("p").holds
