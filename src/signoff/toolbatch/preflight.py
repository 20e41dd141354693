"""Pre-flight: what speaks against a call before it is made; the first rule that speaks decides.

To add a rule: write a function `View -> Skip | Block | Rewrite | None` with one line about it as
its docstring, and put it at its place in `PREFLIGHT`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePosixPath

from signoff.domain.definition import DefinitionStatus
from signoff.toolbatch.calls import Nature, NextAction
from signoff.toolbatch.duplicates import WHOLE
from signoff.toolbatch.shellwork import command_of, rewritten
from signoff.toolbatch.steering.drifting import beyond_the_set, declared, is_summary, nearest
from signoff.toolbatch.steering.failing import lacking
from signoff.toolbatch.steering.step import editor, next_action, open_work, writer
from signoff.toolbatch.steering.wording import listed, quoted
from signoff.toolbatch.view import (
    Block,
    Decision,
    PreflightRule,
    Rewrite,
    Skip,
    View,
    preflight_rules,
)

_CHANGES = frozenset({Nature.MUTATE, Nature.SHELL})
_FENCED = re.compile(r"```[\w+.#-]*\n((?:(?!```).)*?)\n?```", re.DOTALL)
_MAY_BE_FENCED = frozenset({"", ".adoc", ".markdown", ".md", ".mdx", ".rst", ".txt"})
_OPEN_AGAIN = frozenset({DefinitionStatus.FIXING, DefinitionStatus.FAILED})


def missing_payload(view: View) -> Block | None:
    """A change or command without its target or its text."""
    call = view.call
    if call.shape.nature not in _CHANGES or call.malformed or call.tool not in view.tools:
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
    """A text file that exists is rewritten through the shell (`sed -i`, `perl -pi`, `> file`)."""
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
    """The text of a file comes in a markdown fence: it is written without."""
    call = view.call
    text = call.arguments.get(WHOLE)
    if call.shape.nature is not Nature.MUTATE or not isinstance(text, str):
        return None
    found = _FENCED.fullmatch(text.strip("\n"))
    if found is None or PurePosixPath(call.target).suffix.lower() in _MAY_BE_FENCED:
        return None
    said = "the fence around the text was taken off: a file holds the text alone"
    return Rewrite({**call.arguments, WHOLE: f"{found[1]}\n"}, said)


def duplicate_mutation(view: View) -> Skip | None:
    """A write or edit that would not change the file, or was made already."""
    if not view.repeated or view.call.shape.nature is not Nature.MUTATE:
        return None
    return Skip(f"nothing to change: {view.repeated}", next_action(view))


def duplicate_observation(view: View) -> Skip | None:
    """A look at what was shown before, with nothing changed that it shows."""
    if not view.repeated or view.call.shape.nature not in (Nature.OBSERVE, Nature.SHELL):
        return None
    return Skip(f"already shown: {view.repeated}; see above", next_action(view))


def out_of_scope(view: View) -> Block | None:
    """A change beside the files that an open repair is about; reads go anywhere."""
    focus, call = view.repair, view.call
    if focus is None or call.shape.nature not in _CHANGES:
        return None
    named = call.paths if call.shape.nature is Nature.MUTATE else rewritten(command_of(call))
    outside = tuple(path for path in named if path not in ("", ".") and not focus.allows(path))
    if not outside:
        return None
    text = (
        f"{quoted(outside[0])} is outside of the repair that round {focus.round} asks for; "
        f"what may be changed until it is made: {listed(focus.allowed)}. A person can widen it"
    )
    return Block(text, next_action(view), guidance=True)


def expanding(view: View) -> Block | None:
    """A new page beside a declared set of its kind, which nothing declares."""
    call, target = view.call, view.call.target
    if call.shape.nature is not Nature.MUTATE or not target or view.repair is not None:
        return None
    if view.exists or view.named_first or _is_next(view, target):
        return None
    if not beyond_the_set(view, target):
        return None
    near = nearest(view, target)
    action = NextAction(writer(view), near) if near else next_action(view)
    root = next((path for path in _files(view) if is_summary(path)), "")
    first = f"name it in {quoted(root)}" if root else "name it in the todo list"
    instead = f", or write the nearest declared one, {quoted(near)}" if near else ""
    text = f"{quoted(target)} is not in the declared set: {first} first{instead}"
    return Block(text, action, guidance=True)


def _files(view: View) -> list[str]:
    return [a.path for a in view.definition.artifacts if not a.directory]


def _is_next(view: View, path: str) -> bool:
    items = {artifact.path for item in view.definition.items for artifact in item.artifacts}
    return path in items or (view.next_target is not None and view.next_target.path == path)


def only_judging_left(view: View) -> bool:
    """Whether everything planned was built in this task, and no finding is open."""
    if not view.built or open_work(view) or view.repair is not None:
        return False
    # Files that were there before anything was done are not a thing that was built.
    return bool(view.definition.touched) and view.definition.status not in _OPEN_AGAIN


def late_question(view: View) -> Block | None:
    """A question to the person when everything is built."""
    if view.call.shape.nature is not Nature.ASK or not only_judging_left(view):
        return None
    text = "everything planned is built: there is nothing left to ask; it is judged now"
    return Block(text, next_action(view), guidance=True)


def refers(view: View) -> bool:
    """Whether the call is about material beside the planned outputs."""
    paths = [path for path in view.call.paths if path not in ("", ".")]
    return bool(paths) and not any(declared(view, path) for path in paths)


def broken_link(view: View) -> Block | None:
    """A write that brings in a broken local link, or what a checker finds."""
    if not view.breaks:
        return None
    text = f"this would bring in what does not hold: {listed(view.breaks)}; mend it and send again"
    return Block(text, NextAction(view.call.tool, view.call.target), guidance=True)


def blocked_again(view: View) -> Decision | None:
    """The same call was blocked before and would be again: plainer words, then an error."""
    times = view.counts.blocked_alike
    found = _first(_OTHERS, view) if times else None
    if found is None or not isinstance(found[1], Block):
        return None
    block = found[1]
    text = f"blocked for the {times + 1}. time, and sending it again will not help: {block.text}"
    return replace(block, text=text, guidance=block.guidance and times <= view.limits.repeats)


PREFLIGHT = preflight_rules(
    blocked_again,
    missing_payload,
    out_of_scope,
    shell_rewrite,
    duplicate_mutation,
    duplicate_observation,
    late_question,
    expanding,
    broken_link,
    fenced_text,  # the last, for what is rewritten is made
)
_OTHERS = PREFLIGHT[1:]


def decide(view: View) -> tuple[str, Decision] | None:
    """The rule that speaks about a call, and what it says; None: nothing is against it."""
    return _first(PREFLIGHT, view)


def _first(rules: tuple[PreflightRule, ...], view: View) -> tuple[str, Decision] | None:
    for rule in rules:
        decision = rule.decide(view)
        if decision is not None:
            return rule.name, decision
    return None
