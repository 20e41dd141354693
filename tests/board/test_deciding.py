"""With `--decide` the page approves and answers: what it showed, and nothing else."""

from __future__ import annotations

import pytest

from tests.board.kit import Served, hidden, serve
from tests.cli.kit import Desk
from tests.cli.plans import step
from tests.cli.project import Project


def asking(desk: Desk) -> Served:
    """A board over a run that asks what to do about a step."""
    desk.agent("true").plan(step("Do it", "test -s it", on_fail="retry(0)"))
    desk.run("--yes").exits(6)
    return serve(desk, "--decide", "--as", "Ada Lovelace").enter()


@pytest.mark.parametrize(
    ("choice", "kinds"),
    [
        ("retry", ["escalation.answered"]),
        ("revise", ["escalation.answered", "run.finished"]),
        ("abort", ["escalation.answered", "run.finished"]),
        ("waive", ["escalation.answered", "step.waived"]),
    ],
)
def test_an_answer_is_recorded_with_who_gave_it_and_where(
    desk: Desk, choice: str, kinds: list[str]
) -> None:
    served = asking(desk)
    before, (item,) = desk.log(), desk.inbox()
    head = hidden(served.get("/").text, "head")
    reply = served.post(f"/answer/{item['id']}", choice=choice, note="look\nhere", head=head)
    assert reply.status == 200 and f"Recorded: answered: {choice}" in reply.text
    new = desk.log()[len(before) :]
    assert [e["kind"] for e in new][: len(kinds)] == kinds
    said = new[0]["data"]
    assert (said["by"], said["door"], said["note"]) == ("Ada Lovelace", "board", "look\nhere")
    assert said["interactive"] is True
    desk.about_plan("log").shows(f"answered by Ada Lovelace by board: {choice}")


def test_a_waiver_says_why(desk: Desk) -> None:
    served = asking(desk)
    (item,), before = desk.inbox(), desk.log()
    head = hidden(served.get("/").text, "head")
    reply = served.post(f"/answer/{item['id']}", choice="waive", note=" ", head=head)
    assert reply.status == 400 and "a waiver says why" in reply.text
    assert desk.log() == before


def test_an_answer_to_a_page_that_is_out_of_date_changes_nothing(desk: Desk) -> None:
    served = asking(desk)
    (item,) = desk.inbox()
    head = hidden(served.get("/").text, "head")
    desk.edit_plan("Do it", "Do it well")
    before = desk.log()
    reply = served.post(f"/answer/{item['id']}", choice="abort", note="", head=head)
    assert reply.status == 409 and "The text of the plan is another one now" in reply.text
    head = hidden(served.get("/").text, "head")
    desk.signoff("audit", "PLAN.md")  # one more entry
    now = desk.log()
    assert len(now) > len(before)
    reply = served.post(f"/answer/{item['id']}", choice="abort", note="", head=head)
    assert reply.status == 409 and "Nothing was recorded" in reply.text
    assert "audited" in reply.text and desk.log() == now
    desk.signoff("answer", item["id"], "abort").exits(0)
    before = desk.log()
    reply = served.post(f"/answer/{item['id']}", choice="retry", note="", head=head)
    assert reply.status == 409 and desk.log() == before


def test_an_approval_shows_what_is_pinned_beside_what_was_and_pins_that(project: Project) -> None:
    project.agent("echo yes > it").named("house", step("Do it", "test -s it"))
    served = serve(project, "--decide", "--as", "Ada").enter()
    path = served.plan("house")
    shown = served.post(f"{path}/proposal")
    assert shown.status == 200 and "never approved" in shown.text
    assert "$ test -s it" in shown.text and "role coder: bash" in shown.text
    number = hidden(shown.text, "proposal")
    done = served.post(f"{path}/approve", proposal=number)
    assert done.status == 200 and "Recorded: approved" in done.text and "signoff run" in done.text
    (entry,) = project.log_of("house")
    assert (entry["kind"], entry["data"]["by"], entry["data"]["door"]) == (
        "plan.approved",
        "Ada",
        "board",
    )
    assert served.post(f"{path}/approve", proposal=number).status == 409  # shown once
    file = project.vault / "PLAN-house.md"
    file.write_text(file.read_text().replace("test -s it", "test -s that"))
    again = served.post(f"{path}/proposal").text
    assert '<td class="del">    $ test -s it</td><td class="add">    $ test -s that</td>' in again


def test_an_approval_of_what_changed_meanwhile_is_refused(project: Project) -> None:
    project.agent("echo yes > it").named("house", step("Do it", "test -s it"))
    served = serve(project, "--decide").enter()
    path = served.plan("house")
    edited = hidden(served.post(f"{path}/proposal").text, "proposal")
    file = project.vault / "PLAN-house.md"
    text = file.read_text()
    file.write_text(text.replace("test -s it", "true"))
    reply = served.post(f"{path}/approve", proposal=edited)
    assert reply.status == 409 and "The text of the plan is another one now" in reply.text
    file.write_text(text)
    moved = hidden(served.post(f"{path}/proposal").text, "proposal")
    project.signoff("reject", "house").exits(0)
    before = project.log_of("house")
    reply = served.post(f"{path}/approve", proposal=moved)
    assert reply.status == 409 and "plan rejected" in reply.text
    assert project.log_of("house") == before


def test_two_browsers_see_the_same_and_one_of_them_decides(desk: Desk) -> None:
    served = asking(desk)
    told = served.running.until(lambda: served.running.out.read_text().count("\n") == 2)
    import json

    second = Served(served.running, json.loads(told.out.read_text().splitlines()[1])["url"]).enter()
    assert second.cookie != served.cookie and second.key != served.key
    (item,) = desk.inbox()
    heads = [hidden(one.get("/").text, "head") for one in (served, second)]
    first = served.post(f"/answer/{item['id']}", choice="retry", note="", head=heads[0])
    late = second.post(f"/answer/{item['id']}", choice="abort", note="", head=heads[1])
    assert (first.status, late.status) == (200, 409)
    answered = [e for e in desk.log() if e["kind"] == "escalation.answered"]
    assert [e["data"]["choice"] for e in answered] == ["retry"]


def test_inside_an_attempt_nobody_gets_a_board_that_decides(desk: Desk) -> None:
    desk.variable(SIGNOFF_ATTEMPT="r:1:1")
    desk.signoff("board", "--decide", "--listen", "127.0.0.1:0").fails(2, "inside an attempt")
