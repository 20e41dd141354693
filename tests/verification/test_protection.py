"""Protected files are compared byte for byte with their pin, when the contract is judged."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from signoff.domain.plan import Contract, Plan, Postcondition, Step
from signoff.domain.snapshot import FileKind, FileState
from signoff.domain.verdict import Reason, Result
from signoff.verification.guards import Guards
from signoff.verification.pins import Pins, fingerprint, protected_files
from signoff.verification.protection import Guard, find_tampering
from tests.verification.courtroom import Courtroom

PROTECTED = ("tests/**",)


def _approved(court: Courtroom) -> Guard:
    court.write("tests/test_a.py", "assert False\n")
    court.write("tests/deep/test_b.py")
    court.write("src/a.py")
    return Guard(protects=PROTECTED, pinned=court.fingerprints())


def _swap_for_link(root: Path) -> None:
    (root / "tests/test_a.py").rename(root.parent / "same.py")
    (root / "tests/test_a.py").symlink_to(root.parent / "same.py")


def _swap_folder_for_link(root: Path) -> None:
    (root / "tests/deep").rename(root.parent / "deep")
    (root / "tests/deep").symlink_to(root.parent / "deep")


CHEATS: dict[str, tuple[Callable[[Path], object], str]] = {
    "changed": (
        lambda root: (root / "tests/test_a.py").write_text("assert True\n"),
        "`tests/test_a.py`: protected file was changed",
    ),
    "same size and time": (
        lambda root: _rewrite_keeping_times(root / "tests/test_a.py", b"assert 12345"),
        "`tests/test_a.py`: protected file was changed",
    ),
    "removed": (
        lambda root: (root / "tests/test_a.py").unlink(),
        "`tests/test_a.py`: protected file was removed",
    ),
    "added": (
        lambda root: (root / "tests/conftest.py").write_text(""),
        "`tests/conftest.py`: protected file was added",
    ),
    "hidden folder added": (
        lambda root: _add(root / "tests/.hidden/x"),
        "`tests/.hidden/x`: protected file was added",
    ),
    "mode": (
        lambda root: (root / "tests/test_a.py").chmod(0o755),
        "`tests/test_a.py`: protected file was changed",
    ),
    "swapped for a link to the same content": (
        _swap_for_link,
        "`tests/test_a.py`: protected file was changed",
    ),
    "renamed": (
        lambda root: (root / "tests/test_a.py").rename(root / "tests/test_c.py"),
        "`tests/test_a.py`: protected file was removed; "
        "`tests/test_c.py`: protected file was added",
    ),
    "folder swapped for a link": (
        _swap_folder_for_link,
        "`tests/deep`: protected file was added; "
        "`tests/deep/test_b.py`: protected file was removed",
    ),
    "pipe": (
        lambda root: os.mkfifo(root / "tests/pipe"),
        "`tests/pipe`: protected file was added",
    ),
    "name with a line break": (
        lambda root: (root / "tests/a\nb").write_text(""),
        "`tests/a\nb`: protected file was added",
    ),
    "name that is not text": (
        lambda root: _add(Path(os.fsdecode(os.fsencode(root) + b"/tests/\xff"))),
        "`tests/\\xff`: protected file was added",
    ),
}


def _add(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("x")


def _rewrite_keeping_times(path: Path, content: bytes) -> None:
    before = path.stat()
    path.write_bytes(content.ljust(before.st_size, b"\n"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize(("cheat", "named"), CHEATS.values(), ids=CHEATS)
def test_a_protected_file_that_is_not_as_pinned_breaks_the_contract(
    court: Courtroom, cheat: Callable[[Path], object], named: str
) -> None:
    guard = _approved(court)
    assert court.judge("true", guard=guard).kept
    cheat(court.root)
    verdict = court.judge("touch ran.txt", guard=guard)
    assert (verdict.result, verdict.reason) == (Result.BROKEN, Reason.TAMPERED)
    assert verdict.message == f"tampered: {named}"
    assert len(verdict.tampered) == named.count(": protected file")
    assert not (court.root / "ran.txt").exists(), "the contract ran all the same"
    court.record(verdict)


def test_other_files_may_change(court: Courtroom) -> None:
    guard = _approved(court)
    court.write("src/a.py", "changed\n")
    court.write("src/b.py", "added\n")
    court.write("tests.py", "a file beside the folder\n")
    assert court.judge("true", guard=guard).kept


def test_what_the_step_may_change_is_not_tampering(court: Courtroom) -> None:
    approved = _approved(court)
    guard = Guard(PROTECTED, may_change=("tests/test_a.py",), pinned=approved.pinned)
    court.write("tests/test_a.py", "assert True\n")
    assert court.judge("true", guard=guard).kept
    court.write("tests/test_a.py#x", "")
    assert court.judge("true", guard=guard).tampered == ("tests/test_a.py#x",)


def test_many_tampered_files_are_all_recorded_and_some_named(court: Courtroom) -> None:
    guard = _approved(court)
    for number in range(30):
        court.write(f"tests/new_{number:02}.py")
    verdict = court.judge("true", guard=guard)
    assert len(verdict.tampered) == 30
    assert verdict.message.count("was added") == 20


STATE = FileState(FileKind.FILE, False, 3, "abc")
OTHER = FileState(FileKind.FILE, False, 3, "def")


def test_the_output_of_an_accepted_step_is_pinned_from_then_on() -> None:
    guard = Guard(produced={"report.md": fingerprint(STATE)})
    assert find_tampering(guard, {"report.md": STATE}, {}) == ()
    (changed,) = find_tampering(guard, {"report.md": OTHER}, {})
    assert (changed.path, changed.rule) == ("report.md", "output of an accepted step was changed")
    (removed,) = find_tampering(guard, {}, {})
    assert removed.rule == "output of an accepted step was removed"


def test_what_steers_the_check_is_compared_in_every_direction() -> None:
    guard = Guard(influences={"conftest.py": "a", "pyproject.toml#tool.pytest": "b"})
    now = {"pyproject.toml#tool.pytest": "c", "pytest.ini": "d"}
    assert [(t.path, t.rule) for t in find_tampering(guard, {}, now)] == [
        ("conftest.py", "what steers the check was removed"),
        ("pyproject.toml#tool.pytest", "what steers the check was changed"),
        ("pytest.ini", "what steers the check was added"),
    ]
    allowed = Guard(may_change=("*.toml", "*.ini"), influences=guard.influences)
    assert [t.path for t in find_tampering(allowed, {}, now)] == ["conftest.py"]


def test_a_guard_without_anything_to_guard_finds_nothing() -> None:
    assert find_tampering(Guard(), {"a": STATE}, {"conftest.py": "x"}) == ()


def test_approval_pins_the_files_that_any_step_protects() -> None:
    manifest = {"tests/a.py": STATE, "src/a.py": STATE, "data/x": OTHER}
    steps = (Step("1", "one", protects=("tests/**",)), Step("2", "two", protects=("data",)))
    found = protected_files(Plan("plan", steps), manifest)
    assert found == {"tests/a.py": fingerprint(STATE), "data/x": fingerprint(OTHER)}
    assert protected_files(Plan("plan", (Step("1", "one"),)), manifest) == {}


def test_pins_survive_being_stored() -> None:
    pins = _pins(plan_text="grün ✅\n", protected={"a": "b"}, steering={"1": {"c": "d"}})
    pins = replace(pins, counted=("1",), tools={"make": {"path": "/usr/bin/make"}})
    again = Pins.from_bytes(pins.to_bytes())
    assert again == pins
    assert again.digest == pins.digest
    assert _pins(plan_text="other").digest != pins.digest


def _pins(
    plan_text: str = "",
    protected: dict[str, str] | None = None,
    steering: dict[str, dict[str, str]] | None = None,
    snapshot: str = "",
) -> Pins:
    return Pins(
        plan_digest="p",
        plan_text=plan_text,
        settings={},
        config_text="",
        search_path="/usr/bin",
        workspace="/w",
        ignore_rules={},
        snapshot=snapshot,
        protected=protected or {},
        steering=steering or {},
    )


MAKER = Step("1", "make", produces=("report.md",), contract=Contract("test -s report.md"))
LATER = Step("2", "later", contract=Contract("true"))


def test_a_later_step_may_not_touch_what_an_accepted_step_produced(court: Courtroom) -> None:
    court.write("report.md", "honest\n")
    guards = Guards(_pins(), court.workspace)
    owned = guards.owned_by(MAKER, court.snapshot(), {})
    assert list(owned) == ["report.md"]
    produced = {"1": owned}
    court.write("report.md", "rewritten\n")
    later = guards.of(LATER, produced, contract=Contract("true"))
    verdict = court.judge("true", guard=later)
    assert verdict.message == "tampered: `report.md`: output of an accepted step was changed"
    own = guards.of(MAKER, produced, contract=Contract("true"))
    assert court.judge("true", guard=own).kept, "its own output is the step's to change"
    post = Postcondition(1, "all is well", Contract("true"))
    at_the_end = guards.of(post, produced, contract=Contract("true"))
    assert court.judge("true", guard=at_the_end).reason is Reason.TAMPERED


def test_a_step_that_may_change_an_earlier_output_answers_for_it_then(court: Courtroom) -> None:
    court.write("report.md", "first\n")
    guards = Guards(_pins(), court.workspace)
    produced = {"1": guards.owned_by(MAKER, court.snapshot(), {})}
    editing = Contract("true", may_change=("report.md",))
    editor = Step("2", "edit", contract=editing)
    court.write("report.md", "second\n")
    court.write("unrelated.md")
    assert court.judge("true", guard=guards.of(editor, produced, contract=editing)).kept
    assert list(guards.owned_by(editor, court.snapshot(), produced)) == ["report.md"]
    assert guards.owned_by(LATER, court.snapshot(), produced) == {}


def test_a_protected_file_that_a_step_was_allowed_to_change_counts_as_it_left_it(
    court: Courtroom,
) -> None:
    court.write("tests/test_a.py", "old\n")
    guards = Guards(_pins(protected=dict(court.fingerprints())), court.workspace)
    allowed = Contract("true", may_change=("tests/test_a.py",))
    writer = Step("1", "write the test", contract=allowed)
    court.write("tests/test_a.py", "new\n")
    produced = {"1": guards.owned_by(writer, court.snapshot(), {})}
    assert list(produced["1"]) == ["tests/test_a.py"]
    coder = Step("2", "make it pass", protects=("tests/**",), contract=Contract("true"))
    guard = guards.of(coder, produced, contract=Contract("true"))
    assert court.judge("true", guard=guard).kept
    court.write("tests/test_a.py", "old\n")
    assert court.judge("true", guard=guard).tampered[0] == "tests/test_a.py"


def test_the_check_of_a_list_item_is_guarded_though_its_name_was_not_known(
    court: Courtroom,
) -> None:
    court.write("check.sh", "test -s out/$1\n")
    court.write("out/a")
    guards = Guards(_pins(snapshot=court.snapshot()), court.workspace)
    contract = Contract("bash check.sh 'a'")
    item = Step("1[a]", "check a", parent="1", item="a", contract=contract)
    assert court.judge(contract, guard=guards.of(item, {}, contract=contract)).kept
    court.write("check.sh", "exit 0\n")
    verdict = court.judge(contract, guard=guards.of(item, {}, contract=contract))
    assert verdict.message == (
        "tampered: `check.sh`: what steers the check was changed"
        "; what decides a check is protected, "
        "unless a person allows it with `**may_change:** check.sh`"
    )


def test_a_check_script_that_a_step_may_change_is_its_answer_from_then_on(
    court: Courtroom,
) -> None:
    contract = Contract("bash check.sh", may_change=("check.sh",))
    step = Step("1", "write the check", contract=contract)
    guards = Guards(_pins(snapshot=court.snapshot()), court.workspace)
    court.write("check.sh", "exit 0\n")
    assert list(guards.owned_by(step, court.snapshot(), {})) == ["check.sh"]
