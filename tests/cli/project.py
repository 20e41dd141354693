"""A repository with many named plans, their worktrees and their agents, for black-box tests."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tests.cli.ended import LIMIT_S
from tests.cli.kit import Desk
from tests.cli.plans import Step, plan_text


@dataclass
class Project(Desk):
    """A desk whose workspace is the main checkout; plans lie in its vault."""

    def __post_init__(self) -> None:
        super().__post_init__()
        (self.workspace / ".harness").mkdir()
        self.call("init", "-q", "-b", "main")
        self.file(".gitignore", ".harness/\n")

    @property
    def vault(self) -> Path:
        """Where the plans are."""
        return self.workspace / ".harness"

    def worktree(self, name: str) -> Path:
        """Where a plan's worktree is made unless somebody says otherwise."""
        return self.folder / f"{self.workspace.name}.worktrees" / name

    def named(
        self,
        name: str,
        *steps: Step,
        depends_on: Sequence[str] = (),
        touches: Sequence[str] | None = None,
        **parts: Any,
    ) -> Self:
        """Write a named plan into the vault."""
        front = []
        if depends_on:
            front.append(f"depends_on: {json.dumps(list(depends_on))}")
        if touches is not None:
            front.append(f"touches: {json.dumps(list(touches))}")
        text = plan_text(steps, title=parts.pop("title", name), front=front, **parts)
        (self.vault / f"PLAN-{name}.md").write_text(text)
        return self

    def call(self, *arguments: str, cwd: Path | None = None) -> str:
        """Plain git, as the person would use it."""
        identity = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"]
        done = subprocess.run(
            ["git", *identity, *arguments],
            cwd=cwd or self.workspace,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=True,
        )
        return done.stdout

    def commit(self, message: str = "work", cwd: Path | None = None) -> Self:
        """Commit everything that git sees."""
        self.call("add", "-A", cwd=cwd)
        self.call("commit", "-q", "-m", message, cwd=cwd)
        return self

    def log_of(self, name: str) -> list[dict[str, Any]]:
        """The ledger of one plan."""
        return self.signoff("log", name, "--json").exits(0).json_lines
