"""Whether a recipe of a project proves anything: a script of npm, the lines of a make target.

It does when a program that is known to judge is run, and its failing is the recipe's failing. What
cannot be understood proves nothing by itself; a person can declare it as a contract.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import IntEnum
from pathlib import PurePosixPath

from signoff.commands.analysis import analyse
from signoff.commands.endings import ZERO, Shell, is_filter
from signoff.commands.launchers import Nested, see_through
from signoff.commands.reading import lower
from signoff.commands.tree import (
    Block,
    Chain,
    Command,
    Declare,
    Define,
    Link,
    Node,
    Pipeline,
    Redirected,
    Word,
)
from signoff.toolbatch.testers import is_tester, runs, unwrapped

DEEPEST = 8  # recipes that run other recipes


class Proof(IntEnum):
    """What a recipe is worth; of commands that all have to hold the best one counts."""

    CANNOT_FAIL = 0
    CANNOT_TELL = 1
    PROVES = 2


Follow = Callable[[str, str], Proof]
"""What a script (`npm`), a target (`make`) or a file (`file`) of the project proves."""

# They turn a program that judges into one that does not, from outside of its arguments.
_STEERS = re.compile(
    r"(?:PATH|ENV|BASH_ENV|SHELLOPTS|LD_PRELOAD|NODE_OPTIONS|PYTHONPATH|PYTHONHOME|PYTEST_ADDOPTS"
    r"|PYTEST_PLUGINS|(?:GNU)?MAKEFLAGS|GOFLAGS|MAVEN_\w+|CARGO_\w+|npm_config_\w+)\+?="
)
_STEERED = re.compile(_STEERS.pattern.removesuffix("="))
_LEAVES = frozenset({"exit", "return", "trap", "alias", "unset", "shopt", "enable"})
_TRANSPARENT = frozenset(
    ("env", "time", "command", "nice", "timeout", "stdbuf", "nohup", "ionice", "exec")
)
_SHELLS = frozenset({"bash", "sh", "dash"})
_SCRIPTS = {"node": (".js", ".mjs", ".cjs", ".ts"), "python": (".py",), "python3": (".py",)}


def proof_of(text: str, follow: Follow) -> Proof:
    """What a text proves that a shell would run."""
    facts = analyse(text)
    if "\0" in text:
        return Proof.CANNOT_TELL
    if facts.empty or facts.statuses == ZERO:
        return Proof.CANNOT_FAIL
    block, clear = lower(text)
    return _Reader(follow).block(block) if clear else Proof.CANNOT_TELL


class _Reader:
    """Reads one text; whatever it does not know is `CANNOT_TELL`."""

    def __init__(self, follow: Follow):
        self._follow = follow

    def block(self, block: Block, errexit: bool = False, pipefail: bool = False) -> Proof:
        """Without `set -e` only the last command counts."""
        best = Proof.CANNOT_FAIL
        if not block.items or any(map(_interferes, block.items)):
            return Proof.CANNOT_TELL if block.items else best
        for item in block.items[:-1]:
            if isinstance(item, Command) and item.words and item.words[0].text == "exec":
                return Proof.CANNOT_TELL
            options = _set_options(item)
            errexit, pipefail = errexit or "e" in options, pipefail or "pipefail" in options
            # Within `a && b` only a failing `b` would end the shell.
            if errexit and isinstance(item, Command | Pipeline | Block):
                best = max(best, self.node(item, pipefail))
        return max(best, self.node(block.items[-1], pipefail))

    def node(self, node: Node, pipefail: bool) -> Proof:
        """What is proved when this ends with 0."""
        if isinstance(node, Command):
            return self._command(node)
        if isinstance(node, Chain):
            return self._chain(node, pipefail)
        if isinstance(node, Block):
            return self.block(node, pipefail=pipefail)
        if isinstance(node, Redirected):
            return self.node(node.body, pipefail)
        if isinstance(node, Pipeline):
            if pipefail:
                return max(self.node(stage, pipefail) for stage in node.stages)
            ignores = is_filter(node.stages[-1])
            return Proof.CANNOT_FAIL if ignores else self.node(node.stages[-1], pipefail)
        return Proof.CANNOT_TELL

    def _chain(self, chain: Chain, pipefail: bool) -> Proof:
        proof = self.node(chain.first, pipefail)
        for link, node in chain.rest:
            if link is Link.AND:
                proof = max(proof, self.node(node, pipefail))
            elif 0 in Shell().run(node).all:
                proof = min(Proof.CANNOT_TELL, proof, self.node(node, pipefail))
        return proof

    def _command(self, command: Command) -> Proof:
        if any(_STEERS.match(word.text) for word in (*command.assigned, *command.words)):
            return Proof.CANNOT_TELL
        seen, wrappers = see_through(command)
        if isinstance(seen, Nested):
            if not seen.clear:
                return Proof.CANNOT_TELL
            return self.block(seen.block, seen.errexit, seen.pipefail)
        if not isinstance(seen, Command) or not _TRANSPARENT.issuperset(wrappers):
            return Proof.CANNOT_TELL
        if not seen.words:
            return Proof.CANNOT_FAIL
        if Shell().run(seen).all == ZERO:
            return Proof.CANNOT_FAIL
        return self._call(seen.words)

    def _call(self, words: tuple[Word, ...]) -> Proof:
        if not all(word.literal or word.text in ('"$@"', "$@") for word in words):
            return Proof.CANNOT_TELL
        texts = unwrapped(tuple(word.text for word in words if word.literal))
        if not texts:
            return Proof.CANNOT_TELL
        others = runs(texts)
        if others:
            return max(self._follow(kind, name) for kind, name in others)
        file = _file(texts)
        if file:
            return self._follow("file", file)
        return Proof.PROVES if is_tester(texts) else Proof.CANNOT_TELL


def _interferes(node: Node) -> bool:
    """Whether it changes what the commands around it mean."""
    if isinstance(node, Define):
        return True
    if isinstance(node, Declare):
        return any(_STEERED.match(word.text) for word in node.words)
    if isinstance(node, Chain):
        parts = [node.first, *(part for link, part in node.rest if link is Link.AND)]
        return any(map(_interferes, parts))
    if not isinstance(node, Command):
        return False
    words = [word.text for word in node.words]
    if any(_STEERS.match(text) for text in (*words, *(word.text for word in node.assigned))):
        return True
    name = words[0] if words else ""
    if name in (".", "source"):
        return not words[-1].endswith("bin/activate")
    return name in _LEAVES or (name == "set" and any("+" in word for word in words))


def _set_options(node: Node) -> set[str]:
    """`set -euo pipefail`: its letters, and the long names behind `-o`."""
    if not isinstance(node, Command) or not node.words or node.words[0].text != "set":
        return set()
    words = [word.text for word in node.words[1:]]
    letters = {letter for word in words if word.startswith("-") for letter in word[1:]}
    named = {word for word in words if not word.startswith("-")}
    return letters | named | ({"e"} if "errexit" in named else set())


def _file(texts: tuple[str, ...]) -> str:
    """The file of the project that is run, with a program for it or by itself."""
    name, *rest = texts
    suffixes = _SCRIPTS.get(name, ())
    if name in _SHELLS or suffixes:
        plain = [word for word in rest if not word.startswith("-")]
        if not rest or rest[0].startswith("-") or not plain:
            return ""
        return plain[0] if not suffixes or PurePosixPath(plain[0]).suffix in suffixes else ""
    return name if "/" in name and not name.startswith("/") else ""
