"""`[notify]`: a person hears that a run needs them or is over, and no run waits for that."""

from __future__ import annotations

import hmac
import json
import threading
import time
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.cli.kit import Desk
from tests.cli.plans import step


class Hook:
    """A web hook that keeps what it is sent, and answers as it is told to."""

    def __init__(self) -> None:
        self.got: list[tuple[bytes, str | None]] = []
        self.status = 204
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.got.append((body, self.headers["X-Signoff-Signature"]))
                self.send_response(hook.status)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/"

    @property
    def told(self) -> list[dict[str, Any]]:
        return [json.loads(body) for body, _ in self.got]


@pytest.fixture
def hook() -> Iterator[Hook]:
    made = Hook()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_a_webhook_gets_what_happened_signed(desk: Desk, hook: Hook) -> None:
    desk.person(f'[notify]\nwebhook = "{hook.url}"\nsecret = "correct horse"\n')
    desk.agent("test $attempt = 1 || echo yes > it")
    desk.plan(step("Do it", "test -s it", on_fail="retry(0)"))
    desk.run("--yes").exits(6)
    (asked,) = hook.told
    assert (asked["event"], asked["step"], asked["schema_version"]) == ("needs-you", "1", 1)
    assert asked["plan"] == "PLAN" and "broken after 1 attempt" in asked["text"]
    desk.answer("retry")
    desk.run().exits(0)
    assert [one["event"] for one in hook.told] == ["needs-you", "done"]
    for body, signature in hook.got:
        right = hmac.new(b"correct horse", body, sha256).hexdigest()
        assert signature == f"sha256={right}"


def test_a_failed_run_and_a_budget_that_is_nearly_spent_are_told(desk: Desk, hook: Hook) -> None:
    desk.person(f'[notify]\nwebhook = "{hook.url}"\non = ["failed", "budget"]\n')
    desk.agent('echo "{\\"tokens\\": 90, \\"usd\\": 0.01}" > "$SIGNOFF_USAGE_FILE"')
    plan = step("Do it", "test -s it", on_fail="retry(0), then abort")
    desk.plan(plan, budget="max 100 tokens")
    desk.run("--yes").exits(1)
    assert [one["event"] for one in hook.told] == ["budget", "failed"]
    assert hook.told[0]["text"] == "90% of the budget is spent"


def test_a_command_gets_it_on_standard_input_and_the_desktop_as_words(desk: Desk) -> None:
    desk.tool("notify-send", f"printf '%s\\n' \"$@\" > {desk.folder}/shown")
    desk.tool("tell-me", f"cat > {desk.folder}/told")
    desk.person('[notify]\ndesktop = true\ncommand = "tell-me"\n')
    desk.agent("echo yes > it").plan(step("Do it", "test -s it"))
    desk.run("--yes").exits(0)
    assert json.loads((desk.folder / "told").read_text())["event"] == "done"
    assert "signoff: PLAN: done\nsigned off\n" in (desk.folder / "shown").read_text()


def test_a_way_that_does_not_work_is_tried_three_times_and_changes_nothing(
    desk: Desk, hook: Hook
) -> None:
    hook.status = 500
    desk.person(f'[notify]\nwebhook = "{hook.url}"\n')
    desk.agent("echo yes > it").plan(step("Do it", "test -s it"))
    desk.run("--yes").exits(0).hides("500")
    assert len(hook.got) == 3
    desk.signoff("notify", "--test").exits(1).shows("webhook: HTTP Error 500")
    assert len(hook.got) == 6


def test_a_way_that_hangs_holds_no_run_up(desk: Desk) -> None:
    desk.tool("tell-me", "sleep 1000")
    desk.person('[notify]\ncommand = "tell-me"\n')
    desk.agent("true").plan(step("Do it", "test -s it", on_fail="retry(0)"))
    began = time.monotonic()
    desk.run("--yes").exits(6)
    assert time.monotonic() - began < 100
    assert desk.processes() == []


def test_every_way_can_be_tried(desk: Desk, hook: Hook) -> None:
    desk.signoff("notify").fails(2, hint="signoff notify --test")
    desk.signoff("notify", "--test").fails(2, "names no way")
    desk.tool("notify-send", "exit 0")
    desk.person(f'[notify]\ndesktop = true\nwebhook = "{hook.url}"\n')
    desk.signoff("notify", "--test").exits(0).prints("desktop: sent\nwebhook: sent")
    assert hook.got[0][1] is None and hook.told[0]["text"] == "this is only a test"
    ways = desk.signoff("notify", "--test", "--json").exits(0).json["ways"]
    assert ways == [{"way": "desktop", "problem": None}, {"way": "webhook", "problem": None}]


@pytest.mark.parametrize(
    "table",
    ["", 'webhook = "ftp://x"', 'desktop = true\non = ["dinner"]', 'command = "a \'b"', "x = 1"],
)
def test_a_table_that_tells_nobody_is_refused(desk: Desk, table: str) -> None:
    desk.person(f"[notify]\n{table}\n")
    desk.signoff("inbox").fails(4, "notify")
    desk.person("").file("signoff.toml", "[notify]\ndesktop = true\n")
    desk.signoff("inbox").fails(4, "belongs in the user's file")
