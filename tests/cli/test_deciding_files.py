"""Files that decide a check: whose they are, what becomes of them, and the way out."""

from __future__ import annotations

import subprocess

import pytest

from tests.cli.ended import LIMIT_S
from tests.cli.kit import Desk
from tests.cli.plans import step
from tests.warm import run_to_end

CHECKER = "import os, sys\nsys.exit(not os.path.exists('data.txt'))\n"
MAKE_CHECKER = f"printf {CHECKER!r} > check.py"
WAY_OUT = "what decides a check is protected, unless a person allows it with `**may_change:** "


def _two_steps(desk: Desk, first: str, second: str) -> Desk:
    desk.agent(f'if [ "$SIGNOFF_STEP" = 1 ]; then {first}; else {second}; fi')
    return desk.plan(
        step("Write the checker", "test -s check.py"),
        step("Write data.txt", "python3 check.py", subscriptions=["file:check.py"]),
    )


def test_what_an_accepted_step_made_may_steer_the_check_of_a_later_one(desk: Desk) -> None:
    _two_steps(desk, MAKE_CHECKER, "echo hi > data.txt")
    desk.about_plan("verify").exits(0).hides("decides this check", "does not exist")
    desk.run("--yes").exits(0)
    assert desk.read("check.py") == CHECKER
    assert desk.dispatched() == ["1", "2"]
    accepted = {e["step"]: e["data"] for e in desk.entries("step.done")}
    assert list(accepted["1"]["named"]) == ["check.py"]
    assert accepted["2"]["relies_on"] == ["check.py"]
    desk.about_plan("audit").exits(0)


def test_who_changes_the_check_of_an_earlier_step_is_refused_and_it_comes_back(desk: Desk) -> None:
    _two_steps(
        desk,
        MAKE_CHECKER,
        'cp check.py "$seat/check"; if [ "$attempt" = 1 ]; then echo pass > check.py; '
        "else echo hi > data.txt; fi",
    )
    desk.run("--yes").exits(0).shows(
        "step 2 · attempt 1 · tampered: `check.py`: what steers the check was changed"
    )
    assert (desk.agents / "life" / "2" / "check").read_text() == CHECKER
    prompt = desk.attempts()[2].prompt
    assert "Put back by the harness: check.py" in prompt
    assert "removed again" not in prompt


def test_who_removes_the_check_of_an_earlier_step_is_refused_and_it_comes_back(desk: Desk) -> None:
    _two_steps(
        desk,
        MAKE_CHECKER,
        'if [ "$attempt" = 1 ]; then rm check.py; else test -s check.py && echo hi > data.txt; fi',
    )
    desk.run("--yes").exits(0).shows(
        "step 2 · attempt 1 · tampered: `check.py`: what steers the check was removed"
    )


def test_a_check_that_a_later_step_rigs_is_found_in_the_sweep_and_comes_back(desk: Desk) -> None:
    desk.agent(
        f'case "$SIGNOFF_STEP" in 1) {MAKE_CHECKER} ;; 2) echo hi > data.txt ;; '
        "3) rm data.txt; echo pass > check.py; echo x > other.txt ;; esac"
    )
    desk.plan(
        step("Write the checker", "test -s check.py"),
        step("Write data.txt", "python3 check.py"),
        step("Rig it", "test -s other.txt && test -s check.py"),
    )
    desk.run("--yes").exits(0).shows("step 2 · final sweep · tampered: `check.py`")
    assert desk.read("check.py") == CHECKER
    assert desk.read("data.txt") == "hi\n"


def test_an_ordinary_file_may_be_built_on_by_later_steps(desk: Desk) -> None:
    desk.agent("echo \"print('part $SIGNOFF_STEP')\" >> app.py")
    desk.plan(
        step("Begin", "test -s app.py"),
        step("Go on", "grep -q 'part 2' app.py"),
        post=[("It runs", "python3 app.py | grep -qx 'part 2'")],
    )
    desk.run("--yes").exits(0)
    assert desk.dispatched() == ["1", "2"]


def test_a_step_does_not_produce_what_was_there_before_the_plan(desk: Desk) -> None:
    """Its contract names the file, so an agent could hope to own the check of the next step."""
    desk.file("check.py", CHECKER)
    _two_steps(desk, "echo pass > check.py", "true")
    desk.run("--yes").exits(6).shows("`check.py`: what steers the check was changed")
    assert "data.txt" not in [p.name for p in desk.workspace.iterdir()]


@pytest.mark.parametrize(
    ("contract", "plant"),
    [
        ("! grep -q bad conftest.py", "echo rigged > conftest.py"),
        ("ls -d . && test -s a.txt", "echo x > a.txt; echo rigged > conftest.py"),
        ("grep -rq x .", "echo x > a.txt; echo rigged > conftest.py"),
        ("test -s conftest.py", "echo rigged > real; ln -s real conftest.py"),
    ],
)
def test_a_file_that_no_contract_asked_for_does_not_become_a_later_check(
    desk: Desk, contract: str, plant: str
) -> None:
    desk.agent(f'if [ "$SIGNOFF_STEP" = 1 ]; then {plant}; fi')
    desk.plan(
        step("Plant", contract, red_first="off (it is about the plant)"),
        step("Harvest", "python3 conftest.py", on_fail="escalate"),
    )
    desk.run("--yes").exits(6).shows(
        "step 2 · attempt 1 · tampered", "what steers the check was added"
    )


def test_tests_that_one_step_writes_are_protected_from_the_next(desk: Desk) -> None:
    desk.agent(
        'if [ "$SIGNOFF_STEP" = 1 ]; then mkdir tests; echo firm > tests/a; '
        'elif [ "$attempt" = 1 ]; then echo mud | tee ground > tests/a; '
        "else cp tests/a ground; fi"
    )
    desk.plan(
        step("Write the test", "test -s tests/a"),
        step("Pass it", "diff ground tests/a", protects=["tests/**"]),
    )
    desk.run("--yes").exits(0).shows("tampered: `tests/a`: protected file was changed")
    assert desk.read("ground") == "firm\n"


def test_the_refusal_the_prompt_and_the_question_name_the_way_out(desk: Desk) -> None:
    desk.file("calc.py", "print(4)\n").agent("echo 'print(5)' > calc.py")
    desk.plan(step("Fix calc", "python3 calc.py | grep -qx 5", task="calc.py must print 5"))
    desk.about_plan("verify").exits(0).shows(
        "`calc.py` decides this check, so it is protected from this step",
        "if this step is to change it, say `**may_change:** calc.py`",
    )
    desk.run("--yes").exits(6).shows(f"what steers the check was changed; {WAY_OUT}calc.py`")
    (item,) = desk.inbox()
    assert f"{WAY_OUT}calc.py`" in item["question"]
    assert item["context"]["put back or removed again"] == ["calc.py"]
    first, second = desk.attempts()
    assert "## Files you must not change\n\n- calc.py (decides the check)\n" in first.prompt
    assert "Put back by the harness: calc.py" in second.prompt
    assert "answer `blocked: why`" in second.prompt


def test_the_way_out_works(desk: Desk) -> None:
    desk.file("calc.py", "print(4)\n").agent("echo 'print(5)' > calc.py")
    task = "calc.py must print 5"
    desk.plan(
        step("Fix calc", "python3 calc.py | grep -qx 5", task=task, may_change="calc.py"),
    )
    desk.about_plan("verify").exits(0).hides("decides this check")
    desk.run("--yes").exits(0)
    assert "Files you must not change" not in desk.attempts()[0].prompt


def test_a_script_that_the_step_would_write_itself_is_told_to_its_agent(desk: Desk) -> None:
    desk.agent("echo 'print(5)' > calc.py")
    desk.plan(step("Write calc", "python3 calc.py | grep -qx 5", on_fail="retry(1)"))
    desk.about_plan("verify").exits(0).shows("say `**may_change:** calc.py` if this step writes")
    desk.run("--yes").exits(6)
    first, second = desk.attempts()
    assert "- calc.py (decides the check)" in first.prompt
    assert "Added, and removed again by the harness: calc.py" in second.prompt


def test_a_tampered_part_of_a_file_is_put_back_too(desk: Desk) -> None:
    makefile = "test:\n\tgrep -qx firm ground\n"
    desk.file("Makefile", makefile)
    desk.agent(
        "if [ \"$attempt\" = 1 ]; then printf 'test:\\n\\ttrue\\n' > Makefile; "
        "else echo firm > ground; fi"
    )
    desk.plan(step("Lay the ground", "make test"))
    desk.run("--yes").exits(0).shows("`Makefile#target:test`: what steers the check was changed")
    assert desk.read("Makefile") == makefile
    assert "- Makefile#target:test (decides the check)" in desk.attempts()[0].prompt


OBSTACLES = {
    "a file": "rm -rf t; echo f > t",
    "a link to somewhere else": 'rm -rf t; ln -s "$OUTSIDE" t',
    "a link below": 'rm -rf t/d; ln -s "$OUTSIDE" t/d',
    "a pipe": "rm -rf t; mkfifo t",
    "a folder for a file": "rm t/d/y; mkdir -p t/d/y/z; echo x > t/d/y/z/w",
    "an ignored folder for a file": "rm t/d/y; mkdir t/d/y; echo x > t/d/y/a.log",
    "a folder nobody may enter": "echo x > t/d/y; chmod 000 t/d",
}


@pytest.mark.parametrize("obstacle", OBSTACLES.values(), ids=OBSTACLES)
def test_whatever_an_agent_puts_in_the_place_of_a_protected_folder_the_run_goes_on(
    desk: Desk, obstacle: str
) -> None:
    outside = desk.folder / "outside"
    (outside / "d").mkdir(parents=True)
    for name in ("y", "d/y"):
        (outside / name).write_text("theirs\n")
    desk.git().file(".gitignore", "*.log\n").file("t/d/y", "ours\n").file("t/x", "ours\n")
    desk.agent(
        f"OUTSIDE='{outside}'; "
        f'if [ "$attempt" = 1 ]; then {obstacle}; else cat t/d/y t/x > ground; fi'
    )
    desk.plan(step("Lay the ground", "grep -qx ours ground", protects=["t/**"]))
    desk.run("--yes").exits(0).shows("· attempt 1 · tampered:")
    assert (desk.read("t/d/y"), desk.read("t/x")) == ("ours\n", "ours\n")
    assert (outside / "y").read_text() == (outside / "d/y").read_text() == "theirs\n"


def _may_mount() -> bool:
    return subprocess.run(["unshare", "-rm", "true"], check=False, timeout=60).returncode == 0


@pytest.mark.skipif(not _may_mount(), reason="no mounts of one's own here")
def test_what_cannot_be_put_back_is_a_question_that_names_it_and_never_a_wedged_run(
    desk: Desk,
) -> None:
    desk.file("t/d/y", "ours\n").file("t/x", "ours\n").file("mounted/kept", "theirs\n")
    desk.agent(
        'if [ "$attempt" = 1 ]; then rm t/d/y; echo mud > t/x; mkdir t/d/y; '
        "mount --bind mounted t/d/y; else cat t/d/y t/x > ground; fi"
    )
    desk.plan(step("Lay the ground", "grep -qx ours ground", protects=["t/**"]))
    command = ["unshare", "-rm", *desk.command(("run", "PLAN.md", "--yes"))]
    ran = run_to_end(command, desk.workspace, desk.environment(), LIMIT_S)
    assert ran.returncode == 6, ran.stderr
    (item,) = desk.inbox()
    said = "`t/d/y/kept` cannot be put back: something is mounted there (and 1 more)"
    assert said in item["question"]
    assert item["context"]["cannot be put back"] == ["t/d/y", "t/d/y/kept"]
    assert desk.read("mounted/kept") == "theirs\n", "nothing is emptied through a mount"
    assert desk.read("t/x") == "ours\n", "the rest is put back all the same"
    desk.answer("retry")
    desk.run().exits(0)
    assert desk.read("ground") == "ours\nours\n"
