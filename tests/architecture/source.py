"""The product's own source, as the architecture tests read it."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCE = REPOSITORY / "src" / "signoff"


class Function(NamedTuple):
    """One function of the product."""

    place: str
    lines: int


@lru_cache(maxsize=1)
def modules() -> dict[str, str]:
    """Every module's text by its path below `src/signoff`."""
    return {
        str(path.relative_to(SOURCE)): path.read_text("utf-8")
        for path in sorted(SOURCE.rglob("*.py"))
    }


def functions() -> Iterator[Function]:
    """Every function, methods and nested ones included."""
    for name, text in modules().items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                yield Function(f"{name}:{node.lineno} {node.name}", lines)


def tracked_files() -> list[Path]:
    """The text files that are in git, or would be."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        check=False,
    )
    if listed.returncode != 0:
        folders = ("src", "tests", "docs", "examples", "scripts")
        return [p for f in folders for p in (REPOSITORY / f).rglob("*") if p.is_file()]
    paths = [REPOSITORY / name.decode() for name in listed.stdout.split(b"\0") if name]
    return [path for path in paths if path.is_file()]
