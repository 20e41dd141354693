"""What a contract compares with or loops over is protected, or the plan's author is told."""

from __future__ import annotations

import pytest

from signoff.commands.analysis import analyse
from signoff.domain.findings import Finding, Severity
from signoff.domain.plan import Postcondition, Step

from .plans import World, check, codes, contract, step

CODE = "reference-unprotected"
THERE = World(files=frozenset({"expected.txt", "list.txt", "sums.txt", "a.txt", "b.txt", "want/x"}))


def _told(findings: tuple[Finding, ...]) -> list[str]:
    return [f.message.split("`")[1] for f in findings if f.code == CODE]


def _of(command: str, **fields: object) -> list[str]:
    return _told(check(step("1", command, **fields), world=THERE))


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("diff expected.txt out.txt", "expected.txt"),
        ("python3 gen.py > /tmp/o && diff /tmp/o expected.txt", "expected.txt"),
        ("./gen | diff -u - expected.txt", "expected.txt"),
        ("diff <(./gen) <(sort expected.txt)", "expected.txt"),
        ("cmp -s out.bin a.txt", "a.txt"),
        ('test -z "$(comm -3 out.txt expected.txt)"', "expected.txt"),
        ("sha256sum -c sums.txt", "sums.txt"),
        ("md5sum --quiet --check sums.txt", "sums.txt"),
        ('while read -r p; do test -s "$p" || exit 1; done < list.txt', "list.txt"),
        ('cat list.txt | while read -r p; do test -s "$p" || exit 1; done', "list.txt"),
        ("for p in $(cat list.txt); do test -s out/$p || exit 1; done", "list.txt"),
        ("for p in $(<list.txt); do test -s out/$p || exit 1; done", "list.txt"),
        ("xargs -a list.txt -I{} test -s out/{}", "list.txt"),
        ("cat list.txt | xargs ls", "list.txt"),
        ("! grep -qFf list.txt page.md", "list.txt"),
        ("grep -q --file=list.txt page.md", "list.txt"),
        ("diff -r want out", "want"),
        ('test "$(cat out.txt)" = "$(cat expected.txt)"', "expected.txt"),
        ("[ $(wc -l < out.txt) -ge $(tr -d x < a.txt) ]", "a.txt"),
        ('grep -qx "$(cat expected.txt)" page.md', "expected.txt"),
        ("paste expected.txt out.txt | awk '$1 != $2 { exit 1 }'", "expected.txt"),
        (
            "awk 'NR == FNR { w = $1; next } $1 != w { exit 1 }' expected.txt out.txt",
            "expected.txt",
        ),
        ("jq -e --slurpfile w expected.txt '. == $w[0]' out.json", "expected.txt"),
        ('bash -c "diff expected.txt out.txt"', "expected.txt"),
    ],
)
def test_a_file_that_sets_the_mark_and_may_be_changed_is_a_warning(command: str, file: str) -> None:
    findings = check(step("1", command), world=THERE)
    (finding,) = [f for f in findings if f.code == CODE]
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith(f"`{file}` says what ")
    assert finding.hint.startswith(f"`**protects:** {file}`, or the agent may change what ")
    assert _of(command, protects=(file,)) == []


@pytest.mark.parametrize(
    "command",
    [
        "grep -q pattern a.txt",
        'test "$(wc -l < a.txt)" -eq 3',
        "awk 'END { exit NR != 4 }' a.txt b.txt",
        "test -s a.txt",
        'test "$(wc -l < list.txt)" -eq 3',
        "sha256sum a.txt",
        "diff missing.txt out.txt",
        "diff /etc/hosts out.txt",
        "cp b.txt a.txt && diff a.txt out.txt",
        "diff <(sort a.txt) a.txt",
        "diff $ONE out.txt",
        "while sleep 1; do test -s a.txt && break; done",
    ],
)
def test_a_file_that_is_looked_at_or_made_or_not_there_is_not_told(command: str) -> None:
    assert _of(command) == []


def test_a_task_that_names_the_file_is_told_all_the_same() -> None:
    for task in ("Sort a.txt.", "The generator must print what `a.txt` says."):
        assert _of("diff <(./gen) a.txt", task=task) == ["a.txt"]


def test_of_two_files_the_one_that_looks_like_the_mark_is_told_else_both_in_one_finding() -> None:
    assert _of("diff a.txt expected.txt") == ["expected.txt"]
    (both,) = check(step("1", "cmp a.txt b.txt"), world=THERE)
    assert both.message == "`cmp` looks at `a.txt` and `b.txt`, and this step may change them"
    assert "`**protects:** a.txt` or `**protects:** b.txt`" in both.hint
    assert _of("cmp a.txt b.txt", protects=("b.txt",)) == []


def test_who_says_that_it_may_change_is_not_told_again() -> None:
    command = "xargs -a list.txt ls"
    allowed = contract(command, may_change=("*.txt",)), contract(command, writes=("list.txt",))
    for each in allowed:
        assert _told(check(step("1", contract=each), world=THERE)) == []
    assert _of(command, produces=("list.txt",)) == []


def test_a_file_of_an_earlier_step_is_pinned_and_any_step_may_protect_for_all() -> None:
    after = step("2", "xargs -a list.txt ls", needs=("1",))
    assert _told(check(step("1", "test -s list.txt"), after, world=THERE)) == []
    assert _told(check(step("1", "make", protects=("*.txt",)), after, world=THERE)) == []
    assert _told(check(step("1", "make"), after, world=THERE)) == ["list.txt"]


def test_a_file_for_each_item_is_told_as_a_pattern() -> None:
    command = "diff want/{item} out/{item}"
    assert _of(command, for_each="ls want") == ["want/*"]
    assert _of(command, for_each="ls want", protects=("want/**",)) == []
    assert _of(command, for_each="ls want", protects=("want/{item}",)) == []


def test_each_file_is_told_once_and_a_postcondition_has_marks_too() -> None:
    steps = [step(str(i), "diff expected.txt out.txt") for i in (1, 2)]
    assert _told(check(*steps, world=THERE)) == ["expected.txt"]
    post = (Postcondition(1, "same", contract("sha256sum -c sums.txt")),)
    (finding,) = check(step("1", "make"), world=THERE, postconditions=post)
    assert (finding.code, finding.step) == (CODE, "postcondition:1")
    assert "any step may change it" in finding.message


def test_what_a_person_does_has_no_agent_to_guard_against() -> None:
    assert _of("diff expected.txt out.txt", target="human") == []


def test_numbers_in_names_stay_what_they_are() -> None:
    (reference,) = analyse("diff want12.txt out7.txt").references
    assert reference.paths == ("want12.txt", "out7.txt")


TESTED = World(files=frozenset({"tests/test_a.py", "src/a.py", "checks/one.py"}))
NOTE = "tests-unprotected"


@pytest.mark.parametrize(
    "command",
    [
        "python3 -m pytest -q",
        "uv run --frozen pytest -q && test -s x",
        "python -m unittest",
        "npm test",
        "npm run test",
        "npx vitest run",
        "go test ./...",
        "cargo test",
        "node --test",
    ],
)
def test_tests_that_the_step_may_rewrite_are_a_note(command: str) -> None:
    found = [f for f in check(step("1", command), world=TESTED) if f.code == NOTE]
    assert [f.severity for f in found] == [Severity.NOTE]


def test_the_note_about_tests_comes_once() -> None:
    steps = [step(str(i), "pytest -q") for i in (1, 2, 3)]
    assert codes(check(*steps, world=TESTED)).count(NOTE) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"protects": ("tests/**",)},
        {"protects": ("src/**/test_*.py",)},
        {"produces": ("tests/test_b.py",)},
        {"task": "Write two tests for the flag."},
        {"task": "Add the flag. Extend the unit tests."},
        {"target": "human"},
    ],
)
def test_who_protects_or_writes_tests_gets_no_note(fields: dict[str, object]) -> None:
    assert NOTE not in codes(check(step("1", "pytest -q", **fields), world=TESTED))


def test_no_note_where_what_is_run_is_protected_or_no_test_is_there_or_none_is_run() -> None:
    covered = step("1", "pytest -q checks/one.py", protects=("checks/**",))
    assert NOTE not in codes(check(covered, world=TESTED))
    assert NOTE not in codes(check(step("1", "pytest -q"), world=World()))
    for command in ("make", "cargo build", "npm run build", "python3 -m json.tool a"):
        assert NOTE not in codes(check(step("1", command), world=TESTED))
    allowed = contract("pytest -q", may_change=("tests/test_a.py",))
    assert NOTE not in codes(check(step("1", contract=allowed), world=TESTED))


def _rooms(*steps: Step, world: World = THERE) -> list[str]:
    return [f.message for f in check(*steps, world=world) if f.code == "protected-by-other"]


def test_a_file_to_be_made_where_another_step_protects_everything_is_a_warning() -> None:
    first = step("1", "bash tests/run.sh", protects=("tests/**",))
    later = step("2", "test -s x", task="Write two tests in `tests/test_min.py`.")
    (told,) = _rooms(first, later)
    assert told == "step 2 is to make `tests/test_min.py`, and step 1 protects that place"
    assert _rooms(later, first) != []
    allowed = contract("test -s x", may_change=("tests/test_min.py",))
    assert _rooms(first, step("2", contract=allowed, task=later.task)) == []
    assert _rooms(first, step("2", "test -s x", task=later.task, produces=("tests/*.py",))) == []


@pytest.mark.parametrize(
    "task",
    [
        "Make all tests pass.",
        "See https://example.org/tests/guide.html for how.",
        "Write docs/min.md.",
        "Write more under tests/.",
    ],
)
def test_a_task_that_names_no_new_file_there_is_no_warning(task: str) -> None:
    first = step("1", "bash tests/run.sh", protects=("tests/**",))
    assert _rooms(first, step("2", "test -s x", task=task)) == []


@pytest.mark.parametrize(
    ("command", "helps"),
    [
        ("go test ./...", "add `-v`"),
        ("uv run pytest -qq", "add `-q` at most once"),
        ("./gradlew test", "add a report in `$SIGNOFF_REPORT_DIR`"),
        ("node --test --test-reporter=dot", "add `--test-reporter=spec`"),
        ("go test -v ./...", None),
        ("pytest -q", None),
        ("cargo test", None),
    ],
)
def test_a_runner_that_would_not_count_is_a_note(command: str, helps: str | None) -> None:
    findings = [f for f in check(step("1", command)) if f.code == "tests-uncounted"]
    assert [(f.severity, f.hint) for f in findings] == ([(Severity.NOTE, helps)] if helps else [])
