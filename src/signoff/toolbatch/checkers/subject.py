"""What a checker is: a name, the files it is for, and one function from a file to findings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol, runtime_checkable

from signoff.toolbatch.checkers.finding import Finding, Severity
from signoff.toolbatch.checkers.tree import Tree


@dataclass(frozen=True)
class Thresholds:
    """How little is too little for a page; 0 asks for nothing beyond not being empty."""

    words: int = 0
    sections: int = 0


@dataclass(frozen=True)
class Subject:
    """One file to be judged: its path below the root (with `/`), and its bytes."""

    path: str
    content: bytes
    thresholds: Thresholds = Thresholds()

    @property
    def suffix(self) -> str:
        """`.html` for `a/B.HTML`."""
        return PurePosixPath(self.path).suffix.lower()

    def finding(
        self,
        code: str,
        message: str,
        hint: str,
        *,
        line: int = 1,
        severity: Severity = Severity.ERROR,
        about: str = "",
    ) -> Finding:
        """A remark about this file."""
        return Finding(self.path, line, code, message, hint, severity, about)


@runtime_checkable
class Checker(Protocol):
    """Judges files by their content; whatever a file contains, it answers and does not raise."""

    @property
    def name(self) -> str:
        """Unique among all checkers."""
        ...

    @property
    def files(self) -> frozenset[str]:
        """Suffixes (`.html`) and whole file names (`package.json`), in lower case."""
        ...

    @property
    def max_bytes(self) -> int:
        """Larger files are not read; a finding says so."""
        ...

    def check(self, subject: Subject, tree: Tree) -> Iterable[Finding]:
        """Everything there is to say about the file, in the order of its lines."""
        ...
