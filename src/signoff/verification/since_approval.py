"""Find what changed since a plan was approved, and what of it a check must not rest on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from signoff.commands.settings import only_needs_differ
from signoff.domain.globs import has_wildcard, intersect, literal, matches_any
from signoff.domain.languages import is_settings, language_of
from signoff.domain.plan import Contract
from signoff.domain.snapshot import Change, ChangeKind, FileKind, Manifest, Snapshot
from signoff.domain.text import shown_list, storable_path
from signoff.domain.verdict import TestCounts
from signoff.errors import LedgerBroken, StorageFailed
from signoff.planfile.subjects import looked_at, says
from signoff.process.shell import installed_modules
from signoff.settings.loading import settings_from_pin
from signoff.verification.influences.changed import Approved, CheckFacts, Influence, find_influences
from signoff.verification.influences.gathered import INSTALLED, PRESENT, ShellText
from signoff.verification.influences.ignored import LooseFiles, changed_byproducts
from signoff.verification.influences.rules import influences_of, texts_of
from signoff.verification.pins import Pins
from signoff.verification.protection import Guard, file_of
from signoff.verification.suppressions import (
    Checks,
    Suppression,
    files_not_checked,
    new_suppressions,
    tests_not_run,
)
from signoff.workspace.byproducts import litter_of
from signoff.workspace.opened import Blobs, OpenedFiles
from signoff.workspace.records import ApprovedTimes, Times, folders_above
from signoff.workspace.walk import byproduct_digests
from signoff.workspace.workspace import Workspace


def _sha256(manifest: Manifest, path: str) -> str:
    return manifest[path].sha256 if path in manifest else ""


@lru_cache(maxsize=16)
def texts_on(workspace: Workspace, command: str, digest: str) -> tuple[ShellText, ...]:
    """All shell text that a command runs on this content; what a digest names never changes."""
    read = partial(workspace.read, digest)
    return texts_of(Contract(command), workspace.manifest(digest), read)


@lru_cache(maxsize=1)  # large, and every check of one content asks for it
def _changed_texts(
    workspace: Workspace, old: str, new: str
) -> tuple[Mapping[str, str], Mapping[str, str]]:
    return workspace.changed_texts(old, new)


class InfluenceChanges(Struct, frozen=True):
    """Everything changed that influences a check: to be as approved when it is judged once more."""

    content: tuple[Influence, ...]
    makes: tuple[Influence, ...]  # by-products are made of it
    beside: tuple[Influence, ...]  # by-products themselves
    retimed: tuple[Influence, ...] = ()  # whose time alone may decide
    times: Mapping[str, int] = field(default_factory=dict)  # of the approved content, as approved

    @property
    def all(self) -> tuple[Influence, ...]:
        """Each path once; what the check itself reads says why."""
        every = (*self.retimed, *self.makes, *self.content, *self.beside)
        return tuple({influence.path: influence for influence in every}.values())


class SinceApproval(Struct, frozen=True):
    """Compares content with the approved one."""

    workspace: Workspace
    pins: Pins
    blobs: Blobs | None = None

    def influence_changes(
        self,
        contract: Contract,
        guard: Guard,
        content: Snapshot,
        opened: OpenedFiles,
        loose: LooseFiles,
        *,
        made: OpenedFiles | None,
        contradicted: bool,
    ) -> InfluenceChanges:
        """All of it. `made`: by-products are a set-up's, which read this; else the workspace's."""
        found = self.influences(contract, guard, content, opened)
        makes: tuple[Influence, ...] = ()
        beside: tuple[Influence, ...] = ()
        if made is not None:
            makes = self.setup_influences(guard, content, made)
        else:
            beside = self.ignored_influences(
                contract, guard, content, opened, loose, contradicted=contradicted
            )
        then = self._approved_times()
        by_time: dict[Influence, int] = {}
        if then.files and loose.times and guard.subject:
            now, facts = self.workspace.manifest(content.digest), self._facts(contract, guard)
            by_time = find_retimed(loose.times, then, now, self._approved(), facts)
        back = {i.path: then.files[i.path] for i in found if i.path in then.files}
        times = {**back, **{influence.path: ns for influence, ns in by_time.items()}}
        return InfluenceChanges(found, makes, beside, tuple(by_time), times)

    def _approved_times(self) -> ApprovedTimes:
        """The times of files when the plan was approved; none if they are not there any more."""
        if not self.pins.times or self.blobs is None:
            return ApprovedTimes()
        try:
            return ApprovedTimes.from_bytes(self.blobs.get_blob(self.pins.times))
        except LedgerBroken:
            return ApprovedTimes()

    def influences(
        self, contract: Contract, guard: Guard, content: Snapshot, opened: OpenedFiles
    ) -> tuple[Influence, ...]:
        """Changed files that influence the check, and tests that the plan lets the step extend.

        Of a check that an agent chose for itself nothing is asked: it could have chosen another.
        """
        changes = self._changes(content.digest) if guard.subject else ()
        if not changes:
            return ()
        then = self._approved()
        now = self.workspace.manifest(content.digest)
        changes = tuple(c for c in changes if not self._only_needs(c.path, guard, content))
        found = find_influences(changes, now, then, self._facts(contract, guard), opened)
        extended = (c for c in changes if guard.extends(c.path))
        more = {c.path: Influence(c.path, "a test that the step may extend") for c in extended}
        return (*(i for i in found if i.path not in more), *more.values())

    def _only_needs(self, path: str, guard: Guard, content: Snapshot) -> bool:
        """True when the task names the project's manifest, and only what it needs changed."""
        if not says(guard.task, path):
            return False
        try:
            before = self.workspace.read(self.pins.snapshot, path)
            return only_needs_differ(path, before, self.workspace.read(content.digest, path))
        except StorageFailed:
            return False

    def setup_influences(
        self, guard: Guard, content: Snapshot, opened: OpenedFiles
    ) -> tuple[Influence, ...]:
        """Changed files that influence the set-up command, unless the plan allows them.

        What it makes decides as much as what a check reads, so it is asked like a check.
        """
        setup = settings_from_pin(self.pins.settings).setup
        changes = self._changes(content.digest) if guard.subject else ()
        if setup is None or not changes:
            return ()
        from signoff.verification.setup import as_read  # noqa: PLC0415 - few have a set-up

        then, contract = self._approved(), as_read(setup)
        path = self.pins.search_path
        pinned = influences_of(contract, then.manifest, then.read, search_path=path)
        allowed = (*guard.may_change, *guard.changed_by_any)
        facts = self._facts(contract, replace(guard, influences=pinned, may_change=allowed))
        now = self.workspace.manifest(content.digest)
        found = find_influences(changes, now, then, replace(facts, makes=True), opened)
        why = {i.path: f"{i.why}, and the set-up command goes by it" for i in found}
        settled = {*guard.products, *(guard.produced or ())}
        scripts = {file_of(name) for name in pinned} - settled
        run = (c.path for c in changes if c.path in scripts and not matches_any(allowed, c.path))
        why = dict.fromkeys(run, "run by the set-up command") | why
        return tuple(Influence(path, reason) for path, reason in why.items())

    def ignored_influences(
        self,
        contract: Contract,
        guard: Guard,
        content: Snapshot,
        opened: OpenedFiles,
        loose: LooseFiles,
        *,
        contradicted: bool,
    ) -> tuple[Influence, ...]:
        """Ignored files and environments, not as approved, that influence the check.

        `contradicted`: the same content was broken before, and only by-products changed since.
        """
        here = self.pins.workspace == str(self.workspace.root)
        pinned = self.pins.byproducts if contradicted and here else None
        if not loose.changes and not loose.made and pinned is None:
            return ()
        then = self._approved()
        facts = self._facts(contract, guard)
        allowed = (*facts.allowed, *guard.changed_by_any)
        facts = replace(facts, allowed=(*allowed, *(f"{glob}/**" for glob in allowed)))
        now = self.workspace.manifest(content.digest)
        found = loose.influences(now, then, facts, opened)
        if pinned is None:
            return found
        beside = byproduct_digests(self.workspace.root, self.workspace.byproducts)
        return changed_byproducts(pinned, beside, facts, found)

    def needs_setup(self, content: Snapshot) -> str:
        """Says openly that a verdict rests on by-products that are not as approved."""
        pins, root = self.pins, self.workspace.root
        if pins.dependencies is None or pins.workspace != str(root):
            return ""
        now = _installed(root, self.workspace.byproducts, content.environment)
        changed = [path for path, seen in now.items() if pins.dependencies.get(path) != seen]
        if not changed:
            return ""
        named = shown_list(map(storable_path, changed))
        declared = settings_from_pin(pins.settings).setup is not None
        said = (
            "the set-up command was not used here"
            if declared
            else "declare `[setup] command` in signoff.toml"
        )
        return f"needs set-up: judged with {named}, changed since approval; {said}"

    def outside(self, contract: Contract, guard: Guard, content: Snapshot) -> list[str]:
        """Changed files outside `touches`, of all that anybody changed and of the step's own.

        A folder that leads to files inside is not outside.
        """
        asked = looked_at(contract.command)
        found: set[str] = set()
        for globs, changed in (
            (guard.touches, self._changed(content) if guard.touches else frozenset()),
            (guard.own_touches, self._changed_by_step(guard, content)),
        ):
            beyond = [p for p in changed if not matches_any(globs, p) and p not in asked]
            now = self.workspace.manifest(content.digest) if beyond else {}
            written = {p for p, sha256 in guard.installed.items() if _sha256(now, p) == sha256}
            beyond = [p for p in beyond if p not in written]
            filled = self._filled(now) if beyond else set()
            beyond = [p for p in beyond if p not in filled]
            folders = {p for p in beyond if p in now and now[p].kind is FileKind.DIRECTORY}
            inside = (*globs, *map(literal, written))
            leads = {f for f in folders if any(intersect(g, f"{literal(f)}/**") for g in inside)}
            found.update(p for p in beyond if p not in leads)
        return sorted(found)

    def _filled(self, now: Manifest) -> set[str]:
        """Folders that were empty when approved and are not any more: they are there as before."""
        held = {folder for path in now for folder in folders_above(path)}
        then = self.workspace.manifest(self.pins.snapshot)
        return {f for f in held if f in then and then[f].kind is FileKind.DIRECTORY}

    def _changed_by_step(self, guard: Guard, content: Snapshot) -> frozenset[str]:
        """Paths that attempts at the step changed, and did not put back."""
        if not (guard.own_touches and guard.spans):
            return frozenset()
        changed = [self._changed(content), self._changed(content, guard.spans[0][0])]
        spans = (self._changes(end, start) for start, end in guard.spans)
        return frozenset(c.path for span in spans for c in span).intersection(*changed)

    def _changed(self, content: Snapshot, since: str = "") -> frozenset[str]:
        return frozenset(c.path for c in self._changes(content.digest, since))

    def bent(
        self, guard: Guard, opened: OpenedFiles, before: OpenedFiles, now: Manifest
    ) -> frozenset[str]:
        """Files as approved that were read and written to in one judging, by what is judged.

        A tool may write a lock file anew with the same words: it did so `before` anybody worked.
        """
        free = (*guard.changed_by_any, *guard.may_change)
        both = (opened.written & opened.files) - before.written
        try:
            then = self.workspace.manifest(self.pins.snapshot) if both else {}
        except StorageFailed:
            return frozenset()  # another checkout, which never held the approved content
        same = (p for p in both if p in then and then[p] == now.get(p))
        return frozenset(p for p in same if not matches_any(free, p))

    def suppressions(
        self,
        checks: Checks,
        guard: Guard,
        content: Snapshot,
        opened: OpenedFiles,
        before: OpenedFiles,
        counts: TestCounts | None,
    ) -> list[Suppression]:
        """Comments that silence one of the checks and were not there when the plan was approved.

        Besides, tests that did not begin, and files read `before` that are not there any more.
        """
        if self.pins.snapshot in ("", content.digest):
            return []
        now = self.workspace.manifest(content.digest)
        read = Approved(now, partial(self.workspace.read, content.digest))
        scripts = {file_of(name) for name in guard.influences or ()}
        texts = [read.text(p) for p in scripts if language_of(p) and not is_settings(p)]
        seen = opened.files if opened.complete else None
        checks = replace(checks, scripts=[t for t in texts if t], opened=seen)
        if not (checks.tools or checks.scripts or checks.skip_marks or checks.loops):
            return []  # nothing that runs obeys any comment, or goes over files
        try:
            old, new = _changed_texts(self.workspace, self.pins.snapshot, content.digest)
        except StorageFailed:
            return []  # another checkout, which never held the approved content
        found = [*new_suppressions(checks, old, new, now), *tests_not_run(counts, now, read.text)]
        if not (counts and counts.counted) and checks.look_around:
            free = (*guard.may_change, *guard.changed_by_any, *guard.produces, *guard.products)
            changes = [c for c in self._changes(content.digest) if not matches_any(free, c.path)]
            asked = [c for c in changes if not says(guard.task, c.path)]
            found += files_not_checked(asked, before.files, now, read.text)
        return found

    def _approved(self) -> Approved:
        digest = self.pins.snapshot
        return Approved(self.workspace.manifest(digest), partial(self.workspace.read, digest))

    def _facts(self, contract: Contract, guard: Guard) -> CheckFacts:
        pinned = guard.influences or {}
        settled = {n for n, seen in pinned.items() if seen == PRESENT or INSTALLED in seen}
        others = {p: x.fingerprint for p, x in guard.products.items() if x.step != guard.subject}
        return CheckFacts(
            texts=texts_on(self.workspace, contract.command, self.pins.snapshot),
            task=guard.task,
            allowed=guard.may_change,
            produces=guard.produces,
            protects=guard.kept_safe,
            scripts=frozenset(file_of(name) for name in pinned if name not in settled),
            left={**others, **(guard.produced or {})},
            libraries=installed_modules(self.pins.search_path),
        )

    def _changes(self, digest: str, since: str = "") -> tuple[Change, ...]:
        """Differences from the approved content; nothing where that content is not known.

        A copy of the workspace, judged elsewhere, has a store of its own.
        """
        try:
            return self.workspace.diff(since or self.pins.snapshot, digest)
        except StorageFailed:
            return ()


def installed(root: Path, byproducts: Iterable[str]) -> dict[str, str]:
    """Digest of each ignored folder by stat, without compiled caches and litter of tools."""
    mine = (p for p in byproducts if litter_of(p) is None and not (root / p).is_symlink())
    return byproduct_digests(root, (p for p in mine if (root / p).is_dir()), with_caches=False)


@lru_cache(maxsize=8)
def _installed(root: Path, byproducts: tuple[str, ...], environment: str) -> dict[str, str]:
    """Digests like `installed`, looked at once for as long as nothing changes."""
    del environment
    return installed(root, byproducts)


_UNSEEN = OpenedFiles(why_not="a look at a time is not seen")


def find_retimed(
    seen: Mapping[str, Times],
    then: ApprovedTimes,
    now: Manifest,
    approved: Approved,
    facts: CheckFacts,
) -> dict[Influence, int]:
    """Influences by their time, each with the time that it has when it is judged once more.

    Work may be newer than approved: an agent could change it as well. Nothing may be older, or a
    tool takes what was made of it before for current. A file that changed has the time of the
    system's own record then, so that what is made of it is made again.
    """
    touched: dict[str, int] = {}
    older: dict[str, int] = {}
    for path, times in seen.items():
        if path in then.files and now.get(path) == approved.manifest.get(path):
            if times.modified_ns != then.files[path]:
                found = older if times.modified_ns < then.files[path] else touched
                found[path] = then.files[path]
        elif times.modified_ns < then.taken_ns <= times.changed_ns:
            older[path] = times.changed_ns
    exact = {path for path in facts.produces if not has_wildcard(path)}
    meant = (path for path in older if not (path in exact or matches_any(facts.allowed, path)))
    changes = (Change(path, ChangeKind.MODIFIED) for path in touched)
    # Neither words nor what the contract looks into say that a time may change.
    silent = replace(facts, task="", makes=True)
    decide = find_influences(changes, now, approved, silent, _UNSEEN)
    return {
        **{Influence(path, "dated before what was made of it"): older[path] for path in meant},
        **{Influence(i.path, f"touched and not changed, {i.why}"): touched[i.path] for i in decide},
    }
