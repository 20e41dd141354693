"""Final answers: one that comes early is answered, any other is judged and meets the gate."""

from __future__ import annotations

from collections.abc import Callable

from signoff.agents.loop.limits import End, Ended
from signoff.agents.session import PlanSession
from signoff.agents.sessions.finishing import show_missing
from signoff.domain.session import Decision
from signoff.toolbatch.pipeline import BatchResult, BatchRunner, Ending

_ANSWER_NOW = "Give your final answer now."


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
        self._judged = judged  # whether the task itself is judged, beside the plan's contracts
        self._early = 0  # final answers that came before what the task names was there

    def said_of(self, batch: BatchResult) -> str:
        """What the model is told after the results: the one message, or what judging gave."""
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
        if self._judged:
            self._runner.judge()
        found = session.try_finish(text)
        if found.decision is Decision.ACCEPTED:
            raise End(Ended.ANSWERED, found.text)
        self.refused += 1
        if found.decision is Decision.ESCALATED:
            raise End(Ended.ESCALATED, found.text)
        self._noted(f"final answer refused: {found.text}")
        return found.text

    def _hand_over(self, why: str) -> str:
        """Judge everything that is due; text for the model."""
        if self._session is None:
            return f"{why.capitalize()}: nothing is left to build. {_ANSWER_NOW}"
        self._runner.judge()
        gate = self._session.gate()
        if gate.open:
            return f"Judged just now, because {why}: everything holds. {_ANSWER_NOW}"
        self._runner.looker.ease()
        missing = show_missing(gate, self._session.why_broken())
        return f"Judged just now, because {why}: it is not done. Missing:\n{missing}"

    def _comes_early(self, text: str) -> str:
        """What is still missing, in answer to a final answer; some times, not for ever.

        A plan that somebody wrote has a gate that says so itself.
        """
        session, runner = self._session, self._runner
        planned = session is not None and session.has_own_plan
        batch = runner.answer(text)
        if planned or batch.steering is None or self._early >= runner.looker.limits.repeats:
            return ""
        self._early += 1
        return batch.steering.text
