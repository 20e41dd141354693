"""Pre-flight: what speaks against a call before it is made; the first rule that speaks decides.

What a rule says is the result of the call, with the next step behind it: nobody says it again. To
add a rule: write a function `View -> Decision | None` with one line about it as its docstring, and
put it at its place in `PREFLIGHT`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePosixPath

from signoff.toolbatch.artifacts import beyond_the_set, nearest_missing, root_page
from signoff.toolbatch.calls import ANSWER, Call, Nature, NextAction, ResultKind
from signoff.toolbatch.duplicates import WHOLE
from signoff.toolbatch.shellwork import rewritten
from signoff.toolbatch.steps import (
    NextStep,
    answer,
    editor,
    listed,
    next_action,
    next_step,
    openly,
    quoted,
    step_text,
    writer,
)
from signoff.toolbatch.view import CallDecision, CallView

PreflightRule = Callable[[CallView], CallDecision | None]

_CHANGES = frozenset({Nature.MUTATE, Nature.SHELL})
_FENCED = re.compile(r"```[\w+.#-]*\n((?:(?!```).)*?)\n?```", re.DOTALL)
_MAY_BE_FENCED = frozenset({"", ".adoc", ".markdown", ".md", ".mdx", ".rst", ".txt"})
# An empty text replaces a passage by nothing, or makes an empty file; nobody else can say it.
_MAY_BE_EMPTY = frozenset({"new", WHOLE})
_LIKENESS = 0.4


def blocked_again(view: CallView) -> CallDecision | None:
    """The same call was blocked before and would be again: another way, then an error."""
    times, limit = view.counts.blocked_alike, view.limits.repeats
    found = _first(PREFLIGHT[1:], view) if times else None
    if found is None or found[1].kind is not ResultKind.BLOCKED or found[1].arguments is not None:
        return None
    block = found[1]
    text = f"blocked for the {times + 1}. time, and sending it again will not help: {block.text}"
    if times >= limit:
        text += "; leave it and go another way"
        block = replace(block, next_action=_action(_another_way(view)))
    return replace(block, text=text, guidance=block.guidance and times <= limit)


def missing_payload(view: CallView) -> CallDecision | None:
    """A change or command without its target or its text."""
    call = view.call
    if call.shape.nature not in _CHANGES or call.malformed or call.tool not in view.tools:
        return None
    without = _lacking(call)
    if not without:
        return _emptied(view)
    what = ", ".join(quoted(name) for name in without)
    verb = "is" if len(without) == 1 else "are"
    text = f"{what} {verb} missing{_misnamed(call, without)}; send the call whole"
    return CallDecision(f"{text}: {call.shape.usage}", NextAction(call.tool, call.target))


def _lacking(call: Call) -> list[str]:
    """The arguments that a change or a command cannot do without, and that did not come."""
    wanted = [call.shape.path] if call.shape.path and not call.target else []
    given = ((name, call.arguments.get(name)) for name in call.shape.payload)
    return wanted + [n for n, v in given if v is None or (v == "" and n not in _MAY_BE_EMPTY)]


def _misnamed(call: Call, without: list[str]) -> str:
    """Which argument came under another name."""
    known = {call.shape.path, *call.shape.payload}
    for name in (name for name in call.arguments if name not in known):
        close = difflib.get_close_matches(name, without, n=1, cutoff=_LIKENESS)
        if close:
            return f" ({quoted(name)} is no argument: it is called {quoted(close[0])})"
    return ""


def _emptied(view: CallView) -> CallDecision | None:
    """An empty text is a text, but not for a planned file that this task has made already."""
    call = view.call
    made = {a.path for a in view.task.planned} - {a.path for a in view.missing}
    if call.arguments.get(WHOLE) != "" or WHOLE not in call.shape.payload:
        return None
    if call.target not in made or call.target not in view.task.touched or view.repeated:
        return None
    text = f"this would empty {quoted(call.target)}, which is planned and made: send its text"
    return CallDecision(text, next_action(view), guidance=True)


def out_of_scope(view: CallView) -> CallDecision | None:
    """A change beside the files that an open repair is about; reads go anywhere."""
    focus, call = view.repair, view.call
    if focus is None or call.shape.nature not in _CHANGES:
        return None
    named = call.paths if call.shape.nature is Nature.MUTATE else rewritten(call.command)
    outside = [path for path in named if path not in ("", ".") and not focus.allows(path)]
    if not outside:
        return None
    text = (
        f"{quoted(outside[0])} is outside of the repair that round {focus.round} asks for; "
        f"what may be changed until it is made: {listed(focus.allowed)}. A person can widen it"
    )
    return CallDecision(text, next_action(view), guidance=True)


def shell_rewrite(view: CallView) -> CallDecision | None:
    """A text file that exists is rewritten through the shell (`sed -i`, `perl -pi`, `> file`)."""
    if view.call.shape.nature is not Nature.SHELL or not view.exists:
        return None
    command = view.call.command
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
    action = NextAction(tool, paths[0])
    if view.counts.broken_alike >= view.limits.repeats and view.repair is None:
        action = next_action(view) or action  # one file over and over: the others wait
    return CallDecision(text, action, guidance=True)


def duplicate_mutation(view: CallView) -> CallDecision | None:
    """A write or edit that would not change the file, or was made already."""
    if not view.repeated or view.call.shape.nature is not Nature.MUTATE:
        return None
    step = next_step(view)
    same = step is not None and step.action == NextAction(view.call.tool, view.call.target)
    if same and not view.open_work and view.repair is None:
        step = answer(view)
    return CallDecision(f"nothing to change: {view.repeated}", _action(step), ResultKind.DUPLICATE)


def duplicate_observation(view: CallView) -> CallDecision | None:
    """A look at what was shown before, with nothing changed that it shows."""
    if not view.repeated or view.call.shape.nature not in (Nature.OBSERVE, Nature.SHELL):
        return None
    text = f"already shown: {view.repeated}; see above"
    return CallDecision(text, next_action(view), ResultKind.DUPLICATE)


def late_question(view: CallView) -> CallDecision | None:
    """A question to the person when everything is built."""
    if view.call.shape.nature is not Nature.ASK or not view.only_judging_left:
        return None
    text = "everything planned is built: there is nothing left to ask; it is judged now"
    return CallDecision(text, next_action(view), guidance=True)


def expanding(view: CallView) -> CallDecision | None:
    """A new page beside a declared set of its kind, which nothing declares."""
    call, target = view.call, view.call.target
    if call.shape.nature is not Nature.MUTATE or not target or view.repair is not None:
        return None
    is_next = view.next_target is not None and view.next_target.path == target
    if view.exists or view.named_first or is_next or not beyond_the_set(view.task, target):
        return None
    near, root = nearest_missing(view.missing, target), root_page(view.task)
    action = NextAction(writer(view), near) if near else next_action(view)
    first = f"name it in {quoted(root)}" if root else "name it in the todo list"
    instead = f", or write the nearest declared one, {quoted(near)}" if near else ""
    text = f"{quoted(target)} is not in the declared set: {first} first{instead}"
    return CallDecision(text, action, guidance=True)


def broken_link(view: CallView) -> CallDecision | None:
    """A write that brings in a link to nowhere: said, then with every way out, then an error."""
    if not view.breaks:
        return None
    action, times = NextAction(view.call.tool, view.call.target), view.counts.broken_alike
    if not times:
        found = listed(tuple(fault.text for fault in view.breaks))
        text = f"this would bring in what does not hold: {found}; mend it and send again"
        return CallDecision(text, action, guidance=True)
    fault = view.breaks[0]
    near = f" 2. link to {quoted(fault.near)}, which is there." if fault.near else ""
    text = (
        f"for the {times + 1}. time {quoted(view.call.target)} refers to {quoted(fault.target)},"
        f" which is not there. Ways out: 1. write {quoted(fault.target)} first.{near}"
        f" {3 if near else 2}. leave the link out"
    )
    return CallDecision(text, action, guidance=times <= view.limits.repeats)


def fenced_text(view: CallView) -> CallDecision | None:
    """The text of a file comes in a markdown fence: it is written without."""
    call = view.call
    text = call.arguments.get(WHOLE)
    if call.shape.nature is not Nature.MUTATE or not isinstance(text, str):
        return None
    found = _FENCED.fullmatch(text.strip("\n"))
    if found is None or PurePosixPath(call.target).suffix.lower() in _MAY_BE_FENCED:
        return None
    said = "the fence around the text was taken off: a file holds the text alone"
    return CallDecision(said, arguments={**call.arguments, WHOLE: f"{found[1]}\n"})


PREFLIGHT: tuple[PreflightRule, ...] = (
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


def decide(view: CallView) -> tuple[str, CallDecision] | None:
    """The rule that speaks about a call, and what it says; None: nothing is against it."""
    return _first(PREFLIGHT, view)


def worded(view: CallView, decision: CallDecision) -> str:
    """What the model reads: why it was not made, and the one thing to do now."""
    action = decision.next_action
    if action is None:
        return decision.text
    step = next_step(view)
    if step is None or step.action != action:
        step = openly() if action.tool == ANSWER else NextStep(action)
    return f"{decision.text}. {step_text(view, step)}"


def must_stop(view: CallView) -> bool:
    """Whether the same was blocked so often that no further advice will help."""
    if view.result is None or view.result.kind is not ResultKind.BLOCKED:
        return False
    repeats = view.limits.repeats
    links = view.result.rule == "broken_link" and view.counts.broken_alike > repeats + 1
    return links or view.counts.blocked_alike > repeats


def _another_way(view: CallView) -> NextStep | None:
    """The next step by other means: the whole file, another missing file, or an honest end."""
    step = next_step(view)
    blocked = NextAction(view.call.tool, view.call.target)
    if step is None or step.answers or step.action != blocked:
        return step
    if step.action.tool != writer(view):
        return replace(step, action=NextAction(writer(view), step.action.target))
    others = [a.path for a in view.missing if a.path != blocked.target and not a.directory]
    if others and view.repair is None:
        return replace(step, action=NextAction(step.action.tool, others[0]), item=None)
    return openly()


def _action(step: NextStep | None) -> NextAction | None:
    return step.action if step is not None and step.possible else None


def _first(rules: tuple[PreflightRule, ...], view: CallView) -> tuple[str, CallDecision] | None:
    for rule in rules:
        decision = rule(view)
        if decision is not None:
            return rule.__name__, decision
    return None
