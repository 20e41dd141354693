"""Pure rules: what the ledger says about a plan, and what may happen next."""

from signoff.gate.budget import Shortfall, shortfall, wall_left_s
from signoff.gate.next_action import (
    Abandon,
    Action,
    Carry,
    Count,
    Dispatch,
    Escalate,
    Fail,
    Finish,
    Judge,
    ReadList,
    Sweep,
    Wait,
    next_action,
)
from signoff.gate.record import Judged, Record
from signoff.gate.schedule import Schedule
from signoff.gate.standing import (
    Gate,
    GateReport,
    Missing,
    Standing,
    StepState,
    evaluate,
    is_stale,
)
from signoff.gate.state import RunState

__all__ = [
    "Abandon",
    "Action",
    "Carry",
    "Count",
    "Dispatch",
    "Escalate",
    "Fail",
    "Finish",
    "Gate",
    "GateReport",
    "Judge",
    "Judged",
    "Missing",
    "ReadList",
    "Record",
    "RunState",
    "Schedule",
    "Shortfall",
    "Standing",
    "StepState",
    "Sweep",
    "Wait",
    "evaluate",
    "is_stale",
    "next_action",
    "shortfall",
    "wall_left_s",
]
