"""The evidence key covers everything that makes a verdict valid, and decides about reuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from signoff.domain.plan import Contract, Effects, Holds, JudgeIn, RedFirst
from signoff.domain.verdict import Isolation, Phase, Reason, Result, Verdict
from signoff.verification.evidence import EvidenceKey
from signoff.verification.protection import Guard
from tests.verification.courtroom import RUN, Courtroom, exit_code, stdout_contains

COUNTING = "echo ran >> ../count.txt; test -s done.txt"
KEY = EvidenceKey(
    contract=Contract("true", (exit_code(0),)),
    pins="pins",
    snapshot="content",
    environment="by-products",
    workspace="/somewhere",
    search_path="/usr/bin",
    variables={"TOKEN": "one"},
    isolation=Isolation.NONE,
    judged_in=JudgeIn.WORKSPACE,
)
OTHER_CONTRACTS: dict[str, dict[str, Any]] = {
    "text": {"command": "true "},
    "expected code": {"expectations": (exit_code(1),)},
    "further expectation": {"expectations": (exit_code(0), stdout_contains("x"))},
    "timeout": {"timeout_s": 61.0},
    "network": {"network": True},
    "env": {"env": ("TOKEN",)},
    "writes": {"writes": ("out/**",)},
    "effects": {"effects": Effects.EXTERNAL},
    "holds": {"holds": Holds.AT_STEP},
    "red first": {"red_first": RedFirst.REQUIRED},
    "may shrink": {"may_shrink": True},
    "may change": {"may_change": ("conftest.py",)},
    "judged in": {"judge_in": JudgeIn.WORKSPACE},
    "held out": {"heldout": "secret"},
}
OTHER_PARTS: dict[str, dict[str, Any]] = {
    "pins": {"pins": "other"},
    "content": {"snapshot": "other"},
    "by-products": {"environment": "other"},
    "workspace": {"workspace": "/elsewhere"},
    "search path": {"search_path": "/usr/bin:/bin"},
    "variable's value": {"variables": {"TOKEN": "two"}},
    "variable gone": {"variables": {}},
    "isolation": {"isolation": Isolation.BUBBLEWRAP},
    "clean room": {"judged_in": JudgeIn.CLEAN},
    "runner": {"runner": "signoff 999"},
}


@pytest.mark.parametrize("change", OTHER_CONTRACTS.values(), ids=OTHER_CONTRACTS)
def test_another_contract_is_another_key(change: dict[str, Any]) -> None:
    assert replace(KEY, contract=replace(KEY.contract, **change)).digest != KEY.digest


@pytest.mark.parametrize("change", OTHER_PARTS.values(), ids=OTHER_PARTS)
def test_every_other_part_changes_the_key(change: dict[str, Any]) -> None:
    assert replace(KEY, **change).digest != KEY.digest


def test_where_a_contract_stands_in_the_file_does_not_change_the_key() -> None:
    moved = Contract("true", (replace(exit_code(0), line=7),), line=5)
    assert replace(KEY, contract=moved).digest == KEY.digest


def test_the_key_of_a_verdict_follows_the_world_it_was_made_in(tmp_path: Path) -> None:
    court = Courtroom(tmp_path, ignored="/build\n")
    court.write("file.txt")
    asked = Contract("true", env=("TOKEN",))
    keys = {"first": court.judge(asked).key}
    assert court.judge(asked).key == keys["first"]
    court.write("build/by-product.o")
    keys["by-product"] = court.judge(asked).key
    court.environ["TOKEN"] = "one"
    keys["variable"] = court.judge(asked).key
    court.environ["TOKEN"] = "two"
    keys["value"] = court.judge(asked).key
    court.environ["UNRELATED"] = "x"
    assert court.judge(asked).key == keys["value"]
    court.search_path += ":/opt"
    keys["search path"] = court.judge(asked).key
    court.plan_digest = "another plan"
    keys["pins"] = court.judge(asked).key
    court.write("file.txt", "other\n")
    keys["content"] = court.judge(asked).key
    assert len(set(keys.values())) == len(keys)


def _times_run(court: Courtroom) -> int:
    count = court.root.parent / "count.txt"
    return len(count.read_text().split()) if count.exists() else 0


def _judged_twice(court: Courtroom, first: Phase, then: Phase, **options: Any) -> Verdict:
    contract = options.pop("contract", Contract(COUNTING))
    court.record(court.judge(contract, first))
    assert _times_run(court) == 1
    return court.judge(contract, then, **options)


@pytest.mark.parametrize("then", [Phase.BEFORE, Phase.ATTEMPT, Phase.SWEEP])
def test_a_kept_verdict_is_reused_within_its_run(court: Courtroom, then: Phase) -> None:
    court.write("done.txt")
    verdict = _judged_twice(court, Phase.ATTEMPT, then)
    assert _times_run(court) == 1
    assert (verdict.result, verdict.reason, verdict.phase) == (Result.KEPT, Reason.HELD, then)
    assert verdict.reused_from == 1
    assert verdict.duration_s == 0.0
    again = court.record(verdict)
    assert court.judge(COUNTING).reused_from == 1, "it names the judging, not another reuse"
    assert again.seq == 2


def test_a_broken_verdict_is_only_reused_to_tell_that_it_was_red(court: Courtroom) -> None:
    assert _judged_twice(court, Phase.BEFORE, Phase.BEFORE).reused_from == 1
    assert _times_run(court) == 1
    for phase in (Phase.ATTEMPT, Phase.SWEEP):
        verdict = court.judge(COUNTING, phase)
        assert (verdict.result, verdict.reused_from) == (Result.BROKEN, None)
    assert _times_run(court) == 3


def test_a_verdict_of_another_run_is_not_reused(court: Courtroom) -> None:
    court.write("done.txt")
    assert _judged_twice(court, Phase.ATTEMPT, Phase.ATTEMPT, run="run-2").reused_from is None
    assert _times_run(court) == 2


@pytest.mark.parametrize("run", [RUN, None])
def test_an_audit_always_judges_afresh(court: Courtroom, run: str | None) -> None:
    court.write("done.txt")
    assert _judged_twice(court, Phase.ATTEMPT, Phase.AUDIT, run=run).reused_from is None
    assert _times_run(court) == 2


def test_a_contract_with_effects_outside_is_never_answered_from_memory(court: Courtroom) -> None:
    court.write("done.txt")
    external = Contract(COUNTING, effects=Effects.EXTERNAL)
    verdict = _judged_twice(court, Phase.BEFORE, Phase.ATTEMPT, contract=external)
    assert verdict.reused_from is None
    assert _times_run(court) == 2


def test_changed_content_is_judged_again(court: Courtroom) -> None:
    court.write("done.txt")
    court.record(court.judge(COUNTING))
    court.write("done.txt", "more\n")
    assert court.judge(COUNTING).reused_from is None
    assert _times_run(court) == 2


def test_a_contract_that_could_not_be_judged_is_judged_again(court: Courtroom) -> None:
    slow = Contract("echo ran >> ../count.txt; test -e ../quick || sleep 600", timeout_s=0.5)
    assert court.judge(slow, Phase.BEFORE).result is Result.UNKNOWN
    court.record(court.judge(slow, Phase.BEFORE))
    (court.root.parent / "quick").touch()
    verdict = court.judge(slow, Phase.BEFORE)
    assert (verdict.result, verdict.reused_from) == (Result.KEPT, None)


def test_one_steps_tampering_is_not_another_steps_red(court: Courtroom) -> None:
    """Two steps share a contract; only the first protects the file that was changed."""
    court.write("done.txt")
    guard = Guard(protects=("done.txt",), pinned={})
    refused = court.judge(COUNTING, Phase.ATTEMPT, guard)
    assert refused.reason is Reason.TAMPERED
    court.record(refused)
    assert court.judge(COUNTING, Phase.BEFORE).result is Result.KEPT


def test_a_reused_verdict_does_not_hide_tampering(court: Courtroom) -> None:
    court.write("done.txt")
    court.record(court.judge(COUNTING))
    guard = Guard(protects=("done.txt",), pinned={})
    assert court.judge(COUNTING, Phase.SWEEP, guard).reason is Reason.TAMPERED
