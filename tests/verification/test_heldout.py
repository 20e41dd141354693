"""Held-out checks: judged behind the visible contract, told to nobody, pinned like everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from signoff.domain.plan import Contract
from signoff.domain.verdict import Reason, Result
from signoff.errors import ConfigInvalid
from signoff.verification.heldout import HeldOutChecks
from tests.verification.courtroom import Courtroom

VISIBLE = Contract("test -s out.txt", heldout="deep")


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
