"""Cloud-drive conflict copies: told from plans by their names, and progress merged without loss."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.domain.conflicts import conflict_copy_of, kept_loser_of, merge_progress


@pytest.mark.parametrize(
    ("copy", "original"),
    [
        ("PLAN-x (conflicted copy 2026-06-01).md", "PLAN-x.md"),
        ("PLAN (Anna's conflicted copy 2026-06-01).md", "PLAN.md"),
        ("PLAN-x (Anna (Mac)'s conflicted copy 2026-06-01).md", "PLAN-x.md"),
        ("PLAN-x (conflicted copy 2026-06-01 120000).md", "PLAN-x.md"),
        ("PLAN-x (In Konflikt stehende Kopie von Anna 2026-06-01).md", "PLAN-x.md"),
        ("PLAN-x (Copie en conflit de Anna 2026-06-01).md", "PLAN-x.md"),
        ("PLAN-x (Case Conflict).md", "PLAN-x.md"),
        ("PLAN-x (Case Conflict 1).md", "PLAN-x.md"),
        ("PLAN-x (SFConflict anna@example.org 2026-06-01-12-00-00).md", "PLAN-x.md"),
        ("PLAN-x[Conflict].md", "PLAN-x.md"),
        ("PLAN-x (1).md", "PLAN-x.md"),
        ("PLAN-x(1).md", "PLAN-x.md"),
        ("progress-x (2).md", "progress-x.md"),
        ("progress (17).md", "progress.md"),
        ("PLAN-x - Copy.md", "PLAN-x.md"),
        ("PLAN-x - Copy (2).md", "PLAN-x.md"),
        ("PLAN - Kopie.md", "PLAN.md"),
        ("PLAN-x (copy).md", "PLAN-x.md"),
        ("PLAN-x (3rd copy).md", "PLAN-x.md"),
        ("PLAN-x.sync-conflict-20260601-120000-ABCDEFG.md", "PLAN-x.md"),
        ("progress.sync-conflict-20260601-120000.md", "progress.md"),
        ("PLAN-x_conflict-20260601-120000.md", "PLAN-x.md"),
        ("PLAN 2.md", "PLAN.md"),
        ("progress 3.md", "progress.md"),
        ("PLAN copy.md", "PLAN.md"),
        ("PLAN copy 2.md", "PLAN.md"),
        ("PLAN-x (1) (conflicted copy 2026-06-01).md", "PLAN-x.md"),
        ("PLAN-x.sync-conflict-20260601-120000-ABCDEFG (1).md", "PLAN-x.md"),
        ("plan-x (CONFLICTED COPY 2026-06-01).MD", "plan-x.MD"),
        ("PLAN-fix the docs (1).md", "PLAN-fix the docs.md"),
        ("PLAN-é (1).md", "PLAN-é.md"),
        ("PLAN-(1) (2).md", "PLAN-(1).md"),
    ],
)
def test_a_conflict_copy_names_its_original(copy: str, original: str) -> None:
    assert conflict_copy_of(copy) == original


@pytest.mark.parametrize(
    "name",
    [
        "PLAN.md",
        "PLAN-x.md",
        "progress-x.md",
        "PLAN-x-DESKTOP.md",  # OneDrive, or a plan of that name
        "PLAN-x 2.md",  # iCloud, or a plan of that name
        "PLAN-make a copy.md",
        "PLAN-x copy.md",
        "PLAN-roadmap (2026).md",
        "PLAN-resolve-conflicts.md",
        "PLAN-sync-conflict.md",
        "PLAN-phase (one).md",
        "PLAN-(1).md",
        "PLAN-x (0).md",
        "PLAN-.md",
        "PLANS (1).md",
        "notes (1).md",
        "(1).md",
        " - Copy.md",
        "PLAN-x (1).txt",
        "PLAN-x (1)",
        "PLAN-x.md.conflict-1",
        "",
        "md",
    ],
)
def test_what_can_be_a_file_of_its_own_is_no_copy(name: str) -> None:
    assert conflict_copy_of(name) is None


slugs = st.text(alphabet="abc-_.é1", min_size=1, max_size=12)
marks = st.sampled_from(
    [" (conflicted copy 2026-06-01)", " (1)", " - Copy", ".sync-conflict-20260601-120000-ABCDEFG"]
)


@given(st.sampled_from(["PLAN", "progress"]), slugs, st.lists(marks, min_size=1, max_size=3))
def test_any_name_with_a_mark_behind_it_is_a_copy(kind: str, slug: str, behind: list[str]) -> None:
    assert conflict_copy_of(f"{kind}-{slug}{''.join(behind)}.md") == f"{kind}-{slug}.md"
    assert conflict_copy_of(f"{kind}-{slug}.md") is None


@given(st.text(max_size=80))
def test_any_name_can_be_asked(name: str) -> None:
    original = conflict_copy_of(name)
    assert original is None or (len(original) < len(name) and conflict_copy_of(original) is None)


def test_our_own_kept_losers_are_told() -> None:
    assert kept_loser_of("PLAN-x.md.conflict-1") == "PLAN-x.md"
    assert kept_loser_of("PLAN.md.conflict-12") == "PLAN.md"
    assert kept_loser_of("progress-x.md.conflict-3") == "progress-x.md"
    for name in ("PLAN-x.md", "PLAN-x.conflict-1", "notes.md.conflict-1", "PLAN-.md.conflict-1"):
        assert kept_loser_of(name) is None
    for number in ("0", "01", "", "x", "1 "):
        assert kept_loser_of(f"PLAN-x.md.conflict-{number}") is None


def test_telling_them_stays_light_to_import() -> None:
    code = "import sys, signoff.domain.conflicts; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {"dataclasses", "typing", "datetime", "inspect", "pathlib", "click"}
    assert heavy.isdisjoint(loaded.stdout.split())


def merged(*versions: str) -> list[str]:
    text = merge_progress(versions)
    assert text == "" or text.endswith("\n")
    return text.split("\n")[:-1]


T1, T2, T3 = (f"- 2026-06-01T12:0{minute}:00Z anna" for minute in (1, 2, 3))


def test_lines_of_both_versions_stand_in_the_order_of_time() -> None:
    assert merged(f"# Progress\n{T1}\n{T3}\n", f"# Progress\n{T1}\n{T2}") == [
        "# Progress",
        T1,
        T2,
        T3,
    ]


def test_the_zone_counts_and_so_does_the_fraction() -> None:
    later = "2026-06-01T12:00:00.25+00:00 b"
    earlier = "2026-06-01T14:00:00,125+02:00 a"
    assert merged(later, earlier) == [earlier, later]
    assert merged("2026-06-01 12:00-01:00 d\n2026-06-01 12:30+00 c") == [
        "2026-06-01 12:30+00 c",
        "2026-06-01 12:00-01:00 d",
    ]


def test_the_same_instant_keeps_the_order_in_which_it_was_first_seen() -> None:
    one, other = T1 + " one", "- 2026-06-01T14:01:00+02:00 other"
    assert merged(one, other) == [one, other]
    assert merged(other, one) == [other, one]


def test_a_line_that_one_version_has_twice_stays_twice() -> None:
    assert merged(f"{T1}\n{T1}\n", f"{T1}\n") == [T1, T1]
    assert merged(f"{T1}\n", f"{T1}\n{T1}\n") == [T1, T1]
    assert merged(f"{T1}\n", f"{T1}\n") == [T1]


def test_lines_without_a_time_stay_behind_the_line_they_followed() -> None:
    one = f"{T2}\n  why\n\n  because\n{T3}\n  why\n"
    other = f"{T1}\n  why\n{T2}\n  why\n  not\n"
    assert merged(one, other) == [
        *(T1, "  why"),
        *(T2, "  why", "", "  because", "  not"),
        *(T3, "  why"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "2026-06-01 no time",
        "2026-06-01T12:00:00 no zone",
        "2026-13-01T12:00:00Z no such month",
        "2026-06-01T25:00:00Z no such hour",
        "2026-06-01T12:00:00Zulu",
        "at 2026-06-01T12:00:00Z",
        "٢٠٢٦-06-01T12:00:00Z other digits",
    ],
)
def test_what_is_no_full_timestamp_orders_nothing(line: str) -> None:
    assert merged(f"{T3}\n{line}\n{T1}\n") == [T1, T3, line]


def test_line_ends_and_marks_of_editors_make_no_second_line() -> None:
    assert merged(f"# Progress\r\n{T1}\r\n", f"\ufeff# Progress\n{T1}") == ["# Progress", T1]
    assert merged("a\x0cb\u2028c\rd\n") == ["a\x0cb\u2028c\rd"]
    assert merged() == []
    assert merged("", "\n", "") == [""]


instants = st.datetimes(
    min_value=datetime(1, 1, 3),
    max_value=datetime(9999, 12, 29),
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=14)), timezone(-timedelta(hours=11))]),
)
few_instants = st.sampled_from([datetime(2026, 6, 1, 12, m, tzinfo=UTC) for m in range(4)])
timed = st.builds(
    lambda dash, time, note: f"{'- ' * dash}{time.isoformat()} {note}",
    st.booleans(),
    few_instants | instants,
    st.sampled_from("ab"),
)
untimed = st.sampled_from(["", "x", "  y", "- z", "```"])
versions = st.lists(timed | untimed, max_size=12)


def text_of(lines: list[str]) -> str:
    return "".join(line + "\n" for line in lines)


def time_of(line: str) -> datetime | None:
    try:
        return datetime.fromisoformat(line.removeprefix("- ").split(" ")[0])
    except ValueError:
        return None


@given(st.lists(versions, max_size=4))
def test_no_line_is_lost_and_none_is_invented(texts: list[list[str]]) -> None:
    result = Counter(merged(*map(text_of, texts)))
    union: Counter[str] = Counter()
    for lines in texts:
        union |= Counter(lines)
    total = sum((Counter(lines) for lines in texts), Counter())
    assert {line: n for line, n in result.items() if time_of(line)} == {
        line: n for line, n in union.items() if time_of(line)
    }
    assert all(union[line] <= result[line] <= total[line] for line in result | union)


@given(st.lists(st.lists(untimed, max_size=8), max_size=4))
def test_without_times_the_result_is_the_union_of_the_lines(texts: list[list[str]]) -> None:
    union: Counter[str] = Counter()
    for lines in texts:
        union |= Counter(lines)
    assert Counter(merged(*map(text_of, texts))) == union


@given(st.lists(versions, max_size=4))
def test_times_never_run_backwards(texts: list[list[str]]) -> None:
    times = [t for line in merged(*map(text_of, texts)) if (t := time_of(line))]
    assert times == sorted(times)


@given(st.lists(versions, min_size=1, max_size=4))
def test_merging_again_changes_nothing(texts: list[list[str]]) -> None:
    once = merge_progress([*map(text_of, texts)])
    assert merge_progress([once]) == once
    assert merge_progress([once, *map(text_of, texts)]) == once


@given(versions)
def test_every_line_without_a_time_keeps_the_timed_line_before_it(lines: list[str]) -> None:
    assert _anchors(merged(text_of(lines))) == _anchors(lines)


def _anchors(lines: list[str]) -> Counter[tuple[str, str]]:
    anchor, found = "", Counter[tuple[str, str]]()
    for line in lines:
        if time_of(line):
            anchor = line
        else:
            found[anchor, line] += 1
    return found
