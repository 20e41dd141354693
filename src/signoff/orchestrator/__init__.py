"""The durable drive of a run; the only room that knows the engine.

The engine itself is imported from `signoff.orchestrator.engine`, and only by who starts a run:
loading it takes longer than most commands.
"""

from signoff.orchestrator.drive import Drive
from signoff.orchestrator.events import Appended, Doing, Event, Output, Reporter
from signoff.orchestrator.mission import Mission
from signoff.orchestrator.projection import PlanFileProjection
from signoff.orchestrator.watch import PinWatch

__all__ = [
    "Appended",
    "Doing",
    "Drive",
    "Event",
    "Mission",
    "Output",
    "PinWatch",
    "PlanFileProjection",
    "Reporter",
]
