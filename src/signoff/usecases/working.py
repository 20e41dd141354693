"""`worker`: take runs from the queues and drive them in a checkout made of content that was sent.

    taken from a queue → ledger → content fetched → checkout, as approved → pins → trunk → run_plan

The ledger and the fence decide; content is sent before the entry that names it is written, and each
verdict is signed. Who lost its lease writes nothing more, and what it sends nobody's entry names.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from signoff.domain.ledger import Outcome
from signoff.domain.verdict import Isolation
from signoff.errors import (
    ContentUnreachable,
    Fenced,
    Held,
    Interrupted,
    NotApproved,
    SandboxMissing,
    SignoffError,
    StorageFailed,
)
from signoff.orchestrator.dispatch import Server, park
from signoff.orchestrator.events import Reporter
from signoff.places import DATABASE_VARIABLE
from signoff.process.sandboxes import best_isolation
from signoff.storage.home import hold
from signoff.storage.keys import SigningKey, signing_key
from signoff.storage.leases import RENEWALS_PER_TERM, home_identity
from signoff.storage.records import Holder
from signoff.storage.workers import (
    WORKER_KEY,
    WorkerName,
    clock_s,
    give_sign_of_life,
    is_trusted,
    leave,
    present_workers,
)
from signoff.usecases.checkouts import (
    LONGEST_PAUSE_S,
    LOOK_S,
    CheckoutRun,
    Duties,
    place_of_checkout,
)
from signoff.usecases.harness import Harness
from signoff.usecases.history import intact_history, read_pins
from signoff.usecases.run import DurableEngine, RunOptions, run_plan
from signoff.verification.enclosure import wanted_isolation
from signoff.workspace.remote import ContentRemote

OVER, ELSEWHERE, WAITING = "over", "elsewhere", "waiting"
BEGUN = "begun"  # in place of the run after which a new one may begin: none may
_MOST_SKEW_S = 5.0
_SECRET = ("PGPASSWORD", "PGPASSFILE", "PGSERVICE", "PGSERVICEFILE", DATABASE_VARIABLE)


class WorkerOptions(Struct, frozen=True):
    """The person's wishes, and how runs are watched."""

    name: str
    roles: tuple[str, ...]  # empty: any
    jobs: int | None
    lease_s: float
    tell: Callable[[str], None]
    reporter: Callable[[str], Reporter]  # of a plan
    open_harness: Callable[[Path], Harness]  # for a checkout
    stop: threading.Event = field(default_factory=threading.Event)


class InProcess:
    """Drives a run in this process: that it is taken up again is the queue's matter."""

    def drive(self, _run: str, drive: Callable[[], Outcome | None]) -> Outcome | None:
        """Drive until it is over; None when it waits for a person."""
        return drive()


def worker_name(harness: Harness, name: str) -> tuple[WorkerName, SigningKey]:
    """This home's worker under that name, with its key, made on first use."""
    key = signing_key(harness.home.keys, WORKER_KEY)
    return WorkerName(name, key.public.id), key


def serve(harness: Harness, options: WorkerOptions) -> None:
    """Work until somebody stops it, or nobody trusts it any more."""
    url = server_url(harness)
    content_address(harness)
    _require_sandbox(harness)
    _tell_skew(harness, options)
    worker, key = worker_name(harness, options.name)
    holder = Holder.current("", options.name, home_identity(harness.home.path))
    with hold(harness.home.locks, "worker", holder, "the worker of this home"):
        _wait_for_trust(harness, worker, options)
        WorkerProcess(harness, options, worker, key, url).work()


def content_address(harness: Harness) -> str:
    """The remote by which content travels; there is none unless the user names one."""
    if harness.settings.remote is None:
        raise ContentUnreachable(
            "no remote is configured by which content could go to workers",
            'in your own configuration: [content], remote = "ssh://git@host/content.git"',
        )
    return harness.settings.remote


def server_url(harness: Harness) -> str:
    """The PostgreSQL that all machines share."""
    url = harness.settings.database_url or ""
    if not url.startswith("postgres"):
        raise StorageFailed(
            "workers need a PostgreSQL database that every machine reaches",
            f"{DATABASE_VARIABLE}=postgresql://… on each machine",
        )
    return url


def remote_of(harness: Harness, plan: str) -> ContentRemote:
    """The content of a plan, at the user's remote."""
    folder = harness.home.path / "content" / plan
    return ContentRemote(content_address(harness), folder, plan, harness.environ)


def _require_sandbox(harness: Harness) -> None:
    """Refuse a worker whose agents could reach its key or its database's address."""
    boxed = best_isolation(wanted_isolation(harness.settings)) is not Isolation.NONE
    if not (boxed and harness.settings.sandbox.agents):
        raise SandboxMissing("a worker needs a sandbox for agents, and there is none here")


def _tell_skew(harness: Harness, options: WorkerOptions) -> None:
    """Leases go by the database's clock; the times in the ledger are those of each machine."""
    skew_s = time.time() - clock_s(harness.ledger.database)
    if abs(skew_s) > _MOST_SKEW_S:
        ahead = "ahead of" if skew_s > 0 else "behind"
        options.tell(
            f"this machine's clock is {abs(skew_s):.0f} s {ahead} the database's: what it writes"
            " will be dated so; leases go by the database's clock and are not affected"
        )


def _wait_for_trust(harness: Harness, worker: WorkerName, options: WorkerOptions) -> None:
    told = False
    while not is_trusted(harness.ledger, worker):
        if not told:
            options.tell(
                f"nobody trusts worker `{worker.name}` with this key yet, so it takes no runs;"
                " signoff worker enroll prints what a person has to type"
            )
            told = True
        if options.stop.wait(LOOK_S):
            raise Interrupted("stopped while it waited to be trusted", "signoff worker enroll")


class WorkerProcess:
    """One process that takes runs from the queues; each is driven in a thread of the engine."""

    def __init__(
        self,
        harness: Harness,
        options: WorkerOptions,
        name: WorkerName,
        key: SigningKey,
        url: str,
    ):
        self._harness = harness
        self.options = options
        self.name = name
        self._duties = Duties(name, key, options.lease_s, options.stop, self.say)
        self.doing: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self._url = url
        self._since = Holder.current("").since
        self._server: Server | None = None
        self._failure: SignoffError | None = None  # why it must not go on

    def work(self) -> None:
        """Take runs until told to stop; whatever is under way then is free for others at once."""
        self._sign_of_life()
        try:
            self._server = Server(self._url, str(self.name), self.options.roles, self._perform)
            self.options.tell(f"worker `{self.name.name}` is at work")
            # Not here: while the database is away, the engine waits for it, whoever wants to stop.
            for act in (self._sign_of_life, self._look_around):  # looking takes longer
                threading.Thread(target=self._keep, args=(act,), daemon=True).start()
            self.options.stop.wait()
            if self._failure is not None:
                raise self._failure
        finally:
            self.options.stop.set()
            with suppress(StorageFailed):
                self._wait_for_drives()
                leave(self._harness.ledger.database, self.name)

    def _keep(self, act: Callable[[], None]) -> None:
        pause = min(self.options.lease_s / RENEWALS_PER_TERM, 5.0)
        while not self.options.stop.wait(pause):
            try:
                act()
            except StorageFailed:
                continue  # a database that is away comes back, or others take over
            except SignoffError as error:
                self._failure = error
                self.options.stop.set()

    def _look_around(self) -> None:
        if not is_trusted(self._harness.ledger, self.name):
            raise NotApproved(
                f"nobody trusts worker `{self.name.name}` any more",
                f"signoff worker trust {self.name.name} KEY, by a person",
            )
        live = {w.process for w in present_workers(self._harness.ledger.database) if w.live}
        assert self._server is not None
        if taken := self._server.take_from(live):
            self.options.tell(f"{taken} run(s) of workers that died are free to be taken up")

    def _sign_of_life(self) -> None:
        doing = "; ".join(self.doing.values())
        holder = Holder(os.getpid(), os.uname().nodename, doing, self._since, self.name.name)
        give_sign_of_life(
            self._harness.ledger.database,
            self.name,
            self.options.roles,
            holder,
            self.options.lease_s,
        )

    def _wait_for_drives(self) -> None:
        """Agents are stopped, and that is written down, before anybody else may take over."""
        until = time.monotonic() + self.options.lease_s
        while self.doing and time.monotonic() < until:
            time.sleep(0.05)

    def _perform(self, plan: str, after: str, roles: Mapping[str, str]) -> str:
        """Drive a plan to its end or to a question, through whatever comes in between."""
        pause = LOOK_S
        try:
            while True:
                self.doing.setdefault(plan, plan)
                try:
                    return self._drive(plan, after, roles)
                except (Fenced, Held, Interrupted) as error:
                    # Another driver has it still or by now; or ours was stopped, or lost its lease.
                    if not self._is_ours(plan) and not isinstance(error, Interrupted):
                        return ELSEWHERE
                except (ContentUnreachable, StorageFailed) as error:
                    self.say(plan, error.message)
                    pause = min(2 * pause, LONGEST_PAUSE_S)
                if self.options.stop.wait(pause):
                    self.doing.pop(plan)
                    park()
        finally:
            self.doing.pop(plan, None)

    def _is_ours(self, plan: str) -> bool:
        assert self._server is not None
        with suppress(StorageFailed):
            return self._server.is_ours(plan)
        return True

    def say(self, plan: str, trouble: str) -> None:
        """Tell what keeps a run from going on, here and in the list of workers."""
        self.doing[plan] = f"{self.names.get(plan, plan)} waits: {trouble}"
        self.options.tell(self.doing[plan])

    def _drive(self, plan: str, after: str, roles: Mapping[str, str]) -> str:
        ledger = self._harness.ledger
        history = intact_history(ledger, plan, Path(plan))
        if not history.running and (history.run_id or "") != after:
            return OVER
        entry = history.run if history.running else history.approval
        record = next((one for one in ledger.plans() if one.id == plan), None)
        if entry is None or record is None:
            raise NotApproved(f"plan `{plan}` was not approved")
        self.names[plan] = self.doing[plan] = record.name or Path(record.path).stem
        pins = read_pins(ledger, entry)
        place = place_of_checkout(self._harness, record, pins)
        opened = self.options.open_harness(place.workspace)
        # Whatever an agent is given by name, the way to the database is not.
        environ = {n: v for n, v in opened.environ.items() if n not in _SECRET}
        opened = replace(opened, environ=environ)
        try:
            run = CheckoutRun(self._duties, opened.ledger, plan, pins, remote_of(opened, plan))
            asked = RunOptions(
                self.options.reporter(self.doing[plan]),
                _engine,
                roles=roles,
                cancelled=lambda: self.options.stop.is_set() or run.is_over(),
                worker=self.name.name,
                jobs=self.options.jobs,
                anyway=True,
                tell=self.options.tell,
                on_worker=run,
            )
            outcome = run_plan(opened, place, asked).outcome
            if outcome is not None:
                run.tidy(place.workspace)
            return WAITING if outcome is None else outcome.value
        finally:
            opened.ledger.database.close()


def _engine() -> DurableEngine:
    return InProcess()
