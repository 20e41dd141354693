"""Standard tools that change files: write, edit, patch."""

from __future__ import annotations

import re
from dataclasses import dataclass

from signoff.agents.tools.context import ToolContext, ToolError
from signoff.agents.tools.definition import tool

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@.*")
_NOWHERE = "/dev/null"
_NO_NEWLINE = "\\ No newline at end of file"


@tool(effects={"write"})
def write(context: ToolContext, path: str, content: str) -> str:
    """Write a whole file; folders that are missing are made. To change a part, use edit.

    path: relative to the workspace.
    content: all of the file's new text.
    """
    shown = context.write(path, content.encode())
    return f"wrote {shown} ({len(content)} characters)"


@tool(effects={"read", "write"})
def edit(context: ToolContext, path: str, old: str, new: str, every: bool = False) -> str:
    """Replace a passage of a file. It must occur exactly once, so quote enough around it.

    path: relative to the workspace.
    old: the passage as it stands in the file.
    new: what stands there afterwards.
    every: replace all occurrences instead of exactly one.
    """
    text = _decoded(context.read(path), path)
    if "\r\n" in text and old not in text:
        old, new = (part.replace("\r\n", "\n").replace("\n", "\r\n") for part in (old, new))
    if not old:
        raise ToolError("`old` is empty; use write for a new file")
    if old == new:
        raise ToolError("`old` and `new` are the same: nothing would change")
    count = text.count(old)
    if count == 0:
        raise ToolError(f"`old` does not occur in `{path}`; read it again, spaces count")
    if count > 1 and not every:
        raise ToolError(f"`old` occurs {count} times in `{path}`; quote more, or set `every`")
    shown = context.write(path, text.replace(old, new).encode())
    return f"edited {shown} ({count} {'place' if count == 1 else 'places'})"


@tool(effects={"read", "write"})
def patch(context: ToolContext, diff: str) -> str:
    """Apply a unified diff to one or more files; all of it, or nothing if a part does not fit.

    diff: as `diff -u` or `git diff` print it; /dev/null stands for a file that is not there.
    """
    results: dict[str, str | None] = {}
    for change in read_patch(diff):
        results.update(_result(context, change))
    done = []
    for target, text in results.items():
        if text is None:
            done.append(f"removed {context.remove(target)}")
        else:
            done.append(f"patched {context.write(target, text.encode())}")
    return "\n".join(done)


def _result(context: ToolContext, change: FileChange) -> dict[str, str | None]:
    """What the files of one change hold afterwards, None for one that goes; nothing is written."""
    for name in filter(None, (change.old, change.new)):
        context.files.to_write(name)
    if change.old is None and change.new and context.files.to_write(change.new).exists():
        raise ToolError(f"`{change.new}` exists already, and the diff would make it")
    before = "" if change.old is None else _decoded(context.read(change.old), change.old)
    after = patched(before, change)
    result: dict[str, str | None] = {}
    if change.old is not None and change.old != change.new:
        result[change.old] = None
    if change.new is not None:
        result[change.new] = after
    return result


def _decoded(data: bytes, path: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ToolError(f"`{path}` is no UTF-8 text; change it with bash") from None


@dataclass(frozen=True)
class Hunk:
    """Lines that must stand in the file, and what stands there afterwards."""

    line: int  # where the old lines begin, counted from 1
    old: list[str]
    new: list[str]


@dataclass(frozen=True)
class FileChange:
    """All hunks of one file; `old` is None for a new file, `new` for one that goes."""

    old: str | None
    new: str | None
    hunks: list[Hunk]


def read_patch(diff: str) -> list[FileChange]:
    """The changes of a diff; ToolError names the first line that is no part of one."""
    lines = diff.replace("\r\n", "\n").split("\n")
    changes: list[FileChange] = []
    at = 0
    while at < len(lines) - 1:
        if not lines[at].startswith("--- "):
            at += 1
            continue
        if not lines[at + 1].startswith("+++ "):
            raise ToolError(f"line {at + 2} of the diff should start with `+++ `")
        old, new = _path(lines[at][4:], "a/"), _path(lines[at + 1][4:], "b/")
        if old is None and new is None:
            raise ToolError(f"line {at + 1} of the diff changes nothing into nothing")
        at += 2
        change = FileChange(old, new, [])
        while at < len(lines) and (head := _HUNK.fullmatch(lines[at])):
            hunk, at = _hunk(lines, at, head)
            change.hunks.append(hunk)
        if not change.hunks:
            shown = lines[at] if at < len(lines) else "the end"
            raise ToolError(
                f"line {at + 1} of the diff should be a `@@ -1,2 +1,2 @@` line, not {shown!r}"
            )
        changes.append(change)
    if not changes:
        raise ToolError("this is no unified diff: it has no `--- ` and `+++ ` lines")
    return changes


def _path(written: str, prefix: str) -> str | None:
    name = written.split("\t", maxsplit=1)[0].strip()
    if not name:
        raise ToolError("the diff has a file without a name")
    return None if name == _NOWHERE else name.removeprefix(prefix)


def _hunk(lines: list[str], start: int, head: re.Match[str]) -> tuple[Hunk, int]:
    """The hunk whose head is at `start`, and the line after it."""
    left = {"-": int(head[2] or 1), "+": int(head[4] or 1)}
    sides: dict[str, list[str]] = {"-": [], "+": []}
    at = start + 1
    while any(count > 0 for count in left.values()) or lines[at : at + 1] == [_NO_NEWLINE]:
        line = lines[at] if at < len(lines) else "the end"
        # Some models strip the space of an empty context line.
        sign = line[:1] or " "
        at += 1
        if line == _NO_NEWLINE:
            sign = lines[at - 2][:1] or " "
        elif sign not in " +-":
            raise ToolError(
                f"the hunk at line {start + 1} of the diff has fewer lines than it says"
            )
        for side in sides if sign == " " else sign:
            if line != _NO_NEWLINE:
                sides[side].append(line[1:] + "\n")
                left[side] -= 1
            elif sides.get(side):
                sides[side][-1] = sides[side][-1].removesuffix("\n")
    return Hunk(int(head[1]), sides["-"], sides["+"]), at


def patched(text: str, change: FileChange) -> str:
    """The text with every hunk applied; a file whose lines all end in CRLF keeps them so."""
    crlf = 0 < text.count("\n") == text.count("\r\n")
    lines = (text.replace("\r\n", "\n") if crlf else text).split("\n")
    last = lines.pop()
    lines = [line + "\n" for line in lines] + ([last] if last else [])
    done: list[str] = []
    at = shift = 0
    for number, hunk in enumerate(change.hunks, 1):
        start = _place(lines, hunk, at, shift)
        if start is None:
            shown = change.old or change.new
            raise ToolError(
                f"hunk {number} of `{shown}` does not fit: its lines are not in the file as the "
                "diff has them; read the file again"
            )
        shift = start - (hunk.line - 1)
        done += lines[at:start]
        done += hunk.new
        at = start + len(hunk.old)
    result = "".join([*done, *lines[at:]])
    return result.replace("\n", "\r\n") if crlf else result


def _place(lines: list[str], hunk: Hunk, after: int, shift: int) -> int | None:
    """Where the old lines stand: at their number, else at the nearest place after the last hunk."""
    if not hunk.old:
        # With nothing to compare, the number is that of the line before.
        wanted = hunk.line + shift
        return wanted if after <= wanted <= len(lines) else None
    wanted = hunk.line - 1 + shift
    places = range(after, len(lines) - len(hunk.old) + 1)
    # Whether the last line ends in a line feed is often wrong in a diff, and decides nothing.
    old = [line.removesuffix("\n") for line in hunk.old]
    bare = [line.removesuffix("\n") for line in lines]
    fitting = (i for i in places if bare[i : i + len(old)] == old)
    return min(fitting, key=lambda i: abs(i - wanted), default=None)
