"""Sub-agents that were stopped: they go on where they were, with what is left of their share."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from signoff.agents.loop.limits import Ended, LoopLimits
from signoff.testing.conversation import ScriptedCall, ScriptedRequest
from signoff.testing.script import Script, Turn, say, use
from tests.agents.loopkit import Told, write
from tests.agents.test_loop_gate import checked, plan, play, update
from tests.unconfined import UNCONFINED

TOKENS_A_TURN = 120
LIMITS = LoopLimits(tokens=50_000)


class Killed(BaseException):
    """Nothing of ours catches it, as nothing catches kill -9."""


class Stopper(Told):
    """Stops everything the first time that a file is to be written."""

    def __init__(self, how: type[BaseException]):
        super().__init__()
        self.how = how

    def called(self, name: str, arguments: str) -> None:
        super().called(name, arguments)
        if name == "write":
            raise self.how


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    config = tmp_path / "config.toml"
    config.write_text(UNCONFINED)
    monkeypatch.setenv("SIGNOFF_CONFIG", str(config))
    monkeypatch.setenv("SIGNOFF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def is_child(conversation: ScriptedRequest) -> bool:
    return conversation.messages[1].text.startswith("SUB:")


def child(conversation: ScriptedRequest) -> Turn:
    match conversation.model_turns:
        case 0:
            return use(plan(checked("part.txt")), update(1, "in_progress"))
        case 1 | 2:
            return use(write("part.txt", "p"), update(1, "done"))
    return say("The part is written.")


def parent(conversation: ScriptedRequest) -> Turn:
    handed = {"step_number": 1, "objective": "SUB: write part.txt", "tokens": 5000}
    match conversation.model_turns:
        case 0:
            return use(plan({**checked("part.txt"), "description": "have the part written"}))
        case 1 | 2:
            return use(update(1, "in_progress"), ScriptedCall("delegate", handed))
        case 3:
            return use(update(1, "done"))
    return say("done")


def respond(conversation: ScriptedRequest) -> Turn:
    return child(conversation) if is_child(conversation) else parent(conversation)


def stopped(work: Path, how: type[BaseException]) -> str:
    """A first sitting that ends in the middle of the sub-agent's work; the parent's session."""
    with suppress(Killed):
        play(work, Script(respond=respond), reporter=Stopper(how), limits=LIMITS)
    kept = (work.parent / "home" / "logs" / "sessions").glob("*.jsonl")
    (found,) = [path for path in kept if '"task": "SUB:' not in path.read_text()]
    return found.stem


@pytest.mark.parametrize("how", [KeyboardInterrupt, Killed])
def test_a_stopped_sub_agent_goes_on_where_it_was_when_its_parent_is_resumed(
    work: Path, how: type[BaseException]
) -> None:
    session = stopped(work, how)
    script = Script(respond=respond)
    report = play(work, script, task="", resume=session, limits=LIMITS)
    assert report.done, [r.results for r in script.received]
    assert report.plan is not None and len(report.plan.children) == 1
    told = script.received[0].last_user_text
    assert f"`{report.plan.children[0]}`, which was stopped" in told and "delegate(1, …)" in told
    again = next(c for c in script.received if is_child(c))
    assert again.model_turns == 2, "it knows what it did"
    assert report.plan.spent.tokens == 9 * TOKENS_A_TURN, "nothing is paid for twice"


def test_a_resumed_sub_agent_gets_no_more_than_the_rest_of_its_share(work: Path) -> None:
    def endless(conversation: ScriptedRequest) -> Turn:
        if is_child(conversation):
            if conversation.model_turns == 0:
                return child(conversation)
            return use(write("part.txt", "p"))
        if conversation.model_turns in (1, 2):
            share = {"step_number": 1, "objective": "SUB: never end", "tokens": 500}
            return use(ScriptedCall("delegate", share))
        return parent(conversation)

    stopper = Stopper(KeyboardInterrupt)
    first = play(work, Script(respond=endless), reporter=stopper, limits=LIMITS)
    assert first.loop.ended is Ended.INTERRUPTED
    script = Script(respond=endless)
    report = play(work, script, task="", resume=first.loop.session, limits=LIMITS)
    turns = [c for c in script.received if is_child(c)]
    assert len(turns) == 3, "two turns of its 500 tokens were used before"
    results = [r for c in script.received for r in c.results if r.name == "delegate"]
    assert "limit of 500 tokens" in results[-1].text and "NOT proved" in results[-1].text
    assert report.plan is not None
    assert report.plan.spent.tokens == report.loop.tokens, "the parent paid for all of it, once"
