"""Text from agents and contracts is data: it cannot move a cursor, hide, or grow without limit."""

from __future__ import annotations

import os
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.domain.text import decode_output, escape, escape_line, storable_path, tail

any_text = st.text(alphabet=st.characters(exclude_categories=()))


@given(any_text)
def test_nothing_that_is_shown_can_steer_a_terminal(text: str) -> None:
    for char in escape(text):
        assert char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp")


@given(any_text)
def test_escaping_twice_changes_nothing_more(text: str) -> None:
    assert escape(escape(text)) == escape(text)


@given(any_text)
def test_what_must_stay_on_one_line_does(text: str) -> None:
    assert len(escape_line(text).splitlines()) <= 1
    assert "\t" not in escape_line(text)


@pytest.mark.parametrize("text", ["plain", "Zürich 数据 ✅", "two\nlines\tand a tab", ""])
def test_readable_text_is_shown_as_it_is(text: str) -> None:
    assert escape(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x1b]0;owned\x07", r"\x1b[2J\x1b]0;owned\x07"),
        ("done\rfail", r"done\x0dfail"),
        ("nul\x00", r"nul\x00"),
        ("\x9b31m", r"\x9b31m"),
        ("ok \u202egnp.exe", r"ok \u202egnp.exe"),
        ("pass\u200bword", r"pass\u200bword"),
        ("a\u2028b", r"a\u2028b"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("\u3164", r"\u3164"),
        ("\ud800", r"\ud800"),
        ("\x7f\b", r"\x7f\x08"),
    ],
)
def test_tricks_become_visible(text: str, shown: str) -> None:
    assert escape(text) == shown


def test_a_newline_in_one_line_is_visible() -> None:
    assert escape_line("a\nb\tc\rd") == r"a␊b c\x0dd"


@given(st.binary())
def test_any_output_becomes_text_that_can_be_encoded_again(data: bytes) -> None:
    decode_output(data).encode("utf-8")


def test_output_that_is_not_text_is_marked_where_it_is_not() -> None:
    assert decode_output(b"ok \xff\xfe end") == "ok \ufffd\ufffd end"


@given(st.binary(min_size=1))
def test_any_file_name_becomes_text_that_can_be_encoded(name: bytes) -> None:
    storable_path(os.fsdecode(name)).encode("utf-8")


def test_bytes_of_a_file_name_that_are_no_text_are_shown_as_escapes() -> None:
    assert storable_path("a\udcffb/é") == r"a\xffb/é"


def test_two_different_undecodable_names_stay_different() -> None:
    assert storable_path("\udcff") != storable_path("\udcfe")


def test_a_short_text_keeps_its_tail_whole() -> None:
    assert tail("abc", 3) == "abc"


def test_a_tail_begins_at_a_line_and_says_what_was_cut() -> None:
    text = "first line\nsecond line\nthird line\n"
    assert tail(text, 26) == "[... 11 characters cut ...]\nsecond line\nthird line\n"


def test_a_tail_without_a_near_line_start_is_cut_in_the_line() -> None:
    assert tail("x" * 10, 4) == "[... 6 characters cut ...]\nxxxx"
    assert tail("xxxxxxxxxx\ny", 4) == "[... 8 characters cut ...]\nxx\ny"


@given(st.text(alphabet="ab\n", max_size=60), st.integers(1, 40))
def test_a_tail_keeps_the_end_within_its_limit_and_counts_the_rest(text: str, limit: int) -> None:
    shown = tail(text, limit)
    if len(text) <= limit:
        assert shown == text
        return
    note, kept = shown.split("\n", 1)
    assert text.endswith(kept)
    assert limit // 2 <= len(kept) <= limit
    assert note == f"[... {len(text) - len(kept)} characters cut ...]"
