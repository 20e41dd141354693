"""Syntax of the languages that versions are made of; a grammar is loaded when a file needs it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterator
from functools import lru_cache
from importlib import import_module

from msgspec import Struct
from tree_sitter import Language, Node, Parser

from signoff.commands.reading import syntax_of
from signoff.domain.languages import language_of

_MAX_BYTES, _MAX_LINE = 100_000, 5_000  # the time for what is no program grows with its square
_FIRST_LOOK = 8_000
_BYTES_PER_ERROR = 100
_MAX_DEPTH = 200
_WITHOUT_MEANING = ("comment", "line_comment", "block_comment", "future_import_statement")


class Grammar(Struct, frozen=True):
    """Names that the grammar of one language gives to what versions are made of."""

    title: str
    module: str
    functions: tuple[str, ...]
    calls: tuple[str, ...]
    numbers: tuple[str, ...]
    strings: tuple[str, ...]
    silent: tuple[str, ...]  # what no check can notice, such as imports and annotations
    constants: tuple[str, str] = ("true", "false")
    nothing: str = ";"  # a statement that does nothing
    loader: str = "language"


_JS_FUNCTIONS = (
    "function_declaration", "generator_function_declaration", "method_definition",
    "arrow_function", "function_expression",
)  # fmt: skip
_JS_SILENT = (
    "comment", "import_statement", "decorator", "type_annotation", "interface_declaration",
    "type_alias_declaration", "type_arguments", "predefined_type", "literal_type",
)  # fmt: skip


def _javascript(title: str, module: str, loader: str = "language") -> Grammar:
    return Grammar(
        title, module, _JS_FUNCTIONS, ("call_expression",), ("number",),
        ("string", "template_string"), _JS_SILENT, loader=loader,
    )  # fmt: skip


PYTHON = Grammar(
    "Python", "tree_sitter_python", ("function_definition",), ("call",), ("integer", "float"),
    ("string",),
    ("comment", "import_statement", "import_from_statement", "future_import_statement", "type",
     "decorator"),
    ("True", "False"), "pass",
)  # fmt: skip
JAVASCRIPT = _javascript("JavaScript", "tree_sitter_javascript")
TYPESCRIPT = _javascript("TypeScript", "tree_sitter_typescript", "language_typescript")
TSX = _javascript("TypeScript", "tree_sitter_typescript", "language_tsx")
GO = Grammar(
    "Go", "tree_sitter_go", ("function_declaration", "method_declaration"), ("call_expression",),
    ("int_literal", "float_literal"), ("interpreted_string_literal", "raw_string_literal"),
    ("comment", "import_declaration", "package_clause", "field_declaration_list"), nothing="",
)  # fmt: skip
RUST = Grammar(
    "Rust", "tree_sitter_rust", ("function_item",), ("call_expression", "macro_invocation"),
    ("integer_literal", "float_literal"), ("string_literal", "raw_string_literal"),
    ("line_comment", "block_comment", "use_declaration", "attribute_item", "inner_attribute_item"),
)  # fmt: skip
C = Grammar(
    "C", "tree_sitter_c", ("function_definition",), ("call_expression",), ("number_literal",),
    ("string_literal",), ("comment", "preproc_include"),
)  # fmt: skip
JAVA = Grammar(
    "Java", "tree_sitter_java", ("method_declaration",), ("method_invocation",),
    ("decimal_integer_literal", "decimal_floating_point_literal"), ("string_literal",),
    ("line_comment", "block_comment", "import_declaration", "package_declaration",
     "marker_annotation", "annotation"),
)  # fmt: skip
SHELL = Grammar(
    "shell", "", ("function_definition",), ("command",), ("number",), ("string", "raw_string"),
    ("comment", "heredoc_body"), nothing=":",
)  # fmt: skip
_GRAMMARS = {
    suffix: grammar
    for suffixes, grammar in (
        ("py", PYTHON), ("js mjs cjs jsx", JAVASCRIPT), ("ts mts cts", TYPESCRIPT), ("tsx", TSX),
        ("go", GO), ("rs", RUST), ("c h", C), ("java", JAVA), ("sh bash", SHELL),
    )
    for suffix in suffixes.split()
}  # fmt: skip
_PROGRAMS = {b"python": PYTHON, b"node": JAVASCRIPT, b"sh": SHELL, b"bash": SHELL}
_SHEBANG = re.compile(rb"#![^\n]*?\b(python|node|bash|sh)(?:[\d.]*)\s*(?:\n|\r|$| -)")


class SyntaxPlace(Struct, frozen=True, eq=False):
    """A node and what it stands in."""

    node: Node
    above: SyntaxPlace | None = None
    depth: int = 0

    @property
    def around(self) -> Iterator[SyntaxPlace]:
        """Everything that it stands in, from the inside."""
        place = self.above
        while place is not None:
            yield place
            place = place.above


class SyntaxTree(Struct, frozen=True, eq=False):
    """One text as its grammar reads it."""

    grammar: Grammar
    source: bytes
    root: Node

    def text(self, node: Node | None) -> bytes:
        """The source of a node."""
        return b"" if node is None else self.source[node.start_byte : node.end_byte]

    def walk(
        self, skipped: Collection[str] = (), root: Node | None = None
    ) -> Iterator[SyntaxPlace]:
        """Every node in the order of the text, deep nests and skipped ones left out."""
        waiting = [SyntaxPlace(root or self.root)]
        while waiting:
            place = waiting.pop()
            yield place
            if place.depth < _MAX_DEPTH:
                below = (n for n in reversed(place.node.children) if n.type not in skipped)
                waiting += [SyntaxPlace(node, place, place.depth + 1) for node in below]

    def code(self, skipped: Collection[str] = ()) -> Iterator[SyntaxPlace]:
        """The same without documentation, and without tests that stand in the source."""
        hidden = -1
        for place in self.walk(skipped):
            if place.node.start_byte < hidden:
                continue
            if self.is_documentation(place) or self._is_inner_test(place.node):
                hidden = place.node.end_byte
            else:
                yield place

    @property
    def newline(self) -> bytes:
        """The line ending that the text uses."""
        return b"\r\n" if b"\r\n" in self.source[:4096] else b"\n"

    def loads(self, other: bytes) -> bool:
        """True when another text is as good as this one: the grammar finds no more errors in it."""
        if self.grammar is PYTHON and compiles(self.source) and not compiles(other):
            return False
        return errors_in(_root(self.grammar, other)) <= errors_in(self.root)

    def _is_inner_test(self, node: Node) -> bool:
        """True of a function or module of Rust that an attribute calls a test."""
        before = node.prev_named_sibling if node.type in ("mod_item", "function_item") else None
        attribute = before is not None and before.type == "attribute_item"
        return attribute and b"test" in self.text(before)

    def meaning(self) -> list[tuple[int, str, bytes]]:
        """All but comments, documentation, layout, and what only the compiler is told."""
        return [
            (place.depth, place.node.type, b"" if place.node.child_count else self.text(place.node))
            for place in self.walk(_WITHOUT_MEANING)
            if not self.is_documentation(place)
        ]

    def is_documentation(self, place: SyntaxPlace) -> bool:
        """True within a Python string that stands as a statement of its own."""
        while place.node.type.startswith("string") and place.above is not None:
            place = place.above
        return (
            self.grammar is PYTHON
            and place.node.type == "expression_statement"
            and place.node.child_count == 1
            and place.node.children[0].type == "string"
        )


def grammar_for(path: str, text: bytes) -> Grammar | None:
    """The grammar of a file, by its suffix or its first line."""
    name = path.rpartition("/")[2]
    stem, dot, suffix = name.rpartition(".")
    if dot and stem:
        return _GRAMMARS.get(suffix.lower())
    shebang = _SHEBANG.match(text[:200])
    return _PROGRAMS[shebang[1]] if shebang else None


def read(path: str, text: bytes) -> SyntaxTree | str | None:
    """Read a file; a text is why it cannot be read, None that it is no source code."""
    grammar = grammar_for(path, text)
    if grammar is None:
        return f"no grammar for `{path}`: only undone" if language_of(path) else None
    if grammar is not SHELL and _parser(grammar) is None:
        return f"no grammar for `{path}` here: install `signoff[strength]`"
    if len(text) > _MAX_BYTES or max(map(len, text.split(b"\n"))) > _MAX_LINE:
        return f"`{path}` or a line of it is too long to be read: only undone"
    size = _FIRST_LOOK
    while size < 2 * len(text):  # what is no program shows early, and costs most when read as one
        if errors_in(_root(grammar, text[:size])) > max(
            10, min(size, len(text)) // _BYTES_PER_ERROR
        ):
            return f"`{path}` does not read as {grammar.title}: only undone"
        size *= 2
    return SyntaxTree(grammar, text, _root(grammar, text))


def errors_in(root: Node) -> int:
    """The number of places that a grammar could not read."""
    found, waiting = 0, [root]
    while waiting:
        node = waiting.pop()
        found += node.type == "ERROR" or node.is_missing
        waiting += [child for child in node.children if child.has_error]
    return found


@lru_cache(maxsize=8)
def compiles(source: bytes) -> bool:
    """True when this Python can load the text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(source, "version.py", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def _root(grammar: Grammar, text: bytes) -> Node:
    if grammar is SHELL:
        return syntax_of(text)
    parser = _parser(grammar)
    assert parser is not None, grammar.module
    return parser.parse(text).root_node


@lru_cache
def _parser(grammar: Grammar) -> Parser | None:
    try:
        return Parser(Language(getattr(import_module(grammar.module), grammar.loader)()))
    except (ImportError, AttributeError, ValueError):
        return None


class ChangedFunction(Struct, frozen=True, eq=False):
    """A function that a change meets, by the name that others call it."""

    name: str
    node: Node
    body: Node

    @property
    def line(self) -> int:
        """The line on which it begins."""
        return self.node.start_point[0] + 1


def changed_functions(tree: SyntaxTree, lines: Collection[int]) -> Iterator[ChangedFunction]:
    """Functions with a name and a body, on lines that changed."""
    for place in tree.code():
        node, body = place.node, place.node.child_by_field_name("body")
        if node.type not in tree.grammar.functions or node.has_error or not _holds_code(body):
            continue
        rows = range(node.start_point[0] + 1, node.end_point[0] + 2)
        name = _name(tree, place)
        if name and body is not None and any(row in lines for row in rows):
            yield ChangedFunction(name, node, body)


def _holds_code(body: Node | None) -> bool:
    """True unless nothing, or a comment alone, stands where a body has to be."""
    return body is not None and any(child.type != "comment" for child in body.children)


def _name(tree: SyntaxTree, place: SyntaxPlace) -> str:
    """The last word of the name by which a function is called; empty where it has none."""
    node: Node | None = place.node
    while node is not None and (inner := node.child_by_field_name("declarator")) is not None:
        node = inner
    named = place.node.child_by_field_name("name") or (node if node is not place.node else None)
    if named is None and place.above is not None:
        holder = place.above.node
        fields = ("name", "key", "left", "property")
        named = next(filter(None, map(holder.child_by_field_name, fields)), None)
        if named is None or named.start_byte >= place.node.start_byte:
            return ""
    words = re.findall(r"[^\W\d]\w*", tree.text(named).decode("utf-8", "replace"))
    return words[-1] if words else ""
