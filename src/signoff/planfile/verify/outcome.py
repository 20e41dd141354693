"""Which exit statuses a script can have: the question behind "can this contract fail at all"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from signoff.planfile.verify.constants import known_status
from signoff.planfile.verify.script import (
    Arithmetic,
    Background,
    Block,
    Case,
    Chain,
    Command,
    Condition,
    Declare,
    Define,
    If,
    Link,
    Loop,
    LoopKind,
    Node,
    Not,
    Pipeline,
    Redirect,
    Redirected,
    Word,
)
from signoff.planfile.verify.wrappers import MAX_NESTING, Hidden, Nested, see_through

MAX_CALLS = 50
FAILS = -1
"""Some status other than 0, we cannot say which."""

Statuses = frozenset[int]
NONE: Statuses = frozenset()
ZERO: Statuses = frozenset((0,))
ANY: Statuses = frozenset((0, FAILS))

ALWAYS_ZERO = frozenset(
    [
        "true",
        ":",
        "echo",
        "printf",
        "sleep",
        "pwd",
        "date",
        "wait",
        "set",
        "shopt",
        "trap",
        "umask",
        "alias",
        "hostname",
        "whoami",
        "break",
        "continue",
        "shift",
        "times",
    ]
)
STDIN_FILTERS = frozenset(
    [
        "cat",
        "tee",
        "head",
        "tail",
        "sort",
        "wc",
        "uniq",
        "tr",
        "cut",
        "nl",
        "rev",
        "column",
        "fold",
        "tac",
        "less",
        "more",
    ]
)
_SAFE_TARGET = re.compile(r"\d+|-|/dev/(?:null|stdout|stderr|tty|fd/\d+)")


@dataclass(frozen=True)
class Outcome:
    """Statuses with which a piece ends normally, leaves the shell, or leaves the function."""

    falls: Statuses
    exits: Statuses = NONE
    returns: Statuses = NONE

    @property
    def all(self) -> Statuses:
        """Every status seen from outside a shell of its own."""
        return self.falls | self.exits | self.returns


def nonzero(statuses: Statuses) -> Statuses:
    """The failing ones among them."""
    return statuses - ZERO


class Evaluator:
    """Abstract execution of one script in one shell; options change as `set` is met."""

    def __init__(self, errexit: bool = False, pipefail: bool = False, depth: int = 0) -> None:
        self.errexit = errexit
        self.pipefail = pipefail
        self._depth = depth
        self._functions: dict[str, Node | None] = {}
        # Shared with subshells, so that nested calls cannot multiply.
        self._calls = [0]
        self._trap: Outcome | None = None

    def final(self, block: Block) -> Statuses:
        """Statuses of the whole script, an `EXIT` trap included."""
        outcome = self.run(block)
        # Outside a function `return` is refused, and the shell goes on.
        statuses = outcome.falls | outcome.exits | (ANY if outcome.returns else NONE)
        if self._trap is None:
            return statuses
        return self._trap.exits | (statuses if self._trap.falls else NONE)

    def run(self, node: Node, last: Statuses = ZERO, guarded: bool = False) -> Outcome:
        """`last` is the status before; `guarded` where `set -e` does not apply."""
        return _RUNS.get(type(node), Evaluator._leaf)(self, node, last, guarded)

    def _redirected(self, node: Redirected, last: Statuses, guarded: bool) -> Outcome:
        body = self.run(node.body, last, guarded)
        return body if _safe(node.redirects) else replace(body, falls=body.falls | {FAILS})

    def _leaf(self, node: Node, _last: Statuses, _guarded: bool) -> Outcome:
        if isinstance(node, Define):
            # A name defined twice may mean either body.
            self._functions[node.name] = None if node.name in self._functions else node.body
            return Outcome(ZERO)
        if isinstance(node, Background | Declare):
            return Outcome(ZERO)
        if isinstance(node, Condition) and node.regular:
            return Outcome(known_status(node.words) or ANY)
        if isinstance(node, Arithmetic):
            digits = re.fullmatch(r"\(\(\s*(\d+)\s*\)\)", node.text)
            return Outcome(frozenset((int(int(digits[1]) == 0),)) if digits else ANY)
        return Outcome(ANY)

    def _block(self, block: Block, last: Statuses, guarded: bool) -> Outcome:
        if block.subshell:
            inner = self._copy()
            return Outcome(inner.final(replace(block, subshell=False)) if block.items else ZERO)
        exits = returns = NONE
        for i, item in enumerate(block.items):
            outcome = self.run(item, last, guarded)
            last = outcome.falls
            exits |= outcome.exits
            returns |= outcome.returns
            is_last = i == len(block.items) - 1
            if self.errexit and not guarded and not is_last and self.stops(item):
                exits |= nonzero(last)
                last = last & ZERO
            if not last:
                break
        return Outcome(last, exits, returns)

    def stops(self, node: Node) -> bool:
        """Whether `set -e` ends the shell when this fails; `!` and `a &&` are exempt."""
        match node:
            case Not() | Background() | Define() | Declare():
                return False
            case Chain():
                return self.stops(node.rest[-1][1])
            case Pipeline():
                return self.pipefail or self.stops(node.stages[-1])
            case _:
                return True

    def _copy(self) -> Evaluator:
        copy = Evaluator(self.errexit, self.pipefail, self._depth)
        copy._functions = dict(self._functions)
        copy._calls = self._calls
        return copy

    def _chain(self, chain: Chain, last: Statuses, guarded: bool) -> Outcome:
        outcome = self.run(chain.first, last, guarded=True)
        for i, (link, node) in enumerate(chain.rest):
            falls = outcome.falls
            goes_on = falls & ZERO if link is Link.AND else nonzero(falls)
            if not goes_on:
                continue
            is_last = i == len(chain.rest) - 1
            right = self.run(node, goes_on, guarded if is_last else True)
            outcome = Outcome(
                (falls - goes_on) | right.falls,
                outcome.exits | right.exits,
                outcome.returns | right.returns,
            )
        return outcome

    def _pipeline(self, pipeline: Pipeline, last: Statuses, _guarded: bool) -> Outcome:
        results = [self._copy().run(stage, last).all for stage in pipeline.stages]
        if len(results) > 1 and is_filter(pipeline.stages[-1]):
            results[-1] = ZERO
        if not self.pipefail:
            return Outcome(results[-1] if results else ANY)
        failing = NONE.union(*(nonzero(r) for r in results))
        return Outcome((ZERO if all(0 in r for r in results) else NONE) | failing)

    def _not(self, node: Not, last: Statuses, _guarded: bool) -> Outcome:
        inner = self.run(node.body, last, guarded=True)
        flipped = frozenset(int(status == 0) for status in inner.falls)
        return replace(inner, falls=flipped)

    def _if(self, node: If, last: Statuses, guarded: bool) -> Outcome:
        falls = exits = returns = NONE
        reachable = True
        for condition, body in node.branches:
            asked = self.run(condition, last, guarded=True)
            exits, returns = exits | asked.exits, returns | asked.returns
            if 0 in asked.falls:
                taken = self.run(body, ZERO, guarded)
                falls, exits = falls | taken.falls, exits | taken.exits
                returns |= taken.returns
            reachable = bool(nonzero(asked.falls))
            if not reachable:
                break
        if reachable and node.otherwise is None:
            falls |= ZERO
        elif reachable and node.otherwise is not None:
            other = self.run(node.otherwise, ANY, guarded)
            falls, exits = falls | other.falls, exits | other.exits
            returns |= other.returns
        return Outcome(falls, exits, returns)

    def _loop(self, loop: Loop, _last: Statuses, guarded: bool) -> Outcome:
        body = self.run(loop.body, ANY, guarded)
        if loop.kind is LoopKind.FOR:
            runs = loop.words and all(w.literal for w in loop.words)
            return replace(body, falls=body.falls | (NONE if runs else ZERO))
        # Any other loop may wait for ever, and a contract that times out does not hold.
        endless = NONE if _reads_lines(loop.condition) else ANY
        return replace(body, falls=body.falls | ZERO | endless)

    def _case(self, case: Case, last: Statuses, guarded: bool) -> Outcome:
        outcomes = [self.run(b, last, guarded) for b in case.branches]
        if not case.exhaustive:
            outcomes.append(Outcome(ZERO))
        return Outcome(
            NONE.union(*(o.falls for o in outcomes)),
            NONE.union(*(o.exits for o in outcomes)),
            NONE.union(*(o.returns for o in outcomes)),
        )

    def _command(self, command: Command, last: Statuses, _guarded: bool) -> Outcome:
        if not command.words:
            return Outcome(self._assignment(command))
        seen, wrappers = see_through(command, self._depth)
        if isinstance(seen, Hidden):
            outcome = Outcome(ANY)
        elif isinstance(seen, Nested):
            outcome = self._nested(seen)
        else:
            outcome = self._simple(seen, last)
        if "exec" in wrappers:
            outcome = Outcome(NONE, outcome.all)
        slow = "timeout" in wrappers and outcome.falls != ZERO
        if slow or not _safe(command.redirects):
            outcome = replace(outcome, falls=outcome.falls | {FAILS})
        return outcome

    def _nested(self, nested: Nested) -> Outcome:
        if not nested.clear:
            return Outcome(ANY)
        if nested.same_shell:
            self._depth += 1
            outcome = self.run(nested.block)
            self._depth -= 1
            return outcome
        inner = Evaluator(nested.errexit, nested.pipefail, self._depth + 1)
        return Outcome(inner.final(nested.block))

    def _assignment(self, command: Command) -> Statuses:
        inner = [block for word in command.assigned for block in word.inner]
        status = self._copy().run(inner[-1]).all if inner else ZERO
        return status if _safe(command.redirects) else status | {FAILS}

    def _simple(self, command: Command, last: Statuses) -> Outcome:
        name = command.words[0].text
        args = command.words[1:]
        if name == "exit":
            return Outcome(NONE, _stated_status(args, last))
        if name == "return":
            return Outcome(NONE, NONE, _stated_status(args, last))
        if name in self._functions:
            return self._call(self._functions[name])
        if name == "set":
            self._set_options([w.text for w in args])
        if name == "trap":
            self._set_trap(args)
        return Outcome(_plain_status(name, args))

    def _call(self, body: Node | None) -> Outcome:
        self._calls[0] += 1
        if body is None or self._calls[0] > MAX_CALLS or self._depth >= MAX_NESTING:
            return Outcome(ANY)
        self._depth += 1
        inside = self.run(body)
        self._depth -= 1
        return Outcome(inside.falls | inside.returns, inside.exits)

    def _set_options(self, args: list[str]) -> None:
        for i, arg in enumerate(args):
            on = arg.startswith("-")
            if not arg.startswith(("-", "+")) or arg == "--":
                continue
            named = args[i + 1] if arg.endswith("o") and i + 1 < len(args) else ""
            if "e" in arg or named == "errexit":
                self.errexit = on
            if named == "pipefail":
                self.pipefail = on

    def _set_trap(self, args: tuple[Word, ...]) -> None:
        if len(args) < 2 or not {"EXIT", "0"} & {w.text for w in args[1:]}:
            return
        handler = Command((Word("eval", 0), args[0]), 0)
        outcome = self._copy().run(handler, ANY)
        if outcome.exits:
            self._trap = outcome


def _plain_status(name: str, args: tuple[Word, ...]) -> Statuses:
    if name in ("test", "["):
        return known_status(args) or ANY
    if name == "false":
        return frozenset((1,))
    asks_nothing = not args or name not in ("wait", "ls")
    return ZERO if asks_nothing and (name in ALWAYS_ZERO or name == "ls") else ANY


def is_filter(stage: Node) -> bool:
    """Whether a pipeline's last command passes its input on and answers 0 whatever came."""
    if not isinstance(stage, Command) or not _safe(stage.redirects):
        return False
    seen, _ = see_through(stage)
    if not isinstance(seen, Command) or not seen.words:
        return False
    name = seen.words[0].text
    args = [w.text for w in seen.words[1:]]
    if name == "tee":
        return True
    if name not in STDIN_FILTERS or any(a.startswith(("-c", "-C", "--check")) for a in args):
        return name == "wc" and all(a.startswith("-") for a in args)
    return all(_is_option_value(a, name) for a in args)


def _is_option_value(arg: str, name: str) -> bool:
    """`head -n 5`, `cut -d : -f 1`, `tr a b`: no file is opened."""
    return arg.startswith("-") or name == "tr" or re.fullmatch(r"[+\d,:;|-]+", arg) is not None


def _safe(redirects: Iterable[Redirect]) -> bool:
    """Redirections that cannot fail, whatever the workspace holds."""
    for redirect in redirects:
        if redirect.operator == "<<" or redirect.target is None:
            continue
        if not _SAFE_TARGET.fullmatch(redirect.target.text):
            return False
    return True


def _stated_status(args: tuple[Word, ...], last: Statuses) -> Statuses:
    if not args or args[0].text == "$?":
        return last
    if args[0].literal and args[0].text.isdigit():
        return frozenset((int(args[0].text) % 256,))
    return ANY


def _reads_lines(condition: Block | None) -> bool:
    if condition is None or len(condition.items) != 1:
        return False
    item = condition.items[0]
    return isinstance(item, Command) and any(w.text == "read" for w in item.words[:2])


_RUNS: dict[type, Callable[[Evaluator, Any, Statuses, bool], Outcome]] = {
    Block: Evaluator._block,
    Chain: Evaluator._chain,
    Pipeline: Evaluator._pipeline,
    Not: Evaluator._not,
    Command: Evaluator._command,
    If: Evaluator._if,
    Loop: Evaluator._loop,
    Case: Evaluator._case,
    Redirected: Evaluator._redirected,
}
