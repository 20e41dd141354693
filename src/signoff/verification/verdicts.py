"""Verdicts as they are made: of a run, of an earlier verdict, of one that contradicts itself."""

from __future__ import annotations

from dataclasses import replace

from signoff.domain.ledger import Entry
from signoff.domain.observation import Observation
from signoff.domain.plan import JudgeIn
from signoff.domain.redaction import Redactor
from signoff.domain.snapshot import Snapshot
from signoff.domain.text import decode_output, tail
from signoff.domain.verdict import HeldOutKind, Reason, Result, Verdict
from signoff.errors import SetupFailed
from signoff.verification.expectations import Answer

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
    return replace(
        verdict,
        result=Result(data["result"]),
        reason=Reason(data["reason"]),
        message=data["message"],
        exit_code=data["exit_code"],
        output_tail=data["output_tail"],
        stdout_sha256=data["stdout_sha256"],
        stderr_sha256=data["stderr_sha256"],
        reused_from=data.get("reused_from") or entry.seq,
        judged_in=JudgeIn(data.get("judged_in", JudgeIn.WORKSPACE)),
        room=data.get("room", ""),
        counts=data.get("counts"),
        heldout=Result(data["heldout"]) if data.get("heldout") else None,
        heldout_kind=HeldOutKind(data["heldout_kind"]) if data.get("heldout_kind") else None,
        read=data.get("read", ""),
    )


def ran(verdict: Verdict, answer: Answer, observation: Observation, after: Snapshot) -> Verdict:
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
