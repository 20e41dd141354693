"""Verification commands: where they come from, in which order, and what is never one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from signoff.domain.session import Artifact, TaskBasis
from signoff.toolbatch.deriving import (
    LONGEST_COMMAND,
    MOST_COMMANDS,
    MOST_TOLD_APART,
    Check,
    CheckSource,
    CheckSources,
    Derived,
    checker_commands,
    derive,
    worthless,
)

PYTEST = "python3 -c 'import pytest' || exit 127; python3 -m pytest -q -p no:cacheprovider"


def put(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def project(root: Path, *touched: str, **files: str) -> list[str]:
    """The documented commands for these files."""
    put(root, **files)
    derived = derived_from(root, *touched)
    return [c.command for c in derived.checks if c.source == CheckSource.PROJECT]


def derived_from(
    root: Path, *touched: str, planned: tuple[Artifact, ...] = (), **sources: Any
) -> Derived:
    return derive(touched, planned, TaskBasis(), root, CheckSources(**sources))


def package(**scripts: str) -> str:
    return json.dumps({"scripts": scripts})


@pytest.mark.parametrize(
    "command",
    [
        "true",
        ":",
        "echo done",
        "exit 0",
        "pytest -q || true",
        "pytest -q; echo finished",
        "make test | tee log",
        "make test &",
        "touch a.txt && test -f a.txt",
        "echo x > a.txt; test -s a.txt",
        "if false; then exit 1; fi",
        "# pytest",
        "",
        "   ",
        "test -f 'a",
        "true\u200b",
        "tr\0ue",
        "exit 1",
    ],
)
def test_a_command_that_cannot_fail_or_cannot_hold_is_no_check(
    tmp_path: Path, command: str
) -> None:
    derived = derived_from(tmp_path, contracts=(command,))
    assert derived.checks == () and len(derived.refused) == 1


@pytest.mark.parametrize("command", ["pytest -q", "test -f a", "grep -q '```' a.md", "a && b"])
def test_a_command_that_can_fail_is_one(command: str) -> None:
    assert worthless(command) == ""


@pytest.mark.parametrize(
    "files",
    [
        {"pytest_dot_ini": "[pytest]\n"},
        {"pyproject_dot_toml": "[tool.pytest.ini_options]\n"},
        {"setup_dot_cfg": "[tool:pytest]\n"},
        {"tox_dot_ini": "[pytest]\n"},
        {"tests__test_x_dot_py": ""},
        {"x_test_dot_py": ""},
    ],
    ids=lambda files: next(iter(files)),
)
def test_pytest_is_run_where_the_project_has_it_and_python_was_touched(
    tmp_path: Path, files: dict[str, str]
) -> None:
    assert project(tmp_path, "src/a.py", **files) == [PYTEST]
    assert project(tmp_path, "index.html") == []


def test_python_without_tests_documents_nothing(tmp_path: Path) -> None:
    broken = {"pyproject_dot_toml": "[tool.pytest", "setup_dot_cfg": "no section"}
    assert project(tmp_path, "a.py", **broken) == []


def test_a_project_whose_pytest_is_not_installed_is_unknown_and_not_broken(
    tmp_path: Path,
) -> None:
    bare = tmp_path / "python3"
    bare.write_text('#!/bin/sh\n[ "$2" = "import pytest" ] && exit 1\nexit 0\n')
    bare.chmod(0o755)
    run = subprocess.run(
        ["bash", "-c", PYTEST], env={"PATH": f"{tmp_path}:{os.defpath}"}, check=False
    )
    assert run.returncode == 127


@pytest.mark.parametrize(
    ("scripts", "command"),
    [
        ({"test": "vitest run"}, ["npm run --silent test"]),
        (
            {"test": 'echo "Error: no test specified" && exit 1', "lint": "eslint ."},
            ["npm run --silent lint"],
        ),
        ({"test": "echo ok"}, []),
        ({"test": "exit 0", "check": "tsc"}, ["npm run --silent check"]),
        ({"test": "jest || true"}, []),
        ({"start": "node x"}, []),
    ],
)
def test_npm_scripts_count_when_they_can_fail(
    tmp_path: Path, scripts: dict[str, str], command: list[str]
) -> None:
    put(tmp_path, package_dot_json=package(**scripts))
    assert project(tmp_path, "src/a.ts") == command
    assert project(tmp_path, "a.rs") == []


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"scripts": []}', '{"scripts": {"test": 3}}', "[" * 5000]
)
def test_a_manifest_that_cannot_be_read_documents_nothing(tmp_path: Path, text: str) -> None:
    assert project(tmp_path, "a.js", package_dot_json=text) == []


def test_cargo_and_go_are_run_for_their_own_files(tmp_path: Path) -> None:
    put(tmp_path, Cargo_dot_toml='[package]\nname = "x"\n', go_dot_mod="module example.org/x\n")
    assert project(tmp_path, "src/lib.rs") == ["cargo test --quiet"]
    assert project(tmp_path, "main.go") == ["go vet ./... && go test ./..."]
    assert project(tmp_path, "a.rs", "b.go") == [
        "cargo test --quiet",
        "go vet ./... && go test ./...",
    ]
    assert project(tmp_path, "a.txt") == []


@pytest.mark.parametrize(
    ("makefile", "command"),
    [
        ("test:\n\tpytest -q\n", ["make --always-make test"]),
        ("all: x\ncheck: lint\nlint:\n\truff check\n", ["make --always-make check"]),
        ("test:: \n\t@pytest\n", ["make --always-make test"]),
        ("test: ; mypy .\n", ["make --always-make test"]),
        ("test:\n\t@echo ok\n", []),
        ("test:\n\t-pytest -q\n", []),
        ("test:\n\tpytest -q || true\n", []),
        ("test:\n\t# nothing\n", []),
        ("test := 3\n", []),
        ("testing:\n\tpytest\n", []),
        ("build:\n\tcc x.c\n", []),
    ],
)
def test_a_make_target_counts_when_it_is_there_and_can_fail(
    tmp_path: Path, makefile: str, command: list[str]
) -> None:
    assert project(tmp_path, "x.c", Makefile=makefile) == command


def test_make_is_asked_only_where_nothing_nearer_answers(tmp_path: Path) -> None:
    files = {"Makefile": "test:\n\tpytest -q\n", "tests__test_a_dot_py": ""}
    assert project(tmp_path, "a.py", **files) == [PYTEST]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_a_folder_with_the_name_of_the_target_does_not_make_it_up_to_date(tmp_path: Path) -> None:
    (command,) = project(tmp_path, "x.c", Makefile="test:\n\tcc gone.c\n")
    (tmp_path / "test").mkdir()
    run = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, check=False)
    assert run.returncode != 0


def test_a_manifest_from_outside_of_the_project_is_not_read(tmp_path: Path) -> None:
    root = tmp_path / "work"
    put(tmp_path, outside="test:\n\tpytest\n", work__x_dot_c="")
    (root / "Makefile").symlink_to("../outside")
    assert project(root, "x.c") == []


def test_only_files_that_are_there_and_inside_are_checked(tmp_path: Path) -> None:
    put(tmp_path, a_dot_md="x", outside_dot_md="x", work__b_dot_md="x")
    touched = ("b.md", "../outside.md", str(tmp_path / "a.md"), "gone.md", "b\0.md")
    checks = derived_from(tmp_path / "work", *touched).checks
    assert [c.command for c in checks] == ["signoff check-artifact ./b.md"]


def test_whoever_knows_the_checkers_says_for_which_files_there_is_one(tmp_path: Path) -> None:
    put(tmp_path, a_dot_xyz="x", b_dot_md="x")
    has_checker = lambda path: path.endswith(".xyz")  # noqa: E731 - one line says it
    found = derived_from(tmp_path, "a.xyz", "b.md", has_checker=has_checker)
    assert [c.command for c in found.checks] == ["signoff check-artifact ./a.xyz"]


def test_whoever_knows_how_checkers_are_run_says_so(tmp_path: Path) -> None:
    put(tmp_path, b_dot_md="x")
    found = derived_from(tmp_path, "b.md", checker="python3 -m x")
    assert [c.command for c in found.checks] == ["python3 -m x ./b.md"]


def test_many_files_make_few_commands_of_a_length_that_a_plan_takes() -> None:
    commands = checker_commands(f"folder/file-{n}.md" for n in range(500))
    assert len(commands) < 6 and all(len(c) <= LONGEST_COMMAND for c in commands)
    assert sum(command.count("./folder/") for command in commands) == 500


def test_odd_names_stay_single_words(tmp_path: Path) -> None:
    name = "a b;$(touch x)\n-'\"\x01.md"
    (tmp_path / name).write_text("x")
    derived = derived_from(tmp_path, name)
    (command,) = [c.command for c in derived.checks]
    shown = subprocess.run(
        ["bash", "-c", command.replace("signoff check-artifact", "printf '%s|'")],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    assert shown.stdout.decode() == f"./{name}|" and not (tmp_path / "x").exists()


def test_a_flood_of_other_files_hides_no_check(tmp_path: Path) -> None:
    flood = tuple(f"0/{n}.txt" for n in range(MOST_TOLD_APART))
    tests = {"tests__test_a_dot_py": "def test_a(): pass"}
    assert project(tmp_path, *flood[1:], **tests) == []
    assert project(tmp_path, *flood, **tests) == [PYTEST]


def test_the_order_is_contracts_then_project_then_checkers(tmp_path: Path) -> None:
    put(tmp_path, tests__test_a_dot_py="def test_a(): pass", app_dot_py="x = 1")
    planned = (Artifact("app.py"), Artifact("docs", directory=True))
    contracts = ("make check", "./verify.sh")
    derived = derived_from(tmp_path, "app.py", "gone.py", planned=planned, contracts=contracts)
    assert derived.checks == (
        Check("make check", CheckSource.CONTRACT),
        Check("./verify.sh", CheckSource.CONTRACT),
        Check(PYTEST, CheckSource.PROJECT),
        Check("signoff check-artifact ./app.py", CheckSource.ARTIFACT),
    )
    assert derived.refused == () and all(not worthless(c.command) for c in derived.checks)


def test_checks_that_do_not_fit_are_said(tmp_path: Path) -> None:
    contracts = tuple(f"check {n}" for n in range(MOST_COMMANDS + 3))
    derived = derived_from(tmp_path, contracts=contracts)
    assert len(derived.checks) == MOST_COMMANDS and "3 checks are more" in derived.refused[0]
