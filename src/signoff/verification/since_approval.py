"""What changed since a plan was approved, and what of it a check must not rest on."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import partial

from signoff.domain.globs import intersect, literal, matches_any
from signoff.domain.languages import is_settings, is_test, language_of
from signoff.domain.plan import Contract
from signoff.domain.snapshot import Change, FileKind, Manifest, Snapshot
from signoff.domain.text import storable_path
from signoff.domain.verdict import Reason, Result, Verdict
from signoff.errors import StorageFailed
from signoff.planfile.verify.subjects import looked_at
from signoff.verification.expectations import Answer
from signoff.verification.ignored_influences import LooseFiles, changed_byproducts
from signoff.verification.influences import Approved, CheckFacts, Influence, find_influences
from signoff.verification.moves import NAMED_FILES, written_meanwhile
from signoff.verification.pins import Pins
from signoff.verification.protection import Guard, Tampering, file_of
from signoff.verification.steering import INSTALLED, PRESENT, texts_of
from signoff.verification.steering.borrowed import installed_modules
from signoff.verification.suppressions import Checks, Suppression, new_suppressions
from signoff.workspace.opened import Opened
from signoff.workspace.walk import byproduct_digests
from signoff.workspace.workspace import Workspace


@dataclass(frozen=True)
class SinceApproval:
    """Compares content with the approved one."""

    workspace: Workspace
    pins: Pins

    def influences(
        self, contract: Contract, guard: Guard, content: Snapshot, opened: Opened
    ) -> tuple[Influence, ...]:
        """Changed files that steer the check, and tests that the plan lets the step extend.

        Of a check that an agent chose for itself nothing is asked: it could have chosen another.
        """
        changes = self._changes(content) if guard.subject else ()
        if not changes:
            return ()
        approved = self.pins.snapshot
        then = Approved(
            self.workspace.manifest_of(approved), partial(self.workspace.read, approved)
        )
        now = self.workspace.manifest(content.digest)
        facts = self._facts(contract, guard, then)
        found = find_influences(changes, now, then, facts, opened)
        extended = (c for c in changes if guard.extends(c.path))
        more = {c.path: Influence(c.path, "a test that the step may extend") for c in extended}
        return (*(i for i in found if i.path not in more), *more.values())

    def ignored_influences(
        self,
        contract: Contract,
        guard: Guard,
        content: Snapshot,
        opened: Opened,
        loose: LooseFiles,
        *,
        contradicted: bool,
    ) -> tuple[Influence, ...]:
        """Ignored files, new or changed, that steer the check.

        `contradicted`: the same content was broken before, and only by-products changed since.
        """
        here = self.pins.workspace == str(self.workspace.root)
        pinned = self.pins.byproducts if contradicted and here else None
        if not loose.changes and pinned is None:
            return ()
        approved = self.pins.snapshot
        then = Approved(
            self.workspace.manifest_of(approved), partial(self.workspace.read, approved)
        )
        facts = self._facts(contract, guard, then)
        allowed = (*facts.allowed, *guard.changed_by_any)
        facts = replace(facts, allowed=(*allowed, *(f"{glob}/**" for glob in allowed)))
        now = self.workspace.manifest(content.digest)
        found = loose.influences(now, then, facts, opened)
        if pinned is None:
            return found
        beside = byproduct_digests(self.workspace.root, self.workspace.byproducts)
        return changed_byproducts(pinned, beside, facts, found)

    def outside(self, contract: Contract, guard: Guard, content: Snapshot) -> list[str]:
        """Changed files outside the plan's `touches`; a folder that leads to its files is not."""
        if not guard.touches:
            return []
        changed = [c.path for c in self._changes(content, guard.since)]
        asked = looked_at(contract.command)
        found = [p for p in changed if not matches_any(guard.touches, p) and p not in asked]
        now = self.workspace.manifest(content.digest) if found else {}
        return [p for p in found if not (_is_folder(now, p) and _leads_to(guard.touches, p))]

    def suppressions(
        self, checks: Checks, guard: Guard, content: Snapshot, opened: Opened
    ) -> list[Suppression]:
        """What silences one of the checks and was not there when the plan was approved."""
        if self.pins.snapshot in ("", content.digest):
            return []
        try:
            before, after = self.workspace.changed_texts(self.pins.snapshot, content.digest)
        except StorageFailed:
            return []  # another checkout, which never held the approved content
        now = self.workspace.manifest(content.digest)
        read = Approved(now, partial(self.workspace.read, content.digest))
        scripts = {file_of(name) for name in guard.steering or ()}
        texts = [read.text(p) for p in scripts if language_of(p) and not is_settings(p)]
        seen = opened.files if opened.complete else None
        checks = replace(checks, scripts=[t for t in texts if t], opened=seen)
        return new_suppressions(checks, before, after, now)

    def _facts(self, contract: Contract, guard: Guard, then: Approved) -> CheckFacts:
        steering = guard.steering or {}
        settled = {n for n, seen in steering.items() if seen == PRESENT or INSTALLED in seen}
        others = {p: x.fingerprint for p, x in guard.products.items() if x.step != guard.subject}
        return CheckFacts(
            texts=texts_of(contract, then.manifest, then.read),
            task=guard.task,
            allowed=guard.may_change,
            produces=guard.produces,
            protects=guard.kept_safe,
            scripts=frozenset(file_of(name) for name in steering if name not in settled),
            left={**others, **(guard.produced or {})},
            libraries=installed_modules(self.pins.search_path),
        )

    def _changes(self, content: Snapshot, since: str | None = None) -> tuple[Change, ...]:
        """What differs from the approved content; nothing where that content is not known.

        A copy of the workspace, judged elsewhere, has a store of its own.
        """
        try:
            return self.workspace.diff(since or self.pins.snapshot, content.digest)
        except StorageFailed:
            return ()


def _is_folder(manifest: Manifest, path: str) -> bool:
    return path in manifest and manifest[path].kind is FileKind.DIRECTORY


def _leads_to(globs: Iterable[str], folder: str) -> bool:
    return any(intersect(glob, f"{literal(folder)}/**") for glob in globs)


def written_to(guard: Guard, approved: Collection[str], opened: Opened) -> Answer | None:
    """The answer when something that decides the check was written to, and perhaps put back."""
    if not opened.written:
        return None
    decides = {file_of(name) for name in guard.steering or ()} | {*(guard.pinned or ())}
    # A tool may write a lock file anew with the same words; what it says is in the digest.
    decides |= {p for p in opened.written & opened.files if p in approved and is_test(p)}
    above = {path[:i] for path in decides for i, c in enumerate(path) if c == "/"}
    found = sorted(opened.written & (decides | above))
    return written_meanwhile(found) if found else None


def influenced(again: Verdict, found: Collection[Influence], guard: Guard) -> Verdict:
    """The verdict when the contract holds only with files changed that steer it."""
    if again.result is Result.UNKNOWN:
        return again
    paths = tuple(storable_path(influence.path) for influence in found)
    meant = ""
    if any(guard.extends(influence.path) for influence in found):
        meant = "the tests as approved do not pass: if this change of behaviour is meant, "
    message = (
        "influenced: the contract holds only with what steers it changed: "
        f"{_reasons(found)}; {meant}a person allows it with `{_line(paths)}`"
    )
    broken = replace(again, result=Result.BROKEN, reason=Reason.INFLUENCED)
    return replace(broken, message=message, tampered=paths)


def out_of_bounds(verdict: Verdict, outside: list[str]) -> Verdict:
    """The verdict when a file changed that the plan does not let anybody change."""
    paths = tuple(map(storable_path, outside))
    named = ", ".join(f"`{path}`" for path in paths[:NAMED_FILES])
    message = f"changed outside `touches`: {named}; a person allows it with `{_line(paths)}`"
    broken = replace(verdict, result=Result.BROKEN, reason=Reason.OUTSIDE)
    return replace(broken, message=message, tampered=paths)


def _line(paths: tuple[str, ...]) -> str:
    return f"**may_change:** {', '.join(paths[:NAMED_FILES])}"


def _reasons(found: Collection[Influence]) -> str:
    shown = [f"`{storable_path(i.path)}` ({i.why})" for i in list(found)[:NAMED_FILES]]
    more = len(found) - NAMED_FILES
    return "; ".join(shown) + (f" and {more} more" if more > 0 else "")


def tampered(verdict: Verdict, tampering: tuple[Tampering, ...]) -> Verdict:
    named = "; ".join(f"`{storable_path(t.path)}`: {t.rule}" for t in tampering[:NAMED_FILES])
    decides = [storable_path(file_of(t.path)) for t in tampering if t.unasked]
    if decides:
        files = ", ".join(list(dict.fromkeys(decides))[:NAMED_FILES])
        named += (
            "; what decides a check is protected, "
            f"unless a person allows it with `**may_change:** {files}`"
        )
    return replace(
        verdict,
        result=Result.BROKEN,
        reason=Reason.TAMPERED,
        message=f"tampered: {named}",
        tampered=tuple(storable_path(t.path) for t in tampering),
    )
