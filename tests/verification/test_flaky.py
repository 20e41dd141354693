"""A contract that contradicts itself is quarantined, never silently kept."""

from __future__ import annotations

from signoff.domain.verdict import Phase, Reason, Result
from signoff.verification.protection import Guard
from tests.verification.courtroom import Courtroom

# Its memory lies outside the workspace, so that the content stays the same.
EVERY_OTHER = "echo x >> ../n; test $(($(wc -l < ../n) % 2)) = 0"
FROM_THE_SECOND_ON = "echo x >> ../n; test $(wc -l < ../n) -ge 2"


def test_a_no_that_becomes_a_yes_on_the_same_content_must_say_yes_three_times(
    court: Courtroom,
) -> None:
    court.record(court.judge(EVERY_OTHER, Phase.BEFORE))
    verdict = court.judge(EVERY_OTHER)
    assert (verdict.result, verdict.reason) == (Result.UNKNOWN, Reason.FLAKY)


def test_a_yes_that_stays_a_yes_is_kept(court: Courtroom) -> None:
    court.record(court.judge(FROM_THE_SECOND_ON, Phase.BEFORE))
    assert court.judge(FROM_THE_SECOND_ON).kept
    assert (court.root.parent / "n").read_text().count("x") == 4


def test_what_contradicted_itself_stays_in_quarantine_until_the_content_changes(
    court: Courtroom,
) -> None:
    court.record(court.judge(EVERY_OTHER, Phase.BEFORE))
    court.record(court.judge(EVERY_OTHER))
    runs = (court.root.parent / "n").read_text()
    again = court.judge(EVERY_OTHER)
    assert (again.result, again.reason) == (Result.UNKNOWN, Reason.FLAKY)
    assert (court.root.parent / "n").read_text() == runs
    court.write("repaired.txt")
    assert court.judge("test -s repaired.txt").kept


def test_a_policy_can_ask_for_several_judgings_in_a_row(court: Courtroom) -> None:
    court.judgings = 4
    assert court.judge("echo x >> ../n").kept
    assert (court.root.parent / "n").read_text().count("x") == 4
    verdict = court.judge("echo x >> ../m; test $(wc -l < ../m) -lt 4")
    assert (verdict.result, verdict.reason) == (Result.UNKNOWN, Reason.FLAKY)


def test_a_contract_that_is_broken_is_not_run_more_often_than_once(court: Courtroom) -> None:
    court.judgings = 4
    assert court.judge("echo x >> ../n; false").result is Result.BROKEN
    assert (court.root.parent / "n").read_text().count("x") == 1


def test_having_been_tampered_with_is_no_answer_that_could_be_contradicted(
    court: Courtroom,
) -> None:
    court.write("out.txt", "x")
    changed = Guard(produced={"out.txt": "file:of another time"})
    refused = court.judge("echo x >> ../n; test -s out.txt", guard=changed)
    assert refused.reason is Reason.TAMPERED
    court.record(refused)
    assert court.judge("echo x >> ../n; test -s out.txt").kept
    assert (court.root.parent / "n").read_text().count("x") == 1
