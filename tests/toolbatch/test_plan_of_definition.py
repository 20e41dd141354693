"""A task without a plan gets one from its definition of done, and the plan's gate decides it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.agents.sessions.writing import write_plan
from signoff.domain.definition import Artifact, Check, Definition, Item
from signoff.gate.definition import ArtifactsSeen, Stated, Touched, apply
from signoff.toolbatch.artifacts import stated_in
from signoff.toolbatch.deriving import derive, plan_of
from signoff.toolbatch.keeping import Keeper, MemoryBook
from signoff.toolbatch.paths import planned_in
from tests.agents.session_kit import Bureau
from tests.gate.facts_of_definitions import fold

GOOD = Check("grep -qx good report.txt", "contract")


def written(definition: Definition) -> Any:
    """As a session reads it."""
    plan = plan_of(definition, definition.checks)
    assert plan is not None
    return write_plan(plan.objective, plan.steps, plan.postconditions, ())


def test_steps_are_artifacts_and_postconditions_are_the_checks() -> None:
    definition = fold(
        Stated(
            "Write report.txt\nwith a summary",
            (Artifact("report.txt"), Artifact("site", directory=True)),
            (Item("Create a.txt", (Artifact("a.txt"),)), Item("Think about it")),
            (GOOD,),
        )
    )
    plan = plan_of(definition, definition.checks)
    assert plan is not None and plan.objective == "Write report.txt"
    assert plan.steps == (
        {
            "description": "make report.txt",
            "contract": "test -f ./report.txt && test -s ./report.txt",
        },
        {
            "description": "make site/",
            "contract": 'test -n "$(find -L ./site -type f -print -quit)"',
        },
        {"description": "make a.txt", "contract": "test -f ./a.txt && test -s ./a.txt"},
    )
    assert plan.postconditions == (
        {"description": "contract check 1 holds", "contract": GOOD.command},
    )
    assert len(written(definition).plan.subjects) == 4
    done = apply(definition, ArtifactsSeen(("report.txt", "site", "a.txt")))
    assert plan_of(done, definition.checks) == plan


def test_a_task_that_names_nothing_is_decided_by_its_checks_or_has_no_plan() -> None:
    task = fold(Stated("Explain it"))
    assert plan_of(task, ()) is None
    plan = plan_of(task, (GOOD, Check("pytest -q", "project")))
    assert plan is not None
    assert plan.steps == ({"description": "Explain it", "contract": GOOD.command},)
    assert [p["contract"] for p in plan.postconditions] == ["pytest -q"]


def test_the_same_gate_decides_about_a_task_that_had_no_plan(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path)
    text = "Write report.txt"
    keeper = Keeper(MemoryBook(), text, artifacts=planned_in(text, tmp_path), checks=(GOOD,))
    plan = plan_of(keeper.definition, keeper.definition.checks)
    assert plan is not None
    bureau.session.derive_plan(plan.objective, plan.steps, plan.postconditions)
    assert bureau.session.has_plan and not bureau.session.has_own_plan
    bureau.write("report.txt", "bad\n")
    bureau.session.judge_pending()
    gate = bureau.session.gate()
    assert not gate.open and [m.subject for m in gate.missing] == ["postcondition:1"]
    bureau.write("report.txt", "good\n")
    bureau.session.judge_pending()
    assert bureau.session.gate().open


def test_an_empty_file_is_not_what_was_planned(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path)
    plan = plan_of(fold(Stated("Write report.txt", (Artifact("report.txt"),))), ())
    assert plan is not None
    bureau.session.derive_plan(plan.objective, plan.steps, plan.postconditions)
    bureau.write("report.txt", "")
    bureau.session.judge_pending()
    assert not bureau.session.gate().open


def test_a_derived_plan_is_renewed_and_one_of_the_agents_own_never_is(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path)
    step = {"description": "make a.txt", "contract": "test -s ./a.txt"}
    more = {"description": "make b.txt", "contract": "test -s ./b.txt"}
    bureau.session.derive_plan("the task", [step], [])
    bureau.session.derive_plan("the task", [step, more], [])
    assert "make b.txt" in bureau.session.plan_show()
    assert bureau.session.report().rewrites == ()
    bureau.session.plan_create("mine", [step, more], [], "it says what I do")
    bureau.session.derive_plan("the task", [step], [])
    assert "make b.txt" in bureau.session.plan_show()


def test_derived_checks_of_odd_files_make_a_plan_too(tmp_path: Path) -> None:
    for name in ("a b.md", "it's\x01.md", "-x.md"):
        (tmp_path / name).write_text("x")
    definition = apply(fold(Stated("t")), Touched(("a b.md", "it's\x01.md", "-x.md")))
    checks = derive(definition, tmp_path).checks
    assert len(written(apply(definition, Stated(checks=checks))).plan.subjects) == 1


@pytest.mark.parametrize(
    "text",
    [
        "### 2. Another step",
        "**contract:** true",
        "## Postconditions",
        "```shell",
        "1. done",
        "---",
        "✅ done",
        "<!-- x",
        "a\nb",
        "\u202e",
        "…",
        "`",
        "\udcff",
        "- [x] a",
    ],
)
def test_no_wording_becomes_structure_of_the_plan(text: str) -> None:
    plan = written(fold(Stated(text, (Artifact("a.txt"),)))).plan
    assert [step.task for step in plan.steps] == ["make a.txt"] and plan.postconditions == ()


@given(st.text(max_size=60))
def test_any_task_makes_a_plan(statement: str) -> None:
    definition = fold(stated_in(statement, Path("/nowhere")))
    plan = plan_of(definition, (GOOD,))
    assert plan is not None
    assert write_plan(plan.objective, plan.steps, plan.postconditions, ()).plan.steps


def test_a_full_definition_fits_into_one_plan() -> None:
    definition = fold(
        Stated(
            "t",
            tuple(Artifact(f"f/{n}.txt") for n in range(200)),
            checks=tuple(Check(f"check {n}", "contract") for n in range(20)),
        )
    )
    plan = written(definition).plan
    assert len(plan.steps) == 200 and len(plan.postconditions) == 20
