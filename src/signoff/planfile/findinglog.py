"""Collects what is wrong with a plan while it is being read; reading never stops for it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from signoff.domain.findings import Finding, Severity
from signoff.planfile.codes import CODES
from signoff.planfile.outline import Outline
from signoff.planfile.scan import bare

_MAX_TEXT = 200


class FindingLog:
    """Findings by line of the outline; knows how those map to lines of the file."""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.all: list[Finding] = []

    def error(self, code: str, i: int, message: str, hint: str, step: str | None = None) -> None:
        """Something that stops the plan from being verified."""
        self._add(Severity.ERROR, code, i, message, hint, step)

    def warning(self, code: str, i: int, message: str, hint: str, step: str | None = None) -> None:
        """Something that is probably not what the author meant."""
        self._add(Severity.WARNING, code, i, message, hint, step)

    def note(self, code: str, i: int, message: str, hint: str, step: str | None = None) -> None:
        """Something worth knowing."""
        self._add(Severity.NOTE, code, i, message, hint, step)

    def number(self, i: int) -> int:
        """The line of the file, from 1, for a line of the outline."""
        numbers = self.outline.numbers
        return numbers[min(i, len(numbers) - 1)] + 1

    def _add(
        self, severity: Severity, code: str, i: int, message: str, hint: str, step: str | None
    ) -> None:
        if code not in CODES:
            raise KeyError(code)
        line = self.number(i)
        text = bare(self.outline.lines[line - 1])[:_MAX_TEXT]
        self.all.append(Finding(code, severity, line, message, hint, text, step))


def did_you_mean(word: str, known: Iterable[str], otherwise: str) -> str:
    """A hint that names the closest known word, or says something else."""
    close = difflib.get_close_matches(word.casefold(), sorted(known), n=1, cutoff=0.7)
    return f"did you mean `{close[0]}`?" if close else otherwise
