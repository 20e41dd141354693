"""A typed function becomes a tool: its schema, its checks, its errors as text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, Optional

import pytest

from signoff.agents.tools.context import Files, ToolContext, ToolError
from signoff.agents.tools.definition import Effect, tool
from signoff.errors import UsageError
from signoff.toolbatch.calls import CallResult


@dataclass(frozen=True)
class Point:
    """Two numbers."""

    x: int
    y: float = 0.0

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x cannot be negative")


@tool(effects={"read", "network"})
def locate(
    name: str,
    point: Point,
    unit: Literal["km", "mi"] = "km",
    tags: list[str] | None = None,
    more: Optional[dict[str, int]] = None,  # noqa: UP045 - the older spelling is used too
    exact: bool = False,
) -> str:
    """Find a place.

    name: what people call it,
        in any language.
    unit: of the answer.

    Use it once.
    """
    return json.dumps([name, point.x, point.y, unit, tags, more, exact])


def _call(arguments: dict[str, Any] | str, made: Any = locate) -> CallResult:
    outcome = made.call(arguments, ToolContext(Files(Path("/"))))
    assert isinstance(outcome, CallResult)
    return outcome


def test_the_schema_comes_from_the_types_and_the_docstring() -> None:
    assert locate.name == "locate"
    assert locate.description == "Find a place.\n\n\nUse it once.".replace("\n\n\n", "\n\n")
    assert locate.effects == {Effect.READ, Effect.NETWORK}
    properties = locate.parameters["properties"]
    assert properties["name"] == {
        "type": "string",
        "description": "what people call it, in any language.",
    }
    assert properties["unit"] == {
        "enum": ["km", "mi"],
        "type": "string",
        "description": "of the answer.",
    }
    assert properties["tags"] == {"type": "array", "items": {"type": "string"}}
    assert properties["more"] == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert properties["point"] == {"$ref": "#/$defs/Point"}
    assert locate.parameters["$defs"]["Point"]["required"] == ["x"]
    assert locate.parameters["required"] == ["name", "point"]


def test_arguments_arrive_typed_whether_as_data_or_as_text() -> None:
    arguments = {"name": "Ulm", "point": {"x": 3.0, "y": 1}, "tags": ["a"], "more": {"b": 2}}
    for given in (arguments, json.dumps(arguments)):
        outcome = _call(given)
        assert outcome.ok
        assert json.loads(outcome.text) == ["Ulm", 3, 1.0, "km", ["a"], {"b": 2}, False]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"point": {"x": 1}}, "`name` is missing; the arguments are: `name`, `point`"),
        (
            {"name": "a", "point": {"x": 1}, "nmae": 1},
            "`nmae` is not an argument: it is called `name`; the arguments are: `name`, `point`",
        ),
        ({"name": 1, "point": {"x": 1}}, "`name` must be a valid string, not 1"),
        ({"name": "a", "point": {"x": True}}, "`point.x` must be a valid integer, not True"),
        ({"name": "a", "point": {"x": 1.5}}, "`point.x` must be a valid integer, not 1.5"),
        ({"name": "a", "point": {}}, "`point.x` is missing"),
        ({"name": "a", "point": [1]}, "`point` must be an object, not [1]"),
        ({"name": "a", "point": {"x": 1}, "unit": "nm"}, "`unit` must be 'km' or 'mi', not 'nm'"),
        (
            {"name": "a", "point": {"x": 1}, "tags": ["a", 2]},
            "`tags[1]` must be a valid string, not 2",
        ),
        ({"name": 1, "point": {"x": "2"}}, "not 1; `point.x` must be a valid integer, not '2'"),
        ({"name": "a", "point": {"x": 1, "z": 1}}, "`point.z` is not an argument"),
        ({"name": "a", "point": {"x": -1}}, "`point`: x cannot be negative"),
        ('{"name": "a", ', "the arguments are not valid JSON"),
        ('{"name": NaN}', "the arguments are not valid JSON"),
        ("[1]", "the arguments must be one JSON object"),
    ],
)
def test_wrong_arguments_come_back_as_text_that_names_the_place(
    arguments: dict[str, Any] | str, says: str
) -> None:
    outcome = _call(arguments)
    assert not outcome.ok
    assert says in outcome.text


def test_deeply_nested_arguments_are_refused_instead_of_ending_the_session() -> None:
    outcome = _call('{"name":' + "[" * 200_000)
    assert not outcome.ok


def test_a_tool_that_fails_says_so_to_the_model_and_raises_nothing() -> None:
    @tool(effects=[])
    def broken(how: str) -> str:
        """Fail."""
        if how == "honest":
            raise ToolError("no such thing")
        raise ZeroDivisionError("oops")

    assert _call({"how": "honest"}, broken).text == "error: no such thing"
    assert "`broken` failed: ZeroDivisionError: oops" in _call({"how": ""}, broken).text


def test_an_interrupt_is_no_failure_of_the_tool() -> None:
    @tool(effects=[])
    def waits() -> str:
        """Wait."""
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _call({}, waits)


def test_a_result_that_no_model_could_take_is_cut_and_cleaned() -> None:
    @tool(effects=[])
    def long() -> str:
        """Say much."""
        return "\ud800\0" + "x" * 500_000

    text = _call({}, long).text
    assert len(text) < 61_000 and "more characters not shown" in text
    text.encode()


def test_what_a_tool_returns_as_data_is_json() -> None:
    @tool(effects=[], name="sizes-of")
    def sizes() -> dict[str, int]:
        """Sizes."""
        return {"a": 1}

    assert sizes.name == "sizes-of"
    assert _call({}, sizes).text == '{"a": 1}'


def test_a_function_that_no_model_could_call_is_refused_when_it_is_made() -> None:
    def no_doc(a: str) -> str:
        return a

    def no_type(a) -> str:  # type: ignore[no-untyped-def]
        """Doc."""
        return str(a)

    def many(*a: str) -> str:
        """Doc."""
        return str(a)

    def odd(a: ModuleType) -> str:
        """Doc."""
        return str(a)

    async def later(a: str) -> str:
        """Doc."""
        return a

    for function in (no_doc, no_type, many, odd, later):
        with pytest.raises(UsageError):
            tool(effects=[])(function)
    with pytest.raises(UsageError, match="not an effect"):
        tool(effects={"magic"})


def test_one_effect_may_be_written_as_a_plain_word() -> None:
    @tool(effects="read")
    def look() -> str:
        """Look."""
        return "seen"

    assert look.effects == {Effect.READ}
    with pytest.raises(UsageError, match="`raed` is not an effect"):
        tool(effects="raed")


def test_null_stands_for_an_argument_that_is_left_out() -> None:
    outcome = _call({"name": "Ulm", "point": {"x": 1}, "tags": None, "unit": None})
    assert json.loads(outcome.text) == ["Ulm", 1, 0.0, "km", None, None, False]
    assert "`name` must be a valid string, not None" in _call({"name": None, "point": {}}).text
