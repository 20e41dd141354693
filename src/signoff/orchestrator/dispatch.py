"""Queues of runs that go to workers: handed over on any machine, taken from a queue by a worker.

A run waits in the queue of the roles that its plan needs; a worker listens to those queues whose
roles it can all play. The engine only dispatches: who drives is the lease's matter, and where the
run stands is the ledger's. So taking up a run again, or twice, does no harm.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import sqlalchemy
from msgspec import Struct

from signoff.errors import StorageFailed, UsageError
from signoff.orchestrator.engine import put_off

with put_off("psycopg", "errors"):
    from dbos import DBOS, DBOSClient, DBOSConfig

# Stored names: renaming one orphans the runs that wait under it. A new version for workers that
# could not go on with what others began: those finish, and new runs go to new ones.
APPLICATION = "signoff-workers"
VERSION = "signoff-workers-1"
WORKFLOW_NAME = "signoff.worker.run"
STEP_NAME = "signoff.worker.drive"
_QUEUE = "signoff.roles:"
_MOST_ROLES = 10
_POLL_S = 1.0
_URGENCY = {"high": 1, "normal": 2, "low": 3}
_WAITS = ("ENQUEUED", "DELAYED")
_UNDER_WAY = "PENDING"

# A plan, the run after which a new one may begin, and roles named on the command line.
Perform = Callable[[str, str, Mapping[str, str]], str]


class Handed(Struct, frozen=True):
    """A run that was handed over, as it stands in its queue."""

    waits: bool
    under_way: bool
    executor: str = ""
    result: str = ""
    error: BaseException | None = None


class RunQueue(Struct, frozen=True):
    """One queue: runs that wait and that are under way, and how long the oldest has waited."""

    roles: tuple[str, ...]
    waiting: int
    under_way: int
    oldest_s: float


_performs: list[Perform] = []  # what this process does with a run that it takes from a queue


@DBOS.step(name=STEP_NAME)
def _drive(plan: str, after: str, roles: dict[str, str]) -> str:
    """At-least-once, and idempotent: whoever drives first looks at lease and ledger."""
    return _performs[-1](plan, after, roles)


# However often workers die: the ledger says what there is to do, not a count.
@DBOS.workflow(name=WORKFLOW_NAME, max_recovery_attempts=None)
def _run(plan: str, after: str, roles: dict[str, str]) -> str:
    return _drive(plan, after, roles)


def queue_of(roles: Collection[str]) -> str:
    """The queue of runs that need these roles."""
    return _QUEUE + ",".join(sorted(roles))


def _queues_for(roles: Sequence[str]) -> list[str]:
    """Every queue that a worker with these roles can serve; only those in use are looked at."""
    if len(roles) > _MOST_ROLES:
        raise UsageError(
            f"a worker can be given {_MOST_ROLES} roles at most", "leave out --roles for all"
        )
    sizes = range(len(roles) + 1)
    return [queue_of(chosen) for size in sizes for chosen in combinations(sorted(roles), size)]


class Dispatcher:
    """Hands runs over and looks at the queues; runs nothing itself."""

    def __init__(self, client: DBOSClient):
        self._client = client

    def hand_over(
        self,
        plan: str,
        after: str,
        needs: Collection[str],
        roles: Mapping[str, str],
        priority: str,
    ) -> str:
        """Put the plan into the queue of the roles it needs, once; the id of its place there."""
        queue = queue_of(needs)
        self._client.register_queue(
            queue,
            worker_concurrency=1,
            polling_interval_sec=_POLL_S,
            on_conflict="never_update",
            application_name=APPLICATION,
        )
        handle: Any = self._client.enqueue(
            {
                "workflow_name": WORKFLOW_NAME,
                "queue_name": queue,
                "app_version": VERSION,
                "deduplication_id": plan,
                "duplication_policy": "return-existing",
                "priority": _URGENCY.get(priority.strip().lower(), 2),
            },
            plan,
            after,
            dict(roles),
        )
        return str(handle.get_workflow_id())

    def look(self, handed: str) -> Handed:
        """Ask how it stands."""
        found = self._client.list_workflows(workflow_ids=[handed])
        if not found:
            raise StorageFailed(f"the queues know nothing of `{handed}`")
        one = found[0]
        return Handed(
            one.status in _WAITS,
            one.status == _UNDER_WAY,
            one.executor_id or "",
            str(one.output or ""),
            one.error,
        )

    def queues(self) -> tuple[RunQueue, ...]:
        """Every queue in which something waits or is under way."""
        rows = self._client.list_workflows(
            status=[*_WAITS, _UNDER_WAY],
            name=WORKFLOW_NAME,
            load_input=False,
            load_output=False,
            application_name=APPLICATION,
        )
        by_queue: dict[str, list[Any]] = {}
        for row in rows:
            by_queue.setdefault(row.queue_name or "", []).append(row)
        return tuple(_queue(name, found) for name, found in sorted(by_queue.items()))


def _queue(name: str, rows: Sequence[Any]) -> RunQueue:
    waiting = [row for row in rows if row.status in _WAITS]
    oldest = min((row.created_at or 0 for row in waiting), default=0)
    roles = tuple(filter(None, name.removeprefix(_QUEUE).split(",")))
    oldest_s = max(0.0, time.time() - oldest / 1000) if waiting else 0.0
    return RunQueue(roles, len(waiting), len(rows) - len(waiting), oldest_s)


@contextmanager
def dispatching(url: str) -> Iterator[Dispatcher]:
    """A connection to the queues, made where there are none; the engine sees to it that once."""
    with _told():
        DBOS.migrate(url)
        client = DBOSClient(
            system_database_url=url, application_name=APPLICATION, retry_connection_errors=False
        )
    try:
        with _told():
            yield Dispatcher(client)
    finally:
        client.destroy()


class Server:
    """Takes runs from the queues in this process, until it ends."""

    def __init__(self, url: str, executor: str, roles: Sequence[str], perform: Perform):
        _performs.append(perform)
        config = DBOSConfig(
            name=APPLICATION,
            executor_id=executor,
            application_version=VERSION,
            log_level="CRITICAL",
            enable_otlp=False,
            system_database_url=url,
        )
        with _told():
            DBOS(config=config)
            if roles:
                DBOS.listen_queues(_queues_for(roles))
            DBOS.launch()
        self._executor = executor

    def is_ours(self, plan: str) -> bool:
        """True while the queue says that this process drives the plan."""
        found = DBOS.list_workflows(
            status=_UNDER_WAY, executor_id=self._executor, name=WORKFLOW_NAME, load_output=False
        )
        return any(row.input is not None and row.input["args"][0] == plan for row in found)

    def take_from(self, live: Collection[str]) -> int:
        """Put runs of executors that are not alive back into their queues; how many."""
        rows = DBOS.list_workflows(
            status=_UNDER_WAY, name=WORKFLOW_NAME, load_input=False, load_output=False
        )
        gone = {row.executor_id for row in rows if row.executor_id} - {*live, self._executor}
        # Atomic, by executor: a run that somebody took up meanwhile is left alone.
        return len(DBOS._recover_pending_workflows(sorted(gone))) if gone else 0


def park() -> None:
    """Leave the run in the queue as it is: for a process that is about to end."""
    threading.Event().wait()


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except sqlalchemy.exc.SQLAlchemyError as error:
        cause = getattr(error, "orig", None) or error
        raise StorageFailed(f"the queues of the workers cannot be used: {cause}") from error
