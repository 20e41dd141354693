"""What a checker says about a file: one remark with a line, a stable code and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """Errors are wrong; `unknown` could not be judged, and that is never a pass."""

    ERROR = "error"
    WARNING = "warning"
    UNKNOWN = "unknown"
    NOTE = "note"


@dataclass(frozen=True)
class Finding:
    """One remark; `about` says what it is about (a link's target), whatever line that is on."""

    path: str
    line: int
    code: str
    message: str
    hint: str
    severity: Severity = Severity.ERROR
    about: str = ""
