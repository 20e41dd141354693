"""Where an agent's session stands: its entries folded, one after the other, into facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from signoff.domain.escalation import Cause, Choice
from signoff.domain.ledger import Entry, Kind
from signoff.domain.plan import Budget, Contract, Cost, Plan
from signoff.domain.session import Basis, ClaimStatus, Declared, ToolCall
from signoff.domain.verdict import Reason, Result
from signoff.gate.ratchet import carried_from
from signoff.planfile.parse import parse


@dataclass(frozen=True)
class SessionVerdict:
    """One verdict as far as the gate is concerned."""

    seq: int
    result: Result
    reason: Reason
    message: str
    snapshot: str
    provisional: bool
    exit_code: int | None
    output_tail: str

    @property
    def kept(self) -> bool:
        """The only answer that proves anything."""
        return self.result is Result.KEPT


@dataclass
class Item:
    """The facts about one step or postcondition."""

    since: int = 0  # the entry that brought it into the plan
    begun: int = 0  # the entry that put it in progress last
    status: ClaimStatus = ClaimStatus.PENDING
    evidence: str = ""
    notes: str = ""
    basis: Basis | None = None  # of evidence that was accepted; None when nothing was
    verdict: SessionVerdict | None = None
    question: str | None = None
    waived: bool = False
    let_go: bool = False  # blocked, and the user's policy takes that for an answer
    ruling: str = ""  # of a second model, about a claim that it is blocked
    reopened: int = 0
    children: tuple[str, ...] = ()

    @property
    def counts_from(self) -> int:
        """Evidence must be younger than this entry."""
        return max(self.begun, self.since)


@dataclass(frozen=True)
class Rewrite:
    """One plan that replaced another, or waits for a person to let it."""

    seq: int
    reason: str
    dropped: tuple[str, ...]
    weakened: tuple[str, ...]
    question: str | None = None


@dataclass(frozen=True)
class Share:
    """What a child session was given of the budget, and what it has used."""

    step: str
    budget: Budget


@dataclass(frozen=True)
class Signed:
    """A sign-off with the agent gone."""

    seq: int
    snapshot: str
    self_set: bool
    accepted: bool  # whether the user's policy lets self-set checks count


@dataclass
class SessionState:
    """The fold. Only `apply` changes it; everything else reads."""

    plan: Plan | None = None
    bound: bool = False  # the plan is a person's
    text: str = ""
    derived: bool = False  # the harness derived the plan from the task
    declared: dict[str, Declared] = field(default_factory=dict)
    items: dict[str, Item] = field(default_factory=dict)
    started: dict[str, Any] = field(default_factory=dict)
    rewrites: list[Rewrite] = field(default_factory=list)
    pending: Entry | None = None
    calls: dict[str, tuple[int, ToolCall]] = field(default_factory=dict)
    notes: dict[str, tuple[int, str]] = field(default_factory=dict)
    strayed: dict[str, None] = field(default_factory=dict)
    shares: dict[str, Share] = field(default_factory=dict)
    questions: dict[str, Entry] = field(default_factory=dict)
    spent: Cost = field(default_factory=Cost)
    mutated: bool = False
    refusals: int = 0
    refused_lately: int = 0  # since the session was taken up, or a person answered
    refusal: str = ""
    repeated: int = 0
    accepted: bool = False
    dropped: tuple[str, ...] = ()  # what a person's task asks for and the accepted answer lacks
    ended: str = ""
    aborted: bool = False
    signed: Signed | None = None
    silent_urls: frozenset[str] = frozenset()  # cited, and without an answer at the last sign-off
    seq: int = 0

    @classmethod
    def of_plan(cls, plan: Plan) -> SessionState:
        """A session that works on a person's plan."""
        items = {subject.id: Item() for subject in plan.subjects}
        return cls(plan=plan, bound=True, items=items)

    def item(self, subject: str) -> Item:
        """The facts about one subject of the plan; KeyError when the plan has none such."""
        return self.items[subject]

    def contract(self, subject: str) -> Contract | None:
        """What decides this subject, if a contract does."""
        found = [s.contract for s in (self.plan.subjects if self.plan else ()) if s.id == subject]
        return found[0] if found else None

    def apply_all(self, entries: Iterable[Entry]) -> SessionState:
        """Fold several entries; returns itself."""
        for entry in entries:
            self.apply(entry)
        return self

    def apply(self, entry: Entry) -> None:
        """Fold one entry, once."""
        if entry.seq <= self.seq:
            return
        self.seq = entry.seq
        handler = _HANDLERS.get(entry.kind)
        if handler is not None:
            handler(self, entry)


def _started(state: SessionState, entry: Entry) -> None:
    if not state.started:
        state.started = dict(entry.data)
    # Taken up again: the count of refusals begins anew, and nothing is over.
    state.ended, state.accepted = "", False
    _works_on(state)
    _forget_refusals(state)


def _works_on(state: SessionState) -> None:
    """Whoever works on after a sign-off works on what nobody signed; only a new one counts."""
    state.signed = None


def _written(state: SessionState, entry: Entry) -> None:
    if state.bound:
        return
    if entry.data.get("question"):
        state.pending = entry
    else:
        _adopt(state, entry, entry.seq)


def _adopt(state: SessionState, entry: Entry, since: int) -> None:
    """A written plan comes into force; what it took over keeps its history."""
    data = entry.data
    plan = parse(data["text"]).plan
    declared = {i: Declared.from_data(d) for i, d in data["declared"].items()}
    state.derived = bool(data.get("derived"))
    if state.plan is not None and (data["dropped"] or not state.derived):
        state.rewrites.append(_rewrite(entry))
    same = carried_from(state.plan, plan) if state.plan is not None else {}
    items = {}
    for subject in plan.subjects:
        old = state.items.get(same.get(subject.id, ""))
        items[subject.id] = old if old is not None else Item(since=since)
    state.plan, state.text, state.declared, state.items = plan, data["text"], declared, items
    state.accepted, state.signed = False, None


def _rewrite(entry: Entry) -> Rewrite:
    data = entry.data
    return Rewrite(
        entry.seq,
        data["reason"],
        tuple(data["dropped"]),
        tuple(data["weakened"]),
        data.get("question"),
    )


def _claimed(state: SessionState, entry: Entry) -> None:
    item = state.items.get(entry.step or "")
    if item is None:
        return
    data, status = entry.data, ClaimStatus(entry.data["status"])
    state.accepted = False
    _works_on(state)
    if (ruling := data.get("ruling")) is not None:
        item.ruling = f"{ruling['model']}: {ruling['reason']}"
        if not ruling["accepted"]:
            return  # the step stands as it stood
    reopens = item.status is ClaimStatus.DONE and status is not ClaimStatus.DONE
    begins = status is ClaimStatus.IN_PROGRESS and item.status is not status
    if reopens:
        item.reopened += 1
        item.basis = None
    if reopens or begins:
        item.begun = entry.seq
    item.status = status
    item.evidence = data.get("evidence") or item.evidence
    item.notes = data.get("notes") or item.notes
    item.question = data.get("question")
    item.let_go = bool(data.get("let_go"))
    if status is ClaimStatus.DONE and data.get("basis") is not None:
        item.basis = Basis.from_data(data["basis"])
        state.silent_urls -= set(item.basis.urls)  # just asked, and they answered


def _judged(state: SessionState, entry: Entry) -> None:
    item, data = state.items.get(entry.step or ""), entry.data
    if item is None or data.get("subject") != entry.step:
        return
    item.verdict = SessionVerdict(
        seq=entry.seq,
        result=Result(data["result"]),
        reason=Reason(data["reason"]),
        message=data["message"],
        snapshot=data["snapshot"],
        provisional=bool(data["provisional"]),
        exit_code=data["exit_code"],
        output_tail=data["output_tail"],
    )


def _called(state: SessionState, entry: Entry) -> None:
    data = entry.data
    call = ToolCall(
        id=data["id"],
        name=data["name"],
        ok=data["ok"],
        reads=data["reads"],
        writes=data["writes"],
        output_sha256=data["output_sha256"],
        touched=tuple(data["touched"]),
        content=data["content"],
        called_at=data["called_at"],
    )
    state.calls.setdefault(call.id, (entry.seq, call))
    _works_on(state)
    state.mutated = state.mutated or bool(call.writes or call.touched)


def _noted(state: SessionState, entry: Entry) -> None:
    state.notes[entry.data["key"]] = (entry.seq, entry.data["text"])


def _strayed(state: SessionState, entry: Entry) -> None:
    state.strayed.update(dict.fromkeys(entry.data["paths"]))
    state.mutated = True


def _delegated(state: SessionState, entry: Entry) -> None:
    data = entry.data
    share = Budget(data["tokens"], data["usd"])
    state.shares[data["child"]] = Share(entry.step or "", share)
    item = state.items.get(entry.step or "")
    if item is not None:
        item.children = (*item.children, data["child"])


def _used(state: SessionState, entry: Entry) -> None:
    state.spent += Cost(int(entry.data["tokens"]), float(entry.data["usd"]))


def _refused(state: SessionState, entry: Entry) -> None:
    missing = entry.data["missing_digest"]
    state.repeated = state.repeated + 1 if missing == state.refusal else 1
    state.refusal = missing
    state.refusals += 1
    state.refused_lately += 1
    state.accepted = False
    _works_on(state)


def _forget_refusals(state: SessionState) -> None:
    state.repeated, state.refused_lately, state.refusal = 0, 0, ""


def _accepted(state: SessionState, entry: Entry) -> None:
    state.accepted = True
    _works_on(state)
    _forget_refusals(state)
    state.dropped = tuple(entry.data.get("dropped", ()))


def _ended(state: SessionState, entry: Entry) -> None:
    state.ended = entry.data["how"]


def _signed(state: SessionState, entry: Entry) -> None:
    """Counts only when every contract was kept on that content with the agent gone."""
    state.signed, state.silent_urls = None, frozenset(entry.data.get("silent_urls", ()))
    on = entry.data["snapshot"]
    for subject in state.plan.subjects if state.plan is not None else ():
        item = state.items[subject.id]
        if subject.contract is None or item.waived or item.let_go:
            continue
        verdict = item.verdict
        if verdict is None or verdict.provisional or not verdict.kept or verdict.snapshot != on:
            return
    if state.plan is not None and entry.data["open"]:
        data = entry.data
        state.signed = Signed(entry.seq, on, data["self_set"], data["self_set_accepted"])


def _asked(state: SessionState, entry: Entry) -> None:
    state.questions.setdefault(entry.data["id"], entry)


def _answered(state: SessionState, entry: Entry) -> None:
    """Counts only for an open question, and only if it offered this choice."""
    opened = state.questions.get(entry.data["id"])
    choice = Choice(entry.data["choice"])
    if opened is None or choice not in opened.data["choices"]:
        return
    del state.questions[entry.data["id"]]
    if entry.data.get("withdrawn"):
        return  # nobody answered: it had become pointless
    if choice is Choice.ABORT:
        state.aborted = True
    state.ended = ""
    _forget_refusals(state)
    cause = Cause(opened.data["cause"])
    if cause is Cause.RATCHET:
        _settle_rewrite(state, entry, choice)
        return
    # By the question, not by its number: a rewrite may have moved the step meanwhile.
    item = next((i for i in state.items.values() if i.question == entry.data["id"]), None)
    if item is None:
        return
    item.question = None
    if choice is Choice.WAIVE:
        item.waived = True
    else:
        item.status, item.begun, item.basis = ClaimStatus.PENDING, entry.seq, None


def _settle_rewrite(state: SessionState, answer: Entry, choice: Choice) -> None:
    waiting, state.pending = state.pending, None
    asked = waiting is not None and waiting.data["question"] == answer.data["id"]
    if waiting is not None and asked and choice is Choice.WAIVE:
        _adopt(state, waiting, answer.seq)


_HANDLERS: Mapping[Kind, Any] = {
    Kind.SESSION_STARTED: _started,
    Kind.PLAN_WRITTEN: _written,
    Kind.STEP_CLAIMED: _claimed,
    Kind.VERDICT: _judged,
    Kind.TOOL_CALLED: _called,
    Kind.NOTE_KEPT: _noted,
    Kind.STEP_STRAYED: _strayed,
    Kind.SESSION_DELEGATED: _delegated,
    Kind.SESSION_USAGE: _used,
    Kind.ANSWER_REFUSED: _refused,
    Kind.ANSWER_ACCEPTED: _accepted,
    Kind.SESSION_ENDED: _ended,
    Kind.SESSION_SIGNED: _signed,
    Kind.ESCALATION_OPENED: _asked,
    Kind.ESCALATION_ANSWERED: _answered,
}
