"""Tables have one width and readable text."""

from __future__ import annotations

import pytest

from tests.toolbatch.checkers.kit import Artifacts


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", 'a,b\n1,"x,\n""y"""\n3,4\n'),
        ("a.csv", "a;b\r\n1,5;2\r\n"),
        ("a.csv", "\ufeffname,ü\n1,2\n\n"),
        ("a.tsv", "a\tb\n1\t2,3\n"),
        ("a.csv", "single\nvalue\n"),
    ],
)
def test_tables_of_one_width_have_no_findings(
    artifacts: Artifacts, name: str, content: str
) -> None:
    assert artifacts.of(name, content) == []


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("a,b\n1,2\n1\n1,2,3\n", ["3 ragged-row", "4 ragged-row"]),
        ('a,b\n"1\n1",2\n3\n', ["4 ragged-row"]),
        ("", ["1 empty-file"]),
        (b"a,b\n1,\xe9\n", ["2 encoding"]),
        (b"a,b\n1,\0\n", ["2 encoding"]),
        ("a,b\n".encode("utf-16"), ["1 encoding"]),
        ('a,b\n1,2\n1,"open\n3,4\n', ["3 bad-csv"]),
        ('a,b\n1,"x"y\n', ["2 bad-csv"]),
        ("a,b\n1," + "x" * 200_000 + "\n", ["2 bad-csv"]),
    ],
)
def test_what_is_wrong_with_a_table_is_found_on_its_line(
    artifacts: Artifacts, content: str | bytes, found: list[str]
) -> None:
    assert artifacts.of("a.csv", content) == found


def test_a_table_that_is_wrong_everywhere_is_told_up_to_a_limit(artifacts: Artifacts) -> None:
    found = artifacts.of("a.csv", "a,b\n" + "1\n" * 5000)
    assert found[:2] == ["2 ragged-row", "3 ragged-row"]
    assert len(found) == 101 and found[-1].endswith("too-many-findings")
