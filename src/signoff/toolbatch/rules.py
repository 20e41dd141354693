"""The two kinds of rules: pre-flight rules decide about a call, steering rules say what is next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from signoff.toolbatch.calls import NextAction
from signoff.toolbatch.events import Steered
from signoff.toolbatch.view import View


@dataclass(frozen=True)
class Skip:
    """Not executed and no error: there is nothing in it that is not known or done already."""

    text: str
    next_action: NextAction | None = None


@dataclass(frozen=True)
class Block:
    """Not executed; the text says what to do instead. Guidance does not count as an error."""

    text: str
    next_action: NextAction | None
    guidance: bool = False


@dataclass(frozen=True)
class Rewrite:
    """Executed with other arguments, and the model is told."""

    arguments: Mapping[str, Any]
    text: str


Decision = Skip | Block | Rewrite


@dataclass(frozen=True)
class PreflightRule:
    """Looks at a call before it is executed; None means: nothing against it."""

    name: str
    about: str  # one line for the table in the documentation
    decide: Callable[[View], Decision | None]


@dataclass(frozen=True)
class SteeringRule:
    """Looks at what came of a call; None means: nothing to say. The table's order is precedence."""

    name: str
    about: str
    speak: Callable[[View], Steered | None]
