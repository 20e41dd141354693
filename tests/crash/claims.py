"""What must be true of every run that was killed and resumed, whatever the moment of the kill."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

from tests.crash.scene import ATTEMPTS, PLAN, TOKENS_EACH, Ended, Scene

Log = list[dict[str, Any]]


def assert_sound(scene: Scene, killed: Sequence[Ended], ended: Ended) -> Log:
    """Every promise at once; returns the log for what a test wants to know beyond them."""
    assert ended.code == 0, ended
    log = scene.log()
    assert_chain_holds(log)
    for each in (*killed, ended):
        assert_nothing_acknowledged_is_lost(each, log)
    assert_accepted_once_and_proved(log)
    assert_attempts_are_not_repeated(scene, log, kills=len(killed))
    assert_usage_is_counted_once(scene, ended.report)
    assert scene.processes() == []
    assert_plan_file_is_marked(scene)
    audit = scene.command("audit", "--json")
    assert (audit.code, audit.json["result"]) == (0, "kept"), audit
    return log


def assert_chain_holds(log: Log) -> None:
    """Numbers without a gap, each entry built on the one before."""
    assert [entry["seq"] for entry in log] == [*range(1, len(log) + 1)]
    assert all(after["prev"] == before["hash"] for before, after in pairwise(log))


def assert_nothing_acknowledged_is_lost(killed: Ended, log: Log) -> None:
    """What the driver said it had written is still there, word for word, in the same place."""
    for entry in killed.entries:
        assert log[entry["seq"] - 1] == entry


def assert_accepted_once_and_proved(log: Log) -> None:
    """One `step.done` per step and run, each resting on a kept verdict of the same run."""
    done = [entry for entry in log if entry["kind"] == "step.done"]
    times = Counter((entry["run"], entry["step"]) for entry in done)
    assert set(times.values()) == {1}, times
    last_run = log[-1]["run"] or [e["run"] for e in log if e["run"]][-1]
    assert {step for run, step in times if run == last_run} == set(ATTEMPTS)
    for entry in done:
        proofs = [v for v in log[: entry["seq"] - 1] if _backs(v, entry)]
        assert proofs, f"nothing proves {entry}"
    judged = Counter(
        (e["run"], e["step"], e["attempt"])
        for e in log
        if e["kind"] == "verdict" and e["data"]["phase"] == "attempt"
    )
    assert set(judged.values()) == {1}, judged
    ends = Counter(e["run"] for e in log if e["kind"] == "run.finished")
    assert set(ends.values()) == {1}, ends


def _backs(verdict: dict[str, Any], done: dict[str, Any]) -> bool:
    same = (verdict["run"], verdict["step"]) == (done["run"], done["step"])
    data = verdict["data"]
    return (
        same
        and verdict["kind"] == "verdict"
        and data["result"] == "kept"
        and data["key"] == done["data"]["key"]
        and data["phase"] == ("before" if done["data"]["carried"] else "attempt")
    )


def assert_attempts_are_not_repeated(scene: Scene, log: Log, kills: int) -> None:
    """At most one attempt lost per kill; no other step is given out again."""
    started = [_attempt(e) for e in log if e["kind"] == "attempt.started"]
    finished = {_attempt(e): e for e in log if e["kind"] == "attempt.finished"}
    assert len(started) == len(set(started))
    assert set(started) == set(finished)
    lost = [e for e in finished.values() if e["data"].get("lost")]
    assert len(lost) <= kills
    useful = Counter(e["step"] for e in finished.values() if not e["data"].get("lost"))
    assert all(useful[step] <= times for step, times in ATTEMPTS.items()), useful
    journal = scene.journal()
    assert len(journal) == len(set(journal)), "an attempt was given out twice"
    assert set(journal) <= set(started), "an agent worked without an entry"


def _attempt(entry: dict[str, Any]) -> str:
    return f"{entry['run']}:{entry['step']}:{entry['attempt']}"


def assert_usage_is_counted_once(scene: Scene, report: dict[str, Any]) -> None:
    """The budget knows every report that an agent managed to write, once."""
    reports = 0
    for path in (scene.home / "logs" / "attempts").rglob("*.usage"):
        with suppress(ValueError):
            reports += json.loads(path.read_text())["tokens"] == TOKENS_EACH
    assert report["status"] == "done"
    assert report["spent"]["known"]["tokens"] == reports * TOKENS_EACH


def assert_plan_file_is_marked(scene: Scene) -> None:
    """Every step carries its mark, the status is done, and nothing else in the file changed."""
    text = scene.plan.read_text()
    for number, title in ((1, "Lay the ground"), (2, "Write {item}"), (3, "Put the roof on")):
        assert f"### {number}. ✅ {title}\n" in text, text
    assert text.replace("✅ ", "").replace("status: done", "status: draft") == PLAN
