"""Edits behind the pins: the plan file or the repository's configuration changed during a run."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from signoff.domain.digests import digest_of
from signoff.errors import PlanNotFound, PlanUnreadable
from signoff.planfile.decode import decode
from signoff.planfile.diff import unified
from signoff.planfile.digest import plan_digest
from signoff.settings.loading import read_config_text
from signoff.storage.files import read_plan_file

LONGEST_DIFFERENCE = 20_000


@dataclass
class PinWatch:
    """Compares what lies there with what was pinned; marks and status do not count."""

    plan_path: Path
    plan_digest: str
    plan_text: str
    config_path: Path
    config_text: str
    _as_pinned: tuple[object, ...] = field(default=(), init=False)

    def edited(self) -> tuple[str, str] | None:
        """The digest of what is there instead, and the difference; None when all is as pinned."""
        states = (_state(self.plan_path), _state(self.config_path))
        if states == self._as_pinned:
            return None
        edit = self._compare()
        # Only states taken before the comparison vouch for it; an edit is looked at every time.
        self._as_pinned = states if edit is None else ()
        return edit

    def _compare(self) -> tuple[str, str] | None:
        plan = self._plan_now()
        config = read_config_text(self.config_path)
        plan_same = plan is not None and plan_digest(plan) == self.plan_digest
        if plan_same and config == self.config_text:
            return None
        parts = []
        if not os.path.lexists(self.plan_path):
            parts.append(f"`{self.plan_path}` is gone; it was approved as:")
        if not plan_same:
            parts.append(unified(self.plan_text, plan or "", self.plan_path.name))
        if config != self.config_text:
            parts.append(unified(self.config_text, config, self.config_path.name))
        seen = self.digest_of_edit(plan_digest(plan) if plan else None, config)
        return seen, "\n".join(parts)[:LONGEST_DIFFERENCE]

    def question(self) -> str:
        """What a person is asked about an edit; a file that is gone was not edited."""
        goes_on = "the run goes by what was approved: retry goes on with that"
        if os.path.lexists(self.plan_path):
            return (
                "the plan file or signoff.toml was edited during the run; "
                f"{goes_on}, revise takes the edited plan back to draft"
            )
        path = shlex.quote(str(self.plan_path))
        return (
            f"the plan file `{self.plan_path}` is gone since the run began; {goes_on}, "
            f"signoff show {path} --approved > {path} puts it back"
        )

    @staticmethod
    def digest_of_edit(plan: str | None, config: str) -> str:
        """How the ledger names what was noticed: by the plan's digest and the configuration."""
        return digest_of({"plan": plan, "config": config})

    def _plan_now(self) -> str | None:
        try:
            return decode(read_plan_file(self.plan_path), str(self.plan_path))
        except (PlanNotFound, PlanUnreadable):
            return None


def _state(path: Path) -> tuple[int, ...] | None:
    """What changes whenever a file does; asked for at every step, where reading would cost."""
    try:
        seen = path.lstat()
    except OSError:
        return None
    return seen.st_ino, seen.st_mode, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns
