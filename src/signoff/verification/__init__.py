"""Judging: a contract, a snapshot, a verdict."""

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
