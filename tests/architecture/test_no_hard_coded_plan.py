"""No caller and no page takes `PLAN.md` for THE plan: which plan is meant is always resolved."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.architecture.source import REPOSITORY, modules

FILE_NAME = "PLAN.md"
# The one module that may spell the file of the unnamed plan.
SPELLED_IN = {"domain/names.py"}
# Pages that make a first, unnamed plan before the reader's eyes, and say so.
FIRST_PLAN_PAGES = {"docs/tutorial.md"}
# Sentences that would make the unnamed plan the only one.
SINGLETON = re.compile(
    r"\bthe (?:only |one |single )?(?:plan file )?`?PLAN\.md`?"
    r"|\.harness/PLAN\.md"
    r"|\bplan (?:is|lives in|is kept in) `?(?:\.harness/)?PLAN\.md",
    re.IGNORECASE,
)
# What a paragraph must also say, if it speaks of the file: that others exist.
NAMED = re.compile(r"PLAN-(?:<?name>?|\w)|named plan|without a name|unnamed", re.IGNORECASE)


def _hard_coded(sources: dict[str, str]) -> list[str]:
    """Text constants that spell the file; what a docstring explains is not code."""
    found = []
    for name, text in sources.items():
        tree = ast.parse(text)
        explained = {id(d) for node in ast.walk(tree) for d in _docstrings(node)}
        found += [
            f"{name}:{node.lineno}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and FILE_NAME in node.value
            and id(node) not in explained
            and name not in SPELLED_IN
        ]
    return found


def _docstrings(node: ast.AST) -> list[ast.Constant]:
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return []
    first = node.body[0] if node.body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return [first.value]
    return []


def _singleton_claims(pages: dict[str, str]) -> list[str]:
    """Paragraphs outside code blocks that speak of the file as if there were no other."""
    found = []
    for name, text in pages.items():
        prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
        for paragraph in re.split(r"\n\s*\n", prose):
            if SINGLETON.search(paragraph) and not NAMED.search(paragraph):
                found.append(f"{name}: {' '.join(paragraph.split())[:80]}")
    return found


def _pages() -> dict[str, str]:
    paths = [*(REPOSITORY / "docs").rglob("*.md"), *REPOSITORY.glob("*.md")]
    names = {str(Path(p).relative_to(REPOSITORY)): p for p in paths}
    return {n: p.read_text("utf-8") for n, p in names.items() if n not in FIRST_PLAN_PAGES}


def test_no_caller_spells_the_file_of_the_unnamed_plan() -> None:
    assert _hard_coded(modules()) == []


def test_no_page_says_that_there_is_one_plan_only() -> None:
    assert _singleton_claims(_pages()) == []


def test_the_check_of_callers_finds_one() -> None:
    planted = {
        "cli/a.py": 'path = vault / "PLAN.md"',
        "cli/b.py": 'def f():\n    """Reads PLAN.md."""\n    return f"{folder}/PLAN.md"',
        "cli/good.py": '"""About PLAN.md."""\npath = resolve_active_plan().plan_path',
        "domain/names.py": 'UNNAMED = "PLAN.md"',
    }
    assert _hard_coded(planted) == ["cli/a.py:1", "cli/b.py:3"]


def test_the_check_of_pages_finds_one() -> None:
    planted = {
        "a.md": "Write the plan into `.harness/PLAN.md`.",
        "b.md": "Steps are read from the PLAN.md there.",
        "c.md": "The plan is kept in PLAN.md",
        "good.md": "`.harness/PLAN.md`, or `PLAN-<name>.md` for a named plan.",
        "also-good.md": "```sh\ncat .harness/PLAN.md\n```\n\n`signoff run PLAN.md` runs that file.",
    }
    assert [claim.split(":")[0] for claim in _singleton_claims(planted)] == ["a.md", "b.md", "c.md"]


def test_every_listed_exception_is_still_needed() -> None:
    for page in FIRST_PLAN_PAGES:
        assert _singleton_claims({page: (REPOSITORY / page).read_text("utf-8")})
    for module in SPELLED_IN:
        assert FILE_NAME in modules()[module]
