"""signoff: the harness that decides when an AI agent's work is done."""

from __future__ import annotations

__version__ = "0.1.0"

# What is offered here is declared in `__init__.pyi`: importing `signoff` costs next to nothing, and
# rooms that ask for the version must not depend on everything.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "STANDARD_TOOLS",
    "ActivePlan",
    "LoopLimits",
    "PlanText",
    "Tool",
    "ToolContext",
    "ToolError",
    "Vault",
    "__version__",
    "list_plan_files",
    "plan_tools",
    "resolve_active_plan",
    "run_agent",
    "start_session",
    "tool",
]

_TOOLS = ("STANDARD_TOOLS", "Tool", "ToolContext", "ToolError", "tool")
_MODULES = {
    **dict.fromkeys(_TOOLS, "agents.tools"),
    "LoopLimits": "agents.loop",
    "plan_tools": "agents.tools",
    "run_agent": "wiring",
    "start_session": "wiring",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    from importlib import import_module  # noqa: PLC0415 - loaded when first asked for

    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'storage')}"), name)
