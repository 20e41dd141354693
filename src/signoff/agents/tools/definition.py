"""A tool: a typed function that a model may call, with its description and declared effects."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sized
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Any, get_type_hints

from msgspec import Struct

from signoff.agents.tools.context import ToolContext, ToolError
from signoff.domain.text import decode_output
from signoff.errors import ExtraMissing, SignoffError, UsageError, how_to_install
from signoff.toolbatch.calls import CallResult, no_number

if TYPE_CHECKING:
    from signoff.agents.tools.schema import Arguments

LONGEST_RESULT = 60_000
PATH = "path"  # the argument that a tool which only reads is taken to read
_NO = re.compile(
    r"(?:false|no|none|null|0|(?:not|nothing) found|no (?:match(?:es)?|results?)(?: found)?)[.!]?",
    re.IGNORECASE,
)
_EXIT_CODES = ("exit_code", "returncode", "exit_status")
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,63}")
_ARGUMENT = re.compile(r"(\w+): (.+)")


class Effect(StrEnum):
    """Effects of a tool on the world; declared by its author."""

    READ = "read"
    WRITE = "write"
    NETWORK = "network"


class Tool(Struct, frozen=True):
    """A function as a model sees it; make one with `@tool`."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    effects: frozenset[Effect]
    function: Callable[..., Any]
    # Reads what a model sent; ToolError says what is wrong with it.
    read: Callable[[Mapping[str, Any] | str], dict[str, Any]]
    context_name: str | None = None
    reads: tuple[str, ...] = ()  # arguments that name files which it reads by itself
    delegates: bool = False  # the harness's own tool that hands a step on

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """The function itself, for code that calls it directly."""
        return self.function(*arguments, **named)

    def call(self, arguments: Mapping[str, Any] | str, context: ToolContext) -> CallResult:
        """Run it for a model: whatever is wrong comes back as text that it can act on."""
        seen = context.for_call()
        try:
            given = self.read(arguments)
            if self.context_name is not None:
                given[self.context_name] = seen
            result = self.function(**given)
            text, ok = _as_text(result), True
            seen.trace.says_no = seen.trace.says_no or _says_no(result)
            # Files that its arguments name are what the result rests on, as they are now.
            for value in (given.get(name) for name in self.reads):
                for path in (value,) if isinstance(value, str) else value or ():
                    with suppress(ToolError):  # one that is not there, or may not be read
                        seen.read(path)
        except ToolError as error:
            # Every no begins alike, so that a model knows it from a result.
            said = str(error)
            text = said if said.startswith(("error: ", "refused: ")) else f"error: {said}"
            ok = False
        except SignoffError:
            raise  # the harness itself cannot work; that is nothing a model could mend
        except Exception as error:
            # The model is told instead of the session ended: the tool may be anybody's.
            text, ok = f"error: `{self.name}` failed: {type(error).__name__}: {error}", False
        return seen.trace.result(_capped(text), ok)


def tool(
    *, effects: str | Iterable[str], name: str | None = None, reads: str | Iterable[str] = ()
) -> Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a typed function.

    Its docstring tells the model when and how to use it; lines `argument: text` in it describe the
    arguments. A parameter annotated `ToolContext` is filled in by the harness. The function
    returns text (or JSON data) and raises `ToolError` with what the model should know. One effect
    may be written without a set around it. `reads` names arguments that are paths of files which
    it reads by itself, so that its calls can be cited; left out, a tool that only reads and takes
    no context is taken to read what its argument `path` names.
    """
    known = [effect.value for effect in Effect]
    unknown = [effect for effect in _names(effects) if effect not in known]
    if unknown:
        raise UsageError(f"`{unknown[0]}` is not an effect of a tool", f"use {', '.join(known)}")
    declared = frozenset(map(Effect, _names(effects)))

    def make(function: Callable[..., Any]) -> Tool:
        return _tool(function, name or function.__name__, declared, _names(reads))

    return make


def _names(written: str | Iterable[str]) -> tuple[str, ...]:
    return (written,) if isinstance(written, str) else tuple(written)


def _tool(
    function: Callable[..., Any], name: str, effects: frozenset[Effect], reads: tuple[str, ...]
) -> Tool:
    if not _NAME.fullmatch(name):
        raise UsageError(f"`{name}` cannot be a tool's name", "use letters, digits, _ and -")
    if inspect.iscoroutinefunction(function):
        raise UsageError(f"tool `{name}` is an async function", "write it as a plain function")
    text = inspect.getdoc(function)
    if not text:
        raise UsageError(f"tool `{name}` has no docstring", "say when to use it, for the model")
    hints = get_type_hints(function)
    parameters = inspect.signature(function).parameters.values()
    for p in parameters:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            raise UsageError(f"tool `{name}` takes `*{p.name}`", "name every argument")
        if p.name not in hints:
            raise UsageError(f"tool `{name}`: `{p.name}` has no type", "annotate it")
    kinds = {p.name: hints[p.name] for p in parameters}
    contexts = [n for n, kind in kinds.items() if kind is ToolContext]
    kinds = {n: kind for n, kind in kinds.items() if n not in contexts}
    required = frozenset(p.name for p in parameters if p.name in kinds and p.default is p.empty)
    description, meanings = _read_docstring(text, kinds)
    arguments = _arguments(kinds, required)
    for argument, meaning in meanings.items():
        arguments.schema["properties"][argument]["description"] = meaning
    context = contexts[0] if contexts else None
    unknown = [argument for argument in reads if argument not in kinds]
    if unknown:
        raise UsageError(f"tool `{name}` has no argument `{unknown[0]}` to read", "name one it has")
    if not reads and context is None and effects == {Effect.READ} and kinds.get(PATH) is str:
        reads = (PATH,)
    read = arguments.read
    return Tool(name, description, arguments.schema, effects, function, read, context, reads)


def _arguments(kinds: Mapping[str, Any], required: frozenset[str]) -> Arguments:
    try:
        # Comes with an extra; plan tools, whose schemas are written out, work without it.
        from signoff.agents.tools.schema import Arguments  # noqa: PLC0415 - see above
    except ModuleNotFoundError as error:
        raise ExtraMissing(
            f"making tools needs {error.name}, which is not installed", how_to_install("llm")
        ) from error
    return Arguments(kinds, required)


def _read_docstring(text: str, kinds: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """The description, and what it says of each argument."""
    kept: list[str] = []
    meanings: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.split("\n"):
        found = _ARGUMENT.fullmatch(line)
        if found and found[1] in kinds:
            current = meanings.setdefault(found[1], [found[2].strip()])
        elif current is not None and line.startswith(" "):
            current.append(line.strip())
        else:
            current = None
            kept.append(line)
    described = {name: " ".join(lines) for name, lines in meanings.items()}
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip(), described


def as_object(sent: Mapping[str, Any] | str) -> dict[str, Any]:
    try:
        text = sent if isinstance(sent, str) else json.dumps(sent)
        read = json.loads(text or "{}", parse_float=_number, parse_constant=no_number)
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError(f"the arguments are not valid JSON ({error}); send one object") from None
    if not isinstance(read, dict):
        raise ToolError("the arguments must be one JSON object")
    return read


def _number(written: str) -> float:
    """Some models write every number with a point."""
    number = float(written)
    return int(number) if number.is_integer() else number


def _says_no(result: Any) -> bool:
    """True when an answer is a no: `false`, nothing found, a command that failed."""
    if isinstance(result, str):
        return not result.strip() or _NO.fullmatch(result.strip()) is not None
    if isinstance(result, Mapping) and any(result.get(name) for name in _EXIT_CODES):
        return True
    if isinstance(result, Mapping) and len(result) == 1:
        return _says_no(next(iter(result.values())))
    return result is False or (isinstance(result, Sized) and len(result) == 0)


def _as_text(result: Any) -> str:
    if isinstance(result, str):
        return result
    if result is None:
        return "done"
    if isinstance(result, bytes):
        return decode_output(result)
    return json.dumps(result, ensure_ascii=False, default=str)


def _capped(text: str) -> str:
    """The text as every model API and JSON reader takes it, cut to what a context bears."""
    clean = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "�")
    if len(clean) <= LONGEST_RESULT:
        return clean
    cut = len(clean) - LONGEST_RESULT
    return f"{clean[:LONGEST_RESULT]}\n[... {cut} more characters not shown ...]"
