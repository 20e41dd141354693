"""The YAML block at the top is read as plain values, and nothing in it can hurt."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.domain.plan import PlanStatus
from signoff.planfile.outline import find_frontmatter, read_frontmatter
from signoff.planfile.parse import parse
from signoff.planfile.yamlblock import read_yaml
from tests.planfile.writing import codes, plan, the_finding


def _with(block: str) -> str:
    return f"---\n{block}---\n{plan()}"


def test_values_and_lists_are_read() -> None:
    text = _with(
        "type: plan\nstatus: in-progress  # yes\nowner: 'me'\n"
        "depends_on: [auth-core, 'b']\ntouches:\n  - \"src/auth/**\"\n  - docs\n"
    )
    found = parse(text).plan
    assert codes(text) == []
    assert (found.status, found.owner) == (PlanStatus.IN_PROGRESS, "me")
    assert found.depends_on == ("auth-core", "b")
    assert found.touches == ("src/auth/**", "docs")


def test_a_list_may_be_one_value_with_commas() -> None:
    assert parse(_with("depends_on: a, b\n")).plan.depends_on == ("a", "b")


@pytest.mark.parametrize("block", ["", "# only a comment\n", "status:\n", "status: ~\nowner:\n"])
def test_what_is_not_said_is_draft(block: str) -> None:
    assert codes(_with(block)) == []
    assert parse(_with(block)).plan.status is PlanStatus.DRAFT
    assert parse(_with(block)).plan.depends_on == ()


def test_a_plan_needs_no_frontmatter() -> None:
    assert parse(plan()).plan.status is PlanStatus.DRAFT


def test_values_are_text_whatever_yaml_makes_of_them() -> None:
    assert parse(_with("owner: 2026-01-01\ndepends_on: [yes, 1.0]\n")).plan.owner == "2026-01-01"
    assert parse(_with("depends_on: [yes, 1.0]\n")).plan.depends_on == ("yes", "1.0")


def test_unknown_names_are_kept_and_noted_with_the_nearest_known_one() -> None:
    found = the_finding(
        _with("ownr: me\ncreated: 2026\n").replace("created", "owner"), "unknown-frontmatter-key"
    )
    assert (found.line, found.text, found.hint) == (2, "ownr: me", "did you mean `owner`?")


@pytest.mark.parametrize(
    ("block", "line"),
    [
        ("a: [\n", 3),
        ("type: plan\n\tx: y\n", 3),
        ("- a\n- b\n", 2),
        ("just text\n", 2),
        ("type: plan\na: &x 1\nb: *x\n", 3),
        ("owner: !!python/object:os.system x\n", 2),
        ("? [a]\n: b\n", 2),
        ("status: draft\nstatus: done\n", 3),
        ("type: plan\n--- x\n", 3),
        ('owner: "\\U0011FFFF"\n', 1),
        ("owner: \x07\n", 1),
        ("owner: [a, [b]]\n", 2),
        ("touches: {a: b}\n", 2),
        ("owner: [a]\n", 2),
        ("{status: draft}\n", 2),
        ("status: |\n  draft\n", 2),
        ("status: draft\n  draft\n", 2),
    ],
)
def test_what_cannot_be_used_is_an_error_on_its_line(block: str, line: int) -> None:
    found = [f for f in parse(_with(block)).findings if f.severity == "error"]
    assert found
    assert {f.code for f in found} <= {"bad-frontmatter", "unknown-status"}
    assert found[0].line == line


def test_an_alias_bomb_is_refused_at_its_first_anchor() -> None:
    bomb = 'a: &a ["x","x","x","x","x","x","x","x","x"]\n' + "".join(
        f"{new}: &{new} [{','.join(['*' + old] * 9)}]\n"
        for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    )
    assert the_finding(_with(bomb), "bad-frontmatter").message.endswith("aliases are not allowed")


@pytest.mark.parametrize(
    "block",
    [
        "x: " + "[" * 9_000 + "]" * 9_000 + "\n",
        "x: " + "{a: " * 400 + "}" * 400 + "\n",
        "x:\n  " + "- " * 9_000 + "a\n",
        "? " * 9_000 + "a\n",
        "".join(f"k{n}: v\n" for n in range(2_000)),
        "x: y\n" * 20_000,
        "x: '" + "[" * 19_000 + "'\n",
    ],
)
def test_no_block_takes_more_than_moments_to_read(block: str) -> None:
    started = time.process_time()
    assert set(codes(_with(block))) <= {"bad-frontmatter", "unknown-frontmatter-key"}
    assert time.process_time() - started < 20


def test_a_block_that_is_never_closed_is_an_error() -> None:
    assert codes("---\ntype: plan\n\n" + plan())[0] == "bad-frontmatter"


@pytest.mark.parametrize("status", ["Draft", "finished", "DONE"])
def test_a_status_that_is_none_of_the_six_is_an_error_and_reads_as_draft(status: str) -> None:
    text = _with(f"status: {status}\n")
    assert codes(text) == ["unknown-status"]
    assert parse(text).plan.status is PlanStatus.DRAFT


@pytest.mark.parametrize(
    "block", ["status: [draft]\n", "type: [plan]\n", "status: {a: b}\n", "type: {a: b}\n"]
)
def test_a_list_where_one_word_belongs_is_told_once_and_in_plain_words(block: str) -> None:
    assert codes(_with(block)) == ["bad-frontmatter"]
    assert the_finding(_with(block), "bad-frontmatter").message.endswith("must be one plain value")


def test_line_numbers_hold_in_crlf_files_and_after_characters_that_yaml_takes_for_line_ends() -> (
    None
):
    text = _with('owner: "a\u2028b"\nstatus: nope\n').replace("\n", "\r\n")
    assert the_finding("\ufeff" + text, "unknown-status").line == 3


_WORDS = st.from_regex(r"[A-Za-z][A-Za-z0-9_./-]*( [A-Za-z0-9_./-]+){0,2}", fullmatch=True)
_NAMES = st.sampled_from(["status", "owner", "type", "touches", "x"])


@given(st.lists(st.tuples(_NAMES, _WORDS | st.sampled_from(["null", "yes", "2 a"])), max_size=5))
def test_plain_lines_are_read_as_the_library_reads_them(pairs: list[tuple[str, str]]) -> None:
    lines = ["---", *(f"{name}:  {value} \r" for name, value in pairs), "---", ""]
    end = find_frontmatter(lines)
    inner = "\n".join(lines[1 : end - 1]) + "\n"
    assert read_frontmatter(lines, end) == read_yaml(inner, len(lines[0]) + 1, end)
