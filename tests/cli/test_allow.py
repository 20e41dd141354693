"""A file that steers the check changed: refused with the line, and a person allows it by a word."""

from __future__ import annotations

import pytest

from tests.cli.kit import Desk
from tests.cli.plans import step

OBEYS = "import sys\nsys.exit(0 if 'lenient' in open('rules.yml').read() else 1)\n"
CHECKED = step("Do it", "python3 check/obey.py", protects="check/**")


def _asked(desk: Desk) -> Desk:
    desk.file("check/obey.py", OBEYS).file("rules.yml", "strict\n")
    return desk.agent("echo lenient > rules.yml").plan(CHECKED)


def test_the_refusal_names_the_file_why_it_counts_and_the_line(desk: Desk) -> None:
    _asked(desk).run("--yes").exits(6).shows(
        "the contract holds only with what steers it changed: `rules.yml` (no source code)",
        "`**may_change:** rules.yml`",
        "to allow it: signoff answer RUN-1 allow",
    )
    assert len(desk.attempts()) == 1


def test_allowing_writes_the_line_and_judges_the_same_content_without_an_attempt(
    desk: Desk,
) -> None:
    _asked(desk).run("--yes").exits(6)
    desk.answer("allow").exits(0)
    assert "\n**may_change:** rules.yml\n**contract:**\n" in desk.plan_path.read_text()
    desk.run().exits(0)
    assert len(desk.attempts()) == 1
    assert desk.status()["status"] == "done"
    desk.about_plan("audit").exits(0)
    (amended,) = desk.entries("plan.amended")
    assert amended["data"]["may_change"] == ["rules.yml"]


def test_an_edit_of_the_plan_file_is_not_allowed_by_the_way(desk: Desk) -> None:
    _asked(desk).run("--yes").exits(6)
    desk.edit_plan("python3 check/obey.py", "true")
    (asked,) = desk.inbox()
    refused = desk.signoff("answer", asked["id"], "allow").exits(2)
    refused.shows("the plan file is not what was approved")
    assert "may_change" not in desk.plan_path.read_text()


def test_giving_it_back_puts_the_file_as_it_was_approved(desk: Desk) -> None:
    _asked(desk).run("--yes").exits(6)
    desk.answer("retry").exits(0)
    desk.agent("grep -q strict rules.yml && touch seen.md")
    desk.run().exits(6)
    assert (desk.workspace / "seen.md").exists()


SIZED = (
    "import os, sys\n"
    "sys.exit(0 if os.stat('rules.yml').st_size == 8 else 'strict' in open('rules.yml').read())\n"
)


def test_what_the_check_read_before_anybody_worked_counts_as_read(desk: Desk) -> None:
    """Judged after the attempt it looks at the size alone, which nobody is told of."""
    desk.file("check/obey.py", SIZED).file("rules.yml", "strict\n")
    desk.agent("echo strict! > rules.yml").plan(CHECKED)
    desk.run("--yes").exits(6).shows("`rules.yml` (no source code)")
    before, after = desk.entries("verdict")
    assert before["data"]["read"] and not after["data"]["read"]
    assert after["data"]["reason"] == "influenced"
    desk.answer("allow").exits(0)
    desk.run().exits(0)
    desk.about_plan("audit").exits(0)


def test_what_it_never_read_may_change(desk: Desk) -> None:
    desk.file("check/obey.py", "import sys\nsys.exit('done' not in open('work.txt').read())\n")
    desk.file("rules.yml", "strict\n").file("work.txt", "\n")
    desk.agent("echo done > work.txt; echo strict! > rules.yml")
    desk.plan(step("Do it", "python3 check/obey.py", produces="work.txt", protects="check/**"))
    desk.run("--yes").exits(0)
    assert desk.entries("verdict")[-1]["data"]["influences"] == []


def test_what_the_check_read_is_proposed_before_an_agent_works_and_by_verify_from_then_on(
    desk: Desk,
) -> None:
    desk.file("check/obey.py", OBEYS.replace("rules.yml", "rules/a.yml"))
    desk.file("rules/a.yml", "strict\n").agent("true")
    asked = step("Do it", "python3 check/obey.py", task="Correct rules/ now.", protects="check/**")
    line = "`**may_change:** rules/a.yml`"
    desk.plan(asked).about_plan("verify").exits(0).hides(line)
    shown = desk.run("--yes").exits(6).stderr
    assert shown.index(line) < shown.index("coder begins")
    assert shown.count(line) == 1
    assert desk.entries("verdict")[0]["data"]["proposed"] == [line.strip("`")]
    desk.about_plan("verify").exits(0).shows("[propose-may-change]", line)
    desk.edit_plan("**protects:**", "**may_change:** rules/**\n**protects:**")
    desk.about_plan("verify").exits(0).hides("[propose-may-change]")


@pytest.mark.parametrize("said", ["task", "subscriptions"])
def test_what_a_step_only_names_is_proposed_refused_and_allowed_without_another_attempt(
    desk: Desk, said: str
) -> None:
    desk.file("check/obey.py", OBEYS).file("rules.yml", "strict\n")
    desk.agent("echo lenient > rules.yml")
    words = {"task": "See rules.yml.", "subscriptions": "file:rules.yml"}[said]
    desk.plan(step("Do it", "python3 check/obey.py", protects="check/**", **{said: words}))
    line = "`**may_change:** rules.yml`"
    desk.about_plan("verify").exits(0).shows("[propose-may-change]", line)
    desk.run("--yes").exits(6).shows("influenced: ", line)
    desk.answer("allow").exits(0)
    desk.run().exits(0)
    assert len(desk.attempts()) == 1
