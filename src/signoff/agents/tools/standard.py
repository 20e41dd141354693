"""The tools that every model gets unless its user names others."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from signoff.agents.tools.context import ToolContext, ToolError
from signoff.agents.tools.definition import tool
from signoff.domain.digests import digest_bytes
from signoff.domain.globs import matches
from signoff.domain.text import decode_output, shown_list, storable_path
from signoff.domain.verdict import Ending, Observation
from signoff.process.command import Command
from signoff.process.environment import clean_environment
from signoff.process.leftovers import WORKSPACE_VARIABLE
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.shell import find_tool, shell_command

LONGEST_READ = 30_000
LONGEST_LINE = 2_000
MOST_PATHS = 500
MOST_VISITED = 200_000
MOST_MATCHES = 200
GREP_S = 30.0
_SKIPPED = frozenset({".git", "__pycache__"})
_NO_MATCH = 1
USUAL_S = 120
KEPT_HEAD = 6_000
KEPT_TAIL = 18_000
MOST_OUTPUT = 200_000_000
LARGEST_COMPARED = 1_000_000
MOST_ITEMS = 200
MOST_KEYS = 200
LONGEST_NOTE = 20_000
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


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
        raise ToolError(f"`{path}` is not UTF-8 text ({len(data)} bytes)") from None
    if lines[-1] == "":
        lines.pop()
    total = len(lines)
    wanted_last = total if last_line is None else min(last_line, total)
    if first_line < 1 or (total and first_line > total) or wanted_last < first_line - 1:
        raise ToolError(f"`{path}` has lines 1 to {total}, not {first_line} to {last_line}")
    shown, last = _fitting(lines, first_line, wanted_last)
    head = f"{path}, lines {first_line}-{last} of {total}\n" if total else f"{path} is empty\n"
    more = "" if last >= wanted_last else f"\n[cut here: read on with first_line={last + 1}]"
    return head + "\n".join(shown) + more


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
    try:
        text = context.read(path).decode("utf-8")
    except UnicodeDecodeError:
        raise ToolError(f"`{path}` is not UTF-8 text; change it with bash") from None
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
    # It rests on the file that it searched, or on all that there is.
    try:
        context.read(str(top))
    except ToolError:  # a folder, or too large to be read and not to be searched
        if inside:
            context.rest_on_all()
    lines = [line.removeprefix("./") for line in decode_output(seen.stdout.kept).split("\n")]
    if seen.exit_code == _NO_MATCH and not any(lines):
        context.trace.says_no = True
        return f"no line under `{path}` matches `{pattern}`"
    if seen.exit_code not in (0, _NO_MATCH) and not any(lines):
        raise ToolError(decode_output(seen.stderr.kept).strip() or "the search failed")
    shown = [_shortened(line) for line in lines[:MOST_MATCHES] if line]
    more = "" if len(lines) <= MOST_MATCHES + 1 else f"\n[more than {MOST_MATCHES}: narrow it]"
    return "\n".join(shown) + more


def _fitting(lines: list[str], first: int, last: int) -> tuple[list[str], int]:
    """The lines that fit, at least one, and the number of the last of them."""
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


@tool(effects={"read", "write", "network"})
def bash(context: ToolContext, command: str, timeout_s: float = USUAL_S) -> str:
    """Run a bash command in the workspace and see its output and exit code.

    Every process it starts is ended when it returns: nothing runs in the background.
    command: what bash runs.
    timeout_s: after so many seconds it is stopped.
    """
    if not command.strip() or "\0" in command:
        raise ToolError("the command is empty, or has a NUL in it")
    longest = context.shell.longest_s
    if not 0 < timeout_s <= longest:
        raise ToolError(f"`timeout_s` must be more than 0 and at most {longest:g}")
    watch = context.watch
    mark = "" if watch is None else watch.mark()
    before = {path: _look(path) for path in context.files.untouchable}
    seen = run_program(context, shell_command(command), timeout_s)
    # Noticed where no sandbox could prevent it.
    meddled = [path for path, then in before.items() if _look(path) != then]
    if watch is not None:
        changes = watch.changed_since(mark)
        context.trace.writes.update(changes.files)
        context.trace.touched = changes.others
        # Whatever it wrote: it may have looked at everything.
        context.trace.content = changes.content
    text = _described(seen)
    if meddled:
        # Nothing is put back: a person may have made the change while the command ran, and
        # whatever counts is pinned.
        shown = shown_list(map(context.files.shown, meddled))
        raise ToolError(
            f"{shown} changed while this ran; that belongs to the harness or the user and counts"
            " for nothing. Undo it if it was you, and say what a person should change instead"
            f"\n{text}"
        )
    context.trace.exit_code = seen.exit_code if seen.ending is Ending.EXITED else None
    if seen.ending is Ending.EXITED and seen.exit_code == 0:
        return text
    raise ToolError(text)


def run_program(context: ToolContext, argv: tuple[str, ...], timeout_s: float) -> Observation:
    """Run a program as the model's shell runs: confined alike, with the same environment."""
    shell = context.shell
    program = find_tool(argv[0], shell.search_path)
    if program is None:
        raise ToolError(f"`{argv[0]}` is not installed here")
    environment = clean_environment(
        shell.environ,
        path=shell.search_path,
        passed=shell.role.env,
        extra={
            **shell.enclosure.variables(shell.enclosure.of_agents),
            **({WORKSPACE_VARIABLE: shell.mark} if shell.mark else {}),
        },
    )
    return run(
        Command(
            argv=(str(program), *argv[1:]),
            cwd=context.workspace,
            env=environment,
            limits=Limits(
                wall_s=timeout_s, keep_head=KEPT_HEAD, keep_tail=KEPT_TAIL, max_output=MOST_OUTPUT
            ),
            marked_by=WORKSPACE_VARIABLE if shell.mark else None,
            confinement=shell.enclosure.for_agent(
                shell.role, context.workspace, absent=context.files.untouchable
            ),
        ),
        cancelled=shell.cancelled,
    )


def _described(seen: Observation) -> str:
    parts = [seen.describe()]
    for name, output in (("stdout", seen.stdout), ("stderr", seen.stderr)):
        text = decode_output(output.kept).rstrip("\n")
        parts += [f"--- {name}", text] if text else []
    if seen.leftovers_killed:
        parts.append(f"[{seen.leftovers_killed} processes were left running and were ended]")
    return "\n".join(parts)


def _look(path: Path) -> str:
    """State of a place now: a file by its content, anything else by its being there."""
    with suppress(OSError):
        state = os.lstat(path)
        if stat.S_ISREG(state.st_mode) and state.st_size <= LARGEST_COMPARED:
            return digest_bytes(path.read_bytes())
        return f"something {stat.S_IFMT(state.st_mode)}"
    return "gone"


@dataclass(frozen=True)
class TodoItem:
    text: str
    done: bool = False
    dropped: str = ""


@tool(effects={"write"})
def todo(context: ToolContext, items: list[TodoItem]) -> str:
    """Keep a list of small things to do, for yourself. It replaces the list before; it proves
    nothing, and steps of the plan are updated with step_update.

    items: the whole list as it is now. What was planned and is not needed is given up with the
        reason in `dropped`; its text is that of the item, or the path of the planned file.
    """
    if len(items) > MOST_ITEMS:
        raise ToolError(f"a list has at most {MOST_ITEMS} items")
    context.notebook.todo = tuple((item.text, item.done) for item in items if not item.dropped)
    marks = ["-" if item.dropped else "x" if item.done else " " for item in items]
    shown = [f"[{mark}] {item.text}" for mark, item in zip(marks, items, strict=True)]
    return "\n".join(shown) or "the list is empty"


@tool(effects={"write"})
def scratchpad(context: ToolContext, key: str, text: str = "") -> str:
    """Write a note under a key, or read it again by leaving out the text. Notes outlive a
    compaction and can be cited as evidence: `scratchpad:KEY`.

    key: letters, digits, `.`, `_` and `-`.
    text: the note; left out: the note is read.
    """
    if not _KEY.fullmatch(key):
        raise ToolError(f"`{key}` cannot be a key: use letters, digits, `.`, `_` and `-`")
    notes = context.notebook.scratchpad
    if not text:
        known = shown_list(notes, len(notes)) or "none"
        if key not in notes:
            raise ToolError(f"no note `{key}`; there are: {known}")
        return notes[key]
    if len(text) > LONGEST_NOTE or (key not in notes and len(notes) >= MOST_KEYS):
        raise ToolError(f"a note has at most {LONGEST_NOTE} characters, and there are {MOST_KEYS}")
    notes[key] = text
    return f"noted; cite it as scratchpad:{key}"


@tool(effects={"read"})
def ask_user(context: ToolContext, question: str) -> str:
    """Ask the person a question that only they can answer. Use it rarely.

    question: complete by itself.
    """
    if not question.strip():
        raise ToolError("the question is empty")
    answer = context.ask(question) if context.ask is not None else None
    if answer is None:
        raise ToolError(
            "nobody is there to answer. Decide by yourself what is safe to decide; what cannot go "
            "on without the person is `blocked`, with the question as the reason"
        )
    return answer or "(the person gave an empty answer)"


STANDARD_TOOLS = [read, write, edit, glob, grep, bash, todo, scratchpad, ask_user]
