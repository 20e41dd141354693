"""Held-out checks as people meet them: with real pytest in every sandbox, told to people only."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from signoff.process.sandboxes import probe_sandboxes
from tests.cli.kit import Desk
from tests.cli.plans import step

MODES = ["none", *(str(s.isolation) for s in probe_sandboxes() if s.available)]
SEVERAL = pytest.mark.parametrize("mode", MODES)
VISIBLE = "grep -q def adder.py"
PYTEST = 'PYTHONPATH=. python -m pytest -q "$SIGNOFF_HELDOUT_DIR"'
TEST = "from adder import add\n\n\ndef test_sum():\n    assert add(2, 3) == 5\n"
WRONG, RIGHT = ("def add(a, b): return 4", "def add(a, b): return a + b")


def with_check(desk: Desk, contract: str, mode: str = "none", **files: str) -> Desk:
    """A plan with a held-out check, in this sandbox."""
    # Agents keep notes outside the workspace for the test to see: they are not confined.
    desk.person(f'[sandbox]\nisolation = "{mode}"\nagents = false\n')
    desk.variable(PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    folder = desk.home / "heldout" / "deep"
    desk.home.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(parents=True)
    (folder / "contract").write_text(contract)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return desk.plan(step("Add", VISIBLE, heldout="deep", on_fail="retry(1), then escalate"))


@SEVERAL
def test_honest_work_passes_a_real_pytest_without_a_flag(desk: Desk, mode: str) -> None:
    with_check(desk, PYTEST, mode, test_deep=TEST).agent(f"echo '{RIGHT}' > adder.py")
    desk.run("--yes").exits(0)
    assert desk.entries("verdict")[-1]["data"]["heldout"] == "kept"


@SEVERAL
def test_work_that_only_looks_right_is_refused_until_it_is(desk: Desk, mode: str) -> None:
    """The visible check holds from the start: red first is the held-out check's answer."""
    with_check(desk, PYTEST, mode, test_deep=TEST).file("adder.py", f"{WRONG}\n")
    desk.agent(f'case $SIGNOFF_ATTEMPT in *:2) echo "{RIGHT}" > adder.py;; esac')
    desk.run("--yes").exits(0)
    told = [(v["data"]["phase"], v["data"]["reason"]) for v in desk.entries("verdict")]
    assert told == [("before", "held-out"), ("attempt", "held-out"), ("attempt", "held")]
    prompt = desk.attempts()[-1].prompt
    assert "Verdict: a held-out check did not hold" in prompt and "test_sum" not in prompt


def test_one_that_cannot_run_is_shown_to_the_person_and_in_no_prompt(desk: Desk) -> None:
    flaw = 'echo the secret is 5; test -e "$SIGNOFF_HELDOUT_DIR/fixed" || exec no-such-tool'
    with_check(desk, flaw).agent(f"echo '{WRONG}' > adder.py")
    desk.run("--yes").exits(6)
    (item,) = desk.inbox()
    assert "could not be run to its end" in item["question"] and "secret" not in item["question"]
    assert "the secret is 5" in item["context"]["the held-out check's last output"]
    assert "the secret is 5" in desk.about_plan("log", "--json").stdout
    assert "secret" not in "".join(attempt.prompt for attempt in desk.attempts())
    assert len(desk.attempts()) == 1


def test_what_crashed_is_tried_again_by_an_agent_that_is_told_nothing(desk: Desk) -> None:
    with_check(desk, "echo the secret is 5; kill -9 $$").agent(
        "date +%N >> adder.py; echo def >> adder.py"
    )
    desk.run("--yes").exits(6)
    prompt = desk.attempts()[-1].prompt
    assert len(desk.attempts()) == 2 and "secret" not in prompt
    assert "Verdict: could not judge: a held-out check could not be run to its end" in prompt


@SEVERAL
def test_a_separate_check_holds_in_every_sandbox_and_cannot_touch_the_workspace(
    desk: Desk, mode: str
) -> None:
    changes = f"echo spoilt > '{desk.workspace}/adder.py'" if mode != "none" else "true"
    check = f'{changes} 2> spoils; grep -qx 5 && python "$SIGNOFF_HELDOUT_DIR/more.py"'
    with_check(desk, check, mode, more="import sys\nassert sys.argv[0]\n")
    product = desk.home / "heldout" / "deep" / "product"
    product.write_text("python -c 'import adder; print(adder.add(2, 3))'")
    desk.agent(f"echo '{RIGHT}' > adder.py").run("--yes").exits(0)
    assert desk.read("adder.py") == f"{RIGHT}\n"
    assert desk.entries("verdict")[-1]["data"]["heldout_kind"] == "separate"


@pytest.mark.parametrize("mode", MODES[1:])
@pytest.mark.parametrize("judge_in", ["", "workspace"])
def test_a_product_that_copies_the_check_leaves_nothing_for_the_next_attempt(
    desk: Desk, mode: str, judge_in: str
) -> None:
    desk.file(".gitignore", "build/\ndist/\n").file("build/kept", "as it was\n")
    with_check(desk, PYTEST, mode, test_deep=TEST)
    desk.edit_plan(VISIBLE, f"ls -d */loot; {VISIBLE}")
    if judge_in:
        desk.edit_plan("**heldout:** deep", f"**heldout:** deep\n**judge_in:** {judge_in}")
    places = "build build/more dist $HOME /var/tmp /dev/shm"
    thief = (
        "import os, shutil\n\n\ndef add(a, b): return 4\n\n\n"
        f"for place in os.path.expandvars('{places}').split():\n"
        "    try: shutil.copytree(os.environ['SIGNOFF_HELDOUT_DIR'], place + '/loot')\n"
        "    except (OSError, KeyError): pass\n"
    )
    look = f"for place in {places}; do ls -d $place/loot; done > seen 2> /dev/null"
    desk.agent(f"{look}; cat > adder.py <<'EOF'\n{thief}EOF")
    desk.run("--yes").exits(6)
    told = [v["data"] for v in desk.entries("verdict") if v["data"]["phase"] == "attempt"]
    assert [v["reason"] for v in told] == ["held-out"] * 2
    assert not list(desk.workspace.rglob("loot")) and desk.read("seen") == ""
    assert "/loot\n" not in desk.about_plan("log", "--json").stdout


@SEVERAL
def test_a_contract_gets_no_variable_of_ours(desk: Desk, mode: str) -> None:
    desk.person(f'[sandbox]\nisolation = "{mode}"\n').agent("echo firm > ground")
    desk.plan(step("Lay", "test -s ground && ! env | grep ^SIGNOFF_", expect="exit_code == 0"))
    desk.run("--yes").exits(0)
