"""Comments that silence a linter, a type checker or a test: found anew between two texts.

A check that passes because its findings were switched off has a smaller denominator, like a suite
with more skipped tests. Such comments have one shape, whatever the tool: its name and a verb
(`pylint: disable=…`, `eslint-disable-line`, `shellcheck disable=…`), or one word (`noqa`).
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct, field

from signoff.commands.programs import is_known
from signoff.domain.snapshot import Change, ChangeKind, Manifest
from signoff.domain.verdict import TestCounts
from signoff.verification.counting.printed import FILE
from signoff.verification.counting.verbose import PRINTED

STUB, SKIP_MARK, GONE, UNRUN, UNREAD = "stub", "skip mark", "gone", "unrun", "unread"

# Words that do not name the tool they silence, and attributes that do so in code.
_TYPE_CHECKERS = ("mypy", "dmypy", "pyright", "pytype", "pyre", "ty")
_SILENCED_BY: Mapping[str, tuple[str, ...]] = {
    "noqa": ("ruff", "flake8", "pycodestyle", "pyflakes", "sqlfluff"),
    "type": _TYPE_CHECKERS,
    "no_type_check": _TYPE_CHECKERS,
    STUB: _TYPE_CHECKERS,
    "mypy": ("dmypy",),
    "fmt": ("black", "ruff"),
    "ts": ("tsc", "vue-tsc", "tsd", "svelte-check"),
    "eslint": ("oxlint", "xo", "standard"),
    "nosec": ("bandit", "gosec"),
    "nolint": ("golangci-lint", "clang-tidy", "cpplint"),
    "lint": ("staticcheck",),
    "allow": ("cargo clippy",),
    "rustfmt": ("cargo fmt",),
    "pragma": ("coverage report",),
    "suppress": ("detekt", "ktlint", "checkstyle", "pmd", "spotbugs"),
}
# Tools that look at whatever source lies in a folder.
CHECKERS = frozenset(tool for tools in _SILENCED_BY.values() for tool in tools) | {
    *("pylint", "eslint", "biome", "prettier", "shellcheck", "rubocop"),
}
_SMALL = 1_000  # bytes in which there may be nothing but blanks
# They run whatever linters their settings name.
_ANY_LINTER = frozenset(("pre-commit", "trunk", "lefthook", "lint-staged", "mega-linter-runner"))
_COMMENT = re.compile(r"(?:(?<!`)#|//|/\*|<!--|(?<!\S)(?:--|;|%|\*)).*")
_VERB = (
    r"(?P<verb>disable|ignore|off|skip|suppress|allow|no-?check|expect-error|noqa|nolint|exempt"
    r"|exclude|todo|no(?= cover| branch))(?![a-z0-9])(?P<scope>(?:[-_][a-z]+)*)"
)
_NAME = r"@?(?P<tool>[A-Za-z][\w.]*(?:-[A-Za-z]\w*)*?)"
_CODES = r"(?P<codes>[^#\n]*?)(?=#|//|\*/|-->|\s--\s|$)"
_BEGINS = r"(?:(?<!`)#+!?|//+|/\*+|<!--|--|^[;%*]+)\s*"
_DIRECTIVES = tuple(
    re.compile(f"{shape}{_CODES}", re.IGNORECASE)
    for shape in (
        rf"(?<![\w`\"'.-]){_NAME}(?:::?\s*|-){_VERB}",
        # In words that prose could have: only where the comment begins, with nothing behind them.
        rf"{_BEGINS}{_NAME}\s+{_VERB}(?:(?<=-line)|(?=\s*(?:$|=|\*/|-->)|\s+(?:next|line|file)\b))",
        rf"{_BEGINS}(?P<tool>no[a-z]{{2,}})\b",
        # Type checkers take any setting, and each but `strict` may weaken them.
        rf"{_BEGINS}(?P<tool>mypy|pyright):(?!\s*strict\b)",
        rf"{_BEGINS}{_NAME}\s+[\w@/-]+\s*:\s*[\"'\[]*(?:off|0)\b",
    )
)
_HINT = re.compile(
    r"disable|ignore|off|skip|suppress|allow|check|expect|exempt|exclude|todo|fail|mypy|pyright|build"
    r"|(?:[#/*;%!-]\s*|: )no|: *['\"\[]*0|\bx(?:it|test|describe)",
    re.IGNORECASE,
)
_OF_A_LINE = "one line"
_ATTRIBUTES: Mapping[str, str] = {
    "no_type_check": r"@[\w.]*no_type_check\b",
    "allow": r"#!?\[[^\]\n]{0,200}?\b(?:allow|expect)\((?P<codes>[^)]*)\)",
    "suppress": r"@(?:file:)?Suppress(?:Warnings|Lint)?\((?P<codes>[^)]*)\)",
    SKIP_MARK: r"\bmark\.(?:skip|skipif|xfail)\b|\bpytest\.(?:skip|xfail|importorskip)\("
    r"|\bskipTest\(|(?:\bunittest\.|@)(?:skip|skipIf|skipUnless|expectedFailure|Disabled|Ignore)\b|\bSkipTest\b"
    r"|\b(?:it|test|describe|suite|context)\.(?:skip|todo|failing)\b|\bx(?:it|test|describe)\b[ (]"
    r"|\bskip:\s*(?:true|['\"])|\b[tb]\.Skip(?:f|Now)?\(|#\[ignore\b|//\s*(?:go:|\+)build\b",
}

# Where a test is defined, by its name or what it says it does.
_DEFINITIONS = re.compile(
    r"^[ \t]*(?:async\s+)?def\s+(test\w*)\s*\(|^func\s+((?:Test|Fuzz)\w*)\s*\("
    r"|\bfunction\s+(test\w+)\s*\(|@Test\b[^;{@(]{0,100}?\b(\w+)\s*\("
    r"|#\[(?:\w+::)*test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\s+)?(?:async\s+)?fn\s+(\w+)"
    r"|(?:^@test\s+|\b(?:it|test|specify|scenario)(?:\.\w+)*(?:\s*\(\s*|\s+))"
    r"(\"[^\"\n]+\"|'[^'\n]+'|`[^`\n]+`)",
    re.MULTILINE,
)


# Tests in the same file as the work: of which tools, in what files, where, and what counts.
_ASSERTS, _ANYTHING = re.compile(r"assert|should_panic"), re.compile(r"\S")
_TESTS_IN_WORK = (
    (("cargo test", "cargo nextest"), ".rs", re.compile(r"#\[cfg\(test\)\].*", re.S), _ASSERTS),
    (("doctest",), ".py", re.compile(r"^[ \t]*>>> .*\n.*$", re.M), _ANYTHING),
)


class Suppression(NamedTuple):
    """One comment, where it stands, and what it is limited to (nothing: it silences everything)."""

    kind: str
    codes: frozenset[str]
    path: str
    line: int
    text: str


class Checks(Struct, frozen=True):
    """Tools of a contract that a comment could silence.

    `tools` are the names of its programs and scripts with the places they are given (the empty one
    is everywhere), `scripts` the texts of its own scripts, which show what comments they obey.
    `opened` are the files that the contract opened, None where that is not known.
    """

    tools: Mapping[str, Collection[str]] = field(default_factory=dict)
    scripts: Collection[str] = ()
    skip_marks: bool = False
    opened: Collection[str] | None = None
    loops: bool = False  # the shell goes over files

    @property
    def look_around(self) -> bool:
        """True when one of them looks at whatever files there are."""
        return self.loops or not CHECKERS.isdisjoint(self.tools)

    def obey(self, kind: str, verb: str, path: str) -> bool:
        """True when a comment of this kind in this file would silence one of them."""
        if kind == SKIP_MARK:
            return self.skip_marks
        if (kind in _SILENCED_BY or is_known(kind)) and not _ANY_LINTER.isdisjoint(self.tools):
            return True
        named = (kind, kind.removeprefix("no"), *_SILENCED_BY.get(kind, ()))
        for tool, places in self.tools.items():
            alike = tool.startswith(f"{kind}-") or kind.startswith(f"{tool}-")
            if (tool.lower() in named or alike) and any(_lies_in(path, place) for place in places):
                return True
        if kind in _ATTRIBUTES:
            return False
        wanted = re.compile(rf"\b{re.escape(kind)}\b.{{0,8}}{re.escape(verb)}", re.IGNORECASE)
        return any(map(wanted.search, self.scripts))


def _lies_in(path: str, place: str) -> bool:
    return place in ("", path) or path.startswith(f"{place}/")


def new_suppressions(
    checks: Checks,
    before: Mapping[str, str],
    after: Mapping[str, str],
    paths: Collection[str] = (),
) -> list[Suppression]:
    """Suppressions that are new in changed files; `paths` are all files there are now.

    One that moved, or that silences less than it did, is not new. In a new file a mark that skips
    a test takes nothing away, unless it comes in the place of a file that is gone.
    """
    now = list(_found(checks, after))
    known = Counter((s.kind, s.codes) for s in (_found(checks, before, old=True) if now else ()))
    fresh = []
    replaced = not before.keys() <= after.keys()
    for one in now:
        if known[one.kind, one.codes] > 0:
            known[one.kind, one.codes] -= 1
        elif one.kind != SKIP_MARK or replaced or one.path in before:
            fresh.append(one)
    wider = []
    for one in fresh:
        old = next((k for k, n in known.items() if n and _covers(k, one)), None)
        if old is None:
            wider.append(one)
        else:
            known[old] -= 1
    stubs = [
        Suppression(STUB, frozenset(), path, 1, "a stub hides the module beside it")
        for path in after
        if path.endswith(".pyi") and path not in before and path[:-1] in paths
        if checks.obey(STUB, "", path) and (checks.opened is None or path in checks.opened)
    ]
    gone = _removed_tests(before, after) if checks.skip_marks else []
    return wider + stubs + gone + _weakened_tests(checks, before, after)


def _weakened_tests(
    checks: Checks, before: Mapping[str, str], after: Mapping[str, str]
) -> list[Suppression]:
    """Lines that say what is right in tests that stand in the work itself, and that are gone."""
    said = [
        Suppression(
            GONE, frozenset(), path, text.count("\n", 0, part.start()) + number, line.strip()
        )
        for tools, ending, own, says in _TESTS_IN_WORK
        if not checks.tools.keys().isdisjoint(tools)
        for path, text in before.items()
        if path.endswith(ending)
        for part in own.finditer(text)
        for number, line in enumerate(part[0].split("\n"), start=1)
        if says.search(line)
    ]
    left = Counter(line.strip() for text in after.values() for line in text.split("\n"))
    left.subtract(one.text for one in said)
    return [one for one in said if left[one.text] < 0]


def _removed_tests(before: Mapping[str, str], after: Mapping[str, str]) -> list[Suppression]:
    """Tests that were defined before and are not any more, wherever they could have gone."""
    left = Counter(name for text in after.values() for name, _ in _defined(text))
    found = []
    for path, text in before.items():
        for name, line in _defined(text):
            left[name] -= 1
            if left[name] < 0:
                found.append(Suppression(GONE, frozenset(), path, line, name))
    return found


def tests_not_run(
    counts: TestCounts | None, now: Collection[str], text_of: Callable[[str], str]
) -> Iterator[Suppression]:
    """Tests in files that node counted as one test each: it does where no test of theirs began."""
    alone = [t for t in (counts.names.get(PRINTED, ()) if counts else ()) if FILE.fullmatch(t)]
    for path in (p for p in now if any(f"/{test}".endswith(f"/{p}") for test in alone)):
        if "node:test" in (text := text_of(path)):
            yield from (Suppression(UNRUN, frozenset(), path, n, t) for t, n in _defined(text))


def files_not_checked(
    changes: Iterable[Change],
    read: Collection[str],
    now: Manifest,
    text_of: Callable[[str], str],
) -> Iterator[Suppression]:
    """Files that a check had read and that are gone or empty now, unless others took their place.

    A new file of the same kind stands in for one: it may have been renamed or cut in two.
    """
    added: Counter[str] = Counter()
    for change in sorted(changes, key=lambda c: c.kind is not ChangeKind.ADDED):
        kind, state = posixpath.splitext(change.path)[1], now.get(change.path)
        empty = state is None or (state.size < _SMALL and not text_of(change.path).strip())
        if change.kind is ChangeKind.ADDED:
            added[kind] += not empty
        elif empty and change.path in read:
            added[kind] -= 1
            if added[kind] < 0:
                yield Suppression(UNREAD, frozenset(), change.path, 1, "gone or empty")


def _defined(text: str) -> Iterator[tuple[str, int]]:
    """The tests that a text defines, outside comments, with their lines."""
    first, *others = re.sub("//.*", "", text).split("/*")
    parts = [first]
    for part in others:
        comment, end, rest = part.partition("*/")
        parts.append("\n" * comment.count("\n") + rest if end else part)
    code = "".join(parts)
    line, at = 1, 0
    for match in _DEFINITIONS.finditer(code):
        which = match.lastindex or 0
        line, at = line + code.count("\n", at, match.start(which)), match.start(which)
        yield match[which], line


def _covers(old: tuple[str, frozenset[str]], new: Suppression) -> bool:
    kind, codes = old
    line = frozenset((_OF_A_LINE,))
    if kind != new.kind or not codes & line <= new.codes:
        return False
    return not codes - line or bool(new.codes - line and new.codes - line <= codes)


def _found(checks: Checks, texts: Mapping[str, str], *, old: bool = False) -> Iterator[Suppression]:
    """Suppressions that a check obeys; an old one may have moved to a file that is read."""
    for path, text in texts.items():
        if not old and checks.opened is not None and path not in checks.opened:
            continue
        for number, line in enumerate(text.split("\n"), start=1):
            for kind, verb, codes, shown in _in_line(line):
                if old or checks.obey(kind, verb, path):
                    yield Suppression(kind, codes, path, number, shown.strip())


def _in_line(line: str) -> Iterator[tuple[str, str, frozenset[str], str]]:
    """Each kind that a line holds, once, with its verb, what it is limited to, and its text."""
    found: dict[str, tuple[str, frozenset[str], str]] = {}
    if not _HINT.search(line):
        return
    for kind, shape in _ATTRIBUTES.items():
        for match in re.finditer(shape, line):
            found[kind] = "", _limits(match), match[0]
    comment = _COMMENT.search(line)
    if comment is not None:
        for match in (m for d in _DIRECTIVES for m in d.finditer(comment[0])):
            tool, verb = match["tool"].lower(), (match.groupdict().get("verb") or "").lower()
            # `ruff: noqa` says no more than `noqa`.
            kind = verb if verb.startswith("no") and verb in _SILENCED_BY else tool
            found.setdefault(kind, (verb, _limits(match), comment[0]))
    for kind, (verb, limits, shown) in found.items():
        yield kind, verb, limits, shown


def _limits(match: re.Match[str]) -> frozenset[str]:
    parts = match.groupdict()
    codes = re.findall(r"[\w@/.:=-]+", parts.get("codes") or "")
    scope = parts.get("scope") or ""
    return frozenset(codes) | ({_OF_A_LINE} if "line" in scope or "next" in scope else set())
