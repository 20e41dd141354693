"""signoff: the harness that decides when an AI agent's work is done."""

from __future__ import annotations

__version__ = "0.1.0"

# Not `typing.TYPE_CHECKING`: importing `signoff` costs next to nothing, and stays so.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from signoff.storage import (
        ActivePlan,
        PlanText,
        Vault,
        list_plan_files,
        resolve_active_plan,
    )

__all__ = [
    "ActivePlan",
    "PlanText",
    "Vault",
    "__version__",
    "list_plan_files",
    "resolve_active_plan",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    from signoff import storage  # noqa: PLC0415 - loaded when first asked for

    return getattr(storage, name)
