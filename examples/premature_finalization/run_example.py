"""Premature finalization, measured: a careless model with plans off, and with plans on.

    python examples/premature_finalization/run_example.py

Everything happens in a temporary folder with a home and settings of its own; no model is asked, the
careless one is scripted. Needs the extra: python3 -m pip install '.[llm]'
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from models import (
    NOTES,
    Playing,
    citing_calls,
    honest_under_checks,
    honest_without_a_plan,
    played,
    telling_stories,
    under_checks,
    verifying,
    without_a_plan,
    write_notes,
)

import signoff
from signoff.settings.policy import BatchPolicy, EvidenceRule, SelfSetRule, SessionPolicy
from signoff.testing.model import scripted_model
from signoff.testing.script import Script

TASK = "Summarise each of the six notes in notes/ into a file of its own in summaries/."
# What is measured is the gate alone: steering would tell the model before the gate has to.
UNSTEERED = BatchPolicy(steering=False)
STRICT = SessionPolicy(self_set=SelfSetRule.ACCEPT, batches=UNSTEERED)
PROSE = SessionPolicy(evidence=EvidenceRule.PROSE, self_set=SelfSetRule.ACCEPT, batches=UNSTEERED)
HEAD = ("how", "summaries", "caught", "refused", "turns", "tokens", "per step", "ended")


@dataclass(frozen=True)
class Way:
    """One way to run the same careless model."""

    title: str
    model: Callable[[], Playing]
    policy: SessionPolicy = STRICT
    planned: bool = True
    verifier: bool = False


WAYS = (
    Way("honest, plans off", honest_without_a_plan, planned=False),
    Way("honest, a check per step", honest_under_checks),
    Way("careless, plans off", without_a_plan, planned=False),
    Way("careless, evidence is prose", telling_stories, PROSE),
    Way("careless, stories as evidence", telling_stories),
    Way("careless, evidence is resolved", citing_calls),
    Way("careless, a check per step", under_checks),
    Way("careless, a postcondition-verifier", verifying, verifier=True),
)


def verifier_in(workspace: Path) -> signoff.Tool:
    """The postcondition-verifier of the chapter: a plain function that returns true or false."""

    @signoff.tool(effects="read")
    def verify_file_exists(path: str, expected_content_contains: str) -> bool:
        """Whether a file exists and contains a text.

        path: relative to the workspace.
        expected_content_contains: what must stand in it.
        """
        file = workspace / path
        return file.is_file() and expected_content_contains in file.read_text()

    return verify_file_exists


def main() -> None:
    """Play every way and print one row for each."""
    with tempfile.TemporaryDirectory(prefix="signoff-example-") as folder:
        leave_own_settings(Path(folder))
        rows = [HEAD, *(measure(way, Path(folder) / str(i)) for i, way in enumerate(WAYS))]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


def leave_own_settings(folder: Path) -> None:
    """Go on without any setting of yours; signoff's home and its user file lie in `folder`."""
    for name in [name for name in os.environ if name.startswith("SIGNOFF_")]:
        del os.environ[name]
    os.environ["SIGNOFF_HOME"] = str(folder / "home")
    os.environ["SIGNOFF_CONFIG"] = str(folder / "config.toml")


def measure(way: Way, folder: Path) -> tuple[str, ...]:
    """Run it once, and count what is really there."""
    write_notes(folder)
    session = signoff.start_session(folder, policy=way.policy) if way.verifier else None
    plan_tools = signoff.plan_tools(session) if session is not None else []
    report = signoff.run_agent(
        TASK,
        model=scripted_model(Script(respond=played(way.model))),
        workspace=folder,
        policy=way.policy,
        plan=way.planned,
        session=session,
        tools=[*signoff.STANDARD_TOOLS, *plan_tools, verifier_in(folder)] if session else None,
    )
    there = len(list((folder / "summaries").glob("*.txt")))
    per_step = report.plan.per_verified_step if report.plan is not None else None
    return (
        way.title,
        f"{there} of {len(NOTES)}",
        "-" if way.title.startswith("honest") else "yes" if report.loop.refused else "no",
        str(report.loop.refused),
        str(report.loop.turns),
        f"{report.loop.tokens:,}",
        "-" if per_step is None else f"{per_step.tokens:,}",
        str(report.standing),
    )


if __name__ == "__main__":
    main()
