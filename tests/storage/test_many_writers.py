"""Many processes, killed at any moment: nothing acknowledged is lost, nothing accepted twice."""

from __future__ import annotations

import random

import pytest

from signoff.storage.engine import VERSION
from signoff.storage.home import open_database
from signoff.storage.ledger import Ledger
from tests.storage.kit import WAIT_S, note, outputs, worker, workers

APPEND_FIFTY = """
import sys
from signoff.domain.ledger import Draft, Kind
from signoff.storage.home import open_database
from signoff.storage.ledger import Ledger
ledger = Ledger(open_database(sys.argv[1]))
for i in range(50):
    draft = Draft(Kind.AUDITED, {"writer": sys.argv[2], "number": i})
    print(ledger.append("p", [draft])[0].seq)
"""

ACCEPT_TEN = """
import sys
from signoff.domain.ledger import Draft, Kind
from signoff.errors import AlreadyAccepted
from signoff.storage.home import open_database
from signoff.storage.ledger import Ledger
ledger = Ledger(open_database(sys.argv[1]))
for step in map(str, range(10)):
    try:
        ledger.append("p", [Draft(Kind.STEP_DONE, {"by": sys.argv[2]}, run="r", step=step)])
    except AlreadyAccepted:
        continue
    print(step)
"""

APPEND_FOR_EVER = """
import sys
from signoff.domain.ledger import Draft, Kind
from signoff.storage.home import open_database
from signoff.storage.ledger import Ledger
ledger = Ledger(open_database(sys.argv[1]))
while True:
    entries = ledger.append("p", [Draft(Kind.AUDITED, {"pad": "x" * 2000})] * 3)
    print(entries[-1].seq, entries[-1].hash, flush=True)
"""

OPEN = """
import sys
from signoff.storage.home import open_database
print(open_database(sys.argv[1]).schema_version())
"""


def test_eight_writers_lose_nothing(database_url: str) -> None:
    with workers(APPEND_FIFTY, 8, database_url) as processes:
        texts = outputs(processes)
    acknowledged = sorted(int(line) for text in texts for line in text.split())
    assert acknowledged == list(range(1, 401))
    database = open_database(database_url)
    ledger = Ledger(database)
    report = ledger.check_chain("p")
    assert (report.holds, report.entries) == (True, 400)
    written = {(e.data["writer"], e.data["number"]) for e in ledger.entries("p")}
    assert len(written) == 400
    database.close()


def test_of_eight_acceptances_of_a_step_exactly_one_succeeds(database_url: str) -> None:
    with workers(ACCEPT_TEN, 8, database_url) as processes:
        accepted = [step for text in outputs(processes) for step in text.split()]
    assert sorted(accepted) == [str(step) for step in range(10)]


def test_eight_first_openings_of_a_database_all_work(database_url: str) -> None:
    with workers(OPEN, 8, database_url) as processes:
        assert {text.strip() for text in outputs(processes)} == {str(VERSION)}


@pytest.mark.parametrize("round_", range(3))
def test_what_a_killed_writer_acknowledged_is_there(database_url: str, round_: int) -> None:
    random_ = random.Random(round_)
    acknowledged: list[str] = []
    for _ in range(2):
        process = worker(APPEND_FOR_EVER, database_url)
        assert process.stdout is not None
        try:
            lines = [process.stdout.readline() for _ in range(random_.randint(1, 15))]
        finally:
            process.kill()
        lines += process.communicate(timeout=WAIT_S)[0].splitlines()
        # The last line may be torn by the kill; every whole one was acknowledged.
        acknowledged += [line.strip() for line in lines if len(line.split()) == 2]
    database = open_database(database_url)
    ledger = Ledger(database)
    report = ledger.check_chain("p")
    assert report.holds and report.entries % 3 == 0
    stored = {f"{e.seq} {e.hash}" for e in ledger.entries("p")}
    assert {line for line in acknowledged if len(line.split()[1]) == 64} <= stored
    ledger.append("p", [note()])
    database.close()
