"""From tree-sitter's syntax to the small tree of `tree`, mending its known misreadings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import tree_sitter
import tree_sitter_bash

from signoff.commands import tree

MAX_DEPTH = 100

_PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
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


class TooDeep(Exception):
    """The text nests further than any contract that a person wrote."""


def lower(text: str) -> tuple[tree.Block, bool]:
    """The tree of a script, and whether tree-sitter read all of it without an error."""
    source = text.encode("utf-8", "surrogatepass")
    root = syntax_of(source)
    try:
        return _Lowering(source).block(root), not root.has_error
    except TooDeep:
        return tree.Block((tree.Opaque(text[:40], 0),), 0), False


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
    """What the grammar makes of a script, byte for byte where the script has it."""
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

    def node(self, node: tree_sitter.Node) -> tree.Node:
        rule = _RULES.get(node.type)
        if rule is None:
            return tree.Opaque(self._text(node)[:40], _row(node))
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise TooDeep
        try:
            return rule(self, node)
        finally:
            self._depth -= 1

    def block(self, node: tree_sitter.Node, subshell: bool = False) -> tree.Block:
        return tree.Block(self._items(node.children), _row(node), subshell)

    def _items(self, children: list[tree_sitter.Node]) -> tuple[tree.Node, ...]:
        items: list[tree.Node] = []
        for child in children:
            kind = child.type
            if kind == "&":
                if items:
                    items[-1] = tree.Background(items[-1], items[-1].line)
            elif kind == "file_redirect":
                items.append(tree.Command((), _row(child), (), self._redirects([child])))
            elif child.is_named and kind not in _IGNORED:
                items.append(self.node(child))
        return tuple(items)

    def command(self, node: tree_sitter.Node) -> tree.Node:
        words: list[tree.Word] = []
        assigned: list[tree.Word] = []
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
        if words and any(not w.quoted and w.text in ("{", "}") for w in words):
            return tree.Opaque(self._text(node)[:40], line)
        if redirects:
            command = tree.Command(tuple(words), line, tuple(assigned), self._redirects(redirects))
        else:
            command = tree.Command(tuple(words), line, tuple(assigned))
        negations = 0
        while negations < len(words) and words[negations] == tree.Word("!", words[negations].line):
            negations += 1
        if not negations:
            return command
        plain = replace(command, words=command.words[negations:])
        return tree.Not(plain, line) if negations % 2 else tree.Not(tree.Not(plain, line), line)

    def assignment(self, node: tree_sitter.Node) -> tree.Node:
        if node.type == "variable_assignment":
            return tree.Command((), _row(node), (self._assigned(node),))
        return tree.Command((), _row(node), tuple(self._assigned(c) for c in node.named_children))

    def _assigned(self, node: tree_sitter.Node) -> tree.Word:
        value = node.child_by_field_name("value")
        literal = value is None or value.type not in ("array", *_EXPANSIONS)
        if value is not None and literal:
            word = self.word(value)
            return replace(word, text=self._text(node), literal=word.literal)
        return tree.Word(self._text(node), _row(node), literal, False, tuple(self._inner(node)))

    def declare(self, node: tree_sitter.Node) -> tree.Node:
        keyword = self._text(node.children[0]) if node.children else ""
        words = tuple(
            self._assigned(c) if c.type == "variable_assignment" else self.word(c)
            for c in node.named_children
        )
        return tree.Declare(keyword, words, _row(node))

    def test(self, node: tree_sitter.Node) -> tree.Node:
        opener = node.children[0].type if node.children else ""
        if opener not in ("[", "[["):
            kind = tree.Arithmetic if opener == "((" else tree.Opaque
            return kind(self._text(node), _row(node))
        ends = [tree.Word(text, _row(node)) for text in (opener, "]" * len(opener))]
        return tree.Command((ends[0], *self._operands(node), ends[1]), _row(node))

    def _operands(self, node: tree_sitter.Node) -> Iterator[tree.Word]:
        for child in node.children:
            if child.type.endswith("_expression") and child.type != "brace_expression":
                self._depth += 1
                if self._depth > MAX_DEPTH:
                    raise TooDeep
                yield from self._operands(child)
                self._depth -= 1
            elif child.type not in ("[", "]", "[[", "]]"):
                yield self.word(child)

    def chain(self, node: tree_sitter.Node) -> tree.Node:
        rest: list[tuple[tree.Link, tree.Node]] = []
        # The grammar nests chains to the left; walking the spine keeps long ones shallow.
        while node.type == "list" and len(node.children) == 3:
            left, link, right = node.children
            rest += reversed(_spliced(tree.Link(link.type), self.node(right)))
            node = left
        if node.type == "list":
            return tree.Opaque(self._text(node)[:40], _row(node))
        return tree.Chain(self.node(node), tuple(reversed(rest)), _row(node))

    def pipeline(self, node: tree_sitter.Node) -> tree.Node:
        stages = tuple(self.node(c) for c in node.named_children if c.type != "comment")
        return _regrouped(stages, _row(node))

    def negated(self, node: tree_sitter.Node) -> tree.Node:
        body = next((c for c in node.named_children if c.type != "comment"), None)
        return tree.Not(self.node(body), _row(node)) if body else tree.Opaque("!", _row(node))

    def compound(self, node: tree_sitter.Node) -> tree.Node:
        if node.children and node.children[0].type == "((":
            return tree.Arithmetic(self._text(node), _row(node))
        return self.block(node)

    def subshell(self, node: tree_sitter.Node) -> tree.Node:
        return self.block(node, subshell=True)

    def if_(self, node: tree_sitter.Node) -> tree.Node:
        branches: list[tuple[tree.Block, tree.Block]] = []
        otherwise: tree.Block | None = None
        own: list[tree_sitter.Node] = []
        for child in node.children:
            if child.type == "elif_clause":
                branches.append(self._branch(child.children))
            elif child.type == "else_clause":
                otherwise = self.block(child)
            else:
                own.append(child)
        return tree.If((self._branch(own), *branches), otherwise, _row(node))

    def _branch(self, children: list[tree_sitter.Node]) -> tuple[tree.Block, tree.Block]:
        then = next((i for i, c in enumerate(children) if c.type == "then"), len(children))
        condition, body = children[:then], children[then:]
        line = _row(children[0])
        return tree.Block(self._items(condition), line), tree.Block(self._items(body), line)

    def while_(self, node: tree_sitter.Node) -> tree.Node:
        body = node.child_by_field_name("body")
        kind = tree.LoopKind.UNTIL if node.children[0].type == "until" else tree.LoopKind.WHILE
        condition = [c for c in node.children if c.type != "do_group"]
        inside = self.block(body) if body else tree.Block((), _row(node))
        return tree.Loop(
            kind, tree.Block(self._items(condition), _row(node)), inside, (), _row(node)
        )

    def for_(self, node: tree_sitter.Node) -> tree.Node:
        body = node.child_by_field_name("body")
        inside = self.block(body) if body else tree.Block((), _row(node))
        words = tuple(self.word(c) for c in node.children_by_field_name("value"))
        return tree.Loop(tree.LoopKind.FOR, None, inside, words, _row(node))

    def case(self, node: tree_sitter.Node) -> tree.Node:
        value = node.child_by_field_name("value")
        words = (self.word(value),) if value else ()
        branches: list[tree.Block] = []
        exhaustive = False
        for item in node.named_children:
            if item.type == "case_item":
                patterns = item.children_by_field_name("value")
                exhaustive = exhaustive or any(self._text(p) == "*" for p in patterns)
                bodies = [c for c in item.children if c not in patterns]
                branches.append(tree.Block(self._items(bodies), _row(item)))
        return tree.Case(words, tuple(branches), exhaustive, _row(node))

    def define(self, node: tree_sitter.Node) -> tree.Node:
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        if name is None or body is None:
            return tree.Opaque(self._text(node)[:40], _row(node))
        return tree.Define(self._text(name), self.node(body), _row(node))

    def redirected(self, node: tree_sitter.Node) -> tree.Node:
        inner = node.child_by_field_name("body")
        found = [c for c in node.children if c.type in _REDIRECTS]
        redirects = self._redirects(found)
        body: tree.Node = self.node(inner) if inner else tree.Command((), _row(node))
        return self._after_heredoc(_with_redirects(body, redirects), found)

    def _after_heredoc(self, body: tree.Node, redirects: list[tree_sitter.Node]) -> tree.Node:
        """`cat <<X | grep y` and `cat <<X && y`: the grammar hangs the rest below the `<<X`."""
        for heredoc in (r for r in redirects if r.type == "heredoc_redirect"):
            link: tree.Link | None = None
            for child in heredoc.children:
                if child.type in ("&&", "||"):
                    link = tree.Link(child.type)
                elif child.type == "pipeline":
                    stages = tuple(self.node(c) for c in child.named_children)
                    body = tree.Pipeline((body, *stages), body.line)
                elif child.type not in _IGNORED and child.is_named and link:
                    body = tree.Chain(body, ((link, self.node(child)),), body.line)
        return body

    def _redirects(self, nodes: list[tree_sitter.Node]) -> tuple[tree.Redirect, ...]:
        found: list[tree.Redirect] = []
        for node in nodes:
            if node.type == "file_redirect":
                target = node.child_by_field_name("destination")
                operator = next((c.type for c in node.children if not c.is_named), "")
                word = self.word(target) if target else None
                found.append(tree.Redirect(operator, word, _row(node)))
            else:
                here = tree.Word("", _row(node), False, True, tuple(self._inner(node)))
                found.append(tree.Redirect("<<", here, _row(node)))
                found += self._redirects([c for c in node.children if c.type == "file_redirect"])
        return tuple(found)

    def word(self, node: tree_sitter.Node) -> tree.Word:
        kind = node.type
        text = self._text(node)
        if kind in ("word", "number", "test_operator"):
            return tree.Word(text.replace("\\", "") if "\\" in text else text, _row(node))
        if kind == "raw_string":
            return tree.Word(text[1:-1], _row(node), True, True)
        if kind == "string":
            return self._string(node, text)
        if kind == "ansi_c_string":
            return tree.Word(text[2:-1], _row(node), "\\" not in text, True)
        if kind == "concatenation":
            return self._concatenation(node)
        literal = kind not in _EXPANSIONS and not node.named_children
        return tree.Word(text, _row(node), literal, False, tuple(self._inner(node)))

    def _string(self, node: tree_sitter.Node, text: str) -> tree.Word:
        dynamic = any(c.type in _EXPANSIONS for c in node.children)
        if dynamic:
            return tree.Word(text[1:-1], _row(node), False, True, tuple(self._inner(node)))
        return tree.Word(text[1:-1].replace('\\"', '"'), _row(node), True, True)

    def _concatenation(self, node: tree_sitter.Node) -> tree.Word:
        parts = [self.word(c) for c in node.children]
        text = "".join(p.text for p in parts)
        plain = text.replace("{item}", "")
        braces = "{" in plain and ("," in plain or ".." in plain)
        literal = all(p.literal for p in parts) and not braces
        inner = tuple(block for p in parts for block in p.inner)
        return tree.Word(text, _row(node), literal, any(p.quoted for p in parts), inner)

    def _inner(self, node: tree_sitter.Node) -> Iterator[tree.Block]:
        """The command and process substitutions inside a word, outermost only."""
        waiting = [node]
        while waiting:
            here = waiting.pop()
            if here.type in _SUBSTITUTIONS:
                self._depth += 1
                if self._depth > MAX_DEPTH:
                    raise TooDeep
                yield self.block(here, subshell=True)
                self._depth -= 1
            else:
                waiting.extend(reversed(here.children))


def _regrouped(stages: tuple[tree.Node, ...], line: int) -> tree.Node:
    """`! a | b || c`: `!` spans the pipeline and `||` ends it, however the grammar nests them."""
    first, last = stages[0], stages[-1]
    if isinstance(last, tree.Chain):
        return replace(last, first=_regrouped((*stages[:-1], last.first), line))
    if isinstance(first, tree.Not):
        return tree.Not(_regrouped((first.body, *stages[1:]), line), line)
    flat: list[tree.Node] = []
    for stage in stages:
        flat += stage.stages if isinstance(stage, tree.Pipeline) else (stage,)
    if any(isinstance(stage, tree.Chain | tree.Not) for stage in flat):
        return tree.Opaque("…|…", line)
    return tree.Pipeline(tuple(flat), line)


def _spliced(link: tree.Link, right: tree.Node) -> list[tuple[tree.Link, tree.Node]]:
    """What follows an operator, as parts of one chain."""
    return [(link, right.first), *right.rest] if isinstance(right, tree.Chain) else [(link, right)]


def _with_redirects(body: tree.Node, redirects: tuple[tree.Redirect, ...]) -> tree.Node:
    """Redirections belong to the last simple command; the grammar gives them to the whole list."""
    if isinstance(body, tree.Command):
        return replace(body, redirects=body.redirects + redirects)
    if isinstance(body, tree.Chain):
        link, last = body.rest[-1]
        return replace(body, rest=(*body.rest[:-1], (link, _with_redirects(last, redirects))))
    if isinstance(body, tree.Pipeline):
        stages = (*body.stages[:-1], _with_redirects(body.stages[-1], redirects))
        return replace(body, stages=stages)
    if isinstance(body, tree.Not):
        return replace(body, body=_with_redirects(body.body, redirects))
    return tree.Redirected(body, redirects, body.line)


_RULES: dict[str, Callable[[_Lowering, tree_sitter.Node], tree.Node]] = {
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
    "while_statement": _Lowering.while_,
    "for_statement": _Lowering.for_,
    "c_style_for_statement": _Lowering.for_,
    "case_statement": _Lowering.case,
    "function_definition": _Lowering.define,
    "redirected_statement": _Lowering.redirected,
}
