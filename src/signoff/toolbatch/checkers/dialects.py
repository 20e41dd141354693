"""Files in a dialect that no checker reads: JSX and Flow in `.js`, charts that Helm fills in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from signoff.toolbatch.checkers.templates import is_template
from signoff.toolbatch.checkers.tree import Tree

LARGEST_LOOKED_AT = 1_000_000
_FLOW = re.compile(r"\A\s*(?:/\*[^/]{0,2000}?@flow\b|//[^\n]*@flow\b)")
# An element where a value is expected: behind `(`, `=`, `?`, `:`, `,`, `{`, `>`, `&` or `return`.
_ELEMENT = re.compile(r"(?:[(=?:,{>&]|\breturn)\s{0,200}<(?:[A-Za-z][\w.:-]{0,100}[\s/>]|>)")
_ELEMENT_ENDS = re.compile(r"/>|</")
_BUILT = re.compile(
    r'"(?:react|preact|solid-js|next|gatsby|inferno|flow-bin|@babel/[\w-]+|@vitejs/[\w-]+|esbuild'
    r'|react-scripts)"\s*:'
)


def script_dialect(text: str) -> str:
    """The dialect that a JavaScript file seems to be in; empty for the plain language."""
    if _FLOW.match(text):
        return "Flow"
    has_element = _ELEMENT.search(text) is not None and _ELEMENT_ENDS.search(text) is not None
    return "JSX" if has_element else ""


def unread_dialect(path: str, tree: Tree) -> str:
    """Why no checker can judge a file, by its content and the project around it; empty: one can.

    What the file says of itself is not enough: the project has to be one that builds such files.
    """
    place = PurePosixPath(path.lower())
    if place.suffix == ".js":
        built = any(_BUILT.search(_text(file, tree)) for file in _above(path, "package.json"))
        return script_dialect(_text(path, tree)) if built else ""
    if place.suffix in (".yaml", ".yml") and "templates" in place.parts[:-1]:
        chart = any(tree.size(file) is not None for file in _above(path, "Chart.yaml"))
        return "Helm" if chart and is_template(_text(path, tree)) else ""
    return ""


def _above(path: str, name: str) -> Iterator[str]:
    """Where a file of that name would lie: beside a path and in every folder above it."""
    for folder in PurePosixPath(path).parents:
        yield (folder / name).as_posix()


def _text(path: str, tree: Tree) -> str:
    size = tree.size(path)
    content = tree.read(path) if size is not None and size <= LARGEST_LOOKED_AT else None
    return (content or b"").decode("utf-8", "replace")
