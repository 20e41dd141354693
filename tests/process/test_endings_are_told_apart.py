"""How a process ended is never mixed up: only an exit by itself carries an exit code."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from signoff.domain.verdict import Ending
from signoff.process.command import Command
from signoff.process.limits import Limits
from signoff.process.runner import run

from .commands import bash, environment


@pytest.mark.parametrize("code", [0, 1, 3, 125, 128, 255])
def test_an_exit_code_is_reported_as_it_is(code: int, tmp_path: Path) -> None:
    seen = run(bash(f"exit {code}", tmp_path))
    assert (seen.ending, seen.exit_code, seen.signal) == (Ending.EXITED, code, None)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_signal_is_not_an_exit_code(number: signal.Signals, tmp_path: Path) -> None:
    seen = run(bash(f"kill -{number.value} $$; exit 0", tmp_path))
    assert (seen.ending, seen.exit_code, seen.signal) == (Ending.SIGNALLED, None, number)


def test_the_shells_127_and_126_mean_that_nothing_was_judged(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("no program")
    missing = run(bash("surely-no-such-tool", tmp_path))
    plain = run(bash("./plain", tmp_path))
    assert (missing.ending, missing.exit_code) == (Ending.NOT_FOUND, 127)
    assert (plain.ending, plain.exit_code) == (Ending.NOT_EXECUTABLE, 126)


def _direct(program: str, cwd: Path) -> Command:
    return Command((program,), cwd, environment(), Limits(wall_s=10))


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    seen = run(_direct("surely-no-such-tool", tmp_path))
    assert (seen.ending, seen.exit_code) == (Ending.NOT_FOUND, None)
    assert seen.describe() == "not found: `surely-no-such-tool`: no such file or directory"


def test_a_file_without_permission_or_format_is_not_executable(tmp_path: Path) -> None:
    plain, odd = tmp_path / "plain", tmp_path / "odd"
    plain.write_text("#!/bin/sh\n")
    odd.write_bytes(b"\x00\x01\x02\x03")
    odd.chmod(0o755)
    assert run(_direct(str(plain), tmp_path)).ending is Ending.NOT_EXECUTABLE
    assert run(_direct(str(odd), tmp_path)).ending is Ending.NOT_EXECUTABLE
    assert run(_direct(str(tmp_path), tmp_path)).ending is Ending.NOT_EXECUTABLE


def test_a_script_whose_interpreter_is_missing_is_not_found(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    assert run(_direct(str(script), tmp_path)).ending is Ending.NOT_FOUND


def test_a_missing_folder_is_not_mistaken_for_a_missing_program(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    seen = run(bash("true", gone))
    assert (seen.ending, seen.detail) == (
        Ending.NOT_STARTED,
        f"the folder `{gone}` is not there",
    )
    file = tmp_path / "file"
    file.touch()
    assert run(bash("true", file)).ending is Ending.NOT_STARTED


@pytest.mark.parametrize("argv", [(), ("bash", "-c", "a\0b"), ("bash", "-c", "x" * 4_000_000)])
def test_what_the_system_cannot_start_is_not_started(argv: tuple[str, ...], tmp_path: Path) -> None:
    seen = run(Command(argv, tmp_path, environment(), Limits(wall_s=10), find_stdout=(b"x",)))
    assert seen.ending is Ending.NOT_STARTED
    assert seen.detail
    assert (seen.stdout.size, seen.stdout_matches) == (0, (False,))


def test_the_deadline_ends_a_run_that_does_not(tmp_path: Path) -> None:
    seen = run(bash("echo begun; sleep 600", tmp_path, wall_s=0.5))
    assert (seen.ending, seen.exit_code, seen.signal) == (Ending.TIMED_OUT, None, None)
    assert seen.stdout.head == b"begun\n"
    assert seen.describe() == "timed out: after 0.5 s"


def test_exiting_zero_on_sigterm_does_not_undo_a_timeout(tmp_path: Path) -> None:
    text = "trap 'echo caught; exit 0' TERM; echo begun; while :; do sleep 0.05; done"
    command = bash(text, tmp_path, wall_s=1.0)
    seen = run(replace(command, limits=Limits(wall_s=1.0, grace_s=30.0)))
    assert (seen.ending, seen.exit_code) == (Ending.TIMED_OUT, None)
    assert seen.stdout.head == b"begun\ncaught\n"


def test_a_stopped_process_still_hears_the_deadline(tmp_path: Path) -> None:
    text = "trap 'echo woken; exit 0' TERM; kill -STOP $$; sleep 600 & wait"
    command = bash(text, tmp_path)
    seen = run(replace(command, limits=Limits(wall_s=1.0, grace_s=30.0)))
    assert (seen.ending, seen.stdout.head) == (Ending.TIMED_OUT, b"woken\n")


def test_ignoring_sigterm_only_costs_the_grace(tmp_path: Path) -> None:
    command = bash("trap '' TERM; while :; do sleep 0.1; done", tmp_path)
    seen = run(replace(command, limits=Limits(wall_s=0.5, grace_s=0.2)))
    assert seen.ending is Ending.TIMED_OUT


def test_a_cancelled_run_says_so(tmp_path: Path) -> None:
    wish = threading.Event()
    seen = run(
        bash("echo begun; sleep 600", tmp_path),
        cancelled=wish.is_set,
        on_output=lambda _name, _chunk: wish.set(),
    )
    assert (seen.ending, seen.exit_code) == (Ending.CANCELLED, None)


def test_printing_more_than_allowed_is_stopped(tmp_path: Path) -> None:
    command = bash("yes", tmp_path)
    seen = run(replace(command, limits=Limits(wall_s=60, max_output=1_000_000)))
    assert (seen.ending, seen.exit_code) == (Ending.OUTPUT_LIMIT, None)
    assert seen.stdout.size > 1_000_000


def test_a_burst_over_the_limit_counts_even_when_the_process_is_gone(tmp_path: Path) -> None:
    command = bash("printf 123456; printf 78901 >&2; exit 0", tmp_path)
    over = run(replace(command, limits=Limits(wall_s=60, max_output=10)))
    exactly = run(replace(command, limits=Limits(wall_s=60, max_output=11)))
    assert (over.ending, over.exit_code) == (Ending.OUTPUT_LIMIT, None)
    assert (exactly.ending, exactly.exit_code) == (Ending.EXITED, 0)
