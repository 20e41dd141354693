"""Ledger entries in words, for `log`, for a live run and for one whose output is piped."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from signoff.cli.report import tone_of, unwatched_line
from signoff.cli.show import (
    Tone,
    count,
    dollars,
    duration,
    painted,
    picked,
    say,
    say_json,
    say_line,
    short,
    subject_words,
    versioned,
)
from signoff.domain.facts import AttemptFinished, read_fact
from signoff.domain.globs import literal
from signoff.domain.ledger import Cause, Choice, Entry, Kind, Outcome
from signoff.domain.second_look import JudgeCalibrated, OpinionGiven, Strength
from signoff.domain.text import escape_line, shown_list, tail
from signoff.domain.verdict import Phase, Reason, Result, TestCounts
from signoff.gate.record import Worked
from signoff.orchestrator.events import Appended, Event
from signoff.usecases.questions import InboxItem

LONGEST_QUOTE = 120
MOST_UNNOTICED = 3
_SAYS_ALL = {Reason.TAMPERED, Reason.HELD_BEFORE, Reason.TESTS, Reason.INFLUENCED, Reason.OUTSIDE}
_TELLS = re.compile(r"(?!\s*#).*[^\W\d_]{2}")
_WHEN = {
    Phase.BASELINE: "as the run begins",
    Phase.BEFORE: "before any work",
    Phase.SWEEP: "final sweep",
    Phase.AUDIT: "audit",
}


def entry_line(entry: Entry) -> str:
    """One entry in words: where it happened, then what did."""
    words = _WORDS.get(entry.kind)
    said = words(entry) if words else entry.kind.meaning
    return escape_line(" · ".join(filter(None, (subject_words(entry.step), _when(entry), said))))


def entry_tone(entry: Entry) -> Tone:
    """Tone of an entry; a contract that is broken before any work is as it should be."""
    data = entry.data
    if entry.kind is Kind.VERDICT:
        if data["reason"] == Reason.TAMPERED:
            return Tone.TAMPERED
        expected = data["phase"] in (Phase.BASELINE, Phase.BEFORE)
        return Tone.PLAIN if expected else tone_of(data["result"])
    if entry.kind is Kind.RUN_FINISHED:
        return Tone.KEPT if data["outcome"] == Outcome.DONE else Tone.BROKEN
    if entry.kind is Kind.SESSION_SIGNED:
        return Tone.KEPT if data["open"] else Tone.BROKEN
    return tone_of(data["result"]) if entry.kind is Kind.AUDITED else _TONES[entry.kind]


def entry_json(entry: Entry) -> dict[str, Any]:
    """The stable shape of one entry."""
    return versioned(**picked(entry, "seq at kind run step attempt data prev hash"))


def _when(entry: Entry) -> str:
    phase = entry.data["phase"] if entry.kind is Kind.VERDICT else Phase.ATTEMPT
    attempt = f"attempt {entry.attempt}" if entry.attempt is not None else ""
    return _WHEN.get(phase, attempt)


class LineReporter:
    """One plain line per entry, for pipes and logs."""

    def tell(self, event: Event) -> None:
        """Print entries; live output is not repeated."""
        if isinstance(event, Appended):
            with suppress(OSError):  # a reader who left must not stop the run
                line = painted(entry_line(event.entry), entry_tone(event.entry), sys.stderr)
                print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Do nothing: nothing is held."""


class JsonReporter(LineReporter):
    """One JSON object per entry on stdout."""

    def tell(self, event: Event) -> None:
        """Print entries as they are appended."""
        if isinstance(event, Appended):
            with suppress(OSError):  # a reader who left must not stop the run
                say_json(entry_json(event.entry))
                sys.stdout.flush()


def _verdict(entry: Entry) -> str:
    data = entry.data
    reused = f" (same evidence as entry {data['reused_from']})" if data.get("reused_from") else ""
    lines = ", ".join(f"`{line}`" for line in data.get("proposed", ()))
    lacks = f"; the check reads what this step names: to let it change, {lines}" if lines else ""
    where = f"; {data['room']}" if data.get("outgrew_room") else ""
    unseen = f" ({unwatched_line(data['unwatched'])})" if data.get("unwatched") else ""
    return f"{_judged(data)}{reused}{where}{lacks}{unseen}"


def _judged(data: Mapping[str, Any]) -> str:
    """A verdict in words: by its tests where they say why, else with the last line of output."""
    tests = TestCounts.from_data(data.get("counts"))
    if data["result"] == Result.KEPT:
        passed = count(tests.passed, "test") if tests is not None and tests.passed else ""
        return f"kept: {passed} passed" if passed else f"kept: {data['message']}"
    if tests is not None and tests.failed and data["reason"] == Reason.EXPECTATION:
        fail = "1 test fails" if tests.failed == 1 else f"{tests.failed} tests fail"
        return fail + (f", {tests.passed} passed" if tests.passed else "") + f" ({data['message']})"
    # The message of a tampering begins with the word.
    result = "" if data["reason"] == Reason.TAMPERED else f"{data['result']}: "
    printed = data["output_tail"] or data.get("heldout_tail", "")
    return f"{result}{data['message']}{_last_line('' if data['reason'] in _SAYS_ALL else printed)}"


def _last_line(output: str) -> str:
    """The end of what was printed, passing over comments, bare marks and indented details."""
    lines = [line for line in reversed(output.splitlines()) if line.strip()]
    says = max(lines, key=lambda s: (bool(_TELLS.match(s)), not s[0].isspace()), default="")
    return f": {says.strip()[:LONGEST_QUOTE]}" if says else ""


def _attempt_finished(entry: Entry) -> str:
    data = entry.data
    if data.get("lost"):
        if data.get("limited"):
            return f"does not count: usage limit: {data['limited'][:LONGEST_QUOTE]}"
        return "was interrupted" if data.get("ending") else "was lost with its driver"
    cost = _cost(data.get("usage") or {})
    if data.get("usage_unreadable"):
        cost = ", its usage report is no JSON object with the numbers `tokens` and `usd`"
    own = data.get("answer") or {}
    said = f"; the agent says: {own['kind']}: {own['reason'][:LONGEST_QUOTE]}" if own else ""
    acting = ", ".join(data.get("handoff") or {})
    handoff = f"; changed files that other tools execute: {acting}" if acting else ""
    denied = ", ".join(data.get("denied_hosts") or ())
    handoff += f"; asked for hosts that it may not reach: {denied}" if denied else ""
    how = f"was {data['session']}" if data.get("session") else duration(data["duration_s"])
    return f"ended: {how}{cost}{_trouble(data)}{said}{handoff}"


def _cost(usage: Mapping[str, Any]) -> str:
    """Usage that an attempt told; what it did not tell is left out."""
    tokens, usd = usage.get("tokens"), usage.get("usd")
    told = [f"{tokens:,} tokens"] if tokens is not None else []
    told += [dollars(usd)] if usd is not None else []
    return "".join(f", {part}" for part in told)


def _trouble(data: Mapping[str, Any]) -> str:
    """The failure of the agent itself, at its end; of any other agent only the work counts."""
    worked = Worked.of(read_fact(AttemptFinished, data))
    if worked is None or not worked.in_trouble:
        return ""
    return f"; the agent failed: {worked}{_last_line(worked.output_tail)}"


def _strength(entry: Entry) -> str:
    found = read_fact(Strength, entry.data)
    lines = "; ".join(f"not noticed: {version}" for version in found.unnoticed[:MOST_UNNOTICED])
    more = len(found.unnoticed) - MOST_UNNOTICED
    lines += f"; and {more} more" if more > 0 else ""
    return "; ".join(filter(None, (f"its contract {found}", lines)))


def _opinion_given(entry: Entry) -> str:
    given = read_fact(OpinionGiven, entry.data)
    cost = "" if given.reused_from else _cost(entry.data)
    again = f" (given in entry {given.reused_from})" if given.reused_from else ""
    how = f" [{given.measured}]" if given.measured else ""
    said = "; ".join(given.lines)[: LONGEST_QUOTE * 3]
    return f"opinion of {given.model}, no proof: {given.result}{again}{how}{cost}: {said}"


def _calibrated(entry: Entry) -> str:
    found = read_fact(JudgeCalibrated, entry.data)
    return f"opinions of {found.model}: {found.measured(entry.at)}{_cost(entry.data)}"


def _run_started(entry: Entry) -> str:
    session = entry.data.get("session") or {}
    signs = f", for the work in {session['id']} by {session['agent']}" if session else ""
    return f"run {entry.run} begins in {entry.data['workspace']}{signs}"


def _run_finished(entry: Entry) -> str:
    data, why = entry.data, f": {entry.data['why']}" if entry.data.get("why") else ""
    return f"the run is over: {data['outcome']}, on content {short(data['snapshot'])}{why}"


def _plan_written(entry: Entry) -> str:
    """A written plan in words; for a rewrite with its reason, and what was dropped or weakened."""
    data = entry.data
    anew = " anew" if data.get("difference") is not None else ""
    parts = [f"plan derived from the task{anew}"]
    if not data.get("derived"):
        parts = [f"the agent wrote its plan{anew}"]
        parts += [f"reason: {data['reason']}" if data.get("reason") else ""]
    parts += [f"{w}: {', '.join(data[w])}" for w in ("dropped", "weakened") if data.get(w)]
    parts += [f"waits for a person ({data['question']})" if data.get("question") else ""]
    return "; ".join(filter(None, parts))


def _attempt_started(entry: Entry) -> str:
    data = entry.data
    number = f" as candidate {data['candidate']}" if data.get("candidate") else ""
    return f"{data['role']} begins{number}" + (f" in lane {data['lane']}" if "lane" in data else "")


def _claimed(entry: Entry) -> str:
    data = entry.data
    said = [f"{word}: {data[word]}" for word in ("evidence", "notes") if data.get(word)]
    if ruling := data.get("ruling"):
        said.append(f"{ruling['model']} said: {ruling['reason']}")
    return "; ".join([f"the agent says: {data['status'].replace('_', ' ')}", *said])


def _tool_called(entry: Entry) -> str:
    data = entry.data
    files = [f"{w} {shown_list(data[w])}" for w in ("reads", "writes") if data.get(w)]
    failed = [] if data.get("ok", True) else ["failed"]
    return "; ".join([f"calls {data['name']} ({data['id']})", *failed, *files])


def _session_signed(entry: Entry) -> str:
    data = entry.data
    if not data["open"]:
        return f"not signed: {'; '.join(data.get('missing', ()))}"
    label = ", checks self-set" if data["self_set"] else ""
    return f"signed off by {data.get('by', '?')} on content {short(data['snapshot'])}{label}"


def _answered(entry: Entry) -> str:
    data, why = entry.data, f": {note}" if (note := entry.data["note"]) else ""
    return f"question {data['id']} answered by {_who(data)}: {data['choice']}{why}"


def _who(data: Mapping[str, Any]) -> str:
    return " by ".join(str(data[name]) for name in ("by", "door") if name in data)


def _decided(what: str) -> Callable[[Entry], str]:
    """A person's decision, who made it, and why."""

    def words(entry: Entry) -> str:
        by, why = entry.data.get("by"), entry.data.get("note")
        return what + (f" by {by}" if by else "") + (f": {why}" if why else "")

    return words


# A kind without words of its own is told by its meaning.
_WORDS: dict[Kind, Callable[[Entry], str]] = {
    Kind.PLAN_VERIFIED: lambda e: f"plan {short(e.data['plan_digest'])} verified: no errors",
    Kind.PLAN_APPROVED: lambda e: (
        f"plan approved by {_who(e.data)}{'' if e.data['interactive'] else ', not interactively'}"
    ),
    Kind.PLAN_REJECTED: _decided("plan rejected"),
    Kind.RUN_STARTED: _run_started,
    Kind.RUN_RESUMED: lambda e: f"run {e.run} goes on in process {e.data['pid']}",
    Kind.RUN_FINISHED: _run_finished,
    Kind.STEP_LISTED: lambda e: f"{count(len(e.data['items']), 'item')} when the run began",
    Kind.STEP_EXPANDED: lambda e: f"{count(len(e.data['items']), 'item')}, each a step of its own",
    Kind.ATTEMPT_STARTED: _attempt_started,
    Kind.ATTEMPT_FINISHED: _attempt_finished,
    Kind.VERDICT: _verdict,
    Kind.STRENGTH_MEASURED: _strength,
    Kind.OPINION_GIVEN: _opinion_given,
    Kind.JUDGE_CALIBRATED: _calibrated,
    Kind.STEP_PICKED: lambda e: f"attempt {e.data['attempt']} is picked: {e.data['why']}",
    Kind.STEP_LANDED: lambda _: "landed: the workspace has it now",
    Kind.STEP_TURNED_BACK: lambda e: f"did not land: {e.data['message']}",
    Kind.STEP_DONE: lambda e: f"done{', kept from an earlier run' if e.data['carried'] else ''}",
    Kind.STEP_FAILED: lambda e: f"failed: {e.data['message']}",
    Kind.STEP_REOPENED: lambda e: "broken again by " + (", ".join(e.data["suspects"]) or "nobody"),
    Kind.STEP_RESTORED: lambda _: "done again",
    Kind.STEP_CLEARED: lambda e: f"put back for the other steps: {', '.join(e.data['paths'])}",
    Kind.STEP_WAIVED: _decided("waived"),
    Kind.ESCALATION_OPENED: lambda e: f"question {e.data['id']}: {e.data['question']}",
    Kind.ESCALATION_ANSWERED: _answered,
    Kind.AUDITED: lambda e: f"audited: {e.data['result']}",
    Kind.PLAN_BOUND: lambda e: f"{e.data['worktree']} works on this plan from now on",
    Kind.PLAN_UNBOUND: lambda e: f"{e.data['worktree']} does not work on this plan any more",
    Kind.PLAN_MERGED: lambda e: f"{e.data['branch']} merged into {e.data['base']}",
    Kind.SESSION_STARTED: lambda e: (
        f"session {'goes on' if e.data.get('resumed') else 'begins'}: {e.data.get('author') or '?'}"
    ),
    Kind.PLAN_WRITTEN: _plan_written,
    Kind.STEP_CLAIMED: _claimed,
    Kind.TOOL_CALLED: _tool_called,
    Kind.NOTE_KEPT: lambda e: f"the agent notes {e.data['key']}",
    Kind.STEP_STRAYED: lambda e: f"changed what it does not declare: {', '.join(e.data['paths'])}",
    Kind.SESSION_DELEGATED: lambda e: f"handed to {e.data['child']}",
    Kind.SESSION_USAGE: lambda e: f"used {e.data.get('tokens') or 0:,} tokens",
    Kind.ANSWER_REFUSED: lambda e: (
        f"final answer refused; missing: {'; '.join(e.data.get('missing', ()))}"
    ),
    Kind.ANSWER_ACCEPTED: lambda _: "final answer accepted, not signed off yet",
    Kind.SESSION_ENDED: lambda e: f"session over: {e.data['how']}",
    Kind.SESSION_SIGNED: _session_signed,
    Kind.DEFINITION_CHANGED: lambda e: f"the task: {str(e.data.get('fact', '')).replace('_', ' ')}",
}
_TONES = dict.fromkeys(Kind, Tone.PLAIN) | {
    Kind.STEP_DONE: Tone.KEPT,
    Kind.STEP_RESTORED: Tone.KEPT,
    Kind.STEP_FAILED: Tone.BROKEN,
    Kind.STEP_TURNED_BACK: Tone.BROKEN,
    Kind.STEP_REOPENED: Tone.BROKEN,
    Kind.ANSWER_REFUSED: Tone.BROKEN,
    Kind.PLAN_EDITED: Tone.WAITING,
    Kind.STEP_WAIVED: Tone.WAITING,
    Kind.ESCALATION_OPENED: Tone.WAITING,
}


_FOR_MACHINES = ("ledger entry",)
# Stored words that say less than people need; all others are shown as they are.
_LABELS = {
    "files that make other programs act": "files that other tools execute",
    "output_tail": "the contract's last output",
    "put back or removed again": "put back or removed again before the last attempt",
    "step": "the step that would be next",
}
_MOST_NAMED = 5
# What can be typed into a list of globs as it is; anything else a person had better look at.
_PLAIN_PATH = re.compile(r"[^\s,`#]+")


def item_json(item: InboxItem) -> dict[str, object]:
    """The stable shape of one question."""
    said = picked(item, "id plan path step question context choices at gone")
    return {**said, "workspace": item.workspace or None}


def item_context(item: InboxItem) -> Iterator[tuple[str, str]]:
    """Everything that a question is told with, each under its name."""
    for name, value in item.context.items():
        if value and name not in _FOR_MACHINES:
            # A name in a list may hold line ends of its own.
            names = [escape_line(str(name)) for name in value] if isinstance(value, list) else []
            text = "\n".join(names) or str(value)
            yield _LABELS.get(name, name), tail(text, 2_000).rstrip("\n")


def show_item(item: InboxItem, where: str = "") -> None:
    """A question for people; `where` the plan is, unless they know."""
    say_line(f"{item.id}  {where or item.plan}  {item.at[:19]}", Tone.WAITING)
    say_line(f"  {item.question}")
    for name, text in item_context(item):
        say(f"  {name}:")
        # Only real line ends: a carriage return is shown, not obeyed.
        for line in text.split("\n"):
            say(f"    | {line}")
    if item.cause is None:
        say_line(f"  next: signoff sign {item.id}")
        return
    if item.gone:
        say_line(f"  its folder `{item.workspace}` is gone: put it back, or give the run up")
        say(f"  next: signoff answer {item.id} {Choice.ABORT}")
        return
    say(f"  next: signoff answer {item.id} {'|'.join(item.choices)}")
    if Choice.ALLOW in item.choices:
        say_line(f"  to allow it: signoff answer {item.id} {Choice.ALLOW}")
    elif item.step is not None and item.context.get("tampered") and Choice.REVISE in item.choices:
        say_line(f"  to allow it: {_allowing(item)}")
    if item.cause is Cause.AGENT_ANSWER:
        say(f"  to tell the agent: signoff answer {item.id} retry --note TEXT")


def _allowing(item: InboxItem) -> str:
    """The line for the plan that lets the step change these files.

    A name that would mean more than one file is spelled so that it means that one.
    """
    files = list(dict.fromkeys(_file(item, name) for name in item.context["tampered"]))
    plain = all(_PLAIN_PATH.fullmatch(name) and escape_line(name) == name for name in files)
    named = ", ".join(map(literal, files)) if plain and len(files) <= _MOST_NAMED else "PATH, PATH"
    step = (item.step or "").partition("[")[0]  # the items of a list have one step in the plan
    return f"add `**may_change:** {named}` to step {step}, then signoff answer {item.id} revise"


def _file(item: InboxItem, name: str) -> str:
    """Only what steers a check is named with a part behind `#`; a file's own name may have one."""
    steers = f"`{name}`: what steers the check" in item.question
    return name.partition("#")[0] if steers else name
