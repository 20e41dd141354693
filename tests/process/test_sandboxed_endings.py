"""How a confined command ended is told apart as well as without a sandbox."""

from __future__ import annotations

import signal
import threading

import pytest
from msgspec.structs import replace

from signoff.domain.verdict import Ending
from signoff.process.limits import Limits
from signoff.process.proctable import remembers_exits
from signoff.process.runner import run
from signoff.process.shell import shell_command

from .commands import environment
from .pens import Pen


@pytest.mark.parametrize("code", [0, 1, 3, 125, 128, 193, 255])
def test_an_exit_code_is_reported_as_it_is(code: int, pen: Pen) -> None:
    seen = pen.bash(f"exit {code}")
    assert (seen.ending, seen.exit_code, seen.signal) == (Ending.EXITED, code, None)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGHUP])
def test_a_signal_is_not_an_exit_code(number: signal.Signals, pen: Pen) -> None:
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("whoever started the tests ignores this signal, and so does every child")
    seen = pen.bash(f"kill -{number.value} $$; exit 0")
    assert (seen.ending, seen.exit_code, seen.signal) == (Ending.SIGNALLED, None, number)


@pytest.mark.parametrize("code", [129, 137, 139, 143])
def test_a_code_that_looks_like_a_signal_is_told_apart_where_the_kernel_remembers(
    code: int, pen: Pen
) -> None:
    if pen.confinement.isolation == "bubblewrap" and not remembers_exits():
        pytest.skip("this kernel does not say how a process ended that another one collected")
    seen = pen.bash(f"sleep 0.3; exit {code}")
    assert (seen.ending, seen.exit_code) == (Ending.EXITED, code)


def test_the_shells_127_and_126_mean_that_nothing_was_judged(pen: Pen) -> None:
    (pen.workspace / "plain").write_text("no program")
    missing, plain = pen.bash("surely-no-such-tool"), pen.bash("./plain")
    assert (missing.ending, missing.exit_code) == (Ending.NOT_FOUND, 127)
    assert (plain.ending, plain.exit_code) == (Ending.NOT_EXECUTABLE, 126)


def test_a_program_that_is_not_there_is_named(pen: Pen) -> None:
    seen = run(pen.command(("surely-no-such-tool",)))
    assert (seen.ending, seen.exit_code) == (Ending.NOT_FOUND, None)
    assert seen.describe() == "not found: `surely-no-such-tool`: no such file or directory"


def test_a_file_without_permission_is_not_executable(pen: Pen) -> None:
    (pen.workspace / "plain").write_text("#!/bin/sh\n")
    seen = run(pen.command((str(pen.workspace / "plain"),)))
    assert (seen.ending, seen.exit_code) == (Ending.NOT_EXECUTABLE, None)


def test_a_missing_folder_is_not_mistaken_for_a_missing_program(pen: Pen) -> None:
    gone = pen.root / "gone"
    seen = run(replace(pen.command(shell_command("true")), cwd=gone))
    assert (seen.ending, seen.detail) == (Ending.NOT_STARTED, f"the folder `{gone}` is not there")


@pytest.mark.parametrize("argv", [(), ("bash", "-c", "a\0b"), ("bash", "-c", "x" * 4_000_000)])
def test_what_the_system_cannot_start_is_not_started(argv: tuple[str, ...], pen: Pen) -> None:
    seen = run(pen.command(argv))
    assert seen.ending is Ending.NOT_STARTED
    assert seen.detail


def test_a_sandbox_that_cannot_be_set_up_is_no_exit_code(cell: Pen) -> None:
    """The folder of the command lies in a private place that nobody opened."""
    alone = cell.with_rules(writable=(), readonly=(), readable=(), hidden=())
    seen = alone.bash("exit 0")
    if cell.root.parts[1] != "tmp":
        pytest.skip("the temporary folder of the tests is not private")
    assert (seen.ending, seen.exit_code) == (Ending.NOT_STARTED, None)
    assert seen.detail.startswith("bubblewrap: Can't chdir")


def test_printing_like_a_failed_sandbox_does_not_look_like_one(cell: Pen) -> None:
    seen = cell.bash("echo 'bwrap: execvp x: No such file or directory' >&2; exit 1")
    assert (seen.ending, seen.exit_code) == (Ending.EXITED, 1)


def test_the_deadline_gives_time_to_clean_up(pen: Pen) -> None:
    text = "trap 'echo caught; exit 0' TERM; echo begun; while :; do sleep 0.05; done"
    seen = pen.bash(text, Limits(wall_s=3.0, grace_s=30.0))
    assert (seen.ending, seen.exit_code) == (Ending.TIMED_OUT, None)
    assert seen.stdout.head == b"begun\ncaught\n"


def test_a_stopped_process_still_hears_the_deadline(pen: Pen) -> None:
    text = "trap 'echo woken; exit 0' TERM; kill -STOP $$; sleep 600 & wait"
    seen = pen.bash(text, Limits(wall_s=3.0, grace_s=30.0))
    assert (seen.ending, seen.stdout.head) == (Ending.TIMED_OUT, b"woken\n")


def test_a_cancelled_run_says_so(pen: Pen) -> None:
    wish = threading.Event()
    seen = run(
        pen.command(shell_command("echo begun; sleep 600")),
        cancelled=wish.is_set,
        on_output=lambda _name, _chunk: wish.set(),
    )
    assert (seen.ending, seen.exit_code) == (Ending.CANCELLED, None)


def test_printing_more_than_allowed_is_stopped(pen: Pen) -> None:
    seen = pen.bash("yes", Limits(wall_s=60, max_output=1_000_000))
    assert (seen.ending, seen.exit_code) == (Ending.OUTPUT_LIMIT, None)


def test_input_reaches_the_command_and_its_environment_is_exactly_the_given_one(pen: Pen) -> None:
    command = pen.command(("/usr/bin/env",), GREETING="good\nday = yes", EMPTY="")
    listed = run(command).stdout.head.decode()
    expected = set(environment(GREETING="", EMPTY="")) | {"PWD", "TMPDIR"}
    names = {line.partition("=")[0] for line in listed.splitlines() if "=" in line}
    assert names - {"day "} <= expected
    assert "GREETING=good\nday = yes\n" in listed
    echoed = run(replace(pen.command(shell_command("cat")), stdin=b"x" * 300_000))
    assert echoed.stdout.size == 300_000
