"""Whatever the state: at most one short message, its action exists, the same view says the same."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from signoff.domain.text import escape_line
from signoff.toolbatch import steering
from signoff.toolbatch.calls import ANSWER, STANDARD_SHAPES, ResultKind, Steered
from signoff.toolbatch.preflight import decide
from signoff.toolbatch.steering import MOST_CHARACTERS
from signoff.toolbatch.view import CallView
from tests.toolbatch.random_views import some_view
from tests.toolbatch.steering_kit import call

# A view is made from a seed: drawing each of its parts would take a hundred times as long.
views = st.integers(0, 2**48).map(lambda seed: some_view(Random(seed)))


@given(views)
@settings(max_examples=600)
def test_every_message_is_short_and_names_an_action_that_can_be_taken(seen: CallView) -> None:
    for rule in steering.STEERING:
        said = steering.speak(rule, seen)
        if said is None:
            continue
        assert said.rule == rule.__name__
        assert 0 < len(said.text) <= MOST_CHARACTERS
        assert said.text == escape_line(said.text), "no control or invisible characters"
        assert "Next: " in said.text
        assert said.next_action.tool in seen.tools | {ANSWER}


@given(st.lists(views, max_size=5))
@settings(max_examples=200)
def test_a_turn_has_at_most_one_message_and_the_same_turn_the_same(turn: list[CallView]) -> None:
    said = steering.most_specific(turn)
    assert said == steering.most_specific(turn)
    spoken = [s for s in map(steering.choose, turn) if s is not None]
    # What a later call of the turn made good needs no words.
    failed = [seen.result is not None and not seen.result.ok for seen in turn]
    assert said in spoken if said is not None else not spoken or any(failed)


@given(views)
@settings(max_examples=600)
def test_during_a_repair_nothing_outside_of_it_is_proposed(seen: CallView) -> None:
    said = steering.choose(seen)
    if said is None or seen.repair is None or said.next_action.tool == ANSWER:
        return
    assert seen.repair.allows(said.next_action.target), said


@given(views)
@settings(max_examples=1_500)
def test_steering_never_proposes_what_pre_flight_would_block(seen: CallView) -> None:
    said = steering.choose(seen)
    if said is None or said.next_action.tool == ANSWER:
        return
    found = decide(followed(seen, said))
    assert found is None or found[1].kind is ResultKind.DUPLICATE, (said, found)


def followed(seen: CallView, said: Steered) -> CallView:
    """The state before the call of an obedient model, which brings what the tool needs."""
    tool, target = said.next_action.tool, said.next_action.target
    path = f"{target}first.md" if target.endswith("/") else target
    text = {name: f"a new {name}" for name in STANDARD_SHAPES[tool].payload}
    made = call(tool, path or "docs/one.md", **text)
    there = path not in {artifact.path for artifact in seen.missing}
    return replace(seen, call=made, result=None, repeated="", exists=there)


def test_the_random_views_make_every_rule_speak() -> None:
    spoken = set[str]()
    for seed in range(12_000):
        seen = some_view(Random(seed))
        spoken |= {
            rule.__name__ for rule in steering.STEERING if steering.speak(rule, seen) is not None
        }
    assert spoken == {rule.__name__ for rule in steering.STEERING}
