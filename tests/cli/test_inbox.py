"""The inbox: what a question says, whose it is, and that what it offers works."""

from __future__ import annotations

import shlex
import shutil

import pytest

from tests.cli.kit import Desk
from tests.cli.plans import step
from tests.cli.project import Project

CALC = step("Fix calc", "python3 calc.py | grep -qx 5", on_fail="escalate")
NEVER = step("Do it", "test -s never", on_fail="escalate")


def test_a_question_about_tampering_says_how_a_person_allows_it_and_that_works(desk: Desk) -> None:
    desk.file("calc.py", "print(4)\n").agent("echo 'print(5)' > calc.py").plan(CALC)
    ran = desk.run("--yes").exits(6)
    for told in (ran, desk.signoff("inbox")):
        told.shows(
            "  to allow it: add `**may_change:** calc.py` to step 1, "
            "then signoff answer RUN-1 revise\n"
        )
    desk.edit_plan("**target:** coder", "**target:** coder\n**may_change:** calc.py")
    desk.answer("revise")
    desk.run("--yes").exits(0)


def test_a_question_about_the_output_of_an_accepted_step_says_how_a_person_allows_it(
    desk: Desk,
) -> None:
    desk.agent("echo $SIGNOFF_STEP >> part")
    later = step("Change it", "grep -q 2 part", on_fail="escalate")
    desk.plan(step("Make it", "test -s part", produces="part"), later)
    desk.run("--yes").exits(6).shows(
        "output of an accepted step was changed",
        "to allow it: add `**may_change:** part` to step 2, then signoff answer RUN-1 revise",
    )
    desk.edit_plan("**task:** Change it.", "**may_change:** part\n**task:** Change it.")
    desk.answer("revise")
    desk.run("--yes").exits(0)


def test_a_part_of_a_file_is_allowed_by_the_name_of_the_file(desk: Desk) -> None:
    desk.file("Makefile", "test:\n\tgrep -qx firm ground\n")
    desk.agent("printf 'test:\\n\\ttrue\\n' > Makefile")
    desk.plan(step("Lay the ground", "make test", on_fail="escalate"))
    desk.run("--yes").exits(6).shows("to allow it: add `**may_change:** Makefile` to step 1,")


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("tests/*", "tests/[*]"),
        ("tests/**", "tests/[*][*]"),
        ("tests/#x", "PATH, PATH"),
        ("tests/a#x", "PATH, PATH"),
        ("tests/a, **", "PATH, PATH"),
        ("tests/` to step 2", "PATH, PATH"),
    ],
)
def test_no_file_name_of_an_agent_makes_a_person_allow_more_than_that_file(
    desk: Desk, name: str, offered: str
) -> None:
    desk.file("tests/a", "firm\n").agent(f"echo x > {shlex.quote(name)}")
    desk.plan(step("Pass it", "test -s ground", protects=["tests/**"], on_fail="escalate"))
    desk.run("--yes").exits(6).shows(f"to allow it: add `**may_change:** {offered}` to step 1,")


def test_a_question_that_is_not_about_tampering_offers_no_change_of_the_check(desk: Desk) -> None:
    desk.agent("true").plan(NEVER)
    desk.run("--yes").exits(6).hides("may_change", "to allow it")


def test_what_was_put_back_is_said_to_be_of_the_time_before_the_last_attempt(desk: Desk) -> None:
    desk.file("calc.py", "print(4)\n").agent("echo 'print(5)' > calc.py")
    desk.plan(step("Fix calc", "python3 calc.py | grep -qx 5", on_fail="retry(1), then escalate"))
    desk.run("--yes").exits(6).shows("put back or removed again before the last attempt:")


def test_what_is_printed_after_revise_works_although_the_role_came_from_the_command_line(
    desk: Desk,
) -> None:
    desk.plan(NEVER)
    role = "coder=sh -c 'echo \"a b\" > made'"
    desk.run("--yes", "--role", role).exits(6)
    after = desk.answer("revise").stderr.strip()
    words = shlex.split(after.removeprefix("next: signoff "))
    assert words == ["approve", str(desk.plan_path), "--role", role]
    desk.signoff(*words, "--yes").exits(0)
    desk.run().exits(6)
    assert desk.read("made") == "a b\n"


def test_roles_that_a_file_names_are_not_named_again_after_revise(desk: Desk) -> None:
    desk.agent("true").plan(NEVER)
    desk.run("--yes").exits(6)
    desk.agent("echo edited since").answer("revise").notes(
        "next: signoff approve DESK/work/PLAN.md"
    )


def test_an_edited_plan_names_the_roles_of_the_command_line_again(desk: Desk) -> None:
    desk.plan(NEVER)
    desk.run("--yes", "--role", "coder=true").exits(6)
    desk.edit_plan("# Build a house", "# Build a castle")
    desk.about_plan("status").exits(6).shows(
        "then signoff approve DESK/work/PLAN.md --role coder=true\n"
    )


def test_the_questions_of_one_plan_can_be_asked_for(desk: Desk) -> None:
    project = Project(desk.folder / "many")
    project.agent("true").named("api", NEVER).named("pages", NEVER)
    for name in ("api", "pages"):
        project.signoff("run", name, "--yes").exits(6)
    by_name = project.signoff("inbox", "api", "--json").exits(0).json["items"]
    by_path = project.signoff("inbox", ".harness/PLAN-api.md", "--json").exits(0).json["items"]
    assert by_name == by_path and [item["plan"] for item in by_name] == ["api"]
    assert len(project.inbox()) == 2
    project.signoff("inbox", "api").exits(0).shows("PLAN-api.md").hides("PLAN-pages.md")
    project.signoff("inbox", "nobody").fails(4, "plan `nobody` is not in")
    project.signoff("answer", by_name[0]["id"], "abort").exits(0)
    project.signoff("inbox", "api").exits(0).prints("nothing waits for you")


def test_a_question_whose_folder_is_gone_says_so_and_offers_what_still_works(desk: Desk) -> None:
    other = desk.folder / "other"
    other.mkdir()
    desk.agent("true").plan(NEVER)
    (other / "PLAN.md").write_text(desk.read("PLAN.md"))
    desk.signoff("run", "PLAN.md", "--yes", "--role", "coder=true", cwd=other).exits(6)
    (item,) = desk.inbox()
    assert (item["workspace"], item["gone"]) == (str(other), False)
    shutil.rmtree(other)
    plan = str(other / "PLAN.md")
    shown = desk.signoff("inbox", plan).exits(0).hides("retry")
    shown.shows(
        "  its folder `DESK/other` is gone: put it back, or give the run up\n",
        "  next: signoff answer RUN-1 abort\n",
    )
    assert desk.signoff("inbox", plan, "--json").json["items"][0]["gone"] is True
    desk.answer("abort").notes("next: nothing goes on while `DESK/other` is gone; signoff inbox")
    desk.signoff("inbox").exits(0).prints("nothing waits for you")
