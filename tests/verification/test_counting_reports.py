"""Machine-readable reports: every writer's shape, hostile files, and what wins over what."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from signoff.domain.verdict import TestCounts
from signoff.verification.counting.reports import (
    LARGEST_REPORT_BYTES,
    MOST_BYTES,
    MOST_MARKS,
    MOST_REPORTS,
    read_reports,
)
from signoff.verification.denominator import count_tests

CASES = '<testcase name="a"/><testcase name="b"><skipped/></testcase>'
JUNIT = f"<testsuites><testsuite>{CASES}</testsuite></testsuites>"


def junit(inner: str) -> bytes:
    return f'<?xml version="1.0"?><testsuite tests="99">{inner}</testsuite>'.encode()


def count(
    reports: dict[str, bytes], stdout: str = "", command: str = "pytest"
) -> TestCounts | None:
    return count_tests(command, stdout.encode(), b"", reports)


def numbers(counts: TestCounts | None) -> tuple[int, int, int] | None:
    return None if counts is None else (counts.passed, counts.failed, counts.skipped)


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        ('<testcase name="a"/>', (1, 0, 0)),
        ("<testcase><failure/></testcase><testcase><error/></testcase>", (0, 2, 0)),
        ('<testcase><skipped message="later"/></testcase>', (0, 0, 1)),
        ("<testcase><skipped/><failure/></testcase>", (0, 1, 0)),
        ('<testcase status="notrun"/><testcase status="run" result="suppressed"/>', (0, 0, 2)),
        ('<testcase status="fail"/><testcase status="run" result="completed"/>', (1, 1, 0)),
        ("<testcase><rerunFailure/><flakyFailure/></testcase>", (1, 0, 0)),
        ("<testsuite><testcase/></testsuite><testcase/>", (2, 0, 0)),
        ("<testcase><system-out><![CDATA[<testcase/>]]></system-out></testcase>", (1, 0, 0)),
        ("<testcase><properties><failure/></properties></testcase>", (1, 0, 0)),
        ("<system-out><testcase/></system-out><properties/>", (0, 0, 0)),
        ("", (0, 0, 0)),
    ],
)
def test_junit_is_counted_by_its_cases_not_by_its_totals(
    inner: str, expected: tuple[int, int, int]
) -> None:
    assert numbers(count({"junit.xml": junit(inner)})) == expected


@pytest.mark.parametrize(
    "encoded",
    [
        JUNIT.encode("utf-16"),
        b"\xef\xbb\xbf" + JUNIT.encode(),
        b'<?xml version="1.0" encoding="ISO-8859-1"?>' + JUNIT.encode(),
        JUNIT.replace("test", "j:test").encode(),
    ],
)
def test_junit_may_be_written_in_other_encodings_and_namespaces(encoded: bytes) -> None:
    assert numbers(count({"junit.xml": encoded})) == (1, 0, 1)


BOMB = (
    '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
    + "".join(
        f'<!ENTITY {n} "{f"&{p};" * 10}">' for p, n in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + "]>"
)


@pytest.mark.parametrize(
    "hostile",
    [
        BOMB + "<testsuite><testcase name='&i;'/></testsuite>",
        "<!DOCTYPE testsuite><testsuite><testcase/></testsuite>",
        '<!DOCTYPE t [<!ENTITY x SYSTEM "file:///etc/passwd">]><testsuite><testcase/>&x;</testsuite>',
        '<!DOCTYPE t SYSTEM "http://127.0.0.1:9/x.dtd"><testsuite><testcase/></testsuite>',
        "<testsuite>" * 500 + "<testcase/>" + "</testsuite>" * 500,
        "<testsuite><testcase><failure/><testcase/></testcase></testsuite>",
        "<testsuite><testcase/>",
        "<testsuite><testcase/></testsuite>trailing",
        "<html><testcase/></html>",
        '<?xml version="1.0" encoding="utf-7"?><testsuite/>',
        "<",
    ],
    ids=lambda text: text[:40],
)
def test_a_hostile_or_broken_report_is_left_aside(hostile: str) -> None:
    assert count({"junit.xml": hostile.encode()}) is None
    assert numbers(count({"junit.xml": hostile.encode()}, "3 passed in 0.1s\n")) == (3, 0, 0)


def test_an_external_entity_is_never_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/x"
        text = (
            f'<!DOCTYPE t [<!ENTITY % x SYSTEM "{address}"> %x;]><testsuite><testcase/></testsuite>'
        )
        assert count({"junit.xml": text.encode()}) is None
        with pytest.raises(TimeoutError):
            server.accept()


JEST = (
    '{"numTotalTests":8,"numPassedTests":5,"numFailedTests":1,'
    '"numPendingTests":1,"numTodoTests":1,"testResults":[]}'
)
GO_EVENTS = (
    '{"Action":"run","Package":"p","Test":"T"}\n{"Action":"pass","Package":"p","Test":"T"}\n'
)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (JEST, (5, 1, 2)),
        ('{"summary":{"passed":4,"xpassed":1,"error":1,"total":6}}', (4, 1, 1)),
        ('{"summary":{"failed":2,"total":2}}', (0, 2, 0)),
        ('{"report":{"summary":{"passed":4,"skipped":2,"total":6}}}', (4, 0, 2)),
        ('{"stats":{"passes":2,"failures":1,"pending":1}}', (2, 1, 1)),
        (GO_EVENTS, (1, 0, 0)),
        ("TAP version 13\n1..2\nok 1\nok 2 # skip\n", (1, 0, 1)),
        ('{"numTotalTests":8,"numPassedTests":-5}', None),
        ('{"numTotalTests":8,"numPassedTests":"5"}', None),
        ('{"numTotalTests":8,"numPassedTests":true}', None),
        ('{"numTotalTests":8,"numPassedTests":1e3}', None),
        ('{"numTotalTests":8,"numPassedTests":' + "9" * 5000 + "}", None),
        ('{"summary":"5 passed","stats":[1]}', None),
        ("[" * 200_000, None),
        ("7", None),
        ("null", None),
        ("", None),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_other_formats_are_known_by_their_content(
    document: str, expected: tuple[int, int, int] | None
) -> None:
    assert numbers(count({"report": document.encode()}, command="make test")) == expected


def test_files_of_one_format_are_parts_of_one_report() -> None:
    one, two = junit("<testcase name='a'/>"), junit("<testcase name='b'><failure/></testcase>")
    counts = count({"TEST-a.xml": one, "sub/TEST-b.xml": two, "notes.txt": b"hello"})
    assert counts == TestCounts("JUnit report", passed=1, failed=1)


def test_the_same_report_twice_counts_once() -> None:
    one = junit("<testcase name='a'/>")
    assert numbers(count({"a.xml": one, "b.xml": one})) == (1, 0, 0)


def test_two_formats_of_one_runner_tell_the_same_tests_and_the_smaller_counts() -> None:
    reports = {"a.xml": junit("<testcase/>" * 5), "b.json": b'{"summary":{"passed":4,"total":4}}'}
    assert count(reports) == TestCounts("pytest JSON report", passed=4)


def test_two_formats_of_two_runners_are_added() -> None:
    jest = b'{"numTotalTests":3,"numPassedTests":3}'
    counts = count({"a.xml": junit("<testcase/>" * 5), "b.json": jest}, command="pytest; npx jest")
    assert numbers(counts) == (8, 0, 0)


def test_a_report_wins_over_text_that_agrees_and_text_adds_what_the_report_leaves_out() -> None:
    counts = count({"a.xml": junit(CASES)}, "1 passed, 1 skipped, 7 deselected in 0.1s\n")
    assert counts == TestCounts("JUnit report", passed=1, skipped=1, deselected=7)


@pytest.mark.parametrize(("cases", "passed"), [(4, 4), (6, 5)])
def test_where_report_and_text_disagree_the_smaller_counts(cases: int, passed: int) -> None:
    counts = count({"a.xml": junit("<testcase/>" * cases)}, "5 passed in 0.1s\n")
    assert counts is not None
    assert counts.passed == passed
    assert "less than" in counts.source


@pytest.mark.parametrize("piece", [b"<a/>", b"{}\n", b"1..1\n", b"<testcase/>"])
def test_reports_made_to_be_slow_are_left_aside(piece: bytes) -> None:
    slow = b"<testsuite>" + piece * (MOST_MARKS + 1) + b"</testsuite>"
    assert numbers(count({"slow": slow}, "3 passed in 0.1s\n")) == (3, 0, 0)


def test_reports_are_read_from_the_folder_and_below_it(tmp_path: Path) -> None:
    (tmp_path / "b.xml").write_bytes(b"two")
    (tmp_path / "surefire").mkdir()
    (tmp_path / "surefire" / "a.xml").write_bytes(b"three")
    (tmp_path / "a.xml").write_bytes(b"one")
    found = read_reports(tmp_path)
    assert list(found.items()) == [
        ("a.xml", b"one"),
        ("b.xml", b"two"),
        ("surefire/a.xml", b"three"),
    ]


def test_links_pipes_and_sockets_among_the_reports_are_left_alone(tmp_path: Path) -> None:
    secret = tmp_path / "secret.xml"
    secret.write_bytes(b"secret")
    folder = tmp_path / "reports"
    folder.mkdir()
    (folder / "symbolic.xml").symlink_to(secret)
    (folder / "folder").symlink_to(tmp_path)
    (folder / "hard.xml").hardlink_to(secret)
    os.mkfifo(folder / "pipe.xml")
    (folder / "zero.xml").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket"))
        assert read_reports(folder) == {}


def test_a_folder_that_became_a_link_or_is_gone_holds_no_reports(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.xml").write_bytes(b"x")
    (tmp_path / "link").symlink_to("real")
    assert read_reports(tmp_path / "link") == {}
    assert read_reports(tmp_path / "gone") == {}
    assert read_reports(tmp_path / "real" / "a.xml") == {}


def test_reports_beyond_the_limits_are_not_read(tmp_path: Path) -> None:
    for i in range(MOST_REPORTS + 5):
        (tmp_path / f"{i:05}.xml").write_bytes(b"x")
    assert len(read_reports(tmp_path)) == MOST_REPORTS


def test_a_huge_report_costs_nothing_and_many_large_ones_end_at_the_limit(tmp_path: Path) -> None:
    with (tmp_path / "huge.xml").open("wb") as file:
        file.truncate(10 * LARGEST_REPORT_BYTES)
    for i in range(MOST_BYTES // LARGEST_REPORT_BYTES + 2):
        with (tmp_path / f"large-{i}.xml").open("wb") as file:
            file.truncate(LARGEST_REPORT_BYTES)
    found = read_reports(tmp_path)
    assert "huge.xml" not in found
    assert sum(map(len, found.values())) <= MOST_BYTES


def test_a_folder_nested_without_end_is_not_followed_without_end(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * 60)
    deep.mkdir(parents=True)
    (deep / "a.xml").write_bytes(b"x")
    (tmp_path / "d" / "a.xml").write_bytes(b"y")
    assert read_reports(tmp_path) == {"d/a.xml": b"y"}
