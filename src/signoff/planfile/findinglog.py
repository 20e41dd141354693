"""Collects what is wrong with a plan while it is being read, by stable codes; reading goes on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partialmethod

from signoff.domain.findings import Finding, Severity
from signoff.domain.text import shortened, shown_list
from signoff.errors import nearest
from signoff.planfile.blocks import bare
from signoff.planfile.outline import Outline

MAX_FINDINGS = 10_000
_MAX_TEXT = 200
_MAX_MESSAGE = 500

CODES: Mapping[str, str] = {
    "bad-expectation": "a line below a contract is an expectation that cannot be read",
    "bad-frontmatter": "the frontmatter cannot be read as `name: value` lines",
    "bad-value": "a field has a value that it does not allow, such as a time without a unit",
    "contract-without-fence": "a contract or list command is not written as a fenced block",
    "duplicate-field": "a field is there twice in one step, and which one counts is unclear",
    "duplicate-section": "`## Steps` or `## Postconditions` is there twice",
    "duplicate-step-id": "two steps have the same number",
    "empty-plan": "the document is empty",
    "expectation-always-holds": "an expectation that nothing can break",
    "field-not-read": "a line looks like a field but is not written as one",
    "hidden-characters": "a character that a reader cannot see, in text that is run or decides",
    "hidden-text": "a comment that readers do not see would go to the agent",
    "line-end": "a carriage return or NUL that other programs read as the end of a line",
    "missing-contract": "a step has no contract",
    "missing-target": "a step does not say who does it",
    "missing-task": "a step does not say what to do",
    "missing-title": "the plan has no `# title`",
    "misspelt-section": "a section's name is nearly `Steps` or `Postconditions`",
    "no-steps": "the plan has no steps",
    "not-a-step": "a heading looks like a step, and has no number, level or place of one",
    "path-outside": "a path that is absolute or leaves the workspace",
    "postcondition-not-numbered": "text among the postconditions is no numbered item",
    "postcondition-without-contract": "nobody but a person can decide this postcondition",
    "red-first-off-without-reason": "red first is off and nobody says why",
    "several-contracts": "a contract has more than one fenced block",
    "stray-text": "text that belongs to no field, so nobody acts on it",
    "too-many-findings": "the list of findings was cut off",
    "too-deep": "lists and quotes are nested too deeply to read",
    "unclosed-comment": "an HTML block hides everything below it",
    "unclosed-fence": "a fenced block is never closed",
    "underlined-heading": "a line of `---` turns the text above it into a heading",
    "unknown-field": "a field that signoff does not know",
    "unknown-frontmatter-key": "a frontmatter name that signoff does not use",
    "unknown-need": "a step needs a step that does not exist",
    "unknown-status": "the plan's status is none of the six",
}
"""Everything that reading a plan can find, with what each means."""


class FindingLog:
    """Findings by line of the outline; knows how those map to lines of the file."""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self._numbers = outline.numbers
        self.all: list[Finding] = []
        self.step: str | None = None  # that is being read

    @property
    def full(self) -> bool:
        """True when there are so many findings that more would help nobody."""
        return len(self.all) >= MAX_FINDINGS

    def number(self, i: int) -> int:
        """The line of the file, from 1, for a line of the outline."""
        return self._numbers[i] + 1

    def add(
        self,
        severity: Severity,
        code: str,
        i: int,
        message: str,
        hint: str,
        step: str | None = None,
    ) -> None:
        """A finding about a line of the outline."""
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
        shown = shortened(message, _MAX_MESSAGE)
        self.all.append(
            Finding(code, severity, line, shown, hint[:_MAX_MESSAGE], text, step or self.step)
        )

    error = partialmethod(add, Severity.ERROR)
    warning = partialmethod(add, Severity.WARNING)
    note = partialmethod(add, Severity.NOTE)


def did_you_mean(word: str, known: Iterable[str], otherwise: str, *, listed: bool = False) -> str:
    """A hint that names the closest known word, or says something else, with all known words."""
    names = sorted(known)
    close = nearest(word.casefold()[:60], names, 0.7)
    if close:
        return f"did you mean `{close}`?"
    shown = shown_list(names, len(names)) if listed else ""
    return f"{otherwise}; known: {shown}" if shown else otherwise
