"""Collects what is wrong with a plan while it is being read; reading never stops for it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from signoff.domain.findings import Finding, Severity
from signoff.planfile.blocks import bare
from signoff.planfile.codes import CODES
from signoff.planfile.outline import Outline

MAX_FINDINGS = 10_000
_MAX_TEXT = 200
_MAX_MESSAGE = 500


class FindingLog:
    """Findings by line of the outline; knows how those map to lines of the file."""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self._numbers = outline.numbers
        self.all: list[Finding] = []
        self.step: str | None = None  # that is being read

    def error(self, code: str, i: int, message: str, hint: str, step: str | None = None) -> None:
        """Something that stops the plan from being verified."""
        self._add(Severity.ERROR, code, i, message, hint, step)

    def warning(self, code: str, i: int, message: str, hint: str, step: str | None = None) -> None:
        """Something that is probably not what the author meant."""
        self._add(Severity.WARNING, code, i, message, hint, step)

    def note(self, code: str, i: int, message: str, hint: str, step: str | None = None) -> None:
        """Something worth knowing."""
        self._add(Severity.NOTE, code, i, message, hint, step)

    @property
    def full(self) -> bool:
        """Whether there are so many findings that more would help nobody."""
        return len(self.all) >= MAX_FINDINGS

    def number(self, i: int) -> int:
        """The line of the file, from 1, for a line of the outline."""
        return self._numbers[i] + 1

    def _add(
        self, severity: Severity, code: str, i: int, message: str, hint: str, step: str | None
    ) -> None:
        if code not in CODES:
            raise KeyError(code)
        if self.full:
            return
        if len(self.all) == MAX_FINDINGS - 1:
            code, severity = "too-many-findings", Severity.ERROR
            message, hint = "there is more wrong than can be listed", "fix what is listed first"
        # A document of nothing but status hints has no line left to point at.
        line = self.number(i) if i < len(self._numbers) else len(self.outline.lines)
        text = bare(self.outline.lines[line - 1])[:_MAX_TEXT]
        shown = message if len(message) <= _MAX_MESSAGE else message[:_MAX_MESSAGE] + "…"
        self.all.append(
            Finding(code, severity, line, shown, hint[:_MAX_MESSAGE], text, step or self.step)
        )


def did_you_mean(word: str, known: Iterable[str], otherwise: str, *, listed: bool = False) -> str:
    """A hint that names the closest known word, or says something else, with all known words."""
    names = sorted(known)
    close = difflib.get_close_matches(word.casefold()[:60], names, n=1, cutoff=0.7)
    if close:
        return f"did you mean `{close[0]}`?"
    shown = ", ".join(f"`{name}`" for name in names) if listed else ""
    return f"{otherwise}; known: {shown}" if shown else otherwise
