"""Which files a contract cannot hold without: only those may be taken for what its step makes."""

from __future__ import annotations

import pytest

from signoff.domain.plan import Contract, Expectation, ExpectationKind
from signoff.planfile.subjects import demanded_files

DEMANDED = [
    ("test -s check.py", ["check.py"]),
    ("[ -x run.sh ]", ["run.sh"]),
    ("[[ -s a && -s b ]]", ["a", "b"]),
    ("test -s a && grep -q b c", ["a", "c"]),
    ("grep -q main ./src/../app.py", ["app.py"]),
    ("cd sub && test -s a.py", ["sub/a.py"]),
    ("test -s a || exit 1\ntest -s b", ["a", "b"]),
    ("set -e\ntest -s a\ntest -s b", ["a", "b"]),
    ("test -s a; test -s b", ["b"]),
    ("timeout 5 test -s a", ["a"]),
    ("python3 -m py_compile check.py", ["check.py"]),
    ("bash -n run.sh", ["run.sh"]),
    ("diff a b", ["a", "b"]),
    ("cat < a", ["a"]),
]
MERELY_NAMED = [
    "! grep -q skip conftest.py",
    "[ ! -f conftest.py ]",
    "test ! -s conftest.py",
    "test -s a -o -s conftest.py",
    "[[ -s a || -s conftest.py ]]",
    "test -s conftest.py || true",
    "grep -q works product.py conftest.py",
    "if grep -q skip conftest.py; then exit 1; fi",
    "grep skip conftest.py | wc -l | grep -qx 0",
    '[ -z "$(grep skip conftest.py)" ]',
    "bash -c '! grep -q skip conftest.py'",
    "diff -N conftest.py expected",
    "true && exit 0\ntest -s conftest.py",
    "trap 'exit 0' EXIT\ntest -s conftest.py",
    "test() { :; }; test -s conftest.py",
    "test -s conftest.py &",
    "set -e\ntest -s conftest.py && true\ntrue",
    "awk 'BEGIN { exit 0 }' conftest.py",
    "echo x > conftest.py",
    "test -s 'conftest.py",
]


@pytest.mark.parametrize(("command", "files"), DEMANDED)
def test_a_file_without_which_the_contract_fails_is_demanded(
    command: str, files: list[str]
) -> None:
    assert list(demanded_files(Contract(command))) == files


@pytest.mark.parametrize("command", MERELY_NAMED)
def test_a_file_that_a_contract_merely_speaks_of_is_not_demanded(command: str) -> None:
    assert "conftest.py" not in demanded_files(Contract(command))


def test_a_contract_that_expects_a_failure_demands_nothing() -> None:
    failing = Expectation(ExpectationKind.EXIT_CODE, 1)
    assert demanded_files(Contract("cat conftest.py | grep -q x", expectations=(failing,))) == ()
    assert demanded_files(Contract("test -s conftest.py", expectations=(failing,))) == ()
