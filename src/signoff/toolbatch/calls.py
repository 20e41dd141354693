"""A call of a tool as the runtime sees it, whatever a model sent; and what is told of a batch."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, NoReturn

from msgspec import Struct, field

Named = Callable[[str], str]


class Nature(StrEnum):
    OBSERVE = "observe"
    MUTATE = "mutate"
    SHELL = "shell"  # may do either: what it did is seen afterwards
    LIST = "list"  # of what is to do
    NOTE = "note"
    ASK = "ask"
    PLAN = "plan"
    OTHER = "other"


NEVER_BEGAN = frozenset({126, 127})  # exit codes of a shell that could not start the command
BOOKKEEPING = frozenset({Nature.LIST, Nature.NOTE})  # alone they move nothing


class ToolShape(Struct, frozen=True):
    """Usage of a tool: the argument that names a path, and those that must carry content."""

    nature: Nature
    path: str = ""
    payload: tuple[str, ...] = ()
    usage: str = ""  # the right shape of a call, as a model should write it

    @property
    def reads_only(self) -> bool:
        """True when calls of it may run beside each other."""
        return self.nature is Nature.OBSERVE


# Not a tool: an answer without calls. It ends the turn and hands the work over to judging, and a
# model can always give it; where a next action must name something, this is its name.
ANSWER = "answer"

STANDARD_SHAPES: dict[str, ToolShape] = {
    "read": ToolShape(Nature.OBSERVE, "path", usage="read(path)"),
    "glob": ToolShape(Nature.OBSERVE, "path", usage="glob(pattern, path)"),
    "grep": ToolShape(Nature.OBSERVE, "path", usage="grep(pattern, path)"),
    "write": ToolShape(Nature.MUTATE, "path", ("content",), "write(path, content)"),
    "edit": ToolShape(Nature.MUTATE, "path", ("old", "new"), "edit(path, old, new)"),
    "bash": ToolShape(Nature.SHELL, "", ("command",), "bash(command)"),
    "todo": ToolShape(Nature.LIST, "", ("items",), 'todo(items=[{"text": "…", "done": false}])'),
    "scratchpad": ToolShape(Nature.NOTE, usage="scratchpad(key, text)"),
    "ask_user": ToolShape(Nature.ASK, usage="ask_user(question)"),
}


class Call(Struct, frozen=True):
    """One proposed call. `paths` are relative to the workspace, as far as the call names any."""

    id: str
    tool: str
    arguments: Mapping[str, Any]
    shape: ToolShape
    paths: tuple[str, ...] = ()
    malformed: str = ""  # why its arguments could not be read

    @property
    def target(self) -> str:
        """The one path it is about, or nothing."""
        return self.paths[0] if self.paths else ""

    @property
    def command(self) -> str:
        """The command of a shell call; empty for other calls."""
        if self.shape.nature is not Nature.SHELL:
            return ""
        values = (self.arguments.get(name) for name in (*self.shape.payload, "command"))
        return next((value for value in values if isinstance(value, str)), "")

    @property
    def label(self) -> str:
        """A few words for a list of what is going on."""
        about = self.target or self.command[:40]
        return f"{self.tool} {about}".strip()


class ResultKind(StrEnum):
    EXECUTED = "executed"
    DUPLICATE = "duplicate"
    BLOCKED = "blocked"
    DECLINED = "declined"  # the person said no


class NextAction(Struct, frozen=True):
    """The model's next action, for a machine; beside every text that says so."""

    tool: str
    target: str = ""


_OTHER = ToolShape(Nature.OTHER)
_NO_CALL = Call("", "", {}, _OTHER)


class CallResult(Struct, frozen=True):
    """Result of a call; `text` is what the transcript gets.

    The code that carries a call out fills in what it saw: digests are sha256 of whole files, empty
    for one that is gone. The runtime fills in the rest.
    """

    text: str
    ok: bool
    reads: Mapping[str, str] = field(default_factory=dict)
    writes: Mapping[str, str] = field(default_factory=dict)
    content: str = ""  # of the workspace, for a call that may rest on all of it
    touched: tuple[str, ...] = ()  # what it changed beside whole files: links, permissions, folders
    exit_code: int | None = None  # of a command that was started and came to its end
    says_no: bool = False  # it answered, and the answer is no: it proves nothing
    kind: ResultKind = ResultKind.EXECUTED
    call: Call = _NO_CALL
    rule: str = ""  # the pre-flight rule that spoke
    guidance: bool = False  # a block that only guides does not count as an error
    next_action: NextAction | None = None
    category: str = ""  # of a failure, where it has a name

    @property
    def is_error(self) -> bool:
        """True when it counts towards the limit of consecutive errors."""
        excused = self.guidance or self.observed or self.kind is ResultKind.DECLINED
        return not self.ok and not excused

    @property
    def observed(self) -> bool:
        """True when a command ran and said no: that is something learned, and no error."""
        ended = self.exit_code is not None and self.exit_code not in NEVER_BEGAN
        return self.kind is ResultKind.EXECUTED and ended

    @property
    def changed(self) -> tuple[str, ...]:
        return tuple(self.writes)


def propose(
    id: str,
    tool: str,
    arguments: Mapping[str, Any] | str,
    *,
    root: Path,
    shapes: Mapping[str, ToolShape] = STANDARD_SHAPES,
    named: Named | None = None,
) -> Call:
    """A call as the runtime sees it; arguments that cannot be read make it malformed.

    `named` says how reports name a path; left out, it is relative to `root` where it lies in it.
    """
    shape = shapes.get(tool, _OTHER)
    try:
        given = _read(arguments)
    except (ValueError, RecursionError) as error:
        return Call(id, tool, {}, shape, malformed=f"the arguments are {error}")
    naming = named if named is not None else (lambda path: relative(root, path))
    path = given.get(shape.path) if shape.path else None
    named_one = isinstance(path, str) and path != "" and "\0" not in path
    return Call(id, tool, given, shape, (naming(str(path)),) if named_one else ())


def relative(root: Path, path: str) -> str:
    """A path as reports name it, without looking at the disk."""
    whole = os.path.normpath(root / path)
    inside = whole == str(root) or whole.startswith(f"{root}{os.sep}")
    return os.path.relpath(whole, root) if inside else whole


def _read(arguments: Mapping[str, Any] | str) -> Mapping[str, Any]:
    if isinstance(arguments, Mapping):
        return arguments
    try:
        read = json.loads(arguments or "{}", parse_constant=no_number)
    except ValueError as error:
        raise ValueError(f"not valid JSON ({error})") from None
    if not isinstance(read, dict):
        raise ValueError("not one JSON object")
    return read


def no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


# What happens in a batch, as one typed stream; whoever wants to know subscribes.


class ToolCalled(Struct, frozen=True):
    call: Call


class ToolResulted(Struct, frozen=True):
    result: CallResult


class Steered(Struct, frozen=True):
    rule: str
    text: str
    next_action: NextAction


class TimelineNoted(Struct, frozen=True):
    """One line of what happened and why, for `signoff log`."""

    reason: str
    text: str


class Responded(Struct, frozen=True):
    """The turn ended with this message for the person."""

    text: str
    failed: bool = False


Event = ToolCalled | ToolResulted | Steered | TimelineNoted | Responded
Subscriber = Callable[[Event], None]


class Stream:
    """Tells every subscriber, in their order."""

    def __init__(self, *subscribers: Subscriber):
        self._subscribers = subscribers

    def emit(self, event: Event) -> None:
        for subscriber in self._subscribers:
            subscriber(event)
