"""Judging: a contract, a snapshot, a verdict."""
