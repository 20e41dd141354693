"""A runner on a real folder, with small real tools, and everything that was told about it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from signoff.domain.digests import digest_bytes
from signoff.domain.plan import Contract
from signoff.domain.verdict import Ending, Phase, Reason, Verdict
from signoff.domain.verdict import Result as Judging
from signoff.gate.task import Task
from signoff.process.command import Command
from signoff.process.environment import STANDARD_PATH, clean_environment
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.shell import find_tool, shell_command
from signoff.storage.home import open_database, sqlite_url
from signoff.storage.ledger import Ledger
from signoff.toolbatch.calls import Call, CallResult, Event, ResultKind, Stream, propose
from signoff.toolbatch.deriving import CheckSources
from signoff.toolbatch.disk import WorkspaceFolder
from signoff.toolbatch.kept import Rollbacks
from signoff.toolbatch.opening import Parts, open_runner
from signoff.toolbatch.pipeline import BatchResult
from signoff.toolbatch.taskplan import MemoryBooks
from signoff.toolbatch.view import BatchLimits
from signoff.workspace.ignore import IgnoreRules
from signoff.workspace.workspace import Workspace


class Says:
    """A judge that finds what the test says; a stand-in for whoever runs checks."""

    def __init__(self) -> None:
        self.against: tuple[tuple[str, str], ...] = ()
        self.asked = 0

    def __call__(self, subject: str, contract: Contract) -> Verdict:
        """Everything holds, except for what the test says of checks."""
        self.asked += 1
        found = () if contract.command.startswith("test ") else self.against
        said = "\n".join(f"{path}:1: error: {text}" for path, text in found)
        return verdict(subject, kept=not found, said=said)


def verdict(subject: str, *, kept: bool, said: str = "", unknown: bool = False) -> Verdict:
    """What judging gave."""
    result = Judging.UNKNOWN if unknown else Judging.KEPT if kept else Judging.BROKEN
    reason = Reason.HELD if kept else Reason.EXPECTATION
    return Verdict(subject, Phase.ATTEMPT, result, reason, "", "", "", output_tail=said)


@dataclass
class Tools:
    """Real tools on a folder; counts what it was asked to do."""

    root: Path
    answers: Callable[[str], str | None] = lambda _question: "yes"
    made: list[str] = field(default_factory=list)
    inside: Callable[[Call], None] = lambda _call: None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, call: Call) -> CallResult:
        """Do it."""
        with self._lock:
            self.made.append(call.label)
        self.inside(call)
        doing = getattr(self, f"_{call.tool}", None)
        if doing is None:
            return CallResult(f"error: there is no tool `{call.tool}`", ok=False)
        found: CallResult = doing(call.arguments)
        return found

    def _read(self, given: Mapping[str, Any]) -> CallResult:
        file = self.root / given["path"]
        if not file.is_file():
            return CallResult(f"error: no file `{given['path']}`; look with glob", ok=False)
        data = file.read_bytes()
        return CallResult(data.decode(), ok=True, reads={given["path"]: digest_bytes(data)})

    def _glob(self, given: Mapping[str, Any]) -> CallResult:
        found = sorted(str(p.relative_to(self.root)) for p in self.root.glob(given["pattern"]))
        return CallResult("\n".join(found), ok=True)

    def _write(self, given: Mapping[str, Any]) -> CallResult:
        file = self.root / given["path"]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(given["content"])
        return CallResult(f"wrote {given['path']}", True, writes=self._digest(given["path"]))

    def _edit(self, given: Mapping[str, Any]) -> CallResult:
        file = self.root / given["path"]
        if not file.is_file():
            return CallResult(f"error: no file `{given['path']}`; look with glob", ok=False)
        text = file.read_text()
        reads = self._digest(given["path"])
        if given["old"] not in text:
            said = f"error: `old` does not occur in `{given['path']}`; read it again"
            return CallResult(said, ok=False, reads=reads)
        file.write_text(text.replace(given["old"], given["new"], 1))
        return CallResult("edited", True, reads=reads, writes=self._digest(given["path"]))

    def _bash(self, given: Mapping[str, Any]) -> CallResult:
        before = self._all()
        argv = shell_command(given["command"])
        seen = run(
            Command(
                argv=(str(find_tool(argv[0], STANDARD_PATH)), *argv[1:]),
                cwd=self.root,
                env=clean_environment({}, path=STANDARD_PATH),
                limits=Limits(wall_s=float(given.get("timeout_s", 20))),
            )
        )
        after = self._all()
        writes = dict.fromkeys(before.keys() - after.keys(), "")
        writes |= {p: d for p, d in after.items() if before.get(p) != d}
        text = "\n".join(
            (seen.describe(), seen.stdout.kept.decode(), seen.stderr.kept.decode())
        ).strip()
        content = "" if writes else self.content()
        ended = seen.exit_code if seen.ending is Ending.EXITED else None
        return CallResult(
            text, seen.exit_code == 0, writes=writes, content=content, exit_code=ended
        )

    def _todo(self, given: Mapping[str, Any]) -> CallResult:
        return CallResult(f"{len(given['items'])} items", ok=True)

    def _scratchpad(self, given: Mapping[str, Any]) -> CallResult:
        return CallResult(f"noted {given['key']}", ok=True)

    def _ask_user(self, given: Mapping[str, Any]) -> CallResult:
        answer = self.answers(given["question"])
        kind = ResultKind.DECLINED if answer is None else ResultKind.EXECUTED
        return CallResult(answer or "the person said no", answer is not None, kind=kind)

    def content(self) -> str:
        """The digest of everything."""
        return digest_bytes(repr(sorted(self._all().items())).encode())

    def _digest(self, path: str) -> dict[str, str]:
        return {path: digest_bytes((self.root / path).read_bytes())}

    def _all(self) -> dict[str, str]:
        files = (p for p in self.root.rglob("*") if p.is_file())
        return {str(p.relative_to(self.root)): digest_bytes(p.read_bytes()) for p in files}


def rollbacks_of(folder: Path, rules: IgnoreRules | None = None) -> Rollbacks:
    """What was changed in `work`, as any process finds it."""
    database = open_database(sqlite_url(folder / "ledger.sqlite3"))
    workspace = Workspace(folder / "work", folder / "store", rules)
    return Rollbacks(Ledger(database), "session-0000000000000001", workspace)


class Scene:
    """One session: `play` sends a batch of `(tool, arguments)`."""

    def __init__(
        self,
        folder: Path,
        task: str = "tidy up",
        *,
        limits: BatchLimits | None = None,
        snapshots: bool = False,
        **parts: Any,
    ):
        self.root = folder / "work"
        self.root.mkdir(parents=True, exist_ok=True)
        self.tools = Tools(self.root)
        self.disk = WorkspaceFolder(self.root)
        self.events: list[Event] = []
        self.judge = Says()
        self.keep = rollbacks_of(folder) if snapshots else None
        self.runner = open_runner(
            self.root,
            self.tools,
            task,
            stream=Stream(self.events.append),
            parts=Parts(
                limits=limits or BatchLimits(),
                books=MemoryBooks(self.judge),
                sources=CheckSources(),
                disk=self.disk,
                keep=self.keep,
                **parts,
            ),
        )
        self.state = self.runner.state
        self._calls = 0

    def _content(self) -> str:
        return self.tools.content()

    @property
    def task(self) -> Task:
        """Where the task stands."""
        return self.runner.plan.task()

    @property
    def done(self) -> bool:
        """Whether it holds as it is."""
        call = self.calls(("glob", {"pattern": "*"}))[0]
        return self.state.around(call).settled and not self.task.is_over

    def calls(self, *batch: tuple[str, dict[str, Any] | str]) -> list[Call]:
        """The calls of a batch, numbered on."""
        made = []
        for tool, arguments in batch:
            self._calls += 1
            made.append(propose(f"c{self._calls}", tool, arguments, root=self.root))
        return made

    def play(self, *batch: tuple[str, dict[str, Any] | str]) -> BatchResult:
        """One batch."""
        return self.runner.run(self.calls(*batch))

    def one(self, tool: str, **arguments: Any) -> CallResult:
        """A batch of one call; its outcome."""
        return self.play((tool, arguments)).results[0]

    def put(self, path: str, text: str = "text\n") -> None:
        """A file that was there before, or that somebody else changes."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def text(self, path: str) -> str:
        """What a file holds."""
        return (self.root / path).read_text()

    def seen(self, kind: type[Any]) -> list[Any]:
        """The events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]
