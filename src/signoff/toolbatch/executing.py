"""Calls carried out, looks beside each other, all else one by one; and what came of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Protocol

from signoff.domain.session import shown_list
from signoff.domain.task import Artifact
from signoff.gate.task import Task
from signoff.toolbatch.calls import Call, Nature, Outcome, OutcomeKind, Result
from signoff.toolbatch.duplicates import key_of
from signoff.toolbatch.recovery.categories import Category, Episode, Failure, failure_of

MOST_BESIDE = 8
NOT_FINISHED = (
    "error: the harness was stopped before this call gave a result. It may have run in part: look "
    "at what is there before you repeat it."
)


class Execute(Protocol):
    """Carries out one call. What goes wrong with it is a Result; looks may come from threads."""

    def __call__(self, call: Call) -> Result:
        """Do it."""


def groups_of(calls: Sequence[Call]) -> Iterator[tuple[Call, ...]]:
    """Neighbouring looks together, unless one is there twice; everything else by itself."""
    group: dict[str, Call] = {}
    for call in calls:
        if not call.shape.reads_only or call.malformed:
            yield from _closed(group)
            yield (call,)
            continue
        key = key_of(call)
        if key in group or len(group) == MOST_BESIDE:
            yield from _closed(group)
        group[key] = call
    yield from _closed(group)


def execute_beside(execute: Execute, calls: Sequence[Call], results: dict[int, Result]) -> None:
    """Carry out a group and add each result under its call's place; ids may be there twice.

    Interrupted, what had begun is waited for, so that no thread works on behind the caller's back,
    and what had ended is in `results`.
    """
    if len(calls) == 1:
        results[0] = execute(calls[0])
        return
    if not calls:
        return
    with ThreadPoolExecutor(max_workers=min(len(calls), MOST_BESIDE)) as pool:
        begun = [pool.submit(execute, call) for call in calls]
        try:
            wait(begun, return_when=FIRST_EXCEPTION)
        finally:
            for future in begun:
                future.cancel()
            pool.shutdown(wait=True)
            results |= {n: f.result() for n, f in enumerate(begun) if _ended_well(f)}
        for future in begun:
            if not future.cancelled():
                future.result()


def _closed(group: dict[str, Call]) -> Iterator[tuple[Call, ...]]:
    if group:
        yield tuple(group.values())
    group.clear()


def _ended_well(future: Future[Result]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


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


def honest(why: str, task: Task, missing: Sequence[Artifact]) -> str:
    """What a person is told: why it ended, and that it is not done."""
    parts = [f"missing: {shown_list(map(str, missing), 5)}"] if missing else []
    parts += [f"open: {shown_list((i.text for i in task.pending), 5)}"] if task.pending else []
    parts += [] if task.round is None else [f"{task.round} is {task.round.status}"]
    undone = "; ".join(parts)
    return f"I stopped: {why}. The work is not done" + (f": {undone}." if undone else ".")
