"""The board over many plans and one long run: looks, the time until a page is told, memory."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from floors import git
from lines import Line, Unit
from scene import IDLE_AGENT, Scene, holds_already, plan_text
from sizes import Sizes

from signoff.domain.ledger import Draft, Kind
from signoff.storage.home import open_database, sqlite_url
from signoff.storage.identity import plan_identity
from signoff.storage.ledger import Ledger

SOON_MS = 1_000.0
MEMORY_GOAL_MB = 150.0
KINDS_PER_STEP = 5
_JUDGED = {
    "phase": "before",
    "result": "broken",
    "reason": "expectation",
    "message": "exit code 1",
    "key": "",
    "snapshot": "s",
    "output_tail": "not found\n",
    "isolation": "none",
    "exit_code": 1,
    "duration_s": 0.1,
}


def board(folder: Path, sizes: Sizes) -> Iterator[Line]:
    """What a page waits for, and what the server takes."""
    plans, steps = sizes.many_plans, max(2, sizes.plan_steps // KINDS_PER_STEP)
    scene = Scene(folder, steps, holds_already, IDLE_AGENT)
    git(scene.workspace, "init", "--quiet")
    (scene.workspace / ".harness").mkdir()
    for number in range(plans):
        path = scene.workspace / ".harness" / f"PLAN-p{number}.md"
        path.write_text(plan_text(3, holds_already))
    approve = scene.argv("approve", "--yes", "--role", f"coder={IDLE_AGENT}")
    subprocess.run(approve, cwd=scene.workspace, env=scene.env, check=True, capture_output=True)
    ledger = Ledger(open_database(sqlite_url(scene.home / "ledger.sqlite3")))
    plan = plan_identity((scene.workspace / "PLAN.md").resolve()).id
    _work(ledger, plan, steps)
    argv = (sys.executable, "-m", "signoff", "board", "--json", "--listen", "127.0.0.1:0")
    server = subprocess.Popen(
        argv, cwd=scene.workspace, env=scene.env, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        asked = _Asked(json.loads(server.stdout.readline())["url"])
        yield Line(f"board, first look at {plans} plans", asked.ms("/plans"), Unit.MILLISECONDS)
        look, page = asked.ms("/plans"), asked.ms(f"/plan/{plan}")
        yield Line(f"board, look at {plans} plans", look, Unit.MILLISECONDS, goal=SOON_MS)
        entries = ledger.head(plan)[0]
        what = f"board, page of a run of {entries} entries"
        yield Line(what, page, Unit.MILLISECONDS, goal=SOON_MS)
        told = asked.told(ledger, plan)
        yield Line("board, from an append to a page", told, Unit.MILLISECONDS, goal=SOON_MS)
        status = Path(f"/proc/{server.pid}/status").read_text()
        taken = int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1000
        yield Line("board, memory", taken, Unit.MEGABYTES, goal=MEMORY_GOAL_MB)
    finally:
        server.terminate()
        server.communicate()
        ledger.database.close()


def _work(ledger: Ledger, plan: str, steps: int) -> None:
    """The entries of a run that is not over."""
    (approved,) = (e for e in ledger.entries(plan) if e.kind is Kind.PLAN_APPROVED)
    began = {**approved.data, "workspace": "", "host": "", "pid": 1}
    ledger.append(plan, [Draft(Kind.RUN_STARTED, began, "r")])
    for number in map(str, range(1, steps + 1)):
        red, ended = {**_JUDGED, "subject": number}, {"ending": "exited", "snapshot": "s"}
        green = {**red, "phase": "attempt", "result": "kept", "reason": "held"}
        drafts = [
            Draft(Kind.VERDICT, red, "r", number),
            Draft(Kind.ATTEMPT_STARTED, {"role": "coder"}, "r", number, 1),
            Draft(Kind.ATTEMPT_FINISHED, {**ended, "duration_s": 1.0}, "r", number, 1),
            Draft(Kind.VERDICT, green, "r", number, 1),
            Draft(Kind.STEP_DONE, {"key": "", "snapshot": "s", "carried": False}, "r", number),
        ]
        ledger.append(plan, drafts, durable=False)


class _Asked:
    """A browser's requests, after it was let in."""

    def __init__(self, url: str):
        place = urlsplit(url)
        self._port = place.port
        answer = self._ask(f"{place.path}?{place.query}", {})
        self._cookie = {"Cookie": str(answer.headers["set-cookie"]).partition(";")[0]}

    def _ask(self, path: str, headers: dict[str, str]) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        connection.request("GET", path, headers=headers)
        return connection.getresponse()

    def ms(self, path: str) -> float:
        began = time.perf_counter()
        answer = self._ask(path, self._cookie)
        answer.read()
        if answer.status != 200:
            raise SystemExit(f"the board answered {answer.status}")
        return (time.perf_counter() - began) * 1000

    def told(self, ledger: Ledger, plan: str) -> float:
        """From an append until the page that was told of it is here."""
        stream = self._ask("/events?since=0", self._cookie)
        self._next(stream)
        began = time.perf_counter()
        ledger.append(plan, [Draft(Kind.AUDITED, {"result": "kept"})])
        self._next(stream)
        self.ms(f"/plan/{plan}")
        return (time.perf_counter() - began) * 1000

    @staticmethod
    def _next(stream: http.client.HTTPResponse) -> None:
        while not stream.readline().startswith(b"data: "):
            pass
