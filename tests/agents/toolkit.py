"""A workspace with the things around it that a cheating model would like to reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from signoff.agents.tools.context import Files, Shell, ToolContext
from signoff.agents.tools.standard import STANDARD_TOOLS
from signoff.process.environment import STANDARD_PATH
from signoff.toolbatch.calls import CallResult


@dataclass
class Bench:
    """Tools called as a model calls them."""

    folder: Path
    context: ToolContext = field(init=False)

    def __post_init__(self) -> None:
        for name in ("work/.git", "work/.harness", "outside", "allowed", "home"):
            (self.folder / name).mkdir(parents=True)
        for name in ("work/PLAN.md", "work/signoff.toml", "outside/secret", "home/ledger"):
            (self.folder / name).write_text("untouched\n")
        (self.folder / "allowed/hosts").write_text("127.0.0.1 localhost\n")
        self.context = ToolContext(
            Files(
                workspace=self.work.resolve(),
                readable=(self.folder / "allowed",),
                untouchable=tuple(
                    self.work / name for name in (".git", ".harness", "PLAN.md", "signoff.toml")
                ),
                hidden=(self.folder / "home",),
            ),
            Shell(environ={"HOME": str(self.folder)}, search_path=STANDARD_PATH),
        )

    @property
    def work(self) -> Path:
        """The workspace."""
        return self.folder / "work"

    def change(self, **parts: Any) -> None:
        """Another context."""
        self.context = replace(self.context, **parts)

    def file(self, path: str, text: str | bytes) -> Path:
        """A file of the workspace."""
        place = self.work / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())
        return place

    def outcome(self, name: str, arguments: Mapping[str, Any] | str) -> CallResult:
        """What one call gave."""
        (found,) = [tool for tool in STANDARD_TOOLS if tool.name == name]
        return found.call(arguments, self.context)

    def does(self, name: str, **arguments: Any) -> str:
        """A call that works."""
        outcome = self.outcome(name, arguments)
        assert outcome.ok, outcome.text
        return outcome.text

    def refuses(self, name: str, **arguments: Any) -> str:
        """A call that does not."""
        outcome = self.outcome(name, arguments)
        assert not outcome.ok, outcome.text
        assert outcome.text.startswith("error: ")
        return outcome.text
