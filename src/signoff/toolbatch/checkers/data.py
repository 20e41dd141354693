"""The checkers of data files: JSON, JSON lines, YAML and TOML parse, and no key stands twice."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from signoff.toolbatch.checkers.finding import Finding, Severity
from signoff.toolbatch.checkers.json_comments import allows_comments, without_comments
from signoff.toolbatch.checkers.json_scan import scan_json
from signoff.toolbatch.checkers.subject import Subject
from signoff.toolbatch.checkers.templates import is_template
from signoff.toolbatch.checkers.texts import decode_text
from signoff.toolbatch.checkers.tree import Tree
from signoff.toolbatch.checkers.yaml_events import yaml_troubles

MOST_LINES_WRONG = 20
MOST_KEYS_SAID = 100
# The parser of TOML takes a minute for a key of 30,000 parts.
MOST_KEY_PARTS = 200

_TOML_LINE = re.compile(r"at line (\d+)")
_TOML_PARTS = re.compile(r"[,\[\]{}=\n]")


@dataclass(frozen=True)
class DataChecker:
    """Checks files of one format."""

    name: str
    files: frozenset[str]
    judge: Callable[[Subject, str], Iterator[Finding]]
    max_bytes: int

    def check(self, subject: Subject, tree: Tree) -> Iterator[Finding]:  # noqa: ARG002 - alone
        """Nothing around it matters."""
        text = decode_text(subject)
        if isinstance(text, Finding):
            yield text
            return
        yield from self.judge(subject, text)


# Up to here the lines of keys that stand twice are looked for; that takes a second.
LARGEST_SCANNED = 1_000_000


class Number(str):
    """A number as it is written: its length costs nothing that way."""

    __slots__ = ()


def parse_json(text: str) -> Any:
    """Strictly JSON."""
    return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=_refuse)


def keys_twice(text: str) -> tuple[str, ...]:
    """The keys that an object has twice, of a text that is strictly JSON; nothing else is kept."""
    twice: dict[str, None] = {}

    def look(pairs: list[tuple[str, Any]]) -> None:
        if len(pairs) > 1:
            seen = set[str]()
            for key, _ in pairs:
                if key in seen and len(twice) < MOST_KEYS_SAID:
                    twice[key] = None
                seen.add(key)

    # `len` is the cheapest that can be done with the digits of a number.
    json.loads(text, parse_int=len, parse_float=len, parse_constant=_refuse, object_pairs_hook=look)
    return tuple(twice)


def json_trouble(
    subject: Subject, error: Exception, first_line: int = 1, filled_in: bool = False
) -> Finding:
    """Why a text could not be read as JSON."""
    if filled_in:
        return other_dialect(subject, "it is a template of JSON")
    if isinstance(error, RecursionError):
        return too_complex(subject, "nested too deeply to read")
    line, said = first_line, str(error)
    if isinstance(error, json.JSONDecodeError):
        line, said = error.lineno + first_line - 1, f"{error.msg}, column {error.colno}"
    return subject.finding("bad-json", said[:200], "correct the line", line=line)


def too_complex(subject: Subject, said: str) -> Finding:
    """Nothing is known, and that is said."""
    return subject.finding(
        "too-complex", said, "split the file, or flatten it", severity=Severity.UNKNOWN
    )


def other_dialect(subject: Subject, said: str, line: int = 1) -> Finding:
    """Perhaps fine where it is meant to be read, but nobody here can tell."""
    return subject.finding(
        "other-dialect",
        f"cannot tell: {said}",
        "check it with the program that it is written for",
        line=line,
        severity=Severity.UNKNOWN,
    )


def _refuse(name: str) -> None:
    raise ValueError(f"`{name}` is no JSON")


def _json(subject: Subject, text: str) -> Iterator[Finding]:
    try:
        if subject.content.startswith(b"\xef\xbb\xbf"):
            raise ValueError("a byte order mark stands before the first value")
        if allows_comments(subject.path):
            text = without_comments(text)
        twice = keys_twice(text)
    except (ValueError, RecursionError) as error:
        yield json_trouble(subject, error, filled_in=is_template(text))
        return
    places = [(key, 1) for key in twice]
    if twice and len(text) <= LARGEST_SCANNED:
        places = [(found.key, found.line) for found in scan_json(text).duplicates]
    for key, line in places:
        yield subject.finding(
            "duplicate-key",
            f"key `{key[:80]}` stands twice",
            "keep one of the two",
            line=line,
            about=key,
        )


def _json_lines(subject: Subject, text: str) -> Iterator[Finding]:
    if not text.strip():
        yield subject.finding("empty-file", "there is no record", "write one JSON value per line")
        return
    wrong = 0
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            keys_twice(line)
            continue
        except (ValueError, RecursionError) as error:
            yield json_trouble(subject, error, number)
        wrong += 1
        if wrong >= MOST_LINES_WRONG:
            return


def _toml(subject: Subject, text: str) -> Iterator[Finding]:
    if any(part.count(".") > MOST_KEY_PARTS for part in _TOML_PARTS.split(text)):
        yield too_complex(subject, f"a key may have more than {MOST_KEY_PARTS} parts")
        return
    try:
        tomllib.loads(text)
    except RecursionError:
        yield too_complex(subject, "nested too deeply to read")
    except ValueError as error:
        if is_template(text):
            yield other_dialect(subject, "it is a template of TOML")
            return
        found = _TOML_LINE.search(str(error))
        line = int(found.group(1)) if found else text.rstrip().count("\n") + 1
        code = "duplicate-key" if "Cannot overwrite" in str(error) else "bad-toml"
        yield subject.finding(code, str(error)[:200], "correct the line", line=line)


def _yaml(subject: Subject, text: str) -> Iterator[Finding]:
    for trouble in yaml_troubles(text):
        if trouble.code == "bad-yaml" and is_template(text):
            yield other_dialect(subject, "it is a template of YAML", trouble.line)
            return
        severity = Severity.UNKNOWN if trouble.code == "too-complex" else Severity.ERROR
        yield subject.finding(
            trouble.code,
            trouble.message,
            _YAML_HINTS[trouble.code],
            line=trouble.line,
            severity=severity,
            about=trouble.about,
        )


_YAML_HINTS = {
    "bad-yaml": "correct the line; indent with spaces",
    "duplicate-key": "keep one of the two",
    "undefined-alias": "define the anchor above its use",
    "too-complex": "split the file, or flatten it",
}

JSON = DataChecker(
    "json",
    frozenset({".json", ".jsonc", ".geojson", ".webmanifest", ".jsonld", ".code-workspace"}),
    _json,
    20_000_000,
)
JSON_LINES = DataChecker("json-lines", frozenset({".jsonl", ".ndjson"}), _json_lines, 50_000_000)
YAML = DataChecker("yaml", frozenset({".yaml", ".yml"}), _yaml, 2_000_000)
TOML = DataChecker("toml", frozenset({".toml"}), _toml, 1_000_000)
