"""Compute a script's possible exit statuses, for the plain cases: `… || true`, a last `echo`.

Whatever is not plain (functions, traps, loops that wait) may end with anything: that a contract
fails before the work is done is measured when it runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import NamedTuple

from signoff.commands.launchers import SYSTEM, RealCommand, see_through
from signoff.commands.tree import TESTS, Link, NodeKind, Redirect, ShellNode, Word, commands_in

FAILS = -1
"""Some status other than 0, we cannot say which."""

Statuses = frozenset[int]
NONE: Statuses = frozenset()
ZERO: Statuses = frozenset((0,))
FAILED: Statuses = frozenset((FAILS,))
ANY: Statuses = ZERO | FAILED

_ALWAYS_ZERO = frozenset(
    (
        *("true", ":", "echo", "printf", "sleep", "pwd", "date", "wait", "set", "shopt", "umask"),
        *("hostname", "whoami", "shift", "times", "ls"),
    )
)
# They pass on what they read, and answer 0 whatever it was.
_FILTERS = frozenset(
    (
        *("cat", "tee", "head", "tail", "sort", "wc", "uniq", "tr", "cut", "nl", "rev", "column"),
        *("fold", "tac", "less", "more"),
    )
)
PRINTERS = frozenset(("echo", "printf"))
# After these the text no longer says where the shell ends, or with what.
_UNPLAIN = frozenset(("trap", "alias", "enable", "break", "continue", "return", "set"))
_SETUP = frozenset(
    (
        *("rm", "mkdir", "export", "set", "sleep", "echo", "printf", "trap", "umask"),
        *("kill", "read", "mapfile", "readarray"),
    )
)
_SAFE_TARGET = re.compile(r"\d+|-|/dev/(?:null|stdout|stderr|tty|fd/\d+)")


class ExitStatuses(NamedTuple):
    """Statuses with which a piece goes on to the next one, and those with which it ends the shell.

    `exit 1` has none of the first kind.
    """

    falls: Statuses
    exits: Statuses = NONE

    @property
    def all(self) -> Statuses:
        """Every status seen from outside."""
        return self.falls | self.exits


Answer = Callable[[ShellNode, RealCommand], Statuses | None]
"""The statuses of a command, given what it really runs, where somebody knows better."""


class ShellEvaluation:
    """One shell and its options."""

    def __init__(self, answer: Answer | None = None) -> None:
        self.errexit = self.pipefail = False
        self.functions: set[str] = set()
        self._answer = answer
        self._depth = 0
        self._unplain = False

    def final(self, script: ShellNode, guarded: bool = False) -> Statuses:
        """Statuses of the whole shell."""
        outcome = self._block(script, guarded)
        return ANY if self._unplain else outcome.all

    def run(self, node: ShellNode, guarded: bool = False) -> ExitStatuses:
        """`guarded` where `set -e` does not apply."""
        rule = _RULES.get(node.kind)
        falls, exits = rule(self, node, guarded) if rule is not None else ExitStatuses(ANY)
        return ExitStatuses(falls if is_safe(node.redirects) else falls | FAILED, exits)

    def stops(self, node: ShellNode) -> bool | None:
        """True when `set -e` ends the shell if this fails; None where that depends on the rest."""
        if node.kind in (NodeKind.NOT, NodeKind.BACKGROUND, NodeKind.DEFINE, NodeKind.DECLARE):
            return False
        if node.kind is NodeKind.CHAIN:
            return None if self.stops(node.parts[-1]) is not False else False
        is_plain = node.kind is NodeKind.COMMAND and node.name not in ("eval", *self.functions)
        return True if is_plain else None

    def _inner(self) -> ShellEvaluation:
        """A subshell."""
        inner = ShellEvaluation(self._answer)
        inner.errexit, inner.pipefail, inner._depth = self.errexit, self.pipefail, self._depth
        inner.functions = set(self.functions)
        return inner

    def _block(self, block: ShellNode, guarded: bool) -> ExitStatuses:
        last, exits = ZERO, NONE
        for i, part in enumerate(block.parts):
            if part.name == "set":
                self._set(part.args)
                last = ZERO
                continue
            last, left = self.run(part, guarded)
            exits |= left
            is_last = i == len(block.parts) - 1
            stops = self.errexit and not guarded and not is_last and self.stops(part)
            exits |= last - ZERO if stops is not False else NONE
            last = last & ZERO if stops else last
            if not last:
                break
        return ExitStatuses(last, exits)

    def _set(self, words: tuple[str, ...]) -> None:
        for word, following in pairwise((*words, "")):
            named = following if word.endswith("o") else ""
            if word[:1] in ("-", "+") and ("e" in word or named == "errexit"):
                self.errexit = word[0] == "-"
            if word[:1] in ("-", "+") and named == "pipefail":
                self.pipefail = word[0] == "-"

    def _subshell(self, node: ShellNode, guarded: bool) -> ExitStatuses:
        return ExitStatuses(self._inner().final(node, guarded))

    def _chain(self, chain: ShellNode, guarded: bool) -> ExitStatuses:
        falls, exits = self.run(chain.parts[0], guarded=True)
        for i, (link, node) in enumerate(zip(chain.links, chain.parts[1:], strict=True), 1):
            goes_on = falls & ZERO if link is Link.AND else falls - ZERO
            if goes_on:
                right = self.run(node, guarded or i < len(chain.links))
                falls, exits = (falls - goes_on) | right.falls, exits | right.exits
        return ExitStatuses(falls, exits)

    def _pipeline(self, pipeline: ShellNode, guarded: bool) -> ExitStatuses:
        stages = (ShellNode(NodeKind.BLOCK, 0, (stage,)) for stage in pipeline.parts)
        results = [self._inner().final(stage, guarded) for stage in stages]
        if _is_filter(pipeline.parts[-1]):
            results[-1] = ZERO
        if not self.pipefail:
            return ExitStatuses(results[-1])
        failing = NONE.union(*(r - ZERO for r in results))
        return ExitStatuses((ZERO if all(0 in r for r in results) else NONE) | failing)

    def _not(self, node: ShellNode, _guarded: bool) -> ExitStatuses:
        falls, exits = self.run(node.parts[0], guarded=True)
        return ExitStatuses(frozenset(int(status == 0) for status in falls), exits)

    def _if(self, node: ShellNode, guarded: bool) -> ExitStatuses:
        falls = exits = NONE
        parts = list(node.parts)
        while len(parts) > 1:
            condition, body = parts.pop(0), parts.pop(0)
            asked = self.run(condition, guarded=True)
            taken = self.run(body, guarded) if 0 in asked.falls else ExitStatuses(NONE)
            falls, exits = falls | taken.falls, exits | asked.exits | taken.exits
            if not asked.falls - ZERO:
                return ExitStatuses(falls, exits)
        other = self.run(parts[0], guarded) if parts else ExitStatuses(ZERO)
        return ExitStatuses(falls | other.falls, exits | other.exits)

    def _loop(self, loop: ShellNode, guarded: bool) -> ExitStatuses:
        body = self.run(loop.parts[-1], guarded)
        # Any loop but `for` may wait for ever, and a contract that times out does not hold.
        return ExitStatuses(body.falls | (ZERO if loop.text == "for" else ANY), body.exits)

    def _case(self, case: ShellNode, guarded: bool) -> ExitStatuses:
        endings = [self.run(branch, guarded) for branch in case.parts]
        falls = ZERO.union(*(e.falls for e in endings))
        return ExitStatuses(falls, NONE.union(*(e.exits for e in endings)))

    def _define(self, node: ShellNode, _guarded: bool) -> ExitStatuses:
        self.functions.add(node.text)
        return ExitStatuses(ZERO)

    def _zero(self, _node: ShellNode, _guarded: bool) -> ExitStatuses:
        return ExitStatuses(ZERO)

    def _command(self, command: ShellNode, guarded: bool) -> ExitStatuses:
        if not command.words:
            return ExitStatuses(ANY if any(word.inner for word in command.assigned) else ZERO)
        seen = see_through(command, self._depth)
        if seen.script is not None:
            ending = self._nested(seen.script, seen, guarded)
        elif seen.command is None or not seen.command.words:
            ending = ExitStatuses(ANY)
        else:
            known = self._answer is not None and seen.command.name not in self.functions
            told = self._answer(command, seen) if known and self._answer else None
            ending = self._simple(seen.command) if told is None else ExitStatuses(told)
        return ExitStatuses(NONE, ending.all) if "exec" in seen.wrappers else ending

    def _nested(self, script: ShellNode, seen: RealCommand, guarded: bool) -> ExitStatuses:
        if seen.same_shell:
            self._depth += 1
            ending = self.run(script, guarded)
            self._depth -= 1
            return ending
        inner = self._inner()
        inner._depth += 1
        inner.errexit, inner.pipefail, inner.functions = seen.errexit, seen.pipefail, set()
        return ExitStatuses(inner.final(script))

    def _simple(self, command: ShellNode) -> ExitStatuses:
        name, args = SYSTEM.sub("", command.name), command.words[1:]
        if name in self.functions:
            return ExitStatuses(ANY, ANY)
        self._unplain = self._unplain or name in _UNPLAIN
        if name in ("exit", "return"):
            code = args[0].text if args else ""
            return ExitStatuses(NONE, frozenset((int(code) % 256,)) if code.isdecimal() else ANY)
        if name in TESTS:
            return ExitStatuses(_constant_test(args))
        if name == "false":
            return ExitStatuses(frozenset((1,)))
        asks = bool(args) and name in ("wait", "ls")
        return ExitStatuses(ZERO if name in _ALWAYS_ZERO and not asks else ANY)


_RULES: dict[NodeKind, Callable[[ShellEvaluation, ShellNode, bool], ExitStatuses]] = {
    NodeKind.BLOCK: ShellEvaluation._block,
    NodeKind.SUBSHELL: ShellEvaluation._subshell,
    NodeKind.CHAIN: ShellEvaluation._chain,
    NodeKind.PIPELINE: ShellEvaluation._pipeline,
    NodeKind.NOT: ShellEvaluation._not,
    NodeKind.COMMAND: ShellEvaluation._command,
    NodeKind.IF: ShellEvaluation._if,
    NodeKind.LOOP: ShellEvaluation._loop,
    NodeKind.CASE: ShellEvaluation._case,
    NodeKind.DEFINE: ShellEvaluation._define,
    NodeKind.BACKGROUND: ShellEvaluation._zero,
    NodeKind.DECLARE: ShellEvaluation._zero,
}


def must_succeed(block: ShellNode, command: ShellNode) -> bool:
    """True when the script never ends with 0 if this command of it fails."""

    def answer(other: ShellNode, _seen: RealCommand) -> Statuses | None:
        return FAILED if other == command else None

    return 0 not in ShellEvaluation(answer).final(block)


def _is_filter(stage: ShellNode) -> bool:
    """True when a pipeline's last command passes its input on and always exits with 0."""
    if stage.kind is not NodeKind.COMMAND or not is_safe(stage.redirects):
        return False
    seen = see_through(stage).command
    if seen is None or seen.name not in _FILTERS:
        return False
    if any(a.startswith(("-C", "--check")) for a in seen.args):
        return False
    if seen.name == "sort" and any(a.startswith("-c") for a in seen.args):
        return False
    # `head -n 5`, `cut -d : -f 1`, `tr a b`: no file is opened.
    opens = (a for a in seen.args if a[:1] != "-" and not re.fullmatch(r"[+\d,:;|-]+", a))
    return seen.name in ("tee", "tr") or not any(opens)


def is_safe(redirects: Iterable[Redirect]) -> bool:
    """True when the redirections cannot fail, whatever the workspace holds."""
    targets = (r.target for r in redirects if r.operator != "<<" and r.target is not None)
    return all(_SAFE_TARGET.fullmatch(target.text) for target in targets)


def lost_failures(block: ShellNode) -> tuple[int, ...]:
    """Lines of commands whose failure nobody would notice: something follows that hides it."""
    shell = ShellEvaluation()
    found: list[int] = []
    for node, following in zip(block.parts, (*block.parts[1:], None), strict=False):
        falls, exits = shell.run(ShellNode(NodeKind.BLOCK, 0, (node,)))
        stops = shell.errexit and shell.stops(node) is not False
        hidden = following is not None and not _is_setup(node) and not _asks_for_status(following)
        if (hidden and (_only_prints_failure(node) or (falls - ZERO and not stops))) or (
            not shell.errexit and _forgets_rounds(node)
        ):
            found.append(node.line)
        if not falls:
            return tuple(found) if exits - ZERO else ()
    return tuple(found)


def _is_setup(node: ShellNode) -> bool:
    if node.kind is NodeKind.COMMAND:
        return not node.words or node.name in _SETUP
    return node.kind in (NodeKind.BACKGROUND, NodeKind.OPAQUE) or _keeps_count(node) or _ends(node)


def _keeps_count(node: ShellNode) -> bool:
    """`test … && n=$((n + 1))`, or a loop of it: the failure is kept in a variable."""
    while node.kind in (NodeKind.LOOP, NodeKind.BLOCK) and node.parts:
        node = node.parts[-1]
    last = node.parts[-1] if node.kind is NodeKind.CHAIN else node
    return last.kind is NodeKind.ARITHMETIC or (last.kind is NodeKind.COMMAND and not last.words)


def _asks_for_status(following: ShellNode) -> bool:
    """True when it looks at the status before it: `exit`, `[ $? = 0 ]`, `rc=$?`."""
    leaves = following.name in ("exit", "return") and not following.args
    return leaves or any("$?" in text or "PIPESTATUS" in text for text in following.texts())


def _only_prints_failure(node: ShellNode) -> bool:
    """`check || echo bad`."""
    is_or = node.kind is NodeKind.CHAIN and node.links[-1] is Link.OR
    return is_or and all(command.name in PRINTERS for command in commands_in(node.parts[-1]))


def _forgets_rounds(node: ShellNode) -> bool:
    """True when one round of a loop may fail and the next one hides it."""
    if node.kind is not NodeKind.LOOP or _keeps_count(node) or _ends(node):
        return False
    words = node.words
    once = len(words) == 1 and words[0].literal and not set("*?[{") & set(words[0].text)
    return not once and bool(ShellEvaluation().run(node.parts[-1]).falls - ZERO)


def _ends(loop: ShellNode) -> bool:
    """True when the loop's body can leave it early."""
    words = {"break", "continue", "exit", "return"}
    return loop.kind is NodeKind.LOOP and not words.isdisjoint(loop.parts[-1].texts())


def printed_anyway(block: ShellNode) -> tuple[str, ...]:
    """Texts that are printed whatever the workspace holds."""
    found: list[str] = []
    shell = ShellEvaluation()
    for node in block.parts:
        if node.name in PRINTERS and not node.redirects and all(w.literal for w in node.words):
            found.append(" ".join(node.args))
        elif shell.run(ShellNode(NodeKind.BLOCK, 0, (node,))).exits or shell.errexit:
            break
    return tuple(found)


def _constant_test(words: tuple[Word, ...]) -> Statuses:
    """The status of a test that asks nothing of the workspace, such as `[ 1 -eq 1 ]`."""
    texts = [w.text for w in words if w.text not in ("]", "]]")]
    if not all(w.literal for w in words) or any(c in text for text in texts for c in "*?{"):
        return ANY
    denied = texts[:1] == ["!"] and len(texts) > 1
    match texts[denied:]:
        case [] | [_]:
            holds = any(texts[denied:])
        case ["-n" | "-z" as option, operand]:
            holds = bool(operand) == (option == "-n")
        case ["-e" | "-d", "." | "./" | "/"]:
            holds = True
        case [left, "=" | "==" | "!=" as option, right]:
            holds = (left == right) == (option != "!=")
        case [left, "-eq" | "-ne" as option, right] if (left + right).isdecimal():
            holds = (int(left) == int(right)) == (option == "-eq")
        case _:
            return ANY
    return frozenset((int(holds == denied),))
