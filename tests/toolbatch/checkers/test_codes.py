"""Every code that the checkers use has a meaning, and none has a meaning for nothing."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import signoff.toolbatch.checkers as door
from signoff.toolbatch.checkers.subject import CODES

FOLDER = Path(door.__file__).parent


def test_every_code_is_used() -> None:
    # All texts but those of the table itself and of the severities that follow it.
    source = "".join(path.read_text("utf-8") for path in sorted(FOLDER.glob("*.py")))
    elsewhere = re.sub(r"^(?:CODES|_SEVERITIES): .*?^\}", "", source, flags=re.M | re.S)
    assert [code for code in CODES if f'"{code}"' not in elsewhere] == []


def test_every_code_that_is_used_has_a_meaning() -> None:
    used: set[str] = set()
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            used |= {code for code in _codes(node) if re.fullmatch(r"[a-z]+(-[a-z]+)+", code)}
    assert len(used) > 30
    assert sorted(used - set(CODES)) == []


def _codes(node: ast.AST) -> list[str]:
    """The code of a finding: the first argument, or the first of the three of a broken link."""
    parts: list[ast.expr] = []
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("finding", "_remark"):
        parts = node.args[:1]
    elif isinstance(node, ast.Tuple) and len(node.elts) == 3:
        parts = node.elts[:1]
    return [str(one.value) for one in parts if isinstance(one, ast.Constant)]


def test_the_door_opens_on_everything_it_lists() -> None:
    assert [name for name in door.__all__ if getattr(door, name, None) is None] == []


def test_the_page_lists_every_code_with_its_meaning_and_no_other() -> None:
    page = Path(__file__).parents[3] / "docs" / "reference" / "artifact-findings.md"
    rows = [line for line in page.read_text("utf-8").split("\n") if line.startswith("| `")]
    assert rows == [f"| `{code}` | {meaning} |" for code, meaning in sorted(CODES.items())]
