"""A contract is judged with the programs that were approved, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from signoff.domain.plan import Contract
from signoff.verification.obstacles import tools_of
from signoff.verification.pins import changed_tools


def tool(folder: Path, name: str, text: str = "exit 0") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def test_a_program_is_known_by_place_and_bytes(tmp_path: Path, workspace: Path) -> None:
    path = tool(tmp_path / "bin", "checker")
    seen = tools_of(Contract("checker --all && cd x"), str(tmp_path / "bin"), workspace)
    assert list(seen) == ["checker"]
    assert seen["checker"]["path"] == str(path)
    assert len(seen["checker"]["sha256"]) == 64


def test_another_program_of_the_same_name_is_a_change(tmp_path: Path, workspace: Path) -> None:
    tool(tmp_path / "bin", "checker")
    search = f"{tmp_path / 'first'}:{tmp_path / 'bin'}"
    contract = Contract("checker")
    before = tools_of(contract, search, workspace)
    tool(tmp_path / "first", "checker")
    changed = changed_tools(before, tools_of(contract, search, workspace))
    assert len(changed) == 1 and str(tmp_path / "first") in changed[0]


def test_other_bytes_in_the_same_place_are_a_change(tmp_path: Path, workspace: Path) -> None:
    path = tool(tmp_path / "bin", "checker")
    before = tools_of(Contract("checker"), str(tmp_path / "bin"), workspace)
    times = path.stat()
    tool(tmp_path / "bin", "checker", "exit 1")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert changed_tools(before, tools_of(Contract("checker"), str(tmp_path / "bin"), workspace))


def test_a_program_that_appears_later_is_a_change(tmp_path: Path, workspace: Path) -> None:
    search = str(tmp_path / "bin")
    before = tools_of(Contract("checker"), search, workspace)
    assert before == {"checker": {"path": None}}
    tool(tmp_path / "bin", "checker")
    (message,) = changed_tools(before, tools_of(Contract("checker"), search, workspace))
    assert message.startswith("`checker` was not there, is `")


def test_a_link_to_another_program_is_a_change(tmp_path: Path, workspace: Path) -> None:
    one, two = tool(tmp_path / "opt", "one"), tool(tmp_path / "opt", "two", "exit 1")
    link = tmp_path / "bin" / "checker"
    link.parent.mkdir()
    link.symlink_to(one)
    before = tools_of(Contract("checker"), str(tmp_path / "bin"), workspace)
    link.unlink()
    link.symlink_to(two)
    assert changed_tools(before, tools_of(Contract("checker"), str(tmp_path / "bin"), workspace))


def test_a_program_of_the_workspace_is_labelled_a_by_product(workspace: Path) -> None:
    tool(workspace / ".venv/bin", "pytest")
    contract = Contract(f"{workspace}/.venv/bin/pytest")
    (seen,) = tools_of(contract, "/usr/bin", workspace).values()
    assert seen["by_product"] is True and "sha256" not in seen


def test_what_bash_does_itself_or_cannot_be_seen_is_not_pinned(workspace: Path) -> None:
    contract = Contract('check() { true; }; check; cd x; $TOOL; ./run.sh; eval "$X"')
    assert tools_of(contract, "/usr/bin:/bin", workspace) == {}
