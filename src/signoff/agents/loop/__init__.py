"""The built-in model loop: any model, our tools, and the gate before every final answer.

Loaded when first asked for: the library that speaks to models takes seconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from signoff.agents.loop.batching import Batching
    from signoff.agents.loop.delegation import delegate_tool
    from signoff.agents.loop.drive import AgentLoop
    from signoff.agents.loop.ending import Ended, LoopReport
    from signoff.agents.loop.limits import LoopLimits
    from signoff.agents.loop.models import open_model
    from signoff.agents.loop.secondmodel import SecondModel
    from signoff.agents.loop.setup import LoopReporter, LoopSetup, Silent
    from signoff.agents.loop.transcript import Past, Transcript

__all__ = [
    "AgentLoop",
    "Batching",
    "Ended",
    "LoopLimits",
    "LoopReport",
    "LoopReporter",
    "LoopSetup",
    "Past",
    "SecondModel",
    "Silent",
    "Transcript",
    "delegate_tool",
    "open_model",
]

_MODULE_OF = {
    **dict.fromkeys(("LoopReporter", "LoopSetup", "Silent"), "setup"),
    **dict.fromkeys(("Ended", "LoopReport"), "ending"),
    **dict.fromkeys(("Past", "Transcript"), "transcript"),
    "AgentLoop": "drive",
    "Batching": "batching",
    "LoopLimits": "limits",
    "SecondModel": "secondmodel",
    "delegate_tool": "delegation",
    "open_model": "models",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    found = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = found
    return found
