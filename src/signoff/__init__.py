"""signoff: the harness that decides when an AI agent's work is done."""

__version__ = "0.1.0"
