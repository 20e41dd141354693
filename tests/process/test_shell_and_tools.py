"""Contracts run in a bash of the system's own; tools are found only by absolute ways."""

from __future__ import annotations

from pathlib import Path

from signoff.process.runner import run
from signoff.process.shell import find_tool, shell_command

from .commands import bash


def test_the_shell_is_absolute_and_reads_no_start_up_files() -> None:
    program, *rest = shell_command("echo hi")
    assert Path(program).is_absolute()
    assert rest == ["--noprofile", "--norc", "-c", "echo hi"]


def test_a_bash_on_the_callers_path_is_not_used(tmp_path: Path) -> None:
    fake = tmp_path / "bash"
    fake.write_text("#!/bin/sh\necho fake\n")
    fake.chmod(0o755)
    seen = run(bash("echo $0", tmp_path))
    assert seen.stdout.head.decode().strip() == shell_command("")[0]


def test_a_tool_is_the_first_executable_file_on_the_path(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    for folder in (first, second):
        folder.mkdir()
    (first / "tool").write_text("not executable")
    (second / "tool").write_text("#!/bin/sh\n")
    (second / "tool").chmod(0o755)
    (first / "folder").mkdir()
    assert find_tool("tool", f"{first}:{second}") == second / "tool"
    assert find_tool("folder", f"{first}") is None


def test_nothing_is_found_by_way_of_the_current_folder(tmp_path: Path) -> None:
    assert find_tool("ls", "bin:.:") is None
    assert find_tool("./ls", "/bin") is None
    assert find_tool("..", "/bin") is None
    assert find_tool("", "/bin") is None
    assert find_tool("a\0b", "/bin") is None
    assert find_tool("/bin/ls", "") == Path("/bin/ls")
