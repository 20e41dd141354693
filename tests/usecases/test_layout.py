"""The listing of the use cases shows their shape: a file per verb, and the phases they share."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

import pytest

from signoff.cli.app import VERBS
from tests.architecture.source import modules

ROOM = "usecases/"
PACKAGE = "signoff.usecases"
# What several verbs go through: found → read from the ledger → pinned → opened; and who asks.
PHASES = ("harness", "history", "openwork", "pinning")
SHARED = {*PHASES, "marks", "merge_judging", "merged", "person", "questions"}
SHARED |= {
    "checkouts",
    "workspaces",
    "sign_offs",
    "worked",
    "__init__",
    "seatfolder",
    "open_session",
    "session_records",
}


def _files() -> dict[str, str]:
    """Every module of the room by its path in it."""
    return {n.removeprefix(ROOM): text for n, text in modules().items() if n.startswith(ROOM)}


def _part(dotted: str) -> str:
    """The file or folder at the top that a module belongs to."""
    return dotted.removeprefix(f"{PACKAGE}.").split(".")[0]


def _order(files: Mapping[str, str]) -> list[str]:
    """The parts of the room, those that import no other first; CycleError when there is none."""
    needs: dict[str, set[str]] = {}
    for name, text in files.items():
        part = name.removesuffix(".py").split("/")[0]
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{PACKAGE}."):
                needs.setdefault(part, set()).add(_part(str(node.module)))
    inner = {part: others - {part} for part, others in needs.items()}
    return list(TopologicalSorter(inner).static_order())


def test_a_file_at_the_top_says_which_verb_it_is() -> None:
    silent = []
    for name, text in _files().items():
        if "/" in name or name.removesuffix(".py") in SHARED:
            continue
        said = re.match(r"`([\w-]+)", ast.get_docstring(ast.parse(text)) or "")
        if said is None or said.group(1) not in VERBS:
            silent.append(name)
    assert silent == []


def test_files_and_folders_import_each_other_in_one_direction() -> None:
    """Imports inside functions count too: what loads late can still be tangled."""
    order = _order(_files())
    places = [order.index(phase) for phase in (*PHASES, "run")]
    assert places == sorted(places)


def test_the_check_of_directions_finds_a_cycle() -> None:
    planted = {
        "run.py": f"from {PACKAGE}.harness import Harness",
        "harness.py": f"def f():\n    from {PACKAGE}.run import run_plan",
    }
    with pytest.raises(CycleError):
        _order(planted)


def test_a_folder_loads_nothing_that_was_not_asked_for() -> None:
    """Every command comes through one, and start-up stays short."""
    doors = {n: text for n, text in _files().items() if n.endswith("/__init__.py")}
    assert doors
    loud = [
        name
        for name, text in doors.items()
        if not all(isinstance(node, ast.Expr) for node in ast.parse(text).body)
    ]
    assert loud == []
