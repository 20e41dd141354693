"""`candidates`: several agents work on one step at once, and one whose contract is kept lands."""

from __future__ import annotations

import json
import signal

import pytest

from signoff.process.sandboxes import best_isolation
from tests.cli.kit import Desk
from tests.cli.plans import step

pytestmark = pytest.mark.skipif(
    not best_isolation(None).has_own_view, reason="needs bubblewrap or user namespaces"
)

CHECK = "grep -q right answer"


@pytest.fixture
def confined(desk: Desk) -> Desk:
    sandbox = f'[sandbox]\nwritable = ["{desk.agents}"]\n'
    return desk.git().person(f'{sandbox}isolation = "{best_isolation(None)}"\n')


def wait_for(name: str) -> str:
    return f'until [ -e "${{0%/*}}/{name}" ]; do sleep 0.05; done'


def reports(tokens: int, usd: float) -> str:
    told = json.dumps({"tokens": tokens, "usd": usd})
    return f"echo '{told}' > \"$SIGNOFF_USAGE_FILE\""


def test_the_first_kept_candidate_lands_and_the_others_are_stopped(confined: Desk) -> None:
    slow = f'touch "${{0%/*}}/slow"; {reports(7, 0.5)}; {wait_for("never")}'
    confined.agent(slow, role="slow")
    confined.agent(f"{wait_for('slow')}; echo right > answer; {reports(5, 0.25)}", role="quick")
    confined.plan(step("Answer", CHECK, target="slow, quick")).run("--yes").exits(0)
    assert confined.read("answer") == "right\n"
    first, second = confined.entries("attempt.started")
    assert [e["data"]["role"] for e in (first, second)] == ["slow", "quick"]
    assert [e["data"]["candidate"] for e in (first, second)] == [1, 2]
    (picked,) = confined.entries("step.picked")
    assert picked["data"]["attempt"] == 2 and "first" in picked["data"]["why"]
    assert confined.processes() == []
    spent = confined.status()["spent"]
    assert spent["tokens"] == 12 and spent["usd"] == 0.75
    # Judged once before it landed, on exactly that content, and once more by the sweep.
    judged = [e["data"] for e in confined.entries("verdict") if e["data"]["phase"] == "attempt"]
    assert [v["result"] for v in judged] == ["kept", "kept"]
    confined.about_plan("audit").exits(0)
    confined.about_plan("log").shows("as candidate 2", "attempt 2 is picked")


def test_a_number_starts_as_many_agents_of_one_role(confined: Desk) -> None:
    meet = '"${0%/*}/meet"'
    confined.agent(
        f"mkdir -p {meet}; touch {meet}/$SIGNOFF_ATTEMPT;"
        f" until [ $(ls {meet} | wc -l) -ge 3 ]; do sleep 0.05; done; echo right > answer"
    )
    confined.plan(step("Answer", CHECK, candidates="3")).run("--yes").exits(0)
    assert len(confined.entries("attempt.started")) == 3
    assert len(confined.entries("step.landed")) == 1


def test_stats_compare_the_roles_of_candidates(confined: Desk) -> None:
    confined.agent(f"echo wrong > answer; {reports(3, 0.5)}", role="worse")
    confined.agent(f"echo right > answer; {reports(7, 0.25)}", role="better")
    confined.agent(f"sleep 0.1; echo right > answer; {reports(5, 0.75)}", role="slower")
    several = {"target": "worse, better, slower", "pick": "cheapest"}
    confined.plan(step("Answer", CHECK, **several)).run("--yes").exits(0)
    report = confined.signoff("stats", "--json").exits(0).json
    agents = {agent["role"]: agent for agent in report["agents"]}
    assert {n: a["kept_rate"] for n, a in agents.items()} == {"better": 1, "slower": 1, "worse": 0}
    assert {n: a["kept_steps"] for n, a in agents.items()} == {"better": 1, "slower": 0, "worse": 0}
    assert agents["worse"]["broken"] == 1 and agents["slower"]["duration_s"] >= 0.1
    assert agents["better"]["seconds_per_kept_step"] == agents["better"]["duration_s"]
    # What the others took is the price of the one that was kept.
    total = report["total"]
    assert (total["kept_steps"], total["kept"], total["usd_per_kept_step"]) == (1, 2, 1.5)
    assert total["seconds_per_kept_step"] == pytest.approx(
        sum(a["duration_s"] for a in agents.values())
    )
    confined.signoff("stats").exits(0).shows("rate", "s/step", "100%", "67%")


def test_a_liar_among_the_candidates_never_lands(confined: Desk) -> None:
    confined.file("check.sh", CHECK + "\n")
    confined.agent("echo true > check.sh; echo wrong > answer", role="liar")
    confined.agent(f"{wait_for('go')}; echo right > answer", role="honest")
    confined.plan(step("Answer", "bash check.sh", target="liar, honest", protects=["check.sh"]))
    running = confined.start("run", "PLAN.md", "--yes")
    running.until(lambda: any(e["data"].get("beside") for e in confined.entries("verdict")))
    assert not (confined.workspace / "answer").exists()
    (confined.agents / "go").touch()
    running.end().exits(0)
    assert confined.read("answer") == "right\n" and confined.read("check.sh") == CHECK + "\n"
    assert confined.entries("step.picked")[0]["data"]["attempt"] == 2


@pytest.mark.parametrize(
    ("rule", "lands"), [("smallest", "right\n"), ("cheapest", "right\nlong\n")]
)
def test_the_plan_says_which_of_several_kept_ones_lands(
    confined: Desk, rule: str, lands: str
) -> None:
    confined.agent(f"echo right > answer; {reports(50, 0.5)}", role="short")
    confined.agent(f"printf 'right\\nlong\\n' > answer; {reports(5, 0.05)}", role="cheap")
    confined.plan(step("Answer", CHECK, target="short, cheap", pick=rule)).run("--yes").exits(0)
    assert confined.read("answer") == lands


def test_candidates_that_all_fail_are_one_failure(confined: Desk) -> None:
    confined.agent("echo wrong $SIGNOFF_ATTEMPT > answer")
    confined.plan(step("Answer", CHECK, candidates="2", on_fail="retry(1), then abort"))
    confined.run("--yes").exits(1)
    assert len(confined.entries("attempt.started")) == 4
    assert [e["data"]["why"] for e in confined.entries("step.picked")] == [
        "none of them is kept"
    ] * 2
    assert not (confined.workspace / "answer").exists()


@pytest.mark.parametrize("point", ["attempt-started", "agent-ended", "landed"])
def test_a_kill_repeats_only_candidates_in_flight(confined: Desk, point: str) -> None:
    confined.agent("echo right > answer")
    confined.plan(step("Answer", CHECK, candidates="2", pick="smallest"))
    confined.variable(SIGNOFF_CRASH_AT=f"{point}:1")
    confined.run("--yes").exits(-signal.SIGKILL)
    del confined.variables["SIGNOFF_CRASH_AT"]
    confined.run().exits(0)
    assert confined.read("answer") == "right\n"
    assert len(confined.entries("step.done")) == 1
    lost = [e for e in confined.entries("attempt.finished") if e["data"].get("lost")]
    assert len(confined.entries("attempt.started")) == 2 + len(lost) and len(lost) <= 2
    confined.about_plan("audit").exits(0)


def test_an_interrupt_stops_all_and_the_run_goes_on_later(confined: Desk) -> None:
    began = '"${0%/*}/began-$SIGNOFF_ATTEMPT"'
    confined.agent(f"touch {began}; {wait_for('go')}; echo right > answer")
    confined.plan(step("Answer", CHECK, candidates="2"))
    running = confined.start("run", "PLAN.md", "--yes")
    running.until(lambda: len(list(confined.agents.glob("began-*"))) == 2)
    assert confined.status()["steps"][0]["lanes"] == [1, 2]
    confined.about_plan("status").shows("in lanes 1, 2")
    running.process.send_signal(signal.SIGINT)
    running.end().exits(130)
    assert confined.processes() == []
    (confined.agents / "go").touch()
    confined.run().exits(0)


def test_candidates_begin_only_as_far_as_the_budget_allows(confined: Desk) -> None:
    confined.agent(f"echo wrong > answer; {reports(60, 0)}")
    confined.plan(step("Answer", CHECK, candidates="3"), budget="max 100 tokens")
    confined.run("--yes").exits(6)
    assert confined.status()["spent"]["tokens"] == 60
    assert "budget exceeded" in confined.inbox()[0]["question"]


def test_without_lanes_candidates_take_turns(desk: Desk) -> None:
    desk.person('[sandbox]\nisolation = "none"\n')
    desk.agent("echo wrong > answer", role="first")
    desk.agent("echo right > answer", role="second")
    desk.plan(step("Answer", CHECK, target="first, second"))
    ended = desk.run("--yes").exits(0)
    assert "agents work one after the other" in ended.stderr
    roles = [e["data"]["role"] for e in desk.entries("attempt.started")]
    assert roles == ["first", "second"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"candidates": "0"}, "write a number from 1 to 9"),
        ({"candidates": "2", "target": "a, b, c"}, "write 3 or more"),
        ({"pick": "best"}, "`first`, `smallest` or `cheapest`"),
        ({"target": "coder, human"}, "a person works on a step alone"),
        ({"target": "coder, nobody"}, "goes to `nobody`"),
    ],
)
def test_verify_says_what_is_wrong_with_candidates(
    desk: Desk, fields: dict[str, str], said: str
) -> None:
    for role in ("coder", "a", "b", "c"):
        desk.agent("true", role=role)
    desk.plan(step("Answer", CHECK, **fields)).about_plan("verify").exits(4).shows(said)


def test_approve_shows_who_works_on_it_and_which_one_is_picked(desk: Desk) -> None:
    desk.agent("true", role="a").agent("true", role="b")
    desk.plan(step("Answer", CHECK, target="a, b", pick="cheapest"))
    shown = desk.about_plan("approve", "--yes")
    assert "a, b; pick cheapest" in shown.exits(0).stderr
