"""One meaning of a glob, wherever a plan names files."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.domain.globs import accepts, has_wildcard, matches, matches_any

names = st.text(alphabet="ab.-é \n*?[]", min_size=1, max_size=6).filter(
    lambda n: n not in (".", "..")
)
paths = st.lists(names, min_size=1, max_size=4).map("/".join)
plain_names = st.text(alphabet="ab.-_é \n", min_size=1, max_size=6).filter(
    lambda n: n not in (".", "..")
)
plain_paths = st.lists(plain_names, min_size=1, max_size=4).map("/".join)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("src/a.py", "src/a.py"),
        ("./src/a.py", "src/a.py"),
        ("src", "src/deep/a.py"),
        ("src/", "src/a.py"),
        ("src/**", "src/deep/er/a.py"),
        ("src/*", "src/a.py"),
        ("src/*", "src/deep/a.py"),  # `src/deep` is a folder under the pattern
        ("*.py", "a.py"),
        ("**/*.py", "a.py"),
        ("**/*.py", "x/y/a.py"),
        ("**/test_*.py", "tests/unit/test_a.py"),
        ("tests/**/conftest.py", "tests/conftest.py"),
        ("tests/**/conftest.py", "tests/a/b/conftest.py"),
        ("a?c", "abc"),
        ("[ab].txt", "b.txt"),
        ("[!ab].txt", "c.txt"),
        ("[^ab].txt", "c.txt"),
        ("[a-c].txt", "b.txt"),
        ("[]].txt", "].txt"),
        ("a[b", "a[b"),
        ("a.b", "a.b"),
        ("a+b(c)", "a+b(c)"),
        ("**", "any/thing"),
        ("new*line", "new\nline"),
        ("[\\].txt", "\\.txt"),
        ("[!-z].txt", "m.txt"),  # neither a dash nor a z: no range from nowhere
        ("[a--].txt", "[a--].txt"),  # a range that runs backwards is no class
        ("[!]x", "ax"),
        ("[a&&b]", "&"),
    ],
)
def test_a_pattern_covers_the_path(pattern: str, path: str) -> None:
    assert matches(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("src/a.py", "src/a.pyc"),
        ("src/a.py", "x/src/a.py"),
        ("src", "src2/a.py"),
        ("src", "lib/src"),
        ("*.py", "src/a.py"),
        ("src/*.py", "src/deep/a.py"),
        ("src/**", "src"),
        ("a?c", "a/c"),
        ("a*c", "a/c"),
        ("[!a]", "/"),
        ("a[!b]c", "a/c"),
        ("a.b", "axb"),
        ("**/conftest.py", "tests/xconftest.py"),
        ("SRC", "src"),
        ("tests/**/*.py", "tests/a.txt"),
        ("[!-z].txt", "-.txt"),
        ("[!-z].txt", "z.txt"),
        ("[!\0-\U0010ffff]", "a"),
    ],
)
def test_a_pattern_does_not_cover_the_path(pattern: str, path: str) -> None:
    assert not matches(pattern, path)


@given(plain_paths)
def test_a_path_without_wildcards_covers_itself_and_what_lies_below_only(path: str) -> None:
    assert matches(path, path)
    assert matches(path, path + "/below")
    assert not matches(path, path + "x")
    assert not matches(path, "above/" + path)


@given(paths)
def test_two_stars_cover_every_path(path: str) -> None:
    assert matches("**", path)
    assert matches("**/*", path)


@given(paths, plain_names)
def test_one_star_never_crosses_a_folder(path: str, suffix: str) -> None:
    if matches("*" + suffix, path):
        first = path.split("/", 1)[0]
        assert first.endswith(suffix)


@given(st.text(alphabet="ab/.*?é\n", max_size=12), paths)
def test_any_pattern_of_stars_and_marks_can_be_asked(pattern: str, path: str) -> None:
    assert matches(pattern, path) in (True, False)


@given(st.text(alphabet="a/*?", min_size=1, max_size=8), st.text(alphabet="a/", max_size=8))
def test_stars_mean_what_a_second_reading_of_them_means(pattern: str, path: str) -> None:
    assert matches(pattern, path) == _second_reading(pattern.rstrip("/"), path)


def _second_reading(pattern: str, path: str) -> bool:
    """By trying every split, one token after the other."""
    if not pattern:
        return path == "" or path.startswith("/")
    if pattern.startswith("**/"):
        rest = pattern[3:]
        starts = [m.end() for m in re.finditer("/", path)]
        folders = [0, *(i for i in starts if "//" not in "/" + path[:i])]
        return any(_second_reading(rest, path[i:]) for i in folders)
    if pattern.startswith("**"):
        return any(_second_reading(pattern[2:], path[i:]) for i in range(len(path) + 1))
    if pattern[0] == "*":
        limit = len(path.split("/", 1)[0])
        return any(_second_reading(pattern[1:], path[i:]) for i in range(limit + 1))
    if not path:
        return False
    one = path[0] != "/" if pattern[0] == "?" else path[0] == pattern[0]
    return one and _second_reading(pattern[1:], path[1:])


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("*a" * 40, "a" * 200, "a" * 200 + "c"),
        ("**a" * 30, "a/" * 200 + "a", "a" * 200 + "c"),
        ("**/*a" * 25, "aa/" * 200 + "a" * 25, "c/" * 200 + "a" * 20),
        ("**a**a" * 5 + "/**/*b", "a" * 60 + "/a" * 60 + "/b", "a" * 60 + "/a" * 60 + "/c"),
    ],
)
def test_a_pattern_of_many_stars_is_answered_at_once(
    pattern: str, inside: str, outside: str
) -> None:
    """By trying every split of the path this would take longer than anybody waits."""
    assert matches(pattern, inside)
    assert not matches(pattern, outside)


@given(st.text(alphabet="ab/*?[]!-^", max_size=10), st.text(alphabet="ab/-]", max_size=8))
def test_both_ways_of_matching_say_the_same(pattern: str, path: str) -> None:
    assert matches(pattern, path) == accepts(pattern, path)


def test_any_of_several_patterns_is_enough() -> None:
    assert matches_any(["docs", "src/*.py"], "src/a.py")
    assert not matches_any(["docs", "src/*.py"], "lib/a.py")
    assert not matches_any([], "src/a.py")


@pytest.mark.parametrize("pattern", ["a*", "a?", "a[b]", "**"])
def test_a_wildcard_is_noticed(pattern: str) -> None:
    assert has_wildcard(pattern)


def test_a_plain_path_has_no_wildcard() -> None:
    assert not has_wildcard("src/a-b.py")
