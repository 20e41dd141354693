"""signoff: the harness that decides when an AI agent's work is done."""

from __future__ import annotations

import sys

__version__ = "0.1.0"

# What is offered here is declared in `__init__.pyi`: importing `signoff` costs next to nothing, and
# rooms that ask for the version must not depend on everything.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MODULE_OF = {
    "STANDARD_TOOLS": "agents.tools.standard",
    "ActivePlan": "storage.active",
    "LoopLimits": "agents.loop.limits",
    "PlanHolder": "wiring",
    "PlanText": "storage.vault",
    "Tool": "agents.tools.definition",
    "ToolContext": "agents.tools.context",
    "ToolError": "agents.tools.context",
    "Vault": "storage.vault",
    "arun": "wiring",
    "list_plan_files": "storage.active",
    "plan_tools": "agents.plantools",
    "resolve_active_plan": "storage.active",
    "run_agent": "wiring",
    "start_session": "wiring",
    "tool": "agents.tools.definition",
}
__all__ = ("__version__", *_MODULE_OF)  # noqa: PLE0604 - its names are the keys above


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    from importlib import import_module  # noqa: PLC0415 - loaded when first asked for

    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def load_structs() -> None:
    """Load msgspec without `typing_extensions`, which it prefers to the same things in `typing`.

    That module brings `inspect` and its kind along: a tenth of what `status` takes.
    """
    if "typing_extensions" not in sys.modules:
        sys.modules["typing_extensions"] = None  # type: ignore[assignment]
        # Here, because --version must not load it.
        import msgspec  # noqa: F401, PLC0415

        del sys.modules["typing_extensions"]
