"""Everything one run works with, and how what agents tampered with is put back."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from signoff.agents.assignment import Assignment, AttemptReport, read_usage, read_work_s
from signoff.agents.prompt import Setback
from signoff.domain.digests import digest_bytes
from signoff.domain.facts import SessionWork
from signoff.domain.ledger import GENESIS, Draft, Kind
from signoff.domain.plan import Plan, Step
from signoff.domain.second_look import ModelSaid
from signoff.domain.snapshot import Change, ChangeKind
from signoff.domain.text import storable_path
from signoff.domain.verdict import Isolation, Reason
from signoff.errors import SetupFailed, SignoffError
from signoff.gate.record import Judged, Record
from signoff.gate.state import State
from signoff.orchestrator.events import Reporter
from signoff.orchestrator.projection import PlanFileProjection
from signoff.places import ATTEMPT_VARIABLE
from signoff.process.command import Mount
from signoff.process.leftovers import WORKSPACE_VARIABLE, kill_marked
from signoff.settings.loading import Settings
from signoff.settings.policy import JudgeModel
from signoff.settings.roles import HUMAN_ROLE
from signoff.storage.ledger import Ledger
from signoff.storage.records import Fence
from signoff.verification.guards import Guards, PinWatch
from signoff.verification.judge import Judge
from signoff.verification.pins import Pins
from signoff.verification.protection import file_of
from signoff.verification.rooms import Rooms
from signoff.workspace.beside import WorkspaceAt
from signoff.workspace.cleanroom import CleanRoom
from signoff.workspace.folders import opened_root, remove_any
from signoff.workspace.workspace import Workspace

if TYPE_CHECKING:
    from signoff.verification.setup import SetUps


class OpinionAsker(Protocol):
    """Asks one model."""

    @property
    def settings(self) -> JudgeModel:
        """The model, and the limits of an opinion."""

    def ask(self, system: str, text: str, cancelled: Callable[[], bool]) -> ModelSaid:
        """One answer; Interrupted when somebody stops it."""


class AttemptAgent(Protocol):
    """Does the work of an attempt."""

    def work(self, assignment: Assignment) -> AttemptReport:
        """Do it, and return when everything that was started has ended."""

    def beside(self, mounts: tuple[Mount, ...], mark: str) -> AttemptAgent:
        """The agent for a lane, which is shown to it in the workspace's place."""


class JudgingRoom(Struct, frozen=True):
    """A clean room in which content is judged that lies in no workspace."""

    clean: CleanRoom
    mark: str  # of its processes

    def judge_of(self, judge: Judge, content: str, cancelled: Callable[[], bool]) -> Judge:
        """A judge of this content; for a thread of its own."""
        self.clean.workspace = view = WorkspaceAt(judge.workspace, content)
        runner = replace(judge.runner, mark=self.mark, cancelled=cancelled, on_output=None)
        setups = judge.rooms.setups
        if setups is not None:
            setups = replace(setups, workspace=view, runner=runner, user=self.mark)
        rooms = replace(judge.rooms, clean=self.clean, setups=setups)
        return replace(judge, workspace=view, rooms=rooms, runner=runner)


class Lane(Struct, frozen=True):
    """A checkout beside the workspace, for one attempt at a time."""

    number: int
    checkout: CleanRoom
    workspace: Workspace  # what the checkout holds
    mark: str  # of its processes

    def to_work_in(
        self, judge: Judge, digest: str, cancelled: Callable[[], bool]
    ) -> Callable[[], tuple[Mount, ...]]:
        """The checkout with what the set-up command makes; for a thread of its own."""
        there = JudgingRoom(self.checkout, self.mark).judge_of(judge, digest, cancelled)
        return partial(self._set_up, there.rooms, there.workspace, judge.pins.snapshot)

    def _set_up(self, rooms: Rooms, there: Workspace, approved: str) -> tuple[Mount, ...]:
        try:
            return self.check_out(there, rooms.setups)
        except SetupFailed as failed:
            if not rooms.sets_up(approved, failed):
                raise
        # The content is at fault: who works on it with the workspace's by-products can mend that.
        return self.check_out(there, rooms.setups if there.last_digest == approved else None)

    def check_out(self, there: Workspace, setups: SetUps | None = None) -> tuple[Mount, ...]:
        """Put this content into the checkout; returns the mounts that show it as the workspace."""
        self.checkout.workspace = there
        digest, root = there.last_digest, there.root
        made = setups.made(there.content(digest)).byproducts if setups is not None else None
        room = self.checkout.prepare(digest, made=made)
        return (
            Mount(room.path, root, writable=True),
            *(Mount(room.source / path, root / path) for path in room.shared),
            *(Mount(root / path, root / path) for path in room.apart),
        )


class LaneMaker(Struct, frozen=True):
    """Makes the lanes of one workspace, in the home folder, where no agent sees another's."""

    most: int  # attempts at the same time
    environ: Mapping[str, str]  # for git, with a search path that no agent can write to
    folder: Path
    workspace: Workspace
    mark: str  # of the workspace's own processes
    share: tuple[str, ...] = ()  # globs of by-products of which each lane gets a copy of its own

    def lane(self, number: int) -> Lane:
        """A lane; what an earlier driver left running there is ended."""
        here, mark = self.workspace, self._own_mark(f"lane-{number}")
        checkout = CleanRoom(here, self.folder / f"lane-{number}", own=self.share)
        seen = Workspace(checkout.path, here.store, here.rules, here.apart, here.protects)
        return Lane(number, checkout, seen, mark)

    def room(self, number: int) -> JudgingRoom:
        """A room to judge in; likewise."""
        mark = self._own_mark(f"room-{number}")
        clean = CleanRoom(self.workspace, self.folder / f"room-{number}")
        return JudgingRoom(clean, mark)

    def give_back(self) -> None:
        """Remove the lanes: each takes as much of the disk as the workspace does."""
        with suppress(OSError, SignoffError), opened_root(self.folder.parent) as fd:
            remove_any(fd, self.folder.name)

    def _own_mark(self, name: str) -> str:
        mark = f"{self.mark}-{name}"
        kill_marked(WORKSPACE_VARIABLE, mark)
        return mark


class OpenRun(Struct, frozen=True):
    """One run, ready to be driven: the plan is held, and this driver's fence is the newest."""

    plan_id: str
    run: str
    plan: Plan
    plan_path: Path
    pins: Pins
    settings: Settings
    state: State  # of this run, as far as the ledger was read; the drive folds the rest
    root: Path
    exchange: Path
    ledger: Ledger
    fence: Fence
    workspace: Workspace
    judge: Judge
    guards: Guards
    agent: AttemptAgent
    projection: PlanFileProjection
    watch: PinWatch
    reporter: Reporter
    read_topic: Callable[[str], str | None]
    cancelled: Callable[[], bool]
    agent_isolation: Isolation = Isolation.NONE
    last_hash: str = GENESIS  # of the last entry that `state` knows
    session: SessionWork | None = None  # did the steps already; they are judged, given to nobody
    wait: bool = False  # stay while a usage limit parks the run
    clock: Callable[[], float] = time.time
    lanes: LaneMaker | None = None  # None: everything is done in line, in the workspace
    rooms: LaneMaker | None = None  # for judging wrong versions; None where that cannot be
    opinions: OpinionAsker | None = None  # None: the user names no model for rubrics
    shown_at: Path | None = None  # where agents see `root`, if that is somewhere else
    ousted: Callable[[], bool] = lambda: False  # somebody else holds the plan by now
    make_room: Callable[[], bool] = lambda: False  # gives the home's reserve back to a full disk
    # What is done with entries before they are written: a worker sends content, and signs verdicts.
    endorse: Callable[[tuple[Draft, ...]], tuple[Draft, ...]] = lambda drafts: drafts


_CHANGED_THE_CHECK = frozenset({Reason.TAMPERED, Reason.INFLUENCED, Reason.OUTSIDE})


class Restored(Struct, frozen=True):
    """Changes that the harness undid: contents put back, and added files removed."""

    put_back: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """All of it."""
        return tuple(sorted((*self.put_back, *self.removed)))


def restore_tampered(work: OpenRun, state: State, record: Record) -> Restored:
    """Make every file that the latest verdict calls tampered what it has to be.

    As approved, or as the accepted step left it that made it. What the agent made of them stays in
    the attempt's snapshot. Raises StorageFailed for what cannot be put back, after all the rest.
    """
    latest = record.latest
    if latest is None or latest.reason not in _CHANGED_THE_CHECK:
        return Restored()
    wanted: dict[str, set[str]] = {}
    approved = work.pins.snapshot
    if latest.reason is Reason.OUTSIDE and record.spans:
        # What earlier steps made of it stays: the step goes back to where it began.
        approved = record.spans[0][0] or approved
    for path in _files(work, latest):
        product = state.products.get(path)
        snapshot = approved if product is None else product.snapshot
        wanted.setdefault(snapshot, set()).add(path)
    undone: list[Change] = []
    for snapshot, paths in wanted.items():
        undone += work.workspace.revert(snapshot, only=paths)
    added = [change for change in undone if change.kind is ChangeKind.ADDED]
    return Restored(_names(c for c in undone if c not in added), _names(added))


def setback_of(record: Record, restored: Restored) -> Setback | None:
    """The failure of the attempt before, as the next prompt tells it."""
    latest, back = record.latest, record.turned_back_by
    if back is not None:
        return Setback(back.message, back.exit_code, back.output_tail, starts_over=True)
    if latest is None or latest.kept:
        return None
    return Setback(
        message=latest.message,
        exit_code=latest.exit_code,
        output_tail=latest.output_tail,
        tampered=latest.tampered,
        restored=restored.put_back,
        removed=restored.removed,
        broke_later=record.reopened,
        suspects=record.suspects,
    )


def left_tampered(state: State, besides: str) -> list[tuple[str, Record]]:
    """Other steps that wait for a person, with what their agents tampered with still in place."""
    return [
        (subject, record)
        for subject, record in state.records.items()
        if subject != besides
        and record.question is not None
        and record.latest is not None
        and record.latest.reason in _CHANGED_THE_CHECK
        and record.cleared < record.latest.seq
    ]


def _files(work: OpenRun, latest: Judged) -> set[str]:
    """The tampered files; of a part, such as `Makefile#target:test`, the file it belongs to."""
    manifest = work.workspace.manifest
    known = {*manifest(work.pins.snapshot), *manifest(latest.snapshot)}
    names = {storable_path(path): path for path in known}
    return {names.get(name, file_of(name)) for name in latest.tampered}


def _names(changes: Iterable[Change]) -> tuple[str, ...]:
    return tuple(sorted(storable_path(change.path) for change in changes))


def lost_attempts(state: State, exchange: Path) -> Iterator[Draft]:
    """End the attempts that a dead driver left in flight, and yield their entries."""
    for step in state.schedule.steps:
        for attempt in state.record(step.id).at_work if step.target != HUMAN_ROLE else ():
            yield lost_attempt(state.run, exchange, step, attempt)


def lost_attempt(run: str, exchange: Path, step: Step, attempt: int) -> Draft:
    """End whatever of it still runs; the entry that says so."""
    mark = marker(run, step.id, attempt)
    killed = kill_marked(ATTEMPT_VARIABLE, mark)
    told, heard = report_file(exchange, mark, "usage"), meter_file(exchange, mark)
    usage, seen = read_usage(told), read_usage(heard)
    usage = seen.or_more(usage) if seen is not None else usage
    data = {
        "lost": True,
        "leftovers_killed": killed,
        "duration_s": read_work_s(heard),
        "usage": usage and usage.to_data(),
    }
    heard.unlink(missing_ok=True)
    return Draft(Kind.ATTEMPT_FINISHED, data, run=run, step=step.id, attempt=attempt)


def report_file(exchange: Path, mark: str, what: str) -> Path:
    """A name for this attempt alone; the step's id may hold anything, so it is hashed."""
    name = digest_bytes(mark.encode("utf-8", "replace"))[:24]
    return exchange / name / f"{name}.{what}"  # a folder each: agents work at the same time


def clean_report_file(exchange: Path, mark: str, what: str) -> Path:
    """Path for a report, cleared: after a power cut the attempt's number may be in use."""
    file = report_file(exchange, mark, what)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        file.unlink(missing_ok=True)
    except IsADirectoryError:
        # Names can be foreseen: an earlier agent may have put a folder in the way.
        shutil.rmtree(file)
    return file


def meter_file(exchange: Path, mark: str) -> Path:
    """Path of the meter's file, beside the folder that the run's agents may write to."""
    own = report_file(exchange, mark, "meter").name
    return exchange.with_name(f"{exchange.name}.{own}")


def marker(run: str, step: str, attempt: int) -> str:
    """The mark that every process of the attempt carries."""
    return f"{run}:{step}:{attempt}"
