"""Every code that the checkers use has a meaning, and none has a meaning for nothing."""

from __future__ import annotations

import ast
from pathlib import Path

import signoff.toolbatch.checkers as door
from signoff.toolbatch.checkers import CODES


def _texts() -> set[str]:
    folder = Path(door.__file__).parent
    return {
        node.value
        for path in folder.glob("*.py")
        if path.name != "codes.py"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_every_code_is_used() -> None:
    assert sorted(set(CODES) - _texts()) == []


def test_every_code_that_is_used_has_a_meaning() -> None:
    folder = Path(door.__file__).parent
    used: set[str] = set()
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and _is_finding(node.func):
                used |= {
                    arg.value
                    for arg in node.args[:4]
                    if isinstance(arg, ast.Constant)
                    and isinstance(arg.value, str)
                    and " " not in arg.value
                    and "-" in arg.value
                }
    assert len(used) > 30
    assert sorted(used - set(CODES)) == []


def _is_finding(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in {"Finding", "finding", "_finding", "Remark", "YamlTrouble", "_about"}


def test_the_door_opens_on_everything_it_lists() -> None:
    assert [name for name in door.__all__ if getattr(door, name, None) is None] == []


def test_the_page_lists_every_code_with_its_meaning_and_no_other() -> None:
    page = Path(__file__).parents[3] / "docs" / "reference" / "artifact-findings.md"
    rows = [line for line in page.read_text("utf-8").split("\n") if line.startswith("| `")]
    assert rows == [f"| `{code}` | {meaning} |" for code, meaning in sorted(CODES.items())]
