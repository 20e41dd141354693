"""A contract that holds whatever the workspace contains is an error, and a real check never is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from signoff.commands.analysis import analyse
from signoff.domain.findings import Severity
from signoff.domain.plan import ExpectationKind

from .plans import codes, of_command, says

CANNOT_FAIL = [
    "true",
    ":",
    "exit 0",
    "",
    "# only a comment",
    "echo done",
    "printf 'ok\\n'",
    "grep x f || true",
    "grep x f || :",
    "grep x f || echo failed",
    "grep x f || exit 0",
    "grep x f || { echo failed; }",
    "grep x f; true",
    "grep x f\necho done",
    "grep x f && echo ok || echo bad",
    "grep x f | tee log",
    "grep x f | cat",
    "grep x f | head -5",
    "grep x f | tail -n 3",
    "grep x f | sort | uniq",
    "grep x f | wc -l",
    "grep x f | cut -d : -f 1",
    "grep x f | tr a b",
    "grep x f | env LC_ALL=C sort",
    "grep x f | echo ok",
    "grep x f &",
    "grep x f & wait",
    "if grep x f; then echo yes; fi",
    "if grep x f; then echo yes; else echo no; fi",
    "if true; then :; elif grep x f; then false; fi",
    "/bin/true",
    "/usr/bin/env true",
    "/usr/bin/env A=1 /bin/sh -c true",
    "! false",
    "! ! true",
    "set -e; ! grep x f; echo ok",
    "set -e\ngrep x f && ! grep y f\necho ok",
    "set -e; set +e; grep x f; true",
    "set -o pipefail; set +o pipefail; grep x f | cat",
    "bash -c true",
    "sh -c 'grep x f; exit 0'",
    "bash -lc 'grep x f || true'",
    "eval 'grep x f; true'",
    "eval true",
    "env A=1 timeout 5 true",
    "timeout -k 1 5s true",
    "command true",
    "nice -n 5 true",
    "time true",
    "exec true",
    "(grep x f; exit 0)",
    "{ grep x f; true; }",
    "[ 1 -eq 1 ]",
    "[ 1 ]",
    "[[ a == a ]]",
    "test 1 = 1",
    "test -n x",
    "test ! -z x",
    "test -d .",
    "test -e /",
    "test -f",
    "export RESULT=$(grep x f)",
    "local x=1 2>/dev/null || true",
    "X=1",
    "case x in *) true ;; esac",
    "for i in 1 2; do grep $i f || true; done",
    "true > /dev/null 2>&1",
    "cat <<EOF || true\nhi\nEOF",
    "ls",
    "f() { false; }; f() { true; }; true",
    "unset X",
    "command [ 1 ]",
    "A=1 B=2",
    "eval eval eval true",
    "! test 1 = 1 | grep x f | cat || true",
    "set -e; grep x f | cat; true",
    "case $x in a) true ;; b) : ;; esac",
]

CAN_FAIL = [
    "test -f x",
    "test -f x && test -s y",
    "grep x f && echo ok",
    "grep x f || exit 1",
    "grep x f || { echo no; exit 1; }; echo ok",
    "set -e; grep x f; echo ok",
    "set -euo pipefail\ngrep x f | tee log",
    "set -o errexit; grep x f; true",
    "bash -euo pipefail -c 'grep x f | cat'",
    "bash -o errexit -c 'grep x f; true'",
    "bash -c 'grep x f'",
    "grep x f | grep y",
    "grep x f | sort -c",
    "grep x f | tail -n 1 | grep -q ok",
    "grep x f | cat other",
    "grep x f | head -1 other.txt",
    "! grep x f",
    "if grep x f; then exit 1; fi",
    "if grep x f; then test -f y; fi",
    "until curl -sf localhost:80; do sleep 1; done",
    "for i in 1 2; do grep $i f; done",
    "for i in *; do grep x $i || exit 1; done",
    "[ -f x ]",
    "[[ -f x ]]",
    "test $X = 1",
    "[[ $X == a* ]]",
    "[[ a == a* ]]",
    "[ 1 -eq 1 -a -f x ]",
    "((x > 1))",
    "X=$(grep x f)",
    "true < f",
    "echo ok > /no/such/folder/f",
    "{ true; } < f",
    "X=1 < f",
    "cat f",
    "cd sub",
    "timeout 5 grep x f",
    "exec grep x f",
    "(grep x f)",
    "ok() { grep x f; }; ok",
    "ok() { grep x f || return 1; }; ok && echo ok",
    "true() { grep x f; }; true",
    "f() { true; }; f() { false; }; f",
    "trap 'rm -f t' EXIT; grep x f",
    "trap 'exit 0' INT; grep x f",
    "grep x f; exit $?",
    "grep x f\nexit",
    "wait $pid",
    "ls src",
    "case $x in a) false ;; esac",
    "case $x in *) grep x f ;; esac",
    "while grep x f; do break; done; grep y f",
    "f() { f; }; f",
    "$TOOL",
    "source lib.sh; grep x f",
    'eval "$CMD"',
    "time { grep x f; }",
    'bash -c "$X"',
    "if grep x f; then :; else exit 1; fi",
    "if grep x f; then :; elif grep y f; then :; else false; fi",
    "cat <<EOF | grep hi\nhi\nEOF",
    "exit $X",
    "return 0",
    "grep x f && exit 0; exit 1",
    "let x=1",
    "let 1 x",
    "seq $N",
    "seq",
    "id nobody-here",
    "cd $X",
    "cat /dev/null f",
    "diff f /dev/null",
    "diff f f",
    "./bin/true",
    "/opt/bin/true",
    "/usr/bin/grep x f",
    "foo() { true; }; /usr/bin/foo",
    "python3 -c 'import json'",
    "python3 -c 'import sys; sys.exit(main())'",
    "python3 -c 'assert open(\"f\").read()'",
    "python3 -c 'print(open(\"f\").read())'",
    'python3 -c "$X"',
    "python3 -c 'f()'",
    "python3 script.py",
    "python3 -c 'print(1' || grep x f",
    "while grep x f; do false; done",
    "grep x f && true > g",
    "! true < f",
    "true | true < f",
    "grep x f | tee log > /no/such/file",
    "grep x f | { cat; grep y f; }",
    "grep x f | X=$(grep y f)",
    "grep x f | $FILTER",
    "set -e; grep x f | grep y; true",
    "{ grep x f; } && true < f",
    "set -e; (grep x f); true",
    "set -e; if grep x f; then grep y f; fi; true",
]


@pytest.mark.parametrize("command", CANNOT_FAIL)
def test_a_contract_that_cannot_fail_is_an_error(command: str) -> None:
    assert "cannot-fail" in codes(of_command(command), Severity.ERROR)


@pytest.mark.parametrize("command", CAN_FAIL)
def test_a_contract_that_can_fail_is_not_called_unfailing(command: str) -> None:
    assert not {"cannot-fail", "cannot-hold"} & set(codes(of_command(command)))


@pytest.mark.parametrize("command", [c for c in CANNOT_FAIL if "local" not in c and c != "ls"])
def test_bash_itself_ends_such_a_contract_with_success(command: str, tmp_path: Path) -> None:
    shell = ["bash", "--noprofile", "--norc", "-c", command]
    ran = subprocess.run(
        shell, cwd=tmp_path, capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False
    )
    assert ran.returncode == 0


@pytest.mark.parametrize("command", ["source env.sh; true", "$SETUP; true", 'eval "$X"; true'])
def test_without_certainty_it_is_a_warning(command: str) -> None:
    findings = of_command(command)
    assert "cannot-fail" in codes(findings, Severity.WARNING)
    assert "cannot-tell" in codes(findings, Severity.NOTE)


@pytest.mark.parametrize(
    ("command", "code"),
    [("false", 0), ("exit 1", None), ("exit 3", 2), ("grep x f || true", 1), ("exit 256", 1)],
)
def test_a_contract_that_can_never_hold_is_an_error(command: str, code: int | None) -> None:
    assert codes(of_command(command, code), Severity.ERROR) == ["cannot-hold"]


@pytest.mark.parametrize(("command", "code"), [("exit 3", 3), ("false", 1), ("! true", 1)])
def test_a_constant_failure_that_is_expected_cannot_fail_either(command: str, code: int) -> None:
    assert codes(of_command(command, code), Severity.ERROR) == ["cannot-fail"]


def test_a_failing_exit_code_that_is_expected_is_a_real_check() -> None:
    assert codes(of_command("grep x src/a.py", 1)) == []


def test_output_that_depends_on_the_workspace_makes_the_contract_fail_able() -> None:
    expectations = says(ExpectationKind.STDOUT_CONTAINS, "42")
    assert codes(of_command("cat src/a.py || true", expectations=expectations)) == []


@pytest.mark.parametrize(
    ("command", "kind", "value"),
    [
        ("echo PASSED", ExpectationKind.STDOUT_CONTAINS, "PASSED"),
        ("pytest -q; echo ALL PASSED", ExpectationKind.STDOUT_CONTAINS, "ALL PASSED"),
        ("printf 'PASSED'", ExpectationKind.STDOUT_CONTAINS, "PASS"),
        ("echo PASSED", ExpectationKind.STDOUT_EQUALS, "PASSED\n"),
        ("pytest || true", ExpectationKind.STDOUT_CONTAINS, ""),
        ("pytest || true", ExpectationKind.TESTS_AT_LEAST, 0),
    ],
)
def test_typing_the_expected_words_oneself_proves_nothing(
    command: str, kind: ExpectationKind, value: str | int
) -> None:
    findings = of_command(command, expectations=says(kind, value))
    assert "cannot-fail" in codes(findings, Severity.ERROR)


@pytest.mark.parametrize(
    "command",
    ["pytest -q && echo PASSED", "set -e\npytest -q\necho PASSED", "pytest || exit 1; echo PASSED"],
)
def test_words_printed_only_after_a_check_do_prove_it(command: str) -> None:
    findings = of_command(command, expectations=says(ExpectationKind.STDOUT_CONTAINS, "PASSED"))
    assert "cannot-fail" not in codes(findings)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("", "there is no command in it"),
        ("pytest | tee log", "`pytest | tee log` always ends the same way"),
        ("pytest\ntrue", "`true` always ends the same way"),
    ],
)
def test_the_message_says_why(command: str, words: str) -> None:
    (found,) = [f for f in of_command(command) if f.code == "cannot-fail"]
    assert words in found.message


@pytest.mark.parametrize(
    ("command", "line"),
    [("pytest; grep x f", 0), ("set -x\npytest\ngrep x f", 1), ("cd src; pytest", 0)],
)
def test_a_failure_that_the_last_command_hides_is_a_warning(command: str, line: int) -> None:
    finding = next(f for f in of_command(command) if f.code == "only-last-counts")
    assert finding.severity is Severity.WARNING
    assert analyse(command).lost_lines[0] == line


def test_what_is_advised_for_a_denial_is_not_told_again() -> None:
    for mended in ("set -e\nif grep -q bad f; then exit 1; fi", "! grep -q bad f &&"):
        assert codes(of_command(f"{mended}\ntest -s f")) == []


@pytest.mark.parametrize(
    "command",
    [
        "pytest && grep x f",
        "set -e; pytest; grep x f",
        "pytest || exit 1\ngrep x f",
        "rm -f x; pytest",
        "X=1; pytest",
        "echo start\npytest",
        "pytest & sleep 1; grep x f",
        "exit 1; grep x f",
    ],
)
def test_no_warning_where_nothing_is_hidden(command: str) -> None:
    assert "only-last-counts" not in codes(of_command(command))
