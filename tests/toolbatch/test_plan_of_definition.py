"""A task without a plan gets one from its definition of done, and the plan's gate decides it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.agents.sessions.writing import write_plan
from signoff.domain.definition import Artifact, Check, Definition, Item, ItemKind
from signoff.gate.definition import ArtifactsSeen, Stated, Touched, apply
from signoff.toolbatch.artifacts import planned_in
from signoff.toolbatch.deriving import derive
from signoff.toolbatch.keeping import Keeper, MemoryBook
from signoff.toolbatch.planning import plan_of
from signoff.toolbatch.todo import item_of, listed
from tests.agents.session_kit import Bureau
from tests.gate.facts_of_definitions import fold

GOOD = Check("grep -qx good report.txt", "contract")


def written(definition: Definition) -> Any:
    """As `plan_create` reads the arguments."""
    plan = plan_of(definition)
    return write_plan(plan["objective"], plan["steps"], plan["postconditions"], ())


def test_steps_are_artifacts_and_items_and_postconditions_are_the_checks() -> None:
    definition = fold(
        Stated(
            "Write report.txt\nwith a summary",
            (Artifact("report.txt"), Artifact("site", directory=True)),
            (item_of("Create a.txt"), item_of("Think about it"), item_of("Run the tests")),
            (GOOD,),
        )
    )
    plan = plan_of(definition, "no plan was made")
    assert plan["objective"] == "Write report.txt" and plan["reason"] == "no plan was made"
    assert plan["steps"] == [
        {
            "description": "make report.txt",
            "check": {"kind": "file_exists", "path": "report.txt"},
        },
        {
            "description": "make site/",
            "contract": 'test -n "$(find -L ./site -type f -print -quit)"',
        },
        {"description": "Create a.txt", "check": {"kind": "file_exists", "path": "a.txt"}},
        {"description": "Think about it"},
    ]
    assert plan["postconditions"] == [
        {"description": "contract check 1 holds", "contract": GOOD.command}
    ]
    assert len(written(definition).plan.subjects) == 5


def test_a_task_that_names_nothing_is_one_step() -> None:
    assert plan_of(fold(Stated("Explain it")))["steps"] == [{"description": "Explain it"}]
    assert written(fold()).plan.steps[0].task == "the task"


def test_the_same_gate_decides_about_a_task_that_had_no_plan(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path)
    text = "Write report.txt"
    keeper = Keeper(MemoryBook(), text, artifacts=planned_in(text), checks=(GOOD,))
    plan = plan_of(keeper.definition)
    answer = bureau.session.plan_create(
        plan["objective"], plan["steps"], plan["postconditions"], plan["reason"]
    )
    assert answer.startswith("plan created with 1 steps and 1 postconditions (2 with a check")
    bureau.write("report.txt", "bad\n")
    bureau.session._desk.judge_pending()
    gate = bureau.session._desk.gate()
    assert not gate.open and [m.subject for m in gate.missing] == ["postcondition:1"]
    bureau.write("report.txt", "good\n")
    bureau.session._desk.judge_pending()
    assert bureau.session._desk.gate().open


def test_derived_checks_of_odd_files_make_a_plan_too(tmp_path: Path) -> None:
    for name in ("a b.md", "it's\x01.md", "-x.md"):
        (tmp_path / name).write_text("x")
    definition = apply(fold(Stated("t")), Touched(("a b.md", "it's\x01.md", "-x.md")))
    checks = derive(definition, tmp_path).checks
    assert len(written(apply(definition, Stated(checks=checks))).plan.postconditions) == 1


def test_a_full_definition_fits_into_one_plan() -> None:
    definition = fold(
        Stated(
            "t",
            tuple(Artifact(f"f/{n}.txt") for n in range(200)),
            tuple(Item(f"think {n} " + "x" * 290, ItemKind.LOOK) for n in range(200)),
            tuple(Check(f"check {n}", "contract") for n in range(20)),
        )
    )
    plan = written(definition).plan
    assert len(plan.steps) <= 200 and len(plan.postconditions) == 20
    tasks = " ".join(step.task for step in plan.steps)
    assert all(f"think {n} " in tasks for n in range(200))
    commands = " ".join(step.contract.command for step in plan.steps if step.contract)
    assert all(f"./f/{n}.txt" in commands for n in range(200))


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
    definition = apply(fold(Stated(text)), listed([{"text": text}, {"text": "Fix it"}]))
    plan = written(definition).plan
    assert len(plan.steps) in (1, 2) and plan.steps[-1].task == "Fix it"
    assert all(step.contract is None for step in plan.steps)


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=4))
def test_any_task_and_list_make_a_plan(statement: str, items: list[str]) -> None:
    definition = apply(fold(Stated(statement, planned_in(statement))), listed(items))
    assert written(definition).plan.steps


def test_what_is_done_already_stays_in_the_plan() -> None:
    definition = fold(Stated("t", items=(item_of("Create a.txt"),)))
    done = apply(apply(definition, Touched(("a.txt",))), ArtifactsSeen(("a.txt",)))
    assert not done.pending and plan_of(done) == plan_of(definition)
