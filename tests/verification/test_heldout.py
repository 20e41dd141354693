"""Held-out checks: judged behind the visible contract, told to nobody, pinned like everything."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from signoff.domain.plan import Contract
from signoff.domain.verdict import HeldOutKind, Phase, Reason, Result
from signoff.errors import ConfigInvalid
from signoff.verification.heldout import HeldOutChecks
from tests.verification.courtroom import Courtroom

VISIBLE = Contract("test -s out.txt", heldout="deep")

LOOK_AROUND = """
import pathlib
for process in pathlib.Path("/proc").glob("[0-9]*"):
    for name in ("cmdline", "environ"):
        try:
            if b"golden " + b"rule" in (process / name).read_bytes():
                pathlib.Path("found").touch()
        except OSError:
            pass
"""


def put(court: Courtroom, command: str, **files: str) -> None:
    """Write a check, and approve it."""
    folder = court.heldout / "deep"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "contract").write_text(command)
    for name, text in files.items():
        (folder / name).write_text(text)
    court.approved_heldout = {"deep": HeldOutChecks(court.heldout).find("deep").digest}


def test_both_checks_must_hold(court: Courtroom) -> None:
    put(court, "grep -q gold out.txt")
    court.write("out.txt", "gold")
    verdict = court.judge(VISIBLE)
    assert (verdict.result, verdict.heldout) == (Result.KEPT, Result.KEPT)


def test_a_failure_says_only_that_a_held_out_check_failed(court: Courtroom) -> None:
    put(court, "echo the answer is gold; grep -q gold out.txt")
    court.write("out.txt", "lead")
    verdict = court.judge(VISIBLE)
    assert (verdict.result, verdict.reason) == (Result.BROKEN, Reason.HELD_OUT)
    assert verdict.message == "a held-out check did not hold"
    assert (verdict.output_tail, verdict.heldout) == ("", Result.BROKEN)
    assert b"gold" not in court.printed


@pytest.mark.parametrize("phase", [Phase.ATTEMPT, Phase.BEFORE, Phase.SWEEP])
def test_the_same_content_is_refused_the_same_way_twice(court: Courtroom, phase: Phase) -> None:
    put(court, "grep -q gold out.txt")
    court.write("out.txt", "lead")
    for _ in range(3):
        verdict = court.judge(VISIBLE, phase)
        assert (verdict.result, verdict.reason) == (Result.BROKEN, Reason.HELD_OUT)
        court.record(verdict)
    court.write("out.txt", "gold")
    assert court.judge(VISIBLE, phase).kept


def test_before_work_a_refusal_stands_and_is_not_run_again(court: Courtroom) -> None:
    put(court, "echo ran >> ../runs; grep -q gold out.txt")
    court.write("out.txt", "lead")
    first = court.record(court.judge(VISIBLE, Phase.BASELINE))
    before = court.judge(VISIBLE, Phase.BEFORE)
    assert (before.reason, before.reused_from) == (Reason.HELD_OUT, first.seq)
    assert (court.root.parent / "runs").read_text() == "ran\n"


def test_a_held_out_check_that_contradicts_itself_must_hold_several_times(court: Courtroom) -> None:
    put(court, "echo ran >> ../runs; test $(grep -c ran ../runs) != 1")
    court.write("out.txt")
    refused = court.judge(VISIBLE)
    assert refused.reason is Reason.HELD_OUT
    court.record(refused)
    assert court.judge(VISIBLE).kept
    assert (court.root.parent / "runs").read_text() == "ran\n" * 4


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("echo gold; no-such-tool-here", Reason.INFRASTRUCTURE),
        ("echo gold; /etc/hostname", Reason.INFRASTRUCTURE),
        ("echo gold; kill -9 $$", Reason.SIGNALLED),
        ("echo gold; bash -c 'kill -SEGV $$'", Reason.SIGNALLED),
        ("echo gold; sleep 60", Reason.TIMED_OUT),
        (f"echo gold; {sys.executable} missing.py", Reason.INFRASTRUCTURE),
        (f"echo gold; {sys.executable} -m pytest -q --no-such-option", Reason.INFRASTRUCTURE),
        (f"echo gold; {sys.executable} -m pytest -q .", Reason.INFRASTRUCTURE),
        ("echo gold; echo > stray; true", Reason.MOVED),
    ],
)
def test_one_that_cannot_run_is_unknown_and_only_a_person_is_told_why(
    court: Courtroom, command: str, reason: Reason
) -> None:
    put(court, command)
    court.write("out.txt")
    verdict = court.judge(replace(VISIBLE, timeout_s=1 if "sleep" in command else 60))
    assert (verdict.result, verdict.reason) == (Result.UNKNOWN, reason)
    assert verdict.message == "could not judge: a held-out check could not be run to its end"
    assert (verdict.output_tail, verdict.heldout) == ("", Result.UNKNOWN)
    assert ("gold" in verdict.heldout_tail) == (reason is not Reason.MOVED)
    assert b"gold" not in court.printed


PYTEST = f'{sys.executable} -m pytest -q -p no:cacheprovider "$SIGNOFF_HELDOUT_DIR/test_it.py"'
ASKS = "import app\n\n\ndef test_it():\n    assert app.answer == 42\n"


@pytest.mark.parametrize("code", [3, 4, 5, 126, 127])
@pytest.mark.parametrize("approved", ["answer = 0\n", None])
def test_a_product_that_keeps_the_check_from_running_is_refused(
    court: Courtroom, code: int, approved: str | None
) -> None:
    put(court, PYTEST, **{"test_it.py": ASKS})
    if approved is not None:
        court.write("app.py", approved)
    court.approved = court.snapshot()
    court.write("out.txt")
    court.write("app.py", f"import os\nos._exit({code})\n")
    verdict = court.judge(VISIBLE)
    assert (verdict.result, verdict.reason) == (Result.BROKEN, Reason.HELD_OUT)
    court.write("app.py", "answer = 42\n")
    assert court.judge(VISIBLE).kept


@pytest.mark.parametrize("command", ["no-such-tool", f"{PYTEST} --no-such-option"])
def test_a_check_that_never_ran_is_no_fault_of_the_product(court: Courtroom, command: str) -> None:
    put(court, command, **{"test_it.py": ASKS})
    court.write("app.py", "answer = 0\n")
    court.approved = court.snapshot()
    court.write("out.txt")
    assert court.judge(VISIBLE).reason is Reason.INFRASTRUCTURE


def test_the_kind_of_a_check_is_approved_with_it(court: Courtroom) -> None:
    put(court, "true", product="true")
    court.write("out.txt")
    assert court.judge(VISIBLE).kept
    of_files_alone = court.approved_heldout["deep"].removeprefix("separate:")
    court.approved_heldout = {"deep": of_files_alone}
    assert court.judge(VISIBLE).reason is Reason.TOOL_CHANGED


def test_the_exit_codes_of_pytest_mean_nothing_to_other_programs(court: Courtroom) -> None:
    put(court, "exit 4")
    court.write("out.txt")
    assert court.judge(VISIBLE).reason is Reason.HELD_OUT


def test_a_pipe_among_its_files_is_refused_and_not_waited_for(court: Courtroom) -> None:
    put(court, "true")
    os.mkfifo(court.heldout / "deep" / "pipe")
    court.write("out.txt")
    verdict = court.judge(VISIBLE)
    assert (verdict.result, verdict.reason) == (Result.UNKNOWN, Reason.INFRASTRUCTURE)


def test_neither_arguments_nor_variables_of_any_process_show_its_text(court: Courtroom) -> None:
    put(court, f"{sys.executable} look.py; test ! -e found # golden rule")
    court.write("out.txt")
    court.write("look.py", LOOK_AROUND)
    assert court.judge(VISIBLE).kept


def test_a_separate_check_gets_what_the_product_printed_and_nothing_else(court: Courtroom) -> None:
    put(
        court,
        'grep -qx gold && grep -qx gold "$SIGNOFF_HELDOUT_DIR/output" && test -z "$(ls)"',
        product='test -z "$SIGNOFF_HELDOUT_DIR" && cat out.txt',
    )
    court.write("out.txt", "gold\n")
    verdict = court.judge(VISIBLE)
    assert (verdict.result, verdict.heldout_kind) == (Result.KEPT, HeldOutKind.SEPARATE)
    court.write("out.txt", "lead\n")
    assert court.judge(VISIBLE).reason is Reason.HELD_OUT


def test_the_other_kind_is_called_in_process(court: Courtroom) -> None:
    put(court, "true")
    court.write("out.txt")
    assert court.judge(VISIBLE).heldout_kind is HeldOutKind.IN_PROCESS


@pytest.mark.parametrize(
    ("product", "result", "reason"),
    [
        ("echo gold; exit 3", Result.BROKEN, Reason.HELD_OUT),
        ("no-such-tool-here", Result.BROKEN, Reason.HELD_OUT),
        ("yes", Result.BROKEN, Reason.HELD_OUT),
        ("kill -9 $$", Result.UNKNOWN, Reason.SIGNALLED),
        ("echo > stray", Result.UNKNOWN, Reason.MOVED),
        ("true", Result.KEPT, Reason.HELD),
    ],
)
def test_a_product_that_comes_to_no_good_end_is_not_checked(
    court: Courtroom, product: str, result: Result, reason: Reason
) -> None:
    put(court, "true", product=product)
    court.write("out.txt")
    verdict = court.judge(VISIBLE)
    assert (verdict.result, verdict.reason) == (result, reason)


def test_its_files_are_found_where_the_variable_says(court: Courtroom) -> None:
    put(court, 'diff out.txt "$SIGNOFF_HELDOUT_DIR/expected"', expected="gold")
    court.write("out.txt", "gold")
    assert court.judge(VISIBLE).kept


def test_it_is_not_run_when_the_visible_check_already_failed(court: Courtroom) -> None:
    put(court, "touch ../heldout-ran")
    verdict = court.judge(VISIBLE)
    assert (verdict.result, verdict.heldout) == (Result.BROKEN, None)
    assert not (court.root.parent / "heldout-ran").exists()


def test_a_check_that_changed_since_approval_is_not_judged(court: Courtroom) -> None:
    put(court, "true", expected="gold")
    court.write("out.txt")
    (court.heldout / "deep" / "expected").write_text("lead")
    verdict = court.judge(VISIBLE)
    assert (verdict.result, verdict.reason) == (Result.UNKNOWN, Reason.TOOL_CHANGED)


def test_a_check_that_is_gone_is_unknown_and_never_kept(court: Courtroom) -> None:
    court.write("out.txt")
    verdict = court.judge(VISIBLE)
    assert (verdict.result, verdict.reason) == (Result.UNKNOWN, Reason.INFRASTRUCTURE)


@pytest.mark.parametrize("text", [None, "", " \n", b"\xff"])
def test_a_check_without_a_readable_contract_is_refused(tmp_path: Path, text: Any) -> None:
    folder = tmp_path / "deep"
    folder.mkdir()
    if isinstance(text, bytes):
        (folder / "contract").write_bytes(text)
    elif text is not None:
        (folder / "contract").write_text(text)
    with pytest.raises(ConfigInvalid):
        HeldOutChecks(tmp_path).find("deep")


def test_a_name_cannot_lead_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "contract").write_text("true")
    (tmp_path / "checks").mkdir()
    with pytest.raises(ConfigInvalid, match="does not lie in"):
        HeldOutChecks(tmp_path / "checks").find("../outside")
