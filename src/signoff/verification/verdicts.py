"""Compare what a process did with what its contract must show, and make the verdict.

Each verdict says to the person who reads it what is wrong and which line would allow it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from msgspec.structs import replace

from signoff.domain.digests import digest_bytes
from signoff.domain.ledger import Entry
from signoff.domain.plan import Contract, Expectation, ExpectationKind, JudgeIn
from signoff.domain.redaction import Redactor
from signoff.domain.snapshot import Change, ChangeKind, Snapshot
from signoff.domain.text import decode_output, shown_list, storable_path, tail
from signoff.domain.verdict import (
    Ending,
    HeldOutKind,
    Isolation,
    Observation,
    Phase,
    Reason,
    Result,
    Verdict,
)
from signoff.errors import SetupFailed
from signoff.process.sandboxes import own_view_advice
from signoff.verification.influences.changed import Influence
from signoff.verification.protection import Guard, Tampering, file_of


class UnboundVerdict(NamedTuple):
    """A verdict's core before it is bound to content."""

    result: Result
    reason: Reason
    message: str


NEEDS_WORKSPACE = UnboundVerdict(
    Result.UNKNOWN, Reason.INFRASTRUCTURE, "could not judge: it can be judged in the workspace only"
)
_CAME_TO_NO_END: dict[Ending, Reason] = {
    Ending.SIGNALLED: Reason.SIGNALLED,
    Ending.TIMED_OUT: Reason.TIMED_OUT,
    Ending.NOT_EXECUTABLE: Reason.NOT_EXECUTABLE,
    Ending.NOT_FOUND: Reason.NOT_FOUND,
    Ending.NOT_STARTED: Reason.INFRASTRUCTURE,
    Ending.OUTPUT_LIMIT: Reason.INFRASTRUCTURE,
    Ending.OVER_BUDGET: Reason.INFRASTRUCTURE,
}


def needles(contract: Contract, kind: ExpectationKind) -> tuple[bytes, ...]:
    """Byte strings to look for in a stream while it flows by, in the order of the expectations."""
    return tuple(str(e.value).encode() for e in contract.all_expectations() if e.kind is kind)


def compare(contract: Contract, observation: Observation) -> UnboundVerdict:
    """Kept when every expectation holds; unknown when the command did not come to its own end."""
    reason = _CAME_TO_NO_END.get(observation.ending)
    if reason is not None:
        return UnboundVerdict(Result.UNKNOWN, reason, f"could not judge: {observation.describe()}")
    stdout_found = iter(observation.stdout_matches)
    stderr_found = iter(observation.stderr_matches)
    misses: list[str] = []
    for expected in contract.all_expectations():
        if expected.kind is ExpectationKind.STDOUT_CONTAINS:
            held = next(stdout_found, False)
        elif expected.kind is ExpectationKind.STDERR_CONTAINS:
            held = next(stderr_found, False)
        elif expected.kind is ExpectationKind.TESTS_AT_LEAST:
            continue  # judged on the counts, by the denominator guard
        elif expected.kind is ExpectationKind.EXIT_CODE:
            held = observation.exit_code == expected.value
        else:
            wanted = str(expected.value).encode()
            held = observation.stdout.sha256 in map(digest_bytes, (wanted, wanted + b"\n"))
        if not held:
            misses.append(_miss(expected, observation))
    if misses:
        return UnboundVerdict(Result.BROKEN, Reason.EXPECTATION, "; ".join(misses))
    return UnboundVerdict(Result.KEPT, Reason.HELD, observation.describe())


def _miss(expected: Expectation, observation: Observation) -> str:
    if expected.kind is ExpectationKind.EXIT_CODE:
        return f"exit code {observation.exit_code}, expected {expected.value}"
    if expected.kind is ExpectationKind.STDOUT_EQUALS:
        return f"stdout ({observation.stdout.size} bytes) is not the expected text"
    stream = "stdout" if expected.kind is ExpectationKind.STDOUT_CONTAINS else "stderr"
    return f'{stream} does not contain "{expected.value}"'


_NOT_PERMITTED = re.compile(rb"operation not permitted|\bEPERM\b", re.IGNORECASE)


def refused_socket(observation: Observation) -> UnboundVerdict | None:
    """The answer when the sandbox was seen to refuse a socket, and the check says it met that."""
    printed = observation.stdout.kept + b"\n" + observation.stderr.kept
    if not observation.denied or not _NOT_PERMITTED.search(printed):
        return None
    message = (
        f"could not judge: the sandbox refused sockets ({', '.join(observation.denied)}), since"
        f" Landlock has no loopback of its own: {own_view_advice()}, or write `**network:** yes`"
        " into the plan"
    )
    return UnboundVerdict(Result.UNKNOWN, Reason.OBSTACLE, message)


NAMED_FILES = 20
_MOST_GLOBS = 5
# What a plan's line spells as it is: no comma, no quote, no sign of a glob.
_PLAIN = re.compile(r"\w[\w./@+-]*|\.\w[\w./@+-]*", re.ASCII)


def moved_by_contract(changes: tuple[Change, ...], before: Iterable[str]) -> UnboundVerdict:
    """Verdict on files that moved in a clean room, where nobody but the contract writes."""
    return _moved(changes, f"the contract wrote it: declare `{_writes(changes, before)}`")


def moved_by_somebody(changes: tuple[Change, ...]) -> UnboundVerdict:
    """The contract was in a clean room, and the workspace changed."""
    why = "the contract cannot have done it: stop whatever else writes to the workspace"
    return _moved(changes, why)


def moved_by_either(changes: tuple[Change, ...], before: Iterable[str]) -> UnboundVerdict:
    """The contract was in the workspace, as others may be."""
    why = (
        f"if the contract wrote it, declare `{_writes(changes, before)}`; "
        "if not, stop whatever else writes to the workspace"
    )
    return _moved(changes, why)


def _moved(changes: tuple[Change, ...], advice: str) -> UnboundVerdict:
    names = ", ".join(f"`{storable_path(c.path)}` {c.kind}" for c in changes[:NAMED_FILES])
    more = "" if len(changes) <= NAMED_FILES else f" and {len(changes) - NAMED_FILES} more"
    message = f"content moved while it was judged: {names}{more}; {advice}"
    return UnboundVerdict(Result.UNKNOWN, Reason.MOVED, message)


def _writes(changes: tuple[Change, ...], before: Iterable[str]) -> str:
    """The field, with its value where one can be advised.

    What was there before may be what the contract judges: declared, anybody could change it.
    """
    field = "**writes:**"
    if any(change.kind is not ChangeKind.ADDED for change in changes):
        return field
    folders = {path[:end] for path in before for end in _ends_of_folders(path)}
    globs = dict.fromkeys(_glob(change.path, folders) for change in changes)
    plain = len(globs) <= _MOST_GLOBS and all(_PLAIN.fullmatch(c.path) for c in changes)
    return f"{field} {', '.join(globs)}" if plain else field


def _glob(path: str, folders: set[str]) -> str:
    """The file, or everything in the topmost folder that came with it."""
    new = (path[:end] for end in _ends_of_folders(path) if path[:end] not in folders)
    folder = next(new, None)
    return path if folder is None else f"{folder}/**"


def _ends_of_folders(path: str) -> Iterable[int]:
    return (found.start() for found in re.finditer("/", path))


OUTPUT_TAIL_CHARACTERS = 4_000


def output_tail(observation: Observation, redactor: Redactor) -> str:
    """The end of both streams, as stored text; secrets go before anything is cut."""
    streams = (observation.stdout, observation.stderr)
    parts = [redactor.text(decode_output(stream.kept)) for stream in streams]
    return tail("\n".join(part.rstrip("\n") for part in parts if part), OUTPUT_TAIL_CHARACTERS)


def flaky(verdict: Verdict) -> Verdict:
    """The verdict when the same contract contradicts itself."""
    return replace(
        verdict,
        result=Result.UNKNOWN,
        reason=Reason.FLAKY,
        message="flaky: the same contract on the same content gave different answers",
    )


def unjudged(
    subject: str, phase: Phase, key: str, content: Snapshot, isolation: Isolation
) -> Verdict:
    """The verdict before anything is known."""
    return Verdict(
        subject=subject,
        phase=phase,
        result=Result.UNKNOWN,
        reason=Reason.INFRASTRUCTURE,
        message="",
        key=key,
        snapshot=content.digest,
        environment=content.environment,
        isolation=isolation,
    )


def could_not_run(verdict: Verdict, why: str, reason: Reason = Reason.INFRASTRUCTURE) -> Verdict:
    """The verdict when a held-out check came to no answer; `why` is for a person alone."""
    return replace(
        verdict,
        result=Result.UNKNOWN,
        reason=reason,
        message="could not judge: a held-out check could not be run to its end",
        output_tail="",
        heldout=Result.UNKNOWN,
        heldout_tail=why,
    )


def unbuilt(verdict: Verdict, failed: SetupFailed) -> Verdict:
    """The verdict when the set-up fails on this content, and not on what was approved."""
    message = f"{failed.message}; on the approved content it goes well"
    said = replace(verdict, result=Result.BROKEN, reason=Reason.EXPECTATION, message=message)
    return replace(said, output_tail=failed.facts["output_tail"])


def reused(verdict: Verdict, entry: Entry) -> Verdict:
    """The verdict of an earlier judging with the same evidence key."""
    data = entry.data
    same = ("message", "exit_code", "output_tail", "stdout_sha256", "stderr_sha256")
    return replace(
        verdict,
        **{name: data[name] for name in same},
        result=Result(data["result"]),
        reason=Reason(data["reason"]),
        reused_from=data.get("reused_from") or entry.seq,
        judged_in=JudgeIn(data.get("judged_in", JudgeIn.WORKSPACE)),
        room=data.get("room", ""),
        counts=data.get("counts"),
        heldout=Result(data["heldout"]) if data.get("heldout") else None,
        heldout_kind=HeldOutKind(data["heldout_kind"]) if data.get("heldout_kind") else None,
        read=data.get("read", ""),
    )


def ran(
    verdict: Verdict, answer: UnboundVerdict, observation: Observation, after: Snapshot
) -> Verdict:
    """The verdict of a contract that ran to an answer."""
    return replace(
        verdict,
        result=answer.result,
        reason=answer.reason,
        message=answer.message,
        exit_code=observation.exit_code,
        duration_s=round(observation.duration_s, 6),
        stdout_sha256=observation.stdout.sha256,
        stderr_sha256=observation.stderr.sha256,
        environment_changed=after.environment != verdict.environment,
        leftovers_killed=observation.leftovers_killed,
    )


def influenced(again: Verdict, found: Collection[Influence], guard: Guard) -> Verdict:
    """The verdict when the contract holds only with files changed that influence it."""
    # A program that is not found is one of those files.
    if again.result is Result.UNKNOWN and again.reason is not Reason.NOT_FOUND:
        return again
    paths = tuple(storable_path(influence.path) for influence in found)
    meant = ""
    if any(guard.extends(influence.path) for influence in found):
        meant = "the tests as approved do not pass: if this change of behaviour is meant, "
    message = (
        "influenced: the contract holds only with what steers it changed: "
        f"{_reasons(found)}; {meant}a person allows it with `{_line(paths)}`"
    )
    broken = replace(again, result=Result.BROKEN, reason=Reason.INFLUENCED)
    return replace(broken, message=message, tampered=paths)


def out_of_bounds(verdict: Verdict, outside: list[str], guard: Guard) -> Verdict:
    """The verdict when a file changed that the plan does not let this step, or anybody, change."""
    bound = "the step's `touches`" if guard.own_touches else "`touches`"
    paths = tuple(map(storable_path, outside))
    message = (
        f"changed outside {bound}: {shown_list(paths)}; a person allows it with `{_line(paths)}`"
    )
    broken = replace(verdict, result=Result.BROKEN, reason=Reason.OUTSIDE)
    return replace(broken, message=message, tampered=paths)


def _line(paths: tuple[str, ...]) -> str:
    return f"**may_change:** {', '.join(paths[:NAMED_FILES])}"


def _reasons(found: Collection[Influence]) -> str:
    shown = [f"`{storable_path(i.path)}` ({i.why})" for i in list(found)[:NAMED_FILES]]
    more = len(found) - NAMED_FILES
    return "; ".join(shown) + (f" and {more} more" if more > 0 else "")


def tampered(verdict: Verdict, tampering: tuple[Tampering, ...]) -> Verdict:
    """The verdict when something protected is not as approved."""
    named = "; ".join(f"`{storable_path(t.path)}`: {t.rule}" for t in tampering[:NAMED_FILES])
    decides = [storable_path(file_of(t.path)) for t in tampering if t.unasked]
    if decides:
        files = ", ".join(list(dict.fromkeys(decides))[:NAMED_FILES])
        named += (
            "; what decides a check is protected, "
            f"unless a person allows it with `**may_change:** {files}`"
        )
    return replace(
        verdict,
        result=Result.BROKEN,
        reason=Reason.TAMPERED,
        message=f"tampered: {named}",
        tampered=tuple(storable_path(t.path) for t in tampering),
    )
