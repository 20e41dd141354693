"""A file is the same file however a plan spells its path."""

from __future__ import annotations

import pytest

from signoff.domain.globs import plain_path
from signoff.planfile.parse import parse
from signoff.planfile.verify import verify
from tests.planfile.verify.plans import World
from tests.planfile.writing import plan, step


def found_in(text: str, world: World | None = None) -> list[str]:
    return [finding.code for finding in verify(parse(text), world or World())]


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("a.txt", "a.txt"),
        ("./a.txt", "a.txt"),
        ("b/../a.txt", "a.txt"),
        ("b/c/../../a.txt", "a.txt"),
        ("a//b/./c", "a/b/c"),
        ("./src/**/*.py", "src/**/*.py"),
        ("./out/", "out/"),
        ("a..b/.hidden", "a..b/.hidden"),
        (".", ""),
        ("b/..", ""),
        ("../a", "../a"),
        ("b/../../a", "../a"),
        ("*/../a", "*/../a"),
        ("/a/../b", "/a/../b"),
        ("~/./a", "~/./a"),
    ],
)
def test_a_path_is_spelled_as_the_workspace_spells_it(written: str, path: str) -> None:
    assert plain_path(written) == path


def test_every_field_that_names_files_reads_them_alike() -> None:
    fields = (
        "**produces:** ./a.txt, b/../c.txt\n**protects:** ./tests/**\n**writes:** ./log\n"
        "**may_change:** x/../Makefile\n**subscriptions:** file:./d.txt, topic:./d\n"
    )
    text = "---\ntouches: [./src/**]\n---\n" + plan(step("1", extra=fields))
    read = parse(text).plan
    one = read.steps[0]
    assert one.contract is not None
    assert one.produces == ("a.txt", "c.txt")
    assert one.protects == ("tests/**",)
    assert one.contract.writes == ("log",)
    assert one.contract.may_change == ("Makefile",)
    assert [str(s) for s in one.subscriptions] == ["file:d.txt", "topic:./d"]
    assert read.touches == ("src/**",)


@pytest.mark.parametrize("produced", ["a.txt", "./a.txt", "b/../a.txt"])
@pytest.mark.parametrize("wanted", ["a.txt", "./a.txt", "b/../a.txt"])
def test_what_an_earlier_step_makes_is_found_under_any_spelling(produced: str, wanted: str) -> None:
    one = step("1", extra=f"**produces:** {produced}\n")
    two = step("2", extra=f"**subscriptions:** file:{wanted}\n")
    assert found_in(plan(one, two)) == found_in(plan(one, step("2")))


def test_a_path_that_leaves_the_workspace_in_the_end_is_still_an_error() -> None:
    text = plan(step("1", extra="**subscriptions:** file:b/../../a.txt\n"))
    assert "path-outside" in found_in(text)


def test_the_second_of_two_steps_with_one_number_does_not_need_itself() -> None:
    text = plan(step("1"), step("2"), step("2"))
    assert "duplicate-step-id" in found_in(text)
    assert "needs-cycle" not in found_in(text)
    assert "needs-cycle" in found_in(plan(step("1"), step("2", extra="**needs:** 2\n")))
