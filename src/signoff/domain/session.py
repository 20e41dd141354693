"""The nouns of a session and of a task: what an agent claims, cites and calls, what it leaves."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct, field, to_builtins

from signoff.domain.digests import digest_bytes
from signoff.domain.plan import Contract, Postcondition

SESSION_PREFIX = "session-"
DEEPEST_DELEGATION = 5
SHORTEST_DIGEST = 12  # hex digits of a sha256 that are enough to cite a file

SESSION_ID = re.compile(r"session-[0-9a-f]{16}")


def session_id_of(client_session: str) -> str:
    """The id of the session that belongs to a client's own session id; always the same one."""
    if SESSION_ID.fullmatch(client_session):
        return client_session
    digest = digest_bytes(client_session.encode("utf-8", "surrogatepass"))
    return f"{SESSION_PREFIX}{digest[:16]}"


class ClaimStatus(StrEnum):
    """An agent's claims about a step. Stored words; none of them is proof."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    DONE = "done"
    BLOCKED = "blocked"
    UNATTAINABLE = "unattainable"  # of a postcondition, with a reason
    DROPPED = "dropped"  # of a derived plan, with a reason that stays in sight


class ReferenceKind(StrEnum):
    """Kinds of things that evidence can point at."""

    TOOL = "tool"
    FILE = "file"
    CONTRACT = "contract"
    URL = "url"
    SCRATCHPAD = "scratchpad"


class Reference(Struct, frozen=True):
    """One `kind:target` in an evidence text; a file also names the content it had."""

    kind: ReferenceKind
    target: str
    digest: str = ""

    def __str__(self) -> str:
        # Without a digest, an `@` of the name would be read as one.
        plain = re.fullmatch(_PLAIN, self.target) and (self.digest or "@" not in self.target)
        target = self.target if plain else json.dumps(self.target, ensure_ascii=False)
        return f"{self.kind}:{target}" + (f"@{self.digest}" if self.digest else "")


_CLOSING = ".,;)]}>\"'"  # what ends a sentence or a bracket, and no target
_PLAIN = rf"[^\s`\"]*[^\s`{re.escape(_CLOSING)}]"
_QUOTED = r'"(?:[^"\\\n]|\\.)*"'
_REFERENCE = rf"(?<![\w/])`?(tool|file|contract|url|scratchpad):({_QUOTED}(?:@[^\s`]*)?|[^\s`]+)`?"
_IN_QUOTES = rf"({_QUOTED})(@.*)?"
_DIGEST = r"(?s)(.*)@((?:sha256:)?[0-9a-fA-F]*)"


def references_in(evidence: str) -> tuple[Reference, ...]:
    """Every reference an evidence text makes, each once, in its order."""
    found = (_reference(m[1], m[2]) for m in re.finditer(_REFERENCE, evidence))
    return tuple(dict.fromkeys(found))


def _reference(kind: str, target: str) -> Reference:
    """A target with spaces, or one that ends like a sentence, stands in double quotes."""
    inside = _in_quotes(target)
    target, rest = (target.rstrip(_CLOSING), "") if inside is None else inside
    cited = rest if inside is not None else target
    if kind == ReferenceKind.FILE and (named := re.fullmatch(_DIGEST, cited)):
        name = target if inside is not None else named[1]
        return Reference(ReferenceKind.FILE, name, named[2].removeprefix("sha256:").lower())
    return Reference(ReferenceKind(kind), target)


def _in_quotes(target: str) -> tuple[str, str] | None:
    """Split off the text in quotes: (text, rest); None where there are no quotes."""
    found = re.fullmatch(_IN_QUOTES, target)
    try:
        return (json.loads(found[1]), (found[2] or "").rstrip(_CLOSING)) if found else None
    except ValueError:
        return None


class ToolCall(Struct, frozen=True):
    """One call of a tool as the harness saw it; digests are sha256 of whole files.

    `reads` and `writes` name the files the result rests on, with their content when the call
    ended (an empty digest: the file was gone). `content` is the workspace's digest after the call,
    for a call that may rest on all of it. `touched` are files it changed in any way.
    """

    id: str
    name: str
    ok: bool
    reads: Mapping[str, str] = field(default_factory=dict)
    writes: Mapping[str, str] = field(default_factory=dict)
    output_sha256: str = ""
    touched: tuple[str, ...] = ()
    content: str = ""
    called_at: str = ""
    says_no: bool = False  # its answer was no: `false`, nothing found
    delegated: bool | None = None  # by the harness's own tool; None: an older version did not say

    def basis(self) -> dict[str, str]:
        """Every file it rests on, with its content."""
        return {**self.reads, **self.writes}

    @property
    def can_prove(self) -> bool:
        """True when the harness saw it read or change files, run a command, or hand a step on."""
        if self.name in PLAN_TOOL_NAMES:
            return False
        return self.hands_on or bool(self.reads or self.writes or self.content)

    @property
    def hands_on(self) -> bool:
        """True when it handed a step to another session; the tool's name alone is not enough."""
        return self.name == DELEGATE_TOOL if self.delegated is None else self.delegated

    def to_data(self) -> dict[str, Any]:
        """The stored form."""
        return {**to_builtins(self), "delegated": self.hands_on}


class Basis(Struct, frozen=True):
    """Facts on which accepted evidence rests: it is stale as soon as one of them changes."""

    files: Mapping[str, str] = field(default_factory=dict)
    content: str = ""
    contracts: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    def __add__(self, other: Basis) -> Basis:
        # Of one file cited twice the later content counts, and so it is with the workspace.
        return Basis(
            {**self.files, **other.files},
            other.content or self.content,
            tuple(dict.fromkeys((*self.contracts, *other.contracts))),
            tuple(dict.fromkeys((*self.urls, *other.urls))),
        )

    def to_data(self) -> dict[str, Any]:
        """The stored form."""
        data: dict[str, Any] = to_builtins(self)
        return data


class Precondition(Struct, frozen=True):
    """A condition for the start of a step: an earlier step, or the command of a contract."""

    text: str
    step: str = ""
    command: str = ""

    @property
    def contract(self) -> Contract | None:
        """The contract that decides it; None when a step does."""
        return Contract(self.command) if self.command else None


class Declared(Struct, frozen=True):
    """Fields that a step of an agent's plan has beside its task."""

    touches: tuple[str, ...] = ()
    preconditions: tuple[Precondition, ...] = ()
    splits: str = ""  # the step of the plan before that this one is a part of

    def to_data(self) -> dict[str, Any]:
        """The stored form."""
        data: dict[str, Any] = to_builtins(self)
        return data


class SessionStanding(StrEnum):
    """State of a session; computed from its entries, never set."""

    WORKING = "working"
    AWAITING_SIGN_OFF = "awaiting sign-off"  # the gate opened, provisionally
    WAITING = "waiting for a person"
    ESCALATED = "escalated"  # refused too often
    UNPLANNED = "unplanned"  # ended without a plan: nothing was claimed, nothing proved
    ENDED = "ended"  # a person said so
    INTERRUPTED = "interrupted"  # not finished, and whoever worked on it is gone
    NOT_DONE = "not done"  # judged with the agent gone, and not everything held
    DONE = "done"
    KEPT_SELF_SET = "kept, self-set"  # every check held, but the agent chose the checks

    @property
    def persons_verb(self) -> str:
        """The verb by which a person takes it further; empty where nobody has to."""
        if self is SessionStanding.AWAITING_SIGN_OFF:
            return "sign"
        return "inbox" if self in (SessionStanding.WAITING, SessionStanding.ESCALATED) else ""


class Decision(StrEnum):
    """Results of a final answer."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    ESCALATED = "escalated"


DELEGATE_TOOL = "delegate"  # what it proves is the child's own gate, asked again and again

# Calls of these prove nothing: they only move what is claimed.
PLAN_TOOL_NAMES = frozenset(
    {"plan_create", "plan_show", "step_update", "step_check", "postcondition_verify"}
)


def normal(text: str) -> str:
    """A description as it is compared: case and spacing do not make it another one."""
    return " ".join(text.split()).casefold()


ROUND_BUDGET = 3  # contents on which a task's checks may fail before a person is needed
MOST_PARTS = 200  # files and items of one derived plan
TASK_PREFIX = "task:"


class Artifact(Struct, frozen=True):
    """A file or folder that the task must leave behind; `path` is relative to the workspace."""

    path: str
    directory: bool = False

    def __str__(self) -> str:
        return f"{self.path}/" if self.directory else self.path

    @classmethod
    def of(cls, written: str) -> Artifact:
        """Parse the text that `str` wrote."""
        return cls(written.rstrip("/"), written.endswith("/"))


class ProjectCheck(Struct, frozen=True, array_like=True):
    """A command that the project documented when the work began.

    Without `kinds` it is about files that no other check is about. One that does not prove has to
    hold, but is nothing to rely on by itself.
    """

    command: str
    kinds: frozenset[str] = frozenset()
    proves: bool = True


class TaskBasis(Struct, frozen=True):
    """Facts on which a derived plan rests; stored beside it, for a session that is resumed."""

    said: tuple[str, ...] = ()  # digests of words that were looked at: what they plan is planned
    asked: tuple[str, ...] = ()  # the steps that a person's words ask for
    project: tuple[ProjectCheck, ...] = ()  # what the project documented when the work began
    due: tuple[str, ...] = ()  # commands of the project that were ever due

    def to_data(self) -> dict[str, Any]:
        """The stored form."""
        data: dict[str, Any] = to_builtins(self, order="deterministic")
        return data


class AskedCondition(Postcondition, frozen=True):
    """A part of the task's derived plan that stays due beside a plan which the agent wrote."""

    @property
    def id(self) -> str:
        """The subject under which its verdicts stand in the ledger."""
        return f"{TASK_PREFIX}{self.number}"
