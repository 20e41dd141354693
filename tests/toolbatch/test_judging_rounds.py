"""A task's rounds: what its checks add up to, what makes one stale, how many may fail."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from signoff.domain.plan import Contract
from signoff.domain.session import ROUND_BUDGET
from signoff.domain.verdict import Verdict
from signoff.gate.gate import evaluate
from signoff.gate.task import Round, RoundStatus
from signoff.toolbatch.calls import Call, CallResult
from signoff.toolbatch.deriving import CheckSources
from signoff.toolbatch.opening import Parts, open_runner
from signoff.toolbatch.taskplan import MemoryBooks
from tests.toolbatch.batch_kit import verdict

GOOD = "grep -qx good report.txt"
_NOT_RUN = (126, 127)


class Desk:
    """A workspace, a task and a judge that really runs commands."""

    def __init__(self, root: Path, *contracts: str):
        self.root, self.ran = root, list[str]()
        sources = CheckSources(contracts, has_checker=lambda _path: False)
        parts = Parts(books=MemoryBooks(self._judge), sources=sources)
        self.runner = open_runner(root, self._write, "write report.txt", parts=parts)

    def _judge(self, subject: str, contract: Contract) -> Verdict:
        self.ran.append(contract.command)
        done = subprocess.run(
            ("bash", "-c", contract.command),
            cwd=self.root,
            env={"PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=False,
        )
        unknown = done.returncode in _NOT_RUN
        kept = done.returncode == 0
        return verdict(subject, kept=kept, said=done.stdout + done.stderr, unknown=unknown)

    def _write(self, call: Call) -> CallResult:
        (self.root / call.target).write_text(call.arguments["content"])
        return CallResult("", True, writes={call.target: str(len(self.ran))})

    def write(self, text: str, path: str = "report.txt") -> None:
        from signoff.toolbatch.calls import propose

        arguments = {"path": path, "content": text}
        self.runner.run([propose("c", "write", arguments, root=self.root)])

    def hold(self) -> Round | None:
        return self.runner.judge()

    @property
    def open(self) -> bool:
        """What the gate says of the content that was judged last."""
        state = self.runner.plan.books.look()
        return evaluate(state, f"at {state.session.changed_at}").open


def test_a_kept_round_opens_the_gate_and_a_change_makes_it_stale(tmp_path: Path) -> None:
    desk = Desk(tmp_path, GOOD)
    desk.write("good\n")
    held = desk.hold()
    assert held is not None and held.status is RoundStatus.KEPT and desk.open
    desk.write("good\n", "other.txt")
    stale = desk.runner.plan.task().round
    assert stale is not None and stale.status is RoundStatus.STALE and not desk.open


def test_a_broken_round_shuts_the_gate_and_says_what_the_check_said(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "grep good report.txt || (echo nothing good; exit 1)")
    desk.write("bad\n")
    held = desk.hold()
    assert held is not None and held.status is RoundStatus.BROKEN and not desk.open
    assert "nothing good" in held.against[0].detail
    desk.write("good\n")
    held = desk.hold()
    assert held is not None and held.status is RoundStatus.KEPT and desk.open


def test_three_contents_on_which_it_failed_are_a_persons(tmp_path: Path) -> None:
    desk = Desk(tmp_path, GOOD)
    for number in range(ROUND_BUDGET):
        assert not desk.runner.plan.task().is_over
        desk.write(f"bad {number}\n")
        desk.hold()
        desk.hold()
    task = desk.runner.plan.task()
    assert task.is_over and task.failed_rounds == ROUND_BUDGET
    report = evaluate(desk.runner.plan.books.look(), "x")
    assert report.waits_for_people and "a person has to look" in report.missing[-1].what


def test_nothing_changed_so_nothing_is_judged_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path, GOOD)
    desk.write("good\n")
    desk.hold()
    judged = len(desk.ran)
    desk.hold()
    assert len(desk.ran) == judged


def test_a_check_that_could_not_be_run_is_unknown_and_counts(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "no-such-command-anywhere report.txt")
    desk.write("good\n")
    held = desk.hold()
    assert held is not None and held.status is RoundStatus.UNKNOWN
    assert desk.runner.plan.task().failed_rounds == 1 and not desk.open


def test_an_emptied_file_is_noticed_when_it_is_judged(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "test -d .")
    desk.write("good\n")
    desk.hold()
    assert desk.open
    (tmp_path / "report.txt").write_text("")
    desk.write("x", "other.txt")
    desk.hold()
    assert not desk.open


def test_nothing_to_judge_by_leaves_no_plan(tmp_path: Path) -> None:
    parts = Parts(books=MemoryBooks(), sources=CheckSources(("true",)))
    runner = open_runner(
        tmp_path, lambda _call: CallResult("", True), "think about it", parts=parts
    )
    assert runner.judge() is None and runner.plan.books.look().plan is None


def test_deleting_the_manifest_gets_rid_of_no_check(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("test:\n\tgrep -qx good report.txt\n")
    desk = Desk(tmp_path)
    desk.write("bad\n")
    held = desk.hold()
    assert held is not None and held.status is RoundStatus.BROKEN
    (tmp_path / "Makefile").unlink()
    desk.write("still bad\n")
    desk.hold()
    assert not desk.open
    state = desk.runner.plan.books.look()
    missing = evaluate(state, f"at {state.session.changed_at}").missing
    assert any("does not prove any more" in m.what for m in missing)
