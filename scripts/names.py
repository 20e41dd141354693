"""Check public names: no class name stands twice, none uses a word that the glossary retired."""

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
    print("\n".join(wrong) or "every public class has a name of its own")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
