"""Opinions in a run: a model is asked about a rubric after the contract was kept, never instead.

A verdict that is not kept comes back as it was. One that is kept comes back kept, broken (a veto),
or unknown: nothing that a model says makes anything of a verdict that it was not.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from msgspec import to_builtins
from msgspec.structs import replace

from signoff.domain.digests import digest_of
from signoff.domain.ledger import Draft, Kind
from signoff.domain.plan import Postcondition, Step
from signoff.domain.second_look import OpinionGiven, OpinionResult, RubricAnswer
from signoff.domain.text import escape_line
from signoff.domain.verdict import Phase, Reason, Result, Verdict
from signoff.gate.state import State
from signoff.orchestrator.events import Doing
from signoff.orchestrator.openrun import OpenRun

if TYPE_CHECKING:
    from signoff.verification.opinion.asking import OpinionRequest

NO_MODEL = (
    'no model is named: write `model = "PROVIDER:NAME"` under `[judge]` in your own configuration'
)


class DrivenRun(Protocol):
    """The part of a drive that an opinion needs."""

    work: OpenRun
    state: State

    def draft(self, kind: Kind, data: dict[str, Any], step: str | None = None) -> Draft:
        """An entry of this run."""

    def append(self, *drafts: Draft, blobs: tuple[bytes, ...] = ()) -> object:
        """Append these entries, with the blobs that they name."""


class OpinionSpan(NamedTuple):
    """The change that an opinion is about; of these paths alone where some are named."""

    before: str
    after: str
    among: frozenset[str] | None = None


def opinion_on(drive: DrivenRun, subject: Step | Postcondition, verdict: Verdict) -> Verdict:
    """The verdict, unless it is kept and an opinion stands in its way."""
    if not verdict.kept or not subject.rubric:
        return verdict
    given = _opinion(drive, subject, verdict)
    if given is None:
        return weigh(verdict, OpinionGiven("", OpinionResult.VOID, NO_MODEL), overruled=False)
    asker, record = drive.work.opinions, drive.state.record(subject.id)
    hides = asker is not None and asker.settings.hide_findings
    return weigh(verdict, given, overruled=given.about in record.overruled, hides=hides)


def opinion_for_person(drive: DrivenRun, post: Postcondition, content: str) -> tuple[str, ...]:
    """The opinion about a postcondition that no command checks, in lines; a person decides."""
    if not post.rubric:
        return ()
    given = _opinion(drive, post, None, content)
    return (NO_MODEL,) if given is None else (f"{given.model}: {given.result}", *given.lines)


def weigh(
    verdict: Verdict, given: OpinionGiven, *, overruled: bool, hides: bool = False
) -> Verdict:
    """Weigh an opinion beside a verdict; only a kept verdict changes at all."""
    if not verdict.kept or overruled or given.result is OpinionResult.HOLDS:
        return verdict
    # Under a key of its own: the contract itself did not say no.
    key = digest_of({"verdict": verdict.key, "opinion": given.input})
    verdict = replace(verdict, key=key, reused_from=None)
    found = "\n".join(given.lines)
    if given.result is OpinionResult.VOID:
        why = f"could not judge: no opinion on the rubric: {escape_line(given.why)}"
        return replace(verdict, result=Result.UNKNOWN, reason=Reason.INFRASTRUCTURE, message=why)
    if given.result is OpinionResult.UNDECIDED:
        said = f"the contract holds, and the opinion of `{given.model}` on its rubric is undecided"
        result, reason = Result.UNKNOWN, Reason.UNDECIDED
    else:
        wrong = sum(claim.agreed(RubricAnswer.VIOLATED) for claim in given.claims)
        many = f"{wrong} of {len(given.claims)} claims of the rubric"
        said = f"the contract holds, and the opinion of `{given.model}` is that {many} are violated"
        result, reason = Result.BROKEN, Reason.OPINION
    if hides:
        said, found = "the contract holds, and an opinion refused the work", ""
    return replace(verdict, result=result, reason=reason, message=said, output_tail=found)


def _opinion(
    drive: DrivenRun, subject: Step | Postcondition, verdict: Verdict | None, content: str = ""
) -> OpinionGiven | None:
    """The opinion bound to exactly this: known, or asked for now; None where no model is named."""
    work, asker = drive.work, drive.work.opinions
    if asker is None:
        return None
    # Only rubrics need what reads code and answers.
    from signoff.verification.opinion.asking import (  # noqa: PLC0415
        OpinionRequest,
        ask_for_opinion,
    )
    from signoff.verification.opinion.material import (  # noqa: PLC0415 - likewise
        SYSTEM,
        changed_contents,
        changed_files,
    )

    content = verdict.snapshot if verdict is not None else content
    span = _span(drive, subject, content)
    redact, wanted = work.ledger.redactor.text, asker.settings
    files = changed_files(changed_contents(work.workspace, *span), redact)
    request = OpinionRequest.of(subject, wanted.name, files, verdict, wanted.characters)
    bound = {"base": span.before, "left": span.after, "snapshot": content}
    bound["measured"] = drive.state.measured.get(wanted.name, "")
    known = _known(drive, request, verdict)
    if known is not None:
        seq, given = known
        if given != drive.state.record(subject.id).opinion or given.snapshot != content:
            free = {"tokens": 0, "usd": 0.0, "duration_s": 0.0}
            given = replace(given, **bound, **free, reused_from=given.reused_from or seq)
            drive.append(drive.draft(Kind.OPINION_GIVEN, to_builtins(given), subject.id))
        return given
    work.reporter.tell(Doing(subject.id, f"asking {wanted.name} for an opinion"))
    ask = partial(asker.ask, SYSTEM, cancelled=work.cancelled)
    opinion = ask_for_opinion(request, ask, wanted.tokens)
    given = replace(opinion.given, **bound)
    told = (*(m.prompt for m in request.passes), *opinion.answers)
    blobs = tuple(text.encode("utf-8", "replace") for text in told)
    drive.append(drive.draft(Kind.OPINION_GIVEN, to_builtins(given), subject.id), blobs=blobs)
    return given


def _known(
    drive: DrivenRun, request: OpinionRequest, verdict: Verdict | None
) -> tuple[int, OpinionGiven] | None:
    """An opinion that was given on the same input."""
    state = drive.state
    record = state.record(request.subject.id)
    known = state.opinions.get(request.input)
    # What a check prints differs whenever it runs. Where the same work is only judged once more,
    # or a person overruled the opinion about it, the same change is enough.
    swept = verdict is not None and verdict.phase is Phase.SWEEP
    if known is None and (swept or record.base or request.about in record.overruled):
        told = reversed(state.opinions.values())
        known = next((o for o in told if o[1].about == request.about), None)
    return known


def _span(drive: DrivenRun, subject: Step | Postcondition, content: str) -> OpinionSpan:
    """The change to look at: what a step did; of a postcondition, everything since approval."""
    work, record = drive.work, drive.state.record(subject.id)
    earlier = record.opinion
    approved = work.pins.snapshot
    if isinstance(subject, Postcondition) or work.session is not None:
        return OpinionSpan(approved, content)
    if record.accepted and earlier is not None:
        # What it did when it was accepted, and what became of those files since.
        spans = ((earlier.base, earlier.left), *record.spans)
    elif record.spans:
        spans = record.spans
    else:
        return OpinionSpan(record.began or approved, content)
    before = record.base or spans[0][0] or approved
    after = spans[-1][1] if record.base else content
    paths = {c.path for old, new in spans for c in work.workspace.diff(old or approved, new)}
    if not record.base and record.spans:
        # A person may have added to it since.
        paths |= {c.path for c in work.workspace.diff(spans[-1][1], content)}
    return OpinionSpan(before, after, frozenset(paths))
