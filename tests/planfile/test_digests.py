"""The plan digest covers everything but progress; the file digest covers every byte."""

from __future__ import annotations

import pytest

from signoff.planfile.outline import file_digest, plan_digest
from signoff.planfile.parse import parse
from tests.planfile.writing import plan, step

_TEXT = "---\ntype: plan\nstatus: draft # x\nowner: me\n---\n" + plan(step("1"), step("2"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("### 1. Work", "### 1. ✅ Work"),
        ("### 1. Work", "### 1. ⛔\ufe0f Work"),
        ("status: draft # x\n", "status: done\n"),
        ("status: draft # x\n", ""),
        ("**target:** coder\n", "**target:** coder\n**status: done**\n"),
        ("**target:** coder\n", "**Status:** failed\n**target:** coder\n"),
    ],
)
def test_progress_changes_the_file_but_not_the_meaning(old: str, new: str) -> None:
    changed = _TEXT.replace(old, new, 1)
    assert plan_digest(changed) == plan_digest(_TEXT)
    assert file_digest(changed) != file_digest(_TEXT)
    assert parse(changed).plan == parse(_TEXT).plan


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("### 1. Work", "### 1. Play"),
        ("### 1. Work", "### 1. ✔ Work"),
        ("Do it.", "Do it!"),
        ("test -f out.txt", "true"),
        ("exit_code == 0", "exit_code == 1"),
        ("owner: me", "owner: you"),
        ("**target:** coder\n", "**target:** coder\n**status: perfect**\n"),
        ("\n## Steps", "Prose nobody reads.\n\n## Steps"),
        ("Do it.", "Do it. "),
    ],
)
def test_everything_else_changes_the_meaning(old: str, new: str) -> None:
    assert old in _TEXT
    assert plan_digest(_TEXT.replace(old, new, 1)) != plan_digest(_TEXT)


def test_a_status_in_a_fence_or_in_the_body_counts() -> None:
    fenced = _TEXT.replace("Do it.", "```\n**status: done**\nstatus: draft\n```", 1)
    assert plan_digest(fenced) != plan_digest(fenced.replace("**status: done**\n", ""))
    assert plan_digest(fenced) != plan_digest(
        fenced.replace("\nstatus: draft\n`", "\nstatus: x\n`")
    )


def test_lone_surrogates_have_a_digest_too() -> None:
    assert parse(plan(header="\ud800")).plan.file_digest
