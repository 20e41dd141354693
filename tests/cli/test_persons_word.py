"""A postcondition without a contract is a person's to judge: by name, and never called kept."""

from __future__ import annotations

import getpass

from tests.cli.kit import Desk
from tests.cli.plans import step

WORK = "echo firm > ground"
GROUND = step("Lay the ground", "grep -qx firm ground")
POST = [("It looks like a house", None)]


def test_accept_signs_off_by_name_and_is_never_called_kept_or_waived(desk: Desk) -> None:
    desk.agent(WORK).plan(GROUND, post=POST)
    desk.run("--yes").exits(6).shows(
        "postcondition 1 is yours to judge: It looks like a house; accept says that it holds",
        "accept|retry|revise|abort|waive",
    ).hides("does not hold")
    desk.answer("accept", "--note", "I went and looked")
    me = getpass.getuser()
    ran = (
        desk.run("--strict")
        .exits(0)
        .shows(
            "gate open, as of",
            f"[x] postcondition:1  It looks like a house  ({me} says it holds; nothing was judged)",
        )
    )
    ran.hides("waived")
    (post,) = desk.status()["postconditions"]
    assert (post["state"], post["verdict"], post["accepted_by"]) == ("accepted", None, me)
    audit = desk.about_plan("audit").exits(0)
    audit.shows(f"accepted   postcondition:1  It looks like a house: {me} said so")
    assert "kept       postcondition" not in audit.stdout


def test_the_receipt_names_who_said_so_about_which_content(desk: Desk) -> None:
    desk.agent(WORK).plan(GROUND, post=POST)
    desk.run("--yes").exits(6)
    desk.answer("accept", "--note", "seen")
    desk.run().exits(0)
    desk.signoff("receipt", "export", "PLAN.md", "--output", "../receipt.json").exits(0)
    shown = desk.signoff("receipt", "verify", "../receipt.json", "--json").exits(0).json
    predicate = shown["statement"]["predicate"]
    (said,) = predicate["acceptances"]
    assert (said["subject"], said["by"], said["note"]) == (
        "postcondition:1",
        getpass.getuser(),
        "seen",
    )
    assert said["snapshot"] == desk.status()["signed_off_on"]
    (post,) = predicate["postconditions"]
    assert post["state"] == "accepted" and post["verdict"] is None
    desk.signoff("receipt", "verify", "../receipt.json").exits(0).shows("accepted")


def test_a_word_about_other_content_is_asked_for_again(desk: Desk) -> None:
    desk.agent(WORK).plan(GROUND, post=POST)
    desk.run("--yes").exits(6)
    desk.answer("accept")
    desk.file("graffiti", "zap\n")
    desk.run().exits(6).shows("postcondition 1 is yours to judge")
    desk.answer("accept")
    desk.run().exits(0)


def test_nobody_accepts_what_a_contract_can_judge(desk: Desk) -> None:
    desk.agent(WORK).plan(GROUND, post=[("There is a roof", "test -s roof")])
    desk.run("--yes").exits(6).shows("postcondition 1 does not hold: There is a roof")
    (item,) = desk.inbox()
    desk.signoff("answer", item["id"], "accept").fails(2, "`accept` is not an answer to")
    desk.answer("waive")
    desk.run().exits(0).shows("gate open with waivers")


def test_a_repository_that_forbids_waivers_refuses_what_only_words_could_decide(
    desk: Desk,
) -> None:
    desk.agent(WORK).plan(GROUND, post=POST)
    desk.file("signoff.toml", desk.read("signoff.toml") + "[policy]\nforbid_waivers = true\n")
    desk.about_plan("verify").exits(4).shows(
        "postcondition 1 has no contract, and `forbid_waivers` does not let a person decide it"
    )
    desk.run("--yes").fails(4, "postcondition 1 has no contract")
    assert desk.attempts() == []
