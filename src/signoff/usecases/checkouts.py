"""A worker's checkout of a plan: made as the ledger says, its content sent, its verdicts signed."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.digests import digest_of
from signoff.domain.ledger import Draft, Entry, Kind
from signoff.errors import (
    ContentMoved,
    ContentUnreachable,
    NotApproved,
    SignoffError,
    StorageFailed,
)
from signoff.settings.loading import settings_from_pin
from signoff.storage.active import VAULT_FOLDER
from signoff.storage.keys import SigningKey
from signoff.storage.ledger import Ledger
from signoff.storage.records import PlanRecord
from signoff.storage.vault import Vault
from signoff.storage.workers import WorkerName, clock_s, signed
from signoff.usecases.harness import Harness, PlanLocation, redactor_of
from signoff.usecases.history import PlanHistory, fold_run, pinned_plan
from signoff.usecases.openwork import enclosure_of
from signoff.usecases.pinning import pins_here
from signoff.usecases.workspaces import open_pinned_workspace, workspace_lock
from signoff.verification.check_runner import CheckRunner
from signoff.verification.enclosure import JudgingPlace
from signoff.verification.pins import Pins, differences
from signoff.verification.setup import run_setup
from signoff.workspace.folders import opened_root, remove_any
from signoff.workspace.objects import replace_file
from signoff.workspace.remote import ContentRemote
from signoff.workspace.workspace import Workspace

LOOK_S = 1.0
LONGEST_PAUSE_S = 30.0
_NAMES_CONTENT = ("snapshot", "base")  # keys of entries whose value is content that must be there


class Duties(Struct, frozen=True):
    """Things that a run needs of the worker that drives it."""

    name: WorkerName
    key: SigningKey
    lease_s: float
    stop: threading.Event
    say: Callable[[str, str], None]  # what keeps a plan from going on


def place_of_checkout(harness: Harness, record: PlanRecord, pins: Pins) -> PlanLocation:
    """The plan in a checkout of this worker, with its file where it lay; both are made anew."""
    home = harness.home.path.resolve()
    above = home.with_name(f"{home.name}-checkouts") / record.id
    root = above / "work"
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    path, there = Path(record.path), Path(pins.workspace)
    path = root / path.relative_to(there) if path.is_relative_to(there) else above / path.name
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, pins.plan_text.encode("utf-8", "surrogateescape"))
    vault = path.parent if path.parent.name == VAULT_FOLDER else root / VAULT_FOLDER
    return PlanLocation(path, record, root, Vault(vault))


class CheckoutRun:
    """A run in a worker's checkout: made as the ledger says; content is sent, verdicts signed."""

    def __init__(
        self, duties: Duties, ledger: Ledger, plan: str, pins: Pins, remote: ContentRemote
    ):
        self._duties = duties
        self._ledger = ledger
        self._plan = plan
        self._pins = pins
        self._remote = remote
        self._run = ""
        self._last = pins.snapshot  # content that an entry named
        self._look_at = 0.0
        self._over = False

    @property
    def lease_s(self) -> float:
        """Seconds that others wait for a sign of life."""
        return self._duties.lease_s

    def as_approved(self, entry: Entry) -> dict[str, str]:
        """Say of a run's beginning what was approved: that is what others compare with."""
        return {"pins": entry.data["pins"], "workspace": self._pins.workspace}

    def prepare(self, harness: Harness, place: PlanLocation, history: PlanHistory) -> Pins:
        """Make the checkout as the ledger says it is; the approved pins, taken there."""
        pins, plan = self._pins, pinned_plan(self._pins)
        workspace = open_pinned_workspace(harness, place, pins, plan)
        self._remote.fetch(workspace)
        workspace.landing_note.unlink(missing_ok=True)  # of an earlier stay; the ledger knows
        _put(workspace, pins.snapshot)
        self._set_up(harness, place)
        found = pins_here(harness, place, pins, begun=True)
        if differs := differences(pins, found):
            host = os.uname().nodename
            raise NotApproved(f"what was approved differs on `{host}`: {'; '.join(differs)}")
        trunk = fold_run(history, plan).snapshot if history.running else None
        _put(workspace, trunk or pins.snapshot)
        return found

    def _set_up(self, harness: Harness, place: PlanLocation) -> None:
        """Make by-products, once for what was approved."""
        pins, note = self._pins, place.workspace.with_name("set-up")
        setup = settings_from_pin(pins.settings).setup
        if setup is None:
            return
        made_for = digest_of({"content": pins.snapshot, "settings": pins.settings})
        if note.exists() and note.read_text() == made_for:
            return
        runner = CheckRunner(
            pins.search_path,
            harness.environ,
            mark=workspace_lock(place),
            enclosure=enclosure_of(harness, place, pins.search_path),
        )
        redactor = redactor_of(harness, pinned_plan(pins), harness.settings)
        run_setup(setup, runner, JudgingPlace(place.workspace), (), redactor)
        replace_file(note, made_for.encode())

    def endorse(
        self, workspace: Workspace, run: str
    ) -> Callable[[tuple[Draft, ...]], tuple[Draft, ...]]:
        """Send the content that entries name, and sign verdicts, before they are written."""
        self._run, duties = run, self._duties

        def endorsed(drafts: tuple[Draft, ...]) -> tuple[Draft, ...]:
            for digest in (d.data.get(name) for d in drafts for name in _NAMES_CONTENT):
                if digest:
                    self._send(workspace, digest)
            kinds = {draft.kind for draft in drafts}
            if Kind.RUN_FINISHED in kinds:
                self._look_at = math.inf  # that it is over is no reason to stop what ends it
            if Kind.VERDICT not in kinds:
                return drafts
            now = clock_s(self._ledger.database)
            return tuple(
                replace(d, data=signed(self._plan, d, duties.name, duties.key, now))
                if d.kind is Kind.VERDICT
                else d
                for d in drafts
            )

        return endorsed

    def _send(self, workspace: Workspace, digest: str) -> None:
        """Send content, however long its remote is away: what is done must not be done again."""
        pause = LOOK_S
        while True:
            try:
                self._remote.send(workspace.objects, digest)
            except ContentUnreachable as error:
                self._duties.say(self._plan, error.message)
                pause = min(2 * pause, LONGEST_PAUSE_S)
                if self._duties.stop.wait(pause) or self._over:
                    raise
                continue
            self._last = digest
            return

    def is_over(self) -> bool:
        """True once somebody ended the run; asked now and then only."""
        if self._run and time.monotonic() >= self._look_at:
            with suppress(StorageFailed):
                self._over = self._over or self._ledger.run_is_over(self._plan, self._run)
            self._look_at = time.monotonic() + LOOK_S
        return self._over

    def tidy(self, checkout: Path) -> None:
        """Leave only what the run came to, at the remote; `pull` takes that."""
        with suppress(ContentUnreachable):
            self._remote.remove([d for d in self._remote.digests() if d != self._last])
        for folder in (checkout.parent, self._remote.folder):
            with suppress(OSError, SignoffError), opened_root(folder.parent) as above:
                remove_any(above, folder.name)


def _put(workspace: Workspace, digest: str) -> None:
    """Make the checkout this content, and see that it is."""
    workspace.revert(digest)
    if workspace.snapshot().digest != digest:
        raise ContentMoved(f"the checkout `{workspace.root}` does not hold what was sent")
