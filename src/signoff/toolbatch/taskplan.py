"""The plan that the harness derives from a task: written when words or lists ask for more.

Steps are the files and folders that a person's words or the model's list name as paths, and items
of the list that name none. Postconditions are the checks that can be derived. It is an ordinary
plan on the session's chain: the one gate decides about it, and everything else here is a view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from signoff.domain.digests import digest_of
from signoff.domain.ledger import Draft, Entry, Kind
from signoff.domain.plan import Author, Contract, Plan
from signoff.domain.redaction import NOTHING_SECRET, Redactor
from signoff.domain.session import MOST_PARTS, Artifact, ClaimStatus, Declared, TaskBasis
from signoff.domain.text import escape_line
from signoff.domain.verdict import Result, Verdict
from signoff.gate.fold import fold
from signoff.gate.state import State
from signoff.gate.task import Task, task_of
from signoff.planfile.compose import compose
from signoff.planfile.parse import parse
from signoff.toolbatch.artifacts import existence_command
from signoff.toolbatch.deriving import CheckSources, derive, project_checks
from signoff.toolbatch.paths import LONGEST_READ, planned_in

LONGEST_OBJECTIVE = 500
LONGEST_ITEM = 300
JudgeOne = Callable[[str, Contract], Verdict]


class Books(Protocol):
    """A session's chain: what is recorded, and where that leaves the plan."""

    @property
    def redactor(self) -> Redactor:
        """Takes secrets out of what is recorded."""

    def look(self) -> State:
        """The state as it is now."""

    def append(self, *drafts: Draft, durable: bool = True) -> Any:
        """Record, all or nothing."""

    def judge_pending(self) -> None:
        """Judge every contract that has no answer for the content as it is now."""


class MemoryBooks:
    """A chain for as long as the process lives; `judge` runs a contract."""

    redactor = NOTHING_SECRET

    def __init__(self, judge: JudgeOne | None = None):
        self._state, self._judge = State(None, driven=False), judge

    def look(self) -> State:
        return self._state

    def append(self, *drafts: Draft, durable: bool = True) -> None:
        """Record; nothing lasts, durable or not."""
        del durable
        for draft in drafts:
            seq = self._state.seq + 1
            entry = Entry("", seq, "", draft.kind, None, draft.step, None, draft.data, "", "")
            fold(self._state, [entry])

    def judge_pending(self) -> None:
        """Judge what was not judged since the last change."""
        state, changed = self._state, self._state.session.changed_at
        for subject in state.subjects if self._judge is not None else ():
            latest, contract = state.record(subject.id).latest, subject.contract
            answered = latest is not None and latest.result is not Result.UNKNOWN
            if contract is None or (answered and latest is not None and latest.seq > changed):
                continue
            assert self._judge is not None
            verdict = self._judge(subject.id, contract)
            said = replace(verdict, subject=subject.id, provisional=True, snapshot=f"at {changed}")
            self.append(Draft(Kind.VERDICT, to_builtins(said), step=subject.id))


class Part(Struct, frozen=True):
    """A step or a postcondition of the plan; `path` is the file or folder that it makes."""

    description: str
    contract: Contract | None = None
    path: str = ""
    asked: bool = False

    @classmethod
    def making(cls, artifact: Artifact, text: str = "", *, asked: bool = False) -> Part:
        """The part that is done while the artifact is there."""
        said = plain(text) or plain(f"make {artifact}") or "make a file"
        return cls(said, Contract(existence_command(artifact)), str(artifact), asked)


class TaskPlan(Struct):
    """Keeps the derived plan of one task; without `sources` nothing is derived beside a plan."""

    books: Books
    root: Path
    sources: CheckSources | None = None
    declared: tuple[Artifact, ...] = ()  # by a person's plan
    derives: bool = True  # False: a person's contracts decide, and nothing beside them
    refused: tuple[str, ...] = ()  # commands that are no check, and why, as of the last judging
    _basis: TaskBasis = field(default_factory=TaskBasis)
    _objective: str = ""
    _seen: tuple[int, Task] | None = None

    def task(self) -> Task:
        """State of the task; computed once for each state of the chain."""
        state = self.books.look()
        if self._seen is None or self._seen[0] != state.seq:
            self._seen = state.seq, task_of(state, self.declared)
        return self._seen[1]

    @property
    def is_own(self) -> bool:
        """True when the agent or a person wrote the plan in force: lists are notes then."""
        state = self.books.look()
        return state.plan is not None and state.author is not Author.DERIVED

    def begin(self, words: str) -> None:
        """A task: what it names is planned, and what the project documents is remembered."""
        known = self._known()
        self._objective = plain(words.split("\n", 1)[0])[:LONGEST_OBJECTIVE] or "the task"
        if known is None and self.derives:
            project = project_checks(self.root) if self.sources is not None else ()
            self._basis = TaskBasis(project=project)
        self.say(words)

    def say(self, words: str) -> None:
        """A person's words. They are looked at once: what they plan on another day is not asked."""
        words = self.books.redactor.text(words)
        digest, basis = digest_of(words.strip())[:16], self._known() or self._basis
        if not self.derives or not words.strip() or digest in basis.said:
            return
        self._basis = replace(basis, said=(*basis.said, digest))
        task = self.task()
        dropped = [Artifact.of(drop.what) for drop in task.dropped]
        known = (*task.planned, *dropped)
        named = planned_in(words, self.root, known, task.touched)
        for subject, path in self.books.look().task_files.items():
            # What was given up and is asked for anew is due again.
            claim = self.books.look().record(subject).claim
            if path in map(str, named) and claim.status is ClaimStatus.DROPPED:
                self.claim(subject, ClaimStatus.PENDING)
        lost = self.add([Part.making(a, asked=True) for a in named]) if named else 0
        unread = len(words) - LONGEST_READ
        if lost:
            self.add([Part(f"{lost} more files than fit into a plan were asked for: make them")])
        if unread > 0:
            self.add([Part(f"the last {unread} characters of the task were not read: mind them")])

    def add(self, new: Sequence[Part]) -> int:
        """Plan more; how many parts did not fit (one alone always does)."""
        parts = {(p.path or p.description): p for p in self._parts()}
        before = len(parts)
        for part in new:
            key = part.path or part.description
            old = parts.get(key)
            parts[key] = replace(old, asked=old.asked or part.asked) if old is not None else part
        most = max(before, MOST_PARTS) + (len(new) == 1)
        every = list(parts.values())
        if len(every) > most:
            every.sort(key=lambda part: not part.asked)  # no list crowds out what a person asks for
        self.write(every[:most])
        return max(0, len(every) - most)

    def work_began(self) -> None:
        """Something was changed: from now on there is a plan, if one can be derived."""
        if self.derives and self.sources is not None and self.books.look().task is None:
            self.write(self._parts())

    def judge(self) -> Task:
        """Derive the checks anew and have everything judged that has no answer yet."""
        state = self.books.look()
        due = self.sources is not None and (state.task or self.sources.contracts)
        if self.derives and (due or (self.sources is not None and self.task().touched)):
            self.write(self._parts())
        self.books.judge_pending()
        return self.task()

    def claim(self, subject: str, status: ClaimStatus, notes: str = "") -> None:
        """A tick, or a part that is given up; on record, and shown."""
        data = {"status": status, "evidence": "", "notes": notes}
        self.books.append(Draft(Kind.STEP_CLAIMED, data, step=subject))

    def write(self, parts: Sequence[Part]) -> None:
        """Write the plan of these parts and of the checks that are due, if it is another one."""
        basis = self._known() or self._basis
        steps, posts = list(parts), list[Part]()
        if self.sources is not None:
            planned = [Artifact.of(part.path) for part in parts if part.path]
            derived = derive(self.task().touched, planned, basis, self.root, self.sources)
            basis = replace(basis, due=derived.project)
            self.refused = derived.refused
            posts = [
                Part(f"{check.source} check {n} holds", Contract(check.command))
                for n, check in enumerate(derived.checks, 1)
            ]
            posts += [Part(plain(said)) for said in derived.shaken]
        if not self._open(steps) and posts and posts[0].contract is not None:
            steps, posts = [*steps, replace(posts[0], description=self.objective)], posts[1:]
        if steps:
            self._record(steps, posts, basis)

    @property
    def objective(self) -> str:
        state = self.books.look()
        return state.task.plan.title if state.task is not None else self._objective

    def _open(self, parts: Iterable[Part]) -> bool:
        given_up = {drop.what for drop in self.task().dropped}
        return any((part.path or part.description) not in given_up for part in parts)

    def _record(self, steps: list[Part], posts: list[Part], basis: TaskBasis) -> None:
        # As it will be stored: compared with that, nothing is written twice.
        clean = self.books.redactor.text
        steps, posts = (
            [replace(part, description=clean(part.description)) for part in parts]
            for parts in (steps, posts)
        )
        text = compose(clean(self.objective), steps, posts)
        plan = parse(text).plan
        assert _says(plan, steps, posts), text
        asked = tuple(s.id for s, p in zip(plan.steps, steps, strict=True) if p.asked)
        basis = replace(basis, asked=asked)
        now = self.books.look().task
        if now is not None and (now.fact.text, now.fact.task) == (text, basis):
            return
        paths = {s.id: p.path for s, p in zip(plan.steps, steps, strict=True) if p.path}
        data = {
            "text": text,
            "plan_digest": plan.plan_digest,
            "declared": {i: Declared((path,)).to_data() for i, path in paths.items()},
            "reason": "derived from the task",
            "self_set": True,
            "derived": True,
            "task": basis.to_data(),
        }
        self.books.append(Draft(Kind.PLAN_WRITTEN, data))

    def _known(self) -> TaskBasis | None:
        task = self.books.look().task
        if task is None or task.fact.task is None:
            return None
        # Words that planned nothing are remembered here alone: nothing was to be written.
        said = dict.fromkeys((*task.fact.task.said, *self._basis.said))
        return replace(task.fact.task, said=tuple(said))

    def _parts(self) -> list[Part]:
        """Files and items of the plan as it is; its checks are derived anew."""
        task = self.books.look().task
        if task is None or task.fact.task is None:
            return []
        asked, declared = frozenset(task.fact.task.asked), task.fact.declared
        paths = {step.id: (*declared[step.id].touches, "")[0] if step.id in declared else ""
                 for step in task.plan.steps}  # fmt: skip
        return [
            Part(step.task, step.contract, paths[step.id], step.id in asked)
            for step in task.plan.steps
            if step.contract is None or paths[step.id]
        ]


def _says(plan: Plan, steps: Sequence[Part], posts: Sequence[Part]) -> bool:
    """True when the parser reads exactly what was written."""
    read = [(s.task, s.contract and s.contract.command) for s in plan.steps]
    read += [(p.text, p.contract and p.contract.command) for p in plan.postconditions]
    meant = [(p.description, p.contract and p.contract.command) for p in (*steps, *posts)]
    return read == meant


def plain(text: str) -> str:
    """The text on one line, with nothing that a plan's parser would take for structure."""
    line = escape_line(" ".join(text.split()))
    for mark in ("**", "__", "`", "#", "<", "|"):
        line = line.replace(mark, " ")
    return " ".join(line.split()).lstrip("-*+>=~. ")[:LONGEST_ITEM].strip()
