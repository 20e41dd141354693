"""A task or a list that holds a secret: the plan derived from it is stored redacted, and once."""

from __future__ import annotations

from pathlib import Path

from signoff.domain.ledger import Kind
from signoff.toolbatch.deriving import CheckSources
from signoff.toolbatch.taskplan import TaskPlan
from signoff.toolbatch.todo import take_list
from tests.agents.session_kit import Bureau

TOKEN = "ghp_" + "a1B2" * 9


def test_a_plan_from_words_with_a_secret_is_written_once(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path)
    plan = TaskPlan(bureau.session, bureau.root, CheckSources())
    plan.begin(f"Log in with {TOKEN} and create `a.md`.")
    take_list(plan, [f"tell them that {TOKEN} is old"])
    written = bureau.entries(Kind.PLAN_WRITTEN)
    for _ in range(3):
        plan.judge()
        take_list(plan, [f"tell them that {TOKEN} is old"])
    assert bureau.entries(Kind.PLAN_WRITTEN) == written
    text = written[-1].data["text"]
    assert TOKEN not in text and "[redacted:token]" in text
