"""Final answers: one that comes early is answered, any other is judged and meets the gate."""

from __future__ import annotations

from collections.abc import Callable

from signoff.agents.loop.ending import End, Ended
from signoff.agents.loop.handing import (
    dropped_of,
    hand_over,
    is_to_be_judged,
    what_does_not_hold,
)
from signoff.agents.loop.setup import Session
from signoff.domain.session import Decision
from signoff.gate.session import SessionMissing
from signoff.toolbatch.calls import OutcomeKind
from signoff.toolbatch.pipeline import BatchResult, BatchRunner, Ending


class Answers:
    """What became of the work when it was handed over, by the model or by the runtime."""

    def __init__(
        self,
        session: Session | None,
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
        dropped = dropped_of(self._runner.keeper.definition)
        found = session.try_finish(text, unmet=unmet, dropped=dropped)
        if found.decision is Decision.ACCEPTED:
            raise End(Ended.ANSWERED, found.text)
        self.refused += 1
        if found.decision is Decision.ESCALATED:
            raise End(Ended.ESCALATED, found.text)
        self._noted(f"final answer refused: {found.text}")
        return found.text

    def _hand_over(self, why: str) -> str:
        self._acted = False
        # Before, because what is changed while it is judged, or right after, was not judged.
        self._judged_on = self._content()
        return hand_over(self._session, self._runner, why)

    def _unmet(self, session: Session) -> tuple[SessionMissing, ...]:
        content = self._content()
        idle = not self._acted and content == self._judged_on
        why = "a final answer was given"
        unmet = what_does_not_hold(session, self._runner, why, idle=idle)
        # What a check that failed left behind is no reason to have it fail once more.
        self._acted, self._judged_on = False, self._content() if unmet else content
        return unmet

    def _content(self) -> str:
        """The content in question; a question that was only answered is about none."""
        due = is_to_be_judged(self._runner.keeper.definition)
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
