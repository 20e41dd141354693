"""`run --all`: every ready plan in a worktree of its own, merged in order as they finish.

    merge what is finished → hand out what is ready → wait for the first to end → again

Each plan has a driver process of its own, so that one which fails, hangs or is killed holds up
only the plans that depend on it. Their agents share one limit. All of it can be repeated: whatever
is done stays done.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from enum import StrEnum

from msgspec import Struct, field

from signoff.agents.pooled import POOL_VARIABLE
from signoff.domain.ledger import Cause, Choice, Kind
from signoff.domain.names import shown_name
from signoff.domain.text import decode_output
from signoff.domain.verdict import Ending
from signoff.errors import Exit, Interrupted, SignoffError
from signoff.gate.ready import PlanReadiness, PlanStanding, PlanState
from signoff.process.command import Command, StreamName
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.storage.active import find_vault
from signoff.usecases.harness import Harness, find_plan, require_targets
from signoff.usecases.merge import merge_plan, order_in
from signoff.usecases.person import WORKER_VARIABLE, find_worker
from signoff.usecases.queue import give_back, hand_out
from signoff.usecases.ready import PlanFacts, find_ready, take_census
from signoff.usecases.workspaces import workspace_key
from signoff.usecases.worktree import add

_LOOK_EVERY_S = 0.5
_NO_END_S = 10 * 365 * 24 * 3600.0


class PlanEnd(StrEnum):
    """State of one plan when there is nothing more to do."""

    DONE = "done"
    UNMERGED = "not merged"
    FAILED = "failed"
    WAITING = "waiting for a person"
    HELD_UP = "held up"
    ELSEWHERE = "running elsewhere"


class FleetOptions(Struct, frozen=True):
    jobs: int  # attempts at the same time, of all plans together
    yes: bool = False
    roles: Mapping[str, str] = field(default_factory=dict)
    cancelled: Callable[[], bool] = lambda: False
    agent: tuple[str | None, str | None] = (None, None)  # who plays every role, by which model


class PlanResult(Struct, frozen=True):
    name: str
    ended: PlanEnd
    why: str = ""


class FleetReport(Struct, frozen=True):
    plans: tuple[PlanResult, ...]
    merged: tuple[str, ...]

    @property
    def exit_code(self) -> Exit:
        """Exit code: yes only if everything is signed off and merged."""
        named = [plan for plan in self.plans if plan.name]
        endings = {plan.ended for plan in named or self.plans}
        if endings <= {PlanEnd.DONE}:
            return Exit.YES
        waits = {PlanEnd.WAITING, PlanEnd.UNMERGED}
        return Exit.WAITING if endings & waits and PlanEnd.FAILED not in endings else Exit.NOT_DONE


def drive_all(
    harness: Harness, options: FleetOptions, tell: Callable[[str, str], None]
) -> FleetReport:
    """Drive until nothing is left that could be started; `tell` gets a plan and a line."""
    found = take_census(harness).plans
    targets = {p.name: {s.target for s in p.plan.steps if s.target} for p in found if p.plan}
    require_targets(options.roles, {role for of in targets.values() for role in of}, "any plan")
    with ThreadPoolExecutor(options.jobs) as threads:
        # Of the repository, so that two such commands in it have one limit.
        vault = find_vault(harness.cwd, harness.environ)
        pool = f"attempts-{workspace_key(vault.repository or vault.worktree)}"
        return _Fleet(harness, options, tell, threads, targets, pool).drive()


class _Fleet(Struct):
    harness: Harness
    options: FleetOptions
    tell: Callable[[str, str], None]
    threads: ThreadPoolExecutor
    targets: Mapping[str, Collection[str]]  # plan → the roles that its steps go to
    pool: str  # name of the limit on attempts that all drivers share
    running: dict[Future[int], str] = field(default_factory=dict)
    begun: dict[str, threading.Event] = field(default_factory=dict)  # plan → its run has begun
    tried: dict[str, str] = field(default_factory=dict)  # plan → why it is not done
    unmergeable: dict[str, str] = field(default_factory=dict)
    merged: list[str] = field(default_factory=list)

    def drive(self) -> FleetReport:
        while not self.options.cancelled():
            self._merge_finished()
            while len(self.running) < self.options.jobs and self._start_one():
                pass
            if not self.running:
                results = tuple(self._result(*found) for found in find_ready(self.harness).plans)
                return FleetReport(results, tuple(self.merged))
            ended, _ = wait(self.running, timeout=_LOOK_EVERY_S, return_when=FIRST_COMPLETED)
            for future in ended:
                name, code = self.running.pop(future), future.result()
                if code != Exit.YES:
                    said = f"`signoff run {shown_name(name)}` ended with exit code {code}"
                    self.tried[name] = said
                self.tell(name, self.tried[name] or "done")
        for future in self.running:
            future.result()
        raise Interrupted("interrupted; every run is safe and goes on with the same command")

    def _merge_finished(self) -> None:
        """Merge in the order of dependencies and sizes; one that fails holds up no other."""
        found = order_in(self.harness, take_census(self.harness)).answer
        if found.order:
            # Who merges holds a lock, and below a process that does nobody may approve.
            for name in self.running.values():
                self.begun[name].wait()
        for name in found.order:
            if name not in self.unmergeable:
                self._merge(name)
        for ring in found.cycles:
            self.unmergeable.update(dict.fromkeys(ring, f"cycle: {' → '.join(ring)}"))

    def _merge(self, name: str) -> None:
        place = find_plan(self.harness.cwd, shown_name(name), environ=self.harness.environ)
        entries = take_census(self.harness).by_name[name].history.entries
        opened = [e.data for e in entries if e.kind is Kind.ESCALATION_OPENED]
        asked = {data["id"] for data in opened if data["cause"] == Cause.MERGE}
        answers = [e.data for e in entries if e.kind is Kind.ESCALATION_ANSWERED]
        choices = [data["choice"] for data in answers if data["id"] in asked]
        if choices[-1:] == [Choice.ABORT]:
            self.unmergeable[name] = "a person decided not to merge it"
            return
        try:
            report = merge_plan(self.harness, place, tell=lambda s: self.tell(name, f"judging {s}"))
        except SignoffError as error:
            self.unmergeable[name] = error.message
            self.tell(name, f"not merged: {error.message}")
            return
        if report.commit is None:
            self.unmergeable[name] = f"{report.question} is in the inbox"
            self.tell(name, f"not merged: {report.question} is in the inbox")
        else:
            self.merged.append(name)
            self.tell(name, f"merged into {report.base}: {report.commit[:12]}")

    def _start_one(self) -> bool:
        """Claim the next plan and give it a driver; a plan is tried once per call of this verb."""
        name = f"all:{os.uname().nodename}:{os.getpid()}:{len(self.tried)}"
        worker = find_worker(self.harness.environ, name)
        left_out = frozenset({*self.tried, ""})
        handed = hand_out(
            self.harness, worker, unapproved=self.options.yes, left_out=left_out
        ).handed
        if handed is None:
            return False
        name = handed.name
        self.tried[name] = ""
        try:
            bound = self.harness.ledger.glance().worktree_of(handed.record.id)
            if bound is None or not bound.is_dir():
                made = add(self.harness, name)
                for text in (f"in {made.path}", *made.notes):
                    self.tell(name, text)
        except SignoffError as error:
            give_back(self.harness, worker, shown_name(name))
            self.tried[name] = error.message
            self.tell(name, error.message)
            return True
        self.begun[name] = threading.Event()
        self.running[self.threads.submit(self._run_driver, name, worker.name)] = name
        return True

    def _run_driver(self, name: str, worker: str) -> int:
        """Run one driver process; all that it started ends with it."""

        def tell(line: str) -> None:
            if line.startswith((Kind.RUN_STARTED, Kind.RUN_RESUMED)):
                self.begun[name].set()
            self.tell(name, line)

        lines = {stream: _Lines(tell) for stream in StreamName}
        words = [sys.executable, "-m", "signoff", "run", name]
        words += [f"--jobs={self.options.jobs}"]
        words += ["--yes"] if self.options.yes else []
        named = zip(("--agent", "--model"), self.options.agent, strict=True)
        words += [f"{option}={chosen}" for option, chosen in named if chosen is not None]
        roles, own = self.options.roles, self.targets.get(name, self.options.roles)
        words += [f"--role={role}={roles[role]}" for role in roles if role in own]
        command = Command(
            tuple(words),
            self.harness.cwd,
            {**self.harness.environ, WORKER_VARIABLE: worker, POOL_VARIABLE: self.pool},
            Limits(wall_s=_NO_END_S),
        )
        try:
            seen = run(
                command,
                cancelled=self.options.cancelled,
                on_output=lambda stream, chunk: lines[stream].feed(chunk),
            )
            for rest in lines.values():
                rest.end()
        finally:
            self.begun[name].set()
        if seen.ending is not Ending.EXITED or seen.exit_code is None:
            return int(Exit.CANNOT_JUDGE)
        return seen.exit_code

    def _result(self, plan: PlanFacts, answer: PlanReadiness) -> PlanResult:
        name, standing = plan.name, plan.standing
        if standing is PlanStanding.SIGNED_OFF:
            return PlanResult(name, PlanEnd.DONE)
        if not name:
            return PlanResult(name, PlanEnd.HELD_UP, "it works in the main checkout: signoff run")
        if standing is PlanStanding.SIGNED_OFF_UNMERGED:
            return PlanResult(name, PlanEnd.UNMERGED, self.unmergeable.get(name, ""))
        if standing is PlanStanding.FAILED:
            return PlanResult(name, PlanEnd.FAILED, self.tried.get(name, ""))
        if standing is PlanStanding.IN_PROGRESS:
            return PlanResult(name, PlanEnd.ELSEWHERE, plan.holder)
        if answer.state is PlanState.READY and standing is PlanStanding.NOT_APPROVED:
            said = f"signoff approve {shown_name(name)}"
            return PlanResult(
                name, PlanEnd.WAITING, self.tried.get(name) or f"not approved: {said}"
            )
        if standing is PlanStanding.WAITING_FOR_PERSON:
            return PlanResult(name, PlanEnd.WAITING, "signoff inbox")
        reasons = [str(reason) for reason in answer.reasons]
        reasons += [f"kept back by {shown_name(other)}" for other in answer.kept_back_by]
        why = "; ".join(reasons) or self.tried.get(name, "") or plan.problem
        return PlanResult(name, PlanEnd.HELD_UP, why)


class _Lines:
    """Whole lines out of pieces of output."""

    def __init__(self, tell: Callable[[str], None]):
        self._tell = tell
        self._rest = b""

    def feed(self, chunk: bytes) -> None:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._tell(decode_output(line))

    def end(self) -> None:
        if self._rest:
            self._tell(decode_output(self._rest))
