"""Comments that silence a linter, a type checker or a test: found anew between two texts.

A check that passes because its findings were switched off has a smaller denominator, like a suite
with more skipped tests.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

_PYTHON = (".py", ".pyi", ".pyw")
_SCRIPT = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte")
_SHELL = (".sh", ".bash", ".bats", "")
STUB, SKIP_MARK = "stub", "skip mark"

# Kind → in which files, and what it looks like; `codes` are what it is limited to.
_KINDS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "noqa": (_PYTHON, r"#\s*(?:(?:ruff|flake8)\s*:\s*)?noqa\b(?:\s*:\s*(?P<codes>[A-Z0-9, ]+))?"),
    "type: ignore": (_PYTHON, r"#\s*type:\s*ignore(?:\[(?P<codes>[^\]]*)\])?|@[\w.]*no_type_check"),
    "mypy": (_PYTHON, r"#\s*mypy:(?!\s*strict\b)(?P<codes>.*)"),
    "pyright": (_PYTHON, r"#\s*pyright:(?!\s*strict\b)(?P<codes>.*)"),
    "pylint": (_PYTHON, r"#\s*pylint:\s*(?:skip-file|disable(?:-next)?\s*=\s*(?P<codes>[\w, -]+))"),
    "nosec": (_PYTHON, r"#\s*nosec\b"),
    "fmt: off": (_PYTHON, r"#\s*fmt:\s*(?:off|skip)\b"),
    "ts-ignore": (_SCRIPT, r"@ts-(?:nocheck|ignore|expect-error)\b"),
    "eslint-disable": (_SCRIPT, r"\beslint-disable(?:-next-line|-line)?\b(?P<codes>[\w@/, -]*)"),
    "biome-ignore": (_SCRIPT, r"\bbiome-ignore\b(?P<codes>[\w/ -]*)"),
    "prettier-ignore": (_SCRIPT, r"\bprettier-ignore\b"),
    "nolint": ((".go",), r"//\s*(?:nolint\b(?::(?P<codes>[\w,-]+))?|lint:ignore\b.*)"),
    "allow": ((".rs",), r"#!?\[[^\]\n]{0,200}?\b(?:allow|expect)\((?P<codes>[^)]*)\)"),
    "shellcheck": (_SHELL, r"#\s*shellcheck\s+disable=(?P<codes>\S+)"),
    "rubocop": ((".rb",), r"#\s*rubocop:\s*(?:disable|todo)\b(?P<codes>.*)"),
    SKIP_MARK: (
        (*_PYTHON, *_SCRIPT, ".go", ".rs"),
        r"\bmark\.(?:skip|skipif|xfail)\b|\bpytest\.(?:skip|xfail|importorskip)\(|\bskipTest\("
        r"|(?:\bunittest\.|@)(?:skip|skipIf|skipUnless|expectedFailure)\b|\bSkipTest\b"
        r"|\b(?:it|test|describe|suite)\.(?:skip|todo|failing)\b|\bx(?:it|test|describe)\("
        r"|\bskip:\s*(?:true|['\"])|\b[tb]\.Skip(?:f|Now)?\(|#\[ignore\b",
    ),
}  # fmt: skip
_TYPES = ("type: ignore", "mypy", "pyright", STUB)

# Which of them silence a tool.
CHECKERS: Mapping[str, tuple[str, ...]] = {
    "ruff": ("noqa", "fmt: off"),
    "flake8": ("noqa",),
    "mypy": _TYPES,
    "dmypy": _TYPES,
    "pyright": _TYPES,
    "pytype": _TYPES,
    "pylint": ("pylint",),
    "bandit": ("nosec",),
    "black": ("fmt: off",),
    "tsc": ("ts-ignore",),
    "vue-tsc": ("ts-ignore",),
    "eslint": ("eslint-disable",),
    "oxlint": ("eslint-disable",),
    "biome": ("biome-ignore",),
    "prettier": ("prettier-ignore",),
    "golangci-lint": ("nolint",),
    "staticcheck": ("nolint",),
    "cargo clippy": ("allow",),
    "shellcheck": ("shellcheck",),
    "rubocop": ("rubocop",),
}


class Suppression(NamedTuple):
    """One comment, where it stands, and what it is limited to (nothing: it silences everything)."""

    kind: str
    codes: frozenset[str]
    path: str
    line: int
    text: str


def new_suppressions(
    kinds: Collection[str],
    before: Mapping[str, str],
    after: Mapping[str, str],
    paths: Collection[str] = (),
) -> list[Suppression]:
    """What silences more than before, in files that changed; `paths` are all files there are now.

    One that moved, or that silences less than it did, is not new.
    """
    known = Counter((s.kind, s.codes) for s in _found(kinds, before))
    fresh = []
    for one in _found(kinds, after):
        if known[one.kind, one.codes] > 0:
            known[one.kind, one.codes] -= 1
        else:
            fresh.append(one)
    wider = []
    for one in fresh:
        old = next((k for k, n in known.items() if n and _covers(k, one)), None)
        if old is None:
            wider.append(one)
        else:
            known[old] -= 1
    return wider + (_stubs(before, after, paths) if STUB in kinds else [])


def _covers(old: tuple[str, frozenset[str]], new: Suppression) -> bool:
    kind, codes = old
    return kind == new.kind and (not codes or (bool(new.codes) and new.codes <= codes))


def _found(kinds: Collection[str], texts: Mapping[str, str]) -> Iterator[Suppression]:
    for path, text in texts.items():
        name = path.rpartition("/")[2]
        suffix = f".{name.rpartition('.')[2]}" if "." in name else ""
        shapes = {kind: _KINDS[kind] for kind in sorted(kinds & _KINDS.keys())}
        looked_for = {kind: re.compile(s) for kind, (where, s) in shapes.items() if suffix in where}
        for number, line in enumerate(text.split("\n") if looked_for else (), start=1):
            for kind, shape in looked_for.items():
                for match in shape.finditer(line):
                    codes = re.findall(r"[\w@/.:=-]+", match.groupdict().get("codes") or "")
                    yield Suppression(kind, frozenset(codes), path, number, match[0].strip())


def _stubs(
    before: Mapping[str, str], after: Mapping[str, str], paths: Collection[str]
) -> list[Suppression]:
    """A `.pyi` beside a module: the module itself is not looked at any more."""
    return [
        Suppression(STUB, frozenset(), path, 1, "a stub hides the module beside it")
        for path in after
        if path.endswith(".pyi") and path not in before and path[:-1] in paths
    ]
