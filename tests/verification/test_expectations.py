"""What a contract must show: all of it, in the whole output, byte for byte."""

from __future__ import annotations

import pytest

from signoff.domain.plan import Contract, Expectation
from signoff.domain.verdict import Reason, Result
from tests.verification.courtroom import (
    Courtroom,
    exit_code,
    stderr_contains,
    stdout_contains,
    stdout_equals,
)

# Far more than is kept of an output, with the needle in the middle.
LARGE = "head -c 3000000 /dev/zero; printf needle; head -c 3000000 /dev/zero"


@pytest.mark.parametrize(
    ("command", "expectations", "result"),
    [
        ("echo all is well", (stdout_contains("is well"),), Result.KEPT),
        ("echo all is well", (stdout_contains("IS WELL"),), Result.BROKEN),
        ("echo well >&2", (stdout_contains("well"),), Result.BROKEN),
        ("echo well >&2", (stderr_contains("well"),), Result.KEPT),
        ("echo well", (stderr_contains("well"),), Result.BROKEN),
        ("printf 'grün → ok'", (stdout_contains("grün →"),), Result.KEPT),
        ("printf one", (stdout_equals("one"),), Result.KEPT),
        ("echo one", (stdout_equals("one"),), Result.KEPT),
        ("printf 'one\\n\\n'", (stdout_equals("one"),), Result.BROKEN),
        ("printf ' one'", (stdout_equals("one"),), Result.BROKEN),
        ("printf one; echo two >&2", (stdout_equals("one"),), Result.KEPT),
        ("printf ''", (stdout_equals(""),), Result.KEPT),
        ("exit 3", (exit_code(3),), Result.KEPT),
        ("true", (exit_code(3),), Result.BROKEN),
        ("echo ok; exit 1", (stdout_contains("ok"),), Result.BROKEN),
        ("echo ok; exit 1", (stdout_contains("ok"), exit_code(1)), Result.KEPT),
    ],
)
def test_a_contract_is_kept_only_when_it_shows_what_it_must(
    court: Courtroom, command: str, expectations: tuple[Expectation, ...], result: Result
) -> None:
    verdict = court.judge(Contract(command, expectations))
    assert verdict.result is result, verdict.message


def test_text_is_found_in_the_middle_of_an_output_too_large_to_keep(court: Courtroom) -> None:
    verdict = court.judge(Contract(LARGE, (stdout_contains("needle"),)))
    assert verdict.result is Result.KEPT
    assert "needle" not in verdict.output_tail


def test_text_on_the_border_between_two_reads_is_found(court: Courtroom) -> None:
    command = "printf nee; sleep 0.05; printf d; sleep 0.05; printf le"
    assert court.judge(Contract(command, (stdout_contains("needle"),))).kept


def test_equality_covers_what_is_not_kept(court: Courtroom) -> None:
    same = "x" * 2_000_000
    command = "head -c 2000000 /dev/zero | tr '\\0' x"
    assert court.judge(Contract(command, (stdout_equals(same),))).kept
    other = same[:1_000_000] + "y" + same[1_000_001:]
    assert not court.judge(Contract(command, (stdout_equals(other),))).kept


def test_every_expectation_must_hold_and_every_miss_is_named(court: Courtroom) -> None:
    expectations = (
        stdout_contains("one"),
        stdout_contains("two"),
        stderr_contains("three"),
        stdout_equals("four"),
        stdout_contains("five"),
    )
    verdict = court.judge(Contract("echo one five; exit 2", expectations))
    assert (verdict.result, verdict.reason) == (Result.BROKEN, Reason.EXPECTATION)
    assert verdict.message == (
        'exit code 2, expected 0; stdout does not contain "two"; '
        'stderr does not contain "three"; stdout (9 bytes) is not the expected text'
    )


def test_the_same_text_expected_of_both_streams_is_looked_for_in_both(court: Courtroom) -> None:
    both = (stdout_contains("ok"), stderr_contains("ok"))
    assert court.judge(Contract("echo ok; echo ok >&2", both)).kept
    assert not court.judge(Contract("echo ok", both)).kept
    assert not court.judge(Contract("echo ok >&2", both)).kept


def test_output_that_is_not_text_is_kept_as_storable_text(court: Courtroom) -> None:
    verdict = court.judge("printf 'a\\377b\\0c\\033[31m'; exit 1")
    assert verdict.output_tail == "a\ufffdb\0c\x1b[31m"
    assert court.record(verdict).data["output_tail"] == verdict.output_tail


def test_the_tail_of_an_endless_output_is_capped_and_says_so(court: Courtroom) -> None:
    verdict = court.judge("yes 'I am done' | head -c 2000000; exit 1")
    assert len(verdict.output_tail) < 4_200
    assert "characters cut" in verdict.output_tail
    assert verdict.output_tail.endswith("I am done")
