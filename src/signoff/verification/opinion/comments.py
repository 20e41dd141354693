"""Source code without its comments, by the grammars that are installed; lines keep their place."""

from __future__ import annotations

import importlib
import posixpath
import re
from collections.abc import Iterator
from functools import lru_cache

import tree_sitter

from signoff.domain.languages import language_of

# Language → the package of its grammar, and the function in it; by extension where one has several.
_GRAMMARS = {
    "python": ("tree_sitter_python", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "ts": ("tree_sitter_typescript", "language_typescript"),
    "mts": ("tree_sitter_typescript", "language_typescript"),
    "cts": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "c": ("tree_sitter_c", "language"),
    "java": ("tree_sitter_java", "language"),
    "shell": ("tree_sitter_bash", "language"),
}
# Speak something else than their language's grammar reads.
_OTHERS = re.compile(r"vue|svelte|cc|cpp|cxx|hh|hpp|hxx|mm?|kts?|scala|groovy|fish|zsh")


def without_comments(path: str, text: str) -> str:
    """The text with blanks in place of comments; LookupError where no installed grammar reads it.

    In Python, a text that nobody uses is a comment too.
    """
    language, extension = language_of(path), posixpath.basename(path).rpartition(".")[2].lower()
    grammar = _GRAMMARS.get(extension) or _GRAMMARS.get(language or "")
    parser = None if grammar is None or _OTHERS.fullmatch(extension) else _parser(*grammar)
    if parser is None:
        raise LookupError(path)
    source = bytearray(text.encode("utf-8", "replace"))
    for node in _comments(parser.parse(bytes(source)).root_node, docs=language == "python"):
        kept = bytes(source[node.start_byte : node.end_byte]).split(b"\n")
        blank = b"\n".join(b" " * len(line) for line in kept)
        source[node.start_byte : node.end_byte] = blank
    return source.decode("utf-8", "replace")


def _comments(root: tree_sitter.Node, *, docs: bool) -> Iterator[tree_sitter.Node]:
    nodes = [root]
    while nodes:
        node = nodes.pop()
        unused = node.parent is not None and node.parent.type == "expression_statement"
        if "comment" in node.type or (docs and unused and node.type == "string"):
            yield node
        else:
            nodes.extend(node.children)


@lru_cache(maxsize=16)
def _parser(package: str, function: str) -> tree_sitter.Parser | None:
    try:
        language = getattr(importlib.import_module(package), function)
    except ImportError:
        return None
    return tree_sitter.Parser(tree_sitter.Language(language()))
