"""`--json`, before or behind the verb: the same document for programs, with its schema version."""

from __future__ import annotations

from typing import Any

from tests.cli.kit import Desk
from tests.cli.plans import step


def test_every_verb_answers_programs_with_a_versioned_document(desk: Desk) -> None:
    desk.agent("true").plan(step("Dig", "test -s hole", on_fail="escalate"))
    created = _document(desk, 0, "new", "other")
    assert [path.rpartition("/")[2] for path in created["created"]] == ["PLAN-other.md"]
    assert _document(desk, 0, "verify", "PLAN.md")["ok"] is True
    assert _document(desk, 0, "approve", "PLAN.md", "--yes")["status"] == "approved"
    assert _document(desk, 0, "reject", "PLAN.md", "--note", "no")["status"] == "draft"
    desk.run("--yes").exits(6)
    assert len(_document(desk, 6, "status", "PLAN.md")["waiting"]) == 1
    (item,) = desk.inbox()
    answered = _document(desk, 0, "answer", item["id"], "retry")
    assert (answered["id"], answered["choice"], answered["step"]) == (item["id"], "retry", "1")
    assert _document(desk, 0, "diff", "PLAN.md")["changes"] == []
    assert _document(desk, 0, "show", "PLAN.md")["text"] == desk.read("PLAN.md")
    cancelled = _document(desk, 0, "cancel", "PLAN.md")
    assert cancelled["run"] == item["id"].partition("-")[0]
    assert _document(desk, 1, "status", "PLAN.md")["waiting"] == []
    assert _document(desk, 1, "audit", "PLAN.md")["result"] == "broken"


def _document(desk: Desk, code: int, verb: str, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = desk.signoff("--json", verb, *arguments).exits(code).json
    assert found["schema_version"] == 1
    return found
