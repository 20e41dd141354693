"""Giving up what is planned: what may be dropped, and that dropping makes no task done."""

from __future__ import annotations

import pytest

from signoff.domain.definition import Artifact, DefinitionStatus, Item, ItemKind, RoundStatus
from signoff.gate.definition import (
    ArtifactsSeen,
    Dropped,
    ItemsListed,
    Stated,
    Touched,
    apply,
    from_data,
    to_data,
)
from signoff.gate.timeline import notes
from tests.gate.facts_of_definitions import PYTEST, TEST_IT, A, B, fold, kept

BOTH = ArtifactsSeen(("a.txt", "b.txt"))


def build(text: str, *artifacts: Artifact) -> Item:
    return Item(text, artifacts)


def test_a_planned_file_counts_as_soon_as_it_is_there() -> None:
    """Also when nobody saw who made it: ignored files are not watched."""
    assert fold(Stated("make it", (A,)), ArtifactsSeen(()), ArtifactsSeen(("a.txt",))).built
    assert fold(Stated("make it", (A,)), Touched(()), ArtifactsSeen(("a.txt",))).built


def test_what_a_plan_declares_counts_while_it_is_there() -> None:
    """Other sessions work on the same plan; its own gate judges what they left."""
    assert fold(Stated(artifacts=(A,), declared=True), ArtifactsSeen(("a.txt",))).built
    later = (Stated("t", (A,)), ArtifactsSeen(("a.txt",)), Stated(artifacts=(A,), declared=True))
    assert fold(*later).built


def test_a_dropped_artifact_is_not_missing_and_not_forgotten() -> None:
    opened = fold(Stated("make a.txt and b.txt", (A, B)))
    fact = Dropped("`b.txt`", "it is the name of a host", "c1")
    after = apply(opened, fact)
    assert after.artifacts == (A,)
    assert [(d.what, d.reason, d.paths, d.asked) for d in after.dropped] == [
        ("`b.txt`", "it is the name of a host", ("b.txt",), True)
    ]
    told = [n.text for n in notes(opened, fact, after) if n.reason == "dropped"]
    assert told == ["dropped: ``b.txt``, which the task asks for; it is the name of a host"]
    assert from_data(to_data(fact)) == fact


def test_a_dropped_item_takes_its_own_files_with_it_and_no_others() -> None:
    opened = fold(Stated("t"), ItemsListed((build("Make both", A, B), build("Make a", A))))
    after = apply(opened, Dropped("make  BOTH.", "one is enough"))
    assert [i.text for i in after.items] == ["Make a"] and after.artifacts == (A,)
    assert not after.dropped[0].asked


def test_a_dropped_file_leaves_no_item_that_waits_for_it() -> None:
    opened = fold(Stated("t"), ItemsListed((build("Make both", A, B), build("Make b", B))))
    after = apply(opened, Dropped("b.txt", "not needed"))
    assert [(i.text, i.artifacts) for i in after.items] == [("Make both", (A,))]


@pytest.mark.parametrize(
    ("what", "reason", "why"),
    [
        ("a.txt", "", "say why in `dropped`"),
        ("a.txt", "  \n", "say why in `dropped`"),
        ("b.txt", "too hard", "the plan declares it, and only a person changes that"),
        ("Do the plan's thing", "too hard", "the plan declares it, and only a person changes that"),
        ("c.txt", "not needed", "nothing that is planned and open is called that"),
        ("", "not needed", "nothing that is planned and open is called that"),
    ],
)
def test_what_may_not_be_dropped_stays_and_it_is_said_why(what: str, reason: str, why: str) -> None:
    plan = Stated(artifacts=(B,), items=(build("Do the plan's thing"),), declared=True)
    opened = fold(plan, Stated("make a.txt", (A,), (TEST_IT,)))
    fact = Dropped(what, reason)
    after = apply(opened, fact)
    assert (after.artifacts, after.items, after.dropped) == (opened.artifacts, opened.items, ())
    assert after.undropped == (f"{what}: {why}",)
    assert any(n.reason == "drop_refused" for n in notes(opened, fact, after))
    assert apply(after, ItemsListed(())).undropped == ()


def test_dropping_is_a_change_and_what_was_judged_before_is_judged_again() -> None:
    done = (Stated("t", (A,), (build("Fix it"),)), Touched(("a.txt",)), ArtifactsSeen(("a.txt",)))
    after = fold(*done, *kept(PYTEST), Dropped("Fix it", "it was right"))
    assert after.rounds[0].status is RoundStatus.STALE
    assert after.status is DefinitionStatus.VERIFYING


def test_a_task_that_was_only_dropped_is_not_done() -> None:
    lied = fold(Stated("make a.txt", (A,)), Dropped("a.txt", "no need"), *kept(PYTEST))
    assert lied.status is not DefinitionStatus.DONE
    assert "nothing was made" in " ".join(lied.undone)


def test_a_session_taken_up_again_does_not_plan_what_was_dropped() -> None:
    stated = Stated("make a.txt and b.txt", (A, B), (build("Fix it"),))
    dropped = fold(stated, Dropped("b.txt", "a host"), Dropped("Fix it", "it was right"))
    assert apply(dropped, stated) == dropped


def test_a_person_or_the_model_may_take_up_again_what_was_dropped() -> None:
    dropped = fold(Stated("make a.txt and b.txt", (A, B)), Dropped("b.txt", "not needed"))
    for fact in (
        Stated("I do want b.txt", (B,)),
        Stated(artifacts=(B,), declared=True),
        ItemsListed((build("Make b.txt", B),)),
    ):
        again = apply(dropped, fact)
        assert B in again.missing and again.dropped == ()


def test_a_list_sent_during_a_repair_changes_nothing_and_that_is_known() -> None:
    opened = fold(Stated("t", items=(build("Fix it"),)), Touched(("a.txt",)))
    sent = ItemsListed((Item("Fix it", done=True), build("More")), aside=True)
    after = apply(opened, sent)
    assert after.items == opened.items and after.aside == 2
    assert any(n.reason == "list_left_aside" for n in notes(opened, sent, after))
    assert apply(after, ItemsListed(sent.items)).aside == 0


def test_facts_that_were_stored_before_there_was_dropping_read_as_they_were_meant() -> None:
    item = {"text": "Fix it", "kind": "build", "artifacts": [], "done": False}
    artifact = {"path": "a.txt", "directory": False}
    stated = {"statement": "t", "artifacts": [artifact], "items": [item], "checks": []}
    assert from_data({"fact": "stated", **stated}) == Stated("t", (A,), (build("Fix it"),))
    assert from_data({"fact": "items_listed", "items": [item]}) == ItemsListed((build("Fix it"),))
    assert from_data({"fact": "artifacts_seen", "existing": ["a.txt"]}) == ArtifactsSeen(("a.txt",))


def test_facts_that_were_stored_when_words_were_read_are_read_still() -> None:
    item = {"text": "Run it", "kind": "verify", "artifacts": [], "done": False, "files": 3}
    read = from_data({"fact": "items_listed", "items": [item]})
    assert read == ItemsListed((Item("Run it", kind=ItemKind.VERIFY),))
    signs = [{"path": "a.txt", "sign": "1"}]
    seen = from_data({"fact": "artifacts_seen", "existing": ["a.txt"], "signs": signs})
    assert seen == ArtifactsSeen(("a.txt",))
