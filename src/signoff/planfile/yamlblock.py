"""The YAML block at the top of a plan, read as events so that no document can make it explode."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

from signoff.planfile.frontkeys import NULLS, Frontmatter, Key, StatusSpan, Value

_AFTER_VALUE = re.compile(r"[ \t]*(?:[ \t]#[^\r\x85\u2028\u2029]*)?\r?")


class Refused(Exception):
    """Why the block cannot be used, and where it says so."""

    def __init__(self, why: str, index: int) -> None:
        super().__init__(why)
        self.why = why
        self.index = index


def read_yaml(inner: str, base: int, end: int) -> Frontmatter:
    """Read the lines between the markers; `base` is where they start in the document."""
    reader = _Reader(inner, base)
    try:
        reader.read()
    except Refused as problem:
        return Frontmatter(
            end, refused=problem.why, refused_line=inner.count("\n", 0, problem.index) + 1
        )
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        index = mark.index if mark else 0
        why = problem.problem or "it is not YAML"
        return Frontmatter(end, refused=why, refused_line=inner.count("\n", 0, index) + 1)
    except (yaml.YAMLError, ValueError, OverflowError) as problem:
        return Frontmatter(end, refused=str(problem).split("\n", 1)[0], refused_line=0)
    return Frontmatter(end, tuple(reader.keys), reader.status, reader.column)


@dataclass
class _Reader:
    """Top level of one mapping: scalars and lists of scalars; the rest is skipped, not built."""

    inner: str
    base: int
    keys: list[Key] = field(default_factory=list)
    status: StatusSpan | None = None
    column: int | None = 0
    flow: bool = False
    names: set[str] = field(default_factory=set)

    def read(self) -> None:
        events = self._events()
        root = next((e for e in events if isinstance(e, yaml.NodeEvent)), None)
        if root is None or (isinstance(root, yaml.ScalarEvent) and not root.value):
            return
        if not isinstance(root, yaml.MappingStartEvent):
            raise Refused("it is not a list of `name: value` lines", _start(root))
        self.flow = bool(root.flow_style)
        self.column = None if self.flow else _column(self.inner, root)
        for key in events:
            if isinstance(key, yaml.MappingEndEvent):
                break
            if not isinstance(key, yaml.ScalarEvent):
                raise Refused("a name must be plain text", _start(key))
            self._entry(key, events)
        for extra in events:
            if isinstance(extra, yaml.DocumentStartEvent):
                raise Refused("it holds more than one document", _start(extra))

    def _events(self) -> Iterator[yaml.Event]:
        for event in yaml.parse(self.inner, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise Refused("anchors and aliases are not allowed", _start(event))
            if getattr(event, "tag", None):
                raise Refused("tags are not allowed", _start(event))
            yield event

    def _entry(self, key: yaml.ScalarEvent, events: Iterator[yaml.Event]) -> None:
        if key.value in self.names:
            raise Refused(f"`{key.value}` stands there twice", _start(key))
        self.names.add(key.value)
        first = next(events)
        value, nested = _value(first, events)
        line = self.inner.count("\n", 0, _start(key)) + 1
        self.keys.append(Key(key.value, value, line, nested))
        if key.value == "status" and isinstance(first, yaml.ScalarEvent):
            self.status = self._status_span(key, first, line)

    def _status_span(
        self, key: yaml.ScalarEvent, value: yaml.ScalarEvent, line: int
    ) -> StatusSpan | None:
        """The span, if the entry has a line to itself: only then one-line edits are safe."""
        start, end = _start(value), value.end_mark.index if value.end_mark else 0
        line_start = self.inner.rfind("\n", 0, _start(key)) + 1
        line_end = self.inner.index("\n", _start(key))
        before = self.inner[line_start : _start(key)]
        after = self.inner[end:line_end] if end <= line_end else "?"
        if self.flow or before.strip(" ") or not _AFTER_VALUE.fullmatch(after):
            return None
        return StatusSpan(line, self.base + start, self.base + end, value.style or "")


def _value(first: yaml.Event, events: Iterator[yaml.Event]) -> tuple[Value, bool]:
    """The value that starts with this event; deeper structure is skipped without recursion."""
    if isinstance(first, yaml.ScalarEvent):
        is_null = first.style is None and first.value in NULLS
        return (None if is_null else first.value), False
    depth, nested = 1, isinstance(first, yaml.MappingStartEvent)
    items: list[str] = []
    while depth:
        event = next(events)
        if isinstance(event, yaml.CollectionStartEvent):
            depth, nested = depth + 1, True
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.ScalarEvent):
            items.append(event.value)
    return (None if nested else tuple(items)), nested


def _start(event: yaml.Event) -> int:
    """Where an event starts; offsets, because YAML counts more line ends than we do."""
    return event.start_mark.index if event.start_mark else 0


def _column(inner: str, event: yaml.Event) -> int:
    return _start(event) - inner.rfind("\n", 0, _start(event)) - 1
