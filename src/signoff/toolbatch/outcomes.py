"""The outcomes that the pipeline itself makes: of a result, of a call not made, of an end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from signoff.domain.definition import Definition
from signoff.toolbatch.calls import Call, Nature, Outcome, OutcomeKind, Result
from signoff.toolbatch.executing import NOT_FINISHED
from signoff.toolbatch.recovery.categories import Category, Failure, failure_of
from signoff.toolbatch.recovery.episodes import Episode


def outcome_of(call: Call, result: Result) -> Outcome:
    """Of a call that was made, or that the person declined."""
    if result.declined:
        return Outcome(call, OutcomeKind.DECLINED, result.text, False, guidance=True, result=result)
    return Outcome(call, OutcomeKind.EXECUTED, result.text, result.ok, result=result)


def with_unnamed(call: Call, result: Result, changed: Sequence[str]) -> Result:
    """The result with what a tool that we do not know changed and did not tell of."""
    if call.shape.nature is not Nature.OTHER:
        return result
    named = {*result.writes, *result.touched}
    unnamed = tuple(path for path in changed if path not in named)
    return replace(result, touched=(*result.touched, *unnamed)) if unnamed else result


def failure_in(outcome: Outcome) -> Failure | None:
    """What went wrong, where it has a name; a command that said no may have one too."""
    call = outcome.call
    if outcome.ok or outcome.guidance:
        return None
    if outcome.kind is OutcomeKind.BLOCKED and not call.malformed:
        return Failure(Category.ARGUMENTS, call.tool)
    return failure_of(call, outcome.text, ran=outcome.observed)


def not_made(call: Call, why: str) -> Outcome:
    """Of a call that the batch did not get to; without a reason, it was interrupted."""
    if not why:
        return Outcome(call, OutcomeKind.EXECUTED, NOT_FINISHED, ok=False)
    text = f"not made: {why}"
    return Outcome(call, OutcomeKind.BLOCKED, text, ok=False, rule="ended", guidance=True)


def hopeless(episode: Episode) -> str:
    """Why an episode ends the turn; empty: it does not."""
    failure = episode.failure
    if not episode.hopeless:
        return ""
    return f"{failure.category} for `{failure.subject}` failed {episode.attempts} times"


def honest(why: str, definition: Definition) -> str:
    """What a person is told: why it ended, and that it is not done."""
    undone = "; ".join(definition.undone[:3])
    return f"I stopped: {why}. The work is not done" + (f": {undone}." if undone else ".")
