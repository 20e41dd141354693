"""Pure rules: what the ledger says about a plan, and what may happen next."""

from signoff.gate.budget import Shortfall, shortfall, wall_left_s
from signoff.gate.dependencies import needed_plans
from signoff.gate.mergeorder import Finished, HeldBack, MergeOrder, merge_order
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
from signoff.gate.overlap import Overlap, Territory
from signoff.gate.readiness import (
    Candidate,
    PlanReadiness,
    PlanStanding,
    PlanState,
    Readiness,
    Reason,
    ReasonKind,
    readiness,
    startable,
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
    "Candidate",
    "Carry",
    "Count",
    "Dispatch",
    "Escalate",
    "Fail",
    "Finish",
    "Finished",
    "Gate",
    "GateReport",
    "HeldBack",
    "Judge",
    "Judged",
    "MergeOrder",
    "Missing",
    "Overlap",
    "PlanReadiness",
    "PlanStanding",
    "PlanState",
    "ReadList",
    "Readiness",
    "Reason",
    "ReasonKind",
    "Record",
    "RunState",
    "Schedule",
    "Shortfall",
    "Standing",
    "StepState",
    "Sweep",
    "Territory",
    "Wait",
    "evaluate",
    "is_stale",
    "merge_order",
    "needed_plans",
    "next_action",
    "readiness",
    "shortfall",
    "startable",
    "wall_left_s",
]
