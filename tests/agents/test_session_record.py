"""What a session leaves in the ledger: chained, documented, and readable by the usual verbs."""

from __future__ import annotations

import re
from pathlib import Path

from signoff.domain.ledger import Kind
from tests.agents.session_kit import Bureau, checked

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "ledger.md"


def test_every_field_of_a_sessions_entries_is_documented(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path)
    session = bureau.session
    bureau.plan(checked("one", "file_exists", path="made"), "two", "three", posts=("four",))
    bureau.plan("two", "three", posts=("four",), reason="not needed")
    child = session.delegate(1, "a part").session
    assert child is not None
    session.note_mutation(["elsewhere.py"])
    session.note_scratchpad("key", "text")
    session.record_usage(5)
    session.step_update(2, "done", f"tool:{bureau.write('made')}")
    session.step_update(1, "blocked", notes="too hard")
    session.postcondition_verify(1, unattainable_because="no")
    session.try_finish("done")
    child.plan_create("a part", [checked("read it", "file_exists", path="made")], [])
    child.try_finish("done")
    bureau.sign()
    page = PAGE.read_text("utf-8")
    seen = set()
    for chain in (session.id, child.id):
        assert bureau.harness.ledger.check_chain(chain).holds
        for entry in bureau.harness.ledger.entries(chain):
            seen.add(entry.kind)
            section = page.partition(f"### {entry.kind}\n")[2].partition("\n### ")[0]
            undocumented = entry.data.keys() - set(re.findall(r"`(\w+)`", section))
            assert not undocumented, f"{entry.kind}: {undocumented}"
    first, last = (page.find(f"### session.{w}\n") for w in ("started", "signed"))
    of_sessions = {k for k in Kind if first < page.find(f"### {k}\n") <= last}
    assert of_sessions - seen == set()
