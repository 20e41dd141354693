"""Paths in, a report out: every file is given to the checkers that are for it."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from signoff.toolbatch.checkers.finding import Finding, Severity
from signoff.toolbatch.checkers.outsiders import Late, Outsider, within
from signoff.toolbatch.checkers.registry import Registry, load_checkers
from signoff.toolbatch.checkers.subject import Checker, Subject, Thresholds
from signoff.toolbatch.checkers.tree import DiskTree, Tree, WrittenTree
from signoff.toolbatch.checkers.walk import MOST_FILES, walk

MOST_FINDINGS = 100
_DEFAULT = Thresholds()
_NOT_READ = frozenset({"unreadable", "too-large"})


@dataclass(frozen=True)
class Report:
    """What was found, what was looked at, and what was not."""

    findings: tuple[Finding, ...]
    files: int
    by_checker: Mapping[str, int] = field(default_factory=dict)
    skipped_files: tuple[str, ...] = ()
    skipped_folders: tuple[str, ...] = ()

    def has(self, severity: Severity) -> bool:
        """Whether anything was found that is this severe."""
        return any(finding.severity is severity for finding in self.findings)

    @property
    def kept(self) -> bool:
        """Nothing is wrong, nothing is unknown, and something was looked at."""
        bad = self.has(Severity.ERROR) or self.has(Severity.UNKNOWN)
        return self.files > 0 and not bad


def check(
    paths: Sequence[str],
    root: Path,
    thresholds: Thresholds = _DEFAULT,
    registry: Registry | None = None,
) -> Report:
    """Check files, and files in folders; `paths` are relative to `root`, written with `/`."""
    paths = [_clean(path) for path in paths]
    registry = registry or load_checkers(root)
    tree = DiskTree(root)
    walked = walk(tree, paths)
    findings = [*registry.findings, *map(_missing, walked.missing)]
    by_checker: Counter[str] = Counter()
    checked, skipped = list[str](), list[str]()
    for path in walked.files:
        checkers = registry.of(path)
        if not checkers:
            skipped.append(path)
            findings += [_no_checker(path)] if path in paths else []
            continue
        found = _judge(tree, path, checkers, thresholds, registry)
        findings += found
        if not any(finding.code in _NOT_READ for finding in found):
            checked.append(path)
            by_checker.update(checker.name for checker in checkers)
    findings += _nothing(tree, paths, checked)
    if walked.cut_off:
        findings.append(_too_many_files())
    return Report(
        tuple(findings), len(checked), dict(by_checker), tuple(skipped), walked.skipped_folders
    )


def check_write(
    path: str,
    content: bytes,
    root: Path,
    thresholds: Thresholds = _DEFAULT,
    registry: Registry | None = None,
) -> tuple[Finding, ...]:
    """What writing `content` to `path` would break in that file that is not broken there now."""
    registry = registry or load_checkers(root)
    path, disk = _clean(path), DiskTree(root)
    checkers = registry.of(path)
    after = _judge(WrittenTree(disk, {path: content}), path, checkers, thresholds, registry)
    before = Counter[tuple[str, str]]()
    if disk.size(path) is not None:
        now = _judge(disk, path, checkers, thresholds, registry)
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
    tree: Tree,
    path: str,
    checkers: Iterable[Checker],
    thresholds: Thresholds,
    registry: Registry,
) -> list[Finding]:
    findings: list[Finding] = []
    for checker in checkers:
        found = _ask(tree, path, checker, thresholds)
        try:
            if registry.is_built_in(checker):
                findings += _capped(path, found)
            else:
                findings += _ask_outsider(path, checker, found, registry)
        except Exception as error:  # whatever a file makes a checker do, the others go on
            findings.append(_failed(path, checker, error))
    return sorted(findings, key=lambda finding: finding.line)


def _clean(path: str) -> str:
    clean = posixpath.normpath(path)
    return "" if clean == "." else clean


def _ask_outsider(
    path: str, checker: Checker, found: Iterator[Finding], registry: Registry
) -> list[Finding]:
    """A plug-in has so much time for a file, and one that ran out of it gets no other file."""
    if checker.name in registry.stuck:
        raise Outsider("it did not come back from another file")
    foreign = (_foreign(path, checker, one) for one in found)
    try:
        return within(registry.patience_s, lambda: _capped(path, foreign))
    except Late:
        registry.stuck.add(checker.name)
        raise


def _foreign(path: str, checker: Checker, one: Finding) -> Finding:
    """A plug-in's codes carry its name, and words that are none of ours are refused."""
    severity = Severity(one.severity)
    return replace(
        one, path=path, line=int(one.line), code=f"{checker.name}/{one.code}", severity=severity
    )


def _ask(tree: Tree, path: str, checker: Checker, thresholds: Thresholds) -> Iterator[Finding]:
    size = tree.size(path)
    if size is not None and size > checker.max_bytes:
        yield Finding(
            path,
            1,
            "too-large",
            f"{size} bytes; checker `{checker.name}` reads at most {checker.max_bytes}",
            "split it, or leave it out",
            Severity.UNKNOWN,
            checker.name,
        )
        return
    content = tree.read(path)
    if content is None:
        hint = "make it a regular file below the root that can be read"
        yield Finding(path, 1, "unreadable", "it cannot be read", hint, Severity.UNKNOWN)
        return
    yield from checker.check(Subject(path, content, thresholds), tree)


def _capped(path: str, findings: Iterable[Finding]) -> list[Finding]:
    kept: list[Finding] = []
    for finding in findings:
        if len(kept) >= MOST_FINDINGS:
            said = f"only the first {MOST_FINDINGS} findings are shown"
            hint = "repair these first"
            kept.append(Finding(path, finding.line, "too-many-findings", said, hint, Severity.NOTE))
            break
        kept.append(finding)
    return kept


def _failed(path: str, checker: Checker, error: Exception) -> Finding:
    named = "" if isinstance(error, Outsider) else f"{type(error).__name__}: "
    said = f"{named}{' '.join(str(error).split())}"[:200]
    message = f"checker `{checker.name}` broke down: {said}"
    hint = "report it to whoever made the checker"
    return Finding(path, 1, "checker-failed", message, hint, Severity.UNKNOWN, checker.name)


def _missing(path: str) -> Finding:
    return Finding(path, 1, "missing-file", "it is not there", "make it first", about=path)


def _no_checker(path: str) -> Finding:
    hint = "name files that can be checked; a plug-in can add more kinds"
    return Finding(path, 1, "no-checker", "nobody can judge it", hint, Severity.UNKNOWN)


def _nothing(tree: Tree, paths: Sequence[str], checked: Sequence[str]) -> Iterator[Finding]:
    """A folder without anything to check proves nothing, however many other files are fine."""
    for path in paths:
        prefix = f"{path}/" if path else ""
        if tree.is_folder(path) and not any(file.startswith(prefix) for file in checked):
            said, hint = "there is nothing in it that can be checked", "write the files first"
            yield Finding(path or ".", 1, "nothing-checked", said, hint, Severity.UNKNOWN)


def _too_many_files() -> Finding:
    said = f"more than {MOST_FILES} files; the rest was not checked"
    return Finding(".", 1, "too-many-files", said, "name fewer folders", Severity.UNKNOWN)
