"""A contract that meets a failure and goes on is pointed out; one that passes it on never is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from signoff.domain.findings import Severity
from signoff.domain.plan import ExpectationKind

from .plans import codes, of_command, says

# The scene below has `b` and `c`, an empty `empty` and a `list.txt` of all three, but no `a`.
FORGETTING_LOOPS = [
    'for f in a b c; do test -f "$f"; done',
    'for f in a b; do [ -f "$f" ]; done',
    "for f in a b; do [[ -f $f ]]; done",
    'for f in a b; do grep -q . "$f"; done',
    "while read f; do test -f $f; done < list.txt",
    "for f in a b; do test -f $f && grep -q . $f; done",
    "for ((i = 0; i < 2; i++)); do test $i = 1; done",
    "for f in a b; do for g in c b; do test -f $f; done; done",
    "for f in a b; do test -f $f; done; test -f c",
]
HONEST_LOOPS = [
    "for f in a b c; do test -f $f || exit 1; done",
    "for f in a b; do test -f $f || { echo missing $f; exit 1; }; done",
    "for f in a b; do test -f $f || exit; done",
    "set -e; for f in a b c; do test -f $f; done",
    "set -euo pipefail\nfor f in a b\ndo\n  grep -q . $f\ndone",
    "set -e; for f in a b; do if true; then test -f $f; fi; done",
    "set -e; cat list.txt | while read f; do test -f $f; done",
    "bash -ec 'for f in a b; do test -f $f; done'",
    "while read -r f; do test -f $f || exit 1; done < list.txt",
    "for f in a b; do if ! test -f $f; then exit 1; fi; done",
    "for f in a b; do [ -f $f ] && continue; exit 1; done",
    "fail=0; for f in a b; do test -f $f || fail=1; done; exit $fail",
    "fail=0; for f in a b; do test -f $f || fail=1; done; test $fail = 0",
    "n=0; for f in a b; do test -f $f && n=$((n + 1)); done; test $n = 2",
    "n=0; for f in a b; do test -f $f && ((n++)); done; test $n = 2",
    "for f in a; do test -f $f; done",
    "for f in a b; do cat $f; done | grep -q nothing",
    'test -z "$(for f in a b; do test -f $f || echo $f; done)"',
    "ok() { for f in a b; do test -f $f || return 1; done; }; ok",
    "for f in a b; do (test -f $f) || exit 1; done",
]
# They stop at the first round that succeeds, which is what they are for.
SEARCHES = [
    "for i in 1 2 3; do curl -sf localhost:80 && break; done",
    "for i in 1 2 3; do curl -sf localhost:80 && exit 0; sleep 1; done; exit 1",
    "for f in b a; do test -f $f && exit 0; done; exit 1",
    "ok() { for f in b a; do test -f $f && return 0; done; return 1; }; ok",
    "until test -f b; do sleep 1; done",
    "while ! test -f b; do sleep 1; done",
    "for f in *; do [ -d $f ] || continue; grep -rq x $f || exit 1; done",
]


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    for name in ("b", "c"):
        (tmp_path / name).write_text("content\n")
    (tmp_path / "empty").write_text("")
    (tmp_path / "list.txt").write_text("a\nb\nc\n")
    return tmp_path


def status_in(folder: Path, command: str) -> int:
    shell = ["bash", "--noprofile", "--norc", "-c", command]
    return subprocess.run(
        shell, cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False
    ).returncode


@pytest.mark.parametrize("command", FORGETTING_LOOPS)
def test_a_loop_that_forgets_a_failed_round_is_a_warning(command: str, scene: Path) -> None:
    assert status_in(scene, command) == 0
    findings = of_command(command)
    assert "only-last-counts" in codes(findings, Severity.WARNING)
    assert "|| exit 1; done" in next(f.hint for f in findings if f.code == "only-last-counts")


@pytest.mark.parametrize("command", HONEST_LOOPS)
def test_a_loop_that_passes_its_failure_on_is_fine(command: str, scene: Path) -> None:
    assert status_in(scene, command) != 0
    assert "only-last-counts" not in codes(of_command(command))


@pytest.mark.parametrize("command", SEARCHES)
def test_a_loop_that_looks_for_a_success_is_fine(command: str) -> None:
    assert "only-last-counts" not in codes(of_command(command))


def test_a_loop_is_told_once_and_not_as_a_lost_command_too() -> None:
    found = codes(of_command("for f in a b; do test -f $f; done; grep -q x src/a.py"))
    assert found == ["only-last-counts"]


def test_a_loop_whose_output_is_compared_is_fine() -> None:
    says_so = says(ExpectationKind.STDOUT_CONTAINS, "ok")
    command = "for f in a b; do grep ok $f; done"
    assert "only-last-counts" not in codes(of_command(command, expectations=says_so))


@pytest.mark.parametrize(
    "command",
    [
        "set -e\nruff check . || echo bad\npytest",
        "ruff check . || echo bad; pytest",
        "ruff check . || { echo bad; echo worse >&2; }\npytest",
    ],
)
def test_a_failure_that_is_only_printed_is_a_warning(command: str) -> None:
    assert "only-last-counts" in codes(of_command(command), Severity.WARNING)


@pytest.mark.parametrize(
    "command",
    [
        "ruff check . || { echo bad; exit 1; }\npytest",
        "grep -q x src/a.py || grep -q y src/a.py",
        "version=$(cat v || echo none); test $version = 1",
        "rm -f x || true; pytest",
        "(cat src/a.py || echo none) | grep -q x",
    ],
)
def test_a_failure_that_is_printed_and_passed_on_is_fine(command: str) -> None:
    assert "only-last-counts" not in codes(of_command(command))


@pytest.mark.parametrize(
    "command",
    [
        "[ -f a ] || [ ! -f b ]",
        "[ -f a ] || [ ! -s a ]",
        "test -f a && rm a && test ! -f a",
        '[ -f "$A" ] || [ ! -f "$B" ]',
        "[ -f a ] || make && [ ! -f a ]",
        "[ -f *.a ] || [ ! -f *.a ]",
    ],
)
def test_tests_of_different_things_can_fail(command: str) -> None:
    assert not {"cannot-fail", "cannot-hold"} & set(codes(of_command(command)))


@pytest.mark.parametrize(
    "command",
    ["date > stamp && test -s stamp", "echo done > stamp; grep -q done stamp"],
)
def test_a_file_of_the_contracts_own_words_proves_nothing_even_where_writing_is_allowed(
    command: str,
) -> None:
    assert "writes-what-it-checks" in codes(of_command(command), Severity.ERROR)
    allowed = of_command(command, writes=("stamp",))
    assert "writes-what-it-checks" in codes(allowed, Severity.WARNING)


@pytest.mark.parametrize(
    "command",
    [
        "test -s a.txt; exit $?",
        "test -s a.txt\nexit",
        "curl -sf localhost:80; rc=$?\nkill $pid\nexit $rc",
        "grep -q a x; a=$?; grep -q b x; b=$?; exit $((a + b))",
        "pytest; [ $? -eq 5 ]",
        "pytest; if [ $? -ne 0 ]; then exit 1; fi; grep -q x src/a.py",
        "pytest | tee /tmp/log; exit ${PIPESTATUS[0]}",
        "mapfile -t a < x; [ ${#a[@]} -eq 3 ]",
    ],
)
def test_a_status_that_is_asked_for_is_not_lost(command: str) -> None:
    assert "only-last-counts" not in codes(of_command(command))


@pytest.mark.parametrize(
    "command",
    [
        "pytest; grep -q x src/a.py; exit $?",
    ],
)
def test_a_status_that_is_asked_for_and_forgotten_is_lost(command: str) -> None:
    assert "only-last-counts" in codes(of_command(command), Severity.WARNING)
