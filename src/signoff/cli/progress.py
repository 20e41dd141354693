"""Ledger entries as lines, for `log` and for a run whose output is piped."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from signoff.cli.show import dollars, duration, say_json, short
from signoff.domain.facts import AttemptFinished, read_fact
from signoff.domain.ledger import Entry, Kind
from signoff.domain.plan import POSTCONDITION_PREFIX
from signoff.domain.session import shown_list
from signoff.domain.text import escape_line
from signoff.domain.verdict import Result
from signoff.gate.record import Worked
from signoff.orchestrator.events import Appended, Event

LONGEST_QUOTE = 120


def entry_line(entry: Entry) -> str:
    """One entry in a sentence."""
    words = _WORDS.get(entry.kind)
    detail = words(entry) if words else ""
    return escape_line(f"{_subject(entry.step)}{entry.kind} {detail}".rstrip())


def _subject(step: str | None) -> str:
    if step is None:
        return ""
    if step.startswith(POSTCONDITION_PREFIX):
        return f"postcondition {step.removeprefix(POSTCONDITION_PREFIX)}: "
    return f"step {step}: "


class LineReporter:
    """One plain line per entry, for pipes and logs."""

    def tell(self, event: Event) -> None:
        """Print entries; live output is not repeated."""
        if isinstance(event, Appended):
            with suppress(OSError):  # a reader who left must not stop the run
                print(entry_line(event.entry), file=sys.stderr, flush=True)

    def close(self) -> None:
        """Nothing is held."""


class JsonReporter:
    """One JSON object per entry on stdout."""

    def __init__(self, as_json: Callable[[Entry], dict[str, Any]]):
        self._as_json = as_json

    def tell(self, event: Event) -> None:
        """Print entries as they are appended."""
        if isinstance(event, Appended):
            with suppress(OSError):  # a reader who left must not stop the run
                say_json(self._as_json(event.entry))
                sys.stdout.flush()

    def close(self) -> None:
        """Nothing is held."""


def _verdict(entry: Entry) -> str:
    data = entry.data
    reused = f" (same evidence as entry {data['reused_from']})" if data.get("reused_from") else ""
    said = (
        ""
        if data["result"] == Result.KEPT
        else _last_line(data["output_tail"] or data.get("heldout_tail", ""))
    )
    lines = ", ".join(f"`{line}`" for line in data.get("proposed", ()))
    lacks = f"; the check reads what this step names: to let it change, {lines}" if lines else ""
    return f"{data['result']} [{data['phase']}] {data['message']}{reused}{said}{lacks}"


def _last_line(output: str) -> str:
    """The end of what a check printed is what people want to see first."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return f": {lines[-1][:LONGEST_QUOTE]}" if lines else ""


def _attempt_finished(entry: Entry) -> str:
    data = entry.data
    if data.get("lost"):
        how = "was interrupted" if data.get("ending") else "was lost with its driver"
        return f"attempt {entry.attempt} {how}"
    usage = data.get("usage") or {}
    spent = f", {usage.get('tokens', 0):,} tokens, {dollars(usage.get('usd', 0))}"
    cost = spent if usage else ""
    if data.get("usage_unreadable"):
        cost = ", its usage report is no JSON object with the numbers `tokens` and `usd`"
    answer = data.get("answer") or {}
    said = f"; it says: {answer['kind']}: {answer['reason'][:LONGEST_QUOTE]}" if answer else ""
    acting = ", ".join(data.get("handoff") or {})
    handoff = f"; changed files that other tools execute: {acting}" if acting else ""
    how = f" in {data['session']}" if data.get("session") else f", {duration(data['duration_s'])}"
    return f"attempt {entry.attempt}{how}{cost}{_trouble(data)}{said}{handoff}"


def _trouble(data: Mapping[str, Any]) -> str:
    """Why an agent failed by itself stands at its end; of any other only the work counts."""
    worked = Worked.of(read_fact(AttemptFinished, data))
    if worked is None or not worked.in_trouble:
        return ""
    return f"; it ended: {worked}{_last_line(worked.output_tail)}"


def _run_started(entry: Entry) -> str:
    session = entry.data.get("session") or {}
    signs = f", for the work in {session['id']} by {session['agent']}" if session else ""
    return f"{entry.run} in {entry.data['workspace']}{signs}"


def _run_finished(entry: Entry) -> str:
    why = f": {entry.data['why']}" if entry.data.get("why") else ""
    return f"{entry.data['outcome']} on content {short(entry.data['snapshot'])}{why}"


def _plan_written(entry: Entry) -> str:
    """Of a rewrite also why, and what the agent dropped or weakened by it."""
    data = entry.data
    parts = ["written anew" if data.get("difference") is not None else ""]
    parts += [f"reason: {data['reason']}" if data.get("reason") else ""]
    parts += [f"{w}: {', '.join(data[w])}" for w in ("dropped", "weakened") if data.get(w)]
    parts += [f"waits for a person ({data['question']})" if data.get("question") else ""]
    return "; ".join(filter(None, parts))


def _claimed(entry: Entry) -> str:
    data = entry.data
    said = [f"{word}: {data[word]}" for word in ("evidence", "notes") if data.get(word)]
    if ruling := data.get("ruling"):
        said.append(f"{ruling['model']} said: {ruling['reason']}")
    return "; ".join([str(data["status"]), *said])


def _tool_called(entry: Entry) -> str:
    data = entry.data
    files = [f"{w} {shown_list(data[w])}" for w in ("reads", "writes") if data.get(w)]
    failed = [] if data.get("ok", True) else ["failed"]
    return "; ".join([f"{data['name']} ({data['id']})", *failed, *files])


def _session_signed(entry: Entry) -> str:
    data = entry.data
    if not data["open"]:
        return f"not signed: {'; '.join(data.get('missing', ()))}"
    label = ", checks self-set" if data["self_set"] else ""
    return f"by {data.get('by', '?')} on content {short(data['snapshot'])}{label}"


_WORDS: dict[Kind, Callable[[Entry], str]] = {
    Kind.PLAN_VERIFIED: lambda e: short(e.data["plan_digest"]),
    Kind.PLAN_APPROVED: lambda e: (
        f"by {e.data['by']}{'' if e.data['interactive'] else ', not interactively'}"
    ),
    Kind.PLAN_REJECTED: lambda e: e.data["note"],
    Kind.RUN_STARTED: _run_started,
    Kind.RUN_RESUMED: lambda e: f"{e.run} by process {e.data['pid']}",
    Kind.RUN_FINISHED: _run_finished,
    Kind.STEP_LISTED: lambda e: f"{len(e.data['items'])} items when the run began",
    Kind.STEP_EXPANDED: lambda e: f"{len(e.data['items'])} items",
    Kind.ATTEMPT_STARTED: lambda e: f"attempt {e.attempt} by {e.data['role']}",
    Kind.ATTEMPT_FINISHED: _attempt_finished,
    Kind.VERDICT: _verdict,
    Kind.STEP_DONE: lambda e: "kept from an earlier run" if e.data["carried"] else "",
    Kind.STEP_FAILED: lambda e: e.data["message"],
    Kind.STEP_REOPENED: lambda e: "broke with " + ", ".join(e.data["suspects"] or ["no attempt"]),
    Kind.STEP_CLEARED: lambda e: f"put back for the other steps: {', '.join(e.data['paths'])}",
    Kind.STEP_WAIVED: lambda e: f"by {e.data['by']}: {e.data['note']}",
    Kind.ESCALATION_OPENED: lambda e: f"{e.data['id']}: {e.data['question']}",
    Kind.ESCALATION_ANSWERED: lambda e: (
        f"{e.data['id']}: {e.data['choice']} by {e.data['by']} {e.data['note']}"
    ),
    Kind.AUDITED: lambda e: e.data["result"],
    Kind.SESSION_STARTED: lambda e: (
        f"{'taken up again ' if e.data.get('resumed') else ''}by {e.data.get('author') or '?'}"
    ),
    Kind.PLAN_WRITTEN: _plan_written,
    Kind.STEP_CLAIMED: _claimed,
    Kind.TOOL_CALLED: _tool_called,
    Kind.STEP_STRAYED: lambda e: f"changed what it does not declare: {', '.join(e.data['paths'])}",
    Kind.SESSION_DELEGATED: lambda e: f"handed to {e.data['child']}",
    Kind.ANSWER_REFUSED: lambda e: f"missing: {'; '.join(e.data.get('missing', ()))}",
    Kind.SESSION_ENDED: lambda e: e.data["how"],
    Kind.SESSION_SIGNED: _session_signed,
    Kind.DEFINITION_CHANGED: lambda e: str(e.data.get("fact", "")).replace("_", " "),
}
