"""The durable drive of a run; the only room that knows the engine.

The engine itself is imported from `signoff.orchestrator.engine`, and only by who starts a run.
Names are loaded when they are first asked for: `log` and `status` show events and watch the pins,
and loading the drive with everything that it judges by takes longer than they do.
"""

from typing import TYPE_CHECKING

from signoff.lazy import door

if TYPE_CHECKING:
    from signoff.orchestrator.attempts import lost_attempts
    from signoff.orchestrator.drive import Drive
    from signoff.orchestrator.events import Appended, Doing, Driving, Event, Output, Reporter
    from signoff.orchestrator.mission import Mission
    from signoff.orchestrator.progress import ProgressProjection
    from signoff.orchestrator.projection import PlanFileProjection, standing_note
    from signoff.orchestrator.watch import PinWatch

__all__ = [
    "Appended",
    "Doing",
    "Drive",
    "Driving",
    "Event",
    "Mission",
    "Output",
    "PinWatch",
    "PlanFileProjection",
    "ProgressProjection",
    "Reporter",
    "lost_attempts",
    "standing_note",
]

_MODULE_OF = {
    "Appended": "events",
    "Doing": "events",
    "Drive": "drive",
    "Driving": "events",
    "Event": "events",
    "Mission": "mission",
    "Output": "events",
    "PinWatch": "watch",
    "PlanFileProjection": "projection",
    "ProgressProjection": "progress",
    "Reporter": "events",
    "lost_attempts": "attempts",
    "standing_note": "projection",
}

__getattr__ = door(__name__, _MODULE_OF)
