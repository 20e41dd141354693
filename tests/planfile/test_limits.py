"""What is too large, or is no text, is refused before anything expensive happens."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.errors import PlanUnreadable
from signoff.planfile.blocks import PlanLimits, decode, split_lines
from signoff.planfile.parse import parse
from signoff.planfile.scan import scan
from tests.planfile.writing import plan, step


def test_a_file_over_the_limit_is_refused_with_both_sizes() -> None:
    with pytest.raises(PlanUnreadable, match=r"`p.md` has 21 bytes, the limit is 20"):
        decode(b"x" * 21, "p.md", PlanLimits(max_bytes=20))


def test_a_text_over_the_limit_is_refused_by_its_bytes_not_its_characters() -> None:
    text = plan(header="é" * 50)
    size = len(text.encode())
    parse(text, PlanLimits(max_bytes=size))
    with pytest.raises(PlanUnreadable, match=f"{size:,} bytes"):
        parse(text, PlanLimits(max_bytes=size - 1))


def test_too_many_steps_are_refused_and_headings_in_fences_do_not_count() -> None:
    text = plan(step("1"), step("2"), header="```\n### 1. a\n```\n")
    parse(text, PlanLimits(max_steps=2))
    with pytest.raises(PlanUnreadable, match="2 steps, the limit is 1"):
        parse(text, PlanLimits(max_steps=1))


def test_a_nul_byte_is_named_with_its_place() -> None:
    with pytest.raises(PlanUnreadable, match=r"NUL byte at offset 3 \(line 2\)"):
        decode(b"a\nb\0c", "p.md")


def test_bytes_that_are_not_utf8_are_named_with_their_place() -> None:
    with pytest.raises(PlanUnreadable, match=r"byte 0xff at offset 4 \(line 3\)") as caught:
        decode(b"a\nb\n\xff", "p.md")
    assert caught.value.facts == {"offset": 4, "line": 3}


@given(st.text(alphabet=st.characters(blacklist_categories=["Cs"], blacklist_characters="\0")))
def test_decoding_keeps_every_byte(text: str) -> None:
    data = ("\ufeff" + text).encode()
    assert decode(data, "p.md").encode() == data


def _seconds(text: str) -> float:
    started = time.process_time()
    scan(split_lines(text))
    return time.process_time() - started


@pytest.mark.parametrize(
    "unit",
    [
        step("1"),
        "- " * 30 + "x\n\n",
        "> " * 30 + "x\n\n\n",
        "```\n",
        "````\n```\n",
        "<!-- \n",
        "text\n---\n",
        "1. a\n   ```\n   x\n",
        "a" * 200 + "\n",
        "<a " + "b " * 100 + "\n",
        "**status: done**\n",
    ],
)
def test_scanning_takes_time_in_proportion_to_the_text(unit: str) -> None:
    small = unit * (40_000 // len(unit))
    _seconds(small)
    once = min(_seconds(small) for _ in range(3))
    assert _seconds(small * 8) < 40 * once + 0.5


def test_ten_thousand_steps_are_read_in_seconds() -> None:
    text = plan(*(step(str(number)) for number in range(1, 10_001)))
    started = time.process_time()
    parsed = parse(text)
    assert time.process_time() - started < 20
    assert len(parsed.plan.steps) == 10_000
    assert parsed.plan.steps[-1].needs == ("9999",)
    assert parsed.findings == ()


_MANY = 100_000


@pytest.mark.parametrize(
    "line",
    [
        "### 2. a" + " " * _MANY + "b",
        "### 2. a" + " #" * _MANY + "b",
        " " * _MANY + ":*",
        "**a" + " " * _MANY + "x: y",
        "**a" + ": " * _MANY,
        "- " + "_" * _MANY + ":",
        "**on_fail:** retry(1)" + " " * _MANY + "x",
        "**timeout:** 1" + " 1" * _MANY,
        "**estimate:** 1" + "0" * _MANY + " tokens",
        "**estimate:** " + "1,000" * _MANY + " tokens",
        "**needs:** " + "1," * _MANY,
        "**red_first:** off" + "(" * _MANY,
        "**status:" + " " * _MANY + "x",
        "* " * _MANY + "x",
        "<a " + " " * _MANY + "x",
        "<a" + " b='" * _MANY,
        "###" + "." * _MANY,
        "### " + "1." * _MANY,
        "### 2. " + "✅ " * _MANY,
    ],
)
def test_no_line_takes_more_than_time_in_proportion_to_its_length(line: str) -> None:
    text = plan(step("1"), f"{line}\n{step('3')}")
    started = time.process_time()
    parse(text)
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    "below",
    [
        "exit_code" + " " * _MANY + "x",
        "stdout contains " + '"' * _MANY,
        "==" * _MANY,
        "== 1" * _MANY + "x",
        "output " + " " * _MANY + "x",
        'stdout contains "x"\n' * 20_000,
    ],
)
def test_no_line_below_a_contract_does_either(below: str) -> None:
    text = plan(step(contract=f"**contract:**\n```\nx\n```\n{below}\n"))
    started = time.process_time()
    parse(text)
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    "unit",
    ["## Postconditions\n\n1. a\n", "**word{n}:** x\n", "### {n}. x\n", "#### {n}. x\n", "1. a\n"],
)
def test_many_faults_take_time_in_proportion_to_their_number(unit: str) -> None:
    text = plan(after="".join(unit.replace("{n}", str(n)) for n in range(12_000)))
    started = time.process_time()
    parse(text)
    assert time.process_time() - started < 40
