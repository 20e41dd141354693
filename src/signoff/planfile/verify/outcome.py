"""Which exit statuses a script can have: the question behind "can this contract fail at all"."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from signoff.planfile.verify.answers import plainly_named
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
    Redirected,
    Word,
)
from signoff.planfile.verify.statuses import (
    ANY,
    FAILS,
    NONE,
    ZERO,
    Outcome,
    Statuses,
    is_filter,
    is_safe,
    nonzero,
    plain_status,
    reads_lines,
    stated_status,
)
from signoff.planfile.verify.weaknesses import (
    Weakness,
    WeaknessKind,
    contradicts,
    forgets_rounds,
    only_prints_failure,
)
from signoff.planfile.verify.wrappers import MAX_NESTING, Hidden, Nested, see_through

MAX_CALLS = 50


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
        # Places where a failure gets lost, in the order in which they are met.
        self.weaknesses: dict[Weakness, None] = {}
        # How many branches deep we are that may not be taken, and whether one changed the shell.
        self._branches = 0
        self._unsure = False

    def final(self, script: Node, last: Statuses = ZERO, guarded: bool = False) -> Statuses:
        """Statuses of a whole shell, an `EXIT` trap included."""
        outcome = self.run(script, last, guarded)
        if self._unsure:
            return ANY
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
        return body if is_safe(node.redirects) else replace(body, falls=body.falls | {FAILS})

    def _leaf(self, node: Node, _last: Statuses, _guarded: bool) -> Outcome:
        if isinstance(node, Define):
            # A name defined twice, or perhaps not at all, may mean anything.
            again = node.name in self._functions or self._branches > 0
            self._functions[node.name] = None if again else node.body
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
            inside = replace(block, subshell=False)
            return Outcome(self._copy().final(inside, last, guarded) if block.items else ZERO)
        exits = returns = NONE
        for i, item in enumerate(block.items):
            outcome = self.run(item, last, guarded)
            last = outcome.falls
            exits |= outcome.exits
            returns |= outcome.returns
            is_last = i == len(block.items) - 1
            stops = self.errexit and not guarded and not is_last and self.stops(item)
            if stops is not False:
                exits |= nonzero(last)
            if stops:
                last = last & ZERO
            if not last:
                break
        return Outcome(last, exits, returns)

    def stops(self, node: Node) -> bool | None:
        """Whether `set -e` ends the shell when this fails; None where that depends on the rest."""
        if isinstance(node, Not | Background | Define | Declare):
            return False
        if isinstance(node, Chain):
            return None if self.stops(node.rest[-1][1]) is not False else False
        if isinstance(node, Command) and node.words:
            return None if node.words[0].text in ("eval", *self._functions) else True
        plain = isinstance(node, Command | Condition | Arithmetic)
        return True if plain or (isinstance(node, Block) and node.subshell) else None

    def _copy(self, status_counts: bool = True) -> Evaluator:
        """A shell of its own; what it does not notice matters only where its status counts."""
        copy = Evaluator(self.errexit, self.pipefail, self._depth)
        if status_counts:
            copy.weaknesses = self.weaknesses
        copy._functions = dict(self._functions)
        copy._calls = self._calls
        return copy

    def _maybe(self, node: Node, last: Statuses, guarded: bool) -> Outcome:
        """Run what may not be reached: what it changes in the shell is then uncertain."""
        self._branches += 1
        outcome = self.run(node, last, guarded)
        self._branches -= 1
        return outcome

    def _note(self, kind: WeaknessKind, line: int, what: str) -> None:
        self.weaknesses[Weakness(kind, line, what)] = None

    def _change(self) -> None:
        self._unsure = self._unsure or self._branches > 0

    def _chain(self, chain: Chain, last: Statuses, guarded: bool) -> Outcome:
        if contradicts(chain):
            return Outcome(ZERO if chain.rest[0][0] is Link.OR else frozenset((1,)))
        outcome = self.run(chain.first, last, guarded=True)
        for i, (link, node) in enumerate(chain.rest):
            falls = outcome.falls
            goes_on = falls & ZERO if link is Link.AND else nonzero(falls)
            if not goes_on:
                continue
            is_last = i == len(chain.rest) - 1
            if only_prints_failure(link, node):
                self._note(WeaknessKind.PRINTED_FAILURE, chain.line, "||")
            run = self.run if goes_on == falls and not outcome.exits else self._maybe
            right = run(node, goes_on, guarded if is_last else True)
            outcome = Outcome(
                (falls - goes_on) | right.falls,
                outcome.exits | right.exits,
                outcome.returns | right.returns,
            )
        return outcome

    def _pipeline(self, pipeline: Pipeline, last: Statuses, guarded: bool) -> Outcome:
        ends = len(pipeline.stages) - 1
        results = [
            self._copy(status_counts=i == ends).final(stage, last, guarded)
            for i, stage in enumerate(pipeline.stages)
        ]
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
                taken = self._maybe(body, ZERO, guarded)
                falls, exits = falls | taken.falls, exits | taken.exits
                returns |= taken.returns
            reachable = bool(nonzero(asked.falls))
            if not reachable:
                break
        if reachable and node.otherwise is None:
            falls |= ZERO
        elif reachable and node.otherwise is not None:
            other = self._maybe(node.otherwise, ANY, guarded)
            falls, exits = falls | other.falls, exits | other.exits
            returns |= other.returns
        return Outcome(falls, exits, returns)

    def _loop(self, loop: Loop, last: Statuses, guarded: bool) -> Outcome:
        if loop.condition is not None:
            asked = self.run(loop.condition, last, guarded=True)
            goes_on = nonzero(asked.falls) if loop.kind is LoopKind.UNTIL else asked.falls & ZERO
            if not goes_on:
                return replace(asked, falls=ZERO if asked.falls else NONE)
        body = self._maybe(loop.body, ANY, guarded)
        if forgets_rounds(loop, body, self.errexit and not guarded):
            self._note(WeaknessKind.ROUNDS, loop.line, loop.kind)
        if loop.kind is LoopKind.FOR:
            runs = loop.words and all(w.literal for w in loop.words)
            return replace(body, falls=body.falls | (NONE if runs else ZERO))
        # Any other loop may wait for ever, and a contract that times out does not hold.
        endless = NONE if reads_lines(loop.condition) else ANY
        return replace(body, falls=body.falls | ZERO | endless)

    def _case(self, case: Case, last: Statuses, guarded: bool) -> Outcome:
        outcomes = [self._maybe(b, last, guarded) for b in case.branches]
        if not case.exhaustive:
            outcomes.append(Outcome(ZERO))
        return Outcome(
            NONE.union(*(o.falls for o in outcomes)),
            NONE.union(*(o.exits for o in outcomes)),
            NONE.union(*(o.returns for o in outcomes)),
        )

    def _command(self, command: Command, last: Statuses, guarded: bool) -> Outcome:
        if not command.words:
            return Outcome(self._assignment(command))
        seen, wrappers = see_through(self._plain(command), self._depth)
        if isinstance(seen, Hidden):
            outcome = Outcome(ANY)
        elif isinstance(seen, Nested):
            outcome = self._nested(seen, last, guarded)
        elif (plain := self._plain(seen)) is not seen:
            outcome = self._command(plain, last, guarded)
        else:
            outcome = self._simple(seen, last, guarded)
        if "exec" in wrappers:
            self._unsure = self._unsure or self._trap is not None
            outcome = Outcome(NONE, outcome.all)
        slow = "timeout" in wrappers and outcome.falls != ZERO
        if slow or not is_safe(command.redirects):
            outcome = replace(outcome, falls=outcome.falls | {FAILS})
        return outcome

    def _plain(self, command: Command) -> Command:
        """A program by its name alone, unless that name means a function here."""
        plain = plainly_named(command)
        return command if plain.words[0].text in self._functions else plain

    def _nested(self, nested: Nested, last: Statuses, guarded: bool) -> Outcome:
        if not nested.clear:
            return Outcome(ANY)
        if nested.same_shell:
            self._depth += 1
            outcome = self.run(nested.block, last, guarded)
            self._depth -= 1
            return outcome
        inner = Evaluator(nested.errexit, nested.pipefail, self._depth + 1)
        statuses = inner.final(nested.block)
        for weakness in inner.weaknesses:
            self._note(weakness.kind, nested.line + weakness.line, weakness.what)
        return Outcome(statuses)

    def _assignment(self, command: Command) -> Statuses:
        inner = [block for word in command.assigned for block in word.inner]
        status = self._substituted(inner[-1]) if inner else ZERO
        return status if is_safe(command.redirects) else status | {FAILS}

    def _substituted(self, block: Block) -> Statuses:
        copy = self._copy(status_counts=False)
        copy.errexit = False  # bash switches it off inside `$( )`
        return copy.final(replace(block, subshell=False))

    def _simple(self, command: Command, last: Statuses, guarded: bool) -> Outcome:
        name = command.words[0].text
        args = command.words[1:]
        if name == "exit":
            return Outcome(NONE, stated_status(args, last))
        if name == "return":
            return Outcome(NONE, NONE, stated_status(args, last))
        if name in self._functions:
            return self._call(self._functions[name], last, guarded)
        if name in ("break", "continue"):
            self._unsure = True
            return Outcome(ZERO)
        if name == "set":
            self._set_options([w.text for w in args])
        if name == "trap":
            self._set_trap(args)
        return Outcome(plain_status(name, args))

    def _call(self, body: Node | None, last: Statuses, guarded: bool) -> Outcome:
        self._calls[0] += 1
        if body is None or self._calls[0] > MAX_CALLS or self._depth >= MAX_NESTING:
            return Outcome(ANY, ANY)
        self._depth += 1
        inside = self.run(body, last, guarded)
        self._depth -= 1
        return Outcome(inside.falls | inside.returns, inside.exits)

    def _set_options(self, args: list[str]) -> None:
        self._change()
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
        self._change()
        handler = Command((Word("eval", 0), args[0]), 0)
        outcome = self._copy().run(handler, ANY)
        if outcome.exits:
            self._trap = outcome


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
