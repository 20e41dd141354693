"""Text to Plan and back, byte for byte; static verification; differences between plans. Pure."""

from signoff.planfile.decode import Limits, decode
from signoff.planfile.diff import PlanDiff, diff_plans, unified
from signoff.planfile.digest import file_digest, plan_digest
from signoff.planfile.marks import mark_text
from signoff.planfile.parse import Parsed, parse
from signoff.planfile.values import duration_s

__all__ = [
    "Limits",
    "Parsed",
    "PlanDiff",
    "decode",
    "diff_plans",
    "duration_s",
    "file_digest",
    "mark_text",
    "parse",
    "plan_digest",
    "unified",
]
