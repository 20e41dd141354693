"""Fixtures of this room."""

from .pens import cell, fence, pen

__all__ = ["cell", "fence", "pen"]
