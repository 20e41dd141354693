"""A loop on a scripted model, with everything around it real."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from signoff.agents.loop.acting import LoopSetup
from signoff.agents.loop.drive import AgentLoop
from signoff.agents.loop.limits import LoopLimits, LoopReport
from signoff.agents.loop.transcript import Transcript
from signoff.agents.tools.context import Files, Shell, ToolContext
from signoff.agents.tools.definition import Tool
from signoff.agents.tools.standard import STANDARD_TOOLS
from signoff.domain.ledger import Kind
from signoff.process.environment import STANDARD_PATH
from signoff.storage.home import open_database, sqlite_url
from signoff.storage.ledger import Ledger
from signoff.testing.conversation import ScriptedCall
from signoff.testing.model import scripted_model
from signoff.testing.script import Script, Turn, use
from signoff.toolbatch.calls import CallResult

# Waits between retries are real; nobody has to sit through them.
QUICK = LoopLimits(first_wait_s=0.001, longest_wait_s=1.0)


@dataclass
class Told:
    """Keeps what a reporter is told."""

    text: str = ""
    calls: list[str] = field(default_factory=list)
    results: list[tuple[str, CallResult]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def said(self, chunk: str) -> None:
        self.text += chunk

    def called(self, name: str, arguments: str) -> None:
        self.calls.append(f"{name} {arguments}")

    def returned(self, name: str, result: CallResult) -> None:
        self.results.append((name, result))

    def noted(self, text: str) -> None:
        self.notes.append(text)


@dataclass
class Stage:
    """Where a scripted model plays; every sitting is one loop on the same transcript."""

    folder: Path
    tools: Sequence[Tool] = field(default_factory=lambda: list(STANDARD_TOOLS))
    told: Told = field(default_factory=Told)

    def __post_init__(self) -> None:
        self.work.mkdir(parents=True, exist_ok=True)

    @property
    def work(self) -> Path:
        """The workspace."""
        return self.folder / "work"

    @property
    def transcript(self) -> Transcript:
        """The conversation on disk."""
        return Transcript(self.folder / "transcript.jsonl")

    def play(
        self,
        script: Script | Sequence[Turn],
        task: str = "do it",
        limits: LoopLimits = QUICK,
        **parts: Any,
    ) -> LoopReport:
        """One sitting from the beginning."""
        script = script if isinstance(script, Script) else Script(script)
        context = ToolContext(
            Files(self.work.resolve()),
            Shell(environ={"HOME": str(self.folder)}, search_path=STANDARD_PATH),
        )
        setup = LoopSetup(
            task=task,
            model=parts.pop("model", None) or scripted_model(script),
            tools=self.tools,
            context=context,
            name="session-test",
            limits=limits,
            transcript=self.transcript,
            reporter=self.told,
            **parts,
        )
        return AgentLoop(setup).run()

    def resume(self, script: Script | Sequence[Turn], **parts: Any) -> LoopReport:
        """Another sitting."""
        past = self.transcript.read()
        return self.play(script, past.task, past=past, **parts)


def entries(work: Path, session: str) -> list[tuple[Kind, dict[str, Any]]]:
    """What is on record about a session of the home beside the workspace."""
    database = open_database(sqlite_url(work.parent / "home" / "ledger.sqlite3"))
    try:
        return [(e.kind, e.data) for e in Ledger(database).entries(session)]
    finally:
        database.close()


def bash(command: str, **more: Any) -> Turn:
    """The model runs a command."""
    return use(ScriptedCall("bash", {"command": command, **more}))


def write(path: str, content: str) -> ScriptedCall:
    """A call that writes a file."""
    return ScriptedCall("write", {"path": path, "content": content})
