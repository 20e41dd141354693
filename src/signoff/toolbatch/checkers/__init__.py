"""Checkers of artifacts: is a file what it claims to be, and does what it refers to exist."""

from __future__ import annotations

from signoff.toolbatch.checkers.judging import FilesReport, check, check_write
from signoff.toolbatch.checkers.subject import FileFinding, FileSeverity, Thresholds

__all__ = ["FileFinding", "FileSeverity", "FilesReport", "Thresholds", "check", "check_write"]
