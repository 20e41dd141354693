"""Who does the work: any command line, or a person."""

from signoff.agents.assignment import Assignment, Report, printed
from signoff.agents.command import (
    ATTEMPT_VARIABLE,
    CommandAgent,
    check_role,
    read_usage,
)
from signoff.agents.materials import gather
from signoff.agents.prompt import Material, Setback, build_prompt

__all__ = [
    "ATTEMPT_VARIABLE",
    "Assignment",
    "CommandAgent",
    "Material",
    "Report",
    "Setback",
    "build_prompt",
    "check_role",
    "gather",
    "printed",
    "read_usage",
]
