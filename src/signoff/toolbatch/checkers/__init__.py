"""Checkers of artifacts: is a file what it claims to be, and does what it refers to exist."""

from __future__ import annotations

from signoff.toolbatch.checkers.judging import Report, check, check_write
from signoff.toolbatch.checkers.subject import Finding, Severity, Thresholds

__all__ = ["Finding", "Report", "Severity", "Thresholds", "check", "check_write"]
