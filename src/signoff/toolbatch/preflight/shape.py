"""Calls in the wrong shape: nothing to write, nowhere to write it, the wrong tool for it."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from signoff.toolbatch.calls import Nature, NextAction
from signoff.toolbatch.duplicates import WHOLE
from signoff.toolbatch.quoting import quoted
from signoff.toolbatch.rules import Block, PreflightRule, Rewrite
from signoff.toolbatch.shellwork import command_of, rewritten
from signoff.toolbatch.steering.shaping import lacking
from signoff.toolbatch.steering.step import editor, next_action, writer
from signoff.toolbatch.view import View

_CHECKED = frozenset({Nature.MUTATE, Nature.SHELL})
_FENCED = re.compile(r"```[\w+.#-]*\n((?:(?!```).)*?)\n?```", re.DOTALL)
_MAY_BE_FENCED = frozenset({"", ".adoc", ".markdown", ".md", ".mdx", ".rst", ".txt"})


def missing_payload(view: View) -> Block | None:
    """A change without its target or its text would be refused, or empty a file."""
    call = view.call
    if call.shape.nature not in _CHECKED or call.malformed or call.tool not in view.tools:
        return None
    without = lacking(call)
    if not without:
        return _emptied(view)
    what = ", ".join(quoted(name) for name in without)
    verb = "is" if len(without) == 1 else "are"
    text = f"{what} {verb} missing; send the call whole: {call.shape.usage}"
    return Block(text, NextAction(call.tool, call.target))


def _emptied(view: View) -> Block | None:
    """An empty text is a text, but not for a planned file that this task has made already."""
    call = view.call
    planned = {artifact.path for artifact in view.definition.artifacts}
    made = planned - {artifact.path for artifact in view.missing}
    if call.arguments.get(WHOLE) != "" or WHOLE not in call.shape.payload:
        return None
    if call.target not in made or call.target not in view.definition.touched or view.repeated:
        return None
    text = f"this would empty {quoted(call.target)}, which is planned and made: send its text"
    return Block(text, next_action(view), guidance=True)


def shell_rewrite(view: View) -> Block | None:
    """File tools keep what was there, see what does not match, and name what they changed."""
    if view.call.shape.nature is not Nature.SHELL or not view.exists:
        return None
    command = command_of(view.call)
    paths = rewritten(command)
    in_place = " -i" in f" {command} " or "-pi" in command or "--in-place" in command
    if in_place and len(paths) > 1:
        return None  # one change of many files: no file tool does that
    tool = editor(view) if in_place else writer(view)
    shape = view.shapes.get(tool)
    if not paths or shape is None or shape.nature is not Nature.MUTATE or tool not in view.tools:
        return None
    text = (
        f"{quoted(paths[0])} is a text file that is there already: change it with "
        f"{shape.usage or quoted(tool)} instead of rewriting it through the shell"
    )
    return Block(text, NextAction(tool, paths[0]), guidance=True)


def fenced_text(view: View) -> Rewrite | None:
    """Weak models send a file as they would show it in an answer; the fence is no part of it."""
    call = view.call
    text = call.arguments.get(WHOLE)
    if call.shape.nature is not Nature.MUTATE or not isinstance(text, str):
        return None
    found = _FENCED.fullmatch(text.strip("\n"))
    if found is None or PurePosixPath(call.target).suffix.lower() in _MAY_BE_FENCED:
        return None
    said = "the fence around the text was taken off: a file holds the text alone"
    return Rewrite({**call.arguments, WHOLE: f"{found[1]}\n"}, said)


RULES = (
    PreflightRule(
        "missing_payload",
        "A change or command without its target or its text.",
        missing_payload,
    ),
    PreflightRule(
        "shell_rewrite",
        "A text file that exists is rewritten through the shell (`sed -i`, `perl -pi`, `> file`).",
        shell_rewrite,
    ),
    PreflightRule(
        "fenced_text",
        "The text of a file comes in a markdown fence: it is written without.",
        fenced_text,
    ),
)
