"""Who does the work: any command line, or a person."""

from signoff.agents.answer import Answer, AnswerKind, read_answer
from signoff.agents.assignment import Assignment, Report, printed
from signoff.agents.command import ATTEMPT_VARIABLE, CommandAgent, check_role
from signoff.agents.materials import gather
from signoff.agents.prompt import Material, Setback, build_prompt
from signoff.agents.usage import Usage, read_usage

__all__ = [
    "ATTEMPT_VARIABLE",
    "Answer",
    "AnswerKind",
    "Assignment",
    "CommandAgent",
    "Material",
    "Report",
    "Setback",
    "Usage",
    "build_prompt",
    "check_role",
    "gather",
    "printed",
    "read_answer",
    "read_usage",
]
