"""Convert tree-sitter's syntax to the small tree of `tree`, mending its known misreadings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from types import ModuleType

import tree_sitter
from msgspec.structs import replace

from signoff.commands.tree import Link, NodeKind, Redirect, ShellNode, Word

MAX_DEPTH = 60


def _bash() -> tree_sitter.Language:
    """The grammar of bash, without what its package loads to highlight code: that takes longer."""
    name = "importlib.resources"
    stand_in = ModuleType(name)
    stand_in.__dict__["files"] = None
    loaded = sys.modules.setdefault(name, stand_in)
    from tree_sitter_bash import language  # noqa: PLC0415 - while the other is left out

    if loaded is stand_in:
        del sys.modules[name]
    return tree_sitter.Language(language())


_PARSER = tree_sitter.Parser(_bash())
# The grammar's scanner asks C's `isdigit` about any code point, which ends the process for some
# beyond Latin-1. To bash every byte beyond ASCII is a letter, so the grammar gets to see one.
_AS_LETTERS = bytes(b if 0 < b < 0x80 else ord("u") for b in range(256))
_SUBSTITUTIONS = ("command_substitution", "process_substitution")
_EXPANSIONS = frozenset(
    ("simple_expansion", "expansion", "arithmetic_expansion", "brace_expression", *_SUBSTITUTIONS)
)
_OPENERS = frozenset(
    ("if", "while", "until", "for", "case", "{", "(", "((", "[[", "$(", "${", "`", '"', "&&", "||")
)
_REDIRECTS = frozenset(("file_redirect", "heredoc_redirect", "herestring_redirect"))
_IGNORED = frozenset(("comment", "\n", ";", ";;", "heredoc_body", "heredoc_end", "heredoc_start"))
_BRACKETS = ("[", "]", "[[", "]]")


class _TooDeep(Exception):
    """The text nests further than any contract that a person wrote."""


@lru_cache(maxsize=256)
def lower(text: str) -> tuple[ShellNode, bool]:
    """The tree of a script, and whether tree-sitter read all of it without an error."""
    source = text.encode("utf-8", "surrogatepass")
    root = syntax_of(source)
    try:
        return _Lowering(source).block(root), not root.has_error
    except _TooDeep:
        return ShellNode(NodeKind.BLOCK, 0, (ShellNode(NodeKind.OPAQUE, 0, text=text[:40]),)), False


def error_line(text: str) -> int | None:
    """The line (from 0) of the first error in a text, by the grammar: where the open part begins.

    What is missing is told by the part that it is missing from.
    """
    waiting = [syntax_of(text.encode("utf-8", "surrogatepass"))]
    while waiting:
        node = waiting.pop()
        if node.type == "ERROR" or node.is_missing:
            around = node.parent if node.is_missing else None
            # What is complete became a part of its own; a bare word such as `if` is still open.
            opened = (child for child in node.children if child.type in _OPENERS)
            return _row(around or next(opened, node))
        waiting += reversed([child for child in node.children if child.has_error])
    return None


def syntax_of(source: bytes) -> tree_sitter.Node:
    """Parse a script with the grammar; offsets are those of the script's bytes."""
    return _PARSER.parse(source.translate(_AS_LETTERS)).root_node


def _row(node: tree_sitter.Node) -> int:
    return node.start_point[0]


class _Lowering:
    """One pass over one syntax tree."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._depth = 0

    def _text(self, node: tree_sitter.Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def node(self, node: tree_sitter.Node) -> ShellNode:
        rule = _RULES.get(node.type, _Lowering.opaque)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _TooDeep
        try:
            return rule(self, node)
        finally:
            self._depth -= 1

    def opaque(self, node: tree_sitter.Node) -> ShellNode:
        return ShellNode(NodeKind.OPAQUE, _row(node), text=self._text(node)[:40])

    def block(self, node: tree_sitter.Node, kind: NodeKind = NodeKind.BLOCK) -> ShellNode:
        return ShellNode(kind, _row(node), self._items(node.children))

    def _items(self, children: Iterable[tree_sitter.Node]) -> tuple[ShellNode, ...]:
        items: list[ShellNode] = []
        for child in children:
            kind = child.type
            if kind == "&":
                if items:
                    items[-1] = ShellNode(NodeKind.BACKGROUND, items[-1].line, (items[-1],))
            elif kind == "file_redirect":
                redirects = self._redirects([child])
                items.append(ShellNode(NodeKind.COMMAND, _row(child), redirects=redirects))
            elif child.is_named and kind not in _IGNORED:
                items.append(self.node(child))
        return tuple(items)

    def command(self, node: tree_sitter.Node) -> ShellNode:
        words: list[Word] = []
        assigned: list[Word] = []
        redirects: list[tree_sitter.Node] = []
        for child in node.children:
            kind = child.type
            if kind == "variable_assignment":
                assigned.append(self._assigned(child))
            elif kind in _REDIRECTS:
                redirects.append(child)
            elif kind == "command_name":
                words.append(self.word(child.children[0] if child.children else child))
            elif child.is_named:
                words.append(self.word(child))
        line = words[0].line if words else _row(node)
        if any(not w.quoted and w.text in ("{", "}") for w in words):
            return self.opaque(node)
        denied = 0
        while denied < len(words) and words[denied] == Word("!", words[denied].line):
            denied += 1
        around = self._redirects(redirects) if redirects else ()
        made = ShellNode(NodeKind.COMMAND, line, (), tuple(words[denied:]), tuple(assigned), around)
        for _ in range(2 - denied % 2 if denied else 0):
            made = ShellNode(NodeKind.NOT, line, (made,))
        return made

    def assignment(self, node: tree_sitter.Node) -> ShellNode:
        several = node.named_children if node.type == "variable_assignments" else [node]
        return ShellNode(NodeKind.COMMAND, _row(node), assigned=tuple(map(self._assigned, several)))

    def _assigned(self, node: tree_sitter.Node) -> Word:
        value = node.child_by_field_name("value")
        if value is not None and value.type not in ("array", *_EXPANSIONS):
            return replace(self.word(value), text=self._text(node))
        inner = tuple(self._inner(node))
        return Word(self._text(node), _row(node), value is None, inner=inner)

    def declare(self, node: tree_sitter.Node) -> ShellNode:
        keyword = self._text(node.children[0]) if node.children else ""
        words = tuple(
            self._assigned(c) if c.type == "variable_assignment" else self.word(c)
            for c in node.named_children
        )
        return ShellNode(NodeKind.DECLARE, _row(node), words=words, text=keyword)

    def test(self, node: tree_sitter.Node) -> ShellNode:
        opener = node.children[0].type if node.children else ""
        if opener not in ("[", "[["):
            kind = NodeKind.ARITHMETIC if opener == "((" else NodeKind.OPAQUE
            return ShellNode(kind, _row(node), text=self._text(node))
        first, last = (Word(text, _row(node)) for text in (opener, "]" * len(opener)))
        return ShellNode(NodeKind.COMMAND, _row(node), words=(first, *self._operands(node), last))

    def _operands(self, node: tree_sitter.Node) -> Iterator[Word]:
        waiting = node.children[::-1]
        while waiting:
            child = waiting.pop()
            if child.type.endswith("_expression") and child.type != "brace_expression":
                waiting += reversed(child.children)
            elif child.type not in _BRACKETS:
                yield self.word(child)

    def chain(self, node: tree_sitter.Node) -> ShellNode:
        line, parts, links = _row(node), list[ShellNode](), list[Link]()
        # The grammar nests chains to the left; walking the spine keeps long ones shallow.
        while node.type == "list" and len(node.children) == 3:
            left, link, last = node.children
            right = self.node(last)
            is_chain = right.kind is NodeKind.CHAIN
            parts += reversed(right.parts if is_chain else (right,))
            links += (*reversed(right.links), Link(link.type))
            node = left
        if node.type == "list":
            return self.opaque(node)
        parts.append(self.node(node))
        return ShellNode(NodeKind.CHAIN, line, tuple(reversed(parts)), links=tuple(reversed(links)))

    def pipeline(self, node: tree_sitter.Node) -> ShellNode:
        stages = self._items(node.children)
        return _regrouped(stages, _row(node)) if stages else self.opaque(node)

    def negated(self, node: tree_sitter.Node) -> ShellNode:
        body = self._items(node.children)
        return ShellNode(NodeKind.NOT, _row(node), body[:1]) if body else self.opaque(node)

    def compound(self, node: tree_sitter.Node) -> ShellNode:
        if node.children and node.children[0].type == "((":
            return ShellNode(NodeKind.ARITHMETIC, _row(node), text=self._text(node))
        return self.block(node)

    def subshell(self, node: tree_sitter.Node) -> ShellNode:
        return self.block(node, NodeKind.SUBSHELL)

    def if_(self, node: tree_sitter.Node) -> ShellNode:
        own = [c for c in node.children if c.type not in ("elif_clause", "else_clause")]
        parts = [*self._branch(own)]
        for child in node.children:
            if child.type == "elif_clause":
                parts += self._branch(child.children)
            elif child.type == "else_clause":
                parts.append(self.block(child))
        return ShellNode(NodeKind.IF, _row(node), tuple(parts))

    def _branch(self, children: list[tree_sitter.Node]) -> tuple[ShellNode, ShellNode]:
        then = next((i for i, c in enumerate(children) if c.type == "then"), len(children))
        line = _row(children[0])
        condition, body = (self._items(part) for part in (children[:then], children[then:]))
        return ShellNode(NodeKind.BLOCK, line, condition), ShellNode(NodeKind.BLOCK, line, body)

    def loop(self, node: tree_sitter.Node) -> ShellNode:
        line, body = _row(node), node.child_by_field_name("body")
        inside = self.block(body) if body else ShellNode(NodeKind.BLOCK, line)
        if node.type != "while_statement":
            words = tuple(self.word(c) for c in node.children_by_field_name("value"))
            return ShellNode(NodeKind.LOOP, line, (inside,), words, text="for")
        condition = self._items(c for c in node.children if c.type != "do_group")
        parts = (ShellNode(NodeKind.BLOCK, line, condition), inside)
        return ShellNode(NodeKind.LOOP, line, parts, text=node.children[0].type)

    def case(self, node: tree_sitter.Node) -> ShellNode:
        value = node.child_by_field_name("value")
        branches: list[ShellNode] = []
        words = [self.word(value)] if value else []
        for item in node.named_children:
            if item.type == "case_item":
                patterns = item.children_by_field_name("value")
                words += map(self.word, patterns)
                inside = self._items(c for c in item.children if c not in patterns)
                branches.append(ShellNode(NodeKind.BLOCK, _row(item), inside))
        return ShellNode(NodeKind.CASE, _row(node), tuple(branches), tuple(words))

    def define(self, node: tree_sitter.Node) -> ShellNode:
        name, body = (node.child_by_field_name(field) for field in ("name", "body"))
        if name is None or body is None:
            return self.opaque(node)
        return ShellNode(NodeKind.DEFINE, _row(node), (self.node(body),), text=self._text(name))

    def redirected(self, node: tree_sitter.Node) -> ShellNode:
        inner = node.child_by_field_name("body")
        found = [c for c in node.children if c.type in _REDIRECTS]
        body = self.node(inner) if inner else ShellNode(NodeKind.COMMAND, _row(node))
        return self._after_heredoc(_with_redirects(body, self._redirects(found)), found)

    def _after_heredoc(self, body: ShellNode, redirects: list[tree_sitter.Node]) -> ShellNode:
        """`cat <<X | grep y` and `cat <<X && y`: the grammar hangs the rest below the `<<X`."""
        for heredoc in (r for r in redirects if r.type == "heredoc_redirect"):
            link: Link | None = None
            for child in heredoc.children:
                if child.type in ("&&", "||"):
                    link = Link(child.type)
                elif child.type == "pipeline":
                    stages = tuple(self.node(c) for c in child.named_children)
                    body = ShellNode(NodeKind.PIPELINE, body.line, (body, *stages))
                elif child.type not in _IGNORED and child.is_named and link:
                    body = ShellNode(
                        NodeKind.CHAIN, body.line, (body, self.node(child)), links=(link,)
                    )
        return body

    def _redirects(self, nodes: list[tree_sitter.Node]) -> tuple[Redirect, ...]:
        found: list[Redirect] = []
        for node in nodes:
            if node.type == "file_redirect":
                target = node.child_by_field_name("destination")
                operator = next((c.type for c in node.children if not c.is_named), "")
                found.append(Redirect(operator, self.word(target) if target else None))
            else:
                here = Word("", _row(node), False, True, tuple(self._inner(node)))
                found.append(Redirect("<<", here))
                found += self._redirects([c for c in node.children if c.type == "file_redirect"])
        return tuple(found)

    def word(self, node: tree_sitter.Node) -> Word:
        kind, text, line = node.type, self._text(node), _row(node)
        if kind in ("word", "number", "test_operator"):
            return Word(text.replace("\\", "") if "\\" in text else text, line)
        if kind == "raw_string":
            return Word(text[1:-1], line, True, True)
        if kind == "string":
            if any(c.type in _EXPANSIONS for c in node.children):
                return Word(text[1:-1], line, False, True, tuple(self._inner(node)))
            return Word(text[1:-1].replace('\\"', '"'), line, True, True)
        if kind == "ansi_c_string":
            return Word(text[2:-1], line, "\\" not in text, True)
        if kind == "concatenation":
            return self._concatenation(node)
        literal = kind not in _EXPANSIONS and not node.named_children
        return Word(text, line, literal, False, tuple(self._inner(node)))

    def _concatenation(self, node: tree_sitter.Node) -> Word:
        parts = [self.word(c) for c in node.children]
        text = "".join(p.text for p in parts)
        plain = text.replace("{item}", "")
        braces = "{" in plain and ("," in plain or ".." in plain)
        literal = all(p.literal for p in parts) and not braces
        inner = tuple(block for p in parts for block in p.inner)
        return Word(text, _row(node), literal, any(p.quoted for p in parts), inner)

    def _inner(self, node: tree_sitter.Node) -> Iterator[ShellNode]:
        """The command and process substitutions inside a word, outermost only."""
        waiting = [node]
        while waiting:
            here = waiting.pop()
            if here.type in _SUBSTITUTIONS:
                yield self.subshell(here)
            else:
                waiting.extend(reversed(here.children))


def _regrouped(stages: tuple[ShellNode, ...], line: int) -> ShellNode:
    """`! a | b || c`: `!` spans the pipeline and `||` ends it, however the grammar nests them."""
    first, last = stages[0], stages[-1]
    if last.kind is NodeKind.CHAIN:
        head = _regrouped((*stages[:-1], last.parts[0]), line)
        return replace(last, parts=(head, *last.parts[1:]))
    if first.kind is NodeKind.NOT:
        return ShellNode(NodeKind.NOT, line, (_regrouped((*first.parts, *stages[1:]), line),))
    flat: list[ShellNode] = []
    for stage in stages:
        flat += stage.parts if stage.kind is NodeKind.PIPELINE else (stage,)
    if any(stage.kind in (NodeKind.CHAIN, NodeKind.NOT) for stage in flat):
        return ShellNode(NodeKind.OPAQUE, line, text="…|…")
    return ShellNode(NodeKind.PIPELINE, line, tuple(flat))


def _with_redirects(body: ShellNode, redirects: tuple[Redirect, ...]) -> ShellNode:
    """Redirections belong to the last simple command; the grammar gives them to the whole list."""
    if body.kind in (NodeKind.CHAIN, NodeKind.PIPELINE, NodeKind.NOT):
        last = _with_redirects(body.parts[-1], redirects)
        return replace(body, parts=(*body.parts[:-1], last))
    return replace(body, redirects=body.redirects + redirects)


_RULES: dict[str, Callable[[_Lowering, tree_sitter.Node], ShellNode]] = {
    "command": _Lowering.command,
    "variable_assignment": _Lowering.assignment,
    "variable_assignments": _Lowering.assignment,
    "declaration_command": _Lowering.declare,
    "unset_command": _Lowering.declare,
    "test_command": _Lowering.test,
    "list": _Lowering.chain,
    "pipeline": _Lowering.pipeline,
    "negated_command": _Lowering.negated,
    "compound_statement": _Lowering.compound,
    "subshell": _Lowering.subshell,
    "if_statement": _Lowering.if_,
    "while_statement": _Lowering.loop,
    "for_statement": _Lowering.loop,
    "c_style_for_statement": _Lowering.loop,
    "case_statement": _Lowering.case,
    "function_definition": _Lowering.define,
    "redirected_statement": _Lowering.redirected,
}
