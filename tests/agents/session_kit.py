"""A session on a real workspace, ledger and judge, and an agent's hands to work in it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from signoff.agents.session import PlanSession, SessionReport
from signoff.domain.ledger import Choice, Entry, Kind
from signoff.domain.session import ToolCall
from signoff.settings.policy import SessionPolicy
from signoff.usecases.harness import Harness, find_plan
from signoff.usecases.inbox import answer
from signoff.usecases.open_session import open_session, sign
from signoff.usecases.questions import InboxItem, open_items
from signoff.wiring import open_harness
from tests.unconfined import UNCONFINED

BRIEF = "brief.txt"  # lies in every workspace


class Bureau:
    """One workspace with one session in it; every property opens what a new process would."""

    def __init__(self, base: Path, policy: SessionPolicy | None = None, *, config: str = ""):
        self.root = base / "work"
        self.root.mkdir(parents=True)
        (self.root / BRIEF).write_text("what is to be done\n")
        user_file = base / "user.toml"
        user_file.write_text(UNCONFINED + config)
        environ = {n: v for n, v in os.environ.items() if not n.startswith("SIGNOFF_")}
        environ |= {"SIGNOFF_HOME": str(base / "home"), "SIGNOFF_CONFIG": str(user_file)}
        self.environ = environ
        self.policy = policy
        self.session = open_session(self.harness, self.root, author="agent", policy=policy)
        self._calls = 0

    @property
    def harness(self) -> Harness:
        """Opened afresh."""
        return open_harness(self.environ, self.root, self.root, {})

    def again(self, **changes: Any) -> PlanSession:
        """The same session in another process."""
        given: dict[str, Any] = {"author": "agent", "session_id": self.session.id}
        given |= {"policy": self.policy} | changes
        return open_session(self.harness, self.root, **given)

    def write(self, name: str, text: str = "content\n") -> str:
        """Write a file as the write tool does; returns the id of the recorded call."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return self.call("write", writes={name: self.sha(name)}, touched=(name,))

    def read(self, name: str) -> str:
        """Read a file as the read tool does."""
        return self.call("read", reads={name: self.sha(name)})

    def call(self, name: str = "read", **facts: Any) -> str:
        """A call of some tool; it read the brief if nothing else is said of what it did."""
        self._calls += 1
        if not facts.keys() & {"reads", "writes", "content"}:
            facts["reads"] = {BRIEF: self.sha(BRIEF)}
        call = ToolCall(facts.pop("id", f"call-{self._calls}"), name, True)
        return self.session.record_call(replace(call, **facts))

    def sha(self, name: str) -> str:
        """The content of a file."""
        return hashlib.sha256((self.root / name).read_bytes()).hexdigest()

    def content(self) -> str:
        """The workspace's digest."""
        return self.session.content()

    def plan(self, *steps: Any, posts: tuple[Any, ...] = (), reason: str = "") -> str:
        """Write a plan."""
        return self.session.plan_create("Get it done", list(steps), list(posts), reason)

    def entries(self, kind: Kind) -> list[Entry]:
        """What the ledger holds of this session."""
        return [e for e in self.harness.ledger.entries(self.session.id) if e.kind is kind]

    def inbox(self) -> list[InboxItem]:
        """What waits for a person."""
        return list(open_items(self.harness.ledger))

    def answer(self, choice: Choice) -> None:
        """A person answers the oldest question."""
        harness = self.harness
        answer(harness, open_items(harness.ledger)[0].id, choice, "", interactive=True)

    def sign(self) -> SessionReport:
        """The agent is gone; the harness signs."""
        return sign(self.harness, self.session.id, by="test")


def person_plan(bureau: Bureau, text: str) -> PlanSession:
    """A session bound to a plan that a person wrote into the workspace."""
    path = bureau.root / "PLAN-work.md"
    path.write_text(text)
    place = find_plan(bureau.root, str(path), bureau.root)
    return open_session(bureau.harness, bureau.root, author="agent", bound=place)


def check(kind: str, **more: Any) -> dict[str, Any]:
    """A built-in check."""
    return {"kind": kind, **more}


def checked(description: str, kind: str, **more: Any) -> dict[str, Any]:
    """A step or postcondition with a built-in check."""
    return {"description": description, "check": check(kind, **more)}
