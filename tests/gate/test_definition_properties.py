"""Whatever happens in whatever order: done means proved, and the books say the same again."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from hypothesis import event, given, settings

from signoff.domain.definition import (
    DefinitionStatus,
    RoundStatus,
    Support,
)
from signoff.domain.digests import canonical_json
from signoff.gate.definition import (
    UNSTATED,
    Abandoned,
    ArtifactsSeen,
    Dropped,
    Fact,
    ItemsListed,
    RoundBegun,
    RoundDecided,
    RoundPlanned,
    Stated,
    Touched,
    apply,
    apply_all,
    from_data,
    to_data,
)
from signoff.gate.timeline import changed_rounds, notes
from tests.gate.facts_of_definitions import FACTS, HISTORIES


@given(HISTORIES)
@settings(max_examples=300)
def test_no_order_of_facts_is_done_without_a_kept_round_that_nothing_touched(
    history: list[Fact],
) -> None:
    definition = UNSTATED
    for fact in history:
        definition = apply(definition, fact)
        if definition.status is DefinitionStatus.DONE:
            event("done")
            last = definition.round
            assert last is not None and last.status is RoundStatus.KEPT
            assert not definition.pending and not definition.missing and not definition.undone
            assert {c.command for c in definition.checks} <= {
                s.command for s in definition.evidence
            }
        assert (definition.status is DefinitionStatus.DONE) == (not definition.undone)


@given(HISTORIES)
@settings(max_examples=300)
def test_done_is_what_the_facts_themselves_say_and_not_what_the_fold_remembers(
    history: list[Fact],
) -> None:
    """A second opinion from the raw facts, after each of them."""
    opinion, definition = _Opinion(), UNSTATED
    for fact in history:
        definition = apply(definition, fact)
        opinion.hear(fact)
        if definition.status is DefinitionStatus.DONE:
            assert opinion.is_done()
            event("done")


@dataclass
class _Opinion:
    """What somebody would say who only remembers the last facts of each kind."""

    verdict: RoundDecided | None = None
    running: bool = False
    changed: bool = False
    planned: set[str] = field(default_factory=set)
    there: set[str] = field(default_factory=set)
    of_items: set[str] = field(default_factory=set)

    def hear(self, fact: Fact) -> None:
        if isinstance(fact, RoundDecided) and self.running:
            self.verdict, self.running, self.changed = fact, False, False
        elif isinstance(fact, RoundBegun):
            self.running = True
        elif isinstance(fact, Touched | RoundPlanned | Abandoned):
            self.running, self.changed = False, True
        elif isinstance(fact, Dropped):
            # It may take the artifacts of an item with it; what is left has to be there.
            self.planned -= {fact.what, *self.of_items}
        elif isinstance(fact, Stated):
            self.planned |= {artifact.path for artifact in fact.artifacts}
            self.of_items |= {a.path for item in fact.items for a in item.artifacts}
        elif isinstance(fact, ItemsListed):
            self.of_items |= {a.path for item in fact.items for a in item.artifacts}
        elif isinstance(fact, ArtifactsSeen):
            self.there = {path.rstrip("/") for path in fact.existing}

    def is_done(self) -> bool:
        if self.verdict is None or self.verdict.status is not RoundStatus.KEPT or self.changed:
            return False
        said = {seen.status for seen in self.verdict.seen}
        return said <= {Support.SUPPORTS, Support.CONTEXT} and self.planned <= self.there


@given(HISTORIES)
def test_a_stored_fact_reads_back_as_itself(history: list[Fact]) -> None:
    for fact in history:
        stored = to_data(fact)
        assert from_data(stored) == fact
        assert from_data(json.loads(canonical_json(stored))) == fact


@given(HISTORIES)
def test_taken_up_at_any_point_it_goes_on_as_if_it_had_not_stopped(history: list[Fact]) -> None:
    whole = apply_all(UNSTATED, history)
    for point in range(len(history) + 1):
        stored = [canonical_json(to_data(f)) for f in history[:point]]
        resumed = apply_all(UNSTATED, (from_data(json.loads(text)) for text in stored))
        assert apply_all(resumed, history[point:]) == whole


@given(HISTORIES, FACTS)
def test_the_timeline_tells_of_every_round_and_never_fails(history: list[Fact], fact: Fact) -> None:
    before = apply_all(UNSTATED, history)
    after = apply(before, fact)
    told = notes(before, fact, after)
    assert [n.round for n in told if n.round] == list(changed_rounds(before, after))
    assert all(n.reason and n.text for n in told)
    if after.status is not before.status:
        assert any(n.reason == "status_changed" for n in told)


@given(HISTORIES)
def test_round_n_of_3_never_counts_beyond_three(history: list[Fact]) -> None:
    definition = UNSTATED
    for fact in history:
        definition = apply(definition, fact)
        assert all(1 <= r.counted <= 3 for r in definition.rounds)
        numbers = [r.number for r in definition.rounds]
        assert numbers == sorted(set(numbers))
        for one in definition.rounds:
            assert one.supersedes is None or one.supersedes == one.number - 1
