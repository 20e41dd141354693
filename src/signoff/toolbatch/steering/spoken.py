"""What was said lately: a rule does not repeat itself while what it speaks about stays the same."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from signoff.domain.definition import Artifact, Definition
from signoff.toolbatch.view import RepairFocus

QUIET = 5  # turns before the same is said again to a model that does not react; then twice as many
STANDING = "standing"
# They are about one call, and the next call is another.
ABOUT_A_CALL = frozenset(
    {
        "blocked_again",
        "unknown_tool",
        "out_of_scope",
        "missing_payload",
        "duplicate_mutation",
        "edit_mismatch",
        "shell_rewrite",
        "expanding",
        "late_question",
    }
)
# They tell of progress: that is news once.
NEWS = frozenset({"next_item", "missing_artifact", "everything_built", "verification_stale"})


class Spoken:
    """Counts turns, and remembers which rules spoke about the state as it is."""

    def __init__(self) -> None:
        self._turn = 0
        self._state: Hashable = None
        self._said: dict[str, tuple[int, int]] = {}  # when, and for how long it is enough

    def turn(self) -> None:
        """Another one begins."""
        self._turn += 1

    def note(self, rule: str) -> None:
        """It spoke in this turn."""
        before = self._said.get(rule)
        self._said[rule] = self._turn, QUIET if before is None else 2 * before[1] + 1

    def heard(self, state: Hashable) -> frozenset[str]:
        """The rules that spoke lately about this state."""
        if state != self._state:
            self._state = state
            self._said.clear()
        lately = {
            rule
            for rule, (when, enough) in self._said.items()
            if self._turn < when + enough or rule in NEWS
        }
        # What stands is a reminder: not in the turns after another message.
        just_now = any(self._turn < when + QUIET for when, _ in self._said.values())
        return frozenset(lately | {STANDING}) if just_now else frozenset(lately)


def state_of(
    definition: Definition, missing: Sequence[Artifact], repair: RepairFocus | None
) -> Hashable:
    """What messages are about: what is open, what was judged, what is repaired."""
    last = definition.round
    judged = (last.number, last.status) if last is not None else None
    repaired = None
    if repair is not None:
        repaired = (repair.round, repair.changed, tuple(t.visited for t in repair.targets))
    return definition.items, tuple(missing), judged, repaired
