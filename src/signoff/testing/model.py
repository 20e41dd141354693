"""A scripted model in this process, for code that is built on pydantic-ai."""

from __future__ import annotations

from typing import TYPE_CHECKING

from signoff.errors import ExtraMissing, how_to_install
from signoff.testing.script import Script

if TYPE_CHECKING:
    from signoff.testing.pydantic_model import ScriptedModel


def scripted_model(script: Script, name: str = "scripted") -> ScriptedModel:
    """A model for `pydantic_ai` that says what the script says, without any network."""
    try:
        # The library takes seconds to load, and comes with an extra.
        from signoff.testing.pydantic_model import ScriptedModel  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("pydantic_ai"):
            raise
        raise ExtraMissing(
            "a scripted model needs pydantic-ai, which is not installed",
            how_to_install("llm"),
        ) from error
    return ScriptedModel(script, name)
