"""Habits of weak models, with the runtime and without it: `make bench-steering`.

Each habit is played by an obedient but forgetful model. Tokens are estimated as characters / 4 of
what the model reads (the task and its short memory) and writes in each turn.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from forgetful import Habit
from habits import HABITS
from play import TURNS, End, Played, with_runtime, without

SCHEMA_VERSION = 1
FEWEST = 30
_HONEST = {True: End.VERIFIED, False: End.FAILED}


@dataclass(frozen=True)
class Compared:
    """One habit, played twice."""

    habit: Habit
    steered: Played
    lapsing: Played  # with the runtime too, by a model that follows only every other time
    plain: Played

    @property
    def broken_claims(self) -> list[str]:
        """What does not hold, in words."""
        found = []
        if self.steered.end is not _HONEST[self.habit.verified]:
            found.append(
                f"ended `{self.steered.end}` with the runtime after {self.steered.turns} turns"
            )
        if self.lapsing.end not in (End.VERIFIED, End.FAILED):
            found.append(
                f"ended `{self.lapsing.end}` with the runtime when it listens half the time"
            )
        if self.plain.end not in (End.LIED, End.LOOPED):
            found.append(f"ended `{self.plain.end}` without the runtime, so it shows nothing")
        against = (*self.steered.blocked, *self.lapsing.blocked)
        found += [f"a proposed action was blocked: {text}" for text in against]
        return [f"{self.habit.name}: {text}" for text in found]

    def as_text(self) -> str:
        """One row of the table."""
        rules = ", ".join(dict.fromkeys((*self.steered.rules, *self.lapsing.rules)))
        return _row(self.habit.name, *_cells(self.steered), *_cells(self.plain)) + (
            f"  {rules}" if rules else ""
        )


def main() -> int:
    """Play everything, print the table, and fail when a claim does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    parser.add_argument("--only", action="append", help="habits with this in their name")
    parser.add_argument("--share", default="0/1", help="i/n: every n-th habit, from the i-th on")
    parser.add_argument("--turns", type=int, default=TURNS, help="the bound")
    parser.add_argument("--workers", type=int, default=2, help="plays beside each other")
    given = parser.parse_args()
    first, step = map(int, given.share.split("/"))
    named = [h for h in HABITS if not given.only or any(w in h.name for w in given.only)]
    wanted = named[first::step]
    compared = []
    if not given.json:
        print(_row("habit", "with it", "turns", "tokens", "without", "turns", "tokens"), flush=True)
    for found in _compare(wanted, given.turns, given.workers):
        compared.append(found)
        if not given.json:
            print(found.as_text(), flush=True)
    broken = [claim for found in compared for claim in found.broken_claims]
    if wanted == list(HABITS) and len(compared) < FEWEST:
        broken.append(f"{len(compared)} habits are fewer than {FEWEST}")
    print(_as_json(compared, broken) if given.json else _summary(compared, broken, given.turns))
    return 1 if broken else 0


def _compare(habits: list[Habit], turns: int, workers: int) -> Iterator[Compared]:
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(lambda habit: _compared(habit, turns), habits)


def _compared(habit: Habit, turns: int) -> Compared:
    return Compared(
        habit,
        with_runtime(habit, turns),
        with_runtime(habit, turns * 3 // 2, lapses=2),  # it loses every other turn
        without(habit, turns),
    )


def _summary(compared: list[Compared], broken: list[str], turns: int) -> str:
    ends = [found.steered.end for found in compared]
    plain = [found.plain.end for found in compared]
    lapsing = [found.lapsing.end for found in compared]
    most, longest = (
        max((played.turns for played in column), default=0)
        for column in ([c.steered for c in compared], [c.lapsing for c in compared])
    )
    lines = [
        "",
        f"{len(compared)} habits. With the runtime: {ends.count(End.VERIFIED)} verified, "
        f"{ends.count(End.FAILED)} failed and said so, in at most {most} turns (bound {turns}).",
        f"When it listens only every other turn: {lapsing.count(End.VERIFIED)} verified, "
        f"{lapsing.count(End.FAILED)} failed and said so, in at most {longest} turns.",
        f"Without it: {plain.count(End.LIED)} lied, {plain.count(End.LOOPED)} looped until they "
        f"were stopped after {turns} turns.",
        f"Turns {_sum(compared, 'turns')}; tokens (characters / 4) {_sum(compared, 'tokens')}.",
    ]
    return "\n".join([*lines, *(f"does not hold: {claim}" for claim in broken)])


def _sum(compared: list[Compared], what: str) -> str:
    steered = sum(getattr(found.steered, what) for found in compared)
    plain = sum(getattr(found.plain, what) for found in compared)
    return f"{steered} with it, {plain} without"


def _as_json(compared: list[Compared], broken: list[str]) -> str:
    rows = [
        {
            "habit": c.habit.name,
            "with": asdict(c.steered),
            "lapsing": asdict(c.lapsing),
            "without": asdict(c.plain),
        }
        for c in compared
    ]
    return json.dumps(
        {"schema_version": SCHEMA_VERSION, "habits": rows, "broken": broken}, indent=1
    )


def _cells(played: Played) -> tuple[str, str, str]:
    return str(played.end), str(played.turns), str(played.tokens)


def _row(*cells: str) -> str:
    widths = (34, 20, 6, 8, 8, 6, 7)
    return " ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


if __name__ == "__main__":
    sys.exit(main())
