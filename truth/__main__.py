"""Play both corpora and say how many were accepted: all of the honest ones, none of the others."""

from __future__ import annotations

import argparse
import os
import sys

from signoff.domain.verdict import Isolation
from truth.corpus import select
from truth.modes import modes
from truth.show import Tally, as_json, show
from truth.workers import WORKER_FLAG, play_all, serve


def main() -> int:
    """Exit 0 only if every case came out as it should, under every isolation asked for."""
    if sys.argv[1:] == [WORKER_FLAG]:
        serve()
        return 0
    given = _arguments()
    chosen = select(given.only, lanes=given.lanes)
    tallies = []
    for isolation in modes(given.isolation):
        cases = [filed for filed in chosen if not filed.left_out(isolation)]
        skipped = [(f, why) for f in chosen if (why := f.left_out(isolation))]
        tally = Tally(isolation, tuple(play_all(cases, isolation, given.jobs)), tuple(skipped))
        tallies.append(tally)
        if not given.json:
            show(tally)
    if given.json:
        print(as_json(tallies))
    return 0 if all(tally.as_it_should_be for tally in tallies) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", action="append", default=[], help="a corpus, group or case; repeatable"
    )
    parser.add_argument(
        "--isolation",
        choices=[*map(str, Isolation), "all"],
        default=Isolation.NONE.value,
        help="what stands between the contract and the machine; `all`: every one that works here",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="cases side by side")
    parser.add_argument(
        "--lanes", action="store_true", help="each in a lane, beside a step that is independent"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
