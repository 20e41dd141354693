"""Contents of ledger entries: one frozen type per kind, read once, before the fold.

Field names are the stored keys. A key that an older version did not write has its default; a key
that nobody reads here stays in the entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec import Struct, ValidationError, convert, field, to_builtins

from signoff.domain.ledger import Cause, Choice, Outcome
from signoff.domain.session import Basis, ClaimStatus, Declared, TaskBasis

T = TypeVar("T")


class SessionWork(Struct, frozen=True):
    """Work that an agent did for a plan in its own session, read from the session's chain."""

    id: str
    agent: str  # who had the session
    model: str | None  # every model that was used, the first one first; None where nobody said
    tokens: int | None  # with all sessions that it delegated to; None where nobody counted
    usd: float | None
    seq: int  # the newest entry of its chain as the run began
    hash: str
    red: tuple[str, ...]  # steps whose first verdict in the session was broken

    @property
    def usage(self) -> dict[str, Any] | None:
        """Usage as an attempt reports it; None where nobody counted."""
        if self.tokens is None:
            return None
        return {"tokens": self.tokens, "usd": self.usd, "model": self.model or ""}


class RunStarted(Struct, frozen=True):
    """A run began, or a driver took it over."""

    counted: tuple[str, ...] = ()  # subjects whose tests are counted before anybody works
    tried: tuple[str, ...] = ()  # subjects whose checks are tried before anybody works
    session: SessionWork | None = None  # that did the work before the run began
    asks_held_before: bool = False  # if every contract held before the work; never of old runs
    approved_content: str = ""


class RunFinished(Struct, frozen=True):
    """The run is over."""

    outcome: Outcome
    snapshot: str | None = None


class PlanEdited(Struct, frozen=True):
    """Plan file or configuration changed behind the pins."""

    digest: str


class PlanAmended(Struct, frozen=True):
    """A person allowed more; `seen` is what the watch over the plan file would call an edit."""

    seen: str = ""
    upgraded: Any = None  # what an older version had not pinned; None: nothing of the kind


class ListRead(Struct, frozen=True):
    """The items of a `for_each` list."""

    items: tuple[str, ...]


class AttemptStarted(Struct, frozen=True):
    """A step was dispatched; protected files that were put back first."""

    restored: tuple[str, ...] = ()
    lane: int = 0  # 0 is the workspace itself
    base: str = ""  # the content that the lane was made of
    candidate: int = 0  # its number among several at once; 0: it works on the step alone


class AgentAnswer(Struct, frozen=True):
    """An agent's answer instead of `done`: blocked, impossible, needs input."""

    kind: str
    reason: str = ""


class UsageTold(Struct, frozen=True):
    """Usage that an attempt reported; None for what it did not tell."""

    tokens: int | None = None
    usd: float | None = None


class AttemptFinished(Struct, frozen=True):
    """The agent and everything it started is gone."""

    lost: bool = False  # its driver died, somebody stopped it, or a usage limit: it is repeated
    ending: str = ""  # empty where no process of ours worked
    exit_code: int | None = None
    why: str = ""
    obstacle: str = ""  # what its sandbox denied it, where it changed nothing
    output_tail: str = ""
    answer: AgentAnswer | None = None
    handoff: Mapping[str, str] = field(default_factory=dict)
    usage: UsageTold | None = None
    limited: str = ""  # what its client said of a usage limit that ended it
    session: str = ""
    duration_s: float = 0.0
    snapshot: str | None = None
    lane: int = 0
    left_ignored: bool = False  # in its lane: files that do not land
    changed_lines: int = 0  # by a candidate, against what its lane was made of


class CandidatePicked(Struct, frozen=True):
    """The work of this attempt counts for the step; that of the other candidates is dropped."""

    attempt: int


class StepLanded(Struct, frozen=True):
    """The workspace is to hold this content from now on, instead of `onto`."""

    onto: str
    snapshot: str


class StepTurnedBack(Struct, frozen=True):
    """Others landed first: their work and this one collide in files, or break its check.

    Or it holds only with ignored files, which do not land: then it is worked on in the workspace.
    """

    message: str
    in_workspace: bool = False
    output_tail: str = ""
    exit_code: int | None = None


class StepAccepted(Struct, frozen=True):
    """A kept verdict was accepted: `step.done` the first time, `step.restored` after that."""

    key: str = ""
    snapshot: str = ""
    step_digest: str = ""
    produced: Mapping[str, str] = field(default_factory=dict)
    named: Mapping[str, str] = field(default_factory=dict)
    relies_on: tuple[str, ...] = ()
    carried: bool = False  # an earlier run finished it


class StepFailed(Struct, frozen=True):
    """The step's policy is used up."""


class StepReopened(Struct, frozen=True):
    """A later change broke a step that was done."""

    suspects: tuple[str, ...] = ()


class StepCleared(Struct, frozen=True):
    """Files that a waiting step had tampered with were put back for the other steps."""

    paths: tuple[str, ...]


class StepWaived(Struct, frozen=True):
    """Follows a person's `waive`."""

    escalation: str = ""


class QuestionOpened(Struct, frozen=True):
    """A question for a person; `subject` is the step it is about, if any."""

    id: str
    cause: Cause
    choices: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()  # files that `allow` would let the step change
    snapshot: str = ""
    opinion: str = ""  # that `accept` would overrule
    subject: str | None = None
    until: float | None = None  # it answers itself then, in seconds since 1970
    parked_s: float = 0.0  # how long that is


class QuestionAnswered(Struct, frozen=True):
    """A person's answer; `withdrawn`: nobody answered, it had become pointless."""

    id: str
    choice: Choice
    note: str = ""
    by: str = ""
    withdrawn: bool = False


class SessionStarted(Struct, frozen=True):
    """An agent's session began, or was taken up again."""

    author: str = ""
    workspace: str = ""
    plan_digest: str | None = None
    plan: str = ""  # the identity of the person's plan
    pins: str = ""
    tokens: int | None = None
    usd: float | None = None
    parent: str = ""
    parent_step: str = ""
    depth: int = 0
    aims: tuple[str, ...] = ()
    objective: str = ""

    def to_data(self) -> dict[str, Any]:
        """The stored form; who delegated, and whose plan it is, is said only where it was so."""
        seldom = ("plan", "parent", "parent_step", "objective")
        return {k: v for k, v in to_builtins(self).items() if v or k not in seldom}


class PlanWritten(Struct, frozen=True):
    """An agent wrote its plan, or wrote it anew."""

    text: str
    declared: Mapping[str, Declared] = field(default_factory=dict)
    reason: str = ""
    dropped: tuple[str, ...] = ()
    weakened: tuple[str, ...] = ()
    loosened: tuple[str, ...] = ()
    question: str | None = None  # it waits for this question to be answered
    derived: bool = False  # the harness derived it from the task
    task: TaskBasis | None = None  # of a derived plan: it stays due beside one of the agent's own


class Ruled(Struct, frozen=True):
    """A second model's ruling on a claim that a step is blocked."""

    model: str
    accepted: bool | None
    reason: str


class StepClaimed(Struct, frozen=True):
    """An agent says where a step or postcondition stands."""

    status: ClaimStatus
    evidence: str = ""
    notes: str = ""
    question: str | None = None
    let_go: bool = False
    basis: Basis | None = None
    ruling: Ruled | None = None


class NoteKept(Struct, frozen=True):
    """An agent kept a note."""

    key: str
    text: str


class StepStrayed(Struct, frozen=True):
    """Files changed that the step in progress does not declare."""

    paths: tuple[str, ...]


class SessionDelegated(Struct, frozen=True):
    """A step was handed to a session of its own, with a share of the budget."""

    child: str
    tokens: int | None = None
    usd: float | None = None


class AnswerRefused(Struct, frozen=True):
    """A final answer came while the gate was shut."""

    missing_digest: str


class AnswerAccepted(Struct, frozen=True):
    """A final answer came while the gate was open."""

    dropped: tuple[str, ...] = ()


class RolledBack(Struct, frozen=True):
    """A person undid changes; `replaced` tells by path where what was there until then is kept."""

    replaced: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class SessionEnded(Struct, frozen=True):
    """The session ended without an accepted answer."""

    how: str


class SessionSigned(Struct, frozen=True):
    """Everything was judged once more with the agent gone."""

    snapshot: str
    open: bool
    self_set: bool
    self_set_accepted: bool
    silent_urls: tuple[str, ...] = ()


def read_fact(kind: type[T], data: Mapping[str, Any]) -> T:
    """The stored form read back; ValueError where it cannot be one."""
    try:
        return convert(data, kind, strict=False)
    except ValidationError as error:
        raise ValueError(f"this is no {kind.__name__}: {error}") from error
