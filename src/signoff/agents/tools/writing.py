"""Standard tools that change files: write, edit, patch."""

from __future__ import annotations

from signoff.agents.tools.context import ToolContext
from signoff.agents.tools.definition import tool
from signoff.agents.tools.files import ToolError
from signoff.agents.tools.patching import FileChange, patched, read_patch


@tool(effects={"write"})
def write(context: ToolContext, path: str, content: str) -> str:
    """Write a whole file; folders that are missing are made. To change a part, use edit.

    path: relative to the workspace.
    content: all of the file's new text.
    """
    shown = context.write(path, _encoded(content))
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
    shown = context.write(path, _encoded(text.replace(old, new)))
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
            done.append(f"patched {context.write(target, _encoded(text))}")
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


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise ToolError("the text has lone surrogates in it and cannot be stored") from None
