"""A session's chain in the ledger: its state, its judge, its gate, and the sessions below it."""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from signoff.domain.digests import digest_of
from signoff.domain.ledger import Cause, Choice, Draft, Entry, Kind
from signoff.domain.plan import Contract, Plan
from signoff.domain.redaction import REDACTED, Redactor
from signoff.domain.session import SESSION_PREFIX, Basis
from signoff.domain.text import escape_line
from signoff.domain.verdict import Phase, Reason, Result, Verdict
from signoff.errors import SignoffError
from signoff.gate.fold import fold
from signoff.gate.gate import GateReport, evaluate
from signoff.gate.state import State
from signoff.gate.subjects import Content
from signoff.settings.policy import SessionPolicy
from signoff.storage.ledger import Ledger
from signoff.storage.records import PlanRecord
from signoff.workspace.folders import open_regular

SHORTEST_JUDGING_S = 0.5
LONGEST_ERROR = 200
# Asked while a check runs: signals do not reach the thread of an agent that somebody awaits.
CANCELLED: ContextVar[Callable[[], bool]] = ContextVar("cancelled", default=lambda: False)


def is_cancelled() -> bool:
    """Asked of the thread that judges, which need not be the one that opened the session."""
    return CANCELLED.get()()


class CitedFiles(Struct, frozen=True):
    """Regular files of the workspace, and of the folders that the user lets agents read."""

    workspace: Path
    readable: tuple[str, ...] = ()

    def name(self, path: str) -> str:
        """The one name of a file: relative inside the workspace, absolute elsewhere."""
        whole = os.path.normpath(self.workspace / path)
        root = str(self.workspace)
        return whole[len(root) + 1 :] if whole.startswith(root + os.sep) else whole

    def digest(self, path: str) -> str:
        """The sha256 of what lies there now; empty for what is gone or may not be read."""
        try:
            # By where a path leads, because an agent can lay links.
            real = Path(os.path.realpath(self.workspace / path))
            roots = (self.workspace, *(Path(r).expanduser() for r in self.readable))
            if not any(real.is_relative_to(os.path.realpath(root)) for root in roots):
                return ""
            with open_regular(real) as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except (OSError, ValueError):
            return ""


class Refused(ValueError):
    """Refuses a request or a citation of an agent; the message says why, and what would hold."""


class SessionJudge(Protocol):
    """Questions of a session about its workspace."""

    def judge(self, subject: str, contract: Contract, *, provisional: bool) -> Verdict:
        """Run a contract on the content as it is now."""

    def content(self) -> str:
        """The digest of the workspace's content as it is now."""


@dataclass(eq=False)
class SessionChain:
    """One session's chain and everything its rules ask the world."""

    ledger: Ledger
    id: str
    workspace: Path
    policy: SessionPolicy
    judge: SessionJudge
    state: State
    files: CitedFiles = field(init=False)
    _children: dict[str, Self] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.files = CitedFiles(self.workspace, self.policy.readable)

    @property
    def redactor(self) -> Redactor:
        """Takes secrets out of what is recorded."""
        return self.ledger.redactor

    @classmethod
    def open(
        cls,
        ledger: Ledger,
        session_id: str,
        workspace: Path,
        policy: SessionPolicy,
        judge: SessionJudge,
        plan: Plan | None = None,
    ) -> Self:
        """The session of this id, known or new, with its state as the ledger has it."""
        ledger.register_plan(PlanRecord(session_id, session_id, str(workspace), None))
        opened = cls(ledger, session_id, workspace, policy, judge, State(plan, driven=False))
        opened.look()
        return opened

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

    def children(self) -> tuple[Self, ...]:
        for child_id in self.look().session.shares:
            if child_id not in self._children:
                child = self.open(self.ledger, child_id, self.workspace, self.policy, self.judge)
                self._children[child_id] = child
        return tuple(self._children.values())

    @property
    def is_shut(self) -> bool:
        """True when its answer was not accepted, or its own gate is not open any more."""
        session = self.look().session
        return not (session.accepted or session.signed) or not self.gate().open

    def shut_children(self) -> frozenset[str]:
        """Child sessions that keep their step from being done."""
        return frozenset(child.id for child in self.children() if child.is_shut)

    # Judging.

    def content(self) -> str:
        return self.judge.content()

    def run_contract(
        self, subject_id: str, contract: Contract, *, provisional: bool = True
    ) -> Verdict:
        """One verdict, recorded."""
        return self._record(self.judged(subject_id, contract, provisional=provisional))

    def judged(self, subject_id: str, contract: Contract, *, provisional: bool) -> Verdict:
        """One verdict, recorded nowhere."""
        try:
            if REDACTED in contract.command:
                raise ValueError("its command held a secret, which is kept nowhere")
            verdict = self.judge.judge(subject_id, contract, provisional=provisional)
        except SignoffError:
            raise
        except Exception as error:
            # Whatever a contract made the judge stumble over: no answer is not a yes.
            said = escape_line(f"{type(error).__name__}: {error}"[:LONGEST_ERROR])
            verdict = Verdict(
                subject=subject_id,
                phase=Phase.ATTEMPT,
                result=Result.UNKNOWN,
                reason=Reason.INFRASTRUCTURE,
                message=f"could not judge: the harness failed over this check ({said}); reword it",
                key=digest_of({"contract": contract.essence()}),
                snapshot=self.content(),
            )
        return replace(verdict, subject=subject_id, provisional=provisional)

    def _record(self, verdict: Verdict) -> Verdict:
        self.append(Draft(Kind.VERDICT, to_builtins(verdict), step=verdict.subject))
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
                self._record(replace(judged[contract], subject=subject.id))
                continue
            limited = contract
            if until is not None:
                left_s = until - time.monotonic()
                if left_s < SHORTEST_JUDGING_S:
                    return
                limited = replace(contract, timeout_s=min(contract.timeout_s, left_s))
            judged[contract] = self.run_contract(subject.id, limited, provisional=provisional)

    def holds(self, subject_id: str) -> bool:
        """True when a contract is kept on the content as it is now; judged if nobody knows."""
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

    # The gate.

    def gate(self, silent_urls: frozenset[str] | None = None) -> GateReport:
        """Ask the gate if the agent may call its work finished, and if not, what is missing."""
        state, bases = self.look(), self._bases()
        files = {path for basis in bases for path in basis.files}
        judged = any(record.latest for record in state.records.values())
        on_all = judged or any(basis.content for basis in bases)
        content = Content(
            digest=self.content() if on_all else "",
            files={path: self.files.digest(path) for path in files},
            shut_children=self.shut_children(),
            silent_urls=silent_urls,
        )
        return evaluate(state, content, require_plan=self.policy.require_plan)

    def silent_urls(self) -> frozenset[str]:
        """URLs that claims of older versions cite: nobody asks them any more."""
        self.look()
        return frozenset(url for basis in self._bases() for url in basis.urls)

    def _bases(self) -> list[Basis]:
        return [r.claim.basis for r in self.state.records.values() if r.claim.basis is not None]

    # Questions for people.

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

    def withdrawal(self, question: str, why: str) -> Draft:
        """A question taken back; on record as an answer that nobody gave."""
        data = {"id": question, "choice": Choice.RETRY, "note": why, "by": "signoff"}
        return Draft(Kind.ESCALATION_ANSWERED, {**data, "interactive": False, "withdrawn": True})

    def withdraw_moot(self, proved: Iterable[str] = ()) -> None:
        """Take back questions about steps that are proved, or are not in the plan any more."""
        state = self.state
        moot = {str(state.record(subject).question): "it is proved" for subject in proved}
        named = {record.question for record in state.records.values()}
        for question, asked in state.questions.items():
            if asked.cause in (Cause.BLOCKED, Cause.UNATTAINABLE) and question not in named:
                moot[question] = "the step is not in the plan any more"
        drafts = [self.withdrawal(q, why) for q, why in moot.items() if q in state.questions]
        if drafts:
            self.append(*drafts)
