"""A session that is taken up again: what a person adds, and what nobody knows since it stopped."""

from __future__ import annotations

from signoff.gate.definition import TakenUp, Touched
from signoff.gate.rounds import is_over
from signoff.toolbatch.artifacts import stated_in
from signoff.toolbatch.paths import paths_in
from signoff.toolbatch.pipeline import BatchRunner

INTERRUPTED = "a call that was cut off"


def take_up(runner: BatchRunner, words: str, *, interrupted: bool) -> None:
    """Go on: a person's words ask for more, widen an open repair, and give a new budget of rounds.

    `interrupted`: calls were under way when it stopped, and nobody saw what they changed.
    """
    keeper, root = runner.keeper, runner.looker.disk.root
    if interrupted:
        keeper.record(Touched((), "", INTERRUPTED))
    if words.strip():
        keeper.record(stated_in(words, root, keeper.definition.artifacts))
    if is_over(keeper.definition):
        keeper.record(TakenUp())
    runner.looker.widen(paths_in(words))
