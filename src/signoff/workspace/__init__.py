"""Snapshots of a workspace: taken by our own walk, content-addressed, restorable."""

from signoff.workspace.byproducts import RoomLimits
from signoff.workspace.cleanroom import CleanRoom, Room
from signoff.workspace.cloning import How
from signoff.workspace.ignore import IgnoreFile, IgnoreRules, read_ignore_rules
from signoff.workspace.records import manifest_digest
from signoff.workspace.workspace import Workspace

__all__ = [
    "CleanRoom",
    "How",
    "IgnoreFile",
    "IgnoreRules",
    "Room",
    "RoomLimits",
    "Workspace",
    "manifest_digest",
    "read_ignore_rules",
]
