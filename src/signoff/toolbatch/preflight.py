"""Pre-flight: what speaks against a call before it is made; the first rule that speaks decides.

What a rule says is the result of the call, with the next step behind it: nobody says it again. To
add a rule: write a function `View -> Decision | None` with one line about it as its docstring, and
put it at its place in `PREFLIGHT`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable

from signoff.toolbatch.calls import Call, Nature, NextAction, ResultKind
from signoff.toolbatch.duplicates import WHOLE
from signoff.toolbatch.shellwork import rewritten
from signoff.toolbatch.steps import (
    NextStep,
    action_of,
    answer,
    editor,
    listed,
    next_action,
    next_step,
    quoted,
    step_text,
    writer,
)
from signoff.toolbatch.view import CallDecision, CallView

PreflightRule = Callable[[CallView], CallDecision | None]

_CHANGES = frozenset({Nature.MUTATE, Nature.SHELL})
# An empty text replaces a passage by nothing, or makes an empty file; nobody else can say it.
_MAY_BE_EMPTY = frozenset({"new", WHOLE})
_LIKENESS = 0.4


def missing_payload(view: CallView) -> CallDecision | None:
    """A change or command without its target or its text."""
    call = view.call
    if call.shape.nature not in _CHANGES or call.malformed or call.tool not in view.tools:
        return None
    without = [call.shape.path] if call.shape.path and not call.target else []
    given = ((name, call.arguments.get(name)) for name in call.shape.payload)
    without += [n for n, v in given if v is None or (v == "" and n not in _MAY_BE_EMPTY)]
    if not without:
        return _emptied(view)
    what = ", ".join(quoted(name) for name in without)
    verb = "is" if len(without) == 1 else "are"
    text = f"{what} {verb} missing{_misnamed(call, without)}; send the call whole"
    return CallDecision(f"{text}: {call.shape.usage}", NextAction(call.tool, call.target))


def _emptied(view: CallView) -> CallDecision | None:
    """An empty text is a text, but not for a planned file that this task has made already."""
    call, touched = view.call, view.task.touched
    made = {a.path for a in view.task.planned if a not in view.missing and a.path in touched}
    if call.arguments.get(WHOLE) != "" or call.target not in made or view.repeated:
        return None
    text = f"this would empty {quoted(call.target)}, which is planned and made: send its text"
    return CallDecision(text, next_action(view), guidance=True)


def _misnamed(call: Call, without: list[str]) -> str:
    """Name the argument that came under another name."""
    known = {call.shape.path, *call.shape.payload}
    for name in (name for name in call.arguments if name not in known):
        close = difflib.get_close_matches(name, without, n=1, cutoff=_LIKENESS)
        if close:
            return f" ({quoted(name)} is no argument: it is called {quoted(close[0])})"
    return ""


def out_of_scope(view: CallView) -> CallDecision | None:
    """A change beside the files that an open repair is about; sent once more, it is made."""
    focus, call = view.repair, view.call
    if focus is None or call.shape.nature is not Nature.MUTATE or view.counts.strayed_alike:
        return None
    outside = [path for path in call.paths if path not in ("", ".") and not focus.allows(path)]
    if not outside:
        return None
    text = (
        f"{quoted(outside[0])} is outside of the repair that round {focus.round} asks for, which is"
        f" about {listed(focus.allowed)}; if the fault lies here, send it again"
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
    return CallDecision(
        f"nothing to change: {view.repeated}", action_of(step), ResultKind.DUPLICATE
    )


def duplicate_observation(view: CallView) -> CallDecision | None:
    """A look at what was shown before, with nothing changed that it shows."""
    if not view.repeated or view.call.shape.nature is not Nature.OBSERVE:
        return None
    text = f"already shown: {view.repeated}; see above"
    return CallDecision(text, next_action(view), ResultKind.DUPLICATE)


def late_question(view: CallView) -> CallDecision | None:
    """A question to the person when everything is built."""
    if view.call.shape.nature is not Nature.ASK or not view.only_judging_left:
        return None
    text = "everything planned is built: there is nothing left to ask; it is judged now"
    return CallDecision(text, next_action(view), guidance=True)


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


PREFLIGHT: tuple[PreflightRule, ...] = (
    missing_payload,
    out_of_scope,
    shell_rewrite,
    duplicate_mutation,
    duplicate_observation,
    late_question,
    broken_link,
)


def decide(view: CallView) -> tuple[str, CallDecision] | None:
    """The rule that speaks about a call, and what it says; None: nothing is against it."""
    for rule in PREFLIGHT:
        decision = rule(view)
        if decision is not None:
            return rule.__name__, decision
    return None


def worded(view: CallView, decision: CallDecision) -> str:
    """The text for the model: why the call was not made, and the one thing to do now."""
    action = decision.next_action
    if action is None:
        return decision.text
    step = next_step(view)
    if step is None or step.action != action:
        step = NextStep(action)
    return f"{decision.text}. {step_text(view, step)}"


def must_stop(view: CallView) -> bool:
    """True when the same was blocked so often that no further advice will help."""
    if view.result is None or view.result.kind is not ResultKind.BLOCKED:
        return False
    repeats = view.limits.repeats
    links = view.result.rule == "broken_link" and view.counts.broken_alike > repeats + 1
    return links or view.counts.blocked_alike > repeats
