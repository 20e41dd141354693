"""The corpus of weak and good contracts: cheats keep the weak ones, and `verify` names them."""

from __future__ import annotations

from collections import Counter

import pytest
from truth.strength.case import BY_VERIFY, StrengthCase
from truth.strength.corpus import load
from truth.strength.playing import named_weak, play

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
