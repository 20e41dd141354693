"""Whether two globs can cover the same path: a no is certain, and a yes errs on the safe side."""

from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from signoff.domain.globs import (
    covers_nothing,
    intersect,
    literal,
    matches,
    spelled_start,
)

TOKENS = (
    "a",
    "b",
    ".",
    "/",
    "/",
    "*",
    "?",
    "**",
    "**/",
    "[ab]",
    "[!a]",
    "[.-b]",
    "[!-b]",
    "[",
    "./",
)
patterns = st.lists(st.sampled_from(TOKENS), max_size=7).map("".join)
wild_patterns = st.text(alphabet="ab./*?[]!^-", max_size=9)
names = st.text(alphabet="ab.-é \n*?[]", min_size=1, max_size=5).filter(
    lambda n: n not in (".", "..")
)
paths = st.lists(names, min_size=1, max_size=4).map("/".join)


def is_real(path: str) -> bool:
    return "\0" not in path and all(p not in ("", ".", "..") for p in path.split("/"))


SHORT_PATHS = [
    path
    for length in range(1, 7)
    for path in map("".join, itertools.product("ab./", repeat=length))
    if is_real(path)
]


def covered(pattern: str) -> set[str]:
    return {path for path in SHORT_PATHS if matches(pattern, path)}


def never_says_no_where_a_path_is(one: str, other: str) -> None:
    assert intersect(one, other) or not covered(one) & covered(other)


@pytest.mark.parametrize(
    ("one", "other", "path"),
    [
        ("src/**/a*.py", "src/x/ab.py", "src/x/ab.py"),
        ("a/**", "**/b", "a/b"),
        ("src", "src/deep/a.py", "src/deep/a.py"),
        ("src/", "./src", "src"),
        ("src/*", "src/a/b/c", "src/a/b/c"),  # `src/a` is a folder under the pattern
        ("a?c", "ab[b-d]", "abc"),
        ("[!a]x", "[a-b]x", "bx"),
        ("[*]", literal("*"), "*"),
        ("**/a/**/b", "a/b", "a/b"),
        ("a**z", "a/*/z", "a/a/z"),
        ("...", "..[.]", "..."),
        ("a[b/]c", "a/c", "a/c"),
        ("a[.-b]a", "a", "a/a"),
        ("*.md", "a?m?", "a.md"),
    ],
)
def test_two_patterns_cover_a_path_between_them(one: str, other: str, path: str) -> None:
    assert matches(one, path) and matches(other, path)
    assert intersect(one, other) and intersect(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("src/*.py", "src/a/b.py"),
        ("src/a.py", "src/a.pyc"),
        ("src", "src2"),
        ("SRC", "src"),
        ("*.py", "*.md"),
        ("a?c", "a/c"),
        ("[ab]", "c"),
        ("a/**", "b/**"),
        ("x/?", "x/yz"),
        ("*a", "*b"),
    ],
)
def test_two_patterns_have_nothing_in_common(one: str, other: str) -> None:
    assert not intersect(one, other) and not intersect(other, one)


@pytest.mark.parametrize(
    ("one", "other"), [("[ab]", "[cd]"), ("x/?", "x/??"), ("**/*.py", "**/*.md")]
)
def test_where_it_cannot_be_told_the_answer_is_yes(one: str, other: str) -> None:
    assert intersect(one, other)


@settings(max_examples=300)
@given(patterns, patterns)
@example("**/", "/")
@example("[.-b]a", "?a")
@example("**/*", "*/**")
def test_no_short_path_contradicts_a_no(one: str, other: str) -> None:
    never_says_no_where_a_path_is(one, other)


@settings(max_examples=300)
@given(wild_patterns, wild_patterns)
def test_brackets_that_are_no_classes_are_no_exception(one: str, other: str) -> None:
    never_says_no_where_a_path_is(one, other)


@st.composite
def blurred(draw: st.DrawFn, path: str) -> str:
    """A pattern for the path: parts of it replaced by what stands for them."""
    out, i = [], 0
    while i < len(path):
        end = i + draw(st.integers(1, 4))
        part = path[i:end]
        across = ["**"] if "/" in part else ["*", "**", "[!@]" + "?" * (len(part) - 1)]
        out.append(draw(st.sampled_from([literal(part), *across])))
        i = end
    cut = path.find("/", draw(st.integers(0, len(path))))
    return "".join(out) if cut == -1 or draw(st.booleans()) else literal(path[:cut])


@settings(max_examples=300)
@given(st.data(), paths)
def test_what_is_known_to_meet_is_found_to_meet(data: st.DataObject, path: str) -> None:
    one, other = data.draw(blurred(path)), data.draw(blurred(path))
    # `**` that comes to stand before a slash means folders, and may cover less.
    assume(matches(one, path) and matches(other, path))
    assert intersect(one, other)


@given(patterns, patterns)
def test_neither_pattern_comes_first(one: str, other: str) -> None:
    assert intersect(one, other) == intersect(other, one)


@given(patterns, paths)
def test_a_pattern_meets_the_path_that_it_covers(pattern: str, path: str) -> None:
    if matches(pattern, path):
        assert intersect(pattern, literal(path))


@given(patterns)
def test_a_pattern_meets_itself_unless_it_covers_nothing(pattern: str) -> None:
    assert intersect(pattern, pattern) != covers_nothing(pattern)


@pytest.mark.parametrize(
    "pattern", ["", ".", "./", "/", "..", "../a", "/etc", "a//b", "a/../b", "././a", "~/\0"]
)
def test_a_pattern_that_no_path_can_fall_under_meets_nothing(pattern: str) -> None:
    assert covers_nothing(pattern)
    assert not intersect(pattern, "**")
    assert not intersect(pattern, pattern)


@pytest.mark.parametrize("pattern", ["**", "a", ".a", "...", "**/", "*", "?", "[!a]", "./a/", ".*"])
def test_a_pattern_that_some_path_falls_under_is_told_apart(pattern: str) -> None:
    assert not covers_nothing(pattern)


@given(patterns, paths)
def test_every_path_that_a_pattern_covers_starts_as_the_pattern_spells(
    pattern: str, path: str
) -> None:
    if matches(pattern, path):
        assert path.startswith(spelled_start(pattern))


def test_the_start_ends_where_the_spelling_does() -> None:
    assert spelled_start("./src/a[*]b*.py") == "src/a"
    assert spelled_start("src/") == "src"
    assert spelled_start("**/a") == ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("*a" * 150, "*a" * 149 + "*b"),
        ("*a" * 150 + "/x", "*a" * 150 + "/y"),
        ("?*" * 150, "*?" * 149 + "[!a]"),
        ("**a" * 100, "**b" * 100 + "c"),
        ("**/a/" * 60, "**/b/" * 60),
        ("**/*a" * 60, "**/*b" * 60),
        ("a" * 1000, "*a" * 150),
        ("[a-f]*" * 50 + "z", "*[c-z]" * 50 + "y"),
        ("".join(f"*[!{chr(0x4E00 + i)}]" for i in range(60)), "?" * 300),
    ],
)
def test_hostile_patterns_of_hundreds_of_characters_are_answered(one: str, other: str) -> None:
    started = time.monotonic()
    intersect(one, other)
    assert time.monotonic() - started < 20
