"""Check words: class names stand once and avoid retired words; docstrings begin with an answer."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
SOURCE = REPOSITORY / "src" / "signoff"
GLOSSARY = REPOSITORY / "docs" / "glossary.md"
RETIRED_HEADING = "## Retired words"
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# A docstring that begins with one of these leaves it to the reader to say what comes back.
_QUESTION = re.compile(r"\W*(?:how|what|whe(?:n|re|ther)|which|who(?:m|se)?|why)(?:ever)?\b", re.I)
_HAS_DOCSTRING = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def public_classes() -> Iterator[tuple[str, str]]:
    """Each public class with the module in which it stands."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield _module(path), node.name


def names_twice() -> list[str]:
    """Class names that stand in more than one module."""
    counted = Counter(name for _, name in public_classes())
    return sorted(name for name, count in counted.items() if count > 1)


def retired_words() -> frozenset[str]:
    """The words of the glossary's last table."""
    table = GLOSSARY.read_text("utf-8").partition(RETIRED_HEADING)[2]
    return frozenset(match[1].lower() for match in re.finditer(r"^\| (\w+) \|", table, re.M))


def retired_names() -> list[str]:
    """Modules and classes whose names use such a word."""
    retired = retired_words() - {"word"}
    modules = {_module(path) for path in SOURCE.rglob("*.py")}
    named = [(module, module) for module in modules]
    named += [(f"{module}:{name}", name) for module, name in public_classes()]
    return sorted(place for place, name in named if not retired.isdisjoint(_words(name)))


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Each docstring with its line: of the module, of classes and functions, and below a field."""
    for node in ast.walk(tree):
        if not isinstance(node, _HAS_DOCSTRING):
            continue
        texts = node.body if isinstance(node, ast.Module | ast.ClassDef) else node.body[:1]
        for text in (t for t in texts if isinstance(t, ast.Expr)):
            if isinstance(text.value, ast.Constant) and isinstance(text.value.value, str):
                yield text.lineno, text.value.value


def docstrings_that_ask() -> list[str]:
    """Places of docstrings that begin with a question word."""
    return [
        f"{path.relative_to(REPOSITORY)}:{line}"
        for path in sorted(SOURCE.rglob("*.py"))
        for line, text in sorted(docstrings(ast.parse(path.read_text("utf-8"))))
        if _QUESTION.match(text)
    ]


def _module(path: Path) -> str:
    return str(path.relative_to(SOURCE).with_suffix(""))


def _words(name: str) -> Iterator[str]:
    """The words of a name, in the singular too."""
    for word in map(str.lower, _WORD.findall(name)):
        yield from (word, word.removesuffix("s"))


def main() -> int:
    """Print what is wrong with names; 1 when something is."""
    wrong = [f"`{name}` names a class in more than one module" for name in names_twice()]
    wrong += [f"`{name}` uses a word that the glossary retired" for name in retired_names()]
    wrong += [f"{p}: begin with a verb or a noun, not a question" for p in docstrings_that_ask()]
    print("\n".join(wrong) or "every class has a name of its own, every docstring answers")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
