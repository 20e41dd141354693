"""A receipt: what one sign-off rests on, as an in-toto statement that anybody can read.

A receipt is a projection: the same ledger entries and pins always give the same statement. That is
why a lost one can be made again, and why one that says anything else is false.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any

from msgspec import Struct, ValidationError, convert, to_builtins

from signoff.domain.digests import digest_bytes, digest_of
from signoff.domain.facts import SessionWork
from signoff.domain.plan import Contract

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://signoff.dev/receipt/v1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
SNAPSHOT_ALGORITHM = "signoffSnapshot1"
_WITHOUT_VERDICT = ("waived", "accepted", "let go")  # by a person, or by their policy
_NONCE_HEADER = b"signoff receipt nonce 1\n"


class PlanName(Struct, frozen=True):
    """Identity of the plan and of the text that was run."""

    id: str
    name: str
    title: str
    plan_digest: str


class RunSpan(Struct, frozen=True):
    """Identity of the run, with its begin and end."""

    id: str
    started_at: str
    finished_at: str
    resumes: str | None


class ApprovalProof(Struct, frozen=True):
    """The approval: by whom, when and in what way."""

    seq: int
    at: str
    by: str
    interactive: bool
    policy: str | None


class LedgerSlice(Struct, frozen=True):
    """The entries the receipt rests on; `head` is the hash of the last one."""

    first_seq: int
    last_seq: int
    head: str


class ContractProof(Struct, frozen=True):
    """Digest and command of the contract that had to be kept."""

    digest: str
    command: str


class VerdictProof(Struct, frozen=True):
    """The verdict that stands for one subject, and where the ledger has it."""

    seq: int
    phase: str
    result: str
    reason: str
    key: str
    snapshot: str
    environment: str
    isolation: str
    judged_in: str | None
    reused_from: int | None
    tests: dict[str, Any] | None
    heldout: str | None


class OpinionNote(Struct, frozen=True):
    """A model's opinion beside a verdict: no proof, and named so that nobody takes it for one."""

    model: str
    result: str
    input: str
    prompts: tuple[str, ...]
    overruled: bool  # a person accepted the work in its place
    measured: str


class SubjectProof(Struct, frozen=True):
    """One step or postcondition of the signed-off run."""

    id: str
    title: str
    state: str
    contract: ContractProof | None
    verdict: VerdictProof | None
    attempts: int
    held_before: bool | None
    carried: bool
    evidence: str | None = None  # in a session: what the agent cited, where nothing was judged
    strength: str | None = None  # of the contract, if it was measured before the sign-off
    opinion: OpinionNote | None = None


class JudgedBy(Struct, frozen=True):
    """A worker that judged, and the key that signed its verdicts, which a person trusted then."""

    name: str
    key_id: str


class WaiverProof(Struct, frozen=True):
    """A person's decision to go on without a subject, and the question that they answered."""

    subject: str
    seq: int
    escalation: str
    by: str
    note: str


class AcceptanceProof(WaiverProof, frozen=True):
    """A person's word that a postcondition without a contract holds, about one content."""

    snapshot: str


class Agent(Struct, frozen=True):
    """The worker: a role and the command behind it, or the session in which the work was done."""

    role: str
    command: str  # empty for a person, and for work in a session
    session: SessionWork | None = None

    @property
    def name(self) -> str:
        """The name that people know; empty for a person."""
        return self.session.agent or self.session.id if self.session is not None else self.command


class AttemptProof(Struct, frozen=True):
    """One attempt; `agent` is a place in the receipt's list, usage is what the agent reported."""

    step: str
    attempt: int
    agent: int
    seq: int
    ending: str
    isolation: str | None
    model: str | None
    tokens: int | None
    usd: float | None


class Receipt(Struct, frozen=True):
    """Everything that one sign-off says."""

    workspace: str
    snapshot: str
    plan: PlanName
    run: RunSpan
    approval: ApprovalProof | None  # None of a plan that an agent wrote
    pins: str
    ledger: LedgerSlice
    runner: tuple[str, ...]
    steps: tuple[SubjectProof, ...]
    postconditions: tuple[SubjectProof, ...]
    waivers: tuple[WaiverProof, ...]
    agents: tuple[Agent, ...]
    attempts: tuple[AttemptProof, ...]
    previous: str | None
    acceptances: tuple[AcceptanceProof, ...] = ()
    self_set: bool = False  # the agent chose steps and checks itself
    workers: tuple[JudgedBy, ...] = ()

    def statement(self) -> dict[str, Any]:
        """The in-toto statement: the subject is the content, the predicate all the rest."""
        predicate = to_builtins(self)
        name, snapshot = predicate.pop("workspace"), predicate.pop("snapshot")
        predicate["nonce"] = nonce_of(self.ledger.head)
        if not self.acceptances:
            del predicate["acceptances"]  # as in receipts of before there were any
        if not self.self_set:
            del predicate["self_set"]
        if not self.workers:
            del predicate["workers"]
        for subject in (*predicate["steps"], *predicate["postconditions"]):
            for seldom in ("evidence", "strength", "opinion"):
                if subject[seldom] is None:
                    del subject[seldom]
        for agent in predicate["agents"]:
            if agent["session"] is None:
                del agent["session"]  # as before sessions were named
        statement = {
            "_type": STATEMENT_TYPE,
            "subject": [{"name": name, "digest": {SNAPSHOT_ALGORITHM: snapshot}}],
            "predicateType": PREDICATE_TYPE,
            "predicate": predicate,
        }
        plain: dict[str, Any] = _plain(statement)
        return plain


class Summary(Struct, frozen=True):
    """A statement's content for people; `lines` are (result, subject, title)."""

    title: str
    plan: str
    run: str
    finished_at: str
    snapshot: str
    lines: tuple[tuple[str, str, str], ...]
    isolation: tuple[str, ...]
    self_set: bool = False

    @property
    def waived(self) -> tuple[str, ...]:
        """The subjects that a person, or their policy, went on without."""
        gone = ("waived", "let go")
        return tuple(subject for result, subject, _ in self.lines if result in gone)


class Anchor(Struct, frozen=True, forbid_unknown_fields=True):
    """The head of a plan's chain, as said outside the ledger's reach."""

    plan: str
    name: str
    seq: int
    hash: str
    at: str
    receipt: str | None

    def line(self) -> str:
        """One line of text."""
        return json.dumps(to_builtins(self), sort_keys=True)


def nonce_of(head: str) -> str:
    """Unlike any other receipt's, yet the same whenever this one is made again."""
    return digest_bytes(_NONCE_HEADER + head.encode())


def contract_proof(contract: Contract) -> ContractProof:
    """Command and digest; options left at their defaults do not count.

    So the digest of a contract stays what it is when a later version knows more options.
    """
    return ContractProof(digest_of(contract.essence()), contract.command)


def summary_of(statement: Mapping[str, Any]) -> Summary:
    """The gist of a statement that anybody may have written; ValueError when it has none."""
    try:
        predicate = statement["predicate"]
        subjects = [*predicate["steps"], *predicate["postconditions"]]
        self_set = predicate.get("self_set") is True
        judged = [s for s in subjects if s["state"] not in _WITHOUT_VERDICT]
        # Only an agent's own plan may have steps that nothing but evidence stands behind.
        verdicts = [s["verdict"] for s in judged if s["verdict"] is not None or not self_set]
        return Summary(
            title=_text(predicate["plan"]["title"]),
            plan=_text(predicate["plan"]["name"]),
            run=_text(predicate["run"]["id"]),
            finished_at=_text(predicate["run"]["finished_at"]),
            snapshot=_text(statement["subject"][0]["digest"][SNAPSHOT_ALGORITHM]),
            lines=tuple(
                (_result(s, self_set), _text(s["id"]), _text(s["title"])) for s in subjects
            ),
            isolation=tuple(sorted({_text(verdict["isolation"]) for verdict in verdicts})),
            self_set=self_set,
        )
    except (LookupError, TypeError) as error:
        raise ValueError(f"a receipt says more than this: {error!r}") from error


def _result(subject: Mapping[str, Any], self_set: bool) -> str:
    state = subject["state"]
    if self_set and subject["verdict"] is None and state == "done":
        return "cited"
    return _text(state if state in _WITHOUT_VERDICT else subject["verdict"]["result"])


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def read_anchor(line: str) -> Anchor:
    """A line that `Anchor.line` wrote; ValueError when it is none."""
    try:
        return convert(json.loads(line), Anchor)
    except ValidationError as error:
        raise ValueError(str(error)) from error


def _plain(value: Any) -> Any:
    """Plain JSON values; a lone surrogate, which no canonical JSON can hold, becomes visible."""
    if isinstance(value, Enum):
        return _plain(value.value)
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, Mapping):
        return {_plain(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
