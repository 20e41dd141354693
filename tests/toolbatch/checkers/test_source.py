"""Code parses; nothing of it is run to find out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.toolbatch.checkers.kit import Artifacts


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("", []),
        ("x = 1\nasync def f():\n    await x\n", []),
        (b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", []),
        ("x = 1\ndef f(:\n", ["2 syntax"]),
        ("if x:\npass\n", ["2 syntax"]),
        ("x = 1\nreturn x\n", ["2 syntax"]),
        (b"x = '\xe9'\n", ["1 syntax"]),
        (b"x = 1\0\n", ["1 syntax"]),
        ("x = " + "-" * 50_000 + "1", ["1 ~too-complex"]),
    ],
)
def test_python_is_compiled(artifacts: Artifacts, content: str | bytes, found: list[str]) -> None:
    assert artifacts.of("a.py", content) == found


def test_nothing_is_executed_to_check_it(artifacts: Artifacts, tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    artifacts.file("a.py", f"open({str(mark)!r}, 'w')\n")
    artifacts.file("a.sh", f": > {mark}\nx=$(: > {mark})\n")
    assert artifacts.report().files == 2
    assert not mark.exists()


def test_without_bash_nobody_can_tell_and_that_is_no_pass(
    artifacts: Artifacts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert artifacts.of("a.sh", "echo a\n") == ["1 ~tool-missing"]
    assert not artifacts.report().kept


def test_a_judge_that_lies_below_the_root_is_not_asked(
    artifacts: Artifacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifacts.file("bin/bash", "#!/bin/sh\nexit 0\n")
    (artifacts.root / "bin/bash").chmod(0o755)
    monkeypatch.setenv("PATH", f"{artifacts.root / 'bin'}:/usr/local/bin:/usr/bin:/bin")
    assert artifacts.of("a.sh", "if\n") == ["2 syntax"]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("#!/bin/sh\nset -e\nfor f in *; do echo $f; done\n", []),
        ("#!/usr/bin/env bash\nlocal -a x=(1 2)\n", []),
        ("echo a\nif true; then\n", ["3 syntax"]),
        ("echo 'open\n", ["1 syntax"]),
        ("a=1\ncat <<END\nnever closed\n", ["3 syntax"]),
        ("#!/usr/bin/env fish\nif true\nend\n", ["1 ~tool-missing"]),
        (b"echo \xff\n", ["1 encoding"]),
    ],
)
def test_shell_scripts_are_read_by_bash(
    artifacts: Artifacts, content: str | bytes, found: list[str]
) -> None:
    assert artifacts.of("a.sh", content) == found
