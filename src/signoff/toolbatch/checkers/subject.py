"""A checker, its input, and its findings with a stable code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from importlib.util import find_spec
from pathlib import PurePosixPath

from msgspec import Struct

from signoff.toolbatch.checkers.tree import FileTree


class FileSeverity(StrEnum):
    """Errors are wrong; `unknown` could not be judged, and that is never a pass."""

    ERROR = "error"
    WARNING = "warning"
    UNKNOWN = "unknown"
    NOTE = "note"

    @classmethod
    def of(cls, code: str) -> FileSeverity:
        """Severity of a finding with one of our codes, unless its checker says otherwise."""
        return _SEVERITIES.get(code, cls.ERROR)


_MEANINGS: Mapping[FileSeverity, Mapping[str, str]] = {
    FileSeverity.ERROR: {
        "bad-csv": "quoting that readers of the table disagree about",
        "bad-image": "the picture cannot be decoded",
        "bad-json": "not JSON",
        "bad-notebook": "JSON, but not a notebook of format 4",
        "bad-pdf": "the document cannot be opened, or has no pages",
        "bad-toml": "not TOML",
        "bad-yaml": "not YAML",
        "broken-anchor": "a link names a place in a page that is not there",
        "broken-asset": "a picture, script or style sheet that is not there, or is empty",
        "broken-html": "a tag or comment that never ends hides the rest of the page",
        "broken-link": "a link to a local file that is not there",
        "cell-error": "a cell of a notebook ended in an error",
        "cell-order": "cells were not run from top to bottom, each once",
        "duplicate-key": "a key stands twice, and which counts is unclear",
        "empty-file": "nothing is in the file",
        "empty-page": "a page on which a reader sees nothing",
        "encoding": "text that is not UTF-8",
        "leaves-root": "a link out of the folder, or to a place on one machine",
        "missing-file": "a file or folder that was to be checked is not there",
        "not-executed": "a code cell was never run",
        "ragged-row": "a row is wider or narrower than the header",
        "syntax": "code that does not parse",
        "thin-page": "fewer words or sections than asked for, or the same words again and again",
        "unchecked-page": "a link to a page in a folder that is never checked",
        "undefined-alias": "YAML refers to an anchor that is not there",
    },
    FileSeverity.WARNING: {"placeholder-link": "a link that goes nowhere on purpose"},
    FileSeverity.UNKNOWN: {
        "base-elsewhere": "`<base>` sends every link to another site, so none can be followed",
        "checker-failed": "a checker broke down on this file; nothing is known about it",
        "no-checker": "nobody can judge a file of this kind",
        "nothing-checked": "a folder holds no file that could be checked",
        "other-dialect": "not in the language or version read here; nothing is known about it",
        "too-complex": "nested or long beyond what is read, or locked; nothing is known about it",
        "too-large": "larger than what is read; nothing is known about it",
        "too-many-files": "more files than are checked at once",
        "tool-missing": "the program or the library that could tell is not installed",
        "unreadable": "the file cannot be read, or leads out of the root",
    },
    FileSeverity.NOTE: {"too-many-findings": "the list of findings was cut off"},
}
CODES = dict(sorted((code, said) for codes in _MEANINGS.values() for code, said in codes.items()))
_SEVERITIES = {code: severity for severity, codes in _MEANINGS.items() for code in codes}


class FileFinding(Struct, frozen=True):
    """One remark; `about` says what it is about (a link's target), whatever line that is on."""

    path: str
    line: int
    code: str
    message: str
    hint: str
    severity: FileSeverity = FileSeverity.ERROR
    about: str = ""


class Thresholds(Struct, frozen=True):
    """Least amount of text for a page; 0 asks for nothing beyond not being empty."""

    words: int = 0
    sections: int = 0


class CheckedFile(Struct, frozen=True):
    """One file to be judged: its path below the root (with `/`), and its bytes."""

    path: str
    content: bytes = b""
    thresholds: Thresholds = Thresholds()

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.path).suffix.lower()

    def finding(
        self,
        code: str,
        message: str,
        hint: str,
        line: int = 1,
        *,
        about: str = "",
        severity: FileSeverity | None = None,
    ) -> FileFinding:
        said = " ".join(message.split())[:300]
        return FileFinding(
            self.path, line, code, said, hint, severity or FileSeverity.of(code), about
        )

    def other_dialect(self, said: str, line: int = 1) -> FileFinding:
        """Perhaps fine where it is meant to be read, but nobody here can tell."""
        hint = "check it with the program that it is written for"
        return self.finding("other-dialect", f"cannot tell: {said}", hint, line)

    def tool_missing(self, tool: str, hint: str) -> FileFinding:
        """The finding that nobody can tell without a program or a library."""
        said = f"cannot tell: {hint} (`{tool}` is missing)"
        return self.finding("tool-missing", said, hint, about=tool)

    def too_complex(self, said: str, hint: str = "split the file, or flatten it") -> FileFinding:
        """Reading it would take too long, or fails for reasons that are not its own."""
        return self.finding("too-complex", f"cannot tell: {said}", hint)


class BuiltInChecker(Struct, frozen=True):
    """Judges files by their content; `library` is what it needs of the extra `checkers`."""

    name: str
    files: frozenset[str]  # suffixes (`.html`), in lower case
    max_bytes: int  # larger files are not read; a finding says so
    look: Callable[[CheckedFile, FileTree], Iterator[FileFinding]]
    library: str = ""

    @property
    def is_usable(self) -> bool:
        return not self.library or find_spec(self.library) is not None

    def check(self, subject: CheckedFile, tree: FileTree) -> Iterator[FileFinding]:
        """Faults of the file, or the finding that nobody can tell."""
        if self.is_usable:
            return self.look(subject, tree)
        return iter((subject.tool_missing(self.library, "install signoff[checkers]"),))


def of_text(
    look: Callable[[CheckedFile, str, FileTree], Iterator[FileFinding]],
) -> Callable[[CheckedFile, FileTree], Iterator[FileFinding]]:
    """Give the file as text: UTF-8, with or without a mark at its beginning, and no NUL."""

    def looked(subject: CheckedFile, tree: FileTree) -> Iterator[FileFinding]:
        try:
            text = subject.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            place, said = error.start, f"byte {error.start + 1} is not UTF-8"
        else:
            if "\0" not in text:
                yield from look(subject, text, tree)
                return
            place, said = subject.content.index(b"\0"), "a NUL character stands in the text"
        line = subject.content.count(b"\n", 0, place) + 1
        yield subject.finding("encoding", said, "save the file as UTF-8 text", line)

    return looked
