"""How a tool says no."""

from __future__ import annotations


class ToolError(Exception):
    """A tool's honest no: its message is what the model gets."""
