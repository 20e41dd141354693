"""Final answers: one that comes early is answered, any other is judged and meets the gate."""

from __future__ import annotations

from collections.abc import Callable

from signoff.agents.loop.limits import End, Ended
from signoff.agents.session import PlanSession
from signoff.agents.sessions.showing import VERIFICATION, show_missing
from signoff.domain.definition import Definition, DefinitionStatus, Round, RoundStatus
from signoff.domain.session import Decision
from signoff.domain.text import escape, tail
from signoff.gate.missing import Missing
from signoff.gate.rounds import shown
from signoff.toolbatch.calls import OutcomeKind
from signoff.toolbatch.deriving import plan_of
from signoff.toolbatch.pipeline import BatchResult, BatchRunner, Ending
from signoff.toolbatch.todo import how_to_drop

MOST_FINDINGS = 10
LONGEST_FINDING = 800
_ANSWER_NOW = "Give your final answer now."
_HOLDS = frozenset({RoundStatus.KEPT, RoundStatus.SKIPPED})


class Answers:
    """What became of the work when it was handed over, by the model or by the runtime."""

    def __init__(
        self,
        session: PlanSession | None,
        runner: BatchRunner,
        noted: Callable[[str], None],
        *,
        judged: bool,
    ):
        self.last = ""
        self.refused = 0
        self._session, self._runner, self._noted = session, runner, noted
        self._judged = judged  # by rounds of the definition, beside the plan's gate
        self._acted = True  # since the work was last judged, as far as anybody knows
        self._judged_on = ""  # the content that it was judged on
        self._early = 0  # final answers that came before what the task names was there

    def said_of(self, batch: BatchResult) -> str:
        """What the model is told after the results: the one message, or what judging gave."""
        executed = [o.call.shape for o in batch.outcomes if o.kind is OutcomeKind.EXECUTED]
        self._acted = self._acted or any(not shape.reads_only for shape in executed)
        if batch.ending is Ending.VERIFY:
            self._noted(f"judging: {batch.response}")
            return self._hand_over(batch.response)
        return batch.steering.text if batch.steering is not None else ""

    def finish(self, text: str) -> str:
        """What the model is told of its final answer; End when it is the last one."""
        self.last = text
        session = self._session
        early = self._comes_early(text)
        if early:
            return early
        if session is None:
            raise End(Ended.ANSWERED, "answered; there is no plan, so nothing was proved")
        unmet = self._unmet(session) if self._judged else ()
        dropped = _dropped_of(self._runner.keeper.definition)
        found = session.try_finish(text, unmet=unmet, dropped=dropped)
        if found.decision is Decision.ACCEPTED:
            raise End(Ended.ANSWERED, found.text)
        self.refused += 1
        if found.decision is Decision.ESCALATED:
            raise End(Ended.ESCALATED, found.text)
        self._noted(f"final answer refused: {found.text}")
        return found.text

    def _hand_over(self, why: str) -> str:
        """Judge everything that is due; text for the model."""
        self._acted = False
        # Before, because what is changed while it is judged, or right after, was not judged.
        self._judged_on = self._content()
        if self._session is None:
            return f"{why.capitalize()}: nothing is left to build. {_ANSWER_NOW}"
        unmet = _what_does_not_hold(self._session, self._runner, why)
        gate = self._session.gate()
        if gate.open and not unmet:
            return f"Judged just now, because {why}: everything holds. {_ANSWER_NOW}"
        self._runner.looker.ease()
        missing = "\n".join(filter(None, (show_missing(gate), *(f"- {m.what}" for m in unmet))))
        return f"Judged just now, because {why}: it is not done. Missing:\n{missing}"

    def _unmet(self, session: PlanSession) -> tuple[Missing, ...]:
        content = self._content()
        idle = not self._acted and content == self._judged_on
        why = "a final answer was given"
        unmet = _what_does_not_hold(session, self._runner, why, idle=idle)
        # What a check that failed left behind is no reason to have it fail once more.
        self._acted, self._judged_on = False, self._content() if unmet else content
        return unmet

    def _content(self) -> str:
        """The content in question; a question that was only answered is about none."""
        due = _is_to_be_judged(self._runner.keeper.definition)
        return self._session.content() if self._session is not None and due else ""

    def _comes_early(self, text: str) -> str:
        """What is still missing, in answer to a final answer; some times, not for ever.

        A plan has a gate that says so itself.
        """
        session, runner = self._session, self._runner
        planned = session is not None and session.has_plan
        batch = runner.answer(text)
        if planned or batch.steering is None or self._early >= runner.looker.limits.repeats:
            return ""
        self._early += 1
        return batch.steering.text


def _what_does_not_hold(
    session: PlanSession, runner: BatchRunner, why: str, *, idle: bool = False
) -> tuple[Missing, ...]:
    """Judge plan and definition; what the definition says is missing beside the plan's gate.

    `idle`: no call was made since the last judging and the content is the same, so what it found
    stands. A call may change more than anybody saw, and a process that one left behind changes
    files without any: then even a kept round is judged anew.
    """
    _derive_plan(session, runner)
    session.judge_pending()
    definition = runner.keeper.definition
    done = definition.status is DefinitionStatus.DONE
    if (done and idle) or not _is_to_be_judged(definition):
        return ()
    last = definition.round
    still_broken = idle and last is not None and last.status is RoundStatus.BROKEN
    held = last if still_broken else runner.judge(why)
    definition = runner.keeper.definition
    if definition.status is DefinitionStatus.FAILED:
        found = _found(definition.round) if definition.round is not None else ""
        what = f"verification failed too often, so a person has to look. {found}".strip()
        return (Missing(VERIFICATION, what, "stop, and say what you know", waiting=True),)
    if held is None or held.status in _HOLDS:
        return () if session.has_own_plan or not session.has_plan else _undone(definition)
    return (Missing(VERIFICATION, _found(held), "repair what it names"),)


def _undone(definition: Definition) -> tuple[Missing, ...]:
    """What no step of a derived plan says: the list is longer than one, or nothing was done."""
    if definition.status is DefinitionStatus.DONE or not definition.undone:
        return ()
    first = next((item.text for item in definition.pending), "what is not needed")
    hint = f"list as done what is done; {how_to_drop(first)}"
    return (Missing(VERIFICATION, "; ".join(definition.undone[:3]), hint),)


def _dropped_of(definition: Definition) -> tuple[str, ...]:
    """What a person asked for and the model gave up, with its reasons."""
    return tuple(f"{drop.what}: {drop.reason}" for drop in definition.dropped if drop.asked)


def _derive_plan(session: PlanSession, runner: BatchRunner) -> None:
    """A task without a plan gets one from its definition of done, and so meets the same gate."""
    definition, court = runner.keeper.definition, runner.court
    if session.has_own_plan or court is None or not _is_to_be_judged(definition):
        return
    plan = plan_of(definition, court.checks(definition))
    if plan is not None:
        session.derive_plan(plan.objective, plan.steps, plan.postconditions)


def _is_to_be_judged(definition: Definition) -> bool:
    """A question that was only answered leaves nothing behind that could be judged."""
    return bool(definition.artifacts or definition.touched or definition.rounds)


def _found(held: Round) -> str:
    against = [s for s in held.seen if s.status in ("contradicts", "missing")]
    lines = [f"{s.subject}: {s.detail}".rstrip(": ") for s in against[:MOST_FINDINGS]]
    quoted = [
        f"  | {line}" for text in lines for line in escape(tail(text, LONGEST_FINDING)).split("\n")
    ]
    return "\n".join((f"{shown(held)} is {held.status}:", *quoted))
