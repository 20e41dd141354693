"""Who does the work: any command line, a person, or an agent in a session with a plan of its own.

A module is loaded when one of its names is first asked for: most commands need few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from signoff.lazy import door

if TYPE_CHECKING:
    from signoff.agents.answer import ANSWER_VARIABLE, Answer, AnswerKind, read_answer
    from signoff.agents.assignment import ATTEMPT_VARIABLE, Assignment, Report, printed
    from signoff.agents.command import CommandAgent, check_role
    from signoff.agents.materials import gather
    from signoff.agents.plantools import PLAN_TOOLS, PlanTool, call_plan_tool
    from signoff.agents.program import program_trouble, troubles_of
    from signoff.agents.prompt import Material, Setback, build_prompt
    from signoff.agents.session import (
        Delegation,
        Finalization,
        PlanSession,
        SessionJudge,
        SessionReport,
        sign_session,
    )
    from signoff.agents.sessions.delegating import told_of_unfinished
    from signoff.agents.usage import USAGE_VARIABLE, Usage, read_usage

__all__ = [
    "ANSWER_VARIABLE",
    "ATTEMPT_VARIABLE",
    "PLAN_TOOLS",
    "USAGE_VARIABLE",
    "Answer",
    "AnswerKind",
    "Assignment",
    "CommandAgent",
    "Delegation",
    "Finalization",
    "Material",
    "PlanSession",
    "PlanTool",
    "Report",
    "SessionJudge",
    "SessionReport",
    "Setback",
    "Usage",
    "build_prompt",
    "call_plan_tool",
    "check_role",
    "gather",
    "printed",
    "program_trouble",
    "read_answer",
    "read_usage",
    "sign_session",
    "told_of_unfinished",
    "troubles_of",
]

_MODULE_OF = {
    **dict.fromkeys(("ANSWER_VARIABLE", "Answer", "AnswerKind", "read_answer"), "answer"),
    **dict.fromkeys(("ATTEMPT_VARIABLE", "Assignment", "Report", "printed"), "assignment"),
    **dict.fromkeys(("CommandAgent", "check_role"), "command"),
    "gather": "materials",
    **dict.fromkeys(("program_trouble", "troubles_of"), "program"),
    **dict.fromkeys(("Material", "Setback", "build_prompt"), "prompt"),
    **dict.fromkeys(("USAGE_VARIABLE", "Usage", "read_usage"), "usage"),
    "Delegation": "session",
    "Finalization": "session",
    "PLAN_TOOLS": "plantools",
    "PlanSession": "session",
    "PlanTool": "plantools",
    "SessionJudge": "session",
    "SessionReport": "session",
    "call_plan_tool": "plantools",
    "sign_session": "session",
    "told_of_unfinished": "sessions.delegating",
}

__getattr__ = door(__name__, _MODULE_OF)
