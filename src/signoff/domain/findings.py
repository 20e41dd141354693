"""Findings of static verification about a plan."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Severity(StrEnum):
    """Severity of a finding; only errors stop a plan from being verified."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Finding(Struct, frozen=True):
    """One remark with a stable code, the line it is about, and what to do."""

    code: str
    severity: Severity
    line: int
    message: str
    hint: str
    text: str = ""
    step: str | None = None


class Trouble(Struct, frozen=True):
    """Something that keeps a role from working here, though no line of a plan is to blame."""

    code: str
    severity: Severity
    message: str
    hint: str


class SyntaxProblem(Struct, frozen=True):
    """A message with which bash refuses a text, and the line it means (from 0).

    The line is None where bash noticed only at the end that something is missing.
    """

    line: int | None
    message: str
