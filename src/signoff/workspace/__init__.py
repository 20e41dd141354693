"""Snapshots of a workspace and the repository around it: taken by our own walk, restorable."""
