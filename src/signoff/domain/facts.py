"""What ledger entries say: one frozen type per kind, read once, at the door of the fold.

Field names are the stored keys. A key that an older version did not write has its default; a key
that nobody reads here stays in the entry.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from enum import Enum
from functools import cache, partial
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from signoff.domain.escalation import Cause, Choice, Outcome
from signoff.domain.plan import Cost
from signoff.domain.session import Basis, ClaimStatus, Declared
from signoff.domain.task import TaskBasis

T = TypeVar("T")


@dataclass(frozen=True)
class SessionWork:
    """What an agent did for a plan in a session of its own, read from the session's own chain."""

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
        """What it used, as an attempt reports it; None where nobody counted."""
        if self.tokens is None:
            return None
        return {"tokens": self.tokens, "usd": self.usd, "model": self.model or ""}


@dataclass(frozen=True)
class RunStarted:
    """A run began, or a driver took it over."""

    counted: tuple[str, ...] = ()  # subjects whose tests are counted before anybody works
    session: SessionWork | None = None  # that did the work before the run began


@dataclass(frozen=True)
class RunFinished:
    """The run is over."""

    outcome: Outcome
    snapshot: str | None = None


@dataclass(frozen=True)
class PlanEdited:
    """Plan file or configuration changed behind the pins."""

    digest: str


@dataclass(frozen=True)
class PlanAmended:
    """A person allowed more; `seen` is what the watch over the plan file would call an edit."""

    seen: str = ""
    upgraded: Any = None  # what an older version had not pinned; None: nothing of the kind


@dataclass(frozen=True)
class ListRead:
    """The items of a `for_each` list."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class AttemptStarted:
    """A step was dispatched; protected files that were put back first."""

    restored: tuple[str, ...] = ()


@dataclass(frozen=True)
class AgentAnswer:
    """What an agent says instead of `done`: blocked, impossible, needs input."""

    kind: str
    reason: str = ""


@dataclass(frozen=True)
class AttemptFinished:
    """The agent and everything it started is gone."""

    lost: bool = False  # its driver died, or somebody stopped it: it is repeated
    ending: str = ""  # empty where no process of ours worked
    exit_code: int | None = None
    why: str = ""
    output_tail: str = ""
    answer: AgentAnswer | None = None
    handoff: Mapping[str, str] = field(default_factory=dict)
    usage: Cost | None = None
    session: str = ""
    duration_s: float = 0.0
    snapshot: str | None = None


@dataclass(frozen=True)
class StepAccepted:
    """A kept verdict was accepted: `step.done` the first time, `step.restored` after that."""

    key: str = ""
    snapshot: str = ""
    step_digest: str = ""
    produced: Mapping[str, str] = field(default_factory=dict)
    named: Mapping[str, str] = field(default_factory=dict)
    relies_on: tuple[str, ...] = ()
    carried: bool = False  # an earlier run finished it


@dataclass(frozen=True)
class StepFailed:
    """The step's policy is used up."""


@dataclass(frozen=True)
class StepReopened:
    """A later change broke a step that was done."""

    suspects: tuple[str, ...] = ()


@dataclass(frozen=True)
class StepCleared:
    """What a waiting step had tampered with was put back for the others."""

    paths: tuple[str, ...]


@dataclass(frozen=True)
class StepWaived:
    """Follows a person's `waive`."""

    escalation: str = ""


@dataclass(frozen=True)
class QuestionOpened:
    """A question for a person; `subject` is the step it is about, if any."""

    id: str
    cause: Cause
    choices: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()  # files that `allow` would let the step change
    snapshot: str = ""
    subject: str | None = None


@dataclass(frozen=True)
class QuestionAnswered:
    """A person's answer; `withdrawn`: nobody answered, it had become pointless."""

    id: str
    choice: Choice
    note: str = ""
    by: str = ""
    withdrawn: bool = False


@dataclass(frozen=True)
class SessionStarted:
    """An agent's session began, or was taken up again."""

    author: str = ""
    workspace: str = ""
    plan_digest: str | None = None
    pins: str = ""
    tokens: int | None = None
    usd: float | None = None
    parent: str = ""
    parent_step: str = ""
    depth: int = 0
    aims: tuple[str, ...] = ()
    objective: str = ""

    def to_data(self) -> dict[str, Any]:
        """The stored form; who delegated is said only of a session that was."""
        delegated = ("parent", "parent_step", "objective")
        return {k: v for k, v in asdict(self).items() if v or k not in delegated}


@dataclass(frozen=True)
class PlanWritten:
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


@dataclass(frozen=True)
class Ruled:
    """What a second model made of a claim that a step is blocked."""

    model: str
    accepted: bool | None
    reason: str


@dataclass(frozen=True)
class StepClaimed:
    """An agent says where a step or postcondition stands."""

    status: ClaimStatus
    evidence: str = ""
    notes: str = ""
    question: str | None = None
    let_go: bool = False
    basis: Basis | None = None
    ruling: Ruled | None = None


@dataclass(frozen=True)
class NoteKept:
    """An agent kept a note."""

    key: str
    text: str


@dataclass(frozen=True)
class StepStrayed:
    """Files changed that the step in progress does not declare."""

    paths: tuple[str, ...]


@dataclass(frozen=True)
class SessionDelegated:
    """A step was handed to a session of its own, with a share of the budget."""

    child: str
    tokens: int | None = None
    usd: float | None = None


@dataclass(frozen=True)
class AnswerRefused:
    """A final answer came while the gate was shut."""

    missing_digest: str


@dataclass(frozen=True)
class AnswerAccepted:
    """A final answer came while the gate was open."""

    dropped: tuple[str, ...] = ()


@dataclass(frozen=True)
class RolledBack:
    """A person undid changes; `replaced` tells by path where what was there until then is kept."""

    replaced: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class SessionEnded:
    """The session ended without an accepted answer."""

    how: str


@dataclass(frozen=True)
class SessionSigned:
    """Everything was judged once more with the agent gone."""

    snapshot: str
    open: bool
    self_set: bool
    self_set_accepted: bool
    silent_urls: tuple[str, ...] = ()


def read_fact(kind: type[T], data: Mapping[str, Any]) -> T:
    """The stored form read back."""
    known: Any = _converters(kind)  # type: ignore[arg-type]
    given = ((name, convert, data[name]) for name, convert in known if name in data)
    return kind(**{name: convert(value) for name, convert, value in given})


@cache
def _converters(kind: Any) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    hints = get_type_hints(kind)
    return tuple((f.name, _converter(hints[f.name])) for f in fields(kind))


def _converter(hint: Any) -> Callable[[Any], Any]:
    """How a stored value becomes one of this type."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        (only,) = (_converter(one) for one in inner if one is not type(None))
        return lambda value: None if value is None else only(value)
    if origin is tuple:
        each = _converter(inner[0])
        return lambda value: tuple(map(each, value))
    if origin in (dict, Mapping):
        of = _converter(inner[1])
        return lambda value: {key: of(one) for key, one in (value or {}).items()}
    if hasattr(hint, "from_data"):
        return hint.from_data  # type: ignore[no-any-return]
    if isinstance(hint, type) and is_dataclass(hint):
        return partial(read_fact, hint)
    if isinstance(hint, type) and issubclass(hint, Enum | float):
        return hint
    return lambda value: value
