"""A broken round opens a repair: its files, what changed in its findings, and where work stays."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from signoff.gate.task import Against, Round, RoundStatus, Task
from signoff.toolbatch import repair
from signoff.toolbatch.calls import CallResult, ResultKind
from signoff.toolbatch.view import RepairFocus
from tests.toolbatch.steering_kit import (
    GUIDE,
    artifacts,
    blocked,
    call,
    duplicate,
    executed,
    focus,
    mismatch,
)

CHECK = "signoff check-artifact ./docs/one.md ./docs/two.md ./docs/three.md"


def against(command: str, detail: str = "") -> Against:
    return Against(command, detail)


def fault(path: str, text: str) -> Against:
    """As a checker says it."""
    return Against(CHECK, f"{path}:1: error: {text} [x]")


def broken(number: int, *found: Against) -> Round:
    return Round(RoundStatus.BROKEN, number, found)


def opened(
    *found: Against, planned: tuple[str, ...] = GUIDE, touched: tuple[str, ...] = ()
) -> RepairFocus:
    task = Task("t", artifacts(*planned), touched=touched)
    focused = repair.focus_of(broken(1, *found), task)
    assert focused is not None
    return focused


def paths(found: RepairFocus) -> list[str]:
    return [target.path for target in found.targets]


@pytest.mark.parametrize("status", [s for s in RoundStatus if s is not RoundStatus.BROKEN])
def test_only_a_broken_round_opens_a_repair(status: RoundStatus) -> None:
    last = Round(status, against=(fault(GUIDE[1], "thin"),))
    assert repair.focus_of(last, Task("t", artifacts(*GUIDE))) is None


def test_the_targets_are_the_files_found_fault_with_and_only_they_are_allowed() -> None:
    said = (
        f"{GUIDE[1]}:3: error: link to nowhere [broken-link]\n    hint: x\n"
        f"{GUIDE[1]}:9: error: no title [x]\n    hint: mind {GUIDE[2]}\n"
        f"{GUIDE[3]}:1: warning: nothing links to it [orphan-page]\n    hint: see {GUIDE[3]}\n"
    )
    found = opened(Against("python3 -m signoff check-artifact x", said.replace(GUIDE[2], "it")))
    assert paths(found) == [GUIDE[1]]
    assert len(found.targets[0].findings) == 2
    assert found.allows(GUIDE[1]) and not found.allows("src/a.py")


def test_a_file_with_only_warnings_is_no_target() -> None:
    said = f"{GUIDE[1]}:1: warning: later [x]\n{GUIDE[2]}:1: error: gone [y]\n2 files checked"
    found = opened(Against(CHECK, said))
    assert paths(found) == [GUIDE[2]]
    repaired = repair.after(found, executed(call("edit", GUIDE[2])))
    assert repaired.next_target is None and repaired.changed


def test_a_command_is_traced_to_the_files_that_its_output_names() -> None:
    found = opened(
        against("pytest -q", "FAILED tests/test_a.py::test - src/a.py:3: ValueError"),
        planned=("src/a.py", "src/b.py"),
        touched=("tests/test_a.py",),
    )
    assert paths(found) == ["src/a.py", "tests/test_a.py"]
    assert found.targets[0].findings[0].startswith("FAILED tests/test_a.py")


def test_a_command_that_names_all_files_is_traced_to_the_one_that_it_found_fault_with() -> None:
    command = "signoff check-artifact ./docs/one.md ./docs/two.md"
    found = opened(against(command, "ok\n./docs/two.md:3: link to nowhere\n1 finding"))
    assert paths(found) == [GUIDE[2]]
    assert found.targets[0].findings == ("./docs/two.md:3: link to nowhere",)
    silent = opened(against(command))
    assert paths(silent) == [GUIDE[1], GUIDE[2]], "without a word each of them may be it"


@pytest.mark.parametrize(
    "detail", ["data.md:3", "a.md.bak", "docs/a.md", "x/a.md", "a.md-old", "a.mdx", "-a.md"]
)
def test_a_name_inside_of_another_name_is_not_named(detail: str) -> None:
    found = opened(against("make check", detail), planned=("a.md", "b.md"))
    assert found.targets == ()


def test_a_finding_that_names_no_file_leaves_the_tasks_files_open_until_one_is_changed() -> None:
    found = opened(against("make check", "exit code 1"), touched=("src/a.py",))
    assert found.targets == () and not found.changed
    assert found.allows(GUIDE[2]) and found.allows("src/a.py") and not found.allows("other.py")
    assert repair.after(found, executed(call("edit", "src/a.py"))).changed


def test_a_folder_is_allowed_with_all_that_is_in_it_and_nothing_beside_it() -> None:
    found = opened(against("make", "out is empty"), planned=("out/",))
    assert paths(found) == ["out/"]
    assert found.allows("out/a.md") and not found.allows("outside.md")
    assert repair.after(found, executed(call("write", "out/a.md"))).changed


def test_every_file_at_fault_is_asked_for_before_the_answer() -> None:
    found = focus(GUIDE[1], GUIDE[2])
    found = repair.after(found, executed(call("read", GUIDE[2])))
    assert found.next_target is not None and not found.changed, "looking is not repairing"
    found = repair.after(found, executed(call("edit", GUIDE[1])))
    assert found.next_target is not None and found.next_target.path == GUIDE[2]
    found = repair.after(found, executed(call("write", GUIDE[2])))
    assert found.next_target is None and found.changed


def test_what_a_test_only_names_is_not_asked_for_once_something_was_changed() -> None:
    found = opened(
        against("pytest -q", "tests/test_a.py:3: in test\nsrc/a.py:3: ValueError"),
        planned=("tests/test_a.py", "src/a.py"),
    )
    assert found.next_target is not None and found.next_target.path == "src/a.py", "code first"
    found = repair.after(found, executed(call("edit", "src/a.py")))
    assert found.next_target is None and found.changed, "the test may be right as it is"


def test_a_linter_accuses_every_file_that_it_names_a_place_in() -> None:
    found = opened(against("python checks/lint.py", f"{GUIDE[1]}:3: thin\n{GUIDE[2]}:1: thin"))
    found = repair.after(found, executed(call("edit", GUIDE[1])))
    assert found.next_target is not None and found.next_target.path == GUIDE[2]


def test_a_change_through_the_shell_visits_what_it_wrote() -> None:
    found = repair.after(focus(GUIDE[1]), executed(call("bash"), writes={GUIDE[1]: "d2"}))
    assert found.changed


@pytest.mark.parametrize(
    "outcome",
    [
        executed(call("write", "other.md")),
        executed(call("bash"), writes={"helper.py": "d2"}),
        executed(call("bash"), ok=False, writes={GUIDE[1]: "d2"}),
    ],
    ids=["another file", "a command", "a command that failed"],
)
def test_any_change_makes_the_round_due_again(outcome: CallResult) -> None:
    assert repair.after(focus(GUIDE[1]), outcome).changed


def test_failed_edits_of_a_target_are_counted_until_one_succeeds() -> None:
    found = focus(GUIDE[1], GUIDE[2])
    for outcome in (
        mismatch(GUIDE[1]),
        duplicate(call("edit", GUIDE[1])),
        blocked(call("edit", GUIDE[1])),
    ):
        found = repair.after(found, outcome)
    assert [target.failed_edits for target in found.targets] == [3, 0]
    found = repair.after(found, executed(call("write", GUIDE[1])))
    assert found.targets[0].failed_edits == 0 and found.targets[0].visited


def test_what_a_person_declined_is_no_failed_edit() -> None:
    declined = replace(executed(call("edit", GUIDE[1]), writes={}), kind=ResultKind.DECLINED)
    assert repair.after(focus(GUIDE[1]), declined) == focus(GUIDE[1])


def test_a_path_that_climbs_out_of_an_allowed_folder_is_not_in_it() -> None:
    found = focus(GUIDE[1], allowed=("src/",))
    assert found.allows("src/a/../b.py")
    assert not found.allows("src/../other.py") and not found.allows("src/../../etc/passwd")


def test_a_round_of_endless_findings_gives_a_repair_of_bounded_size() -> None:
    planned = tuple(f"d/{n}.md" for n in range(100))
    found = opened(*(against(path, f"{path}: {'x' * 5_000}") for path in planned), planned=planned)
    assert len(found.targets) == repair.MOST_TARGETS
    assert len(found.findings) == repair.MOST_FINDINGS
    assert all(len(finding) <= 300 for target in found.targets for finding in target.findings)
