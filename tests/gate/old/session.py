"""The gate of a session: may the agent call its work finished, and if not, what is missing.

An open gate is provisional: the agent may still be alive. Only a sign-off with the agent gone
makes anything done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from signoff.domain.digests import digest_of
from signoff.domain.plan import Postcondition, Step
from signoff.domain.session import ClaimStatus, SessionStanding, shown_list
from signoff.domain.text import escape_line
from signoff.settings.agent import SelfSetRule, SessionPolicy
from tests.gate.old.session_state import Item, SessionState

LONGEST_MESSAGE = 400


class Proof(StrEnum):
    """How one step or postcondition stands."""

    PROVED = "proved"
    STALE = "stale"
    BROKEN = "broken"
    UNPROVED = "unproved"
    WAITING = "waiting"
    WAIVED = "waived"
    LET_GO = "blocked"
    PERSONS = "a person's"  # of a person's plan and without a check: asked at sign-off


@dataclass(frozen=True)
class Content:
    """The content in question, as far as proofs rest on it."""

    digest: str = ""  # of the workspace; empty when nothing rests on all of it
    files: Mapping[str, str] = field(default_factory=dict)  # of files that evidence cites
    shut_children: frozenset[str] = frozenset()  # child sessions whose own gate is shut
    silent_urls: frozenset[str] | None = None  # None: as the last sign-off found them


@dataclass(frozen=True)
class SessionMissing:
    """One thing between the session and an open gate, and the next action."""

    subject: str
    what: str
    next: str
    waiting: bool = False  # only a person can settle it


@dataclass(frozen=True)
class SubjectProof:
    """One step or postcondition, computed."""

    id: str
    title: str
    proof: Proof
    self_set: bool
    what: str = ""  # why it is not proved
    next: str = ""


@dataclass(frozen=True)
class SessionGate:
    """The whole answer about a session on one content."""

    open: bool
    missing: tuple[SessionMissing, ...]
    subjects: tuple[SubjectProof, ...]
    planned: bool  # without a plan nothing was claimed and nothing is proved
    self_set: bool  # the agent chose what is checked
    provisional: bool = True

    def ids(self, *proofs: Proof) -> tuple[str, ...]:
        """The subjects that stand like this."""
        return tuple(s.id for s in self.subjects if s.proof in proofs)

    @property
    def waived(self) -> tuple[str, ...]:
        """What a person let go, and what the policy let go; never called proved."""
        return self.ids(Proof.WAIVED, Proof.LET_GO)

    @property
    def for_person(self) -> tuple[str, ...]:
        """What only a person can say; it holds the agent up no more, and nothing is done by it."""
        return self.ids(Proof.PERSONS)

    @property
    def stale(self) -> tuple[str, ...]:
        """What was proved on content that is not there any more."""
        return self.ids(Proof.STALE)

    @property
    def waits_for_people(self) -> bool:
        """Whether nothing that the agent could do would open it."""
        return not self.open and all(m.waiting for m in self.missing)

    @property
    def missing_digest(self) -> str:
        """The same for the same things missing, however the agent words or toggles its claims."""
        return digest_of(sorted(m.subject for m in self.missing))


_ENDED = SessionMissing("plan", "a person ended this session", "stop", waiting=True)


def ask_gate(state: SessionState, content: Content, policy: SessionPolicy) -> SessionGate:
    """Ask the gate of a session."""
    if state.aborted:
        return SessionGate(False, (_ENDED,), (), state.plan is not None, not state.bound)
    if state.plan is None or not state.plan.steps:
        missing = _without_plan(state, policy)
        return SessionGate(not missing, missing, (), planned=False, self_set=False)
    subjects = tuple(
        _subject(state, subject, number, content) for number, subject in _numbered(state)
    )
    found = [
        SessionMissing(s.id, s.what, s.next, s.proof is Proof.WAITING) for s in subjects if s.what
    ]
    found += _of_the_whole(state, subjects)
    return SessionGate(not found, tuple(found), subjects, True, self_set=not state.bound)


def standing_of(state: SessionState, gate: SessionGate) -> SessionStanding:
    """Where the session stands."""
    if state.aborted:
        return SessionStanding.ENDED
    if state.signed is not None and gate.for_person:
        return SessionStanding.WAITING
    if state.signed is not None:
        plain = not state.signed.self_set or state.signed.accepted
        return SessionStanding.DONE if plain else SessionStanding.KEPT_SELF_SET
    if state.ended:
        return SessionStanding(state.ended)
    if state.accepted and gate.open:
        return SessionStanding.AWAITING_SIGN_OFF if gate.planned else SessionStanding.UNPLANNED
    return SessionStanding.WORKING


def accepts_self_set(policy: SessionPolicy) -> bool:
    """Whether the user takes checks that an agent chose for an answer."""
    return policy.self_set is SelfSetRule.ACCEPT


def _without_plan(state: SessionState, policy: SessionPolicy) -> tuple[SessionMissing, ...]:
    what = ""
    if state.started.get("parent"):
        what = "a sub-agent without a plan proves nothing to whoever delegated to it"
    elif policy.require_plan and state.mutated:
        what = "files were changed without a plan"
    if what:
        return (SessionMissing("plan", what, "plan_create(objective, steps, postconditions)"),)
    return ()


def _of_the_whole(state: SessionState, subjects: tuple[SubjectProof, ...]) -> list[SessionMissing]:
    steps = subjects[: len(state.plan.steps)] if state.plan is not None else ()
    if all(s.proof in (Proof.WAIVED, Proof.LET_GO, Proof.PERSONS) for s in steps):
        what = "no step was done, so nothing was proved"
        return [SessionMissing("plan", what, "work on a step, or stop", waiting=True)]
    return []


def _numbered(state: SessionState) -> list[tuple[int, Step | Postcondition]]:
    assert state.plan is not None
    return [
        *enumerate(state.plan.steps, 1),
        *((number, post) for number, post in enumerate(state.plan.postconditions, 1)),
    ]


def _subject(
    state: SessionState, subject: Step | Postcondition, number: int, content: Content
) -> SubjectProof:
    item = state.item(subject.id)
    is_step = isinstance(subject, Step)
    title = subject.title if isinstance(subject, Step) else subject.text
    proof, what = _proof(state, subject, item, content)
    if item.children and proof is Proof.PROVED:
        shut = sorted(set(item.children) & content.shut_children)
        if shut:
            proof, what = Proof.UNPROVED, f"its child session {shown_list(shut)} is not finished"
    if proof in (Proof.PROVED, Proof.WAIVED, Proof.LET_GO, Proof.PERSONS):
        what = ""
    step = _next(subject, item, number, is_step, proof) if what else ""
    return SubjectProof(subject.id, title, proof, not state.bound, what, step)


def _proof(
    state: SessionState, subject: Step | Postcondition, item: Item, content: Content
) -> tuple[Proof, str]:
    """What stands, and why it is not proved. A proof outranks a question about giving up."""
    if subject.contract is not None:
        proof, what = _by_contract(state, subject.id, item, content)
    elif state.bound:
        proof, what = Proof.PERSONS, ""  # whoever wrote the plan is to be asked, not the agent
    else:
        proof, what = _by_evidence(state, item, content)
    if proof is Proof.PROVED:
        return proof, ""
    if item.waived:
        return Proof.WAIVED, ""
    if item.let_go:
        return Proof.LET_GO, ""
    if item.question is not None:
        return Proof.WAITING, f"it waits for a person (`{item.question}`)"
    if _would_be_dropped(state, subject.id):
        assert state.pending is not None
        asked = state.pending.data["question"]
        return Proof.WAITING, f"{what}; a person is asked whether it may go (`{asked}`)"
    return proof, what


def _by_contract(
    state: SessionState, subject: str, item: Item, content: Content
) -> tuple[Proof, str]:
    contract, verdict = state.contract(subject), item.verdict
    assert contract is not None
    if verdict is None:
        return Proof.UNPROVED, "its check was not judged yet"
    fresh = contract.judged_once or (content.digest and verdict.snapshot == content.digest)
    if verdict.kept:
        return (
            (Proof.PROVED, "")
            if fresh
            else (Proof.STALE, "its check held on older content; files changed since")
        )
    said = escape_line(verdict.message[:LONGEST_MESSAGE])
    return Proof.BROKEN, f"its check is {verdict.result}: {said}"


def _by_evidence(state: SessionState, item: Item, content: Content) -> tuple[Proof, str]:
    if item.status is not ClaimStatus.DONE:
        return Proof.UNPROVED, "nobody proved it yet"
    if item.basis is None:
        return Proof.UNPROVED, "it was called done, but its evidence was not accepted"
    changed = [p for p, digest in item.basis.files.items() if content.files.get(p) != digest]
    if changed:
        return Proof.STALE, f"its evidence is about older content of {shown_list(changed)}"
    if item.basis.content and item.basis.content != content.digest:
        return Proof.STALE, "its evidence is about older content: files changed since that call"
    silent = state.silent_urls if content.silent_urls is None else content.silent_urls
    if not silent.isdisjoint(item.basis.urls):
        urls = shown_list(escape_line(url) for url in item.basis.urls if url in silent)
        return Proof.STALE, f"{urls} did not answer when the harness asked again"
    for cited in item.basis.contracts:
        other = state.items.get(cited)
        if other is None or state.contract(cited) is None:
            return Proof.STALE, f"it rests on the check of `{cited}`, which is not in the plan"
        if _by_contract(state, cited, other, content)[0] is not Proof.PROVED:
            return Proof.STALE, f"it rests on the check of `{cited}`, which does not hold now"
    return Proof.PROVED, ""


def _would_be_dropped(state: SessionState, subject: str) -> bool:
    return state.pending is not None and subject in state.pending.data["loosened"]


def _next(
    subject: Step | Postcondition, item: Item, number: int, is_step: bool, proof: Proof
) -> str:
    if proof is Proof.WAITING:
        return "a person answers it: signoff inbox"
    if subject.contract is not None:
        check = f"step_check({number})" if is_step else f"postcondition_verify({number})"
        work = "" if proof is Proof.STALE or item.verdict is None else "repair it, then "
        return f"{work}{check}"
    cited = 'evidence="tool:<call-id> …"'
    if is_step:
        return f'step_update({number}, "done", {cited}), or "blocked" with a reason in notes'
    return f'postcondition_verify({number}, {cited}), or unattainable_because="…"'
