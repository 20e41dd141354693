"""How a contract's process ended decides what may be said: unknown is never kept."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from signoff.domain.digests import digest_bytes
from signoff.domain.plan import Contract, Expectation, ExpectationKind, JudgeIn
from signoff.domain.verdict import Ending, Isolation, Observation, Output, Phase, Reason, Result
from signoff.errors import Interrupted, ListUnreadable
from signoff.verification.evidence import Case
from signoff.verification.verdicts import compare
from tests.verification.courtroom import Courtroom, exit_code

_NOTHING = Output(0, digest_bytes(b""), b"", b"")


def _working_folders() -> list[str]:
    """Where every process of this machine works."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            found.append(str(link.readlink()))
    return found


def test_a_contract_that_exits_as_expected_is_kept(court: Courtroom) -> None:
    verdict = court.judge("echo fine")
    assert (verdict.result, verdict.reason, verdict.message) == (
        Result.KEPT,
        Reason.HELD,
        "exit code 0",
    )
    assert verdict.kept
    assert verdict.exit_code == 0
    assert verdict.output_tail == "fine"
    assert verdict.stdout_sha256 == digest_bytes(b"fine\n")
    assert verdict.stderr_sha256 == digest_bytes(b"")
    assert verdict.snapshot == court.snapshot()
    assert verdict.isolation is Isolation.NONE
    assert (verdict.subject, verdict.phase) == ("1", Phase.ATTEMPT)


def test_content_that_takes_too_long_to_look_at_is_unknown_and_says_so(court: Courtroom) -> None:
    known = court.judge("true").snapshot
    case = Case("1", Contract("true"), Phase.ATTEMPT, snapshot_s=0.0)
    verdict = court.judge_itself.judge(case)
    assert (verdict.result, verdict.reason) == (Result.UNKNOWN, Reason.INFRASTRUCTURE)
    assert verdict.message == (
        "could not judge: reading all files of the workspace took longer than 0 s"
    )
    assert verdict.snapshot == known


@pytest.mark.parametrize("code", [1, 2, 3, 125, 128, 255])
def test_any_other_exit_code_is_broken(court: Courtroom, code: int) -> None:
    verdict = court.judge(f"exit {code}")
    assert (verdict.result, verdict.reason) == (Result.BROKEN, Reason.EXPECTATION)
    assert verdict.message == f"exit code {code}, expected 0"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("kill -9 $$", Reason.SIGNALLED),
        ("kill -TERM $$", Reason.SIGNALLED),
        ("no-such-command-anywhere", Reason.NOT_FOUND),
        ("./plain.txt", Reason.NOT_EXECUTABLE),
        ("exit 127", Reason.NOT_FOUND),
        ("exit 126", Reason.NOT_EXECUTABLE),
        ("true\0", Reason.INFRASTRUCTURE),
    ],
    ids=["killed", "terminated", "not found", "not executable", "127", "126", "nul"],
)
def test_a_contract_that_did_not_come_to_its_own_end_is_unknown(
    court: Courtroom, command: str, reason: Reason
) -> None:
    court.write("plain.txt")
    verdict = court.judge(command)
    assert (verdict.result, verdict.reason) == (Result.UNKNOWN, reason)
    assert verdict.message.startswith("could not judge: ")
    assert not verdict.kept


@pytest.mark.parametrize(
    "command",
    [
        "true #" + "x" * 200_000,
        "[[ $0 == */bash && $# == 0 && $- == \"$(bash --noprofile --norc -c 'echo $-')\" ]]",
        'test -z "$(cat)" && ! read -r line',
        "[[ '\1\177' == $'\\1\\177' && 'ä' == $'\\xc3\\xa4' ]]",
        "grep -qxF 'it\"s $HOME \\\\ `x`' <<'END'\nit\"s $HOME \\\\ `x`\nEND",
        "false\ntrue",
        "[[ $LINENO == 1 ]]\ntrue",
    ],
    ids=["long", "arguments", "no input", "bytes", "here-document", "last status", "lines"],
)
def test_a_contract_is_bash_with_the_text_as_it_stands(court: Courtroom, command: str) -> None:
    assert court.judge(command).kept, court.printed


def test_an_early_end_and_an_error_of_syntax_have_the_status_that_bash_gives_them(
    court: Courtroom,
) -> None:
    assert court.judge("exit 3\ntrue").message == "exit code 3, expected 0"
    assert court.judge("true\nif").message == "exit code 2, expected 0"
    assert court.judge("set -e; false; true").message == "exit code 1, expected 0"


LOOKS_AT_ALL = """
import glob, sys
here = b"golden " + b"rule"
for path in glob.glob("/proc/[0-9]*/*") + glob.glob("/proc/[0-9]*/fd/*"):
    if path.rpartition("/")[2] in ("cmdline", "environ") or "/fd/" in path:
        try:
            with open(path, "rb", buffering=0) as file:
                if file.seekable() and here in file.read(1 << 20) or here in (
                    b"" if "/fd/" in path else open(path, "rb").read()
                ):
                    sys.exit(f"read in {path}")
        except OSError:
            pass
"""


def test_a_product_reads_the_check_from_no_process_that_runs_it(court: Courtroom) -> None:
    court.write("product.py", LOOKS_AT_ALL)
    verdict = court.judge("python3 product.py && : golden rule")
    assert verdict.kept, verdict.output_tail


@pytest.mark.parametrize("code", [126, 127])
def test_expecting_the_code_of_a_missing_command_does_not_make_it_kept(
    court: Courtroom, code: int
) -> None:
    verdict = court.judge(Contract(f"exit {code}", (exit_code(code),)))
    assert verdict.result is Result.UNKNOWN


def test_a_contract_that_takes_too_long_is_unknown_and_its_processes_are_gone(
    court: Courtroom,
) -> None:
    command = "(sleep 600; touch late.txt) & echo begun; sleep 600"
    verdict = court.judge(Contract(command, timeout_s=0.5))
    assert (verdict.result, verdict.reason) == (Result.UNKNOWN, Reason.TIMED_OUT)
    assert verdict.output_tail == "begun"
    assert not any(court.root == Path(c) for c in _working_folders())


def test_what_a_kept_contract_leaves_running_is_killed_and_counted(court: Courtroom) -> None:
    verdict = court.judge("setsid sleep 600 > /dev/null 2>&1 < /dev/null & true")
    assert verdict.result is Result.KEPT
    assert verdict.leftovers_killed == 1


# A cancelled judging raises before anything is compared, see below.
@pytest.mark.parametrize("ending", sorted(set(Ending) - {Ending.EXITED, Ending.CANCELLED}))
def test_no_ending_but_an_exit_can_be_kept(ending: Ending) -> None:
    observation = Observation(ending, 0, None, 0.1, _NOTHING, _NOTHING)
    answer = compare(Contract("true"), observation)
    assert answer.result is Result.UNKNOWN
    assert answer.reason is not Reason.HELD


def test_a_judging_that_a_person_interrupts_gives_no_verdict_at_all(court: Courtroom) -> None:
    court.cancelled = lambda: b"begun" in court.printed
    with pytest.raises(Interrupted):
        court.judge("echo begun; sleep 600")


def test_a_number_of_tests_that_nobody_reports_is_never_taken_as_met(court: Courtroom) -> None:
    tests = Expectation(ExpectationKind.TESTS_AT_LEAST, 1)
    verdict = court.judge(Contract("true", (tests,)))
    assert (verdict.result, verdict.reason) == (Result.UNKNOWN, Reason.TESTS)
    assert verdict.message == "could not judge: no test report was found for `tests >= 1`"


@pytest.mark.parametrize(
    ("demand", "message"),
    [
        ({"network": False}, "`network: no` needs a sandbox"),
        ({"judge_in": JudgeIn.CLEAN}, "`judge_in: clean` needs a clean room; none here"),
    ],
)
def test_isolation_that_is_demanded_and_missing_is_unknown_and_nothing_runs(
    court: Courtroom, demand: dict[str, Any], message: str
) -> None:
    verdict = court.judge(Contract("touch ran.txt", **demand))
    assert (verdict.result, verdict.reason) == (Result.UNKNOWN, Reason.SANDBOX_MISSING)
    assert verdict.message == f"could not judge: {message}"
    assert not (court.root / "ran.txt").exists()


def test_a_list_is_read_once_per_line_without_blanks(court: Courtroom) -> None:
    found = court.runner.read_list("printf 'b\\n\\n  a \\nb\\r\\n\\n'", court.root)
    assert found == ("b", "a")


@pytest.mark.parametrize("command", ["echo a; exit 1", "kill -9 $$", "no-such-command-anywhere"])
def test_a_list_from_a_failing_command_is_no_list(court: Courtroom, command: str) -> None:
    with pytest.raises(ListUnreadable, match="the list could not be read"):
        court.runner.read_list(command, court.root)


def test_a_list_without_end_is_refused_instead_of_cut(court: Courtroom) -> None:
    with pytest.raises(ListUnreadable, match="longer than 16000000 bytes"):
        court.runner.read_list("head -c 17000000 /dev/zero | tr '\\0' 'x'", court.root)
