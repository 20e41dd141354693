"""Snapshots of a workspace: taken by our own walk, content-addressed, restorable."""
