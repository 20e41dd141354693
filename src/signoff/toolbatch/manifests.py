"""Commands that a project documents in its manifests, for the kinds of file a task is about.

A manifest counts only while it is there and says so itself: a test script, a test target, tests.
"""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from signoff.planfile.verify import analyse
from signoff.planfile.verify.statuses import ZERO

LARGEST_MANIFEST = 1_000_000
_PYTHON = frozenset({".py", ".pyi"})
_NODE = frozenset(
    {".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".vue", ".svelte", ".css", ".html", ".json"}
)
_RUST = frozenset({".rs"})
_GO = frozenset({".go"})
_NODE_SCRIPTS = ("test", "check", "lint")
_MAKE_TARGETS = ("test", "check")
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_NO_TEST = "no test specified"  # what npm writes where nobody wrote a test


@dataclass(frozen=True)
class Offered:
    """What a manifest offers; or what it pretends to offer, and why that is nothing."""

    commands: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


def documented(root: Path, kinds: Collection[str]) -> Offered:
    """The commands of every manifest for one of these suffixes; make only where nothing else is."""
    found = [read(root) for suffixes, read in _MANIFESTS if not suffixes.isdisjoint(kinds)]
    commands = tuple(c for offered in found for c in offered.commands)
    refused = tuple(r for offered in found for r in offered.refused)
    if kinds and not commands:
        by_make = _make(root)
        commands, refused = by_make.commands, (*refused, *by_make.refused)
    return Offered(commands, refused)


def _pytest(root: Path) -> Offered:
    """Where pytest is configured, or tests lie where it looks for them."""
    if not (_pytest_is_configured(root) or _has_tests(root)):
        return Offered()
    # Without pytest nothing was tested: that is unknown (127), not broken.
    run = "python3 -m pytest -q -p no:cacheprovider"
    return Offered((f"python3 -c 'import pytest' || exit 127; {run}",))


def _pytest_is_configured(root: Path) -> bool:
    if (root / "pytest.ini").is_file():
        return True
    tool = _toml(root / "pyproject.toml").get("tool")
    if isinstance(tool, dict) and "pytest" in tool:
        return True
    return "tool:pytest" in _ini(root / "setup.cfg") or "pytest" in _ini(root / "tox.ini")


def _has_tests(root: Path) -> bool:
    for folder in ("tests", "test", "."):
        for pattern in ("test_*.py", "*_test.py"):
            if any(path.is_file() for path in (root / folder).glob(pattern)):
                return True
    return False


def _npm(root: Path) -> Offered:
    try:
        manifest = json.loads(_text(root / "package.json") or "null")
    except (ValueError, RecursionError):
        return Offered()
    scripts = manifest.get("scripts") if isinstance(manifest, dict) else None
    if not isinstance(scripts, dict):
        return Offered()
    refused = []
    for name in _NODE_SCRIPTS:
        script = scripts.get(name)
        if not isinstance(script, str) or not script.strip() or _NO_TEST in script:
            continue
        if not _can_fail(script):
            refused.append(f"the npm script `{name}` cannot fail")
            continue
        return Offered((f"npm run --silent {name}",), tuple(refused))
    return Offered((), tuple(refused))


def _cargo(root: Path) -> Offered:
    manifest = _toml(root / "Cargo.toml")
    return (
        Offered(("cargo test --quiet",)) if {"package", "workspace"} & set(manifest) else Offered()
    )


def _go(root: Path) -> Offered:
    text = _text(root / "go.mod")
    # Vet compiles packages that have no test, which a test run alone would not.
    named = re.search(r"^module\s+\S", text, re.MULTILINE) is not None
    return Offered(("go vet ./... && go test ./...",)) if named else Offered()


def _make(root: Path) -> Offered:
    """A target with the name of a file that is there would be up to date: it is always made."""
    text = next((t for t in (_text(root / name) for name in _MAKEFILES) if t), "")
    refused: list[str] = []
    for target in _MAKE_TARGETS:
        rule = re.search(
            rf"^{target}[ \t]*::?(?!=)([^\n]*)\n((?:\t[^\n]*\n?)*)", text, re.MULTILINE
        )
        if rule is None:
            continue
        needs = rule[1].partition("#")[0].partition(";")
        recipe = [*needs[2:], *(line[1:] for line in rule[2].split("\n"))]
        if needs[0].strip() or any(_line_can_fail(line.strip()) for line in recipe):
            return Offered((f"make --always-make {target}",), tuple(refused))
        refused.append(f"the make target `{target}` cannot fail")
    return Offered((), tuple(refused))


def _line_can_fail(line: str) -> bool:
    """make goes on after a line that begins with a dash."""
    prefix = re.match(r"[@+-]*", line)
    ignored = prefix is not None and "-" in prefix[0]
    bare = line.lstrip("@+-").strip()
    return bool(bare) and not bare.startswith("#") and not ignored and _can_fail(bare)


def _can_fail(command: str) -> bool:
    facts = analyse(command)
    return facts.problem is None and not facts.empty and facts.statuses != ZERO


def _text(path: Path) -> str:
    """A manifest that lies in the project itself and has a reasonable size; else nothing."""
    try:
        if path.is_symlink() or path.stat().st_size > LARGEST_MANIFEST:
            return ""
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(path))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _ini(path: Path) -> Collection[str]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(_text(path))
    except configparser.Error:
        return ()
    return parser.sections()


_MANIFESTS: tuple[tuple[frozenset[str], Callable[[Path], Offered]], ...] = (
    (_PYTHON, _pytest),
    (_NODE, _npm),
    (_RUST, _cargo),
    (_GO, _go),
)
