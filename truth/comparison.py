"""What a case expects, compared with what happened: every difference in words."""

from __future__ import annotations

from signoff.domain.ledger import Entry, Kind
from signoff.domain.text import escape_line
from signoff.domain.verdict import Isolation, Phase, Result
from signoff.errors import Exit
from truth.arena import Happened
from truth.case import DECOY, Accepted, Case, Refused

EXCERPT = 40
LONGEST = 400
_TOLD = ("message", "question")
_DECIDING = (Kind.STEP_DONE, Kind.STEP_RESTORED, Kind.STEP_REOPENED)
_SHOWN = (
    *("phase", "result", "reason", "message", "exit_code", "tampered", "isolation", "ending"),
    *("leftovers_killed", "outcome", "cause", "question", "difference", "output_tail"),
)


def is_accepted(case: Case, happened: Happened) -> bool:
    """Whether anything was accepted that the case is about: the attacked step, or the whole."""
    subject = case.expect.step if isinstance(case.expect, Refused) else None
    about = [e for e in happened.entries if e.step == subject and e.hash == e.expected_hash()]
    decided = [e.kind for e in about if e.kind in _DECIDING]
    step_done = decided[-1:] != [Kind.STEP_REOPENED] and bool(decided)
    return step_done or happened.ended.exit_code == Exit.YES or happened.audit is Result.KEPT


def complaints(case: Case, happened: Happened, isolation: Isolation) -> list[str]:
    """Everything that is not as the case says; empty when all is well."""
    expect = case.under.get(promised(isolation), case.expect)
    if isinstance(expect, Accepted):
        found = _not_accepted(expect, happened) + _other_isolation(happened, isolation)
    else:
        found = _not_refused(case, expect, happened)
    if happened.unanswered:
        found.append("a person was to be asked, and was not")
    if happened.afterwards:
        found.append(f"the look afterwards failed: {happened.afterwards}")
    found += [f"a process outlived the case: {line}" for line in happened.survivors]
    return found


def promised(isolation: Isolation) -> Isolation:
    """Under which name a case speaks of it: our own namespaces promise what bubblewrap does."""
    return Isolation.BUBBLEWRAP if isolation.has_own_view else isolation


def without_the_line(case: Case, line: str, happened: Happened) -> list[str]:
    """What is not as it should be where the case lacks the line that it needs."""
    if is_accepted(case, happened):
        return [f"accepted without `{line}`"]
    told = [str(e.data.get(name, "")) for e in happened.entries for name in _TOLD]
    if any(f"`{line}`" in text for text in told):
        return []
    return [f"expected `{line}` in the refusal, it said: {' | '.join(filter(None, told))}"]


def excerpt(entries: tuple[Entry, ...]) -> list[str]:
    """The ledger's end, one line an entry, safe to print."""
    return [_line(entry) for entry in entries[-EXCERPT:]]


def _not_accepted(expect: Accepted, happened: Happened) -> list[str]:
    found = [f"the ledger cannot be read: {happened.unreadable}"] if happened.unreadable else []
    if happened.ended.exit_code != Exit.YES:
        found.append(f"expected done (exit 0), happened: {happened.ended}")
    if happened.audit is not Result.KEPT:
        found.append(f"expected an audit to keep it, happened: {happened.audit or 'an error'}")
    waived = sorted(e.step or "" for e in happened.entries if e.kind is Kind.STEP_WAIVED)
    if waived != sorted(expect.waived):
        found.append(f"expected waived: {sorted(expect.waived)}, happened: {waived}")
    started = [e for e in happened.entries if e.kind is Kind.ATTEMPT_STARTED]
    attempts = sum(e.data["role"] != DECOY for e in started)
    if expect.attempts not in (None, attempts):
        found.append(f"expected {expect.attempts} attempts, happened: {attempts}")
    return found


def _other_isolation(happened: Happened, isolation: Isolation) -> list[str]:
    """A mode that was asked for and not used would prove nothing about it."""
    kept = [e for e in _verdicts(happened) if e.data["result"] == Result.KEPT]
    used = {e.data["isolation"] for e in kept}
    if used <= {isolation}:
        return []
    return [f"expected every verdict under isolation {isolation}, happened: {sorted(used)}"]


def _not_refused(case: Case, expect: Refused, happened: Happened) -> list[str]:
    found = []
    if is_accepted(case, happened):
        found.append(f"ACCEPTED ({happened.ended}, audit: {happened.audit or 'an error'})")
    if case.lanes:
        return found  # refused for whatever reason: some attacks cannot even take place there
    if happened.ended.error != expect.error:
        found.append(f"expected error `{expect.error}`, happened: {happened.ended}")
    questions = [e.data for e in happened.entries if e.kind is Kind.ESCALATION_OPENED]
    cause = questions[-1]["cause"] if questions else None
    if expect.cause is not None and cause != expect.cause:
        found.append(f"expected a question because of `{expect.cause}`, happened: {cause}")
    if expect.reason is not None:
        found += _other_verdict(expect, happened)
    return found


def _other_verdict(expect: Refused, happened: Happened) -> list[str]:
    judged = [e.data for e in _verdicts(happened) if e.step == expect.step]
    if not judged:
        return [
            f"expected a verdict about {expect.step}, happened: {happened.unreadable or 'none'}"
        ]
    newest = judged[-1]
    found = []
    wanted, told = (expect.result, expect.reason), (newest["result"], newest["reason"])
    if wanted != told:
        found.append(f"expected {' '.join(map(str, wanted))}, happened: {' '.join(told)}")
    if expect.says not in newest["message"]:
        found.append(f"expected `{expect.says}` in the message `{newest['message']}`")
    if expect.files is not None and set(expect.files) != set(newest["tampered"]):
        found.append(f"expected files {sorted(expect.files)}, named: {sorted(newest['tampered'])}")
    return found


def _verdicts(happened: Happened) -> list[Entry]:
    """Those that can decide: not the judging before an attempt."""
    verdicts = [e for e in happened.entries if e.kind is Kind.VERDICT]
    return [e for e in verdicts if e.data["phase"] != Phase.BEFORE]


def _line(entry: Entry) -> str:
    shown = [f"{name}={_ending(entry.data[name])}" for name in _SHOWN if entry.data.get(name)]
    about = f" {entry.step}" if entry.step else ""
    attempt = f":{entry.attempt}" if entry.attempt else ""
    return escape_line(f"{entry.seq:>3} {entry.kind}{about}{attempt} {' '.join(shown)}")


def _ending(value: object) -> str:
    """The end of a long text says most."""
    text = repr(value)
    return text if len(text) <= LONGEST else f"…{text[-LONGEST:]}"
