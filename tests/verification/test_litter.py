"""Litter that a contract leaves does no harm; litter that an agent left is content."""

from __future__ import annotations

from pathlib import Path

import pytest

from signoff.domain.verdict import Reason, Result
from tests.verification.courtroom import Courtroom

LITTER = [
    "mkdir .benchmarks",
    "mkdir -p some/deep/folder",
    "mkdir -p bare/inside",
    "echo x > .coverage",
    "echo x > src/.coverage.host.12.abc",
    "mkdir htmlcov && echo x > htmlcov/index.html",
    "mkdir -p .benchmarks/Linux && echo x > .benchmarks/Linux/0001.json",
    "echo x > .eslintcache",
]


@pytest.mark.parametrize("command", LITTER)
def test_litter_that_a_contract_leaves_is_put_away_and_the_verdict_stands(
    court: Courtroom, command: str
) -> None:
    court.write("src/a.py")
    (court.root / "bare").mkdir()
    before = court.snapshot()
    assert court.judge(command).result is Result.KEPT
    assert court.snapshot() == before
    assert {p.name for p in court.root.rglob("*")} == {"a.py", "src", "bare"}


def test_a_broken_contract_stays_broken_whatever_it_leaves(court: Courtroom) -> None:
    court.write("a.py")
    verdict = court.judge("mkdir .benchmarks; echo x > .coverage; false")
    assert (verdict.result, verdict.reason) == (Result.BROKEN, Reason.EXPECTATION)


def test_litter_beside_a_real_change_is_neither_named_nor_put_away(court: Courtroom) -> None:
    court.write("a.py")
    verdict = court.judge("mkdir .benchmarks; echo x > .coverage; echo x > report.txt")
    assert verdict.reason is Reason.MOVED
    assert "`report.txt` added; if" in verdict.message
    assert (court.root / ".coverage").exists()


@pytest.mark.parametrize(
    ("left", "command"),
    [
        (".coverage", "echo more >> .coverage"),
        (".coverage.forged", "rm .coverage.forged; echo all > .coverage"),
        (".tox/py/bin/pytest", "echo ran > .tox/py/log"),
        (".eslintcache", "echo clean > .eslintcache"),
        ("htmlcov/index.html", "echo new > htmlcov/index.html"),
    ],
)
def test_litter_that_was_there_before_is_content_as_ever(
    court: Courtroom, left: str, command: str
) -> None:
    """The agent may have forged it, and the contract may have read it."""
    court.write(left)
    assert court.judge(command).reason is Reason.MOVED


def test_litter_that_an_agent_left_is_part_of_the_content(court: Courtroom) -> None:
    court.write("a.py")
    before = court.snapshot()
    court.write(".coverage", "where the agent hides its notes")
    assert court.snapshot() != before
    assert court.judge("test -s .coverage").result is Result.KEPT
    assert court.judge("test -s .benchmarks").result is Result.BROKEN


def test_nothing_goes_through_a_link_that_is_named_like_litter(
    court: Courtroom, tmp_path: Path
) -> None:
    """The agent points the report's folder at the tests; the contract then writes there."""
    court.write("tests/test_a.py")
    (court.root / "htmlcov").symlink_to("tests")
    verdict = court.judge("echo lie > htmlcov/test_a.py")
    assert verdict.reason is Reason.MOVED
    assert "`tests/test_a.py` modified" in verdict.message
    outside = tmp_path / "outside"
    outside.mkdir()
    (court.root / ".benchmarks").symlink_to(outside)
    assert court.judge("echo x > .benchmarks/kept").result is Result.KEPT
    assert (outside / "kept").exists()


def test_an_empty_folder_that_a_contract_removes_has_moved(court: Courtroom) -> None:
    (court.root / "bare").mkdir()
    verdict = court.judge("rmdir bare")
    assert "`bare` removed" in verdict.message
    assert verdict.reason is Reason.MOVED


def test_one_contract_does_not_find_the_litter_of_another(court: Courtroom) -> None:
    court.write("a.py")
    assert court.judge("echo forged > .coverage").result is Result.KEPT
    assert court.judge("! test -e .coverage").result is Result.KEPT
