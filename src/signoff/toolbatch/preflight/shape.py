"""Calls in the wrong shape: nothing to write, nowhere to write it, the wrong tool for it."""

from __future__ import annotations

from pathlib import PurePosixPath

from signoff.toolbatch.calls import Call, Nature, NextAction
from signoff.toolbatch.preflight.wording import quoted
from signoff.toolbatch.rules import Block, PreflightRule
from signoff.toolbatch.shellwork import command_of, is_text, rewritten
from signoff.toolbatch.steering.step import editor, writer
from signoff.toolbatch.view import View

_MAY_BE_EMPTY = frozenset({"new"})  # a passage that is replaced by nothing
_EMPTY_FILES = frozenset({"__init__.py", "py.typed"})  # whose being there is their content
_CHECKED = frozenset({Nature.MUTATE, Nature.SHELL})


def missing_payload(view: View) -> Block | None:
    """A change without its target or its text would be refused, or empty a file."""
    call = view.call
    if call.shape.nature not in _CHECKED or call.malformed or call.tool not in view.tools:
        return None
    lacking = [call.shape.path] if call.shape.path and not call.target else []
    lacking += [name for name in call.shape.payload if _lacks(call, name)]
    if not lacking:
        return None
    what = ", ".join(quoted(name) for name in lacking)
    verb = "is" if len(lacking) == 1 else "are"
    text = f"{what} {verb} missing; send the call whole: {call.shape.usage}"
    return Block(text, NextAction(call.tool, call.target))


def shell_rewrite(view: View) -> Block | None:
    """File tools keep what was there, see what does not match, and name what they changed."""
    if view.call.shape.nature is not Nature.SHELL or not view.exists:
        return None
    command = command_of(view.call)
    paths = rewritten(command)
    in_place = " -i" in f" {command} " or "-pi" in command or "--in-place" in command
    tool = editor(view) if in_place else writer(view)
    shape = view.shapes.get(tool)
    if not paths or shape is None or shape.nature is not Nature.MUTATE or tool not in view.tools:
        return None
    text = (
        f"{quoted(paths[0])} is a text file that is there already: change it with "
        f"{shape.usage or quoted(tool)} instead of rewriting it through the shell"
    )
    return Block(text, NextAction(tool, paths[0]), guidance=True)


def _lacks(call: Call, name: str) -> bool:
    value = call.arguments.get(name)
    if value is None:
        return True
    if not isinstance(value, str) or value.strip() or name in _MAY_BE_EMPTY:
        return False
    file = PurePosixPath(call.target)
    may_be_empty = name == "content" and (file.name in _EMPTY_FILES or not is_text(call.target))
    return not may_be_empty and not (name == "old" and value)


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
)
