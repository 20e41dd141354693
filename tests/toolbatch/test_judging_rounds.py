"""Rounds from their plan to their decision, with real commands on real files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from signoff.domain.definition import (
    ROUND_BUDGET,
    Artifact,
    Check,
    DefinitionStatus,
    Item,
    RoundStatus,
    Seen,
    Support,
)
from signoff.errors import ProcessFailed
from signoff.gate.definition import ArtifactsSeen, Touched
from signoff.gate.rounds import shown
from signoff.toolbatch.judging import Court, Judge, Judged, status_of
from signoff.toolbatch.keeping import Keeper, MemoryBook
from tests.toolbatch.definition_kit import ShellJudge

REPORT = Artifact("report.txt")
GOOD = "grep -qx good report.txt"


class Desk:
    """A workspace, its books and its court."""

    def __init__(self, root: Path, *contracts: str, judge: Judge | None = None):
        self.root = root
        self.told: list[str] = []
        judge = judge if judge is not None else ShellJudge(root)
        self.court = Court(root, judge, contracts, has_checker=lambda _path: False)
        self.keeper = Keeper(
            MemoryBook(),
            "write report.txt",
            artifacts=(REPORT,),
            items=(Item("Create report.txt", (REPORT,)),),
            planner=self.court.checks,
            told=lambda note: self.told.append(note.reason),
        )

    def write(self, text: str, path: str = "report.txt") -> None:
        (self.root / path).write_text(text)
        there = tuple(p for p in ("report.txt",) if (self.root / p).is_file())
        self.keeper.record(ArtifactsSeen(there), Touched((path,), "c", "write"))

    def is_done(self) -> bool:
        return self.keeper.definition.status is DefinitionStatus.DONE

    @property
    def status(self) -> DefinitionStatus:
        return self.keeper.definition.status

    def hold(self) -> RoundStatus | None:
        held = self.court.hold(self.keeper, "the model says that it is finished")
        return held.status if held is not None else None


def test_a_change_with_nothing_left_to_build_plans_a_verification(tmp_path: Path) -> None:
    desk = Desk(tmp_path, GOOD)
    desk.write("x", "notes.txt")
    assert desk.keeper.definition.round is None
    desk.write("good\n")
    planned = desk.keeper.definition.round
    assert planned is not None and planned.status is RoundStatus.PENDING
    assert planned.checks[0].command == GOOD
    assert planned.because == "write changed files, and nothing is left to build"
    assert desk.status is DefinitionStatus.VERIFYING


def test_a_kept_round_is_done_and_names_what_it_saw(tmp_path: Path) -> None:
    desk = Desk(tmp_path, GOOD)
    desk.write("good\n")
    assert desk.hold() is RoundStatus.KEPT and desk.status is DefinitionStatus.DONE
    evidence = desk.keeper.definition.evidence
    assert [(s.source, s.command, s.status) for s in evidence] == [
        ("contract", GOOD, Support.SUPPORTS),
        ("existence", "test -f ./report.txt && test -s ./report.txt", Support.SUPPORTS),
    ]
    assert desk.told.index("round_pending") < desk.told.index("round_running")
    assert desk.told[-1] == "status_changed" and "round_kept" in desk.told


def test_broken_fixed_kept_then_changed_is_judged_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path, GOOD)
    desk.write("bad\n")
    assert desk.hold() is RoundStatus.BROKEN and desk.status is DefinitionStatus.FIXING
    desk.write("good\n")
    assert desk.hold() is RoundStatus.KEPT
    desk.write("bad\n")
    assert not desk.is_done()
    assert desk.hold() is RoundStatus.BROKEN
    rounds = desk.keeper.definition.rounds
    assert [(r.number, r.supersedes, r.status, shown(r)) for r in rounds] == [
        (1, None, RoundStatus.BROKEN, "round 1 of 3"),
        (2, 1, RoundStatus.STALE, "round 2 of 3"),
        (3, 2, RoundStatus.BROKEN, "round 2 of 3"),
    ]


def test_after_three_failures_nothing_is_judged_any_more(tmp_path: Path) -> None:
    desk = Desk(tmp_path, GOOD)
    desk.write("bad\n")
    for _ in range(ROUND_BUDGET):
        assert desk.hold() is RoundStatus.BROKEN
    desk.write("good\n")
    assert desk.hold() is None and desk.status is DefinitionStatus.FAILED


def test_a_missing_command_is_unknown_and_counts(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "no-such-command-anywhere report.txt")
    desk.write("good\n")
    assert desk.hold() is RoundStatus.UNKNOWN and desk.status is DefinitionStatus.FIXING
    assert desk.keeper.definition.failed_rounds == 1


def test_a_timeout_is_unknown(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "read -r x < fifo", judge=ShellJudge(tmp_path, timeout_s=0.5))
    os.mkfifo(tmp_path / "fifo")
    desk.write("good\n")
    assert desk.hold() is RoundStatus.UNKNOWN


def test_an_early_answer_is_judged_and_found_wanting(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "true && test -d .")
    assert desk.hold() is RoundStatus.BROKEN
    last = desk.keeper.definition.round
    assert last is not None
    assert ("report.txt", Support.MISSING) in [(s.subject, s.status) for s in last.seen]


def test_nothing_to_judge_by_is_skipped_openly_and_never_done(tmp_path: Path) -> None:
    court = Court(tmp_path, ShellJudge(tmp_path), ("true",), has_checker=lambda _path: False)
    keeper = Keeper(MemoryBook(), "think about it", planner=court.checks)
    keeper.record(Touched(("notes.xyz",)))
    held = court.hold(keeper, "the model says that it is finished")
    assert held is not None and held.status is RoundStatus.SKIPPED
    assert held.seen[0].detail.startswith("unverifiable: ") and "`true`" in held.seen[0].detail
    assert keeper.definition.status is not DefinitionStatus.DONE
    assert keeper.definition.failed_rounds == 0


@dataclass
class Meddler:
    """Judges in favour, and lets something happen meanwhile."""

    meanwhile: Callable[[], object]

    def judge(self, checks: Sequence[Check]) -> Judged:
        self.meanwhile()
        seen = tuple(Seen(c.source, c.command, Support.SUPPORTS, c.command) for c in checks)
        return RoundStatus.KEPT, seen


def test_an_artifact_deleted_while_it_is_judged_is_no_success(tmp_path: Path) -> None:
    desk = Desk(tmp_path, GOOD, judge=Meddler((tmp_path / "report.txt").unlink))
    desk.write("good\n")
    desk.hold()
    assert not desk.is_done()
    assert desk.keeper.definition.rounds[0].because == "`report.txt` is gone"


def test_a_change_while_it_is_judged_is_no_success(tmp_path: Path) -> None:
    desks: list[Desk] = []
    desk = Desk(tmp_path, GOOD, judge=Meddler(lambda: desks[0].write("worse\n")))
    desks.append(desk)
    desk.write("good\n")
    assert desk.hold() is RoundStatus.PENDING and desk.status is DefinitionStatus.VERIFYING
    assert desk.keeper.definition.rounds[0].status is RoundStatus.STALE


def test_a_judge_that_breaks_down_leaves_an_unknown_round(tmp_path: Path) -> None:
    def fall() -> None:
        raise ProcessFailed("no bash here")

    desk = Desk(tmp_path, GOOD, judge=Meddler(fall))
    desk.write("good\n")
    assert desk.hold() is RoundStatus.UNKNOWN
    last = desk.keeper.definition.round
    assert last is not None and "no bash here" in last.seen[0].detail


def test_deleting_the_manifest_gets_rid_of_no_check(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("test:\n\tgrep -qx good report.txt\n")
    desk = Desk(tmp_path)
    desk.write("bad\n")
    assert desk.hold() is RoundStatus.BROKEN
    (tmp_path / "Makefile").unlink()
    desk.write("still bad\n")
    assert desk.hold() is not RoundStatus.KEPT and not desk.is_done()


def test_an_emptied_artifact_is_noticed_before_judging(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.write("good\n")
    assert desk.hold() is RoundStatus.KEPT
    (tmp_path / "report.txt").write_text("")
    assert desk.hold() is RoundStatus.BROKEN and not desk.is_done()


@pytest.mark.parametrize(
    ("statuses", "result"),
    [
        ((), RoundStatus.UNKNOWN),
        ((Support.SUPPORTS,), RoundStatus.KEPT),
        ((Support.MISSING,), RoundStatus.UNKNOWN),
        ((Support.CONTEXT,), RoundStatus.UNKNOWN),
        ((Support.SUPPORTS, Support.CONTRADICTS), RoundStatus.BROKEN),
    ],
)
def test_what_observations_add_up_to(statuses: tuple[Support, ...], result: RoundStatus) -> None:
    check = Check("c", "contract")
    assert status_of((check,), [Seen("s", "x", status, "c") for status in statuses]) is result
    assert status_of((), ()) is RoundStatus.UNKNOWN
