"""Show work on a plan, for people and as data: a run, a session, a judgement."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from msgspec import to_builtins

from signoff.cli.show import (
    Tone,
    count,
    dollars,
    duration,
    in_lanes,
    picked,
    say,
    say_line,
    say_marked,
    short,
    subject_words,
    versioned,
)
from signoff.domain.plan import PlanStatus
from signoff.domain.second_look import Strength
from signoff.domain.text import moment, storable_path
from signoff.domain.verdict import Result, TestCounts
from signoff.errors import Exit
from signoff.gate.subjects import OpinionStanding, Standing, StepState
from signoff.usecases.harness import PlanLocation
from signoff.usecases.status import ContentStatus, Spending, StatusReport

if TYPE_CHECKING:
    from signoff.agents.session import SessionReport
    from signoff.usecases.audit import AuditReport, Line

SELF_SET = 'the agent chose these checks itself; self_set = "accept" in your own [agent] takes them'
EXIT_OF = {Result.KEPT: Exit.YES, Result.BROKEN: Exit.NOT_DONE, Result.UNKNOWN: Exit.CANNOT_JUDGE}
_TONES = {"kept": Tone.KEPT, "broken": Tone.BROKEN, "unproved": Tone.BROKEN}
# In pipes, and on terminals.
MARKS = {
    StepState.PENDING: ("[ ]", Tone.PLAIN),
    StepState.RUNNING: ("[.]", Tone.PLAIN),
    StepState.DONE: ("[x]", Tone.KEPT),
    StepState.FAILED: ("[!]", Tone.BROKEN),
    StepState.BLOCKED: ("[?]", Tone.WAITING),
    StepState.WAIVED: ("[-]", Tone.WAITING),
    StepState.ACCEPTED: ("[x]", Tone.PLAIN),
}


def gone_text(place: PlanLocation) -> str:
    return (
        f"the plan file is gone; what was approved is pinned. To put it back: {place.putting_back}"
    )


def status_code(report: StatusReport, strict: bool = False) -> int:
    """The exit code of a plan's standing."""
    if report.status is PlanStatus.DONE:
        if is_other(report.content):
            return Exit.NOT_DONE if report.content.differs else Exit.CANNOT_JUDGE
        return Exit.NOT_DONE if strict and report.gate.waived else Exit.YES
    for_people = report.session is not None and report.session.standing.persons_verb
    return Exit.WAITING if report.waiting or for_people else Exit.NOT_DONE


def is_other(content: ContentStatus | None) -> TypeGuard[ContentStatus]:
    """True when nothing says that a plan is kept on what lies in the workspace now."""
    return content is not None and content.differs is not False and not content.judged_again_at


def show_strictness(report: StatusReport, strict: bool) -> None:
    """Explain why the exit code says no where the status says done."""
    if strict and report.status is PlanStatus.DONE and report.gate.waived:
        say_line(f"not done for --strict: {', '.join(report.gate.waived)} waived")


def status_json(report: StatusReport) -> dict[str, Any]:
    """The stable shape of `status --json`."""
    gate, looked, driver = report.gate, report.content, report.driver
    return versioned(
        **picked(report, "title status run as_of edited isolation unproven older"),
        **picked(report, "outgrew_room"),
        **picked(report, "signed_off_at signed_off_on since_sign_off"),
        plan=report.place.name,
        path=str(report.place.path),
        gate=gate.gate,
        waiting=[item.id for item in report.waiting],
        session=None if (line := report.session) is None else picked(line, "id standing"),
        steps=[_standing_json(s) for s in gate.steps],
        postconditions=[_standing_json(s) for s in gate.postconditions],
        missing=[picked(missing, "subject what next") for missing in gate.missing],
        waived=gate.waived,
        held_before_accepted_by=gate.held_before_accepted_by or None,
        spent={"tokens": report.spent.tokens, "usd": report.spent.usd, "s": report.spent.work_s}
        | {"known": picked(report.spent.known, "tokens usd")},
        parked_until=min((w.until for w in report.waiting if w.until is not None), default=None),
        drift=looked.differs if looked else None,
        judged_again_at=looked.judged_again_at if looked else None,
        driver=picked(driver.holder, "pid host since") | {"alive": driver.alive}
        if driver
        else None,
    )


def _standing_json(standing: Standing) -> dict[str, Any]:
    counts = standing.tests
    return {
        **picked(standing, "id title state attempts verdict stale held_before carried"),
        **picked(standing, "handoff accepted_by lanes unwatched"),
        "tests": None if counts is None else counts.to_data(with_names=False),
        "strength": None if standing.strength is None else strength_of(standing.strength),
        "opinion": None if standing.opinion is None else _opinion_json(standing.opinion),
    }


def _opinion_json(opinion: OpinionStanding) -> dict[str, Any]:
    """The stable shape of an opinion; its name says that it is no proof."""
    given = opinion.given
    return {
        **picked(given, "model result why reused_from"),
        **picked(opinion, "stale overruled"),
        "measured": opinion.measured or None,
        "claims": to_builtins(given.claims),
    }


def strength_of(found: Strength) -> dict[str, Any]:
    """The stable shape of a contract's strength."""
    numbers = {name: getattr(found, name) for name in ("share", "tried", "rejected")}
    return {**numbers, **to_builtins(found)}


def show_status(report: StatusReport) -> None:
    """A plan and its newest run, for people."""
    say_line(f"{report.title}  [{report.status}]", _tone(report))
    say(_progress(report))
    if report.status is PlanStatus.IN_PROGRESS:
        _show_driver(report)
    for standing in (*report.gate.steps, *report.gate.postconditions):
        mark, tone = MARKS[standing.state]
        say_marked(_standing_line(standing), tone, mark=mark, indent="  ")
    _show_word(report.gate.held_before_accepted_by)
    if report.place.gone:
        say(gone_text(report.place))
    if report.edited:
        say("the plan file differs from what this run was approved for: signoff diff")
        say(f"to take the edited plan: {report.next_for_edit}")
    rooms = (f"{subject_words(subject)}: {why}" for subject, why in report.outgrew_room.items())
    for line in (*rooms, *(_missing_lines(report) if report.run else ())):
        say_line(line)
    told = " ".join(missing.what for missing in report.gate.missing)
    _show_parked(report)
    for item in report.waiting:
        if item.step is None and item.id not in told:
            say(f"missing: plan: it waits for a person ({item.id}) (signoff inbox)")
    if report.session is not None and report.session.standing.persons_verb:
        state, plan = report.session.standing, shlex.quote(report.place.name)
        say_line(f"{state}: signoff {state.persons_verb} {plan}")
    spent = report.spent
    if spent.work_s:
        say(f"spent: {_used(spent)}, {duration(spent.work_s)} of work")
    if report.older:
        path = shlex.quote(str(report.place.path))
        say(f"approved by an older version: approve again: signoff approve {path}")
    if report.unproven:
        say(f"person not proven: {count(report.unproven, 'decision')} (signoff log)")
    if report.signed_off_at:
        since = f"; since then {', '.join(report.since_sign_off)}" if report.since_sign_off else ""
        but = _but(report.content)
        on = f"{report.signed_off_at} on content {short(report.signed_off_on)}"
        say(f"signed off at {on}{since}{but}")


def _show_word(who: str) -> None:
    if who:
        say_line(f"every contract held before the work: {who} called it done all the same")


def _show_parked(report: StatusReport) -> None:
    path = shlex.quote(str(report.place.path))
    for item in report.waiting:
        if item.until is not None:
            when = f"parked until {moment(item.until)} by a usage limit ({item.id})"
            say_line(f"{when}: signoff run {path} --wait goes on by itself")


def _tone(report: StatusReport) -> Tone:
    """Done is good news only about what lies there now."""
    if report.status is PlanStatus.DONE and not is_other(report.content):
        return Tone.KEPT
    if report.status is PlanStatus.FAILED:
        return Tone.BROKEN
    return Tone.WAITING if report.waiting else Tone.PLAIN


def _used(spent: Spending) -> str:
    """Tokens and dollars; what somebody did not tell is unknown, and at least what others told."""
    known = spent.known
    if spent.tokens is None and spent.usd is None and not (known.tokens or known.usd):
        return "tokens and dollars unknown (no usage reported)"
    tokens = f"{known.tokens:,} tokens"
    if spent.tokens is None:
        tokens = f"at least {tokens}" if known.tokens else "tokens unknown"
    usd = dollars(known.usd)
    if spent.usd is None:
        usd = f"at least {usd}" if known.usd else "dollars unknown"
    return f"{tokens}, {usd}"


def _progress(report: StatusReport) -> str:
    if report.run is None:
        return "not started"
    said = f"run {report.run}, gate {report.gate.gate}"
    said += f", as of content {short(report.as_of)}" if report.as_of else ""
    return f"{said}, isolation {report.isolation}" if report.isolation else said


def _but(content: ContentStatus | None) -> str:
    """A sign-off does not un-happen; what is there now is another question."""
    if content is None or content.differs is False:
        return ""
    if content.differs is None:
        return "; the content could not be compared with it"
    if content.judged_again_at:
        return f", but this content is not it; judged again at {content.judged_again_at}: kept"
    return ", but this content is not it (drift)"


def _show_driver(report: StatusReport) -> None:
    """Say if somebody works on it now; of a run that waits for a person, nobody has to."""
    driver, going_on = report.driver, f"signoff run {shlex.quote(str(report.place.path))} goes on"
    if driver is not None and driver.alive:
        say_line(f"running: {driver.holder}")
    elif not report.waiting:
        gone = f"its driver is gone ({driver.holder})" if driver else "nobody drives it now"
        say_line(f"{gone}: {going_on}")


def _missing_lines(report: StatusReport) -> list[str]:
    """Missing things, one line each; done steps that only wait for the sweep are counted."""
    stale = {s.id for s in report.gate.steps if s.state is StepState.DONE and s.stale}
    lines = [
        f"missing: {m.subject}: {m.what} ({m.next})"
        for m in report.gate.missing
        if m.subject not in stale
    ]
    if stale:
        lines.append(f"missing: {count(len(stale), 'done step')} to be judged on the final content")
    return lines


def _standing_line(standing: Standing) -> str:
    notes = standing_notes(standing)
    detail = f"  ({', '.join(notes)})" if notes else ""
    return f"{standing.id}  {standing.title}{detail}"


def standing_notes(standing: Standing) -> list[str]:
    """Everything that is to be said of a step or postcondition, beside its state."""
    notes = []
    if standing.attempts:
        notes.append(count(standing.attempts, "attempt"))
    if standing.lanes:
        notes.append(in_lanes(standing.lanes))
    if standing.verdict is not None:
        notes.append(str(standing.verdict))
    if standing.stale:
        notes.append("stale")
    if standing.held_before:
        notes.append("held before: proves nothing about this step")
    if standing.carried:
        notes.append("kept from an earlier run")
    if standing.tests is not None:
        notes.append(_tests(standing.tests))
    if standing.handoff:
        notes.append(f"changed files that other tools execute: {', '.join(standing.handoff)}")
    if standing.unwatched:
        notes.append(unwatched_line(standing.unwatched))
    if standing.state is StepState.WAIVED:
        notes.append("waived")
    if standing.accepted_by is not None:
        notes.append(f"{standing.accepted_by} says it holds; nothing was judged")
    return notes + _second_looks(standing)


def _second_looks(standing: Standing) -> list[str]:
    """Strength of the contract, and a model's opinion: neither is the proof."""
    notes = [str(standing.strength)] if standing.strength is not None else []
    return notes + ([_opinion(standing.opinion)] if standing.opinion is not None else [])


def unwatched_line(why: str) -> str:
    """Words for a check of which nobody could tell what it read."""
    return f"what the check read cannot be told, so every changed file counted as read: {why}"


def _opinion(opinion: OpinionStanding) -> str:
    given = opinion.given
    aside = ["on earlier content"] if opinion.stale else []
    aside += ["overruled by a person"] if opinion.overruled else []
    aside += [opinion.measured or "never calibrated"]
    return f"opinion of {given.model}, no proof: {given.result} [{'; '.join(aside)}]"


def _tests(counts: TestCounts) -> str:
    if not counts.endings:
        checked = f"{count(counts.files, 'file')} checked" if counts.files else ""
        uncounted = f"tests not counted: {counts.untold}" if counts.untold else ""
        return "; ".join(filter(None, (checked, uncounted)))
    aside = {"failed": counts.failed, "skipped": counts.skipped, "deselected": counts.deselected}
    more = "".join(f", {number} {what}" for what, number in aside.items() if number)
    return f"{count(counts.passed, 'test')} passed{more}"


def session_json(report: SessionReport) -> dict[str, Any]:
    """The stable shape of a session's report."""
    return {**to_builtins(report), "rewrite_count": len(report.rewrites)}


def say_session(report: SessionReport, lacks: str = "missing") -> None:
    """The work of an agent's session, for people; `lacks` is what the gate's list is called."""
    refused = f", final answers refused: {report.refusals}" if report.refusals else ""
    say_line(f"  claimed {len(report.claimed)}, proved {len(report.proved)}{refused}")
    if report.per_verified_step is not None:
        say_line(f"  {report.per_verified_step.tokens:,} tokens per verified step")
    show_left_out(report)
    if report.strayed:
        say_line(f"  changed outside the step in progress: {', '.join(report.strayed)}")
    for missing in report.gate.missing:
        say_line(f"  {lacks}: {missing.subject}: {missing.what}")
    if report.self_set:
        say_line("  self-set: the agent chose the checks itself")


def show_left_out(report: SessionReport) -> None:
    """Rewrites, and what was waived, dropped or weakened: always shown, whatever else is."""
    if report.rewrites:
        why = "; ".join(rewrite.reason or "no reason given" for rewrite in report.rewrites)
        say_line(f"  plan rewritten {count(len(report.rewrites), 'time')}: {why}")
    left_out = {
        "went on without": report.waived,
        "dropped from the plan": report.dropped,
        "weakened": report.weakened,
    }
    for what, subjects in left_out.items():
        if subjects:
            say_line(f"  {what}: {', '.join(subjects)}")


def say_judged(lines: Iterable[Line]) -> None:
    """Steps and postconditions that were judged again, one line each."""
    for line in lines:
        said = f"{line.finding:<10} {line.subject}  {line.title}: {line.message}"
        say_marked(said, tone_of(line.finding), indent="  ")


def judged_json(lines: Iterable[Line]) -> list[dict[str, Any]]:
    """The judgement as data."""
    return [picked(line, "subject title finding message") for line in lines]


def tone_of(finding: str) -> Tone:
    """Tone of a verdict, or of an audit's finding about a subject."""
    return _TONES.get(finding, Tone.WAITING)


def audit_code(result: Result, refused: bool) -> int:
    """The exit code of an answer; `refused` when the caller takes no waiver for a yes."""
    return Exit.NOT_DONE if refused and result is Result.KEPT else EXIT_OF[result]


def answer_line(result: Result, waived: Sequence[str], strict: bool) -> str:
    """The last line: what was waived is never called kept."""
    but = f", except what was waived: {', '.join(waived)}" if waived else ""
    but += "; not kept for --strict" if waived and strict else ""
    return f"audit: {result}{but if result is Result.KEPT else ''}"


def audit_json(report: AuditReport) -> dict[str, Any]:
    """The stable shape of `audit --json`."""
    return versioned(
        **picked(report, "result signed_off_at signed_off_on content receipts anchors"),
        **picked(report, "edited notes isolation self_set"),
        plan=report.place.name,
        entries=report.chain.entries,
        head=report.chain.head,
        drift=[{"path": storable_path(c.path), "kind": c.kind} for c in report.drift],
        waivers=[to_builtins(waiver) for waiver in report.waivers],
        lines=judged_json(report.lines),
    )
