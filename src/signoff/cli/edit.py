"""`signoff edit`: change a plan by compare-and-swap, from a file or in an editor."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from pathlib import Path

import click

from signoff.cli.opening import open_plan
from signoff.cli.options import json_option
from signoff.cli.show import answer_json, note, say_line, short
from signoff.errors import PlanConflict, UsageError
from signoff.storage.files import MAX_PLAN_BYTES
from signoff.usecases.create import EditReport, read_to_edit, replace_text


@click.command("edit")
@click.argument("plan", required=False)
@click.option(
    "--from", "source", metavar="FILE", help="File with the new text; `-` is standard input."
)
@click.option("--expect", metavar="DIGEST", help="Only if the plan still has this file_digest.")
@json_option
def edit_command(plan: str | None, source: str | None, expect: str | None, as_json: bool) -> int:
    """Replace a plan's text, unless somebody else changed it meanwhile.

    Without --from an editor opens on a copy. `signoff show --json` prints the digest to expect.
    If the plan was changed in the meantime, it stays as it is and your text is kept beside it.

    Exit code 5: the plan was changed by somebody else; its digest and the difference are shown,
    with --json as the error's facts: current, kept, diff."""
    harness, place = open_plan(plan)
    before = read_to_edit(harness, place)
    expected = before.digest if expect is None else expect
    data = _edited(place.path.name, before.data) if source is None else _read(source)
    try:
        report = replace_text(harness, place, data, expected)
    except PlanConflict as conflict:
        if not as_json:
            note(conflict.facts.get("diff", ""))
        raise
    _show(report, as_json)
    return 0


def _read(source: str) -> bytes:
    if source == "-":
        return sys.stdin.buffer.read(MAX_PLAN_BYTES + 1)
    path = Path(source)
    if not path.is_file():
        raise UsageError(f"`{source}` is not a file", "name the file with the new text")
    with path.open("rb") as file:
        return file.read(MAX_PLAN_BYTES + 1)


def _edited(name: str, data: bytes) -> bytes:
    """Let a person edit a copy in a folder of their own, and return the result."""
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if chosen is None and not sys.stdin.isatty():
        raise UsageError(
            "this is not a terminal, so no editor can be opened", "signoff edit --from FILE"
        )
    with tempfile.TemporaryDirectory(prefix="signoff-edit-") as folder:
        copy = Path(folder) / name
        copy.write_bytes(data)
        click.edit(filename=str(copy))
        return copy.read_bytes()


def _show(report: EditReport, as_json: bool) -> None:
    place = report.place
    if as_json:
        body = {"plan": place.name, "path": str(place.path), "file_digest": report.digest}
        answer_json(**body, changed=report.changed)
    elif report.changed:
        say_line(f"changed: {place.path}, file digest {short(report.digest)}")
        note(f"next: signoff verify {shlex.quote(str(place.path))}")
    else:
        say_line(f"unchanged: {place.path}")
