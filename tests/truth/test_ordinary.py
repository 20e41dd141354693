"""Ordinary projects with tools that are always there are signed off, whatever isolates them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from truth.case import Accepted, Case
from truth.corpus import Corpus, Filed, load
from truth.honest.ordinary import everywhere, project
from truth.modes import modes
from truth.report import Report, play

from signoff.domain.verdict import Isolation

ORDINARY = [filed for filed in load() if filed.group == "ordinary"]
WRITES = project(
    "writes", {}, "date +%N > stamp && grep -q works product.txt", "echo works > product.txt"
)


@pytest.fixture(scope="session")
def working() -> frozenset[Isolation]:
    """What isolates on this machine."""
    return frozenset(modes("all"))


@pytest.mark.parametrize("isolation", Isolation)
@pytest.mark.parametrize("filed", ORDINARY, ids=lambda filed: filed.case.name.partition(": ")[2])
def test_an_ordinary_project_is_signed_off(
    filed: Filed, isolation: Isolation, working: frozenset[Isolation]
) -> None:
    missing = "" if isolation in working else f"{isolation} does not work here"
    if missing or (missing := filed.left_out(isolation)):
        pytest.skip(f"{filed.case.name}: {missing}")
    report = play(filed, isolation)
    assert report.complaints == (), "\n".join([*report.complaints, *report.ledger])


def _played(case: Case) -> Report:
    return play(Filed(Corpus.HONEST, "test", case), Isolation.NONE)


def test_the_line_that_a_case_needs_must_be_the_one_that_its_refusal_gives() -> None:
    right = replace(WRITES, lines=everywhere("**writes:** stamp"))
    assert _played(right).complaints == ()
    other = replace(WRITES, lines=everywhere("**writes:** stamp*"))
    (told,) = _played(other).complaints
    assert told.startswith("expected `**writes:** stamp*` in the refusal, it said: ")
    assert "`**writes:** stamp`" in told


def test_a_line_that_nobody_needs_is_told() -> None:
    (told,) = _played(Case("plain", Accepted(), lines=everywhere("**may_shrink:** yes"))).complaints
    assert told == "accepted without `**may_shrink:** yes`"


def test_a_package_that_is_not_installed_is_named() -> None:
    filed = Filed(Corpus.HONEST, "test", Case("x", Accepted(), packages=("no-such-package",)))
    assert filed.left_out(Isolation.NONE) == "needs no-such-package (make truth-tools)"
