"""One line of a `.gitignore`, understood exactly as git understands it."""

from __future__ import annotations

import re
from dataclasses import dataclass

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


@dataclass(frozen=True)
class GitPattern:
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
        """Whether the pattern matches this entry; `path` is relative to the pattern's folder."""
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
    """Without the spaces at the end, unless a backslash holds on to them."""
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
            members.append(_named_class(glob[i + 2 : close - 1]))
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
    return _set_of(members, negated, by_path), i + 1


def _member(glob: str, i: int) -> tuple[str, int]:
    """One character inside brackets, and where the next one starts."""
    if glob[i] == "\\":
        i += 1
    if i >= len(glob):
        raise _NeverMatches
    return glob[i], i + 1


def _named_class(name: str) -> str:
    if name not in _CLASSES:
        raise _NeverMatches
    return _CLASSES[name]


def _quoted(char: str) -> str:
    return f"\\x{ord(char):02x}"


def _set_of(members: list[str], negated: bool, by_path: bool) -> str:
    if not members:
        return "." if negated and not by_path else "[^/]" if negated else "(?!)"
    body = "".join(members)
    guard = "(?!/)" if by_path else ""
    return f"{guard}[{'^' if negated else ''}{body}]"
