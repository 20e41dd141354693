"""An item arrives quoted: quotes around `{item}` are found, and items never become script."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from signoff.domain.findings import Finding, Severity
from signoff.domain.plan import expand
from signoff.planfile.verify.rules_contract import unfit_items

from .plans import check, codes, contract, step


def _found(command: str) -> list[Finding]:
    return [f for f in check(step("1", command, for_each="ls")) if f.code == "item-quoted"]


@pytest.mark.parametrize(
    ("command", "corrected"),
    [
        ('test -s "out/{item}"', "test -s out/{item}"),
        ("test -s 'out/{item}'", "test -s out/{item}"),
        ('test -s "$dir/{item}"', 'test -s "$dir/"{item}'),
        ("grep -q '^{item}$' index", "grep -q '^'{item}'$' index"),
        ('[[ -s "a b/{item}.md" ]]', '[[ -s "a b/"{item}.md ]]'),
        ('cat < "in/{item}"', "cat < in/{item}"),
        ('f="out/{item}"; test -s "$f"', 'f=out/{item}; test -s "$f"'),
        ('test "$(wc -l < "en/{item}")" -eq 4', 'test "$(wc -l < en/{item})" -eq 4'),
        ('./check.sh "{item}"', "./check.sh {item}"),
        ("test -s 'ü/{item}' && test -s \"ä{item}\"", "test -s 'ü/'{item} && test -s \"ä\"{item}"),
    ],
)
def test_an_item_inside_quotes_is_a_warning_until_it_stands_outside(
    command: str, corrected: str
) -> None:
    (finding,) = _found(command)
    assert finding.severity is Severity.WARNING
    assert finding.hint.startswith("write it outside of the quotes: ")
    assert _found(corrected) == []


@pytest.mark.parametrize(
    "command",
    [
        "test -s out/{item}",
        'test "$(wc -l < docs/en/{item})" -eq 4',
        'test "`wc -l < docs/en/{item}`" -eq 4',
        "grep -q \"x\" {item} && grep -q 'y' {item}",
        "grep -q '^'{item}'$' index",
    ],
)
def test_an_item_where_its_own_quotes_work_is_not_told(command: str) -> None:
    assert _found(command) == []


def test_an_item_without_a_list_is_only_told_that_there_is_none() -> None:
    assert codes(check(step("1", 'test -f "{item}"'))) == ["item-without-list"]


HOSTILE = [
    '";touch owned;"',
    "';touch owned;'",
    "$(touch owned)",
    "`touch owned`",
    "a;touch owned",
    "a'\"$(touch owned)\"'",
    "x\\",
    "a\ntouch owned\n",
    "a & touch owned",
]
SCRIPTS = [
    "printf %s {item}",
    'printf %s "no {item}"',
    "printf %s 'no {item}'",
    "printf %s $'no {item}'",
    "cat <<EOF\nno {item}\nEOF",
    "cat <<'EOF'\nno {item}\nEOF",
    'printf %s "${x:-{item}}"',
    'printf %s "$(printf %s {item})"',
    'printf %s "$(printf %s "{item}")"',
    "printf %s 'a'{item}'b'",
    "printf %s `printf %s {item}`",
    "true # {item}",
    'printf %s "unclosed {item}',
    "case {item} in a) printf a;; *) printf b;; esac",
    "[[ a == {item} ]] || printf no",
    'x=({item}); printf %s "${x[@]}"',
    "bash -c 'printf %s \"$1\"' - {item}",
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_no_item_that_is_let_through_is_read_by_the_shell(script: str, tmp_path: Path) -> None:
    fit = [item for item in HOSTILE if not unfit_items(script, [item])]
    for each in expand(step("1", contract=contract(script), for_each="ls"), tuple(fit)):
        assert each.contract is not None
        command = ["bash", "-c", each.contract.command]
        subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
        assert not (tmp_path / "owned").exists(), each.contract.command


@pytest.mark.parametrize("item", [*HOSTILE, "release notes.md", "it's", "*"])
def test_outside_of_quotes_every_item_will_do(item: str) -> None:
    assert unfit_items('test "$(wc -l < en/{item})" -eq 4 && grep -q x out/{item}', [item]) == ()


@pytest.mark.parametrize("item", ["a", "release notes.md", "übersicht.md", "a;b", "*"])
def test_inside_double_quotes_an_item_may_hold_what_means_nothing_there(item: str) -> None:
    assert unfit_items('test -s {item} || { echo "no {item}"; exit 1; }', [item]) == ()


def test_inside_single_quotes_only_plain_items_will_do() -> None:
    items = ["a", "docs/über.md", "release notes.md", "*", "a;b"]
    assert unfit_items("echo 'no {item}'", items) == ("release notes.md", "*", "a;b")
