"""What an agent reads of the server before it calls anything; short, because every turn pays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

INSTRUCTIONS = (
    "signoff decides when work is done. Plan before non-trivial work (plan_create), say where each"
    " step stands (step_update), prove it with evidence or its check (step_check), read plan_show"
    " after a detour. Saying done is a request: the harness judges. Only people approve and waive;"
    " call what cannot be done blocked, with the reason."
)


@dataclass(frozen=True)
class MoreTool:
    """A tool beside the plan tools."""

    name: str
    description: str
    properties: Mapping[str, Any]
    required: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, Any]:
        """Its parameters as JSON schema."""
        return {
            "type": "object",
            "properties": dict(self.properties),
            "required": list(self.required),
            "additionalProperties": False,
        }


MORE_TOOLS = (
    MoreTool("plan_list", "List the project's plans and how each stands.", {}),
    MoreTool("plan_next", "Ask which plan can be started next, when you have none.", {}),
    MoreTool(
        "evidence_add",
        "Record a file of the workspace as evidence, as it is now; returns the reference to cite"
        " in step_update or postcondition_verify.",
        {"path": {"type": "string"}, "note": {"type": "string"}},
        ("path",),
    ),
)
# These change nothing, so a client need not ask before it calls them.
READ_ONLY = frozenset({"plan_show", "plan_list", "plan_next"})


@dataclass(frozen=True)
class Lesson:
    """A prompt that teaches one part of the workflow."""

    name: str
    description: str
    text: str


LESSONS = (
    Lesson(
        "work-by-plan",
        "Do a task under a plan that is proved, not claimed",
        "Work by a plan that signoff can prove.\n"
        "1. plan_show. If there is a plan, it is the task; if not, plan_create: one objective,"
        " small steps, postconditions. Give parts a check (file_exists, file_contains,"
        " command_succeeds, tests_pass) or a contract wherever one can decide.\n"
        '2. For each step: step_update(n, "in_progress"), do it and nothing else, step_check(n) if'
        " it has a check, else evidence_add the file that shows it and step_update(n,"
        ' "done", evidence=what it returned).\n'
        "3. postcondition_verify each one.\n"
        "4. plan_show must say that the gate is open before you give your final answer.\n"
        'If something cannot be done: step_update(n, "blocked", notes=why) or'
        " postcondition_verify(n, unattainable_because=why). That is an honest end.",
    ),
    Lesson(
        "find-your-way",
        "Continue after a break or when earlier messages are gone",
        "You may have lost the thread. Call plan_show: it says what is proved, what is stale and"
        " what is missing, and it is right where your memory differs. Go on with the first thing"
        " missing. Do not call plan_create again unless the plan itself is wrong.",
    ),
)
