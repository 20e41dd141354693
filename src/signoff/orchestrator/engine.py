"""The durable engine: who drives a run, and when it wakes. Where the run stands is the ledger's.

One workflow per run; its steps are coarse: drive, wait, drive again, until the run is over. A step
that is interrupted is not ended but parked, which leaves the workflow pending, exactly as a kill
would: the next driver takes it up again.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import sqlalchemy

from signoff.domain.ledger import Outcome
from signoff.errors import StorageFailed
from signoff.testing.crash import EnginePoint, reach
from signoff.workspace.folders import wait_for


@contextmanager
def put_off(package: str, *submodules: str) -> Iterator[None]:
    """Give imports in this block a stand-in, which loads the package when it is used."""
    if package in sys.modules:
        yield
        return
    stand_ins = {package: _StandIn(package)}
    for name in submodules:
        stand_ins[f"{package}.{name}"] = _StandIn(f"{package}.{name}")
        setattr(stand_ins[package], name, stand_ins[f"{package}.{name}"])
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        _withdraw(package)


class _StandIn(ModuleType):
    """Stays with whoever imported it; only while that happens do others find it as well."""

    def __init__(self, name: str):
        super().__init__(name)
        self.__path__: list[str] = []  # or `from package import name` asks for it, and loads

    def __getattr__(self, name: str) -> Any:
        _withdraw(self.__name__.partition(".")[0])
        return getattr(import_module(self.__name__), name)


def _withdraw(package: str) -> None:
    """Remove the stand-ins, so that an import finds the package itself."""
    for name, module in tuple(sys.modules.items()):
        if isinstance(module, _StandIn) and name.partition(".")[0] == package:
            sys.modules.pop(name, None)


# A run on the embedded database need not wait for the driver of the other one.
with put_off("psycopg", "errors"):
    from dbos import DBOS, DBOSConfig, SetWorkflowID

# Stored names: renaming one orphans the runs that were begun under it.
WORKFLOW_NAME = "signoff.run"
DRIVE_NAME = "signoff.drive"
ANSWER_TOPIC = "signoff.answer"
QUEUE_NAME = "signoff.runs"
APPLICATION = "signoff"
VERSION_PREFIX = "signoff-1"

WAITING = "waiting"
_NOT_RESUMABLE = ("SUCCESS", "ERROR")
_UNDER_WAY = ("PENDING", "ENQUEUED", "DELAYED")
_RESUME_POLL_S = 0.1
_ASK_AGAIN_S = 0.5
_LONGEST_WAIT_S = 10 * 365 * 24 * 3600.0
_MIGRATION_PATIENCE_S = 120.0
_SUFFIXES = ("", "-wal", "-shm", "-journal")


class _Ending(NamedTuple):
    result: str | None
    error: BaseException | None


class _Meeting:
    """Meeting point of the workflow's thread and the waiting caller."""

    def __init__(self, drive: Callable[[], Outcome | None]):
        self.drive = drive
        self.ending: _Ending | None = None
        self.news = threading.Event()
        self.driven = False
        self.awake = False

    def announce(self, ending: _Ending) -> None:
        self.ending = ending
        self.news.set()


_meetings: dict[str, _Meeting] = {}


@DBOS.step(name=DRIVE_NAME)
def _drive(run: str) -> str:
    """At-least-once, and idempotent: every action of a drive first looks at the ledger."""
    meeting = _meetings[run]
    meeting.awake = True
    try:
        outcome = meeting.drive()
        meeting.driven = outcome is not None
    except BaseException as error:
        meeting.announce(_Ending(None, error))
        # Returning or raising would record the step; a parked one is taken up by the next driver.
        threading.Event().wait()
        raise
    return WAITING if outcome is None else outcome.value


@DBOS.workflow(name=WORKFLOW_NAME)
def _run(run: str) -> str:
    """Reads no clock, disk or network: everything that can differ on replay is inside the step."""
    while True:
        result = _drive(run)
        if result != WAITING:
            return result
        # Replayed from before, it is no news: this process has not driven yet.
        if _meetings[run].awake:
            _meetings[run].announce(_Ending(WAITING, None))
        DBOS.recv(ANSWER_TOPIC, timeout_seconds=_LONGEST_WAIT_S)


class Engine:
    """One driver process, one run at a time; runs of other drivers in the same home are apart."""

    def __init__(self, database_url: str | None, home: Path):
        """An embedded ledger has its engine beside it in the home; a server holds both."""
        served = database_url is not None and database_url.startswith("postgres")
        self._server = database_url if served else None
        self._home = home

    def drive(self, run: str, drive: Callable[[], Outcome | None]) -> Outcome | None:
        """Begin or take up the run; None when it now waits for a person.

        The caller's process ends soon after: the workflow's thread may still be parked.
        """
        meeting = _meetings[run] = _Meeting(drive)
        self._launch(run)
        workflow = _newest_workflow(run)
        if DBOS.get_workflow_status(workflow) is None:
            with SetWorkflowID(workflow):
                DBOS.start_workflow(_run, run)
        else:
            DBOS.resume_workflow(workflow, queue_name=QUEUE_NAME)
            DBOS.send(workflow, "go on", ANSWER_TOPIC)
        return _wait(workflow, meeting)

    def _launch(self, run: str) -> None:
        """Versions are per run, so that no other driver of this home takes the workflow.

        The executor id is this process's alone, so that launching recovers nothing by itself: who
        may take up which run is decided by our locks and fences.
        """
        config = DBOSConfig(
            name=APPLICATION,
            executor_id=f"{os.uname().nodename}-{os.getpid()}-{time.time_ns()}",
            application_version=f"{VERSION_PREFIX}-{run}",
            log_level="CRITICAL",
            enable_otlp=False,
        )
        # The first launches on a fresh database can trip over each other's migrations.
        lock = self._home / "locks" / "engine-launch.lock"
        try:
            with wait_for(lock, os.O_RDWR | os.O_CREAT, _MIGRATION_PATIENCE_S):
                if self._server is not None:
                    config["system_database_url"] = self._server
                else:
                    embedded = _embedded(_whole_database(self._home))
                    config["system_database_url"] = str(embedded.url)
                    config["system_database_engine"] = embedded
                DBOS(config=config)
                DBOS.launch()
                DBOS.register_queue(QUEUE_NAME, polling_interval_sec=_RESUME_POLL_S)
        except sqlalchemy.exc.SQLAlchemyError as error:
            cause = getattr(error, "orig", None) or error
            raise StorageFailed(f"the durable engine cannot use its database: {cause}") from error


def _newest_workflow(run: str) -> str:
    """The run's workflow; a further one in place of one that ended although the run goes on.

    We are here because the ledger says that the run is not over. The engine may say otherwise when
    the ledger was brought back from a backup, and then the ledger is right all the same.
    """
    workflow, number = run, 1
    while (status := DBOS.get_workflow_status(workflow)) and status.status in _NOT_RESUMABLE:
        number += 1
        workflow = f"{run}-{number}"
    return workflow


def _wait(workflow: str, meeting: _Meeting) -> Outcome | None:
    ask_at = 0.0
    while True:
        # Short waits keep Ctrl-C responsive; the news itself arrives at once.
        if meeting.news.wait(timeout=0.05) and meeting.ending is not None:
            if meeting.ending.error is not None:
                raise meeting.ending.error
            return None
        # Asking takes time from the drive; only how a workflow failed is not known here first.
        if not meeting.driven and time.monotonic() < ask_at:
            continue
        ask_at = time.monotonic() + _ASK_AGAIN_S
        status = DBOS.get_workflow_status(workflow)
        if status is None or status.status in _UNDER_WAY:
            continue
        if status.status == "SUCCESS":
            return Outcome(str(status.output))
        raise StorageFailed(f"the run cannot go on: {status.error or status.status}")


def _whole_database(home: Path) -> Path:
    """The engine's own file, made aside and renamed: its makers do not survive a kill halfway.

    One that was left half made is put aside. It holds nothing that the ledger does not tell.
    """
    path = home / "engine.sqlite3"
    if path.exists() and _is_half_made(path):
        for suffix in _SUFFIXES:
            with suppress(FileNotFoundError):
                Path(f"{path}{suffix}").replace(f"{path}.half-made{suffix}")
    if not path.exists():
        draft = home / "engine.sqlite3.making"
        for suffix in _SUFFIXES:
            Path(f"{draft}{suffix}").unlink(missing_ok=True)
        DBOS.migrate(str(sqlalchemy.URL.create("sqlite", database=str(draft.absolute()))))
        reach(EnginePoint.MADE)
        draft.rename(path)
    return path


def _is_half_made(path: Path) -> bool:
    """The version is written after the first tables: tables without one have no maker any more."""
    engine = _embedded(path)
    try:
        with engine.connect() as connection:
            tables = set(sqlalchemy.inspect(connection).get_table_names())
            if "dbos_migrations" not in tables:
                return True
            version = connection.execute(sqlalchemy.text("SELECT version FROM dbos_migrations"))
            return version.first() is None
    finally:
        engine.dispose()


def _embedded(path: Path) -> sqlalchemy.Engine:
    """WAL with full sync on every connection: fast, and a power cut loses nothing acknowledged."""
    url = sqlalchemy.URL.create("sqlite", database=str(path.absolute()))
    engine = sqlalchemy.create_engine(url, connect_args={"timeout": 60})

    def _pragmas(connection: object, _record: object) -> None:
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=60000"):
            connection.execute(f"PRAGMA {pragma}")  # type: ignore[attr-defined]

    sqlalchemy.event.listen(engine, "connect", _pragmas)
    return engine
