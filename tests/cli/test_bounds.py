"""What `touches` lets a step change, and that nobody is held to what another step changed."""

from __future__ import annotations

from tests.cli.kit import Desk
from tests.cli.plans import Step, step

FRONT = ('touches: ["src/**", "docs/**"]',)


def _agent(desk: Desk, *scripts: str) -> Desk:
    """The first script is for the first attempt of all, and so on."""
    desk.file("src/a.py", "\n").file("docs/b.md", "\n")
    cases = "\n".join(f"{number}) {script} ;;" for number, script in enumerate(scripts, 1))
    return desk.agent(f'case "$(ls "$life" | wc -l)" in\n{cases}\nesac')


def _steps(**second: str) -> tuple[Step, Step]:
    one = step("One", "grep -q one src/a.py", touches="src/**")
    two = step("Two", "grep -q two docs/b.md", **{"touches": "docs/**", **second})
    return one, two


def test_a_step_is_bound_by_its_own_touches_and_asked_with_the_line(desk: Desk) -> None:
    _agent(desk, "echo one > src/a.py", "echo two > docs/b.md; echo two >> src/a.py")
    desk.plan(*_steps(), front=FRONT)
    desk.run("--yes").exits(6).shows(
        "step 2 (Two)",
        "changed outside the step's `touches`: `src/a.py`; "
        "a person allows it with `**may_change:** src/a.py`",
    )
    assert desk.entries("verdict")[-1]["data"]["reason"] == "outside-touches"
    assert "## Files you may change, and no others\n\n- docs/**\n\n" in desk.attempts()[1].prompt
    desk.answer("allow").exits(0)
    desk.run().exits(0)
    assert len(desk.attempts()) == 2
    desk.about_plan("audit").exits(0)


def test_a_retry_starts_from_what_earlier_steps_made(desk: Desk) -> None:
    again = "grep -qx one src/a.py && echo two > docs/b.md"
    _agent(desk, "echo one > src/a.py", "echo two > docs/b.md; echo worse > src/a.py", again)
    desk.plan(*_steps(), front=FRONT).run("--yes").exits(6)
    desk.answer("retry").exits(0)
    desk.run().exits(0)
    assert desk.read("src/a.py") == "one\n"


def test_what_another_step_changed_or_the_attempt_undid_is_not_held_against_a_step(
    desk: Desk,
) -> None:
    undone = "cp docs/b.md kept; echo one > docs/b.md; echo one > src/a.py; mv kept docs/b.md"
    _agent(desk, undone, "echo two > docs/b.md; echo new > docs/c.md; touch made.txt")
    desk.plan(*_steps(produces="made.txt"), front=FRONT).run("--yes").exits(0)
    desk.about_plan("audit").exits(0)


def test_where_every_step_has_a_bound_so_has_the_plan(desk: Desk) -> None:
    _agent(desk, "echo one > src/a.py; echo x > other.py", "echo two > docs/b.md")
    desk.plan(*_steps()).run("--yes").exits(6).shows("`**may_change:** other.py`")


def test_a_step_without_a_bound_has_that_of_the_plan(desk: Desk) -> None:
    _agent(desk, "echo one > src/a.py; echo one > docs/b.md")
    desk.plan(step("One", "grep -q one src/a.py"), front=FRONT).run("--yes").exits(0)


def test_a_folder_that_was_empty_when_approved_may_be_filled(desk: Desk) -> None:
    (desk.workspace / "src").mkdir()
    desk.agent("echo one > src/a.py")
    desk.plan(step("One", "grep -q one src/a.py"), front=('touches: ["src/**"]',))
    desk.run("--yes").exits(0)
