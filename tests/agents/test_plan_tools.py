"""The plan tools as a model calls them: schemas that say enough, errors that come back as text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from signoff.agents.plantools import PLAN_TOOLS, call_plan_tool
from signoff.domain.session import PLAN_TOOL_NAMES
from tests.agents.session_kit import Bureau


@pytest.fixture
def bureau(tmp_path: Path) -> Bureau:
    return Bureau(tmp_path)


def test_a_whole_task_can_be_done_through_the_tools(bureau: Bureau) -> None:
    def call(name: str, **arguments: object) -> str:
        return call_plan_tool(bureau.session, name, arguments)

    call("plan_create", objective="Aim", steps=["one"], postconditions=["two"])
    assert call("step_update", step_number="1", status="in_progress") == "step 1 → in_progress"
    done = call("step_update", step_number=1, status="done", evidence=f"tool:{bureau.call()}")
    assert done == "step 1 → done"
    call("postcondition_verify", postcondition_number=1, evidence=f"tool:{bureau.call()}")
    assert "Gate: open" in call("plan_show")


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("plan_create", {"objective": "a", "steps": []}, "needs `postconditions`"),
        ("plan_show", {"verbose": True}, "has no argument `verbose`"),
        ("step_update", {"step_number": 1}, "needs `status`"),
        ("step_check", ["1"], "must be an object"),
        ("plan_approve", {}, "is no plan tool"),
        ("_sign", {"by": "me"}, "is no plan tool"),
        ("step_update", {"step_number": 1, "status": "done", "evidence": 7}, "must be a text"),
    ],
)
def test_a_call_that_does_not_fit_comes_back_as_text(
    bureau: Bureau, name: str, arguments: object, said: str
) -> None:
    bureau.plan("one")
    assert said in call_plan_tool(bureau.session, name, arguments)


def test_null_is_the_same_as_leaving_it_out(bureau: Bureau) -> None:
    bureau.plan("one")
    arguments = {"step_number": 1, "status": "in_progress", "evidence": None, "notes": None}
    assert call_plan_tool(bureau.session, "step_update", arguments) == "step 1 → in_progress"


def test_what_the_models_are_told_is_short_and_complete() -> None:
    told = [{"name": t.name, "description": t.description, "schema": t.schema} for t in PLAN_TOOLS]
    assert {t.name for t in PLAN_TOOLS} == PLAN_TOOL_NAMES
    assert len(json.dumps(told)) < 6_000
    assert all(set(t.required) <= set(t.properties) for t in PLAN_TOOLS)


def test_texts_with_odd_characters_are_stored_and_shown_escaped(bureau: Bureau) -> None:
    bureau.plan("one \x1b[31m \u202e two")
    bureau.session.step_update(1, "in_progress", notes="\x1b]0;title\x07 \ud800")
    shown = bureau.session.plan_show()
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "\\x1b]0;title" in shown
