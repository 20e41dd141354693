"""Wrong versions of what a step changed, chosen so that each kind and place gets its turn."""

from __future__ import annotations

import hashlib
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest

from msgspec import Struct

from signoff.domain.second_look import VersionKind
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
from signoff.verification.strength.special import VisibleTests, special_cases

_TRIES_PER_VERSION = 8  # some drafts are equivalent or do not load
_OTHER_WORDS = b"These are other words, and one line of them.\n"


class StepChange(Struct, frozen=True):
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

    def first(self, most: int) -> Versions:
        """At most so many of them, those that were chosen first."""
        left_out = self.left_out + max(0, len(self.chosen) - most)
        return Versions(self.chosen[:most], left_out, self.notes)


def wrong_versions(
    changed: StepChange, tests: Mapping[str, bytes], *, most: int = 24, seed: str = ""
) -> Versions:
    """Make wrong versions of a change: first all of it undone, then the kinds take turns."""
    maker = _Maker(changed, tests)
    whole = maker.whole()
    if whole is None:
        return Versions((), 0, ())
    waiting = deque([whole, *_in_turns(maker.drafts(), seed)])
    chosen: list[WrongVersion] = []
    seen = set[frozenset[tuple[str, bytes | None]]]()
    for _ in range(most * _TRIES_PER_VERSION):
        if not waiting or len(chosen) == most:
            break
        draft = waiting.popleft()
        files = maker.files(draft)
        content = frozenset(files.items())
        if content not in seen and maker.counts(draft, files):
            chosen.append(maker.made(draft, files))
        seen.add(content)
    return Versions(tuple(chosen), len(waiting), tuple(maker.notes))


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
        if members[0].kind is VersionKind.PROBE:
            del members[1:]  # a check that one function deceives with it, any other does too
        ordered += [(rank, lot(group), draft) for rank, draft in enumerate(members)]
    return [draft for _, _, draft in sorted(ordered, key=lambda item: item[:2])]


class _Maker:
    """Reads every changed file once, drafts versions of it, and makes those that are chosen."""

    def __init__(self, changed: StepChange, tests: Mapping[str, bytes]) -> None:
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
        reader = VisibleTests(self.tests)
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
        if after and not self.changed.product and path not in self._trees:  # work that is no code
            what, files = f"with other words in {quoted(path)}", {path: _OTHER_WORDS}
            yield VersionDraft(VersionKind.PROBE, path, 0, what, path, files=files)
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

    def files(self, draft: VersionDraft) -> Mapping[str, bytes | None]:
        """Whole contents of the version."""
        if draft.files is not None:
            return draft.files
        return {draft.path: edited(self.changed.after[draft.path], draft.edits)}

    def made(self, draft: VersionDraft, files: Mapping[str, bytes | None]) -> WrongVersion:
        """The version itself, with its diff."""
        after = self.changed.after
        diffs = [short_diff(path, after.get(path), text) for path, text in files.items()]
        return WrongVersion(draft.kind, draft.path, draft.line, draft.what, files, "\n".join(diffs))

    def counts(self, draft: VersionDraft, files: Mapping[str, bytes | None]) -> bool:
        """True when a version differs and loads, or, of a hunk, when it says something else."""
        text = files.get(draft.path)
        if draft.files is not None or text is None:
            return any(self.changed.after.get(path) != text for path, text in files.items())
        if text == self.changed.after[draft.path]:
            return False
        tree = self._trees.get(draft.path)
        if draft.kind is not VersionKind.UNDO:
            return tree is not None and tree.loads(text)
        if tree is None:
            return not says_the_same(draft.edits[0], self.changed.after[draft.path])
        other = read(draft.path, text)
        return not isinstance(other, SyntaxTree) or other.meaning() != tree.meaning()


def _hunk_words(hunk: Hunk) -> str:
    """Plain words for a hunk that is undone."""
    if hunk.start == hunk.end:
        return "with what this hunk removed"
    return "without this hunk" if hunk.before else "without these added lines"
