"""Which exit statuses a script can end with, for the plain cases: `… || true`, a last `echo`.

Whatever is not plain (functions, traps, loops that wait) may end with anything: that a contract
fails before the work is done is measured when it runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from signoff.commands import tree
from signoff.commands.launchers import SYSTEM, Hidden, Nested, see_through

FAILS = -1
"""Some status other than 0, we cannot say which."""

Statuses = frozenset[int]
NONE: Statuses = frozenset()
ZERO: Statuses = frozenset((0,))
ANY: Statuses = frozenset((0, FAILS))

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
# After these the text no longer says where the shell ends, or with what.
_UNPLAIN = frozenset(("trap", "alias", "enable", "break", "continue", "return", "set"))
_SAFE_TARGET = re.compile(r"\d+|-|/dev/(?:null|stdout|stderr|tty|fd/\d+)")


class Ending(NamedTuple):
    """Statuses with which a piece goes on to the next one, and those with which it ends the shell.

    `exit 1` has none of the first kind.
    """

    falls: Statuses
    exits: Statuses = NONE

    @property
    def all(self) -> Statuses:
        """Every status seen from outside."""
        return self.falls | self.exits


Meet = Callable[[tree.Chain | tree.Loop, Ending, bool, int], None]
Answer = Callable[[tree.Command, tree.Command, tuple[str, ...]], Statuses | None]
"""The statuses of a command, of what it really runs and its wrappers, where somebody knows."""


def _pass_over(*_met: object) -> None:
    """Nobody wants to hear of it, and nobody knows."""


class Shell:
    """One shell and its options; `meet` hears of the chains and loops whose status counts."""

    def __init__(self, meet: Meet | None = None, answer: Answer | None = None) -> None:
        self.errexit = self.pipefail = False
        self.functions: set[str] = set()
        self._meet = meet or _pass_over
        self._answer = answer or _pass_over
        self._base = self._depth = 0
        self._unplain = False

    def final(self, script: tree.Block, last: Statuses = ZERO, guarded: bool = False) -> Statuses:
        """Statuses of the whole shell."""
        outcome = self.run(replace(script, subshell=False), last, guarded)
        return ANY if self._unplain else outcome.all

    def run(self, node: tree.Node, last: Statuses = ZERO, guarded: bool = False) -> Ending:
        """`last` is the status before; `guarded` where `set -e` does not apply."""
        rule = _RULES.get(type(node))
        return rule(self, node, last, guarded) if rule is not None else Ending(ANY)

    def stops(self, node: tree.Node) -> bool | None:
        """Whether `set -e` ends the shell when this fails; None where that depends on the rest."""
        if isinstance(node, tree.Not | tree.Background | tree.Define | tree.Declare):
            return False
        if isinstance(node, tree.Chain):
            return None if self.stops(node.rest[-1][1]) is not False else False
        if isinstance(node, tree.Command) and node.words:
            return None if node.words[0].text in ("eval", *self.functions) else True
        return True if isinstance(node, tree.Command) else None

    def _own(self, counts: bool = True) -> Shell:
        """A subshell; what it does not notice matters only where its status counts."""
        inner = Shell(self._meet if counts else None, self._answer)
        inner.errexit, inner.pipefail = self.errexit, self.pipefail
        inner.functions = set(self.functions)
        inner._base, inner._depth = self._base, self._depth
        return inner

    def _block(self, block: tree.Block, last: Statuses, guarded: bool) -> Ending:
        if block.subshell:
            return Ending(self._own().final(block, last, guarded))
        exits = NONE
        last = last if block.items else ZERO
        for i, item in enumerate(block.items):
            if self._sets_option(item):
                last = ZERO
                continue
            last, left = self.run(item, last, guarded)
            exits |= left
            is_last = i == len(block.items) - 1
            stops = self.errexit and not guarded and not is_last and self.stops(item)
            exits |= last - ZERO if stops is not False else NONE
            last = last & ZERO if stops else last
            if not last:
                break
        return Ending(last, exits)

    def _sets_option(self, item: tree.Node) -> bool:
        words = [w.text for w in item.words] if isinstance(item, tree.Command) else []
        if words[:1] != ["set"]:
            return False
        for i, word in enumerate(words):
            named = words[i + 1] if word.endswith("o") and i + 1 < len(words) else ""
            if word[0] in "-+" and ("e" in word or named == "errexit"):
                self.errexit = word[0] == "-"
            if word[0] in "-+" and named == "pipefail":
                self.pipefail = word[0] == "-"
        return True

    def _chain(self, chain: tree.Chain, last: Statuses, guarded: bool) -> Ending:
        falls, exits = self.run(chain.first, last, guarded=True)
        for i, (link, node) in enumerate(chain.rest):
            goes_on = falls & ZERO if link is tree.Link.AND else falls - ZERO
            if goes_on:
                met = replace(chain, rest=((link, node),))
                self._meet(met, Ending(falls, exits), guarded, self._base)
                right = self.run(node, goes_on, guarded or i < len(chain.rest) - 1)
                falls, exits = (falls - goes_on) | right.falls, exits | right.exits
        return Ending(falls, exits)

    def _pipeline(self, pipeline: tree.Pipeline, last: Statuses, guarded: bool) -> Ending:
        stages = pipeline.stages
        results = [
            self._own(counts=i == len(stages) - 1).final(tree.Block((stage,), 0), last, guarded)
            for i, stage in enumerate(stages)
        ]
        if is_filter(stages[-1]):
            results[-1] = ZERO
        if not self.pipefail:
            return Ending(results[-1])
        failing = NONE.union(*(r - ZERO for r in results))
        return Ending((ZERO if all(0 in r for r in results) else NONE) | failing)

    def _not(self, node: tree.Not, last: Statuses, _guarded: bool) -> Ending:
        falls, exits = self.run(node.body, last, guarded=True)
        return Ending(frozenset(int(status == 0) for status in falls), exits)

    def _if(self, node: tree.If, last: Statuses, guarded: bool) -> Ending:
        falls = exits = NONE
        for condition, body in node.branches:
            asked = self.run(condition, last, guarded=True)
            taken = self.run(body, ZERO, guarded) if 0 in asked.falls else Ending(NONE)
            falls, exits = falls | taken.falls, exits | asked.exits | taken.exits
            if not asked.falls - ZERO:
                return Ending(falls, exits)
        other = Ending(ZERO) if node.otherwise is None else self.run(node.otherwise, ANY, guarded)
        return Ending(falls | other.falls, exits | other.exits)

    def _loop(self, loop: tree.Loop, _last: Statuses, guarded: bool) -> Ending:
        body = self.run(loop.body, ANY, guarded)
        self._meet(loop, body, self.errexit and not guarded, self._base)
        if loop.kind is tree.LoopKind.FOR:
            runs = loop.words and all(w.literal for w in loop.words)
            return Ending(body.falls | (NONE if runs else ZERO), body.exits)
        # Any other loop may wait for ever, and a contract that times out does not hold.
        return Ending(body.falls | (ZERO if reads_lines(loop) else ANY), body.exits)

    def _case(self, case: tree.Case, last: Statuses, guarded: bool) -> Ending:
        endings = [self.run(branch, last, guarded) for branch in case.branches]
        falls = NONE.union(*(e.falls for e in endings), NONE if case.exhaustive else ZERO)
        return Ending(falls, NONE.union(*(e.exits for e in endings)))

    def _redirected(self, node: tree.Redirected, last: Statuses, guarded: bool) -> Ending:
        falls, exits = self.run(node.body, last, guarded)
        return Ending(falls if is_safe(node.redirects) else falls | {FAILS}, exits)

    def _define(self, node: tree.Define, _last: Statuses, _guarded: bool) -> Ending:
        self.functions.add(node.name)
        self._own().run(node.body)
        return Ending(ZERO)

    def _zero(self, _node: tree.Node, _last: Statuses, _guarded: bool) -> Ending:
        return Ending(ZERO)

    def _command(self, command: tree.Command, last: Statuses, guarded: bool) -> Ending:
        if not command.words:
            falls = ANY if any(word.inner for word in command.assigned) else ZERO
            return Ending(falls if is_safe(command.redirects) else falls | {FAILS})
        seen, wrappers = see_through(command, self._depth)
        if isinstance(seen, Nested) and seen.clear:
            ending = self._nested(seen, last, guarded)
        elif isinstance(seen, Hidden | Nested) or not seen.words:
            ending = Ending(ANY)
        else:
            known = seen.words[0].text not in self.functions
            told = self._answer(command, seen, wrappers) if known else None
            ending = self._simple(seen.words, last) if told is None else Ending(told)
        if "exec" in wrappers:
            ending = Ending(NONE, ending.all)
        if not is_safe(command.redirects):
            ending = Ending(ending.falls | {FAILS}, ending.exits)
        return ending

    def _nested(self, nested: Nested, last: Statuses, guarded: bool) -> Ending:
        if nested.same_shell:
            self._depth += 1
            ending = self.run(nested.block, last, guarded)
            self._depth -= 1
            return ending
        inner = Shell(self._meet, self._answer)
        inner._base, inner._depth = self._base + nested.line, self._depth + 1
        inner.errexit, inner.pipefail = nested.errexit, nested.pipefail
        return Ending(inner.final(nested.block))

    def _simple(self, words: tuple[tree.Word, ...], last: Statuses) -> Ending:
        name, args = SYSTEM.sub("", words[0].text), words[1:]
        if name in self.functions:
            return Ending(ANY, ANY)
        self._unplain = self._unplain or name in _UNPLAIN
        if name in ("exit", "return"):
            return Ending(NONE, _stated(args, last))
        if name in tree.TESTS:
            return Ending(constant_test(args))
        if name == "false":
            return Ending(frozenset((1,)))
        asks = bool(args) and name in ("wait", "ls")
        return Ending(ZERO if name in _ALWAYS_ZERO and not asks else ANY)


_RULES: dict[type, Callable[[Shell, Any, Statuses, bool], Ending]] = {
    tree.Block: Shell._block,
    tree.Chain: Shell._chain,
    tree.Pipeline: Shell._pipeline,
    tree.Not: Shell._not,
    tree.Command: Shell._command,
    tree.If: Shell._if,
    tree.Loop: Shell._loop,
    tree.Case: Shell._case,
    tree.Redirected: Shell._redirected,
    tree.Define: Shell._define,
    tree.Background: Shell._zero,
    tree.Declare: Shell._zero,
}


def is_filter(stage: tree.Node) -> bool:
    """Whether a pipeline's last command passes its input on and answers 0 whatever came."""
    if not isinstance(stage, tree.Command) or not is_safe(stage.redirects):
        return False
    seen, _ = see_through(stage)
    if not isinstance(seen, tree.Command) or not seen.words:
        return False
    name, *args = (w.text for w in seen.words)
    if name not in _FILTERS or any(a.startswith(("-C", "--check")) for a in args):
        return False
    if name == "sort" and any(a.startswith("-c") for a in args):
        return False
    # `head -n 5`, `cut -d : -f 1`, `tr a b`: no file is opened.
    opens = (a for a in args if not a.startswith("-") and not re.fullmatch(r"[+\d,:;|-]+", a))
    return name in ("tee", "tr") or not any(opens)


def is_safe(redirects: Iterable[tree.Redirect]) -> bool:
    """Whether redirections cannot fail, whatever the workspace holds."""
    targets = (r.target for r in redirects if r.operator != "<<" and r.target is not None)
    return all(_SAFE_TARGET.fullmatch(target.text) for target in targets)


def reads_lines(loop: tree.Loop) -> bool:
    """`while read …` ends with its input."""
    items = loop.condition.items if loop.condition is not None else ()
    first = items[0] if len(items) == 1 else None
    return isinstance(first, tree.Command) and any(w.text == "read" for w in first.words[:2])


def _stated(args: tuple[tree.Word, ...], last: Statuses) -> Statuses:
    if not args or args[0].text == "$?":
        return last
    return frozenset((int(args[0].text) % 256,)) if args[0].text.isdecimal() else ANY


def constant_test(words: tuple[tree.Word, ...]) -> Statuses:
    """The status of a test that asks nothing of the workspace, such as `[ 1 -eq 1 ]`."""
    texts = [w.text for w in words]
    texts = texts[:-1] if texts[-1:] in (["]"], ["]]"]) else texts
    if not all(w.literal for w in words) or any(c in text for text in texts for c in "*?{"):
        return ANY
    denied = texts[:1] == ["!"] and len(texts) > 1
    holds = _holds(texts[1:] if denied else texts)
    return ANY if holds is None else frozenset((int(holds == denied),))


def _holds(texts: list[str]) -> bool | None:
    match texts:
        case [] | [_]:
            return any(texts)
        case ["-n" | "-z" as option, operand]:
            return bool(operand) == (option == "-n")
        case ["-e" | "-d", "." | "./" | "/"]:
            return True
        case [left, "=" | "==" | "!=" as option, right]:
            return (left == right) == (option != "!=")
        case [left, "-eq" | "-ne" as option, right] if (left + right).isdecimal():
            return (int(left) == int(right)) == (option == "-eq")
    return None
