"""A concrete follow-up for each kind of failure: what to look at, what to send next."""

from __future__ import annotations

import difflib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath

from signoff.domain.text import escape_line
from signoff.toolbatch.calls import ANSWER, Call, Nature, NextAction, Result
from signoff.toolbatch.disk import Disk
from signoff.toolbatch.recovery.categories import Category, Episode
from signoff.toolbatch.steps import next_step, step_text
from signoff.toolbatch.view import View

MOST_NEAR = 5
AROUND = 3  # lines shown on each side of the best match
MOST_LINES = 5_000
LONGEST_LINE = 200
MOST_FOLDERS = 300  # that are looked into for a name
MOST_TOOLS = 20
_NOT_THE_TASKS = frozenset({"node_modules", "__pycache__", "venv", "target", "build", "dist"})


@dataclass(frozen=True)
class Failed:
    """A failure with all that advice about it may rest on."""

    view: View
    result: Result | None
    episode: Episode
    disk: Disk

    @property
    def call(self) -> Call:
        """The call that failed."""
        return self.view.call


@dataclass(frozen=True)
class Advice:
    """Text for the model, and the same for a machine."""

    text: str
    next_action: NextAction | None  # nothing where no step is known


def advise(failed: Failed) -> Advice:
    """What to do now; once the budget of an episode is used up, something else altogether."""
    if failed.episode.used_up:
        return _another_way(failed)
    return _ADVICE[failed.episode.failure.category](failed)


def tool_of(view: View, nature: Nature, payload: str = "") -> str:
    """A tool that can be called for this, preferably with such a payload; the answer if none."""
    fitting = [
        name
        for name, shape in view.shapes.items()
        if name in view.tools
        and shape.nature is nature
        and (not payload or payload in shape.payload)
    ]
    if fitting or not payload:
        return fitting[0] if fitting else ANSWER
    return tool_of(view, nature)


def _another_way(failed: Failed) -> Advice:
    view, episode = failed.view, failed.episode
    what = f"{episode.failure.category} for `{_shown(episode.failure.subject)}`"
    begun = f"{what} failed {episode.attempts} times, and {episode.budget} were allowed: leave it"
    target = view.next_target
    if target is not None and target.path != view.call.target:
        action = NextAction(tool_of(view, Nature.MUTATE, "content"), target.path)
        return Advice(f"{begun} and go on with `{_shown(target.path)}`.", action)
    return Advice(f"{begun} and go another way.", None)


def _not_found(failed: Failed) -> Advice:
    wanted = failed.call.target or _inside(failed, failed.episode.failure.about)
    looker = tool_of(failed.view, Nature.OBSERVE)
    if not wanted:
        return Advice("a file that it names is not there: look at what there is.", None)
    near = _nearest(failed, wanted)
    if near:
        names = ", ".join(f"`{_shown(name)}`" for name in near)
        tool = failed.call.tool if failed.call.target else tool_of(failed.view, Nature.OBSERVE)
        return Advice(
            f"`{_shown(wanted)}` is not there; near it: {names}.", NextAction(tool, near[0])
        )
    text = f"`{_shown(wanted)}` is not there, nor anything with a similar name: list the folder."
    return Advice(text, NextAction(looker, str(PurePosixPath(wanted).parent)))


def _edit_mismatch(failed: Failed) -> Advice:
    call = failed.call
    if failed.episode.attempts >= failed.view.limits.failed_edits:
        times = failed.episode.attempts
        text = f"{times} edits of `{_shown(call.target)}` did not match: write all of it."
        return Advice(text, NextAction(tool_of(failed.view, Nature.MUTATE, "content"), call.target))
    if failed.episode.failure.about:
        text = "send more of the lines around it, so that it means one place"
        return Advice(text, NextAction(call.tool, call.target))
    lines = _best_match(failed)
    text = "copy the text exactly as it stands, spaces included"
    if lines:
        text += "; the nearest lines of the file now:\n" + lines
    return Advice(text, NextAction(call.tool, call.target))


def _permission(failed: Failed) -> Advice:
    text = "it is not yours to change: leave permissions as they are and work inside the workspace"
    target = failed.view.next_target
    if target is not None and target.path != failed.call.target:
        tool = tool_of(failed.view, Nature.MUTATE, "content")
        return Advice(f"{text}; next is `{_shown(target.path)}`.", NextAction(tool, target.path))
    return Advice(f"{text}; what cannot be done without it is said openly.", None)


def _timeout(failed: Failed) -> Advice:
    text = (
        "it took too long: run a smaller part of it, or allow it more time; "
        "nothing goes on in the background"
    )
    return Advice(text, NextAction(failed.call.tool, failed.call.target))


def _missing_module(failed: Failed) -> Advice:
    name = failed.episode.failure.about
    named = f"`{_shown(name)}`" if name else "a module"
    text = (
        f"{named} cannot be imported: if it is this project's, mind the folder that the command "
        "runs in; if it is not, use what is installed"
    )
    return Advice(text, NextAction(tool_of(failed.view, Nature.OBSERVE), ""))


def _missing_command(failed: Failed) -> Advice:
    name = failed.episode.failure.about
    named = f"`{_shown(name)}`" if name else "the command"
    text = f"{named} is not installed: use another that is (`command -v` tells), or the file tools"
    return Advice(text, NextAction(failed.call.tool, failed.call.target))


def _syntax(failed: Failed) -> Advice:
    path = failed.call.target or _inside(failed, failed.episode.failure.about)
    if not path or not failed.disk.exists(path):
        return Advice(
            "mend the syntax of the command and send it again", NextAction(failed.call.tool)
        )
    text = f"`{_shown(path)}` does not parse: look at the line that the message names"
    return Advice(text, NextAction(tool_of(failed.view, Nature.MUTATE, "old"), path))


def _arguments(failed: Failed) -> Advice:
    call = failed.call
    name = failed.episode.failure.about
    if call.tool not in failed.view.tools:
        step = next_step(failed.view)
        if step is not None and step.possible:
            said = f"there is no tool `{_shown(call.tool)}`. {step_text(failed.view, step)}"
            return Advice(said, step.action)
        close = difflib.get_close_matches(call.tool, sorted(failed.view.tools), n=1, cutoff=0.3)
        if not close:
            names = ", ".join(f"`{name}`" for name in sorted(failed.view.tools)[:MOST_TOOLS])
            return Advice(f"there is no tool `{_shown(call.tool)}`; there are {names}.", None)
        shape = failed.view.shapes.get(close[0])
        usage = f": {shape.usage}" if shape is not None and shape.usage else ""
        return Advice(
            f"there is no tool `{_shown(call.tool)}`; the nearest is `{close[0]}`{usage}.",
            NextAction(close[0]),
        )
    field = f"`{_shown(name)}` is wrong; " if name else ""
    usage = call.shape.usage or f"{call.tool}(…)"
    return Advice(f"{field}the call must be shaped {usage}.", NextAction(call.tool, call.target))


def _malformed(failed: Failed) -> Advice:
    usage = failed.call.shape.usage or f"{failed.call.tool}(…)"
    text = f"send the arguments as one JSON object, shaped {usage}."
    known = failed.call.tool in failed.view.tools
    return Advice(text, NextAction(failed.call.tool, failed.call.target) if known else None)


def _empty(failed: Failed) -> Advice:
    target = failed.view.next_target
    if target is not None:
        tool = tool_of(failed.view, Nature.MUTATE, "content")
        text = f"the answer was empty: make a call, next is `{_shown(target.path)}`."
        return Advice(text, NextAction(tool, target.path))
    return Advice("the answer was empty: make a call, or answer in words.", None)


def _nearest(failed: Failed, wanted: str) -> list[str]:
    """Names like the one that is not there: beside it, else the same name elsewhere."""
    path = PurePosixPath(wanted)
    folder = str(path.parent)
    close = difflib.get_close_matches(path.name, failed.disk.names(folder), MOST_NEAR, 0.5)
    near = [str(PurePosixPath(folder) / name) for name in close]
    known = dict.fromkeys((*failed.view.task.touched[-200:], *_planned(failed.view)))
    near += [name for name in known if PurePosixPath(name).name == path.name and name != wanted]
    near += _elsewhere(failed.disk, path.name) if not near else []
    return [name for name in dict.fromkeys(near) if failed.disk.exists(name)][:MOST_NEAR]


def _elsewhere(disk: Disk, name: str) -> list[str]:
    """Files of this very name in other folders, the nearest to the root first."""
    folders, found = deque([""]), list[str]()
    for _ in range(MOST_FOLDERS):
        if not folders:
            break
        folder = folders.popleft()
        for entry in disk.names(folder or "."):
            path = f"{folder}{entry}"
            if entry == name:
                found.append(path)
            elif "." not in entry and entry not in _NOT_THE_TASKS:
                folders.append(f"{path}/")
    return found[:MOST_NEAR]


def _inside(failed: Failed, path: str) -> str:
    """A path that a message names, relative to the workspace; nothing for one outside of it."""
    inside = path.removeprefix(f"{failed.disk.root}/").removeprefix("./")
    return "" if inside.startswith(("/", "~", "<")) or ".." in inside.split("/") else inside


def _planned(view: View) -> tuple[str, ...]:
    return tuple(artifact.path for artifact in view.task.planned)


def _best_match(failed: Failed) -> str:
    """The lines around the best match; only of a file that the tool itself has read."""
    call, result = failed.call, failed.result
    old = call.arguments.get("old")
    if result is None or call.target not in result.reads or not isinstance(old, str):
        return ""
    data = failed.disk.read(call.target)
    lines = (data or b"").decode("utf-8", "replace").split("\n")[:MOST_LINES]
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


def _shown(text: str) -> str:
    return escape_line(text).replace("`", "'")[:200]


_ADVICE: dict[Category, Callable[[Failed], Advice]] = {
    Category.NOT_FOUND: _not_found,
    Category.EDIT_MISMATCH: _edit_mismatch,
    Category.PERMISSION: _permission,
    Category.TIMEOUT: _timeout,
    Category.MISSING_MODULE: _missing_module,
    Category.MISSING_COMMAND: _missing_command,
    Category.SYNTAX: _syntax,
    Category.ARGUMENTS: _arguments,
    Category.MALFORMED: _malformed,
    Category.EMPTY: _empty,
}
