"""What a part of a contract is called in a message: its own words, shortened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from signoff.commands import tree

_SHOWN_WORDS = 2


def named(node: tree.Node) -> str:
    """Never empty, and never the whole text."""
    return _NAMES[type(node)](node).strip() or "''"


def _words(words: tuple[tree.Word, ...]) -> str:
    shown = words if words and words[0].text in tree.TESTS else words[:_SHOWN_WORDS]
    return " ".join(word.text or "''" for word in shown)


def _command(command: tree.Command) -> str:
    if command.words or command.assigned:
        return _words(command.words or command.assigned)
    targets = (f"{r.operator} {r.target.text}" for r in command.redirects if r.target)
    return " ".join(targets)


_NAMES: dict[type, Callable[[Any], str]] = {
    tree.Command: _command,
    tree.Declare: lambda node: f"{node.keyword} {_words(node.words[:1])}",
    tree.Arithmetic: lambda node: node.text,
    tree.Opaque: lambda node: node.text,
    tree.Chain: lambda node: f"{named(node.first)} {node.rest[-1][0]} {named(node.rest[-1][1])}",
    tree.Pipeline: lambda node: named(node.stages[-1]),
    tree.Not: lambda node: f"! {named(node.body)}",
    tree.Background: lambda node: named(node.body),
    tree.Redirected: lambda node: named(node.body),
    tree.Block: lambda node: named(node.items[-1]) if node.items else "{ }",
    tree.If: lambda _: "if … fi",
    tree.Loop: lambda node: f"{node.kind} … done",
    tree.Case: lambda _: "case … esac",
    tree.Define: lambda node: f"{node.name}()",
}
