"""`edit`: replace a plan's text only if nobody else did since it was read."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from signoff.domain.digests import digest_bytes, is_digest
from signoff.errors import PlanUnreadable, UsageError
from signoff.planfile.decode import decode
from signoff.storage.files import MAX_PLAN_BYTES, read_plan_file, swap_file
from signoff.usecases.harness import Harness, PlanLocation
from signoff.usecases.person import refuse_in_attempt


@dataclass(frozen=True)
class Reading:
    """A plan's bytes as they are now, and the digest to expect when they are replaced."""

    data: bytes
    digest: str


@dataclass(frozen=True)
class EditReport:
    """A plan's text from now on."""

    place: PlanLocation
    digest: str
    was: str

    @property
    def changed(self) -> bool:
        """Whether the new text is another one."""
        return self.digest != self.was


def read_to_edit(harness: Harness, place: PlanLocation) -> Reading:
    """What a person is about to change; agents are refused before they begin."""
    refuse_in_attempt(harness.environ, harness.home.path)
    data = read_plan_file(place.path)
    return Reading(data, digest_bytes(data))


def replace_text(harness: Harness, place: PlanLocation, data: bytes, expected: str) -> EditReport:
    """Swap the whole text; PlanConflict keeps the refused one beside the plan.

    A text that is there already is nobody's loss, whatever was expected."""
    refuse_in_attempt(harness.environ, harness.home.path)
    if len(data) > MAX_PLAN_BYTES:
        raise PlanUnreadable(
            f"the new text has {len(data)} bytes, the limit is {MAX_PLAN_BYTES}",
            "split it into smaller plans",
        )
    if not data.strip():
        hint = f"if the plan is to go: {shlex.join(['rm', str(place.path)])}"
        raise UsageError("the new text is empty", hint)
    if not is_digest(expected):
        shown = f"signoff show {shlex.quote(str(place.path))} --json"
        raise UsageError(f"`{expected}` is no digest", f"its file_digest is in: {shown}")
    decode(data, "the new text")
    digest = digest_bytes(data)
    if digest_bytes(read_plan_file(place.path)) == digest:
        return EditReport(place, digest, digest)
    place.own_vault()
    return EditReport(place, swap_file(place.path, expected, data, keep_loser=True), expected)
