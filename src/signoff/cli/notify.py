"""`signoff notify`: try the ways in which you are told what a run came to."""

from __future__ import annotations

import click

from signoff.cli.opening import open_here
from signoff.cli.options import json_option
from signoff.cli.show import answer_json, say_line
from signoff.errors import Exit, UsageError
from signoff.orchestrator.events import Event, Reporter
from signoff.usecases.notify import Notifier, send_test


@click.command("notify")
@click.option("--test", "trying", is_flag=True, help="Send a test by every way of [notify].")
@json_option
def notify_command(trying: bool, as_json: bool) -> int:
    """Try the ways in which you are told that a run needs you or is over.

    They stand in `[notify]` of your own file. Exit code 0: every way worked, 1: one did not."""
    if not trying:
        raise UsageError("there is nothing to tell", "signoff notify --test")
    told = send_test(open_here())
    if as_json:
        answer_json(ways=[{"way": one.way, "problem": one.problem or None} for one in told])
    for one in () if as_json else told:
        say_line(f"{one.way}: {one.problem or 'sent'}")
    return Exit.NOT_DONE if any(one.problem for one in told) else Exit.YES


class NotifyingReporter:
    """Passes events on to another reporter, and to whoever tells the person."""

    def __init__(self, reporter: Reporter, notifier: Notifier):
        self._reporter, self._notifier = reporter, notifier

    def tell(self, event: Event) -> None:
        """Show it first."""
        self._reporter.tell(event)
        self._notifier.tell(event)

    def close(self) -> None:
        """Give back what the other one holds, then wait a moment for what is still to be told."""
        close = getattr(self._reporter, "close", None)
        if close is not None:
            close()
        self._notifier.close()
