"""Checkers of artifacts: is a file what it claims to be, and does what it refers to exist."""

from __future__ import annotations

from signoff.toolbatch.checkers.codes import CODES
from signoff.toolbatch.checkers.finding import Finding, Severity
from signoff.toolbatch.checkers.judging import Report, check, check_write
from signoff.toolbatch.checkers.links import linked_pages, reachable_pages
from signoff.toolbatch.checkers.registry import BUILT_IN, GROUP, Registry, load_checkers
from signoff.toolbatch.checkers.subject import Checker, Subject, Thresholds
from signoff.toolbatch.checkers.tree import DiskTree, Tree, WrittenTree

__all__ = [
    "BUILT_IN",
    "CODES",
    "GROUP",
    "Checker",
    "DiskTree",
    "Finding",
    "Registry",
    "Report",
    "Severity",
    "Subject",
    "Thresholds",
    "Tree",
    "WrittenTree",
    "check",
    "check_write",
    "linked_pages",
    "load_checkers",
    "reachable_pages",
]
