"""Marks are written for readers, edits behind the pins are noticed; neither is obeyed."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from signoff.domain.ledger import Choice, Kind, Outcome
from signoff.domain.plan import PlanStatus
from signoff.gate.state import State
from signoff.orchestrator.projection import PlanFileProjection
from signoff.planfile.parse import parse
from signoff.verification.guards import PinWatch
from tests.orchestrator.stage import Stage, step, write

MANY = [step(n, f"test -s {n}.txt") for n in range(1, 13)]
MANY_DONE = {(str(n), 1): write(f"{n}.txt") for n in range(1, 13)}


@dataclass
class Counting:
    """The real projection, with a count of the times the file changed."""

    inner: PlanFileProjection
    texts: list[str] = field(default_factory=list)

    def show(self, state: State, status: PlanStatus, *, now: bool) -> None:
        self.inner.show(state, status, now=now)
        text = self.inner.path.read_text()
        if not self.texts or self.texts[-1] != text:
            self.texts.append(text)


def test_marks_are_written_seldom_and_are_right_at_the_end(tmp_path: Path) -> None:
    stage = Stage(tmp_path, MANY)
    counting = Counting(PlanFileProjection(stage.plan))
    # A pause that no test outlasts: only what must be shown at once is shown.
    counting.inner._next = float("inf")
    assert stage.drive(MANY_DONE, projection=counting) is Outcome.DONE
    assert [stage.heading(n) for n in (1, 12)] == ["### 1. ✅ Step 1", "### 12. ✅ Step 12"]
    assert stage.status() == "status: done"
    assert len(counting.texts) == 2, "the plan as approved, and the end"


def test_only_marks_and_status_change_in_the_file(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [step(1, "test -s 1.txt"), step(2, "test -s 2.txt")])
    before = stage.plan.read_text()
    stage.drive({("1", 1): write("1.txt"), ("2", 1): write("2.txt")})
    after = stage.plan.read_text()
    assert after.replace("✅ ", "").replace("status: done", "status: draft") == before


@pytest.mark.parametrize("how", ["gone", "folder", "pipe", "link"])
def test_a_plan_file_that_cannot_be_marked_stops_nothing_but_is_noticed(
    tmp_path: Path, how: str
) -> None:
    stage = Stage(tmp_path, [step(1, "test -s 1.txt")])

    def replace(workspace: Path) -> None:
        write("1.txt")(workspace)
        stage.plan.unlink()
        if how == "folder":
            stage.plan.mkdir()
        elif how == "pipe":
            os.mkfifo(stage.plan)
        elif how == "link":
            stage.plan.symlink_to("/dev/zero")

    assert stage.drive({("1", 1): replace}) is None
    (edited,) = stage.entries(Kind.PLAN_EDITED)
    assert "-### 1. Step 1" in edited.data["difference"]
    assert stage.entries(Kind.STEP_DONE) == []


def test_an_edited_plan_pauses_the_run_with_the_difference_and_is_not_obeyed(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path, [step(1, "test -s 1.txt", "**on_fail:** escalate")])

    def weaken(_: Path) -> None:
        stage.plan.write_text(stage.plan.read_text().replace("test -s 1.txt", "test ! -e no"))

    assert stage.drive({("1", 1): weaken}) is None
    assert stage.questions()[0].startswith("the plan file or signoff.toml was edited")
    (edited,) = stage.entries(Kind.PLAN_EDITED)
    assert "-test -s 1.txt\n+test ! -e no" in edited.data["difference"]
    assert stage.entries(Kind.VERDICT)[-1].data["phase"] == "before", "judged nothing since"
    stage.answer(Choice.RETRY)
    assert stage.drive({}) is None
    assert stage.entries(Kind.VERDICT)[-1].data["result"] == "broken", "by the pinned contract"
    assert len(stage.entries(Kind.PLAN_EDITED)) == 1, "the same edit is noticed once"


def test_a_further_edit_is_noticed_again(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [step(1, "test -s 1.txt"), step(2, "test -s 2.txt")])

    def edit(workspace: Path) -> None:
        write(f"{len(stage.entries(Kind.STEP_DONE)) + 1}.txt")(workspace)
        stage.plan.write_text(stage.plan.read_text() + "\nmore\n")

    script = {("1", 1): edit, ("2", 1): edit}
    assert stage.drive(script) is None
    stage.answer(Choice.RETRY)
    assert stage.drive(script) is None
    stage.answer(Choice.RETRY)
    assert stage.drive(script) is Outcome.DONE
    assert len(stage.entries(Kind.PLAN_EDITED)) == 2


def test_an_edit_between_two_drives_is_noticed_before_anything_is_done(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [step(1, "test -s 1.txt")])

    def die(_: Path) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stage.drive({("1", 1): die})
    (stage.root / "signoff.toml").write_text('[roles.coder]\ncommand = "true"\n')
    assert stage.drive({}) is None
    assert stage.story()[-2:] == ["plan.edited", "escalation.opened plan-edited"]


def test_marks_that_an_agent_writes_are_no_edit_and_no_proof(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [step(1, "test -s 1.txt", "**on_fail:** escalate")])

    def tick(_: Path) -> None:
        text = stage.plan.read_text().replace("### 1. ", "### 1. ✅ ").replace("⏳ ", "")
        stage.plan.write_text(text.replace("in-progress", "done"))

    assert stage.drive({("1", 1): tick}) is None
    assert stage.entries(Kind.PLAN_EDITED) == []
    assert stage.heading(1) == "### 1. ⛔ Step 1"
    assert stage.status() == "status: in-progress"


def test_the_heading_of_a_list_shows_the_worst_of_its_items(tmp_path: Path) -> None:
    listed = step(
        1,
        "test -s {item}.txt",
        "**for_each:**",
        "```shell",
        "cat list.txt",
        "```",
        "**on_fail:** escalate",
    )
    stage = Stage(tmp_path, [listed])
    stage.write("list.txt", "a\nb\n")
    assert stage.drive({("1[a]", 1): write("a.txt")}) is None
    assert stage.heading(1) == "### 1. ⛔ Step 1"
    stage.answer(Choice.RETRY)
    assert stage.drive({("1[b]", 2): write("b.txt")}) is Outcome.DONE
    assert stage.heading(1) == "### 1. ✅ Step 1"


def _watch(folder: Path, text: str) -> PinWatch:
    plan, config = folder / "PLAN.md", folder / "signoff.toml"
    plan.write_text(text)
    config.write_text("[policy]\n")
    digest = parse(text).plan.plan_digest
    return PinWatch(plan, digest, text, config, "[policy]\n")


PLAN = "# A plan\n\n## Steps\n\n" + step(1, "test -s 1.txt")


def test_the_watch_is_quiet_about_marks_and_status(tmp_path: Path) -> None:
    watch = _watch(tmp_path, PLAN)
    assert watch.edited() is None
    (tmp_path / "PLAN.md").write_text(PLAN.replace("### 1. ", "### 1. ✅ "))
    assert watch.edited() is None


@pytest.mark.parametrize("how", ["changed", "gone", "pipe", "endless", "binary"])
def test_the_watch_notices_whatever_happened_to_the_configuration(tmp_path: Path, how: str) -> None:
    watch = _watch(tmp_path, PLAN)
    config = tmp_path / "signoff.toml"
    config.unlink()
    if how == "changed":
        config.write_text("[policy]\nforbid_waivers = false\n")
    elif how == "pipe":
        os.mkfifo(config)
    elif how == "endless":
        config.symlink_to("/dev/zero")
    elif how == "binary":
        config.write_bytes(b"\xff\xfe")
    edited = watch.edited()
    assert edited is not None
    assert "-[policy]" in edited[1] or how == "changed"


def test_a_plan_file_that_is_gone_is_not_called_edited(tmp_path: Path) -> None:
    watch = _watch(tmp_path, PLAN)
    (tmp_path / "PLAN.md").write_text(PLAN + "more\n")
    assert watch.question().startswith("the plan file or signoff.toml was edited during the run")
    (tmp_path / "PLAN.md").unlink()
    edited, path = watch.edited(), tmp_path / "PLAN.md"
    assert edited is not None and edited[1].startswith(f"`{path}` is gone; it was approved as:\n")
    assert watch.question().startswith(f"the plan file `{path}` is gone since the run began; ")
    assert f"signoff show {path} --approved > {path}" in watch.question()


def test_a_huge_edit_is_shown_in_part(tmp_path: Path) -> None:
    watch = _watch(tmp_path, PLAN)
    (tmp_path / "PLAN.md").write_text(PLAN + "more\n" * 100_000)
    edited = watch.edited()
    assert edited is not None
    assert len(edited[1]) <= 20_000
