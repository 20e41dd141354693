"""Recovery: what kind of failure a call met, and a concrete way on.

A kind of failure is one row of `_KINDS`: how it is told by, and what is advised. What a command
prints is anybody's words and is before the model already: of commands only a timeout has a name.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from enum import StrEnum
from pathlib import PurePosixPath

from msgspec import Struct

from signoff.domain.text import shown_list
from signoff.toolbatch.calls import Call, CallResult, Nature, NextAction, ResultKind
from signoff.toolbatch.disk import WorkspaceFolder, entries_below
from signoff.toolbatch.steps import FAILED_EDITS, looking_tool, next_step, quoted, step_text, writer
from signoff.toolbatch.view import CallView

LONGEST_READ = 20_000  # of a result's text: what failed is said at its beginning or its end
MOST_NEAR = 5
AROUND = 3  # lines shown on each side of the best match
MOST_LINES = 5_000
LONGEST_LINE = 200
MOST_LOOKED_AT = 5_000  # entries of a workspace, in search of a name
MOST_TOOLS = 20
_STOPPED = re.compile(r"timed out|timeout (?:after|expired)|was stopped after", re.IGNORECASE)


class Category(StrEnum):
    """Kinds of failures that have a follow-up."""

    MALFORMED = "malformed call"
    ARGUMENTS = "bad arguments"
    EDIT_MISMATCH = "edit mismatch"
    TIMEOUT = "timeout"
    NOT_FOUND = "file not found"
    EMPTY = "empty response"


class ToolFailure(Struct, frozen=True):
    category: Category
    about: str = ""  # what was missing or wrong, as the text names it


def failure_in(result: CallResult) -> ToolFailure | None:
    """The failure, where it has a name."""
    call = result.call
    if result.ok or result.guidance or result.kind is ResultKind.DECLINED:
        return None
    if call.malformed:
        return ToolFailure(Category.MALFORMED)
    if result.kind is ResultKind.BLOCKED:
        return ToolFailure(Category.ARGUMENTS)
    if call.shape.nature is Nature.SHELL:
        # One that came to its end cannot have been stopped.
        stopped = not result.observed and _STOPPED.search(result.text.split("\n", 1)[0])
        return ToolFailure(Category.TIMEOUT) if stopped else None
    half, text = LONGEST_READ // 2, result.text
    text = text if len(text) <= LONGEST_READ else text[:half] + text[-half:]
    for category, kind in _KINDS.items():
        found = kind.said.search(text) if kind.said is not None else None
        mismatch = category is Category.EDIT_MISMATCH
        if found is not None and not (mismatch and call.shape.nature is not Nature.MUTATE):
            about = next((name for name in found.groupdict().values() if name), "")
            return ToolFailure(category, about)
    return None


class Failed(Struct, frozen=True):
    """A failure with all that advice about it may rest on."""

    view: CallView
    result: CallResult
    failure: ToolFailure
    disk: WorkspaceFolder

    @property
    def call(self) -> Call:
        return self.view.call

    @property
    def again(self) -> NextAction:
        return NextAction(self.call.tool, self.call.target)

    @property
    def elsewhere(self) -> NextAction | None:
        """The next planned file, where this is about another one."""
        target = self.view.next_target
        if target is None or target.path == self.call.target:
            return None
        return NextAction(writer(self.view), target.path)


Advice = tuple[str, NextAction | None]  # text for the model, and the same for a machine


def advise(failed: Failed) -> Advice:
    advice = _KINDS[failed.failure.category].advise
    if not isinstance(advice, str):
        return advice(failed)
    text = advice.format(usage=_usage(failed.call))
    return text, failed.again if failed.call.tool in failed.view.tools else None


def _arguments(failed: Failed) -> Advice:
    if failed.call.tool not in failed.view.tools:
        return _no_such_tool(failed)
    name = f"{quoted(failed.failure.about)} is wrong; " if failed.failure.about else ""
    return f"{name}the call must be shaped {_usage(failed.call)}.", failed.again


def _no_such_tool(failed: Failed) -> Advice:
    view = failed.view
    said, step = f"there is no tool {quoted(failed.call.tool)}", next_step(view)
    if step is not None and step.possible:
        return f"{said}. {step_text(view, step)}", step.action
    close = difflib.get_close_matches(failed.call.tool, sorted(view.tools), n=1, cutoff=0.3)
    if not close:
        names = shown_list(sorted(view.tools), MOST_TOOLS)
        return f"{said}; there are {names}.", None
    shape = view.shapes.get(close[0])
    usage = f": {shape.usage}" if shape is not None and shape.usage else ""
    return f"{said}; the nearest is `{close[0]}`{usage}.", NextAction(close[0])


def _edit_mismatch(failed: Failed) -> Advice:
    times, path = failed.view.counts.failed_edits + 1, failed.call.target
    if times >= FAILED_EDITS:
        text = f"{times} edits of {quoted(path)} did not match: write all of it."
        return text, NextAction(writer(failed.view), path)
    if failed.failure.about:
        return "send more of the lines around it, so that it means one place", failed.again
    lines = _best_match(failed)
    text = "copy the text exactly as it stands, spaces included"
    return (f"{text}; the nearest lines of the file now:\n{lines}" if lines else text), failed.again


def _not_found(failed: Failed) -> Advice:
    wanted = failed.call.target
    if not wanted:
        return "a file that it names is not there: look at what there is.", None
    near = _nearest(failed, wanted)
    if near:
        text = f"{quoted(wanted)} is not there; near it: {', '.join(map(quoted, near))}."
        return text, NextAction(failed.call.tool, near[0])
    text = f"{quoted(wanted)} is not there, nor anything with a similar name: list the folder."
    return text, NextAction(looking_tool(failed.view), str(PurePosixPath(wanted).parent))


def _empty(failed: Failed) -> Advice:
    action = failed.elsewhere
    if action is not None:
        return f"the answer was empty: make a call, next is {quoted(action.target)}.", action
    return "the answer was empty: make a call, or answer in words.", None


class _Kind(Struct, frozen=True):
    """A kind of failure, recognised by a tool's own words, with its advice.

    A text alone advises to send the call again, mended.
    """

    advise: Callable[[Failed], Advice] | str
    said: re.Pattern[str] | None = None


# What is looked for first stands first.
_KINDS: dict[Category, _Kind] = {
    Category.MALFORMED: _Kind("send the arguments as one JSON object, shaped {usage}."),
    Category.ARGUMENTS: _Kind(
        _arguments,
        re.compile(
            r"(?:missing|unknown|unexpected|required)[^\n]{0,40}(?:argument|field|parameter)"
            r"|no field `(?P<a>[^`]{1,200})`"
            r"|`(?P<b>[^`]{1,200})` (?:is missing|is required|must be|is not an argument)\b"
            r"|there is no tool `(?P<c>[^`]{1,200})`|not valid JSON",
            re.IGNORECASE,
        ),
    ),
    Category.EDIT_MISMATCH: _Kind(
        _edit_mismatch,
        re.compile(
            r"does not occur in|occurs (?P<a>\d{1,9}) times in|(?:string|text|hunk|context)"
            r"[^\n]{0,30}(?:not found|does not (?:match|fit|apply))|does not apply|patch failed",
            re.IGNORECASE,
        ),
    ),
    Category.TIMEOUT: _Kind(
        "it took too long: run a smaller part of it, or allow it more time; nothing goes on in the"
        " background",
        _STOPPED,
    ),
    Category.NOT_FOUND: _Kind(
        _not_found,
        re.compile(
            r"no (?:such )?file(?: or (?:folder|directory))?\b|\bENOENT\b|FileNotFoundError"
            r"|does not exist",
            re.IGNORECASE,
        ),
    ),
    Category.EMPTY: _Kind(_empty),
}


def _nearest(failed: Failed, wanted: str) -> list[str]:
    """Names like the one that is not there: beside it, else the same name elsewhere."""
    path, disk, task = PurePosixPath(wanted), failed.disk, failed.view.task
    close = difflib.get_close_matches(path.name, disk.names(str(path.parent)), MOST_NEAR, 0.5)
    near = [str(path.parent / name) for name in close]
    known = (*task.touched[-200:], *(artifact.path for artifact in task.planned))
    near += [name for name in known if PurePosixPath(name).name == path.name and name != wanted]
    if not near:
        below = entries_below(disk.root, MOST_LOOKED_AT)
        near = [name for name in below if PurePosixPath(name).name == path.name]
    return [name for name in dict.fromkeys(near) if disk.exists(name)][:MOST_NEAR]


def _best_match(failed: Failed) -> str:
    """The lines around the best match; only of a file that the tool itself has read."""
    path, old = failed.call.target, failed.call.arguments.get("old")
    if path not in failed.result.reads or not isinstance(old, str):
        return ""
    lines = (failed.disk.read(path) or b"").decode("utf-8", "replace").split("\n")[:MOST_LINES]
    anchor = max(old.split("\n"), key=lambda line: len(line.strip()))[:LONGEST_LINE]
    matcher = difflib.SequenceMatcher(None, "", anchor.strip())
    best, at = 0.0, -1
    for number, line in enumerate(lines):
        matcher.set_seq1(line.strip()[:LONGEST_LINE])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best:
            ratio = matcher.ratio()
            best, at = (ratio, number) if ratio > best else (best, at)
    if at < 0:
        return ""
    first = max(0, at - AROUND)
    shown = lines[first : at + AROUND + 1]
    return "\n".join(f"{first + n + 1}: {line[:LONGEST_LINE]}" for n, line in enumerate(shown))


def _usage(call: Call) -> str:
    return call.shape.usage or f"{call.tool}(…)"
