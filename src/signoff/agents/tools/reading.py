"""Standard tools that look: read, glob, grep."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from signoff.agents.tools.context import ToolContext
from signoff.agents.tools.definition import tool
from signoff.agents.tools.files import ToolError
from signoff.agents.tools.shell import run_program
from signoff.domain.globs import matches
from signoff.domain.observation import Ending
from signoff.domain.text import decode_output, storable_path

LONGEST_READ = 30_000
LONGEST_LINE = 2_000
MOST_PATHS = 500
MOST_VISITED = 200_000
MOST_MATCHES = 200
GREP_S = 30.0
_SKIPPED = frozenset({".git", "__pycache__"})
_NO_MATCH = 1


@tool(effects={"read"})
def read(context: ToolContext, path: str, first_line: int = 1, last_line: int | None = None) -> str:
    """Read a text file, or the lines of it that you name.

    path: relative to the workspace.
    first_line: the first line to show, counted from 1.
    last_line: the last line to show; left out: as much as fits.
    """
    data = context.read(path)
    if b"\0" in data[:8192]:
        raise ToolError(f"`{path}` is a binary file of {len(data)} bytes")
    try:
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        raise ToolError(f"`{path}` is no UTF-8 text ({len(data)} bytes)") from None
    if lines[-1] == "":
        lines.pop()
    total = len(lines)
    wanted_last = total if last_line is None else min(last_line, total)
    if first_line < 1 or (total and first_line > total) or wanted_last < first_line - 1:
        raise ToolError(f"`{path}` has lines 1 to {total}; {first_line} to {last_line} is no part")
    shown, last = _fitting(lines, first_line, wanted_last)
    head = f"{path}, lines {first_line}-{last} of {total}\n" if total else f"{path} is empty\n"
    more = "" if last >= wanted_last else f"\n[cut here: read on with first_line={last + 1}]"
    return head + "\n".join(shown) + more


@tool(effects={"read"})
def glob(context: ToolContext, pattern: str, path: str = ".") -> str:
    """List files by name pattern; `*` stays in one folder, `**` crosses folders.

    pattern: such as `**/*.py`, relative to `path`.
    path: the folder to look in.
    """
    top = context.files.to_read(path)
    if not top.is_dir():
        raise ToolError(f"`{path}` is not a folder")
    if top.is_relative_to(context.workspace):
        context.rest_on_all()
    found: list[str] = []
    for visited, file in enumerate(_walk(top, context)):
        if visited >= MOST_VISITED:
            return "\n".join(found) + f"\n[stopped after {MOST_VISITED} files: name a folder]"
        if not matches(pattern, file):
            continue
        if len(found) == MOST_PATHS:
            return "\n".join(found) + f"\n[more than {MOST_PATHS}: narrow the pattern]"
        found.append(storable_path(file))
    context.trace.says_no = not found
    return "\n".join(found) or f"no file under `{path}` matches `{pattern}`"


@tool(effects={"read"})
def grep(
    context: ToolContext, pattern: str, path: str = ".", files: str = "", ignore_case: bool = False
) -> str:
    """Search file contents with an extended regular expression; shows path:line:text.

    pattern: what `grep -E` understands.
    path: the file or folder to search.
    files: only files with such names, as `*.py`.
    """
    top = context.files.to_read(path)
    if not top.exists():
        raise ToolError(f"no file or folder `{path}`; look with glob")
    if context.files.holds_hidden(top):
        raise ToolError(f"`{path}` holds what is the harness's own; search a folder beside it")
    inside = top.is_relative_to(context.workspace)
    place = str(top.relative_to(context.workspace)) if inside else str(top)
    options = ["-rnIE", "--color=never", f"--max-count={MOST_MATCHES}"]
    options += [f"--exclude-dir={name}" for name in sorted(_SKIPPED)]
    options += ["-i"] if ignore_case else []
    options += [f"--include={files}"] if files else []
    seen = run_program(context, ("grep", *options, "-e", pattern, "--", place), GREP_S)
    if seen.ending is not Ending.EXITED:
        raise ToolError(f"the search did not end well: {seen.describe()}; narrow it")
    _note_searched(context, top)
    lines = [line.removeprefix("./") for line in decode_output(seen.stdout.kept).split("\n")]
    if seen.exit_code == _NO_MATCH and not any(lines):
        context.trace.says_no = True
        return f"no line under `{path}` matches `{pattern}`"
    if seen.exit_code not in (0, _NO_MATCH) and not any(lines):
        raise ToolError(decode_output(seen.stderr.kept).strip() or "the search failed")
    shown = [_shortened(line) for line in lines[:MOST_MATCHES] if line]
    more = "" if len(lines) <= MOST_MATCHES + 1 else f"\n[more than {MOST_MATCHES}: narrow it]"
    return "\n".join(shown) + more


def _note_searched(context: ToolContext, top: Path) -> None:
    """A search rests on the file that it searched, or on all that there is."""
    if top.is_file():
        with suppress(ToolError):  # too large to be read, not to be searched
            context.read(str(top))
            return
    if top.is_relative_to(context.workspace):
        context.rest_on_all()


def _fitting(lines: list[str], first: int, last: int) -> tuple[list[str], int]:
    """As many of the lines as fit, at least one, and the number of the last of them."""
    shown: list[str] = []
    size = 0
    for line in lines[first - 1 : last]:
        short = _shortened(line)
        size += len(short) + 1
        if shown and size > LONGEST_READ:
            break
        shown.append(short)
    return shown, first + len(shown) - 1


def _shortened(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    return f"{line[:LONGEST_LINE]} [... {len(line) - LONGEST_LINE} more characters in this line]"


def _walk(top: Path, context: ToolContext) -> Iterator[str]:
    """Every file below a folder, sorted, without following links."""
    for folder, folders, names in os.walk(top):
        here = Path(folder)
        folders[:] = sorted(
            name for name in folders if name not in _SKIPPED and context.files.is_open(here / name)
        )
        for name in sorted(names):
            if context.files.is_open(here / name):
                yield str((here / name).relative_to(top))
