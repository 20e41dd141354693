"""One habit played twice in a workspace of its own: with the runtime, and with tools alone."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from forgetful import Habit, Make, Model, Say
from tasks import CHECK_S

from signoff.agents.tools.context import Changes, Files, ToolContext
from signoff.agents.tools.standard import STANDARD_TOOLS
from signoff.domain.plan import Contract
from signoff.domain.verdict import Phase, Reason, Verdict
from signoff.domain.verdict import Result as Judging
from signoff.toolbatch import steering, todo
from signoff.toolbatch.calls import Call, CallResult, NextAction, propose
from signoff.toolbatch.deriving import CheckSources
from signoff.toolbatch.disk import WorkspaceFolder
from signoff.toolbatch.opening import Parts, open_runner
from signoff.toolbatch.paths import declared
from signoff.toolbatch.pipeline import BatchEnding, BatchResult
from signoff.toolbatch.taskplan import MemoryBooks

TURNS = 40  # with the runtime every habit has ended by then
CHARACTERS_PER_TOKEN = 4  # an estimate, good enough to compare two columns
_TOOLS = {tool.name: tool for tool in STANDARD_TOOLS}


class End(StrEnum):
    """How a play ended."""

    VERIFIED = "verified"
    FAILED = "failed, and said so"
    TRUE = "done, and true"
    LIED = "lied"
    LOOPED = "looped"


@dataclass(frozen=True)
class Played:
    """How it ended, what it took, and which rules spoke."""

    end: End
    turns: int
    tokens: int
    rules: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()  # proposed by steering, and blocked all the same


def with_runtime(habit: Habit, turns: int, lapses: int = 0) -> Played:
    """The runtime has a say in every turn, and the judge in whether it is done."""
    with tempfile.TemporaryDirectory(prefix="signoff-steering-") as folder:
        return _Play(habit, Path(folder), lapses).play(turns)


def without(habit: Habit, turns: int) -> Played:
    """Calls are made as they come, and the final answer is believed."""
    with tempfile.TemporaryDirectory(prefix="signoff-steering-") as folder:
        root = Path(folder)
        habit.task.lay_out(root)
        model, tools = Model(habit, root), Hands(root, Watcher(root))
        for turn in range(1, turns + 1):
            move = model.move(None)
            if isinstance(move, Say):
                if move.text.strip():
                    end = End.TRUE if habit.task.holds(root) else End.LIED
                    return Played(end, turn, _tokens(model))
                continue
            for call in _calls(move, root, turn):
                model.hear(tools(call).text)
        return Played(End.LOOPED, turns, _tokens(model))


class _Play:
    """A session with the runtime."""

    def __init__(self, habit: Habit, root: Path, lapses: int):
        self._habit = habit
        habit.task.lay_out(root)
        self._root = root
        self._model = Model(habit, root, lapses)
        # The task's own check finds what a checker would; it is all that decides here.
        sources = CheckSources((habit.task.check,), lambda _path: False)
        watch = Watcher(root)
        books = MemoryBooks(Shell(root))
        parts = Parts(
            planned=declared(habit.task.planned),
            books=books,
            sources=sources,
            disk=WorkspaceFolder(root),
        )
        self._runner = open_runner(root, Hands(root, watch), "", parts=parts)
        todo.take_list(self._runner.plan, list(habit.items))
        self._rules: list[str] = []
        self._blocked: list[str] = []

    def play(self, turns: int) -> Played:
        """Until it is verified, has failed openly, or the turns are used up."""
        action: NextAction | None = None
        for turn in range(1, turns + 1):
            move = self._model.move(action)
            if isinstance(move, Say):
                result = self._runner.answer(move.text)
            else:
                result = self._runner.run(_calls(move, self._root, turn))
            self._note(result, action)
            if result.ending is BatchEnding.HALT:
                return self._played(End.FAILED, turn)
            if result.ending is BatchEnding.VERIFY:
                self._runner.judge()
            if self._runner.plan.task().is_over:
                return self._played(End.FAILED, turn)
            if self._is_done():
                end = End.VERIFIED if self._habit.task.holds(self._root) else End.LIED
                return self._played(end, turn)
            action = self._steered(result)
        return self._played(End.LOOPED, turns)

    def _is_done(self) -> bool:
        call = propose("x", "read", {"path": "x"}, root=self._root)
        return self._runner.state.around(call).settled

    def _note(self, result: BatchResult, action: NextAction | None) -> None:
        for outcome in result.results:
            self._model.hear(outcome.text)
        first = result.results[0] if result.results else None
        if not self._model.follows or first is None or first.ok or not first.rule:
            return
        # What is wrong with the text of a write says nothing about the advice to write it.
        if not self._runner.state.before(first.call).breaks:
            self._blocked.append(f"{action}: {first.text}")

    def _steered(self, result: BatchResult) -> NextAction | None:
        """What the model is told to do: the message of the turn, else the way on of a result."""
        said = result.steering
        if result.ending is BatchEnding.VERIFY:
            state = self._runner.state
            said = steering.most_specific(state.around(o.call, o) for o in result.results)
        if said is not None:
            self._rules.append(said.rule)
            self._model.hear(said.text)
            return said.next_action
        return result.results[-1].next_action if result.results else None

    def _played(self, end: End, turns: int) -> Played:
        rules = tuple(dict.fromkeys(self._rules))
        return Played(end, turns, _tokens(self._model), rules, tuple(self._blocked))


class Hands:
    """The standard tools, in one workspace."""

    def __init__(self, root: Path, watch: Watcher):
        self._context = ToolContext(Files(root.resolve()), watch=watch)

    def __call__(self, call: Call) -> CallResult:
        """Carry it out."""
        tool = _TOOLS.get(call.tool)
        if tool is None:
            return CallResult(f"error: there is no tool `{call.tool}`", ok=False)
        return tool.call("{broken" if call.malformed else call.arguments, self._context)


class Watcher:
    """What a command changed, by comparing everything."""

    def __init__(self, root: Path):
        self._root = root
        self._marks: dict[str, Mapping[str, str]] = {}

    def mark(self) -> str:
        """The content now."""
        files = {
            str(path.relative_to(self._root)): sha256(path.read_bytes()).hexdigest()
            for path in sorted(self._root.rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts
        }
        name = sha256(repr(files).encode()).hexdigest()
        self._marks[name] = files
        return name

    def content(self) -> str:
        """The same, to be kept by nobody."""
        return self.mark()

    def changed_since(self, mark: str) -> Changes:
        """Files that differ, gone ones included."""
        before, name = self._marks[mark], self.mark()
        now = self._marks[name]
        names = sorted({*before, *now})
        return Changes({n: now.get(n, "") for n in names if before.get(n) != now.get(n)}, (), name)


@dataclass(frozen=True)
class Shell:
    """A judge that runs each contract in a process of its own."""

    root: Path

    def __call__(self, subject: str, contract: Contract) -> Verdict:
        """What the command printed."""
        done = subprocess.run(
            ("bash", "-c", contract.command),
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=CHECK_S,
            check=False,
        )
        kept, said = done.returncode == 0, (done.stdout + done.stderr).strip()
        result = Judging.KEPT if kept else Judging.BROKEN
        reason = Reason.HELD if kept else Reason.EXPECTATION
        return Verdict(subject, Phase.ATTEMPT, result, reason, "", "", "", output_tail=said)


def _calls(move: Sequence[Make], root: Path, turn: int) -> list[Call]:
    return [
        propose(f"t{turn}c{number}", make.tool, make.arguments, root=root)
        for number, make in enumerate(move)
    ]


def _tokens(model: Model) -> int:
    return model.characters // CHARACTERS_PER_TOKEN
