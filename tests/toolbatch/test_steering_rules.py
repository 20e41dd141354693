"""Each steering rule speaks when it should, names the next action, and is silent otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from signoff.domain.definition import Round, RoundStatus
from signoff.toolbatch import steering
from signoff.toolbatch.calls import ANSWER, NextAction
from signoff.toolbatch.events import Steered
from signoff.toolbatch.view import BatchLimits, Counts, RepairTarget, Target, View
from tests.toolbatch.steering_kit import (
    GUIDE,
    artifacts,
    blocked,
    broken,
    call,
    duplicate,
    executed,
    focus,
    item,
    mismatch,
    view,
)

RULES = {rule.name: rule for rule in steering.STEERING}
FINISH = NextAction(ANSWER)


def spoken(rule: str, seen: View) -> Steered:
    """What the rule says, which must be what is chosen too: the tests' views are its own case."""
    said = RULES[rule].speak(seen)
    assert said is not None, f"{rule} is silent"
    assert said.rule == rule
    assert steering.choose(seen) == said
    return said


def silent(rule: str, seen: View) -> None:
    assert RULES[rule].speak(seen) is None


def test_a_look_at_what_did_not_change_leads_to_the_missing_file() -> None:
    seen = view(duplicate(call("read", "ref.md")), missing=GUIDE[2:], facts=("f1", "f2", "f3"))
    said = spoken("duplicate_observation", seen)
    assert said.next_action == NextAction("write", "docs/two.md")
    assert "`ref.md`" in said.text and "Known: f1; f2." in said.text and "f3" not in said.text
    silent("duplicate_observation", replace(seen, outcome=executed(seen.call)))


def test_a_repeated_look_at_what_is_built_leads_to_the_answer() -> None:
    assert (
        spoken("duplicate_observation", view(duplicate(call("read", GUIDE[1])))).next_action
        == FINISH
    )


@pytest.mark.parametrize(
    "outcome",
    [
        duplicate(call("write", GUIDE[1])),
        executed(call("edit", GUIDE[1], old="same", new="same"), ok=False),
        blocked(call("edit", GUIDE[1], old="same", new="same")),
    ],
    ids=["duplicate", "no-op edit", "no-op edit that was blocked"],
)
def test_a_change_that_changes_nothing_leads_on(outcome: object) -> None:
    seen = view(outcome, missing=GUIDE[3:])  # type: ignore[arg-type]
    said = spoken("duplicate_mutation", seen)
    assert said.next_action == NextAction("write", "docs/three.md")
    built = replace(seen, missing=(), next_target=None)
    assert spoken("duplicate_mutation", built).next_action == FINISH


def test_a_change_that_changed_something_is_not_called_a_duplicate() -> None:
    silent("duplicate_mutation", view(executed(call("write", GUIDE[1])), missing=GUIDE[2:]))


def test_an_edit_that_does_not_match_is_copied_exactly_and_then_becomes_a_write() -> None:
    seen = view(mismatch(GUIDE[1]), counts=Counts(failed_edits=1))
    said = spoken("edit_mismatch", seen)
    assert said.next_action == NextAction("edit", GUIDE[1])
    assert "exactly" in said.text
    again = replace(seen, counts=Counts(failed_edits=2))
    said = spoken("edit_mismatch", again)
    assert said.next_action == NextAction("write", GUIDE[1])
    assert "whole file" in said.text
    patient = replace(again, limits=BatchLimits(failed_edits=5))
    assert spoken("edit_mismatch", patient).next_action.tool == "edit"
    silent("edit_mismatch", view(executed(call("edit", GUIDE[1]), ok=False)))


def test_failed_edits_of_a_repair_target_count_as_well() -> None:
    target = RepairTarget(GUIDE[1], ("thin",), failed_edits=2)
    seen = view(
        mismatch(GUIDE[1]),
        rounds=(broken(),),
        repair=focus(GUIDE[1], targets=(target,)),
    )
    assert spoken("edit_mismatch", seen).next_action == NextAction("write", GUIDE[1])


@pytest.mark.parametrize("lacking", ["content", "path"])
def test_a_write_without_its_text_or_target_is_sent_again_whole(lacking: str) -> None:
    sent = call("write", "" if lacking == "path" else GUIDE[1], content=None)
    said = spoken("missing_payload", view(blocked(sent), missing=GUIDE[1:]))
    assert said.next_action == NextAction("write", GUIDE[1])
    assert f"`{lacking}`" in said.text and "`write(path, content)`" in said.text


def test_an_empty_text_is_a_text() -> None:
    silent("missing_payload", view(blocked(call("edit", GUIDE[1], new=""))))
    silent("missing_payload", view(blocked(call("write", GUIDE[1], content=""))))
    spoken("missing_payload", view(blocked(call("edit", GUIDE[1], old=""))))


def test_a_call_that_cannot_be_read_is_sent_in_the_right_shape() -> None:
    sent = replace(call("write", GUIDE[1]), malformed="not JSON")
    assert "cannot be read" in spoken("missing_payload", view(blocked(sent))).text


def test_a_rewrite_through_the_shell_goes_to_the_file_tool() -> None:
    sent = call("bash", command="sed -i s/a/b/ docs/one.md")
    outcome = replace(blocked(sent, NextAction("edit", GUIDE[1])), rule="shell_rewrite")
    assert spoken("shell_rewrite", view(outcome)).next_action == NextAction("edit", GUIDE[1])
    again = view(outcome, missing=GUIDE[2:], last_written=GUIDE[1])
    assert spoken("shell_rewrite", again).next_action == NextAction("edit", GUIDE[1])
    followed = replace(again, heard=frozenset({"shell_rewrite"}), changed_by="edit")
    assert spoken("shell_rewrite", followed).next_action == NextAction("write", GUIDE[2])
    silent("shell_rewrite", view(replace(outcome, rule="audit_loop")))
    silent("shell_rewrite", view(replace(outcome, next_action=NextAction("no_such_tool"))))


def test_after_an_item_the_next_item_is_named() -> None:
    first = item("write page one", GUIDE[1])
    second = item("write page two", GUIDE[2])
    seen = view(
        executed(call("write", GUIDE[1])), missing=GUIDE[2:], items=(second,), completed_now=first
    )
    said = spoken("next_item", seen)
    assert said.next_action == NextAction("write", GUIDE[2])
    assert "`write page one`" in said.text and "`write page two`" in said.text


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


def test_a_folder_with_nothing_in_it_is_no_progress() -> None:
    made = executed(call("bash", command="mkdir -p docs"))
    said = spoken("empty_directory", view(made, missing=GUIDE[1:], planned=GUIDE[1:]))
    assert said.next_action == NextAction("write", GUIDE[1])
    assert "`docs/`" in said.text
    silent("empty_directory", view(made, missing=GUIDE[2:]))
    tested = executed(call("bash", command="pytest -q"))
    silent("empty_directory", view(tested, missing=GUIDE[1:], planned=GUIDE[1:]))
    elsewhere = view(made, planned=("a.md",), missing=("a.md",))
    silent("empty_directory", elsewhere)


def test_turns_of_notes_only_end_with_the_work() -> None:
    seen = view(executed(call("scratchpad")), missing=GUIDE[1:])
    silent("bookkeeping", seen)
    said = spoken("bookkeeping", replace(seen, counts=Counts(bookkeeping_turns=1)))
    assert said.next_action == NextAction("write", GUIDE[1])
    patient = replace(seen, counts=Counts(bookkeeping_turns=1), limits=BatchLimits(bookkeeping=3))
    silent("bookkeeping", patient)


def test_a_list_that_is_up_to_date_does_no_work() -> None:
    seen = view(executed(call("todo")), missing=GUIDE[2:])
    assert spoken("todo_updated", seen).next_action == NextAction("write", GUIDE[2])
    built = view(executed(call("todo")))
    said = spoken("todo_updated", built)
    assert said.next_action == FINISH and "proves nothing" in said.text
    silent("todo_updated", view(executed(call("todo")), planned=()))
    silent("todo_updated", replace(seen, counts=Counts()))  # in a batch that did some work


def test_reading_what_was_just_written_leads_on() -> None:
    seen = view(executed(call("read", GUIDE[1])), missing=GUIDE[2:], wrote_whole=GUIDE[1])
    assert spoken("reread_written", seen).next_action == NextAction("write", GUIDE[2])
    silent("reread_written", replace(seen, wrote_whole="", last_written=GUIDE[1]))


def test_reference_material_is_read_no_more_when_it_is_late() -> None:
    reads = Counts(reference_reads=4)
    seen = view(executed(call("read", "ref/a.md")), missing=GUIDE[3:], counts=reads)
    assert spoken("late_drift", seen).next_action == NextAction("write", GUIDE[3])
    silent("late_drift", replace(seen, counts=Counts(reference_reads=3)))
    silent("late_drift", replace(seen, missing=artifacts(*GUIDE[1:])))
    silent("late_drift", replace(seen, limits=BatchLimits(late_reads=9)))
    silent("late_drift", view(executed(call("read", GUIDE[1])), missing=GUIDE[3:], counts=reads))


def test_look_after_look_ends_with_the_first_file() -> None:
    seen = view(executed(call("grep")), missing=GUIDE, counts=Counts(looks=8))
    assert spoken("long_look", seen).next_action == NextAction("write", GUIDE[0])
    look = item("study everything")
    assert spoken("long_look", replace(seen, next_item=look)).next_action.tool == "write"
    silent("long_look", replace(seen, counts=Counts(looks=7)))
    silent("long_look", view(executed(call("grep")), counts=Counts(looks=99)))


def test_a_tool_that_is_not_there_leads_to_one_that_is() -> None:
    seen = view(executed(call("create_file"), ok=False), missing=GUIDE[1:])
    assert spoken("unknown_tool", seen).next_action == NextAction("write", GUIDE[1])
    silent("unknown_tool", view(executed(call(ANSWER)), missing=GUIDE[1:]))


def test_an_audit_loop_ends_in_judging() -> None:
    seen = view(executed(call("grep", "docs")), counts=Counts(audits=2))
    assert spoken("audit_loop", seen).next_action == FINISH
    silent("audit_loop", replace(seen, counts=Counts(audits=1)))
    silent(
        "audit_loop",
        view(executed(call("grep", "docs")), missing=GUIDE[3:], counts=Counts(audits=9)),
    )


def test_a_call_outside_of_the_repair_leads_back_to_its_target() -> None:
    sent = blocked(call("write", "src/other.py"), rule="out_of_scope")
    seen = view(sent, rounds=(broken(),), repair=focus(GUIDE[1]))
    said = spoken("out_of_scope", seen)
    assert said.next_action == NextAction("edit", GUIDE[1])
    assert "Only a person can widen it" in said.text
    silent("out_of_scope", replace(seen, outcome=replace(sent, rule="broken_link")))


def test_a_repaired_target_leads_to_the_next_and_the_last_one_to_judging() -> None:
    one, two = focus(GUIDE[1], GUIDE[2]).targets
    half = focus(targets=(replace(one, visited=True), two), allowed=GUIDE, changed=True)
    seen = view(executed(call("edit", GUIDE[1])), rounds=(broken(),), repair=half)
    said = spoken("repair_updated", seen)
    assert said.next_action == NextAction("edit", GUIDE[2]) and "1 of 2 files" in said.text
    whole = replace(half, targets=(replace(one, visited=True), replace(two, visited=True)))
    assert spoken("repair_updated", replace(seen, repair=whole)).next_action == FINISH


def test_a_file_beyond_the_declared_set_is_declared_first_or_gives_way_to_the_nearest() -> None:
    sent = blocked(call("write", "docs/tow.md"), rule="expanding")
    seen = view(sent, missing=(GUIDE[3], GUIDE[2]))
    said = spoken("expanding", seen)
    assert said.next_action == NextAction("write", "docs/two.md")
    assert "declare it in `docs/index.md` first" in said.text
    silent("expanding", replace(seen, outcome=replace(sent, rule="broken_link")))
    unlike = view(blocked(call("write", "docs/appendix.md"), rule="expanding"), missing=GUIDE[2:])
    assert "nearest" not in spoken("expanding", unlike).text


def test_a_late_question_is_answered_by_judging() -> None:
    assert spoken("late_question", view(blocked(call("ask_user")))).next_action == FINISH
    silent("late_question", view(executed(call("ask_user")), missing=GUIDE[1:]))
    silent("late_question", view(executed(call("ask_user")), planned=()))


def test_a_change_after_a_kept_round_has_to_be_judged_again() -> None:
    stale = Round(1, RoundStatus.STALE, because="docs/one.md changed")
    again = Round(2, RoundStatus.PLANNED, supersedes=1)
    seen = view(executed(call("edit", GUIDE[1])), rounds=(stale, again))
    said = spoken("verification_stale", seen)
    assert said.next_action == FINISH
    assert "Round 1" in said.text and "docs/one.md changed" in said.text
    silent("verification_stale", view(executed(call("edit", GUIDE[1])), rounds=(again,)))


def test_a_broken_round_names_its_finding_and_the_file_to_change() -> None:
    seen = view(executed(call("read", GUIDE[1])), rounds=(broken(),), repair=focus(GUIDE[1]))
    said = spoken("verification_failed", seen)
    assert said.next_action == NextAction("edit", GUIDE[1])
    assert "docs/one.md:3: link to nowhere" in said.text and "of 3" in said.text
    silent("verification_failed", view(executed(call("read", GUIDE[1]))))


def test_a_repair_of_a_file_that_is_not_there_writes_it() -> None:
    absent = focus(targets=(RepairTarget(GUIDE[2], ("is missing",), absent=True),), allowed=GUIDE)
    seen = view(executed(call("todo")), rounds=(broken(),), repair=absent)
    assert spoken("verification_failed", seen).next_action == NextAction("write", GUIDE[2])


def test_a_repair_without_a_named_file_begins_where_work_was_done_if_that_is_one_place() -> None:
    seen = view(
        executed(call("read", GUIDE[1])),
        rounds=(broken(),),
        repair=focus(allowed=GUIDE),
        touched=(GUIDE[3],),
    )
    assert spoken("verification_failed", seen).next_action == NextAction("edit", GUIDE[3])
    several = replace(seen, definition=replace(seen.definition, touched=GUIDE))
    silent("verification_failed", several)  # no target is made up


def test_a_blocked_call_sent_again_gets_sterner_words_another_way_and_then_a_stop() -> None:
    seen = view(blocked(call("write", GUIDE[1])), missing=GUIDE[1:])
    silent("blocked_again", seen)
    sterner = spoken("blocked_again", replace(seen, counts=Counts(blocked_alike=1)))
    assert sterner.next_action == NextAction("write", GUIDE[1])
    another = spoken("blocked_again", replace(seen, counts=Counts(blocked_alike=2)))
    assert another.next_action == NextAction("write", GUIDE[2])
    last = replace(seen, counts=Counts(blocked_alike=3))
    stop = spoken("blocked_again", last)
    assert stop.next_action == FINISH and "openly" in stop.text
    assert len({sterner.text, another.text, stop.text}) == 3
    assert steering.must_stop(last)
    assert not steering.must_stop(replace(seen, counts=Counts(blocked_alike=2)))


def test_another_way_than_a_blocked_edit_is_the_whole_file() -> None:
    seen = view(
        blocked(call("edit", GUIDE[1])),
        rounds=(broken(),),
        repair=focus(GUIDE[1]),
        counts=Counts(blocked_alike=2),
    )
    assert spoken("blocked_again", seen).next_action == NextAction("write", GUIDE[1])


def test_an_open_item_without_a_file_is_done_when_the_model_says_so() -> None:
    noted = executed(call("todo"))
    look = item("look around")
    silent("todo_updated", view(noted, items=(look,)))
    ticking = spoken("todo_updated", view(noted, items=(look,), touched=GUIDE))
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
    assert spoken("todo_updated", other).next_action == NextAction("my_write", GUIDE[2])


def test_without_a_tool_that_writes_the_shell_is_named_and_without_it_nothing_is_said() -> None:
    seen = view(executed(call("todo")), missing=GUIDE[2:])
    shell = replace(seen, tools=frozenset({"todo", "bash"}))
    assert spoken("todo_updated", shell).next_action == NextAction("bash", GUIDE[2])
    nothing = replace(seen, tools=frozenset({"todo"}))
    silent("todo_updated", nothing)


def test_a_lasting_message_is_said_again_until_it_is_followed() -> None:
    asked = NextAction("write", GUIDE[1])
    seen = view(executed(call("read", "ref.md")), missing=GUIDE[1:], lasting=asked)
    said = spoken("standing", seen)
    assert said.next_action == asked and said.lasting
    silent("standing", replace(seen, lasting=None))
    silent("standing", view(executed(call("read", "ref.md")), missing=GUIDE[2:], lasting=asked))
