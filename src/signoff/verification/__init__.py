"""Judging: a contract, a snapshot, a verdict.

Names are loaded when they are first asked for: `status` needs the pins alone, and loading the
judge with everything that it reads takes longer than `status` itself.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from signoff.verification.bench import Bench
    from signoff.verification.guards import Guards
    from signoff.verification.judge import Case, Evidence, Judge, output_tail
    from signoff.verification.pins import Pins, fingerprint, protected_files
    from signoff.verification.protection import Guard, Tampering, find_tampering
    from signoff.verification.steering import steering_of
    from signoff.verification.suspects import Moment, find_suspects

__all__ = [
    "Bench",
    "Case",
    "Evidence",
    "Guard",
    "Guards",
    "Judge",
    "Moment",
    "Pins",
    "Tampering",
    "find_suspects",
    "find_tampering",
    "fingerprint",
    "output_tail",
    "protected_files",
    "steering_of",
]

_MODULE_OF = {
    "Bench": "bench",
    "Case": "judge",
    "Evidence": "judge",
    "Guard": "protection",
    "Guards": "guards",
    "Judge": "judge",
    "Moment": "suspects",
    "Pins": "pins",
    "Tampering": "protection",
    "find_suspects": "suspects",
    "find_tampering": "protection",
    "fingerprint": "pins",
    "output_tail": "judge",
    "protected_files": "pins",
    "steering_of": "steering",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    found = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = found
    return found
