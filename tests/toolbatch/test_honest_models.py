"""An honest ordinary model is hardly ever blocked, misled or ended: sessions as people see them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from signoff.toolbatch.calls import ANSWER, NextAction, ResultKind, Steered
from signoff.toolbatch.looking import QUIET
from signoff.toolbatch.pipeline import BatchEnding
from tests.toolbatch.batch_kit import Scene

TWO = "Create `one.md` and `two.md`."


def told(scene: Scene) -> list[Steered]:
    return [event for event in scene.events if isinstance(event, Steered)]


def look(command: str) -> tuple[str, dict[str, Any]]:
    return "bash", {"command": command}


def test_commands_that_say_no_are_observations_and_end_nothing(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.py", "x = 1\n")
    result = scene.play(look("test -f setup.py"), look("grep -rn logging ."), look("ls gone"))
    assert result.ending is BatchEnding.CONTINUE
    for code in range(1, 9):
        assert scene.play(look(f"exit {code}")).ending is BatchEnding.CONTINUE
    assert scene.state.counts.errors == 0


def test_the_very_same_command_that_says_no_again_and_again_ends_the_turn(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    endings = [scene.play(look("exit 3")).ending for _ in range(4)]
    assert endings == [*[BatchEnding.CONTINUE] * 3, BatchEnding.HALT]


def test_a_model_that_works_test_by_test_is_not_stopped(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    red = "echo 'E   SyntaxError: bad'; echo 'SyntaxError: bad'; exit 1"
    for number in range(10):
        assert scene.play(look(red)).ending is BatchEnding.CONTINUE
        scene.one("write", path="p.py", content=f"x = {number}\n")


@pytest.mark.parametrize(
    "said",
    [
        "E   AssertionError: assert 'deadline' == 'x'",
        "E   AssertionError: assert 'user does not exist' == 'x'",
        "HTTP 404: page not found",
        "git push: permission denied (publickey)",
        "E   SyntaxError: bad",
    ],
)
def test_what_a_program_prints_is_not_taken_for_a_failure_of_the_call(
    tmp_path: Path, said: str
) -> None:
    scene = Scene(tmp_path)
    outcome = scene.one("bash", command=f'echo "{said}"; exit 1')
    assert outcome.category == ""


def test_what_a_test_prints_has_no_category_at_all(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("test_a.py", "import no_such_module_at_all\n")
    assert scene.one("bash", command="python3 test_a.py").category == ""


def test_a_file_of_that_name_in_another_folder_is_offered(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("lib/deep/util.py", "y = 1\n")
    assert scene.one("read", path="util.py").next_action == NextAction("read", "lib/deep/util.py")


def test_a_passage_that_occurs_often_is_asked_for_with_more_around_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.txt", "x\nx\n")
    said = "error: `old` occurs 2 times in `a.txt`"
    execute = scene.runner.execute
    scene.runner.execute = lambda call: (
        type(execute(call))(said, ok=False) if call.tool == "edit" else execute(call)
    )
    outcome = scene.one("edit", path="a.txt", old="x", new="y")
    assert "lines around it" in outcome.text and "copy the text exactly" not in outcome.text


def test_first_reads_after_everything_exists_are_work_and_not_an_audit(tmp_path: Path) -> None:
    scene = Scene(tmp_path, TWO)
    for name in ("one", "two"):
        scene.one("write", path=f"{name}.md", content=f"# {name}\n")
    for number in range(8):
        scene.put(f"src/m{number}.py", f"x = {number}\n")
        result = scene.play(("read", {"path": f"src/m{number}.py"}))
        assert result.ending is BatchEnding.CONTINUE and result.results[0].ok
    assert all(said.next_action.tool == ANSWER for said in told(scene)[-1:])


def test_with_a_step_of_its_own_plan_open_nothing_is_handed_over(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "Create `one.md`.")
    scene.state.open_steps = lambda: 1
    scene.one("write", path="one.md", content="# one\n")
    scene.one("read", path="one.md")
    for _ in range(6):
        assert scene.play(("read", {"path": "one.md"})).ending is BatchEnding.CONTINUE
    assert [said for said in told(scene) if said.next_action.tool == ANSWER] == []


def broken(scene: Scene, *found: tuple[str, str]) -> None:
    scene.judge.against = found
    scene.runner.judge()


def test_in_a_repair_everything_may_be_read_and_what_is_sent_twice_changed(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path, "Create `feature.py`.")
    scene.put("helper.py", "def h(x):\n    return x - 1\n")
    scene.put("other.py", "")
    scene.put("tests/test_feature.py", "from feature import f\n")
    scene.one("write", path="feature.py", content="from helper import h\n")
    broken(scene, ("pytest -q", "tests/test_feature.py:3: AssertionError"))
    for path in ("helper.py", "tests/test_feature.py", "other.py"):
        assert scene.one("read", path=path).kind is ResultKind.EXECUTED
    assert scene.one("write", path="other.py", content="x = 1\n").rule == "out_of_scope"
    held = scene.one("edit", path="helper.py", old="- 1", new="+ 1")
    assert held.rule == "out_of_scope" and "send it again" in held.text
    assert scene.one("edit", path="helper.py", old="x - 1", new="x + 1").ok, "the fault lies there"


def test_a_repair_ends_when_no_round_is_left(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "Create `one.md`.")
    scene.put("far.txt", "a\n")
    for number in range(3):
        scene.one("write", path="one.md", content=f"# one {number}\n")
        broken(scene, ("one.md", "thin"))
    assert scene.task.is_over
    assert scene.one("write", path="far.txt", content="b\n").ok
    assert scene.state.repair is None


def test_a_repair_is_judged_on_the_answer_and_not_on_the_first_look_after_it(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path, "Create `one.md`.")
    scene.one("write", path="one.md", content="# one\n")
    broken(scene, ("one.md", "thin"))
    for number in range(3):
        scene.one("write", path="one.md", content=f"# one {number}\n")
        assert scene.play(("read", {"path": "one.md"})).ending is BatchEnding.CONTINUE
    assert scene.task.failed_rounds == 1
    assert scene.runner.answer("Repaired.").ending is BatchEnding.VERIFY


def test_a_model_that_circles_after_a_repair_is_told_to_answer(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "Create `one.md`.")
    scene.one("write", path="one.md", content="# one\n")
    broken(scene, ("one.md", "thin"))
    scene.one("write", path="one.md", content="# one, and more of it\n")
    for _ in range(10):
        scene.one("read", path="one.md")
    assert told(scene)[-1].next_action == NextAction(ANSWER)


def test_nothing_is_said_where_no_step_is_known(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "How is the configuration loaded?")
    scene.put("a.py", "x = 1\n")
    scene.one("read", path="a.py")
    assert scene.one("read", path="a.py").next_action is None
    scene.one("bash", command="sed -n 1p a.py")
    scene.one("todo", items=[{"text": "understand the loader", "done": False}])
    assert told(scene) == []


def test_after_a_part_of_a_file_was_edited_reading_it_is_no_repetition(tmp_path: Path) -> None:
    scene = Scene(tmp_path, TWO)
    scene.one("write", path="one.md", content="# one\n")
    scene.one("edit", path="one.md", old="one", new="One")
    assert scene.play(("read", {"path": "one.md"})).steering is None
    scene.one("bash", command="seq 5 > data.txt")
    assert scene.play(("read", {"path": "data.txt"})).steering is None


def test_the_same_rule_is_not_heard_turn_after_turn(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "Create `FINDINGS.md`.")
    for number in range(16):
        scene.put(f"src/m{number}.py", f"x = {number}\n")
        scene.one("read", path=f"src/m{number}.py")
    rules = [said.rule for said in told(scene)]
    assert 1 <= len(rules) <= 1 + 8 // QUIET + 1 and set(rules) == {"long_look"}


def test_a_change_completes_the_item_that_names_the_file_and_the_next_one_has_none(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path)
    scene.put("calc.py", "x = 1\n")
    texts = ("fix the bug in calc.py", "update the user guide")
    items = [{"text": text, "done": False} for text in texts]
    scene.one("todo", items=items)
    assert told(scene) == [], "what an item takes is the model's to say"
    scene.one("edit", path="calc.py", old="1", new="2")
    said = told(scene)[-1]
    assert "`update the user guide`" in said.text
    assert said.next_action == NextAction("todo"), "nobody knows its file"


def test_a_result_of_data_is_not_asked_for_as_a_first_version(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "Create `data/clean.csv` and `REPORT.md`.")
    scene.one("write", path="clean.py", content="print(1)\n")
    said = told(scene)[-1]
    assert said.next_action.target == "data/clean.csv"
    assert "first version" not in said.text and "run what makes it" in said.text
