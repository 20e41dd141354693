"""Random agents against the gate: it never opens on anything unproved, nor stays shut for ever."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from signoff.agents.session import PlanSession
from signoff.domain.ledger import Choice, Draft, Kind
from signoff.domain.plan import Contract
from signoff.domain.session import Decision, ToolCall
from signoff.domain.verdict import Phase, Reason, Result, Verdict
from signoff.gate.subjects import StepState
from signoff.settings.policy import SessionPolicy
from signoff.storage.home import open_database, sqlite_url
from signoff.storage.ledger import Ledger

FILES = ("a", "b", "c")
# Description → the file its check looks for; None needs evidence.
STEPS: dict[str, str | None] = {"make a": "a", "make b": "b", "tell c": None, "tell d": None}
POSTS: dict[str, str | None] = {"a is there": "a", "all is told": None}
BOTH = STEPS | POSTS
NAMES = tuple(BOTH)
CHANCE = st.integers(0, 999)


class FolderJudge:
    """Judges `test -f` on a folder of plain files, and digests all of it."""

    def __init__(self, root: Path):
        self.root = root

    def judge(self, subject: str, contract: Contract, *, provisional: bool) -> Verdict:
        kept = (self.root / contract.command.removeprefix("test -f ./")).is_file()
        return Verdict(
            subject=subject,
            phase=Phase.ATTEMPT,
            result=Result.KEPT if kept else Result.BROKEN,
            reason=Reason.HELD if kept else Reason.EXPECTATION,
            message="",
            key=contract.command,
            snapshot=self.content(),
            exit_code=0 if kept else 1,
            provisional=provisional,
        )

    def content(self) -> str:
        listed = [(f, _sha(self.root / f)) for f in FILES]
        return hashlib.sha256(repr(listed).encode()).hexdigest()


def _sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


@dataclass
class Known:
    """What an onlooker, who shares no code with the gate, knows of one part of the plan."""

    since: int
    done_with: dict[str, str] | None = None  # accepted evidence: file → content
    status: str = "pending"
    begun: int = 0
    question: str = ""
    waived: bool = False


@dataclass
class Call:
    id: str
    at: int
    ok: bool
    reads: dict[str, str] = field(default_factory=dict)


class Agents(RuleBasedStateMachine):
    """Every tool in any order, with an onlooker who keeps the books by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        base = Path(self.folder.name)
        self.root = base / "work"
        self.root.mkdir()
        self.ledger = Ledger(open_database(sqlite_url(base / "ledger.sqlite3")))
        self.judge = FolderJudge(self.root)
        self.session = self._open()
        self.parts: dict[str, Known] = {}
        self.calls: list[Call] = []
        self.clock = 0

    def _open(self, resume: bool = False) -> PlanSession:
        known = self.session.id if hasattr(self, "session") else None
        return PlanSession.start(
            self.ledger,
            self.root,
            policy=SessionPolicy(),
            judge=self.judge,
            author="machine",
            session_id=known,
            resume=resume,
        )

    def teardown(self) -> None:
        try:
            self._an_honest_agent_gets_through()
        finally:
            self.ledger.database.close()
            self.folder.cleanup()

    @initialize(
        steps=st.lists(st.sampled_from(tuple(STEPS)), unique=True, min_size=1, max_size=4),
        posts=st.lists(st.sampled_from(tuple(POSTS)), unique=True, max_size=2),
    )
    def begin(self, steps: list[str], posts: list[str]) -> None:
        self.write_a_plan(steps, posts, "")

    @rule(
        steps=st.lists(st.sampled_from(tuple(STEPS)), unique=True, max_size=4),
        posts=st.lists(st.sampled_from(tuple(POSTS)), unique=True, max_size=2),
        reason=st.sampled_from(["", "  ", "it was wrong"]),
    )
    def write_a_plan(self, steps: list[str], posts: list[str], reason: str) -> None:
        self.clock += 1
        self.session.plan_create(
            "aim", [_part(s) for s in steps], [_part(p) for p in posts], reason
        )
        wanted = [*steps, *posts]
        drops = any(name not in wanted for name in self.parts)
        if steps and not (drops and not reason.strip()):
            self.parts = {n: self.parts.get(n) or Known(self.clock) for n in wanted}

    @rule(name=st.sampled_from(FILES), text=st.sampled_from(["x", "y"]))
    def write_a_file(self, name: str, text: str) -> None:
        (self.root / name).write_text(text)

    @rule(name=st.sampled_from(FILES))
    def remove_a_file(self, name: str) -> None:
        (self.root / name).unlink(missing_ok=True)

    @rule(
        name=st.sampled_from(FILES), ok=st.booleans(), tool=st.sampled_from(["read", "plan_show"])
    )
    def call_a_tool(self, name: str, ok: bool, tool: str) -> None:
        self.clock += 1
        reads = {name: _sha(self.root / name)}
        made = self.session.record_call(ToolCall("call", tool, ok, reads=reads))
        self.calls.append(Call(made, self.clock, ok and tool == "read", reads))

    @precondition(lambda self: self.parts)
    @rule(
        which=CHANCE,
        status=st.sampled_from(["pending", "in_progress", "done", "blocked"]),
        cited=CHANCE,
        prose=st.booleans(),
    )
    def claim(self, which: int, status: str, cited: int, prose: bool) -> None:
        names = tuple(self.parts)
        self._claim(names[which % len(names)], status, None if prose else self._pick(cited))

    def _pick(self, cited: int) -> Call | None:
        return self.calls[cited % len(self.calls)] if self.calls else None

    def _claim(self, name: str, status: str, call: Call | None) -> str:
        self.clock += 1
        known, number = self.parts[name], self._number(name)
        evidence = f"tool:{call.id}" if call is not None else "I did it"
        if name in POSTS:
            status = "done"
            said = self.session.postcondition_verify(number, evidence)
        else:
            said = self.session.step_update(number, status, evidence, "because")
        if status == "done":
            if BOTH[name] is not None:
                accepted = (self.root / str(BOTH[name])).is_file()
            else:
                accepted = call is not None and self._resolves(call, known)
            assert ("→ done" in said) == accepted, said
            if not accepted:
                return said
        if known.status == "done" and status != "done":
            known.begun, known.done_with = self.clock, None
        elif status == "in_progress" and known.status != status:
            known.begun = self.clock
        known.status = status
        if status == "done" and call is not None and BOTH[name] is None:
            known.done_with = call.reads
        known.question = self._question_about(number) if status == "blocked" else ""
        return said

    def _resolves(self, call: Call, known: Known) -> bool:
        fresh = all(_sha(self.root / f) == sha for f, sha in call.reads.items())
        return call.ok and call.at > max(known.begun, known.since) and fresh

    @precondition(lambda self: self.parts)
    @rule(
        spare=st.sampled_from((*NAMES, "")),
        file=st.sampled_from(FILES),
        then=st.sampled_from(["nothing", "change", "remove", "finish"]),
    )
    def work_honestly(self, spare: str, file: str, then: str) -> None:
        """Everything but one part, so that what happens next meets a gate that is nearly open."""
        for name, path in BOTH.items():
            if name in self.parts and name != spare:
                if path is not None:
                    self.write_a_file(path, "x")
                else:
                    self._prove(name, file)
        if then == "change":
            self.write_a_file(file, f"changed at {self.clock}")
        elif then == "remove":
            self.remove_a_file(file)
        elif then == "finish":
            self.finish()

    def _prove(self, name: str, file: str) -> None:
        if name in STEPS:
            self._claim(name, "in_progress", None)
        self.call_a_tool(file, True, "read")
        self._claim(name, "done", self.calls[-1])

    @precondition(lambda self: self.ledger.open_escalations(self.session.id))
    @rule(choice=st.sampled_from([Choice.WAIVE, Choice.RETRY]))
    def a_person_answers(self, choice: Choice) -> None:
        self.clock += 1
        asked = self.ledger.open_escalations(self.session.id)[0]
        if choice not in asked.data["choices"]:
            choice = Choice.RETRY
        data = {"id": asked.data["id"], "choice": choice}
        self.ledger.append(
            self.session.id, [Draft(Kind.ESCALATION_ANSWERED, data, step=asked.step)]
        )
        for known in self.parts.values():
            if known.question and known.question == asked.data["id"]:
                known.question = ""
                if choice is Choice.WAIVE:
                    known.waived = True
                else:
                    known.status, known.begun, known.done_with = "pending", self.clock, None

    @rule()
    def finish(self) -> None:
        ended = self.session.look().session.ended
        decision = self.session.try_finish("done").decision
        if decision is Decision.ACCEPTED and self.parts:
            assert self._all_settled()
        elif self.parts and not ended:
            assert not self._all_settled()

    @rule()
    def another_process_takes_over(self) -> None:
        self.session = self._open(resume=True)

    @invariant()
    def nothing_counts_as_proved_that_is_not(self) -> None:
        gate = self.session.gate()
        assert len(gate.subjects) == len(self.parts)
        for subject, name in zip(gate.subjects, self.parts, strict=True):
            if subject.proved:
                assert self._proved(name), name
            elif subject.state is StepState.WAIVED:
                assert self.parts[name].waived, name

    def _proved(self, name: str) -> bool:
        path, known = BOTH[name], self.parts[name]
        if path is not None:
            return (self.root / path).is_file()
        if known.status != "done" or known.done_with is None:
            return False
        return all(_sha(self.root / f) == sha for f, sha in known.done_with.items())

    def _all_settled(self) -> bool:
        settled = all(self._proved(n) or self.parts[n].waived for n in self.parts)
        return settled and any(self._proved(n) for n in self.parts if n in STEPS)

    def _number(self, name: str) -> int:
        return [n for n in self.parts if (n in STEPS) == (name in STEPS)].index(name) + 1

    def _question_about(self, number: int) -> str:
        state = self.session.look()
        assert state.plan is not None
        asked = str(state.record(state.plan.steps[number - 1].id).question or "")
        opened = [str(e.data["id"]) for e in self.ledger.open_escalations(self.session.id)]
        return asked if asked in opened else ""

    def _an_honest_agent_gets_through(self) -> None:
        """From wherever the random agent left things, honest work opens the gate."""
        self.session = self._open(resume=True)
        if not self.parts:
            self.write_a_plan(["make a", "tell c"], ["all is told"], "")
        for name in FILES:
            self.write_a_file(name, "done")
        for name in self.parts:
            if BOTH[name] is None:
                self._prove(name, "c")
        assert self._all_settled()
        assert self.session.try_finish("done").decision is Decision.ACCEPTED


def _part(name: str) -> object:
    path = BOTH[name]
    if path is None:
        return name
    return {"description": name, "check": {"kind": "file_exists", "path": path}}


TestAgents = Agents.TestCase
TestAgents.settings = settings(
    max_examples=50,
    stateful_step_count=20,
    suppress_health_check=[HealthCheck.too_slow],
)
