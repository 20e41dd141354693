"""The checkers of data: JSON, JSON lines, YAML, TOML and tables parse, no key stands twice."""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import yaml
from msgspec import Struct, field

from signoff.toolbatch.checkers.pages import is_template
from signoff.toolbatch.checkers.subject import BuiltInChecker, CheckedFile, FileFinding, of_text
from signoff.toolbatch.checkers.tree import FileTree

# The parser of TOML takes a minute for a key of 30,000 parts.
MOST_KEY_PARTS = 200
# The scanner of YAML takes time that grows with the square of the depth of `[[[[…`.
DEEPEST = 200

_KEEP_ONE = "keep one of the two"
_CORRECT = "correct the line"

# JSON that programs read with comments and trailing commas, by name, suffix or folder.
_WITH_COMMENTS = re.compile(
    r"(?:.*/)?(?:.*\.(?:jsonc|code-workspace)|\.(?:vscode|devcontainer|zed)/[^/]*"
    r"|(?:[tj]sconfig[^/]*|\.?(?:eslintrc|babelrc|swcrc|jshintrc|hintrc|oxlintrc|devcontainer"
    r"|tslint|turbo|deno|typedoc|renovate|biome|angular|nx|wrangler|pyrightconfig))\.json)",
    re.IGNORECASE,
)
_STRING = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
# What is kept is the group: strings, and a comment that never ends.
_COMMENT = re.compile(rf"//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/|({_STRING}|/\*[\s\S]*)")
_COMMA = re.compile(rf"({_STRING})|,(?=\s*[}}\]])")


def json_error(subject: CheckedFile, error: Exception, first_line: int = 1) -> FileFinding:
    if isinstance(error, RecursionError):
        return subject.too_complex("nested too deeply to read")
    line, said = first_line, str(error)
    if isinstance(error, json.JSONDecodeError):
        line, said = error.lineno + first_line - 1, f"{error.msg}, column {error.colno}"
    return subject.finding("bad-json", said, _CORRECT, line)


def _keys_twice(text: str) -> list[str]:
    """Parse strictly, and keep nothing but keys that an object has twice."""
    twice = list[str]()

    def look(pairs: list[tuple[str, Any]]) -> None:
        if len(pairs) > 1 and len(dict(pairs)) < len(pairs):
            twice.extend(key for key, times in Counter(k for k, _ in pairs).items() if times > 1)

    # `len` is the cheapest that can be done with the digits of a number.
    json.loads(text, parse_int=len, parse_float=len, parse_constant=_refuse, object_pairs_hook=look)
    return twice


def _refuse(name: str) -> None:
    raise ValueError(f"`{name}` is no JSON")


def _json(subject: CheckedFile, text: str, _tree: FileTree) -> Iterator[FileFinding]:
    try:
        if subject.content.startswith(b"\xef\xbb\xbf"):
            raise ValueError("a byte order mark stands before the first value")
        if _WITH_COMMENTS.fullmatch(subject.path):
            # Blanked, so that every value stays on its line and in its column.
            for extra in (_COMMENT, _COMMA):
                text = extra.sub(lambda found: found[1] or re.sub(r"[^\n]", " ", found[0]), text)
        twice = _keys_twice(text)
    except (ValueError, RecursionError) as error:
        yield json_error(subject, error)
        return
    for key in twice:
        said = f"key `{key[:80]}` stands twice in one object"
        yield subject.finding("duplicate-key", said, _KEEP_ONE, about=key)


def _json_lines(subject: CheckedFile, text: str, _tree: FileTree) -> Iterator[FileFinding]:
    if not text.strip():
        yield subject.finding("empty-file", "there is no record", "write one JSON value per line")
    for number, line in enumerate(text.split("\n"), 1):
        try:
            if line.strip():
                _keys_twice(line)
        except (ValueError, RecursionError) as error:
            yield json_error(subject, error, number)


def _toml(subject: CheckedFile, text: str, _tree: FileTree) -> Iterator[FileFinding]:
    if any(part.count(".") > MOST_KEY_PARTS for part in re.split(r"[,\[\]{}=\n]", text)):
        yield subject.too_complex(f"a key may have more than {MOST_KEY_PARTS} parts")
        return
    try:
        tomllib.loads(text)
    except RecursionError:
        yield subject.too_complex("nested too deeply to read")
    except ValueError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else text.rstrip().count("\n") + 1
        code = "duplicate-key" if "Cannot overwrite" in str(error) else "bad-toml"
        yield subject.finding(code, str(error), _CORRECT, line)


def _yaml(subject: CheckedFile, text: str, _tree: FileTree) -> Iterator[FileFinding]:
    try:
        yield from _yaml_events(subject, text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        line, said = 1, str(error)
        if isinstance(error, yaml.MarkedYAMLError):
            mark = error.problem_mark or error.context_mark
            line, said = mark.line + 1 if mark else 1, error.problem or error.context or said
        elif isinstance(error, yaml.reader.ReaderError):
            line = text.count("\n", 0, error.position) + 1
        if is_template(text):
            yield subject.other_dialect("it is a template of YAML", line)
        else:
            yield subject.finding("bad-yaml", said, "correct the line; indent with spaces", line)


class _Open(Struct):
    """A collection that is not closed yet; a list has no keys."""

    is_mapping: bool
    keys: set[tuple[str, str]] = field(default_factory=set)
    at_key: bool = True


def _yaml_events(subject: CheckedFile, text: str) -> Iterator[FileFinding]:
    """Read events only: nothing is built, so aliases cannot multiply and tags cannot act."""
    opened, anchors, resolver = list[_Open](), set[str](), yaml.resolver.Resolver()
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.DocumentStartEvent):
            anchors.clear()
        elif isinstance(event, yaml.CollectionEndEvent):
            opened.pop()
        if not isinstance(event, yaml.NodeEvent):
            continue
        if isinstance(event, yaml.AliasEvent) and event.anchor not in anchors:
            said = f"`*{event.anchor}` refers to an anchor that is not defined above"
            hint = "define the anchor above its use"
            yield subject.finding("undefined-alias", said, hint, line, about=str(event.anchor))
        elif event.anchor:
            anchors.add(event.anchor)
        if opened and opened[-1].is_mapping and _is_key_again(event, opened[-1], resolver):
            said = f"key `{event.value[:80]}` stands twice"
            yield subject.finding("duplicate-key", said, _KEEP_ONE, line, about=event.value)
        if isinstance(event, yaml.CollectionStartEvent):
            opened.append(_Open(isinstance(event, yaml.MappingStartEvent)))
        if len(opened) > DEEPEST:
            yield subject.too_complex(f"nested more than {DEEPEST} deep")
            return


def _is_key_again(event: yaml.NodeEvent, here: _Open, resolver: Any) -> bool:
    """True when a mapping has this key; `1` and `"1"` are two keys, `a` and `"a"` are one."""
    is_key, here.at_key = here.at_key, not here.at_key
    if not is_key or not isinstance(event, yaml.ScalarEvent):
        return False
    tag = event.tag or resolver.resolve(yaml.ScalarNode, event.value, event.implicit)
    key = (str(tag), event.value)
    again = key in here.keys and tag != "tag:yaml.org,2002:merge"
    here.keys.add(key)
    return again


def _table(subject: CheckedFile, text: str, _tree: FileTree) -> Iterator[FileFinding]:
    """Read the table as programs do: the first row names the columns."""
    if not text.strip():
        yield subject.finding("empty-file", "there is no row", "write a header and rows")
        return
    # What the first line uses most, outside quotes; a comma where it uses none.
    outside = "".join(text.lstrip("\r\n").split("\n", 1)[0].split('"')[::2])
    delimiter = "\t" if subject.suffix == ".tsv" else max(",;\t|", key=outside.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    width, line = 0, 1
    try:
        for row in reader:
            width = width or len(row)
            if row and len(row) != width:
                said = f"{len(row)} fields, the header has {width}"
                hint = "quote fields that contain the delimiter; give every row all fields"
                yield subject.finding("ragged-row", said, hint, line)
            line = reader.line_num + 1
    except csv.Error as error:
        hint = 'close every quote, and double a quote inside one (`""`)'
        yield subject.finding("bad-csv", str(error), hint, line)


_JSON_SUFFIXES = {".json", ".jsonc", ".geojson", ".webmanifest", ".jsonld", ".code-workspace"}
JSON = BuiltInChecker("json", frozenset(_JSON_SUFFIXES), 20_000_000, of_text(_json))
JSON_LINES = BuiltInChecker(
    "json-lines", frozenset({".jsonl", ".ndjson"}), 50_000_000, of_text(_json_lines)
)
YAML = BuiltInChecker("yaml", frozenset({".yaml", ".yml"}), 2_000_000, of_text(_yaml))
TOML = BuiltInChecker("toml", frozenset({".toml"}), 1_000_000, of_text(_toml))
TABLE = BuiltInChecker("table", frozenset({".csv", ".tsv"}), 50_000_000, of_text(_table))
