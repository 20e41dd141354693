"""Ignored files that steer a check: no content of a snapshot, but new or changed since approval."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from signoff.commands.analysis import analyse
from signoff.commands.launchers import inside
from signoff.domain.globs import matches_any
from signoff.domain.snapshot import Change, ChangeKind, FileKind, FileState, Manifest
from signoff.verification.ignored import Ignored
from signoff.verification.influences import Approved, CheckFacts, Influence, find_influences
from signoff.verification.pins import Pins, fingerprint
from signoff.workspace.opened import Opened


@dataclass(frozen=True)
class LooseFiles:
    """Ignored files that no build or install made, as approved and as they lay before a judging."""

    approved: Mapping[str, str] = field(default_factory=dict)
    now: Mapping[str, FileState] = field(default_factory=dict)

    @classmethod
    def of(cls, pins: Pins, ignored: Ignored, here: str) -> LooseFiles:
        """None of them in another folder than the approved one: there they are somebody else's."""
        if pins.ignored is None or pins.workspace != here:
            return cls()
        return cls(pins.ignored, ignored.loose())

    @property
    def folders(self) -> tuple[str, ...]:
        """Where they lie, for a watch over what is opened."""
        return tuple(sorted({posixpath.dirname(path) for path in self.now}))

    @property
    def changes(self) -> tuple[Change, ...]:
        """Those that are new or changed; of one that is gone there is no copy to judge with."""
        return tuple(
            Change(path, ChangeKind.MODIFIED if path in self.approved else ChangeKind.ADDED)
            for path, state in self.now.items()
            if self.approved.get(path) != fingerprint(state)
        )

    def influences(
        self, content: Manifest, then: Approved, facts: CheckFacts, opened: Opened
    ) -> tuple[Influence, ...]:
        """Those that the check may have obeyed, unless the plan allows them."""
        changes = self.changes
        if not changes:
            return ()
        run = _run_by(facts.texts)
        executed = [c for c in changes if c.path in run and not matches_any(facts.allowed, c.path)]
        before = {path: _state(text) for path, text in self.approved.items()}
        found = find_influences(
            (c for c in changes if c.path not in run),
            {**content, **self.now},
            replace(then, manifest={**then.manifest, **before}),
            facts,
            opened,
            ignored=True,
        )
        return (*(Influence(c.path, "an ignored file that the check runs") for c in executed),
                *(replace(i, why=f"ignored, {i.why}") for i in found))  # fmt: skip


def changed_byproducts(
    approved: Mapping[str, str],
    now: Mapping[str, str],
    facts: CheckFacts,
    known: Iterable[Influence],
) -> tuple[Influence, ...]:
    """By-products that are not as approved, unless the check names them or the plan lets them be.

    Asked where the same content was broken before: then nothing else can have made it hold. They
    count as a whole, in place of those files in them that are known to steer the check.
    """
    settled = (*facts.allowed, *facts.produces)
    changed = [
        path
        for path, seen in now.items()
        if approved.get(path) != seen
        and not any(f"{glob}/".startswith(f"{path}/") for glob in settled)
        and not matches_any(facts.allowed, path)
        and not any(_names(text, path) for text, _ in facts.texts)
    ]
    why = "a by-product; nothing else changed since the same content was broken"
    apart = (i for i in known if not any(f"{i.path}/".startswith(f"{p}/") for p in changed))
    return (*apart, *(Influence(path, why) for path in changed))


def _names(text: str, path: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(path)}(?![\w-])", text) is not None


def _run_by(texts: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Files that shell texts source or execute."""
    scripts = ((folder, script.path) for text, folder in texts for script in analyse(text).scripts)
    return frozenset(path for folder, name in scripts if (path := inside(folder, name)))


def _state(text: str) -> FileState:
    """What a fingerprint says of a file; its size is not in it."""
    kind, _, digest = text.partition(":")
    return FileState(FileKind(kind.removesuffix("+x")), kind.endswith("+x"), 0, digest)
