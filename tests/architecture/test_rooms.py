"""Folder order is import order, and no room is left out."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib

import pytest
from importlinter import cli as importlinter

from tests.architecture.source import REPOSITORY, SOURCE, modules

# Loaded by one function only, which names the extra when the library is missing.
LIBRARIES_OF_THE_LEAF = {"model.py": {"pydantic_ai"}}

# What one room alone may import: the contract that says so, the room, the libraries.
RESERVED = [
    ("process-only", "process", {"subprocess", "multiprocessing", "pty"}),
    ("dbos-only", "orchestrator", {"dbos", "sqlalchemy"}),
]
# Whatever in `os` starts another program, or makes this one two.
STARTERS = re.compile(r"exec(l|v)|spawn(l|v)|posix_spawn|fork(pty)?$|popen$|system$|startfile$")


def test_every_import_contract_is_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(REPOSITORY)
    monkeypatch.syspath_prepend(str(REPOSITORY / "src"))
    code = importlinter.lint_imports(config_filename="pyproject.toml", no_cache=True)
    assert code == 0, capsys.readouterr().out


def _rooms() -> set[str]:
    found = {path.stem for path in SOURCE.glob("*.py")} - {"__init__"}
    return found | {path.parent.name for path in SOURCE.glob("*/__init__.py")}


@pytest.mark.parametrize(("contract", "keeper", "libraries"), RESERVED)
def test_no_room_is_forgotten_where_only_one_may_import(
    contract: str, keeper: str, libraries: set[str]
) -> None:
    linted = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["importlinter"]
    (found,) = [c for c in linted["contracts"] if c["id"] == contract]
    assert set(found["source_modules"]) == {f"signoff.{room}" for room in _rooms() - {keeper}}
    assert set(found["forbidden_modules"]) == libraries
    # The package's own door is in no contract: it would stand for every room in it.
    top = {module.split(".")[0] for module in _imports(modules()["__init__.py"])}
    assert top & libraries == set()


def test_nothing_outside_the_process_room_may_start_a_program_through_os() -> None:
    starters = [name for name in dir(os) if STARTERS.match(name)] + ["startfile"]
    assert {"execvp", "spawnvp", "forkpty", "fork", "posix_spawnp", "popen"} <= {*starters}
    lines = [f"os.{name}" for name in starters] + [f"from os import {name}" for name in starters]
    text = "\n".join(["import os", *lines, ""])
    for room in sorted(_rooms() - {"process"}):
        assert _banned(f"{room}/door.py", text) == set(range(2, len(lines) + 2)), room
    assert _banned("process/door.py", text) == set()


def _banned(name: str, text: str) -> set[int]:
    """The lines of such a module that the linter refuses as banned calls."""
    linter = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format=json"]
    found = subprocess.run(
        [*linter, "--select=TID251", f"--stdin-filename=src/signoff/{name}", "-"],
        cwd=REPOSITORY,
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    return {one["location"]["row"] for one in json.loads(found.stdout)}


def _imports(text: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def test_the_leaf_for_tests_needs_the_standard_library_alone() -> None:
    allowed = {*sys.stdlib_module_names, "signoff"}
    for path in (SOURCE / "testing").glob("*.py"):
        more = LIBRARIES_OF_THE_LEAF.get(path.name, set())
        for module in _imports(path.read_text()):
            assert module.split(".")[0] in allowed | more, f"{path.name} imports {module}"
            assert not module.startswith("signoff") or module.startswith(
                ("signoff.testing", "signoff.errors")
            )


def test_every_room_has_its_tests() -> None:
    rooms = {p.name for p in SOURCE.iterdir() if (p / "__init__.py").exists()}
    without = {r for r in rooms if not (REPOSITORY / "tests" / r / "__init__.py").exists()}
    # Doors and use cases are proved black-box through the command line.
    assert without <= {"usecases", "testing"}, without


def test_nothing_in_the_product_imports_its_tests() -> None:
    for name, text in modules().items():
        assert not any(m == "tests" or m.startswith("tests.") for m in _imports(text)), name
