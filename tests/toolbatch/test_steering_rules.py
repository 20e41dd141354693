"""Each steering rule speaks when it should, names the next action, and is silent otherwise."""

from __future__ import annotations

from msgspec.structs import replace

from signoff.gate.task import Round, RoundStatus
from signoff.toolbatch import steering
from signoff.toolbatch.calls import ANSWER, NextAction, Steered
from signoff.toolbatch.view import CallView, Counts, Target
from tests.toolbatch.steering_kit import (
    GUIDE,
    blocked,
    broken,
    call,
    duplicate,
    executed,
    focus,
    item,
    view,
)

RULES = {rule.__name__: rule for rule in steering.STEERING}
FINISH = NextAction(ANSWER)


def spoken(rule: str, seen: CallView) -> Steered:
    """What the rule says, which must be what is chosen too: the tests' views are its own case."""
    said = steering.speak(RULES[rule], seen)
    assert said is not None, f"{rule} is silent"
    assert said.rule == rule
    assert steering.choose(seen) == said
    return said


def silent(rule: str, seen: CallView) -> None:
    assert steering.speak(RULES[rule], seen) is None


def test_after_a_change_the_missing_file_is_named() -> None:
    seen = view(executed(call("write", GUIDE[1])), missing=GUIDE[2:])
    said = spoken("missing_artifact", seen)
    assert said.next_action == NextAction("write", GUIDE[2])
    assert "2 of 4 planned are not made yet" in said.text
    deeper = replace(seen, next_target=Target("docs/b/one.md", parent_exists=False))
    said = spoken("missing_artifact", deeper)
    assert said.next_action == NextAction("write", "docs/b/one.md")
    assert "makes its folders" in said.text
    silent("missing_artifact", replace(seen, missing=(), next_target=None))


def test_an_answer_that_comes_too_early_is_sent_to_the_missing_file_or_the_open_item() -> None:
    early = view(executed(call(ANSWER)), missing=GUIDE[1:])
    assert spoken("missing_artifact", early).next_action == NextAction("write", GUIDE[1])
    open_item = view(executed(call(ANSWER)), items=(item("add a title"),), touched=GUIDE)
    assert spoken("next_item", open_item).next_action == NextAction("todo")


def test_turns_of_notes_only_end_with_the_work() -> None:
    seen = view(executed(call("scratchpad")), missing=GUIDE[1:])
    silent("bookkeeping", seen)
    said = spoken("bookkeeping", replace(seen, counts=Counts(bookkeeping_turns=1)))
    assert said.next_action == NextAction("write", GUIDE[1])


def test_a_list_that_is_up_to_date_does_no_work() -> None:
    seen = view(executed(call("todo")), missing=GUIDE[2:])
    assert spoken("bookkeeping", seen).next_action == NextAction("write", GUIDE[2])
    built = view(executed(call("todo")))
    said = spoken("bookkeeping", built)
    assert said.next_action == FINISH and "prove nothing" in said.text
    silent("bookkeeping", view(executed(call("todo")), planned=()))
    silent("bookkeeping", replace(seen, counts=Counts()))  # in a batch that did some work


def test_look_after_look_ends_with_the_first_file() -> None:
    seen = view(executed(call("grep")), missing=GUIDE, counts=Counts(looks=8))
    assert spoken("long_look", seen).next_action == NextAction("write", GUIDE[0])
    silent("long_look", replace(seen, counts=Counts(looks=7)))
    built = view(executed(call("grep")), counts=Counts(looks=99))
    assert spoken("long_look", built).next_action == FINISH


def test_a_repaired_target_leads_to_the_next_and_the_last_one_to_judging() -> None:
    one, two = focus(GUIDE[1], GUIDE[2]).targets
    half = focus(targets=(replace(one, visited=True), two), allowed=GUIDE, changed=True)
    seen = view(executed(call("edit", GUIDE[1])), round=broken(), repair=half)
    said = spoken("repair_updated", seen)
    assert said.next_action == NextAction("edit", GUIDE[2]) and "1 of 2 files" in said.text
    whole = replace(half, targets=(replace(one, visited=True), replace(two, visited=True)))
    assert spoken("repair_updated", replace(seen, repair=whole)).next_action == FINISH


def test_a_broken_round_names_its_finding_and_the_file_to_change() -> None:
    seen = view(executed(call("read", GUIDE[1])), round=broken(), repair=focus(GUIDE[1]))
    said = spoken("verification_failed", seen)
    assert said.next_action == NextAction("edit", GUIDE[1])
    assert "docs/one.md:3: link to nowhere" in said.text and "of 3" in said.text
    silent("verification_failed", view(executed(call("read", GUIDE[1]))))


def test_a_repair_without_a_named_file_begins_where_work_was_done_if_that_is_one_place() -> None:
    seen = view(
        executed(call("read", GUIDE[1])),
        round=broken(),
        repair=focus(allowed=GUIDE),
        touched=(GUIDE[3],),
    )
    assert spoken("verification_failed", seen).next_action == NextAction("edit", GUIDE[3])
    several = replace(seen, task=replace(seen.task, touched=GUIDE))
    silent("verification_failed", several)  # no target is made up


def test_an_open_item_without_a_file_is_done_when_the_model_says_so() -> None:
    noted = executed(call("todo"))
    look = item("look around")
    silent("bookkeeping", view(noted, items=(look,)))
    ticking = spoken("bookkeeping", view(noted, items=(look,), touched=GUIDE))
    assert ticking.next_action == NextAction("todo") and "mark it as done" in ticking.text


def test_after_the_last_planned_file_judging_is_next() -> None:
    seen = view(executed(call("write", GUIDE[3])), touched=GUIDE)
    assert spoken("everything_built", seen).next_action == FINISH
    silent("everything_built", view(executed(call("write", GUIDE[3])), planned=(), touched=GUIDE))
    silent("everything_built", view(executed(call("read", GUIDE[3])), touched=GUIDE))
    silent("everything_built", view(executed(call("bash"))))


def test_tools_of_another_name_are_found_by_their_shape() -> None:
    seen = view(executed(call("todo")), missing=GUIDE[2:])
    shapes = {f"my_{name}": shape for name, shape in seen.shapes.items()}
    sent = replace(seen.call, tool="my_todo")
    other = replace(seen, call=sent, shapes=shapes, tools=frozenset(shapes))
    assert spoken("bookkeeping", other).next_action == NextAction("my_write", GUIDE[2])


def test_without_a_tool_that_writes_the_shell_is_named_and_without_it_nothing_is_said() -> None:
    seen = view(executed(call("todo")), missing=GUIDE[2:])
    shell = replace(seen, tools=frozenset({"todo", "bash"}))
    assert spoken("bookkeeping", shell).next_action == NextAction("bash", GUIDE[2])
    nothing = replace(seen, tools=frozenset({"todo"}))
    silent("bookkeeping", nothing)


def test_an_item_that_was_completed_leads_to_the_next_one() -> None:
    one, two = item("tidy up"), item("update the guide")
    seen = view(
        executed(call("edit", GUIDE[1])), items=(two,), completed_now=one, touched=(GUIDE[1],)
    )
    said = spoken("next_item", seen)
    assert said.next_action == NextAction("todo")
    assert "`tidy up`" in said.text and "`update the guide`" in said.text


def test_a_change_after_a_kept_round_has_to_be_judged_again() -> None:
    stale = Round(RoundStatus.STALE, changed=True)
    seen = view(executed(call("edit", GUIDE[1])), round=stale)
    seen = replace(seen, task=replace(seen.task, touched=GUIDE))
    assert spoken("everything_built", seen).next_action == FINISH


def test_a_look_at_a_file_whose_edit_did_not_fit_leads_back_to_that_edit() -> None:
    seen = view(executed(call("read", GUIDE[1])), missing=GUIDE[2:], failed_edit=GUIDE[1])
    assert spoken("edit_looked_at", seen).next_action == NextAction("edit", GUIDE[1])
    often = replace(seen, counts=Counts(failed_edits=2))
    assert spoken("edit_looked_at", often).next_action == NextAction("write", GUIDE[1])
    silent("edit_looked_at", replace(seen, failed_edit=GUIDE[2]))


def test_of_a_planned_folder_a_file_in_it_is_named() -> None:
    target = Target("new/ch/01.md", "new/ch/")
    seen = view(
        executed(call("todo")), planned=("new/ch/",), missing=("new/ch/",), next_target=target
    )
    said = spoken("bookkeeping", seen)
    assert said.next_action == NextAction("write", "new/ch/01.md")
    assert "or another file in `new/ch/`" in said.text


def test_what_a_result_said_already_is_not_said_again() -> None:
    instead = NextAction("write", GUIDE[2])
    for outcome in (
        blocked(call("bash"), instead),
        replace(duplicate(call("read", GUIDE[1])), next_action=instead),
    ):
        assert steering.choose(view(outcome, missing=GUIDE[2:])) is None
