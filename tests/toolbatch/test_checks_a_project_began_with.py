"""What a project documented when the work began stays due, and proves nothing once it is gutted."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from signoff.domain.facts import read_fact
from signoff.domain.session import ProjectCheck, TaskBasis
from signoff.toolbatch.deriving import Check, CheckSource, Derived, derive, project_checks

TOUCHED = ("calc.py", "a.ts", "lib.rs", "main.go", "x.c")


def put(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def after(root: Path, began: tuple[ProjectCheck, ...], *touched: str) -> Derived:
    return derive(touched or TOUCHED, (), TaskBasis(project=began), root)


def due(found: Derived) -> list[str]:
    return [c.command for c in found.checks if c.source == CheckSource.PROJECT]


PROJECTS = {
    "pytest": ({"tests/test_a.py": "def test(): assert 1\n"}, "tests/test_a.py"),
    "npm": ({"package.json": json.dumps({"scripts": {"test": "jest"}})}, "package.json"),
    "cargo": ({"Cargo.toml": '[package]\nname="x"\n'}, "Cargo.toml"),
    "tests of cargo": (
        {"Cargo.toml": '[package]\nname="x"\n', "src/lib.rs": "#[test]\nfn a() {}\n"},
        "src/lib.rs",
    ),
    "go": ({"go.mod": "module x\n"}, "go.mod"),
    "tests of go": ({"go.mod": "module x\n", "a_test.go": "package x\n"}, "a_test.go"),
    "make": ({"Makefile": "test:\n\tpytest\n"}, "Makefile"),
}


@pytest.mark.parametrize("name", PROJECTS)
def test_deleting_what_a_check_rests_on_removes_no_check_and_is_said(
    tmp_path: Path, name: str
) -> None:
    files, rests_on = PROJECTS[name]
    put(tmp_path, files)
    began = project_checks(tmp_path)
    assert len(began) == 1 and after(tmp_path, began).shaken == ()
    (tmp_path / rests_on).unlink()
    found = after(tmp_path, began)
    assert began[0].command in due(found)
    assert f"`{began[0].command}`" in found.shaken[0]


@pytest.mark.parametrize(
    ("name", "gutted"),
    [
        ("pytest", {"pytest.ini": "[pytest]\naddopts = --collect-only\n"}),
        ("pytest", {"conftest.py": "def pytest_sessionfinish(session): session.exitstatus=0\n"}),
        ("npm", {"package.json": json.dumps({"scripts": {"test": "exit 0"}})}),
        ("npm", {".npmrc": "script-shell=/bin/true\n"}),
        ("make", {"Makefile": "test:\n\t@true\n"}),
        ("make", {"GNUmakefile": "test:\n\t@true\n"}),
    ],
)
def test_a_manifest_that_is_gutted_later_shakes_its_check_and_says_why(
    tmp_path: Path, name: str, gutted: dict[str, str]
) -> None:
    put(tmp_path, PROJECTS[name][0])
    began = project_checks(tmp_path)
    put(tmp_path, gutted)
    found = after(tmp_path, began)
    assert began[0].command in due(found)
    assert (
        "cannot fail" in found.shaken[0]
        or "nobody can tell" in found.shaken[0]
        or ("kept from judging" in found.shaken[0])
    )


def test_honest_changes_of_manifests_and_tests_shake_nothing(tmp_path: Path) -> None:
    put(tmp_path, PROJECTS["pytest"][0])
    put(tmp_path, {"go.mod": "module x\n", "package.json": '{"scripts": {"test": "jest"}}'})
    began = project_checks(tmp_path)
    put(
        tmp_path,
        {
            "tests/test_a.py": "def test(): assert 2\n",
            "tests/test_b.py": "def test(): assert 2\n",
            "conftest.py": "import pytest\n@pytest.fixture\ndef x(): return 1\n",
            "pytest.ini": "[pytest]\naddopts = -q -ra --strict-markers\n",
            "package.json": '{"scripts": {"test": "jest --ci"}, "dependencies": {"a": "1"}}',
            "a_test.go": "package x\n",
        },
    )
    found = after(tmp_path, began)
    assert found.shaken == () and len(due(found)) == 3
    assert sum("_test.go" in command for command in due(found)) == 1


def test_a_check_of_the_project_is_due_only_for_its_kinds_of_file(tmp_path: Path) -> None:
    put(tmp_path, {**PROJECTS["pytest"][0], **PROJECTS["npm"][0], **PROJECTS["make"][0]})
    began = project_checks(tmp_path)
    assert [len(check.kinds) > 0 for check in began] == [True, True, False]
    assert due(after(tmp_path, began, "README.txt")) == ["make --always-make test"]
    assert due(after(tmp_path, began, "a.ts")) == ["npm run --silent test"]
    shutil.rmtree(tmp_path / "tests")
    assert after(tmp_path, began, "a.ts").shaken == ()


def test_what_was_ever_due_of_the_project_stays_due(
    tmp_path: Path,
) -> None:
    put(tmp_path, PROJECTS["npm"][0])
    (check,) = project_checks(tmp_path)
    kept = Check(check.command, CheckSource.PROJECT)
    (tmp_path / "package.json").unlink()
    found = derive((), (), TaskBasis(due=(check.command,)), tmp_path)
    assert found.checks == (kept,) and len(found.shaken) == 1


def test_what_the_work_began_with_survives_being_stored(tmp_path: Path) -> None:
    put(tmp_path, {**PROJECTS["pytest"][0], "Makefile": "test:\n\tmy-tester\n"})
    began = project_checks(tmp_path)
    assert [check.proves for check in began] == [True, False]
    basis = TaskBasis(("a",), ("1",), began, ("make",))
    assert read_fact(TaskBasis, json.loads(json.dumps(basis.to_data()))) == basis


def test_a_command_that_never_proved_is_shaken_when_it_is_made_unable_to_fail(
    tmp_path: Path,
) -> None:
    put(tmp_path, {"Makefile": "test:\n\tmy-tester\n", "x.md": "x"})
    began = project_checks(tmp_path)
    assert after(tmp_path, began, "x.md").shaken == ()
    put(tmp_path, {"Makefile": "test:\n\t@true\n"})
    found = after(tmp_path, began, "x.md")
    assert began[0].command in due(found) and "cannot fail" in found.shaken[0]


def test_pytest_without_its_tests_is_broken(tmp_path: Path) -> None:
    put(tmp_path, PROJECTS["pytest"][0])
    (check,) = project_checks(tmp_path)
    command = check.command.replace("python3", sys.executable)
    held = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, check=False)
    shutil.rmtree(tmp_path / "tests")
    gone = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, check=False)
    assert held.returncode == 0 and gone.returncode not in (0, 127)


@pytest.mark.parametrize("name", ["tests of go", "tests of cargo"])
def test_where_a_tool_is_content_without_tests_the_command_is_not(
    tmp_path: Path, name: str
) -> None:
    files, tests = PROJECTS[name]
    put(tmp_path, files)
    (check,) = project_checks(tmp_path)
    guard = check.command.partition(" && ")[0]
    assert subprocess.run(["bash", "-c", guard], cwd=tmp_path, check=False).returncode == 0
    (tmp_path / tests).unlink()
    assert subprocess.run(["bash", "-c", guard], cwd=tmp_path, check=False).returncode != 0
