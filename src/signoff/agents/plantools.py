"""The plan tools as a model sees them: names, descriptions, schemas, and two ways to call them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from msgspec import Struct

from signoff.agents.session import PlanSession
from signoff.agents.sessions.writing import CHECK_KINDS
from signoff.agents.tools.context import ToolError
from signoff.agents.tools.definition import Effect, Tool, as_object
from signoff.gate.subjects import Standing

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer", "minimum": 1}
_CHECK = {
    "type": "object",
    "description": "a check that the harness runs; then only the harness decides",
    "properties": {
        "kind": {"type": "string", "enum": list(CHECK_KINDS)},
        "path": _TEXT,
        "text": _TEXT,
        "command": _TEXT,
        "min_count": _NUMBER,
    },
    "required": ["kind"],
}
_PROOF = {
    "description": _TEXT,
    "contract": {"type": "string", "description": "a shell command that must exit with 0"},
    "check": _CHECK,
}
_STEP = {
    "anyOf": [
        _TEXT,
        {
            "type": "object",
            "properties": {
                **_PROOF,
                "touches": {"type": "array", "items": _TEXT},
                "preconditions": {"type": "array", "items": {"anyOf": [_TEXT, {"type": "object"}]}},
                "splits": {"type": "string", "description": "old step that this is a part of"},
            },
            "required": ["description"],
        },
    ]
}
_POSTCONDITION = {
    "anyOf": [_TEXT, {"type": "object", "properties": _PROOF, "required": ["description"]}]
}


class ToolOffer(Struct, frozen=True):
    """A tool as a model is told of it."""

    name: str
    description: str
    properties: Mapping[str, Any]
    required: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": dict(self.properties),
            "required": list(self.required),
            "additionalProperties": False,
        }


class PlanTool(ToolOffer, frozen=True, kw_only=True):
    method: Callable[..., str]

    def call(self, session: PlanSession, arguments: Any) -> str:
        """Call it with whatever a model sent; what does not fit comes back as text."""
        if not isinstance(arguments, Mapping):
            return f"error: the arguments of {self.name} must be an object"
        unknown = sorted(str(name) for name in arguments if name not in self.properties)
        if unknown:
            known = ", ".join(self.properties) or "none"
            return f"error: {self.name} has no argument `{unknown[0]}`; it takes {known}"
        absent = [name for name in self.required if arguments.get(name) is None]
        if absent:
            return f"error: {self.name} needs `{absent[0]}`"
        # A model writes null for what it leaves out.
        given = {name: value for name, value in arguments.items() if value is not None}
        return self.method(session, **given)


PLAN_TOOLS: tuple[PlanTool, ...] = (
    PlanTool(
        "plan_create",
        "Write the plan before you begin any non-trivial task: one objective, the steps, and what"
        " must be true at the end. Give parts a check where you can: the harness then decides. Call"
        " it again to change the plan; dropping or weakening a part needs a reason and is shown to"
        " the user.",
        {
            "objective": _TEXT,
            "steps": {"type": "array", "items": _STEP},
            "postconditions": {"type": "array", "items": _POSTCONDITION},
            "reason": _TEXT,
        },
        ("objective", "steps", "postconditions"),
        method=PlanSession.plan_create,
    ),
    PlanTool(
        "plan_show",
        "Show the plan, what is proved and what is missing. Use it to find your way again, above"
        " all after a long detour or when earlier messages were summarized.",
        {},
        method=PlanSession.plan_show,
    ),
    PlanTool(
        "step_update",
        "Say where a step stands: in_progress when you begin it, done when it is proved, blocked"
        " with the reason in notes. done needs evidence that the harness can check: tool:<call-id>,"
        " file:<path>@<sha256>, contract:<step>; a step with a check is judged instead.",
        {
            "step_number": _NUMBER,
            "status": {"type": "string", "enum": ["pending", "in_progress", "done", "blocked"]},
            "evidence": _TEXT,
            "notes": _TEXT,
        },
        ("step_number", "status"),
        method=PlanSession.step_update,
    ),
    PlanTool(
        "step_check",
        "Have the harness run a step's check now and see what it says.",
        {"step_number": _NUMBER},
        ("step_number",),
        method=PlanSession.step_check,
    ),
    PlanTool(
        "postcondition_verify",
        "Prove a postcondition with evidence, or have its check run. If it cannot be reached, say"
        " why in unattainable_because: a person decides.",
        {"postcondition_number": _NUMBER, "evidence": _TEXT, "unattainable_because": _TEXT},
        ("postcondition_number",),
        method=PlanSession.postcondition_verify,
    ),
)


def call_plan_tool(session: PlanSession, name: str, arguments: Any) -> str:
    found = [tool for tool in PLAN_TOOLS if tool.name == name]
    if not found:
        return f"error: `{name}` is no plan tool; they are {', '.join(t.name for t in PLAN_TOOLS)}"
    return found[0].call(session, arguments)


class PlanView(Struct, frozen=True):
    """A session's plan as a program reads it: every answer is the gate's, as of now."""

    session: PlanSession

    @property
    def objective(self) -> str:
        return self.session.report().objective

    @property
    def steps(self) -> tuple[Standing, ...]:
        return self.session.gate().steps

    @property
    def postconditions(self) -> tuple[Standing, ...]:
        return self.session.gate().postconditions

    def to_render(self) -> str:
        """The plan as the model reads it, with evidence, notes and what is missing."""
        return self.session.plan_show()

    def is_ready_to_finalize(self) -> bool:
        """True when a final answer would be accepted now; checks without a verdict run first."""
        self.session.judge_pending()
        return self.session.gate().open


class HasSession(Protocol):
    """Holds a session, or begins it when it is first asked for."""

    @property
    def session(self) -> PlanSession:
        """The session."""


def plan_tools(holder: PlanSession | HasSession) -> list[Tool]:
    """plan_create, plan_show, step_update, step_check and postcondition_verify of a session."""
    return [_bound(spec, holder) for spec in PLAN_TOOLS]


def _bound(spec: PlanTool, holder: PlanSession | HasSession) -> Tool:
    def call(**arguments: Any) -> str:
        session = holder if isinstance(holder, PlanSession) else holder.session
        said = spec.call(session, arguments)
        if said.startswith(("error: ", "refused: ")):
            raise ToolError(said)
        return said

    effect = Effect.READ if spec.name == "plan_show" else Effect.WRITE
    # The call itself says what is wrong with its arguments, so they are only read.
    return Tool(spec.name, spec.description, spec.schema, frozenset({effect}), call, as_object)
