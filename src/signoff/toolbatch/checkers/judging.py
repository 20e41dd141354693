"""Paths in, a report out: every file is given to the checkers that are for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from signoff.toolbatch.checkers.registry import checkers_of
from signoff.toolbatch.checkers.subject import (
    BuiltInChecker,
    CheckedFile,
    FileFinding,
    FileSeverity,
    Thresholds,
)
from signoff.toolbatch.checkers.tree import MOST_FILES, FileTree, clean_path, walk

MOST_FINDINGS = 100  # of one checker about one file
_DEFAULT = Thresholds()
_NOT_CHECKED = frozenset({"unreadable", "too-large", "tool-missing"})


class FilesReport(Struct, frozen=True):
    findings: tuple[FileFinding, ...]
    files: int
    by_checker: Mapping[str, int] = field(default_factory=dict)
    skipped_files: tuple[str, ...] = ()
    skipped_folders: tuple[str, ...] = ()

    def has(self, severity: FileSeverity) -> bool:
        return any(finding.severity is severity for finding in self.findings)

    @property
    def kept(self) -> bool:
        """True when nothing is wrong, nothing is unknown, and something was looked at."""
        bad = self.has(FileSeverity.ERROR) or self.has(FileSeverity.UNKNOWN)
        return self.files > 0 and not bad


def check(paths: Sequence[str], root: Path, thresholds: Thresholds = _DEFAULT) -> FilesReport:
    """Check files, and files in folders; `paths` are relative to `root`, written with `/`."""
    paths = [clean_path(path) for path in paths]
    tree, findings = FileTree(root), list[FileFinding]()
    walked = walk(tree, paths)
    for path in walked.missing:
        missing = CheckedFile(path).finding("missing-file", "it is not there", "make it first")
        findings.append(replace(missing, about=path))
    by_checker: Counter[str] = Counter()
    checked, skipped = list[str](), list[str]()
    for path in walked.files:
        checkers = checkers_of(path)
        if not checkers:
            skipped.append(path)
            hint = "name files that can be checked"
            unknown = CheckedFile(path).finding("no-checker", "nobody can judge it", hint)
            findings += [unknown] if path in paths else []
            continue
        found = _judge(tree, path, checkers, thresholds)
        findings += found
        if not any(finding.code in _NOT_CHECKED for finding in found):
            checked.append(path)
            by_checker.update(checker.name for checker in checkers)
    for path in paths:
        prefix = f"{path}/" if path else ""
        if tree.is_folder(path) and not any(file.startswith(prefix) for file in checked):
            # It proves nothing, however many other files are fine.
            said, hint = "there is nothing in it that can be checked", "write the files first"
            findings.append(CheckedFile(path or ".").finding("nothing-checked", said, hint))
    if walked.cut_off:
        said = f"more than {MOST_FILES} files; the rest was not checked"
        findings.append(CheckedFile(".").finding("too-many-files", said, "name fewer folders"))
    folders = walked.skipped_folders
    return FilesReport(tuple(findings), len(checked), dict(by_checker), tuple(skipped), folders)


def check_write(
    path: str, content: bytes, root: Path, thresholds: Thresholds = _DEFAULT
) -> tuple[FileFinding, ...]:
    """Tell what writing `content` to `path` would break in that file that is not broken there."""
    path, disk = clean_path(path), FileTree(root)
    checkers = checkers_of(path)
    after = _judge(FileTree(root, {path: content}), path, checkers, thresholds)
    before = Counter[tuple[str, str]]()
    if disk.size(path) is not None:
        now = _judge(disk, path, checkers, thresholds)
        before.update((finding.code, finding.about) for finding in now)
    introduced = []
    for finding in after:
        key = (finding.code, finding.about)
        if before[key] > 0:
            before[key] -= 1
        else:
            introduced.append(finding)
    return tuple(introduced)


def _judge(
    tree: FileTree, path: str, checkers: Iterable[BuiltInChecker], thresholds: Thresholds
) -> list[FileFinding]:
    findings: list[FileFinding] = []
    for checker in checkers:
        try:
            findings += _capped(path, _ask(tree, path, checker, thresholds))
        except Exception as error:  # whatever a file makes it do, the others go on
            said = f"checker `{checker.name}` broke down: {type(error).__name__}: {error}"
            findings.append(CheckedFile(path).finding("checker-failed", said, "check it by hand"))
    return sorted(findings, key=lambda finding: finding.line)


def _ask(
    tree: FileTree, path: str, checker: BuiltInChecker, thresholds: Thresholds
) -> Iterator[FileFinding]:
    size = tree.size(path)
    if size is not None and size > checker.max_bytes:
        said = f"{size} bytes; checker `{checker.name}` reads at most {checker.max_bytes}"
        yield CheckedFile(path).finding("too-large", said, "split it, or leave it out")
        return
    content = tree.read(path)
    if content is None:
        hint = "make it a regular file below the root that can be read"
        yield CheckedFile(path).finding("unreadable", "it cannot be read", hint)
        return
    yield from checker.check(CheckedFile(path, content, thresholds), tree)


def _capped(path: str, findings: Iterable[FileFinding]) -> list[FileFinding]:
    kept: list[FileFinding] = []
    for finding in findings:
        if len(kept) >= MOST_FINDINGS:
            said, hint = f"only the first {MOST_FINDINGS} are shown", "repair these first"
            return [*kept, CheckedFile(path).finding("too-many-findings", said, hint, finding.line)]
        kept.append(finding)
    return kept
