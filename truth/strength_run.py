"""Play the corpus of weak and good contracts and print one table; `--measure` measures strength."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

# Its own folder gives way to the repository, where the package lies.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from truth.strength.corpus import load  # noqa: E402 - found by the line above
from truth.strength.playing import Played, play  # noqa: E402 - likewise


def main() -> int:
    """Exit 0 only if every case comes out as it should."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--measure", action="store_true", help="ask `signoff strength` too")
    given = parser.parse_args()
    print(f"{'case':<34} {'weak':<5} {'cheat kept':<11} {'named':<6} strength")
    played = []
    for case in (case for case in load() if given.only in case.name):
        played.append(play(case, measure=given.measure))
        print(_row(played[-1]), flush=True)
    wrong = [one.case.name for one in played if not one.as_it_should_be]
    weak = sum(one.case.weak for one in played)
    print(f"{weak} weak, {len(played) - weak} good, {len(wrong)} not as they should be")
    return 1 if wrong else 0


def _row(one: Played) -> str:
    weak, kept, named = (
        "yes" if x else "no" for x in (one.case.weak, one.kept_by_cheat, one.named_weak)
    )
    measured = "not measured" if one.strength is None else f"{one.strength:.0%}"
    mark = "" if one.as_it_should_be else "  <-- not as it should be"
    return f"{one.case.name:<34} {weak:<5} {kept:<11} {named:<6} {measured}{mark}"


if __name__ == "__main__":
    sys.exit(main())
