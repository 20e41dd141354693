"""What the commands of an agent in a session change, seen with the eyes of its judge."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from signoff.agents.session import PlanSession
from signoff.agents.tools.context import Changes
from signoff.domain.ledger import Kind
from signoff.domain.plan import Plan
from signoff.domain.snapshot import FileKind, Manifest, Snapshot
from signoff.usecases.openwork import open_pinned_workspace
from signoff.usecases.site import PlanPlace, Site
from signoff.verification.pins import Pins
from signoff.workspace.workspace import Workspace

MOST_NAMED = 1_000  # of what a command changed; it rests on the content as a whole anyway
IGNORED = "ignored files"  # stands for by-products, of which nothing but a change is known


@dataclass(frozen=True)
class _View:
    """A workspace at one moment: its content, what is ignored in it, and permissions."""

    digest: str = ""
    environment: str = ""
    manifest: Manifest = field(default_factory=dict)
    modes: Mapping[str, int] = field(default_factory=dict)


@dataclass
class WorkspaceWatch:
    """Compares the workspace before and after a command."""

    workspace: Workspace
    _before: _View = field(default_factory=_View)
    _lock: threading.Lock = field(default_factory=threading.Lock)  # a workspace is for one thread

    def mark(self) -> str:
        """The digest of the content as it is now."""
        self._before = self._view()
        return self._before.digest

    def content(self) -> str:
        """The same, for a call that changes nothing."""
        with self._lock:
            return self._snapshot().digest

    def changed_since(self, mark: str) -> Changes:
        """What differs from then; only files that evidence can cite have a digest."""
        # Without a view of then, everything counts as changed.
        before = self._before if self._before.digest == mark else _View(mark)
        after = self._view()
        files = dict.fromkeys(before.manifest.keys() - after.manifest.keys(), "")
        others = [p for p, mode in after.modes.items() if before.modes.get(p, mode) != mode]
        for path, state in after.manifest.items():
            if before.manifest.get(path) == state:
                continue
            if state.kind is FileKind.FILE:
                files[path] = state.sha256
            else:
                others.append(path)
        if before.environment != after.environment:
            others.append(IGNORED)
        named = dict(sorted(files.items())[:MOST_NAMED])
        return Changes(named, tuple(sorted(set(others)))[:MOST_NAMED], after.digest)

    def _snapshot(self) -> Snapshot:
        seen = self.workspace.digest_now(quiet=False)
        self.workspace.remove_caches()
        return seen

    def _view(self) -> _View:
        with self._lock:
            seen = self._snapshot()
            manifest = self.workspace.manifest(seen.digest)
        modes = {}
        for path in manifest:
            with suppress(OSError):
                modes[path] = stat.S_IMODE(os.lstat(self.workspace.root / path).st_mode)
        return _View(seen.digest, seen.environment, manifest, modes)


def watch_of(site: Site, place: PlanPlace, session: PlanSession) -> WorkspaceWatch:
    """The workspace under what was pinned as the session began, as its judge sees it."""
    entries = site.ledger.entries(session.id)
    began = next(entry for entry in entries if entry.kind is Kind.SESSION_STARTED)
    pins = Pins.from_bytes(site.ledger.get_blob(str(began.data["pins"])))
    return WorkspaceWatch(open_pinned_workspace(site, place, pins, Plan(title="", steps=())))
