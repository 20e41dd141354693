"""What a contract's text shows of the runners it calls, and whether it could call others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from signoff.commands.analysis import ShellFacts, analyse
from signoff.commands.launchers import Invocation
from signoff.commands.programs import is_installed, prints_no_results, starts_no_tests
from signoff.commands.runners import RunnerCall, runner_call, tools_started

_REPEATS = re.compile(r"(?<![\w./-])(?:for|while|until|xargs|parallel|-exec|-execdir)(?![\w./=-])")
# Unseen, but no commands: where something is written, and a virtual environment's variables.
_NO_CALL = re.compile(r"where `|`(?:source|\.) \S*bin/activate`")
_SETS_PATH = re.compile(r"(?<!\w)PATH\+?=")


@dataclass(frozen=True)
class Sight:
    """`calls` is how often the text calls each runner, by the name of whose summary it prints.

    `hides` says that it calls other things that could start a runner, `repeats` that a call in it
    may stand for several, `stops_early` that a runner is told to stop at a failure, `untold` what
    would make a runner say how many tests there were.
    """

    calls: Mapping[str, int]
    hides: bool
    repeats: bool
    stops_early: bool = False
    untold: str = ""
    shows_all: bool = True  # no other runner than those in `calls`, where there are any

    @property
    def nothing_can_run(self) -> bool:
        """Whether no test runner is started, whatever is printed."""
        return not (self.calls or self.hides or self.repeats)


@lru_cache(maxsize=64)
def look_at(command: str) -> Sight:
    """Never raises, whatever the text."""
    facts = analyse(command)
    calls: dict[str, int] = {}
    repeats = bool(_unseen(facts) or facts.functions or _REPEATS.search(command))
    hides = stops_early = False
    untold = ""
    for chain, found in _calls(facts):
        if found is not None:
            calls[found.runner] = calls.get(found.runner, 0) + 1
            stops_early |= found.stops_early
            untold = untold or found.untold
            repeats |= found.several
        elif not chain or not starts_no_tests(chain[-1]):
            hides = True
    return Sight(calls, hides, repeats, stops_early, untold)


def _calls(facts: ShellFacts) -> Iterator[tuple[list[Invocation], RunnerCall | None]]:
    """Each call with all that it launches, and the runner among them; a function is nothing yet."""
    for call in facts.calls:
        if call.name in facts.functions:
            yield [], None
        else:
            yield [*tools_started(call.name, call.args)], runner_call(call.name, call.args)


def _unseen(facts: ShellFacts) -> bool:
    return any(not _NO_CALL.match(unseen.what) for unseen in facts.unseen)


def tools_called(command: str) -> frozenset[str]:
    """The tools that the text calls, launchers peeled off; `cargo clippy` also with its verb."""
    called = [call for chain, _ in _calls(analyse(command)) for call in chain]
    verbs = (f"{call.tool} {call.args[0]}" for call in called if call.args)
    return frozenset((*(call.tool for call in called), *verbs))


def runs_only_tests(command: str) -> bool:
    """Whether all that the text shows is known runners, with nothing beside them that could print.

    What it then prints comes out of a runner: from the search path, or of a folder that package
    tools install into.
    """
    facts = analyse(command)
    if facts.functions or _unseen(facts) or _SETS_PATH.search(command):
        return False
    runners = [(chain, found) for chain, found in _calls(facts) if found is not None]
    others = [chain for chain, found in _calls(facts) if found is None]
    # A runner that is a script of the workspace (`python manage.py test`) can print anything.
    trusted = all(
        found.call.tool != "python" and all(not c.path or is_installed(c.path) for c in chain)
        for chain, found in runners
    )
    return bool(runners) and trusted and all(prints_no_results(chain[-1]) for chain in others)
