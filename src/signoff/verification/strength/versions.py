"""Wrong versions of what a step changed, chosen so that each kind and place gets its turn."""

from __future__ import annotations

import hashlib
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest

from msgspec import Struct

from signoff.domain.strength import VersionKind
from signoff.verification.strength.drafts import VersionDraft, edited, quoted
from signoff.verification.strength.grammars import SyntaxTree, changed_functions, read
from signoff.verification.strength.hunks import (
    Hunk,
    changed_lines,
    hunks_of,
    says_the_same,
    short_diff,
    touched_lines,
)
from signoff.verification.strength.mutants import mutants_of
from signoff.verification.strength.probes import probes_of
from signoff.verification.strength.special import TestTexts, special_cases


class Changed(Struct, frozen=True):
    """Contents of the files that a step changed: a path that is missing had or has no file.

    `product` are those that are the work itself: only of them a version is written anew.
    """

    before: Mapping[str, bytes]
    after: Mapping[str, bytes]
    product: frozenset[str]

    @property
    def paths(self) -> list[str]:
        """Files that differ, the work first."""
        both = self.before.keys() | self.after.keys()
        differ = (p for p in both if self.before.get(p) != self.after.get(p))
        return sorted(differ, key=lambda path: (path not in self.product, path))


class WrongVersion(Struct, frozen=True):
    """One version that a good contract rejects.

    `line` counts in the text after the change, 0 means all of it. `files` are whole new contents,
    None where the file is removed; `diff` compares with the text after the change.
    """

    kind: VersionKind
    path: str
    line: int
    what: str
    files: Mapping[str, bytes | None]
    diff: str


class Versions(Struct, frozen=True):
    """Chosen versions, the number of those left out, and what could not be made."""

    chosen: tuple[WrongVersion, ...]
    left_out: int
    notes: tuple[str, ...]


def wrong_versions(
    changed: Changed, tests: Mapping[str, bytes], *, most: int = 24, seed: str = ""
) -> Versions:
    """Make wrong versions of a change: first all of it undone, then the kinds take turns."""
    maker = _Maker(changed, tests)
    whole = maker.whole()
    if whole is None:
        return Versions((), 0, ())
    waiting = deque([whole, *_in_turns(maker.drafts(), seed)])
    chosen: dict[frozenset[tuple[str, bytes | None]], WrongVersion] = {}
    while waiting and len(chosen) < most:
        version = maker.made(waiting.popleft())
        if version is not None:
            chosen.setdefault(frozenset(version.files.items()), version)
    return Versions(tuple(chosen.values()), len(waiting), tuple(maker.notes))


def _in_turns(drafts: Iterable[VersionDraft], seed: str) -> Iterator[VersionDraft]:
    """Order drafts so that each kind has its turn."""
    kinds = defaultdict[VersionKind, list[VersionDraft]](list)
    for draft in drafts:
        kinds[draft.kind].append(draft)
    for turn in zip_longest(*(_spread(kinds[kind], seed) for kind in VersionKind)):
        yield from (draft for draft in turn if draft is not None)


def _spread(drafts: Iterable[VersionDraft], seed: str) -> list[VersionDraft]:
    """Order drafts of one kind so that each function, hunk or line gets one before any gets two."""

    def lot(*words: object) -> bytes:
        return hashlib.sha256(
            "\0".join(map(str, (seed, *words))).encode("utf-8", "replace")
        ).digest()

    groups = defaultdict[str, list[VersionDraft]](list)
    for draft in drafts:
        groups[draft.group].append(draft)
    ordered = []
    for group, members in groups.items():
        members.sort(key=lambda d: lot(d.path, d.line, d.what, d.edits))
        ordered += [(rank, lot(group), draft) for rank, draft in enumerate(members)]
    return [draft for _, _, draft in sorted(ordered, key=lambda item: item[:2])]


class _Maker:
    """Reads every changed file once, drafts versions of it, and makes those that are chosen."""

    def __init__(self, changed: Changed, tests: Mapping[str, bytes]) -> None:
        self.changed, self.tests = changed, tests
        self.notes: list[str] = []
        self._trees: dict[str, SyntaxTree] = {}
        for path in (p for p in changed.paths if p in changed.after):
            tree = read(path, changed.after[path])
            if isinstance(tree, SyntaxTree):
                self._trees[path] = tree
            elif tree is not None and path in changed.product:
                self.notes.append(tree)

    def whole(self) -> VersionDraft | None:
        """The whole change undone; None where nothing changed."""
        paths = self.changed.paths
        files = {path: self.changed.before.get(path) for path in paths}
        path = paths[0] if len(paths) == 1 else ""
        what = "without the whole change"
        return VersionDraft(VersionKind.UNDO, path, 0, what, path, files=files) if paths else None

    def drafts(self) -> Iterator[VersionDraft]:
        """Every other version that could be made."""
        paths = self.changed.paths
        reader = TestTexts(self.tests)
        for path in paths:
            before, after = self.changed.before.get(path), self.changed.after.get(path)
            hunks = hunks_of(before or b"", after or b"")
            yield from self._undone(path, hunks, alone=len(paths) == 1)
            if path in self.changed.product and (tree := self._trees.get(path)) is not None:
                functions = list(changed_functions(tree, touched_lines(hunks)))
                yield from probes_of(path, tree, functions, self.tests)
                yield from special_cases(path, tree, functions, reader)
                yield from mutants_of(path, tree, changed_lines(hunks))

    def _undone(self, path: str, hunks: list[Hunk], *, alone: bool) -> Iterator[VersionDraft]:
        before, after = self.changed.before.get(path), self.changed.after.get(path)
        if after is None or before is None:
            if not alone:
                what = (
                    f"without the new file {quoted(path)}"
                    if after
                    else f"with {quoted(path)} again"
                )
                yield VersionDraft(VersionKind.UNDO, path, 0, what, path, files={path: before})
            if after:
                what = f"with {quoted(path)} empty"
                yield VersionDraft(VersionKind.UNDO, path, 0, what, path, files={path: b""})
        for hunk in hunks if after is not None else ():
            if len(hunks) > 1 or not (alone or before is None):
                yield VersionDraft(
                    VersionKind.UNDO,
                    path,
                    hunk.line,
                    _hunk_words(hunk),
                    f"{path}:{hunk.line}",
                    (hunk.edit,),
                )

    def made(self, draft: VersionDraft) -> WrongVersion | None:
        """The version itself; None when it would be no other one, or could not be loaded."""
        after = self.changed.after
        files = draft.files
        if files is None:
            text = edited(after[draft.path], draft.edits)
            if text == after[draft.path] or not self._counts(draft, text):
                return None
            files = {draft.path: text}
        diffs = [short_diff(path, after.get(path), text) for path, text in files.items()]
        return WrongVersion(draft.kind, draft.path, draft.line, draft.what, files, "\n".join(diffs))

    def _counts(self, draft: VersionDraft, text: bytes) -> bool:
        """True when a version loads, or, of a hunk, when it says something else."""
        tree = self._trees.get(draft.path)
        if draft.kind is not VersionKind.UNDO:
            return tree is not None and tree.loads(text)
        if tree is None:
            hunk = Hunk(0, 0, draft.edits[0].new, draft.edits[0])
            return not says_the_same(hunk, self.changed.after[draft.path])
        other = read(draft.path, text)
        return not isinstance(other, SyntaxTree) or other.meaning() != tree.meaning()


def _hunk_words(hunk: Hunk) -> str:
    """Plain words for a hunk that is undone."""
    if hunk.start == hunk.end:
        return "with what this hunk removed"
    return "without this hunk" if hunk.before else "without these added lines"
