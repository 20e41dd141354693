"""Snapshots of a workspace: taken by our own walk, content-addressed, restorable."""

from signoff.workspace.ignore import IgnoreFile, IgnoreRules, read_ignore_rules
from signoff.workspace.workspace import Workspace

__all__ = ["IgnoreFile", "IgnoreRules", "Workspace", "read_ignore_rules"]
