"""The corpus of weak and good contracts: cheats keep the weak ones, and `verify` names them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from truth.strength.case import BY_VERIFY, StrengthCase
from truth.strength.corpus import load
from truth.strength.playing import Played, named_weak, play

from signoff.process.sandboxes import best_isolation

CASES = load()
EVERY = 9  # one case in so many is played here; `truth/strength_run.py` plays them all


def test_there_are_forty_of_each_in_three_languages() -> None:
    counts = Counter((case.weak, case.language) for case in CASES)
    assert sum(case.weak for case in CASES) >= 40
    assert sum(not case.weak for case in CASES) >= 40
    assert min(counts[weak, name] for weak in (True, False) for name in _LANGUAGES) >= 13


_LANGUAGES = ("python", "javascript", "shell")


@pytest.mark.parametrize("case", CASES[::EVERY], ids=lambda case: case.name)
def test_a_cheat_keeps_a_weak_contract_and_the_work_keeps_every_one(case: StrengthCase) -> None:
    played = play(case)
    assert played.kept_by_work
    assert played.kept_by_cheat == case.weak
    assert played.as_it_should_be
    assert case.weak or not played.kept_before


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_verify_names_what_can_be_told_beforehand_and_no_good_contract(case: StrengthCase) -> None:
    assert named_weak(case) == (case.kind in BY_VERIFY)


@pytest.mark.skipif(not best_isolation(None).has_own_view, reason="needs a sandbox with a view")
@pytest.mark.parametrize("name", ["thin largest shell", "suite largest shell"])
def test_a_measurement_tells_a_weak_contract_from_a_good_one(name: str) -> None:
    (case,) = (case for case in CASES if case.name == name)
    played = play(case, measure=True)
    assert played.strength is not None and played.as_it_should_be


def test_a_case_that_could_not_be_measured_is_not_as_it_should_be() -> None:
    for case in (CASES[0], CASES[-1]):
        known = {"kept_by_work": True, "kept_before": False, "kept_by_cheat": case.weak}
        played = Played(case, **known, named_weak=case.weak, asked=True)
        assert not played.as_it_should_be
        assert replace(played, strength=0.2 if case.weak else 0.9).as_it_should_be
