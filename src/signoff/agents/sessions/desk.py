"""What every part of a session works with: its chain, its judge, its files, and its gate."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from signoff.agents.sessions.adjudicating import Adjudicator
from signoff.agents.sessions.evidence import Sources
from signoff.agents.sessions.files import CitedFiles
from signoff.agents.sessions.urls import ask_url, judge_url, url_in
from signoff.domain.digests import digest_of
from signoff.domain.escalation import Cause, Choice
from signoff.domain.ledger import Draft, Entry, Kind
from signoff.domain.plan import Contract, Postcondition, Step
from signoff.domain.redaction import REDACTED, Redactor
from signoff.domain.session import SESSION_PREFIX, Basis
from signoff.domain.text import escape_line
from signoff.domain.verdict import Phase, Reason, Result, Verdict
from signoff.errors import SignoffError
from signoff.gate.fold import fold
from signoff.gate.gate import GateReport, evaluate
from signoff.gate.state import State
from signoff.gate.subjects import Content
from signoff.settings.agent import SessionPolicy
from signoff.storage.ledger import Ledger

SHORTEST_JUDGING_S = 0.5
LONGEST_ERROR = 200
# Asked while a check runs: signals do not reach the thread of an agent that somebody awaits.
CANCELLED: ContextVar[Callable[[], bool]] = ContextVar("cancelled", default=lambda: False)


class SessionJudge(Protocol):
    """What a session asks about its workspace."""

    def judge(self, subject: str, contract: Contract, *, provisional: bool) -> Verdict:
        """Run a contract on the content as it is now."""

    def content(self) -> str:
        """The digest of the workspace's content as it is now."""


@dataclass
class Desk:
    """One session's chain and everything its rules ask the world."""

    ledger: Ledger
    id: str
    workspace: Path
    policy: SessionPolicy
    judge: SessionJudge
    state: State
    shut_children: Callable[[], frozenset[str]] = frozenset
    adjudicator: Adjudicator | None = None  # who rules about blocked steps, if a model may
    files: CitedFiles = field(init=False)

    def __post_init__(self) -> None:
        self.files = CitedFiles(self.workspace, self.policy.readable)

    @property
    def redactor(self) -> Redactor:
        """Takes secrets out of what is recorded."""
        return self.ledger.redactor

    def look(self) -> State:
        """The state as the ledger has it now; other processes may have written meanwhile."""
        return fold(self.state, self.ledger.entries(self.id, after=self.state.seq))

    def append(self, *drafts: Draft, durable: bool = True) -> tuple[Entry, ...]:
        """Record, and fold what was recorded; not durable is for what proves nothing by itself."""
        entries = self.ledger.append(self.id, drafts, durable=durable)
        if entries and entries[0].seq == self.state.seq + 1:
            fold(self.state, entries)
        else:
            self.look()  # others wrote meanwhile, and their entries come first
        return entries

    def question(
        self, cause: Cause, question: str, subject: str | None, context: dict[str, Any]
    ) -> Draft:
        """An inbox item; waiving is offered where there is something to go on without."""
        choices = [Choice.RETRY, Choice.ABORT]
        about_something = subject is not None or cause is Cause.RATCHET
        if about_something and not self.policy.forbid_waivers:
            choices.insert(0, Choice.WAIVE)
        data = {
            # By chance and not by number: several processes may ask at the same time.
            "id": f"{self.id.removeprefix(SESSION_PREFIX)[:8]}-{secrets.token_hex(4)}",
            "cause": cause,
            "question": question,
            "context": {"session": self.id, **context},
            "choices": choices,
        }
        return Draft(Kind.ESCALATION_OPENED, data, step=subject)

    def subject(self, subject_id: str) -> Step | Postcondition:
        """A step or postcondition of the plan."""
        return next(s for s in self.state.subjects if s.id == subject_id)

    def content(self) -> str:
        """The workspace's digest now."""
        return self.judge.content()

    def run_contract(
        self, subject_id: str, contract: Contract, *, provisional: bool = True
    ) -> Verdict:
        """One verdict, recorded."""
        return self.record(self.judged(subject_id, contract, provisional=provisional))

    def judged(self, subject_id: str, contract: Contract, *, provisional: bool) -> Verdict:
        """One verdict, recorded nowhere."""
        try:
            verdict = self._judged(subject_id, contract, provisional)
        except SignoffError:
            raise
        except Exception as error:
            # Whatever a contract made the judge stumble over: no answer is not a yes.
            verdict = self._stumbled(subject_id, contract, error)
        return replace(verdict, subject=subject_id, provisional=provisional)

    def _judged(self, subject_id: str, contract: Contract, provisional: bool) -> Verdict:
        if REDACTED in contract.command:
            raise ValueError("its command held a secret, which is kept nowhere")
        url = url_in(contract)
        if url is None:
            return self.judge.judge(subject_id, contract, provisional=provisional)
        answer = ask_url(url, self.policy.hosts)
        return judge_url(subject_id, contract, url, self.content(), answer, provisional)

    def _stumbled(self, subject_id: str, contract: Contract, error: Exception) -> Verdict:
        said = escape_line(f"{type(error).__name__}: {error}"[:LONGEST_ERROR])
        return Verdict(
            subject=subject_id,
            phase=Phase.ATTEMPT,
            result=Result.UNKNOWN,
            reason=Reason.INFRASTRUCTURE,
            message=f"could not judge: the harness failed over this check ({said}); reword it",
            key=digest_of({"contract": contract.essence()}),
            snapshot=self.content(),
            exit_code=None,
        )

    def record(self, verdict: Verdict) -> Verdict:
        """Write a verdict down."""
        self.append(Draft(Kind.VERDICT, asdict(verdict), step=verdict.subject))
        return verdict

    def judge_pending(self, limit_s: float | None = None, *, provisional: bool = True) -> None:
        """Judge every contract that has no answer for the content as it is now.

        Signing judges all of them again; equal contracts are judged once.
        """
        state = self.look()
        if state.plan is None:
            return
        until = None if limit_s is None else time.monotonic() + limit_s
        judged: dict[Contract, Verdict] = {}
        for subject in state.subjects:
            contract, record = subject.contract, state.record(subject.id)
            if contract is None or (provisional and self._is_answered(subject.id)):
                continue
            if not provisional and record.given_up:
                continue
            if contract in judged:
                self.record(replace(judged[contract], subject=subject.id))
                continue
            left_s = None if until is None else until - time.monotonic()
            if left_s is not None and left_s < SHORTEST_JUDGING_S:
                return
            limited = contract if left_s is None else _within(contract, left_s)
            judged[contract] = self.run_contract(subject.id, limited, provisional=provisional)

    def holds(self, subject_id: str) -> bool:
        """Whether a contract is kept on the content as it is now; judged if nobody knows."""
        if not self._is_answered(subject_id):
            contract = self.state.contract(subject_id)
            assert contract is not None
            self.run_contract(subject_id, contract)
        verdict = self.state.record(subject_id).latest
        return verdict is not None and verdict.kept

    def _is_answered(self, subject_id: str) -> bool:
        """An unknown verdict is no answer: it is asked for again."""
        verdict, contract = self.state.record(subject_id).latest, self.state.contract(subject_id)
        if verdict is None or contract is None or verdict.result is Result.UNKNOWN:
            return False
        if contract.judged_once:
            return verdict.kept
        return verdict.snapshot == self.content()

    def silent_urls(self) -> frozenset[str]:
        """URLs that evidence cites and that do not answer now; each is asked once."""
        records = self.look().records.values()
        cited = {url for record in records for url in _basis(record.claim.basis).urls}
        return frozenset(url for url in cited if not ask_url(url, self.policy.hosts).ok)

    def withdrawal(self, question: str, why: str) -> Draft:
        """A question taken back; on record as an answer that nobody gave."""
        data = {"id": question, "choice": Choice.RETRY, "note": why, "by": "signoff"}
        return Draft(Kind.ESCALATION_ANSWERED, {**data, "interactive": False, "withdrawn": True})

    def withdraw_settled(self, gate: GateReport) -> None:
        """Nobody need be asked about giving up what is proved."""
        proved = [self.state.record(subject) for subject in gate.proved]
        asked = [r.question for r in proved if r.question in self.state.questions]
        if asked:
            self.append(*(self.withdrawal(str(question), "it is proved") for question in asked))
        self.withdraw_pointless()

    def withdraw_pointless(self) -> None:
        """Nobody need be asked about a step that the plan does not have any more."""
        named = {record.question for record in self.state.records.values()}
        about = (Cause.BLOCKED, Cause.UNATTAINABLE)
        orphans = [
            i for i, q in self.state.questions.items() if q.cause in about and i not in named
        ]
        if orphans:
            why = "the step is not in the plan any more"
            self.append(*(self.withdrawal(question, why) for question in orphans))

    def gate(self, silent_urls: frozenset[str] | None = None) -> GateReport:
        """What the gate says about the content as it is now."""
        state = self.look()
        records = state.records.values()
        bases = [_basis(record.claim.basis) for record in records]
        files = {path for basis in bases for path in basis.files}
        on_all = any(basis.content for basis in bases) or any(r.latest for r in records)
        content = Content(
            digest=self.content() if on_all else "",
            files={path: self.files.digest(path) for path in files},
            shut_children=self.shut_children(),
            silent_urls=silent_urls,
        )
        return evaluate(state, content, require_plan=self.policy.require_plan)

    def sources(self) -> Sources:
        """Where evidence is looked up."""
        return Sources(
            self.state,
            self.files,
            self.content,
            self.holds,
            lambda url: ask_url(url, self.policy.hosts),
        )


def _within(contract: Contract, left_s: float) -> Contract:
    return replace(contract, timeout_s=min(contract.timeout_s, left_s))


def _basis(basis: Basis | None) -> Basis:
    return basis if basis is not None else Basis()
