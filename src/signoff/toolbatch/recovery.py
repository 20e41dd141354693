"""Recovery: what kind of failure a call met, how often it came, and a concrete way on.

Failures of one kind about one thing are an episode, in which every retry counts. Once its budget is
used up the advice is another way; when that does not help either, the turn ends. A kind of failure
is one row of `_KINDS`: how it is told by, and what is advised.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath

from signoff.domain.text import escape_line
from signoff.toolbatch.calls import Call, CallResult, Nature, NextAction, ResultKind
from signoff.toolbatch.disk import Disk, entries_below
from signoff.toolbatch.episodes import Category, Episode, ToolFailure, subject_of
from signoff.toolbatch.steps import editor, looker, next_step, step_text, writer
from signoff.toolbatch.view import CallView

LONGEST_READ = 20_000  # of a result's text: what failed is said at its beginning or its end
MOST_NEAR = 5
AROUND = 3  # lines shown on each side of the best match
MOST_LINES = 5_000
LONGEST_LINE = 200
MOST_LOOKED_AT = 5_000  # entries of a workspace, in search of a name
MOST_TOOLS = 20
# What a test prints is about the test: an assertion names whatever it likes.
RUNS_TESTS = re.compile(
    r"\b(?:py\.?test|tests?|test_\w+|\w+_test|unittest|tox|nox|jest|vitest|mocha|rspec|phpunit"
    r"|ctest|bats|check)\b"
)
_STOPPED = re.compile(r"timed out|timeout (?:after|expired)|was stopped after", re.IGNORECASE)
_FILE_LINE = re.compile(r'^\s{0,8}File "(?P<path>[^"\n]{1,300})", line \d+', re.MULTILINE)
_SHELL = r"^\S{0,80}sh: (?:-c: )?(?:(?:line )?\d+: )?"


def failure_in(result: CallResult) -> ToolFailure | None:
    """What went wrong, where it has a name; a command that said no may have one too."""
    call = result.call
    if result.ok or result.guidance or result.kind is ResultKind.DECLINED:
        return None
    if call.malformed:
        return ToolFailure(Category.MALFORMED, call.tool, call.malformed)
    if result.kind is ResultKind.BLOCKED:
        return ToolFailure(Category.ARGUMENTS, call.tool)
    half = LONGEST_READ // 2
    text = result.text
    text = text if len(text) <= LONGEST_READ else text[:half] + text[-half:]
    found = _printed(result, text) if call.shape.nature is Nature.SHELL else _said(call, text)
    if found is None:
        return None
    category, about = found
    return ToolFailure(category, subject_of(category, call), about)


def _said(call: Call, text: str) -> tuple[Category, str] | None:
    """What a tool of the runtime says, or one that is no command."""
    for category, kind in _KINDS.items():
        found = kind.said.search(text) if kind.said is not None else None
        mismatch = category is Category.EDIT_MISMATCH
        if found is not None and not (mismatch and call.shape.nature is not Nature.MUTATE):
            return category, _named(found)
    return None


def _printed(result: CallResult, text: str) -> tuple[Category, str] | None:
    """What a command prints is anybody's words: only lines that shells and interpreters write."""
    if not result.observed and _STOPPED.search(text.split("\n", 1)[0]):
        return Category.TIMEOUT, ""  # one that came to its end cannot have been stopped
    tests = RUNS_TESTS.search(result.call.command) is not None
    for category, kind in _KINDS.items():
        if kind.printed is None or (tests and category is not Category.MISSING_COMMAND):
            continue
        matches = tuple(kind.printed.finditer(text))
        if matches:
            found = next((match for match in matches if _named(match)), matches[0])
            files = _FILE_LINE.findall(text[: found.start()])
            syntax = category is Category.SYNTAX
            return category, (files[-1] if files else "") if syntax else _named(found)
    return None


def _named(found: re.Match[str]) -> str:
    return next((name for name in found.groupdict().values() if name), "")


@dataclass(frozen=True)
class Failed:
    """A failure with all that advice about it may rest on."""

    view: CallView
    result: CallResult
    episode: Episode
    disk: Disk

    @property
    def call(self) -> Call:
        """The call that failed."""
        return self.view.call

    @property
    def about(self) -> str:
        """What was missing or wrong, as the text names it."""
        return self.episode.failure.about

    @property
    def again(self) -> NextAction:
        """The same call, mended."""
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
    """What to do now; once the budget of an episode is used up, something else altogether."""
    episode = failed.episode
    if not episode.used_up:
        advice = _KINDS[episode.failure.category].advise
        if not isinstance(advice, str):
            return advice(failed)
        text = advice.format(about=_shown(failed.about) or "it", usage=_usage(failed.call))
        return text, failed.again if failed.call.tool in failed.view.tools else None
    what = f"{episode.failure.category} for {_shown(episode.failure.subject)}"
    begun = f"{what} failed {episode.attempts} times, and {episode.budget} were allowed: leave it"
    action = failed.elsewhere
    if action is not None:
        return f"{begun} and go on with {_shown(action.target)}.", action
    return f"{begun} and go another way.", None


def _arguments(failed: Failed) -> Advice:
    if failed.call.tool not in failed.view.tools:
        return _no_such_tool(failed)
    name = f"{_shown(failed.about)} is wrong; " if failed.about else ""
    return f"{name}the call must be shaped {_usage(failed.call)}.", failed.again


def _no_such_tool(failed: Failed) -> Advice:
    view = failed.view
    said, step = f"there is no tool {_shown(failed.call.tool)}", next_step(view)
    if step is not None and step.possible:
        return f"{said}. {step_text(view, step)}", step.action
    close = difflib.get_close_matches(failed.call.tool, sorted(view.tools), n=1, cutoff=0.3)
    if not close:
        names = ", ".join(f"`{name}`" for name in sorted(view.tools)[:MOST_TOOLS])
        return f"{said}; there are {names}.", None
    shape = view.shapes.get(close[0])
    usage = f": {shape.usage}" if shape is not None and shape.usage else ""
    return f"{said}; the nearest is `{close[0]}`{usage}.", NextAction(close[0])


def _edit_mismatch(failed: Failed) -> Advice:
    times, path = failed.episode.attempts, failed.call.target
    if times >= failed.view.limits.failed_edits:
        text = f"{times} edits of {_shown(path)} did not match: write all of it."
        return text, NextAction(writer(failed.view), path)
    if failed.about:
        return "send more of the lines around it, so that it means one place", failed.again
    lines = _best_match(failed)
    text = "copy the text exactly as it stands, spaces included"
    return (f"{text}; the nearest lines of the file now:\n{lines}" if lines else text), failed.again


def _syntax(failed: Failed) -> Advice:
    path = failed.call.target or _inside(failed)
    if not path or not failed.disk.exists(path):
        return "mend the syntax of the command and send it again", NextAction(failed.call.tool)
    text = f"{_shown(path)} does not parse: look at the line that the message names"
    return text, NextAction(editor(failed.view), path)


def _permission(failed: Failed) -> Advice:
    text = "it is not yours to change: leave permissions as they are and work inside the workspace"
    action = failed.elsewhere
    if action is not None:
        return f"{text}; next is {_shown(action.target)}.", action
    return f"{text}; what cannot be done without it is said openly.", None


def _not_found(failed: Failed) -> Advice:
    wanted = failed.call.target or _inside(failed)
    if not wanted:
        return "a file that it names is not there: look at what there is.", None
    near = _nearest(failed, wanted)
    if near:
        tool = failed.call.tool if failed.call.target else looker(failed.view)
        text = f"{_shown(wanted)} is not there; near it: {', '.join(map(_shown, near))}."
        return text, NextAction(tool, near[0])
    text = f"{_shown(wanted)} is not there, nor anything with a similar name: list the folder."
    return text, NextAction(looker(failed.view), str(PurePosixPath(wanted).parent))


def _empty(failed: Failed) -> Advice:
    action = failed.elsewhere
    if action is not None:
        return f"the answer was empty: make a call, next is {_shown(action.target)}.", action
    return "the answer was empty: make a call, or answer in words.", None


@dataclass(frozen=True)
class _Kind:
    """How a kind of failure is told by a tool's own words, or by what a command printed; and then?

    A text alone advises to send the call again, mended; `{}` in it is what the failure is about.
    """

    advise: Callable[[Failed], Advice] | str
    said: re.Pattern[str] | None = None
    printed: re.Pattern[str] | None = None


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
    Category.MISSING_COMMAND: _Kind(
        "{about} is not installed: use another that is (`command -v` tells), or the file tools",
        printed=re.compile(
            rf"{_SHELL}(?P<a>[^\s:]{{1,100}}): (?:command )?not found\s*$"
            r"|^(?P<b>[^\s:]{1,100}): command not found\s*$"
            r"|`(?P<c>[^`]{1,200})` is not installed|\A[^\n]{0,40}exit code 127\b",
            re.MULTILINE,
        ),
    ),
    Category.MISSING_MODULE: _Kind(
        "{about} cannot be imported: if it is this project's, mind the folder that the command runs"
        " in; if it is not, use what is installed",
        printed=re.compile(
            r"^(?:ModuleNotFoundError|ImportError): No module named '?(?P<a>[\w.]{1,200})"
            r"|^\S{0,80}python[\d.]{0,5}: No module named '?(?P<b>[\w.]{1,200})"
            r"|^Error: Cannot find (?:module|package) '(?P<c>[^'\n]{1,200})'",
            re.MULTILINE,
        ),
    ),
    Category.SYNTAX: _Kind(
        _syntax,
        printed=re.compile(
            r"^(?:SyntaxError|IndentationError|TabError): "
            rf"|{_SHELL}(?:-c: )?(?:syntax error|unexpected EOF)",
            re.MULTILINE,
        ),
    ),
    Category.PERMISSION: _Kind(
        _permission,
        re.compile(
            r"permission denied|operation not permitted|read-only file system|may not write"
            r"|leads outside the workspace|access denied|\bEACCES\b|\bEPERM\b",
            re.IGNORECASE,
        ),
        re.compile(
            r"^\S[^\n]{0,200}: (?:Permission denied|Operation not permitted"
            r"|Read-only file system)\s*$|^PermissionError: ",
            re.MULTILINE,
        ),
    ),
    Category.NOT_FOUND: _Kind(
        _not_found,
        re.compile(
            r"no (?:such )?file(?: or (?:folder|directory))?\b(?:[^\n`]{0,20}`(?P<a>[^`]{1,200})`)?"
            r"|\bENOENT\b|FileNotFoundError|does not exist",
            re.IGNORECASE,
        ),
        re.compile(
            r"^[^\n:]{1,60}: (?:(?:line )?\d+: )?(?:cannot \w{1,10} )?['‘]?"
            r"(?P<a>[^\n:'’]{1,200})['’]?: No such file or directory\s*$"
            r"|^FileNotFoundError: \[Errno 2\] No such file or directory: '(?P<b>[^'\n]{1,200})'"
            r"|: can't open file '(?P<c>[^'\n]{1,200})': \[Errno 2\]",
            re.MULTILINE,
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


def _inside(failed: Failed) -> str:
    """The path that a message names, relative to the workspace; nothing for one outside of it."""
    inside = failed.about.removeprefix(f"{failed.disk.root}/").removeprefix("./")
    return "" if inside.startswith(("/", "~", "<")) or ".." in inside.split("/") else inside


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


def _shown(text: str) -> str:
    return f"`{escape_line(text).replace('`', chr(39))[:200]}`" if text else ""
