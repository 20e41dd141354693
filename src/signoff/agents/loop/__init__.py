"""The built-in model loop: any model, our tools, and the gate before every final answer.

Loaded when first asked for: the library that speaks to models takes seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from signoff.lazy import door

if TYPE_CHECKING:
    from signoff.agents.loop.acting import Confirm
    from signoff.agents.loop.batching import Batching
    from signoff.agents.loop.delegation import delegate_tool
    from signoff.agents.loop.drive import AgentLoop
    from signoff.agents.loop.ending import Ended, LoopReport
    from signoff.agents.loop.limits import Charge, LoopLimits
    from signoff.agents.loop.models import open_model
    from signoff.agents.loop.secondmodel import SecondModel
    from signoff.agents.loop.setup import LoopReporter, LoopSetup, Silent
    from signoff.agents.loop.transcript import Past, Transcript

__all__ = [
    "AgentLoop",
    "Batching",
    "Charge",
    "Confirm",
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
    "Confirm": "acting",
    **dict.fromkeys(("LoopReporter", "LoopSetup", "Silent"), "setup"),
    **dict.fromkeys(("Ended", "LoopReport"), "ending"),
    **dict.fromkeys(("Past", "Transcript"), "transcript"),
    "AgentLoop": "drive",
    "Batching": "batching",
    **dict.fromkeys(("Charge", "LoopLimits"), "limits"),
    "SecondModel": "secondmodel",
    "delegate_tool": "delegation",
    "open_model": "models",
}

__getattr__ = door(__name__, _MODULE_OF)
