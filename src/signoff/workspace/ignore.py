"""Ignore rules of a workspace, understood as git does; read at approval, pinned from then on."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct

from signoff.domain.digests import digest_of
from signoff.errors import ConfigInvalid, StorageFailed, WorkspaceMissing
from signoff.workspace.folders import open_regular

_SPECIAL = "*?[\\"

# git matches bytes in the C locale, so these are the ASCII classes only.
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "\\x21-\\x7e",
    "lower": "a-z",
    "print": "\\x20-\\x7e",
    "punct": "\\x21-\\x2f\\x3a-\\x40\\x5b-\\x60\\x7b-\\x7e",
    "space": " \\t\\n\\r\\f\\v",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


class _NeverMatches(Exception):
    """The pattern is malformed; git lets such a pattern match nothing."""


class GitPattern(Struct, frozen=True):
    """A parsed line: what it says (`negated`), where it applies, and what it matches.

    `literal` is set when the pattern has no wildcard, `suffix` when it is one `*` and plain text;
    both let the walk decide without a regular expression. `regex` is over bytes, as git's is, and
    is compared with the whole name or path of the entry itself, never with one of its parents.
    """

    negated: bool
    folders_only: bool
    by_path: bool
    literal: str | None
    suffix: str | None
    regex: re.Pattern[bytes] | None

    def covers(self, name: str, path: str, is_dir: bool) -> bool:
        """True when the pattern matches this entry; `path` is relative to the pattern's folder."""
        if self.folders_only and not is_dir:
            return False
        text = path if self.by_path else name
        if self.literal is not None:
            return text == self.literal
        if self.suffix is not None:
            return text.endswith(self.suffix)
        raw = text.encode("utf-8", "surrogateescape")
        return self.regex is not None and self.regex.fullmatch(raw) is not None


def parse_line(line: str) -> GitPattern | None:
    """The pattern a line holds, or None for comments and blanks."""
    if line.startswith("#"):
        return None
    text = _without_trailing_spaces(line.removesuffix("\r"))
    negated = text.startswith("!")
    text = text.removeprefix("!")
    folders_only = text.endswith("/")
    text = text.removesuffix("/")
    if not text:
        return None
    by_path = "/" in text
    text = text.removeprefix("/")
    plain = next((i for i, c in enumerate(text) if c in _SPECIAL), len(text))
    literal = text if plain == len(text) else None
    suffix = None
    if not by_path and text[:1] == "*" and not any(c in _SPECIAL for c in text[1:]):
        suffix = text[1:]
    regex = None
    if literal is None and suffix is None:
        regex = _compile(text, plain if by_path else 0, by_path)
    return GitPattern(negated, folders_only, by_path, literal, suffix, regex)


def _without_trailing_spaces(line: str) -> str:
    """The line without spaces at its end, unless a backslash holds on to them."""
    end = len(line)
    while end and line[end - 1] == " ":
        end -= 1
    backslashes = len(line[:end]) - len(line[:end].rstrip("\\"))
    return line[: end + 1] if backslashes % 2 and end < len(line) else line[:end]


def _compile(text: str, plain: int, by_path: bool) -> re.Pattern[bytes] | None:
    # git compares the part before the first wildcard as plain text and only then starts to match,
    # so a `**` right behind it counts as standing at the start (`foo**/bar` covers `foobar`).
    head = text[:plain].encode("utf-8", "surrogateescape")
    rest = text[plain:].encode("utf-8", "surrogateescape").decode("latin-1")
    try:
        body = _translate(rest, by_path)
    except _NeverMatches:
        return None
    return re.compile(re.escape(head) + body.encode("latin-1"), re.DOTALL)


def _translate(glob: str, by_path: bool) -> str:
    """The glob (one character per byte) as a regular expression."""
    any_char = "[^/]" if by_path else "."
    out: list[str] = []
    i = 0
    while i < len(glob):
        char = glob[i]
        if char == "*":
            piece, i = _stars(glob, i, by_path)
        elif char == "?":
            piece, i = any_char, i + 1
        elif char == "[":
            piece, i = _bracket(glob, i, by_path)
        elif char == "\\":
            if i + 1 == len(glob):
                raise _NeverMatches
            piece, i = re.escape(glob[i + 1]), i + 2
        else:
            piece, i = re.escape(char), i + 1
        out.append(piece)
    return "".join(out)


def _stars(glob: str, i: int, by_path: bool) -> tuple[str, int]:
    """A run of asterisks: within one component, or across them where `**` stands alone."""
    end = i
    while end < len(glob) and glob[end] == "*":
        end += 1
    if not by_path:
        return ".*", end
    alone = end - i > 1 and (i == 0 or glob[i - 1] == "/")
    if alone and end == len(glob):
        return ".*", end
    if alone and glob[end] == "/":
        return "(?:.*/)?", end + 1
    if alone and glob.startswith("\\/", end):
        return ".*", end
    return "[^/]*", end


def _bracket(glob: str, start: int, by_path: bool) -> tuple[str, int]:
    """A `[...]` set, as a set of the regular expression."""
    i = start + 1
    negated = glob[i : i + 1] in ("!", "^")
    i += negated
    members: list[str] = []
    previous = ""
    first = True
    while first or glob[i : i + 1] != "]":
        first = False
        if i >= len(glob):
            raise _NeverMatches
        close = glob.find("]", i + 2) if glob.startswith("[:", i) else -1
        if close > i + 2 and glob[close - 1] == ":":
            named = _CLASSES.get(glob[i + 2 : close - 1])
            if named is None:
                raise _NeverMatches
            members.append(named)
            previous, i = "", close + 1
            continue
        if glob[i] == "-" and previous and glob[i + 1 : i + 2] not in ("", "]"):
            high, i = _member(glob, i + 1)
            if previous <= high:
                members.append(f"{_quoted(previous)}-{_quoted(high)}")
            previous = ""
            continue
        previous, i = _member(glob, i)
        members.append(_quoted(previous))
    if not members:
        return "." if negated and not by_path else "[^/]" if negated else "(?!)", i + 1
    guard = "(?!/)" if by_path else ""
    return f"{guard}[{'^' if negated else ''}{''.join(members)}]", i + 1


def _member(glob: str, i: int) -> tuple[str, int]:
    """One character inside brackets, and where the next one starts."""
    if glob[i] == "\\":
        i += 1
    if i >= len(glob):
        raise _NeverMatches
    return glob[i], i + 1


def _quoted(char: str) -> str:
    return f"\\x{ord(char):02x}"


EntryTest = Callable[[str, bool], bool]


class IgnoreFile(Struct, frozen=True, dict=True):
    """The text of one ignore file and the folder its patterns are relative to ("" is the root)."""

    folder: str
    text: str

    @cached_property
    def patterns(self) -> tuple[GitPattern, ...]:
        """Patterns in the order written; the last one that covers an entry decides."""
        lines = self.text.removeprefix("\ufeff").split("\n")
        return tuple(p for p in map(parse_line, lines) if p is not None)

    @cached_property
    def prefilter(self) -> _Prefilter:
        """The patterns, prepared for asking about many entries."""
        return _Prefilter(self.patterns)


class IgnoreRules(Struct, frozen=True, dict=True):
    """Ignore files from the weakest to the strongest; immutable, so an agent's edits are nothing.

    Plain data goes in and out (`to_data`, `from_data`), which is how the rules are pinned.
    """

    files: tuple[IgnoreFile, ...] = ()

    @cached_property
    def _tests(self) -> dict[str, EntryTest | None]:
        return {}

    @cached_property
    def digest(self) -> str:
        """sha256 of the rules as pinned."""
        return digest_of(self.to_data())

    def to_data(self) -> dict[str, Any]:
        """Plain data for a pin."""
        return {"files": [{"folder": f.folder, "text": f.text} for f in self.files]}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> IgnoreRules:
        """The rules that `to_data` wrote down."""
        try:
            return cls(tuple(IgnoreFile(str(f["folder"]), str(f["text"])) for f in data["files"]))
        except (KeyError, TypeError) as error:
            raise ConfigInvalid(
                "the pinned ignore rules are not in the form they were written in",
                hint="signoff approve PLAN",
            ) from error

    def is_ignored(self, path: str, is_dir: bool = False) -> bool:
        """True when a path falls under the rules, by itself or because a folder above it does."""
        folder, rest = "", path.strip("/")
        while "/" in rest:
            name, rest = rest.split("/", 1)
            if self._decides(folder, name, is_dir=True):
                return True
            folder = f"{folder}/{name}" if folder else name
        return self._decides(folder, rest, is_dir)

    def test_for(self, folder: str) -> EntryTest | None:
        """The question `ignored(name, is_dir)` for the entries of a folder; None if never."""
        if folder not in self._tests:
            self._tests[folder] = self._build_test(folder)
        return self._tests[folder]

    def _decides(self, folder: str, name: str, is_dir: bool) -> bool:
        test = self.test_for(folder)
        return test is not None and test(name, is_dir)

    def _build_test(self, folder: str) -> EntryTest | None:
        parts: list[tuple[_Prefilter, str]] = []
        for rules in self.files:
            if not rules.patterns:
                continue
            if rules.folder == folder:
                parts.append((rules.prefilter, ""))
            elif not rules.folder or folder.startswith(rules.folder + "/"):
                below = folder[len(rules.folder) + 1 :] if rules.folder else folder
                parts.append((rules.prefilter, below + "/"))
        if not parts:
            return None
        # The file nearest to the entry is asked first: it overrides those above it.
        parts.reverse()

        def ignored(name: str, is_dir: bool) -> bool:
            for prefilter, prefix in parts:
                verdict = prefilter.verdict(name, prefix, is_dir)
                if verdict is not None:
                    return verdict
            return False

        return ignored


class _Prefilter:
    """Says "no pattern here can cover this" from tables, so that most entries cost no matching."""

    def __init__(self, patterns: tuple[GitPattern, ...]):
        self._latest_first = tuple(reversed(patterns))
        by_name = [p for p in patterns if not p.by_path]
        self._names = frozenset(p.literal for p in by_name if p.literal is not None)
        self._suffixes = tuple({p.suffix for p in by_name if p.suffix is not None})
        self._paths = frozenset(p.literal for p in patterns if p.by_path and p.literal is not None)
        self._name_glob = _any_of([p.regex for p in by_name if p.regex is not None])
        self._path_glob = _any_of([p.regex for p in patterns if p.by_path and p.regex is not None])

    def verdict(self, name: str, prefix: str, is_dir: bool) -> bool | None:
        """True ignored, False re-included, None when no pattern covers the entry."""
        path = prefix + name
        if not (
            name in self._names
            or name.endswith(self._suffixes)
            or path in self._paths
            or (self._name_glob is not None and self._name_glob.fullmatch(_raw(name)))
            or (self._path_glob is not None and self._path_glob.fullmatch(_raw(path)))
        ):
            return None
        for pattern in self._latest_first:
            if pattern.covers(name, path, is_dir):
                return not pattern.negated
        return None


def _any_of(patterns: list[re.Pattern[bytes]]) -> re.Pattern[bytes] | None:
    return re.compile(b"|".join(p.pattern for p in patterns), re.DOTALL) if patterns else None


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def read_ignore_rules(root: Path) -> IgnoreRules:
    """Every `.gitignore` below the root plus `.git/info/exclude`, as they are now.

    As in git, an ignored folder is not searched for more rules and a symlinked `.gitignore`
    is not read.
    """
    if not root.is_dir():
        raise WorkspaceMissing(f"workspace `{root}` is not a folder")
    exclude = _read_regular(_exclude_file(root))
    rules = IgnoreRules((IgnoreFile("", exclude),) if exclude is not None else ())
    pending = [""]
    while pending:
        folder = pending.pop()
        text = _read_regular(root / folder / ".gitignore")
        if text is not None:
            rules = IgnoreRules((*rules.files, IgnoreFile(folder, text)))
        pending.extend(_searched_folders(root, folder, rules))
    return rules


def _searched_folders(root: Path, folder: str, rules: IgnoreRules) -> list[str]:
    """The folders directly below that git would look into, in an order that keeps rules stable."""
    test = rules.test_for(folder)
    try:
        with os.scandir(root / folder) as entries:
            names = [e.name for e in entries if e.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageFailed(
            f"folder `{folder or root}` cannot be read: {error.strerror}",
            hint="make it readable, then approve again",
        ) from error
    prefix = f"{folder}/" if folder else ""
    kept = [n for n in names if n != ".git" and not (test is not None and test(n, True))]
    return [prefix + name for name in sorted(kept, reverse=True)]


def _exclude_file(root: Path) -> Path:
    """`info/exclude` of the repository; in a worktree it lies in the main checkout's `.git`."""
    git = root / ".git"
    if git.is_file():
        git = root / (_read_regular(git) or "").strip().removeprefix("gitdir:").strip()
        common = _read_regular(git / "commondir")
        git = git / common.strip() if common else git
    return git / "info" / "exclude"


def _read_regular(path: Path) -> str | None:
    """The text of a regular file, undecodable bytes kept; None when there is no such file."""
    try:
        with open_regular(path) as file:
            return file.read().decode("utf-8", "surrogateescape")
    except PermissionError as error:
        raise StorageFailed(
            f"ignore file `{path}` cannot be read: {error.strerror}",
            hint="make it readable, then approve again",
        ) from error
    except OSError:
        return None
