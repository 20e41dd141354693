"""Who broke it: the attempts after which a contract that held stopped holding."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from signoff.domain.plan import Contract, Effects
from signoff.orchestrator.sweep import MOST_JUDGINGS, AttemptContent, find_suspects
from tests.verification.courtroom import Courtroom

CHECK = "echo judged >> {count}; grep -qx good state.txt"


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary folder of our own, to see what is left in it."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def count(tmp_path: Path) -> Path:
    return tmp_path / "count.txt"


def _judgings(count: Path) -> int:
    return len(count.read_text().split()) if count.exists() else 0


def _story(court: Courtroom, states: list[str]) -> tuple[str, list[AttemptContent]]:
    """The content that was kept, and one moment per later attempt."""
    court.write("state.txt", "good\n")
    kept = court.snapshot()
    moments = []
    for number, state in enumerate(states):
        court.write("state.txt", f"{state}\n")
        court.write("notes.txt", f"attempt {number}\n")
        moments.append(AttemptContent(f"attempt {number}", court.snapshot()))
    return kept, moments


@pytest.mark.parametrize("culprit", range(7))
def test_the_one_attempt_that_broke_it_is_named(
    court: Courtroom, count: Path, culprit: int
) -> None:
    kept, moments = _story(court, ["good"] * culprit + ["bad"] * (7 - culprit))
    contract = Contract(CHECK.format(count=count))
    found = find_suspects(court.judge_itself, contract, kept, moments)
    assert found == (f"attempt {culprit}",)
    assert _judgings(count) <= MOST_JUDGINGS


def test_the_only_attempt_is_named_without_judging_anything(court: Courtroom, count: Path) -> None:
    kept, moments = _story(court, ["bad"])
    contract = Contract(CHECK.format(count=count))
    assert find_suspects(court.judge_itself, contract, kept, moments) == ("attempt 0",)
    assert _judgings(count) == 0


def test_attempts_that_changed_nothing_are_no_suspects(court: Courtroom, count: Path) -> None:
    kept, moments = _story(court, ["bad"])
    idle = [
        AttemptContent("idle before", kept),
        *moments,
        AttemptContent("idle after", moments[-1].snapshot),
    ]
    contract = Contract(CHECK.format(count=count))
    assert find_suspects(court.judge_itself, contract, kept, idle) == ("attempt 0",)


def test_nobody_is_suspected_when_nothing_changed(court: Courtroom) -> None:
    kept, _ = _story(court, [])
    assert (
        find_suspects(court.judge_itself, Contract("false"), kept, [AttemptContent("a", kept)])
        == ()
    )


@pytest.mark.parametrize(
    "behaves_differently_in_a_copy",
    [
        "test -e build/by-product.o && grep -qx good state.txt",
        "true",
        "exit 127",
        "kill -9 $$",
    ],
)
def test_everyone_is_named_when_a_copy_does_not_behave_like_the_workspace(
    court: Courtroom, behaves_differently_in_a_copy: str
) -> None:
    kept, moments = _story(court, ["good", "bad", "bad"])
    found = find_suspects(
        court.judge_itself, Contract(behaves_differently_in_a_copy), kept, moments
    )
    assert found == ("attempt 0", "attempt 1", "attempt 2")


def test_a_contract_with_effects_outside_is_not_run_again_to_find_suspects(
    court: Courtroom, count: Path
) -> None:
    kept, moments = _story(court, ["good", "bad"])
    contract = Contract(CHECK.format(count=count), effects=Effects.EXTERNAL)
    found = find_suspects(court.judge_itself, contract, kept, moments)
    assert found == ("attempt 0", "attempt 1")
    assert _judgings(count) == 0


def test_a_moment_that_cannot_be_judged_leaves_those_around_it_suspected(
    court: Courtroom,
) -> None:
    kept, moments = _story(court, ["good", "odd", "bad"])
    contract = Contract("grep -qx odd state.txt && exit 127; grep -qx good state.txt")
    found = find_suspects(court.judge_itself, contract, kept, moments)
    assert found == ("attempt 0", "attempt 1", "attempt 2")


def test_a_long_history_is_narrowed_within_a_bounded_number_of_judgings(
    court: Courtroom, count: Path
) -> None:
    kept, moments = _story(court, ["good"] * 130 + ["bad"] * 30)
    contract = Contract(CHECK.format(count=count))
    found = find_suspects(court.judge_itself, contract, kept, moments)
    assert _judgings(count) == MOST_JUDGINGS
    assert "attempt 130" in found
    assert len(found) <= 4


def test_a_contract_that_litters_its_copy_leaves_nothing_in_the_temporary_folder(
    court: Courtroom,
) -> None:
    kept, moments = _story(court, ["good", "bad"])
    litter = "mkdir -p deep/er && touch deep/er/x && chmod 500 deep/er deep; ln -s / out; "
    contract = Contract(litter + "setsid sleep 600 & grep -qx good state.txt")
    found = find_suspects(court.judge_itself, contract, kept, moments)
    assert found == ("attempt 1",)


def test_a_snapshot_that_is_gone_leaves_those_around_it_suspected(court: Courtroom) -> None:
    """Naming fewer suspects is a service: it may fail, the run may not."""
    kept, moments = _story(court, ["good", "bad"])
    moments.insert(1, AttemptContent("attempt x", "0" * 64))
    found = find_suspects(court.judge_itself, Contract("grep -qx good state.txt"), kept, moments)
    assert found == ("attempt 0", "attempt x", "attempt 1")


def test_without_a_temporary_folder_everyone_is_suspected(
    court: Courtroom, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, moments = _story(court, ["good", "bad"])
    monkeypatch.setattr(tempfile, "tempdir", str(temporary / "gone"))
    found = find_suspects(court.judge_itself, Contract("grep -qx good state.txt"), kept, moments)
    assert found == ("attempt 0", "attempt 1")
