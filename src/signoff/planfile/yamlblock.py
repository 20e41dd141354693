"""Frontmatter by way of a YAML library: composed and never built, so that nothing can explode."""

from __future__ import annotations

import re

import yaml

from signoff.planfile.blocks import NULLS, Frontmatter, Key, StatusSpan, Value

_AFTER_VALUE = re.compile(r"[ \t]*(?:[ \t]#[^\r\x85\u2028\u2029]*)?\r?")
_REFUSED = (yaml.AliasToken, yaml.AnchorToken, yaml.TagToken)
_REFUSED_WHY = "tags, anchors and aliases are not allowed"


def read_yaml(inner: str, base: int, end: int) -> Frontmatter:
    """The block between the dashes, which begins at offset `base` of the document."""
    try:
        return _read(inner, base, end)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        why, index = problem.problem or "it is not YAML", mark.index if mark else 0
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as problem:
        return Frontmatter(end, refused=str(problem).split("\n", 1)[0], refused_line=0)
    return Frontmatter(end, refused=why, refused_line=inner.count("\n", 0, index) + 1)


def _read(inner: str, base: int, end: int) -> Frontmatter:
    """Top level of one mapping: scalars and lists of scalars."""
    for token in yaml.scan(inner, Loader=yaml.SafeLoader):
        if isinstance(token, _REFUSED):
            raise yaml.MarkedYAMLError(None, None, _REFUSED_WHY, token.start_mark)
    root = yaml.compose(inner, Loader=yaml.SafeLoader)
    if root is None or (isinstance(root, yaml.ScalarNode) and not root.value):
        return Frontmatter(end, column=0)
    if not isinstance(root, yaml.MappingNode):
        raise _refusal("it is not a list of `name: value` lines", root)
    keys: dict[str, Key] = {}
    status: StatusSpan | None = None
    for name, value in root.value:
        if not isinstance(name, yaml.ScalarNode):
            raise _refusal("a name must be plain text", name)
        if name.value in keys:
            raise _refusal(f"`{name.value}` stands there twice", name)
        line = inner.count("\n", 0, _start(name)) + 1
        read, nested = _value(value)
        keys[name.value] = Key(name.value, read, line, nested)
        if name.value == "status" and isinstance(value, yaml.ScalarNode) and not root.flow_style:
            status = _status_span(inner, base, name, value, line)
    column = _start(root) - inner.rfind("\n", 0, _start(root)) - 1
    return Frontmatter(end, tuple(keys.values()), status, None if root.flow_style else column)


def _refusal(why: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(None, None, why, node.start_mark)


def _status_span(
    inner: str, base: int, key: yaml.Node, value: yaml.ScalarNode, line: int
) -> StatusSpan | None:
    """The span, if the entry has a line to itself: only then one-line edits are safe."""
    start, end = _start(value), value.end_mark.index
    line_start = inner.rfind("\n", 0, _start(key)) + 1
    line_end = inner.index("\n", _start(key))
    after = inner[end:line_end] if end <= line_end else "?"
    if inner[line_start : _start(key)].strip(" ") or not _AFTER_VALUE.fullmatch(after):
        return None
    return StatusSpan(line, base + start, base + end, value.style or "")


def _value(node: yaml.Node) -> tuple[Value, bool]:
    """The value of a node; True beside it when it is nested deeper than we read."""
    if isinstance(node, yaml.ScalarNode):
        is_null = node.style is None and node.value in NULLS
        return (None if is_null else node.value), False
    items = node.value if isinstance(node, yaml.SequenceNode) else [node]
    if not all(isinstance(item, yaml.ScalarNode) for item in items):
        return None, True
    return tuple(item.value for item in items), False


def _start(node: yaml.Node) -> int:
    """Offset at which a node starts; YAML counts more line ends than we do."""
    return int(node.start_mark.index)
