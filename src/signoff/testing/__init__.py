"""Scripted stand-ins that users of signoff can test their own plans and harnesses with."""

from __future__ import annotations

# Not `typing.TYPE_CHECKING`: the crash points below this folder are on every fast path.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from signoff.testing.conversation import (
        Api,
        Call,
        Conversation,
        Message,
        Speaker,
        Tool,
        ToolResult,
    )
    from signoff.testing.model import scripted_model
    from signoff.testing.script import Failure, FailureKind, Script, Turn, refuse, say, use
    from signoff.testing.script_file import read_script
    from signoff.testing.server import ScriptedServer

__all__ = [
    "Api",
    "Call",
    "Conversation",
    "Failure",
    "FailureKind",
    "Message",
    "Script",
    "ScriptedServer",
    "Speaker",
    "Tool",
    "ToolResult",
    "Turn",
    "read_script",
    "refuse",
    "say",
    "scripted_model",
    "use",
]

_SCRIPT = ("Failure", "FailureKind", "Script", "Turn", "refuse", "say", "use")
_ELSEWHERE = {
    "ScriptedServer": "server",
    "read_script": "script_file",
    "scripted_model": "model",
    **dict.fromkeys(_SCRIPT, "script"),
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    from importlib import import_module  # noqa: PLC0415 - loaded when first asked for

    module = import_module(f"{__name__}.{_ELSEWHERE.get(name, 'conversation')}")
    return getattr(module, name)
