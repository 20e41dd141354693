"""The first minute of the README, typed as it stands there by somebody who has nothing yet."""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from signoff.domain.verdict import Isolation
from signoff.process.sandboxes import probe_sandboxes
from tests.docs.book import TOP, Block, blocks
from tests.docs.typist import Desk, desk

README = TOP / "README.md"
EXAMPLE = "claude"  # the agent that the README names; any other stands in its place
WORKING = [support.isolation for support in probe_sandboxes() if support.available]
# The best sandbox with a view of its own that works here, and the one without.
BOTH = (
    next((isolation for isolation in WORKING if isolation.has_own_view), Isolation.BUBBLEWRAP),
    Isolation.LANDLOCK,
)


def first_minute() -> Block:
    """The lines below `Your agent in one minute`."""
    (found,) = (b for b in blocks(README) if f"signoff approve --agent {EXAMPLE}" in b.text)
    return found


@dataclass(frozen=True)
class Newcomer:
    """A fresh home, a fresh repository, and whatever is on the search path."""

    at: Desk
    name: str

    @classmethod
    def arrive(
        cls,
        folder: Path,
        name: str,
        isolation: str,
        environ: Mapping[str, str],
        options: str = "",
        sandbox: str = "",
    ) -> Newcomer:
        """Somebody who wants to work with this agent; the sandbox is the only thing chosen."""
        made = desk(folder, {f"--agent {EXAMPLE}": f"--agent {name}{options}"})
        settings = folder / ".config" / "signoff" / "config.toml"
        settings.parent.mkdir(parents=True, exist_ok=True)
        opened = f"readable = [{str(TOP)!r}]\n" if TOP.is_relative_to("/tmp") else ""
        settings.write_text(f'[sandbox]\nisolation = "{isolation}"\n{opened}{sandbox}')
        environment = {**made.environment, "GIT_CONFIG_NOSYSTEM": "1", **environ}
        return cls(replace(made, environment=environment), name)

    def program(self, name: str, text: str) -> None:
        """Put a program on the search path."""
        place = Path(self.at.environment["PATH"].partition(":")[0]) / name
        place.write_text(text)
        place.chmod(place.stat().st_mode | stat.S_IXUSR)

    def types(self, edit: str = "") -> tuple[int, str]:
        """All that the README says, with a `sed` script as the editor; exit code and screen."""
        self.program("ed-it", f"#!/bin/sh\nexec sed -i -e '{edit}' \"$1\"\n")
        minute = first_minute()
        text = f'git init -q -b main\nEDITOR=ed-it\n{minute.text}echo "exit code $?"\n'
        (typed,) = self.at.type([replace(minute, text=text)])
        shown, _, code = typed.shown.rpartition("exit code ")
        return int(code), shown

    def asks(self, *words: str) -> Any:
        """What a command says as JSON."""
        return json.loads(self.at.signoff(*words, "--json").stdout)

    def finished(self) -> list[dict[str, Any]]:
        """How each attempt ended."""
        lines = self.at.signoff("log", "--json").stdout.splitlines()
        entries = [json.loads(line) for line in lines]
        return [e["data"] for e in entries if e["kind"] == "attempt.finished"]
