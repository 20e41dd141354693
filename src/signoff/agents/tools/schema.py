"""The arguments of a tool: their JSON schema from Python types, and what a model sent, checked."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, NotRequired, Union, get_args, get_origin

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails
from typing_extensions import TypedDict

from signoff.agents.tools.context import ToolError
from signoff.agents.tools.definition import as_object
from signoff.domain.text import shortened, shown_list
from signoff.errors import UsageError

# Strict: a model that writes "3" or true for a number is told so, and nothing is guessed.
_CONFIG = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
_MISSING = ("missing", "missing_argument")
_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
_LONGEST_SHOWN = 80
_MOST_SHOWN = 5


class _Untitled(GenerateJsonSchema):
    """JSON schemas without titles of fields, which only say their names once more."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - as it is called
        return False


class Arguments:
    """Arguments of a tool; the schema of one that may be left out needs no null."""

    def __init__(self, kinds: Mapping[str, Any], required: frozenset[str]):
        self._required = required
        self._names = list(kinds)
        self._known = shown_list(kinds, len(kinds)) or "none"
        fields = {n: k if n in required else NotRequired[_some(k)] for n, k in kinds.items()}
        taken = TypedDict("taken", fields)  # type: ignore[misc]  # known only when it runs
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(with_config(_CONFIG)(taken))
            schema = self._adapter.json_schema(schema_generator=_Untitled)
        except PydanticUserError as error:
            reason = error.message.partition(". ")[0]
            raise UsageError(
                f"a tool cannot take this: {reason}",
                "use str, int, float, bool, list, dict, Literal, Optional or a dataclass",
            ) from error
        del schema["title"]
        self.schema: dict[str, Any] = {"required": [], **schema}

    def read(self, sent: Mapping[str, Any] | str) -> dict[str, Any]:
        """Give the arguments as the types ask for them; ToolError says what is wrong, and where.

        A model writes null for what it leaves out.
        """
        given = as_object(sent)
        kept = {n: v for n, v in given.items() if v is not None or n in self._required}
        try:
            read: dict[str, Any] = self._adapter.validate_json(
                json.dumps(kept, ensure_ascii=False).encode()
            )
            return read
        except UnicodeEncodeError:
            raise ToolError("an argument holds half a character, so it is not text") from None
        except ValidationError as error:
            found = error.errors(include_url=False)[:_MOST_SHOWN]
        unnamed = any(e["type"] in _MISSING + _UNKNOWN and len(e["loc"]) == 1 for e in found)
        known = f"; the arguments are: {self._known}" if unnamed else ""
        raise ToolError("; ".join(_told(e, self._names) for e in found) + known)


def _some(kind: Any) -> Any:
    """The kind without None."""
    if get_origin(kind) not in (Union, UnionType):
        return kind
    return Union[tuple(part for part in get_args(kind) if part is not NoneType)]  # noqa: UP007


def _told(wrong: ErrorDetails, names: Sequence[str]) -> str:
    first, *inner = wrong["loc"] or ("the arguments",)
    place = f"`{first}{''.join(f'[{i}]' if isinstance(i, int) else f'.{i}' for i in inner)}`"
    said = wrong["msg"].removeprefix("Value error, ")
    if wrong["type"] in _MISSING:
        return f"{place} is missing"
    if wrong["type"] in _UNKNOWN:
        close = difflib.get_close_matches(str(first), names, n=1, cutoff=0.4)
        meant = f": it is called `{close[0]}`" if close and not inner else ""
        return f"{place} is not an argument{meant}"
    if not said.startswith("Input should be "):
        return f"{place}: {said}"
    cut = shortened(repr(wrong["input"]), _LONGEST_SHOWN)
    return f"{place} must be {said.removeprefix('Input should be ')}, not {cut}"
