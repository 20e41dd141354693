"""The contracts of the page on stacks are ones that `verify` has nothing against."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.docs.book import TOP, Block, blocks
from tests.docs.typist import desk

PAGE = TOP / "docs" / "how-to" / "your-stack.md"
CONTRACTS = [b for b in blocks(PAGE) if b.language == "markdown"]
HEAD = "# Work\n\n## Steps\n\n### 1. Work\n\n**target:** coder\n**task:**\nDo it.\n\n"
# What depends on the machine and on the project that the reader has.
OF_THE_READER = {"tool-missing", "protects-nothing"}


@pytest.mark.parametrize("block", CONTRACTS, ids=lambda b: f"line-{b.line}")
def test_verify_has_nothing_against_a_contract_of_the_page(block: Block, tmp_path: Path) -> None:
    at = desk(tmp_path)
    for folder in ("packages/api/tests", "tests", "test"):
        (at.folder / folder).mkdir(parents=True)
    (at.folder / "Makefile").write_text("check:\n\ttrue\n")
    (at.folder / "package.json").write_text('{"scripts": {"test": "node --test"}}\n')
    (at.folder / "PLAN.md").write_text(HEAD + block.text)
    done = at.signoff("verify", "PLAN.md", "--role", "coder=true", "--json")
    findings = json.loads(done.stdout)["findings"]
    assert [f for f in findings if f["code"] not in OF_THE_READER] == []
    assert done.returncode == 0


def test_the_page_has_a_contract_for_every_stack_it_names() -> None:
    assert len(CONTRACTS) >= 7
