"""The books of a definition of done: facts go in, and whoever opens them again finds the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from signoff.domain.definition import Artifact, Check, Definition, Item
from signoff.domain.ledger import Draft, Kind
from signoff.errors import LedgerBroken
from signoff.gate import timeline
from signoff.gate.definition import (
    UNSTATED,
    ArtifactsSeen,
    Dropped,
    Fact,
    ItemCompleted,
    ItemsListed,
    ProjectSeen,
    RoundPlanned,
    Stated,
    TakenUp,
    Touched,
    apply,
    from_data,
    nothing_left,
    to_data,
)
from signoff.storage.ledger import Ledger
from signoff.toolbatch.events import Event, Responded

LONGEST_TEXT = 2_000  # of what a person was told when a turn was halted
MAIN_TASK = "main"
# When these change nothing they say nothing; a change of files always does.
_MAY_SAY_NOTHING = (
    Stated,
    ItemsListed,
    ItemCompleted,
    ArtifactsSeen,
    Dropped,
    ProjectSeen,
    TakenUp,
)

Planner = Callable[[Definition], tuple[Check, ...]]
Look = Callable[[Definition], ArtifactsSeen]
Told = Callable[[timeline.Note], None]


class Reading(NamedTuple):
    """Facts of a book, and where the next reading begins."""

    facts: tuple[Fact, ...]
    until: int


class Book(Protocol):
    """Where facts are kept, in their order."""

    def append(self, facts: Sequence[Fact]) -> None:
        """Keep all of them or none."""

    def read(self, after: int) -> Reading:
        """What was kept after an earlier reading; 0: everything."""


class MemoryBook:
    """Facts of a task that need not outlive the process."""

    def __init__(self, facts: Sequence[Fact] = ()):
        self._facts = list(facts)

    def append(self, facts: Sequence[Fact]) -> None:
        """Keep all of them."""
        self._facts.extend(facts)

    def read(self, after: int) -> Reading:
        """What was kept after an earlier reading."""
        return Reading(tuple(self._facts[after:]), len(self._facts))


class LedgerBook:
    """Facts on the chain of a session; a session may have several tasks."""

    def __init__(self, ledger: Ledger, session: str, task: str = MAIN_TASK):
        self._ledger = ledger
        self._session = session
        self._task = task

    def append(self, facts: Sequence[Fact]) -> None:
        """One entry per fact, in one transaction."""
        drafts = [
            Draft(Kind.DEFINITION_CHANGED, {"task": self._task, **to_data(fact)}) for fact in facts
        ]
        self._ledger.append(self._session, drafts)

    def read(self, after: int) -> Reading:
        """What was kept after an earlier reading, also by other processes."""
        facts, until = [], after
        for entry in self._ledger.entries(self._session, after=after):
            until = entry.seq
            if entry.kind is not Kind.DEFINITION_CHANGED or entry.data.get("task") != self._task:
                continue
            try:
                facts.append(from_data(entry.data))
            except ValueError as error:
                raise LedgerBroken(
                    f"entry {entry.seq} of `{self._session}` cannot be folded: {error}",
                    "use the version of signoff that wrote it, or a later one",
                    facts={"seq": entry.seq},
                ) from error
        return Reading(tuple(facts), until)


class Keeper:
    """Keeps one definition of done: every change is recorded first and folded then.

    `planner` derives the checks of a round; with one, a change while nothing is left to build plans
    a verification. `look` sees which artifacts are there; with one, what is planned is looked for
    at once. `declared` are the artifacts of a plan, `artifacts` what the words of a task name.
    `told` hears what each fact changed.
    """

    def __init__(
        self,
        book: Book,
        statement: str = "",
        *,
        artifacts: Sequence[Artifact] = (),
        items: Sequence[Item] = (),
        checks: Sequence[Check] = (),
        declared: Sequence[Artifact] = (),
        unread: int = 0,
        look: Look | None = None,
        planner: Planner | None = None,
        told: Told | None = None,
    ):
        self._book = book
        self._definition = UNSTATED
        self._read_until = 0
        self._planner = planner
        self._look_around = look
        self._told: Told | None = None
        self._look()
        # What happened before this process was told before.
        self._told = told
        plan = (Stated(artifacts=tuple(declared), declared=True),) if declared else ()
        asked = tuple(artifacts), tuple(items), tuple(checks)
        self.record(*plan, Stated(statement, *asked, unread=unread))

    @property
    def definition(self) -> Definition:
        """As of the last fact that this keeper read or recorded."""
        return self._definition

    def record(self, *facts: Fact) -> Definition:
        """Add facts, all or none; the definition as it is then."""
        self._look()
        wanted = self._worth_recording(facts)
        if wanted:
            self._book.append(wanted)
            self._look()
        return self._definition

    def _look(self) -> None:
        """Others may have recorded meanwhile; the book's order is the one that counts."""
        facts, self._read_until = self._book.read(self._read_until)
        for fact in facts:
            before, self._definition = self._definition, apply(self._definition, fact)
            for note in timeline.notes(before, fact, self._definition) if self._told else ():
                assert self._told is not None
                self._told(note)

    def _worth_recording(self, facts: Sequence[Fact]) -> tuple[Fact, ...]:
        now, wanted = self._definition, list[Fact]()
        for fact in facts:
            after = apply(now, fact)
            if after == now and isinstance(fact, _MAY_SAY_NOTHING):
                continue
            wanted.append(fact)
            now = after
        if self._look_around is not None and now.artifacts != self._definition.artifacts:
            seen = self._look_around(now)
            after = apply(now, seen)
            wanted += [seen] if after != now else []
            now = after
        changed = [f for f in wanted if isinstance(f, Touched)]
        if changed and self._planner is not None and now.round is None and nothing_left(now):
            because = f"{changed[-1].tool or 'a call'} changed files, and nothing is left to build"
            checks = self._planner(now)
            wanted += [RoundPlanned(checks, because)] if checks else []
        return tuple(wanted)


class HaltRecord:
    """A subscriber: a turn that the runtime ended is on record as a failure."""

    def __init__(self, ledger: Ledger, session: str):
        self._ledger, self._session = ledger, session

    def __call__(self, event: Event) -> None:
        """Write it down, if it is one."""
        if isinstance(event, Responded) and event.failed:
            data = {"text": event.text[:LONGEST_TEXT]}
            self._ledger.append(self._session, [Draft(Kind.TURN_HALTED, data)])
