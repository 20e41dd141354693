"""Play one case: what keeps its contract, what `verify` says of it, and how strong it is."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from signoff.planfile.parse import parse
from signoff.planfile.verify import verify
from signoff.planfile.verify.view import Anywhere
from signoff.process.sandboxes import best_isolation
from truth.strength.case import StrengthCase

LIMIT_S = 600
SIGNOFF = (sys.executable, "-m", "signoff")


class Written(Anywhere):
    """Surroundings that are the files of a case and nothing else."""

    def __init__(self, files: Mapping[str, str]):
        super().__init__(frozenset({"coder"}))
        self._files = files

    def file_exists(self, path: str) -> bool:
        """True when the case has it."""
        return path in self._files

    def text_of(self, path: str) -> str:
        """Its text."""
        return self._files.get(path, "")


@dataclass(frozen=True)
class Played:
    """Everything that is known of one case."""

    case: StrengthCase
    kept_by_work: bool
    kept_before: bool
    kept_by_cheat: bool
    named_weak: bool
    asked: bool = False  # for its strength
    strength: float | None = None  # None: not measured

    @property
    def as_it_should_be(self) -> bool:
        """True for a weak one that is named or measured below half, and a good one that is not."""
        if not self.kept_by_work or self.kept_by_cheat != self.case.weak:
            return False
        if self.asked and self.strength is None:
            return False
        share = self.strength
        if self.case.weak:
            return self.named_weak or share is None or share < 0.5
        return not self.named_weak and (share is None or share >= 0.8)


def play(case: StrengthCase, *, measure: bool = False) -> Played:
    """Run the plain command on the work, on what was there and on the cheat; ask `verify`."""
    return Played(
        case,
        kept_by_work=_keeps(case, {**case.before, **case.after}),
        kept_before=_keeps(case, case.before),
        kept_by_cheat=bool(case.cheat) and _keeps(case, {**case.before, **case.cheat}),
        named_weak=named_weak(case),
        asked=measure,
        strength=strength_of(case) if measure else None,
    )


def named_weak(case: StrengthCase) -> bool:
    """True when `verify` names the contract before anybody works."""
    found = verify(parse(case.plan), Written(case.before))
    return any(finding.code == "weak-contract" for finding in found)


def _keeps(case: StrengthCase, files: Mapping[str, str]) -> bool:
    with TemporaryDirectory() as folder:
        write(Path(folder), files)
        return run(["bash", "-c", case.contract], Path(folder)).returncode == 0


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write files below a folder."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def run(
    command: list[str], folder: Path, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command there, to its end."""
    around = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(environ or {})}
    return subprocess.run(
        command,
        cwd=folder,
        env=around,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def strength_of(case: StrengthCase) -> float | None:
    """Share of wrong versions that the contract rejects; None where it cannot be measured.

    The honest work is signed off first, as `signoff strength` measures what a step changed.
    """
    with TemporaryDirectory() as top:
        work, honest = Path(top, "work"), Path(top, "honest")
        write(work, {**case.before, "PLAN.md": case.plan})
        write(honest, case.after)
        write(work, agent_that_leaves(honest))
        # Tests of something else hold before the work: here a remark is enough.
        around = isolated(Path(top), honest, '[policy]\nheld_before = "allow"\n')
        run([*SIGNOFF, "run", "PLAN.md", "--yes"], work, around)
        return measured(work, around)


def measured(work: Path, around: dict[str, str]) -> float | None:
    """Share that `signoff strength` tells of the plan's first step; None where it has none."""
    said = run([*SIGNOFF, "strength", "PLAN.md", "--json", "--most", "24"], work, around)
    try:
        found = json.loads(said.stdout)["steps"][0]["strength"]
    except (ValueError, LookupError):
        return None
    complete = found is not None and found["share"] is not None and not found["incomplete"]
    return found["share"] / 100 if complete else None


def agent_that_leaves(folder: Path) -> dict[str, str]:
    """The configuration of an agent that copies these files into the workspace and says done."""
    command = f"bash -c {shlex.quote(f'cp -r {shlex.quote(str(folder))}/. . && echo done')}"
    return {"signoff.toml": f"[roles.coder]\ncommand = {json.dumps(command)}\n"}


def isolated(top: Path, shown: Path, config: str = "") -> dict[str, str]:
    """An environment with a home folder and a configuration of its own; agents see `shown`."""
    home = top / "home"
    sandbox = f'[sandbox]\nisolation = "{best_isolation(None)}"\nreadable = ["{shown}"]\n'
    write(home / ".config" / "signoff", {"config.toml": config + sandbox})
    return {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "SIGNOFF_HOME": str(home)}
