"""What a terminal shows while a run goes on is what the ledger says, from the first frame on."""

from __future__ import annotations

import re
import sys

from tests.cli.ended import Ended
from tests.cli.kit import Desk
from tests.cli.plans import step
from tests.cli.terminal import play_at_terminal

ROOMS = [step(f"Room {i}", f"test -e room-{i}", on_fail="escalate") for i in (1, 2, 3, 4)]
SPEND = 'echo \'{"tokens": 100, "usd": 0.25}\' > "$SIGNOFF_USAGE_FILE"; touch room-$SIGNOFF_STEP'
ITEM = "item=${SIGNOFF_STEP#*[}; item=${item%]}; "
# Two threads tell one reporter: entries are printed while frames are drawn.
CROWD = """
import signal, threading
from signoff.cli.live import LiveReporter
from signoff.domain.ledger import Entry, Kind
from signoff.orchestrator.events import Appended, Doing

signal.alarm(60)
reporter = LiveReporter()
entry = Entry("p", 1, "", Kind.STEP_FAILED, "r", "1", None, {"message": "no"}, "", "")
over = threading.Event()

def draw():
    while not over.is_set():
        reporter.tell(Doing("1", "judging"))

drawing = threading.Thread(target=draw)
drawing.start()
for _ in range(500):
    reporter.tell(Appended(entry))
over.set()
drawing.join()
reporter.close()
"""


def _shown(ran: Ended) -> str:
    """What the terminal was sent, line by line; a frame begins where the last one is wiped."""
    lines = re.sub(r"\x1b\[\d*[AK]", "\n", ran.stdout.replace("\r", ""))
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", lines)


def _heads(ran: Ended) -> list[str]:
    """The line above what is being done, frame by frame."""
    return re.findall(r"^(\d+/\d+ steps.*)$", _shown(ran), re.MULTILINE)


def test_a_run_that_is_resumed_begins_with_what_was_done_and_spent_before(desk: Desk) -> None:
    desk.agent(
        f'[ "$SIGNOFF_STEP" = 2 ] && [ ! -e "$life/../begun" ] && touch "$life/../begun" && '
        f"exec sleep 600; {SPEND}"
    )
    desk.plan(*ROOMS, budget="max 200000 tokens, $10.00")
    running = desk.start("run", "PLAN.md", "--yes")
    running.until((desk.agents / "begun").exists)
    running.process.kill()
    running.process.wait()
    heads = _heads(desk.at_terminal("run", "PLAN.md").exits(0))
    assert heads[0].startswith("1/4 steps  100 tokens of 200,000, $0.25 of $10.00, "), heads
    assert heads[-1].startswith("4/4 steps  400 tokens of 200,000, $1.00 of $10.00, "), heads
    # What the agent used that was killed with its driver is nobody's to know.
    spent = desk.status()["spent"]
    assert spent["tokens"] is None and spent["known"]["tokens"] == 400


def test_a_waived_step_is_counted_apart_and_never_as_done(desk: Desk) -> None:
    desk.agent('[ "$SIGNOFF_STEP" = 2 ] || touch room-$SIGNOFF_STEP').plan(*ROOMS[:3])
    desk.run("--yes").exits(6)
    desk.answer("waive", "--note", "no money")
    ran = desk.at_terminal("run", "PLAN.md").exits(0)
    heads = _heads(ran)
    assert heads[-1].startswith("2/3 steps, 1 waived  "), heads
    assert re.search(r"^- 2 Room 2", _shown(ran), re.MULTILINE)
    assert "✓ 2 Room 2" not in _shown(ran)


def test_every_item_of_a_list_is_a_step_of_its_own(desk: Desk) -> None:
    for name in "abc":
        desk.file(f"notes/{name}", "text")
    desk.agent(f'{ITEM} touch "room-$item"').plan(
        step("Paint {item}", "test -e room-{item}", for_each="ls notes"),
        step("Move in", "test -e room-2"),
    )
    ran = desk.at_terminal("run", "PLAN.md", "--yes").exits(0)
    counts = [tuple(map(int, head.split(" ")[0].split("/"))) for head in _heads(ran)]
    assert all(done <= steps for done, steps in counts), counts
    assert counts[0] == (0, 2) and counts[-1] == (4, 4)
    for row in ("1[a] Paint a", "1[b] Paint b", "1[c] Paint c", "2    Move in"):
        assert f"✓ {row}" in _shown(ran)


def test_the_name_of_an_item_is_text_for_the_terminal(desk: Desk) -> None:
    desk.file("names", "[/bold]\n[red]\nevil\x1b]0;owned\x07\n")
    desk.agent("touch painted")
    desk.plan(step("Paint {item}", "test -e painted", for_each="cat names"))
    ran = desk.at_terminal("run", "PLAN.md", "--yes").exits(0)
    assert "\x1b]0;" not in ran.stdout and "\x07" not in ran.stdout
    for row in ("1[[/bold]]", "1[[red]]", "1[evil\\x1b]0;owned\\x07]"):
        assert f" {row} " in _shown(ran)


def test_a_time_budget_is_shown_and_grows_while_an_agent_works(desk: Desk) -> None:
    desk.agent("sleep 1.5; touch room-1").plan(ROOMS[0], budget="20 minutes")
    ran = desk.at_terminal("run", "PLAN.md", "--yes").exits(0)
    heads = _heads(ran)
    assert all(head.endswith(" s of 20 min 0 s") for head in heads), heads
    at_work = _shown(ran).partition("attempt 1 · ended")[0]
    assert re.search(r"\$0\.00, 1\.\d s of 20 min 0 s", at_work)
    spent = float(re.findall(r"([\d.]+) s of 20 min", heads[-1])[0])
    assert abs(spent - desk.status()["spent"]["s"]) <= 0.1


def test_the_limit_that_is_shown_is_the_one_that_a_person_granted(desk: Desk) -> None:
    desk.agent(SPEND).plan(*ROOMS[:2], budget="max 150 tokens")
    assert " of 150, " in _heads(desk.at_terminal("run", "PLAN.md", "--yes").exits(6))[-1]
    desk.answer("retry")
    heads = _heads(desk.at_terminal("run", "PLAN.md").exits(0))
    assert heads[0].startswith("1/2 steps  100 tokens of 300, "), heads
    assert heads[-1].startswith("2/2 steps  200 tokens of 300, "), heads


def test_the_steps_are_those_that_were_approved_not_those_in_the_file_now(desk: Desk) -> None:
    desk.agent(SPEND).plan(*ROOMS[:2], budget="max 150 tokens")
    desk.run("--yes").exits(6)
    desk.answer("retry")
    desk.edit_plan("Room 2", "Castle")
    shown = _shown(desk.at_terminal("run", "PLAN.md").exits(6))
    assert "2 Room 2" in shown and "2 Castle" not in shown


def test_who_prints_a_line_and_who_draws_a_frame_never_wait_for_each_other(desk: Desk) -> None:
    command = [sys.executable, "-c", CROWD]
    shown, code = play_at_terminal(command, desk.workspace, desk.environment(), "")
    assert code == 0, f"ended with {code}: {shown[-500:]!r}"
