"""Judging: a contract, a snapshot, a verdict.

Names are loaded when they are first asked for: `status` needs the pins alone, and loading the
judge with everything that it reads takes longer than `status` itself.
"""

from typing import TYPE_CHECKING

from signoff.lazy import door

if TYPE_CHECKING:
    from signoff.verification.bench import Bench
    from signoff.verification.counting import runs_only_tests
    from signoff.verification.denominator import is_counted
    from signoff.verification.elsewhere import differences
    from signoff.verification.enclosure import UNCONFINED, Enclosure, Seat, tool_folder
    from signoff.verification.guards import Guards, Produced
    from signoff.verification.handoff import changed_handoffs, handoff_files
    from signoff.verification.heldout import HeldOutChecks
    from signoff.verification.ignored import Ignored
    from signoff.verification.judge import Case, Evidence, Judge, NoEvidence, output_tail
    from signoff.verification.obstacles import Obstacles
    from signoff.verification.pins import (
        Pins,
        fingerprint,
        protected_files,
    )
    from signoff.verification.protection import Guard, Tampering, file_of, find_tampering
    from signoff.verification.rooms import Rooms, ScratchRooms
    from signoff.verification.steering import steering_of
    from signoff.verification.suspects import Moment, find_suspects
    from signoff.verification.tools import changed_tools, tools_of

__all__ = [
    "UNCONFINED",
    "Bench",
    "Case",
    "Enclosure",
    "Evidence",
    "Guard",
    "Guards",
    "HeldOutChecks",
    "Ignored",
    "Judge",
    "Moment",
    "NoEvidence",
    "Obstacles",
    "Pins",
    "Produced",
    "Rooms",
    "ScratchRooms",
    "Seat",
    "Tampering",
    "changed_handoffs",
    "changed_tools",
    "differences",
    "file_of",
    "find_suspects",
    "find_tampering",
    "fingerprint",
    "handoff_files",
    "is_counted",
    "output_tail",
    "protected_files",
    "runs_only_tests",
    "steering_of",
    "tool_folder",
    "tools_of",
]

_MODULE_OF = {
    "Produced": "guards",
    "differences": "elsewhere",
    "ScratchRooms": "rooms",
    "UNCONFINED": "enclosure",
    "Bench": "bench",
    "Case": "judge",
    "Enclosure": "enclosure",
    "Evidence": "judge",
    "Guard": "protection",
    "Guards": "guards",
    "HeldOutChecks": "heldout",
    "Ignored": "ignored",
    "Judge": "judge",
    "Moment": "suspects",
    "NoEvidence": "judge",
    "Obstacles": "obstacles",
    "Pins": "pins",
    "Rooms": "rooms",
    "Seat": "enclosure",
    "Tampering": "protection",
    "changed_handoffs": "handoff",
    "file_of": "protection",
    "find_suspects": "suspects",
    "find_tampering": "protection",
    "fingerprint": "pins",
    "handoff_files": "handoff",
    "is_counted": "denominator",
    "output_tail": "judge",
    "protected_files": "pins",
    "runs_only_tests": "counting",
    "steering_of": "steering",
    "tool_folder": "enclosure",
    "changed_tools": "tools",
    "tools_of": "tools",
}

__getattr__ = door(__name__, _MODULE_OF)
