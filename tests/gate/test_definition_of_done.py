"""What makes a task done, what undoes that, and what a list of things to do cannot do."""

from __future__ import annotations

import pytest

from signoff.domain.definition import (
    MOST_ARTIFACTS,
    MOST_COMMANDS,
    MOST_ITEMS,
    MOST_ROUNDS,
    MOST_TOUCHED,
    Artifact,
    Check,
    DefinitionStatus,
    Item,
    RoundStatus,
    Seen,
    Support,
)
from signoff.gate.definition import (
    Abandoned,
    ArtifactsSeen,
    Fact,
    ItemCompleted,
    ItemsListed,
    RoundBegun,
    RoundDecided,
    RoundPlanned,
    Stated,
    Touched,
    apply,
    from_data,
)
from signoff.gate.rounds import shown
from tests.gate.facts_of_definitions import (
    PYTEST,
    SITE,
    TEST_IT,
    THERE,
    A,
    B,
    broken,
    fold,
    for_it,
    kept,
)

WROTE_A = (Touched(("a.txt",), "c1", "write"), ArtifactsSeen(("a.txt",)))
TICKED = ItemsListed((Item(TEST_IT.text, done=True),))
DONE = (Stated("make a.txt", (A,), (TEST_IT,)), *WROTE_A, TICKED, *kept(PYTEST))


def build(text: str, *artifacts: Artifact, done: bool = False) -> Item:
    return Item(text, artifacts, done)


def test_a_task_goes_from_draft_to_done_by_facts_alone() -> None:
    steps: tuple[tuple[Fact, DefinitionStatus], ...] = (
        (Stated("make a.txt", (A,), (TEST_IT,)), DefinitionStatus.DRAFT),
        (Touched(("a.txt",), "c1", "write"), DefinitionStatus.IN_PROGRESS),
        (RoundPlanned((PYTEST,), "write changed files"), DefinitionStatus.IN_PROGRESS),
        (ArtifactsSeen(("a.txt",)), DefinitionStatus.IN_PROGRESS),
        (TICKED, DefinitionStatus.VERIFYING),
        (RoundBegun(), DefinitionStatus.VERIFYING),
        (RoundDecided(RoundStatus.KEPT, for_it(PYTEST)), DefinitionStatus.DONE),
    )
    definition = fold()
    for fact, status in steps:
        definition = apply(definition, fact)
        assert definition.status is status
    assert definition.undone == () and definition.completed == TICKED.items


def test_a_change_after_a_kept_round_makes_it_stale_and_opens_one_that_names_it() -> None:
    definition = fold(*DONE, Touched(("b.txt",), "c2", "edit"))
    stale, new = definition.rounds
    assert (stale.status, stale.because) == (RoundStatus.STALE, "edit changed `b.txt`")
    assert (new.number, new.supersedes, new.status) == (2, 1, RoundStatus.PENDING)
    assert new.because == "round 1 is stale: edit changed `b.txt`"
    assert definition.evidence == () and definition.status is DefinitionStatus.VERIFYING


def test_a_change_while_it_is_being_judged_leaves_nothing_to_decide() -> None:
    begun = (Stated("t", (A,)), *WROTE_A, RoundPlanned((PYTEST,)), RoundBegun())
    late = fold(*begun, Touched(("a.txt",)), RoundDecided(RoundStatus.KEPT, for_it(PYTEST)))
    assert [r.status for r in late.rounds] == [RoundStatus.STALE, RoundStatus.PENDING]


def test_an_artifact_that_goes_after_the_round_undoes_it() -> None:
    definition = fold(*DONE, ArtifactsSeen(()))
    assert definition.status is not DefinitionStatus.DONE
    assert definition.rounds[0].because == "`a.txt` is gone"
    again = apply(definition, ArtifactsSeen(("a.txt",)))
    assert again.status is DefinitionStatus.VERIFYING


@pytest.mark.parametrize("status", [s for s in RoundStatus if s is not RoundStatus.KEPT], ids=str)
def test_only_a_kept_round_is_an_answer(status: RoundStatus) -> None:
    begun = (Stated("t"), Touched(("a.txt",)), RoundPlanned((PYTEST,)), RoundBegun())
    definition = fold(*begun, RoundDecided(status, for_it(PYTEST)))
    assert definition.status is not DefinitionStatus.DONE and definition.undone


def test_the_judges_word_does_not_outweigh_what_it_saw() -> None:
    begun = (Stated("t"), Touched(("a",)), RoundPlanned((PYTEST, THERE)), RoundBegun())
    against = Seen("judge", "a", Support.CONTRADICTS, PYTEST.command)
    for seen, status in (
        ((), RoundStatus.UNKNOWN),
        (for_it(PYTEST), RoundStatus.UNKNOWN),
        ((*for_it(PYTEST, THERE), Seen("judge", "b", Support.MISSING)), RoundStatus.UNKNOWN),
        ((*for_it(PYTEST, THERE), against), RoundStatus.BROKEN),
        (for_it(PYTEST, THERE), RoundStatus.KEPT),
    ):
        last = fold(*begun, RoundDecided(RoundStatus.KEPT, seen)).round
        assert last is not None and last.status is status


def test_a_round_without_a_check_is_unverifiable_and_never_done() -> None:
    definition = fold(Stated("t"), Touched(("a",)), *kept())
    assert definition.status is not DefinitionStatus.DONE
    assert "unverifiable" in definition.undone[-1]


def test_three_failed_rounds_end_it_until_a_person_asks_for_more() -> None:
    facts: list[Fact] = [Stated("make a.txt")]
    for n in (1, 2, 3):
        facts += [Touched((f"{n}",), tool="write"), *broken(PYTEST)]
        last = fold(*facts).round
        assert last is not None and shown(last) == f"round {n} of 3"
    ended = fold(*facts)
    assert ended.status is DefinitionStatus.FAILED and ended.failed_rounds == 3
    assert fold(*facts, Touched(("b",)), *kept(PYTEST)) == fold(*facts, Touched(("b",)))
    assert fold(*facts, Stated("make a.txt")).status is DefinitionStatus.FAILED
    again = fold(*facts, Stated("try it with b.txt"), Touched(("b",)), *kept(PYTEST))
    assert again.status is DefinitionStatus.DONE


def test_stale_rounds_do_not_use_up_the_budget() -> None:
    facts: list[Fact] = [Stated("t")]
    for n in range(5):
        facts += [Touched((str(n),)), *kept(PYTEST)]
    definition = fold(*facts)
    assert definition.round is not None and definition.round.number == 5
    assert shown(definition.round) == "round 1 of 3"
    assert definition.status is DefinitionStatus.DONE


def test_a_broken_round_is_fixed_by_a_change_and_a_new_round() -> None:
    facts = (Stated("t"), Touched(("a",)), *broken(PYTEST))
    assert fold(*facts).status is DefinitionStatus.FIXING
    changed = fold(*facts, Touched(("a",), tool="edit"))
    assert changed.round is not None and changed.round.supersedes == 1
    fixed = fold(*facts, Touched(("a",)), *kept(PYTEST))
    assert fixed.status is DefinitionStatus.DONE and fixed.failed_rounds == 1


def test_more_to_do_or_more_to_hold_is_not_done_by_what_was_judged_before() -> None:
    more = fold(*DONE, Stated("and make it blue"))
    assert more.status is not DefinitionStatus.DONE
    assert more.rounds[-1].status is RoundStatus.STALE
    stricter = fold(*DONE, Stated(checks=(Check("make check", "contract"),)))
    assert stricter.rounds[-1].checks[-1].command == "make check"
    assert stricter.status is not DefinitionStatus.DONE


def test_a_check_that_is_in_force_cannot_be_planned_away() -> None:
    contract = Check("make check", "contract")
    definition = fold(Stated("t", checks=(contract,)), Touched(("a",)), *kept(PYTEST))
    assert definition.status is not DefinitionStatus.DONE
    replanned = apply(definition, RoundPlanned((THERE,)))
    assert {c.command for c in replanned.checks} == {"make check", "pytest -q", THERE.command}


def test_a_task_that_was_given_up_is_failed_and_its_round_is_skipped() -> None:
    definition = fold(Stated("t"), Touched(("a",)), RoundPlanned((PYTEST,)), Abandoned("too hard"))
    assert definition.status is DefinitionStatus.FAILED
    assert definition.rounds[-1].status is RoundStatus.SKIPPED
    assert definition.undone[0] == "it was given up: too hard"
    assert fold(*DONE, Abandoned("")).status is DefinitionStatus.FAILED


def test_an_interrupted_round_is_judged_anew() -> None:
    begun = (Stated("t"), Touched(("a",)), RoundPlanned((PYTEST,)), RoundBegun())
    same = fold(*begun, RoundBegun(), RoundDecided(RoundStatus.KEPT, for_it(PYTEST)))
    assert same.status is DefinitionStatus.DONE and len(same.rounds) == 1
    planned = fold(*begun, *kept(PYTEST))
    assert [r.status for r in planned.rounds] == [RoundStatus.SKIPPED, RoundStatus.KEPT]


def test_a_stale_list_cannot_reopen_what_is_done() -> None:
    done = (Stated("t", items=(build("Create a.txt", A),)), *WROTE_A)
    assert not fold(*done).pending
    assert not fold(*done, ItemsListed((build("create  A.TXT."),))).pending


def test_an_item_that_a_list_leaves_out_stays_open_and_is_reported() -> None:
    stated = Stated("t", items=(build("Create a.txt", A), build("Fix the bug")))
    for listed in (ItemsListed(()), ItemsListed((build("Something else"),))):
        definition = fold(stated, listed)
        assert definition.omitted == ("Create a.txt", "Fix the bug")
        assert {"Create a.txt", "Fix the bug"} <= {i.text for i in definition.pending}
    assert fold(stated, ItemsListed(()), *WROTE_A).omitted == ("Fix the bug",)


def test_a_renamed_item_does_not_replace_the_one_it_was() -> None:
    definition = fold(
        Stated("t", items=(build("Fix the parser"),)),
        ItemsListed((build("Parser work", done=True),)),
    )
    assert [i.text for i in definition.pending] == ["Fix the parser"]


def test_claims_are_believed_only_as_far_as_facts_allow() -> None:
    stated = Stated("t", items=(build("Create all pages", A, B), build("Fix it")))
    claims = ItemsListed(tuple(build(i.text, *i.artifacts, done=True) for i in stated.items))
    assert [i.text for i in fold(stated, *WROTE_A, claims).completed] == ["Fix it"]
    whole = fold(stated, *WROTE_A, ArtifactsSeen(("a.txt", "b.txt")))
    assert [i.text for i in whole.completed] == ["Create all pages"]


def test_an_item_that_is_open_keeps_the_task_open_until_the_model_calls_it_done() -> None:
    opened = fold(Stated("t", (A,), (TEST_IT,)), *WROTE_A, *kept(PYTEST))
    assert opened.undone == ("open: `Run the tests`",)
    assert apply(opened, TICKED).status is DefinitionStatus.DONE


def test_words_that_were_heard_before_plan_nothing_more() -> None:
    """A session that is resumed reads its task again, and other files are there by then."""
    once = fold(Stated("remove b.txt, make a.txt", (A,)))
    assert apply(once, Stated("remove b.txt, make a.txt", (A, B))) == once


def test_a_call_never_completes_an_item_whose_file_is_not_there() -> None:
    stated = Stated("t", items=(build("Create b.txt", B),))
    assert fold(stated, *WROTE_A, ItemCompleted("Create b.txt")).completed == ()


def test_an_item_about_a_folder_is_done_by_a_file_in_it() -> None:
    stated = Stated("t", items=(build("Create site/", SITE),))
    assert not fold(stated, Touched(("site/x/y.html",)), ArtifactsSeen(("site/",))).pending
    assert fold(stated, Touched(("sites.html",)), ArtifactsSeen(("sites.html",))).pending


def test_what_is_more_than_the_limits_allow_is_counted_and_never_done() -> None:
    items = tuple(build(f"item {n}", done=True) for n in range(10_000))
    flooded = fold(*DONE, ItemsListed(items))
    assert len(flooded.items) == MOST_ITEMS and flooded.unlisted == 10_000 - MOST_ITEMS
    assert flooded.status is not DefinitionStatus.DONE
    many = tuple(Artifact(f"f{n}") for n in range(MOST_ARTIFACTS + 5))
    crowded = fold(Stated("t", many), ArtifactsSeen(tuple(a.path for a in many)), *kept(PYTEST))
    assert len(crowded.artifacts) == MOST_ARTIFACTS and crowded.overflow == 5
    assert crowded.status is not DefinitionStatus.DONE
    commands = tuple(Check(f"check {n}", "contract") for n in range(MOST_COMMANDS + 1))
    strict = fold(Stated("t", checks=commands), Touched(("a",)), *kept(*commands))
    assert strict.overflow == 1 and strict.status is not DefinitionStatus.DONE


def test_a_list_that_plans_more_than_fits_does_not_spoil_the_task_for_good() -> None:
    """What did not fit is reported until a list fits; what was planned before stays."""
    flood = ItemsListed(tuple(build(f"f{n}", Artifact(f"f{n}"), B) for n in range(500)))
    flooded = fold(Stated("t", (A,)), flood)
    assert len(flooded.artifacts) == MOST_ARTIFACTS and flooded.overflow == 0
    assert flooded.unlisted == 500 - len(flooded.items) and A in flooded.artifacts
    assert {a for i in flooded.items for a in i.artifacts} <= set(flooded.artifacts)
    assert apply(flooded, ItemsListed(())).unlisted == 0


def test_finished_items_make_room_for_new_ones() -> None:
    items = tuple(Item(f"look {n}", done=True) for n in range(MOST_ITEMS))
    full = fold(Stated("t"), ItemsListed(items), ItemsListed((build("Fix it"),)))
    assert full.unlisted == 0 and [i.text for i in full.pending] == ["Fix it"]


def test_what_is_remembered_is_bounded() -> None:
    facts: list[Fact] = [Stated("t")]
    for n in range(MOST_ROUNDS + 5):
        facts += [Touched(tuple(f"{n}/{m}" for m in range(60))), *kept(PYTEST)]
    definition = fold(*facts)
    assert len(definition.rounds) == MOST_ROUNDS and len(definition.touched) == MOST_TOUCHED
    assert definition.touched[-1] == f"{MOST_ROUNDS + 4}/59"
    assert definition.rounds[-1].number == MOST_ROUNDS + 5


@pytest.mark.parametrize(
    "data", [{}, {"fact": "unheard"}, {"fact": 3}, {"fact": "touched"}, {"fact": "stated", "x": 1}]
)
def test_a_fact_that_cannot_be_read_is_said_to_be_one(data: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="fact"):
        from_data(data)
