"""`signoff strength`: wrong versions of the work are judged, and what nobody notices is named."""

from __future__ import annotations

import json
import sys
from base64 import b64decode
from typing import Any

import pytest

from signoff.process.sandboxes import best_isolation
from tests.cli.kit import Desk
from tests.cli.plans import Step, step

pytestmark = pytest.mark.skipif(
    not best_isolation(None).has_own_view, reason="needs bubblewrap or user namespaces"
)

BEFORE = 'def grade(points):\n    return "fail"\n'
AFTER = 'def grade(points):\n    if points >= 50:\n        return "pass"\n    return "fail"\n'
HEAD = "import unittest\n\nfrom grades import grade\n\n\nclass Tests(unittest.TestCase):\n"
TWO_TESTS = (
    f"{HEAD}"
    '    def test_good(self):\n        self.assertEqual(grade(80), "pass")\n\n'
    '    def test_bad(self):\n        self.assertEqual(grade(0), "fail")\n'
)
ALL_POINTS = (
    f"{HEAD}"
    "    def test_every_number(self):\n"
    "        given = [grade(n) for n in range(101)]\n"
    '        self.assertEqual(given, ["fail"] * 50 + ["pass"] * 51)\n'
)
SUITE = f"{sys.executable} -m unittest -q test_grades"


def grades(contract: str = SUITE, **fields: Any) -> Step:
    return step("Grade points", contract, touches="grades.py", **fields)


@pytest.fixture
def school(desk: Desk) -> Desk:
    readable = json.dumps([sys.prefix])  # wherever the checkout lies
    desk.person(f'[sandbox]\nisolation = "{best_isolation(None)}"\nreadable = {readable}\n')
    desk.file("grades.py", BEFORE).file("test_grades.py", TWO_TESTS)
    return desk.agent(f"cat > grades.py <<'EOF'\n{AFTER}EOF")


def measured(desk: Desk, *arguments: str, code: int = 0) -> dict[str, Any]:
    """The only step's strength."""
    ended = desk.about_plan("strength", "--json", *arguments).exits(code)
    (found,) = json.loads(ended.stdout)["steps"]
    return dict(found)


def test_what_nobody_notices_is_named_with_file_and_line(school: Desk) -> None:
    school.plan(grades()).run("--yes").exits(0)
    before = school.read("grades.py")
    found = measured(school)["strength"]
    assert 0 < found["rejected"] < found["tried"] and found["incomplete"] == ""
    lines = {(v["path"], v["line"], v["kind"]) for v in found["unnoticed"]}
    assert ("grades.py", 2, "mutant") in lines
    assert found["kinds"]["undo"]["rejected"] >= 1
    assert ("grades.py", 1, "special") in lines
    school.about_plan("strength", "--diff").exits(0).shows(
        f"rejects {found['rejected']} of {found['tried']} wrong versions",
        "not noticed",
        "+++",
        "held-out check",
    )
    numbers = f"{found['rejected']} of {found['tried']} wrong versions rejected"
    school.signoff("stats").exits(0).shows(f"strength of 1 contract: {numbers}")
    assert school.read("grades.py") == before
    assert not list((school.home / "lanes").glob("*/strength/*"))


def test_a_suite_that_asks_for_every_number_is_stronger(school: Desk) -> None:
    school.file("test_grades.py", ALL_POINTS).plan(grades()).run("--yes").exits(0)
    assert measured(school)["strength"]["share"] >= 80


def test_the_result_is_shown_and_the_same_question_is_not_asked_twice(school: Desk) -> None:
    school.plan(grades()).run("--yes").exits(0)
    few = ("--most", "4")
    first, again = measured(school, *few)["strength"], measured(school, *few)["strength"]
    assert first["tried"] + first["neither"] == 4 and first["left_out"]
    assert (first["key"], first["duration_s"]) == (again["key"], again["duration_s"])
    assert len(school.entries("strength.measured")) == 1
    (standing,) = school.status()["steps"]
    assert standing["strength"]["share"] == first["share"]
    school.about_plan("log").shows("its contract rejects")
    school.about_plan("audit").exits(0)


def test_a_contract_weaker_than_the_plan_demands_is_broken(school: Desk) -> None:
    school.plan(grades(strength=">= 95%", on_fail="retry(1), then escalate"))
    school.run("--yes").exits(6)
    reasons = [v["data"]["reason"] for v in school.entries("verdict")]
    assert reasons[-1] == "strength" and "step.done" not in school.kinds()
    prompt = school.about_plan("show", "--step", "1", "--prompt").exits(0).stdout
    assert "95 % of wrong versions" in prompt and "not noticed" in prompt
    (item,) = school.inbox()
    assert "95 % are required" in item["question"]


def test_a_contract_as_strong_as_demanded_is_accepted(school: Desk) -> None:
    school.file("test_grades.py", ALL_POINTS).plan(grades(strength="80%"))
    school.run("--yes").exits(0)
    kinds = school.kinds("1")
    assert kinds.index("strength.measured") < kinds.index("step.done")
    assert measured(school)["required"] == 80


def test_by_policy_it_is_measured_before_the_sign_off_and_decides_nothing(school: Desk) -> None:
    config = (school.folder / "config.toml").read_text()
    school.person(f'{config}strength = "measure"\n')
    school.plan(grades()).run("--yes").exits(0)
    kinds = school.kinds()
    assert kinds.index("step.done") < kinds.index("strength.measured")
    assert kinds.index("strength.measured") < kinds.index("run.finished")
    (receipt,) = (file for file in (school.home / "receipts").rglob("*") if file.is_file())
    (step_said,) = json.loads(b64decode(json.loads(receipt.read_text())["payload"]))["predicate"][
        "steps"
    ]
    assert step_said["strength"].startswith("rejects ")


def test_a_policy_can_require_it_of_every_step(school: Desk) -> None:
    school.file("signoff.toml", school.read("signoff.toml") + '\n[policy]\nstrength = "require"\n')
    school.plan(grades(on_fail="escalate")).run("--yes").exits(6)
    assert school.entries("verdict")[-1]["data"]["reason"] == "strength"


def test_a_check_that_only_looks_for_a_file_is_weak(school: Desk) -> None:
    school.agent("echo the answer is 42 > report.txt")
    school.plan(step("Report", "test -f report.txt", touches="report.txt")).run("--yes").exits(0)
    found = measured(school)["strength"]
    assert found["share"] < 100
    assert any(v["path"] == "report.txt" for v in found["unnoticed"])


def test_a_held_out_check_is_counted_apart(school: Desk) -> None:
    folder = school.home / "heldout" / "every"
    school.home.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(parents=True)
    (folder / "contract").write_text(
        f'PYTHONPATH=. {sys.executable} -m unittest discover -s "$SIGNOFF_HELDOUT_DIR"'
    )
    (folder / "test_every.py").write_text(ALL_POINTS)
    school.plan(grades(heldout="every")).run("--yes").exits(0)
    found = measured(school, "--most", "8")["strength"]
    assert found["heldout"] and found["visible"] < found["rejected"]
    school.about_plan("strength", "--most", "8").shows("without the held-out check")


def test_without_a_copy_in_the_workspaces_place_nothing_is_claimed(school: Desk) -> None:
    school.person('[sandbox]\nisolation = "none"\n')
    school.plan(grades(strength=">= 1%", on_fail="escalate")).run("--yes").exits(6)
    (item,) = school.inbox()
    assert "incomplete" in item["question"] and "namespaces" in item["question"]


def test_before_anything_is_kept_there_is_nothing_to_measure(school: Desk) -> None:
    school.plan(grades()).about_plan("strength").shows("was never run")
    school.agent("true").run("--yes").exits(6)
    school.about_plan("strength").exits(3).shows("not measured: its contract was not kept yet")
    school.about_plan("strength", "7").fails(2, "no step `7`", hint="its steps are `1`")


def test_files_that_change_meanwhile_make_the_result_void(school: Desk) -> None:
    school.plan(grades()).run("--yes").exits(0)
    running = school.start("strength", "PLAN.md", "--json", "--jobs", "1")
    running.until(lambda: any((school.home / "lanes").glob("*/strength/room-*/room/grades.py")))
    school.file("grades.py", AFTER + "\n# edited\n")
    ended = running.end().exits(3)
    assert "changed meanwhile" in ended.stdout
    assert measured(school)["strength"]["incomplete"] == "", "what is void is measured again"
