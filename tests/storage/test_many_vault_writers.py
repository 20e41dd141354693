"""Eight processes on one plan and one progress file, killed at any moment: nothing lost or torn."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

from signoff.storage.vault import Vault
from tests.storage.kit import WAIT_S, outputs, worker, workers

COUNT, EACH = 8, 50
SWAP_FIFTY = """
import sys
from signoff.errors import PlanConflict
from signoff.storage.vault import Vault
from pathlib import Path
vault = Vault(sys.argv[1])
for i in range(50):
    while True:
        text, digest = vault.read_plan("a")
        try:
            vault.swap_plan("a", expected=digest, text=text + f"{sys.argv[2]}-{i}\\n")
        except PlanConflict as conflict:
            Path(conflict.facts["kept"]).unlink(missing_ok=True)
            continue
        break
    print(f"{sys.argv[2]}-{i}", flush=True)
"""
APPEND_FIFTY = """
import sys
from signoff.storage.vault import Vault
vault = Vault(sys.argv[1])
for i in range(50):
    vault.append_progress("a", f"{sys.argv[2]}-{i} " + "x" * 300)
    print(f"{sys.argv[2]}-{i}", flush=True)
"""
CREATE = """
import sys
from signoff.errors import PlanConflict
from signoff.storage.vault import Vault
try:
    Vault(sys.argv[1]).swap_plan("a", expected=None, text=sys.argv[2])
    print("made")
except PlanConflict:
    print("refused")
"""


def test_eight_writers_swap_one_plan_and_lose_no_update(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    vault.swap_plan("a", expected=None, text="# A\n")
    with workers(SWAP_FIFTY, COUNT, tmp_path) as processes:
        outputs(processes)
    lines = vault.read_plan("a").text.splitlines()[1:]
    assert sorted(lines) == sorted(f"{w}-{i}" for w in range(COUNT) for i in range(EACH))


def test_eight_writers_append_and_no_line_is_lost_or_torn(tmp_path: Path) -> None:
    with workers(APPEND_FIFTY, COUNT, tmp_path) as processes:
        outputs(processes)
    lines = Vault(tmp_path).progress_path("a").read_text().splitlines()
    tail = "x" * 300
    assert sorted(lines) == sorted(f"{w}-{i} {tail}" for w in range(COUNT) for i in range(EACH))


def test_only_one_of_eight_creates_a_plan(tmp_path: Path) -> None:
    with workers(CREATE, COUNT, tmp_path) as processes:
        answers = [text.strip() for text in outputs(processes)]
    assert sorted(answers) == ["made", *["refused"] * (COUNT - 1)]


def test_killed_writers_of_a_plan_leave_it_whole_and_every_acknowledged_update_in_it(
    tmp_path: Path,
) -> None:
    vault = Vault(tmp_path)
    vault.swap_plan("a", expected=None, text="# A\n")
    acknowledged = _play_and_kill(SWAP_FIFTY, tmp_path)
    lines = vault.read_plan("a").text.split("\n")
    assert lines[0] == "# A" and lines[-1] == ""
    assert set(acknowledged) <= set(lines[1:-1])
    assert len(set(lines[1:-1])) == len(lines[1:-1]), "no update came twice"
    assert all(line.count("-") == 1 for line in lines[1:-1]), "and none is torn"


def test_killed_writers_of_progress_leave_whole_lines(tmp_path: Path) -> None:
    acknowledged = _play_and_kill(APPEND_FIFTY, tmp_path)
    lines = Vault(tmp_path).progress_path("a").read_text().split("\n")
    assert lines[-1] == "" and all(line.endswith(" " + "x" * 300) for line in lines[:-1])
    assert set(acknowledged) <= {line.split(" ")[0] for line in lines[:-1]}


def _play_and_kill(code: str, folder: Path) -> list[str]:
    """Eight writers; half of them die at random moments. What was acknowledged before."""
    dice = random.Random(4)
    started = [worker(code, folder, number) for number in range(COUNT)]
    try:
        for process in started[: COUNT // 2]:
            assert process.stdout is not None
            process.stdout.readline()  # it is writing by now
            time.sleep(dice.random() * 0.05)
            process.send_signal(signal.SIGKILL)
        texts = [process.communicate(timeout=WAIT_S)[0] for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait(timeout=WAIT_S)
    # A killed process may have been cut off within a line of its own output.
    return [line for text in texts for line in text.split("\n")[:-1] if line]
