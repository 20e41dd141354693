"""A folder of artifacts for tests: files in, findings as short lines out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from signoff.toolbatch.checkers import (
    FileFinding,
    FileSeverity,
    FilesReport,
    Thresholds,
    check,
    check_write,
)

MARKS = {
    FileSeverity.ERROR: "",
    FileSeverity.WARNING: "?",
    FileSeverity.UNKNOWN: "~",
    FileSeverity.NOTE: "-",
}


@dataclass(frozen=True)
class Artifacts:
    """Files below one root."""

    root: Path

    def file(self, path: str, content: str | bytes = "") -> Self:
        """Write one of them."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
        return self

    def report(self, *paths: str, words: int = 0, sections: int = 0) -> FilesReport:
        """Check some paths, or everything."""
        return check(paths or (".",), self.root, Thresholds(words, sections))

    def found(self, *paths: str, words: int = 0, sections: int = 0) -> list[str]:
        """`path:line code`; `?` before a warning's code, `~` unknown, `-` a note."""
        return [
            short(finding)
            for finding in self.report(*paths, words=words, sections=sections).findings
        ]

    def of(self, name: str, content: str | bytes) -> list[str]:
        """`line code` of what is wrong with one file of this content."""
        self.file(name, content)
        return [line.removeprefix(f"{name}:") for line in self.found(name)]

    def introduced(self, path: str, content: str | bytes) -> list[str]:
        """What a write would bring."""
        data = content.encode() if isinstance(content, str) else content
        return [short(finding) for finding in check_write(path, data, self.root)]


def short(finding: FileFinding) -> str:
    """A finding as tests compare it."""
    return f"{finding.path}:{finding.line} {MARKS[finding.severity]}{finding.code}"


def page(body: str, title: str = "T") -> str:
    """An HTML page whose body begins on line 1 and has a word in it."""
    return f"<!doctype html><title>{title}</title><body>word {body}</body>"
