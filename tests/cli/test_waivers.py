"""A person may go on without a step: recorded, shown everywhere, never called kept."""

from __future__ import annotations

from tests.cli.kit import Desk
from tests.cli.plans import step

WORK = '[ "$SIGNOFF_STEP" = 1 ] && echo firm > ground'
GROUND = step("Lay the ground", "grep -qx firm ground")
ROOF = step("Put the roof on", "test -s roof", on_fail="escalate")


def test_a_waiver_is_shown_everywhere_and_is_never_called_kept(desk: Desk) -> None:
    desk.agent(WORK).plan(GROUND, ROOF)
    desk.run("--yes").exits(6)
    desk.answer("waive", "--note", "summer house")
    desk.run().exits(0).prints(
        """
        Build a house  [done]
        run RUN, gate open with waivers, as of content DIGEST, isolation none
          [x] 1  Lay the ground  (1 attempt, kept)
          [-] 2  Put the roof on  (1 attempt, broken, waived)
        spent: tokens and dollars unknown (no usage reported), SECONDS of work
        signed off at TIME on content DIGEST
        """
    )
    status = desk.status()
    assert status["waived"] == ["2"] and status["gate"] == "open with waivers"
    assert status["steps"][1]["state"] == "waived" and status["steps"][1]["verdict"] == "broken"
    assert "### 2. ⛔ Put the roof on" in desk.read("PLAN.md")
    desk.about_plan("log").shows("step 2 · waived by", ": summer house")
    audit = desk.about_plan("audit").exits(0)
    audit.shows("waived     2  Put the roof on: ", " went on without it: summer house")
    assert "kept       2" not in audit.stdout
    strict = desk.about_plan("audit", "--strict").exits(1)
    strict.shows("audit: kept, except what was waived: 2; not kept for --strict")
    for verb in ("status", "run"):
        desk.about_plan(verb, "--strict").exits(1).shows("not done for --strict: 2 waived")
        desk.about_plan(verb).exits(0).hides("--strict")


def test_a_plan_in_which_everything_was_waived_is_never_done(desk: Desk) -> None:
    desk.agent("true").plan(ROOF)
    desk.run("--yes").exits(6)
    desk.answer("waive")
    ran = desk.run().exits(1).shows("Build a house  [failed]", "gate shut")
    ran.shows("every step was waived, so nothing was proved")
    assert desk.status()["signed_off_at"] is None
    desk.about_plan("audit").exits(1).shows("audit: not signed off")


def test_a_repository_can_forbid_waivers(desk: Desk) -> None:
    desk.agent(WORK).plan(GROUND, ROOF)
    desk.file("signoff.toml", desk.read("signoff.toml") + "[policy]\nforbid_waivers = true\n")
    desk.run("--yes").exits(6)
    (item,) = desk.inbox()
    assert "waive" not in item["choices"]
    desk.signoff("answer", item["id"], "waive").fails(2, "`waive` is not an answer to")
    assert desk.run().exits(6) and desk.status()["waived"] == []


def test_a_person_does_a_step_and_it_is_judged_all_the_same(desk: Desk) -> None:
    desk.plan(step("Sign", "grep -q ^signed letter", target="human", on_fail="escalate"))
    desk.run("--yes").exits(6).shows(
        "step 1 (Sign) is yours to do; answer retry when it can be judged", "Sign."
    )
    desk.answer("retry", "--note", "signed, believe me")
    desk.run().exits(6).shows("step 1 (Sign) is broken after 1 attempt")
    desk.file("letter", "signed: me\n")
    desk.answer("retry")
    desk.run().exits(0).shows("[x] 1  Sign")
