"""The nouns of a definition of done: what a task must leave behind, and how far that is proved."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

ROUND_BUDGET = 3  # judgings of one definition that may fail before a person is needed
MOST_ARTIFACTS = 200
MOST_ITEMS = 200
MOST_COMMANDS = 20
MOST_TOUCHED = 2_000
MOST_ROUNDS = 50  # kept in mind; the ledger has them all
MOST_SEEN = 200  # observations of one round


class DefinitionStatus(StrEnum):
    """Where a task stands. Stored words."""

    DRAFT = "draft"
    IN_PROGRESS = "in_progress"
    VERIFYING = "verifying"
    FIXING = "fixing"
    DONE = "done"
    FAILED = "failed"


class RoundStatus(StrEnum):
    """Where one round of judging stands. Stored words."""

    PLANNED = "planned"
    PENDING = "pending"
    RUNNING = "running"
    KEPT = "kept"
    BROKEN = "broken"
    UNKNOWN = "unknown"
    STALE = "stale"
    SKIPPED = "skipped"


class Support(StrEnum):
    """What an observation says about its subject."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    MISSING = "missing"
    CONTEXT = "context"


class ItemKind(StrEnum):
    """What it takes to complete an item of the list."""

    BUILD = "build"  # a change of files completes it
    AGGREGATE = "aggregate"  # complete only when all of its artifacts exist
    LOOK = "look"  # an observation completes it
    REVIEW = "review"  # consistency work over files that exist
    VERIFY = "verify"  # only a round completes it, never a change


@dataclass(frozen=True)
class Artifact:
    """A file or folder that the task must leave behind; `path` is relative to the workspace."""

    path: str
    directory: bool = False

    def __str__(self) -> str:
        return f"{self.path}/" if self.directory else self.path


@dataclass(frozen=True)
class Item:
    """One thing to do, as the task, the plan or the model worded it."""

    text: str
    kind: ItemKind
    artifacts: tuple[Artifact, ...] = ()
    done: bool = False


class CheckSource(StrEnum):
    """Where a verification command came from, the weightiest first. Stored words."""

    CONTRACT = "contract"  # declared by a person or a plan
    PROJECT = "project"  # the project documents it
    ARTIFACT = "artifact"  # a checker for a kind of file
    EXISTENCE = "existence"  # a planned artifact is there


@dataclass(frozen=True)
class Check:
    """A verification command, and where it came from."""

    command: str
    source: str  # a CheckSource


@dataclass(frozen=True)
class Seen:
    """One observation with its provenance."""

    source: str
    subject: str
    status: Support
    command: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Round:
    """One judging of everything that is due; a new one names the round that it supersedes."""

    number: int
    status: RoundStatus
    checks: tuple[Check, ...] = ()
    supersedes: int | None = None
    because: str = ""  # what made it due, or stale
    seen: tuple[Seen, ...] = ()
    counted: int = 1  # the n of "round n of 3": the failed ones before it, and itself


@dataclass(frozen=True)
class Definition:
    """The definition of done of one task; computed from recorded facts, never written to."""

    statement: str
    artifacts: tuple[Artifact, ...] = ()
    items: tuple[Item, ...] = ()
    touched: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    rounds: tuple[Round, ...] = ()
    status: DefinitionStatus = DefinitionStatus.DRAFT
    failed_rounds: int = 0
    undone: tuple[str, ...] = field(default=())  # why it is not done, in words for a person
    existing: tuple[str, ...] = ()  # paths of artifacts that were there when last looked
    omitted: tuple[str, ...] = ()  # open items that the last list left out, and that stay open
    unlisted: int = 0  # items of the last list that did not fit
    overflow: int = 0  # declared artifacts, items and checks that did not fit
    abandoned: str = ""  # why nobody goes on

    @property
    def pending(self) -> tuple[Item, ...]:
        """Items that are open."""
        return tuple(item for item in self.items if not item.done)

    @property
    def completed(self) -> tuple[Item, ...]:
        """Items that are done."""
        return tuple(item for item in self.items if item.done)

    @property
    def round(self) -> Round | None:
        """The round in question: the last one."""
        return self.rounds[-1] if self.rounds else None

    @property
    def unmet(self) -> tuple[Artifact, ...]:
        """Planned artifacts that were not there when last looked."""
        there = frozenset(self.existing)
        return tuple(a for a in self.artifacts if a.path not in there)

    @property
    def evidence(self) -> tuple[Seen, ...]:
        """What speaks for it now; of a stale round nothing does."""
        last = self.round
        if last is None or last.status is not RoundStatus.KEPT:
            return ()
        return tuple(seen for seen in last.seen if seen.status is Support.SUPPORTS)
