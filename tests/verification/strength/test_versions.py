"""Wrong versions: what is made of a change in each language, and which are chosen."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from signoff.domain.second_look import VersionKind
from signoff.verification.strength.versions import StepChange, WrongVersion, wrong_versions
from tests.verification.strength.changes import SAMPLES, change

EXPECTED = Path(__file__).parent / "expected"
ALL = 500


def shown(versions: tuple[WrongVersion, ...]) -> str:
    ordered = sorted(versions, key=lambda v: (list(VersionKind).index(v.kind), v.line, v.what))
    return "\n".join(f"{v.kind} {v.path}:{v.line} {v.what}\n{v.diff}\n" for v in ordered)


def made(path: str) -> tuple[WrongVersion, ...]:
    changed, tests = change(path)
    return wrong_versions(changed, tests, most=ALL).chosen


@pytest.mark.parametrize("path", SAMPLES)
def test_every_version_of_a_language_is_as_written_down(path: str) -> None:
    expected = EXPECTED / f"{path}.txt"
    assert shown(made(path)) == expected.read_text("utf-8")


@pytest.mark.parametrize(
    ("path", "loader"),
    [("pay.py", "python -m py_compile"), ("add.js", "node --check"), ("greet.sh", "bash -n")],
)
def test_every_version_loads(path: str, loader: str, tmp_path: Path) -> None:
    for number, version in enumerate(made(path)):
        text = version.files[path]
        if text is not None:
            place = tmp_path / f"v{number}.{path.rpartition('.')[2]}"
            place.write_bytes(text)
            done = subprocess.run(
                [*loader.split(), place], capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, (version.what, done.stderr)


def test_kinds_take_turns_after_the_whole_change_undone() -> None:
    changed, tests = change("pay.py")
    versions = wrong_versions(changed, tests, most=9)
    assert versions.chosen[0].files == {"pay.py": None}
    assert Counter(v.kind for v in versions.chosen) == dict.fromkeys(VersionKind, 2) | {
        VersionKind.UNDO: 3
    }
    assert versions.left_out > 20


def test_probes_are_spread_over_functions() -> None:
    changed, tests = change("pay.py")
    chosen = (
        wrong_versions(changed, tests, most=5).chosen
        + wrong_versions(changed, tests, most=9).chosen
    )
    assert {v.line for v in chosen if v.kind is VersionKind.PROBE} == {8, 18}


def test_a_seed_chooses_the_same_versions_and_another_seed_others() -> None:
    changed, tests = change("pay.py")
    one, same, other = (wrong_versions(changed, tests, most=12, seed=s) for s in ("a", "a", "b"))
    assert one == same
    assert [v.what for v in one.chosen] != [v.what for v in other.chosen]


def test_hunks_of_comments_and_documentation_are_no_versions() -> None:
    before = b'"""A."""\n\nx = 1  # one\n\n\ndef f():\n    """F."""\n    y = 1\n    return x\n'
    after = b'"""B."""\n\nx = 1  # two\n\n\ndef f():\n    """G."""\n    y = 1\n    return x + 1\n'
    changed = StepChange({"a.py": before}, {"a.py": after}, frozenset())
    assert [v.line for v in wrong_versions(changed, {}).chosen] == [0, 9]


def test_tests_that_the_step_changed_are_undone_and_never_written_anew() -> None:
    work, test = b"def f():\n    return 1\n", b"def test_f():\n    assert f() == 1\n"
    changed = StepChange({}, {"f.py": work, "test_f.py": test}, frozenset(("f.py",)))
    versions = wrong_versions(changed, {"test_f.py": test}, most=ALL).chosen
    of_tests = [v for v in versions if "test_f.py" in v.files]
    assert {v.kind for v in of_tests} == {VersionKind.UNDO}
    assert versions[0].path == ""
    assert versions[0].files == {"f.py": None, "test_f.py": None}


def test_a_language_without_a_grammar_is_named_and_undone() -> None:
    changed = StepChange({"a.kt": b"a\n\nb\n"}, {"a.kt": b"x\n\ny\n"}, frozenset(("a.kt",)))
    versions = wrong_versions(changed, {})
    assert versions.notes == ("no grammar for `a.kt`: only undone",)
    assert [v.line for v in versions.chosen] == [0, 1, 3]


def test_a_binary_file_counts_as_one_hunk() -> None:
    changed = StepChange({"a.bin": b"\0a\n\n"}, {"a.bin": b"\0b\n\n"}, frozenset(("a.bin",)))
    (version,) = wrong_versions(changed, {}).chosen
    assert version.files == changed.before
    assert version.diff == "--- a.bin\n+++ a.bin\nbinary content differs"


def test_a_removed_file_comes_back() -> None:
    changed = StepChange(
        {"a.py": b"x = 1\n", "b.py": b"1\n"}, {"b.py": b"2\n"}, frozenset(("a.py",))
    )
    back = [v for v in wrong_versions(changed, {}).chosen if v.what == "with `a.py` again"]
    assert [v.files for v in back] == [{"a.py": b"x = 1\n"}]


def test_nothing_changed_makes_nothing() -> None:
    changed = StepChange({"a.py": b"x\n"}, {"a.py": b"x\n"}, frozenset(("a.py",)))
    assert wrong_versions(changed, {}).chosen == ()


def test_work_that_is_no_code_is_also_emptied_and_written_in_other_words() -> None:
    changed = StepChange({}, {"notes.txt": b"what was asked\n"}, frozenset())
    undone, empty, other = wrong_versions(changed, {}).chosen
    assert undone.files == {"notes.txt": None} and empty.files == {"notes.txt": b""}
    assert other.kind is VersionKind.PROBE and other.files["notes.txt"] not in (b"", None)


def _mutants(path: str, text: str) -> set[str]:
    changed = StepChange({}, {path: text.encode()}, frozenset((path,)))
    chosen = wrong_versions(changed, {}, most=ALL).chosen
    return {v.what for v in chosen if v.kind is VersionKind.MUTANT}


LOOPS = {
    "a.py": "def f(xs):\n    n = 0\n    for x in xs:\n        n += x\n    return n\n",
    "a.js": "function f(xs) {\n  let n = 0;\n  for (const x of xs) { n += x; }\n  return n;\n}\n",
    "a.sh": 'n=0\nfor x in "$@"; do\n  n=$((n + x))\ndone\necho "$n"\n',
}


@pytest.mark.parametrize("path", LOOPS)
def test_a_loop_that_never_runs_and_an_update_that_is_missing_are_mistakes(path: str) -> None:
    mutants = _mutants(path, LOOPS[path])
    assert any(what.startswith("the loop over") for what in mutants)
    assert mutants & {"without `n += x`", "without `n=$((n + x))`"}


def test_only_a_value_of_its_own_makes_an_assignment_an_update() -> None:
    text = (
        "def f(xs):\n    n = 0\n    for x in xs:\n        n = n + x\n        m = x\n    return n\n"
    )
    dropped = {what for what in _mutants("a.py", text) if what.startswith("without")}
    assert dropped == {"without `n = n + x`"}
    shell = 'n=$(wc -l < a)\nif n=$((n + 1)); then n=$((n + 2)); fi\nset -eu\necho "$n"\n'
    dropped = {what for what in _mutants("a.sh", shell) if what.startswith("without")}
    assert dropped == {"without `n=$((n + 2))`", 'without the call `echo "$n"`'}


def test_which_file_is_the_program_is_no_constant_to_change() -> None:
    text = 'def f():\n    return 1\n\n\nif __name__ == "__main__":\n    f()\n'
    changed = {what for what in _mutants("a.py", text) if "main" in what or "=" in what}
    assert changed == set()


def test_the_versions_chosen_first_are_judged_where_time_is_short() -> None:
    changed, tests = change("pay.py")
    many, few = (wrong_versions(changed, tests, most=n, seed="a") for n in (20, 8))
    assert many.first(8).chosen == few.chosen
    assert many.first(8).left_out == many.left_out + 12
    assert many.first(30) == many
