"""YAML read as events: nothing is constructed, so aliases cannot multiply and tags cannot act."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

# The scanner's time grows with the square of the depth of `[[[[…`.
DEEPEST = 200
MOST_SAID = 20

_MERGE = "tag:yaml.org,2002:merge"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class YamlTrouble:
    """One thing that is wrong, and where."""

    code: str
    line: int
    message: str
    about: str = ""


@dataclass
class _Open:
    """A collection that is not closed yet; a list has no keys."""

    keys: set[tuple[str, str]] | None = None
    expects_key: bool = True


@dataclass
class _Walk:
    """What has been seen of the document in hand."""

    opened: list[_Open] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    resolver: yaml.resolver.Resolver = field(default_factory=yaml.resolver.Resolver)

    def take(self, event: yaml.Event) -> YamlTrouble | None:
        """One event; what is wrong with it."""
        line = _line(event)
        if isinstance(event, yaml.DocumentStartEvent):
            self.anchors.clear()
            return None
        if isinstance(event, yaml.CollectionEndEvent):
            self.opened.pop()
            return None
        if not isinstance(event, yaml.NodeEvent):
            return None
        said: YamlTrouble | None = None
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.anchors:
                message = f"`*{event.anchor}` refers to an anchor that is not defined above"
                said = YamlTrouble("undefined-alias", line, message, str(event.anchor))
        elif event.anchor:
            self.anchors.add(event.anchor)
        said = self._key(event, line) or said
        if isinstance(event, yaml.CollectionStartEvent):
            keys = set[tuple[str, str]]() if isinstance(event, yaml.MappingStartEvent) else None
            self.opened.append(_Open(keys))
        return said

    def _key(self, event: yaml.NodeEvent, line: int) -> YamlTrouble | None:
        here = self.opened[-1] if self.opened else None
        if here is None or here.keys is None:
            return None
        is_key, here.expects_key = here.expects_key, not here.expects_key
        if not is_key or not isinstance(event, yaml.ScalarEvent):
            return None
        tag = event.tag or _resolve(self.resolver, event)
        key = (str(tag), event.value)
        if tag != _MERGE and key in here.keys:
            said = f"key `{event.value[:80]}` stands twice"
            return YamlTrouble("duplicate-key", line, said, event.value)
        here.keys.add(key)
        return None


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark is not None else 1


def _resolve(resolver: yaml.resolver.Resolver, event: yaml.ScalarEvent) -> str:
    """Its type, so that `1` and `"1"` are two keys, and `a` and `"a"` one."""
    found = resolver.resolve(yaml.ScalarNode, event.value, event.implicit)  # type: ignore[no-untyped-call]
    return str(found)


def yaml_troubles(text: str) -> Iterator[YamlTrouble]:
    """Everything that is wrong, up to the first place where reading ends."""
    walk, said = _Walk(), 0
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            trouble = walk.take(event)
            if trouble is not None:
                yield trouble
                said += 1
            if len(walk.opened) > DEEPEST:
                deep = f"nested more than {DEEPEST} deep"
                yield YamlTrouble("too-complex", _line(event), deep)
                return
            if said >= MOST_SAID:
                return
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(error.problem or error.context or "cannot be read").split())
        yield YamlTrouble("bad-yaml", mark.line + 1 if mark else 1, problem[:200])
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        # A character that YAML does not allow has a place, but no mark.
        place = getattr(error, "position", 0)
        line = text.count("\n", 0, place) + 1 if isinstance(place, int) else 1
        yield YamlTrouble("bad-yaml", line, " ".join(str(error).split())[:200])
