"""A workspace, a ledger and a judge, all real, in one temporary folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import to_builtins

from signoff.domain.ledger import Draft, Entry, Kind
from signoff.domain.plan import Contract, Expectation, ExpectationKind
from signoff.domain.verdict import Phase, Verdict
from signoff.process.environment import safe_search_path
from signoff.storage.home import open_database, sqlite_url
from signoff.storage.ledger import Ledger
from signoff.verification.check_runner import CheckRunner
from signoff.verification.evidence import Case
from signoff.verification.heldout import HeldOutChecks
from signoff.verification.judge import Judge
from signoff.verification.obstacles import Obstacles
from signoff.verification.pins import Pins, fingerprint
from signoff.verification.protection import Guard
from signoff.verification.rooms import Rooms
from signoff.workspace.ignore import IgnoreFile, IgnoreRules
from signoff.workspace.workspace import Workspace

RUN = "run-1"
PLAN_ID = "plan-1"


class Courtroom:
    """Judges contracts on a folder of its own; everything a verdict rests on can be varied."""

    def __init__(self, base: Path, ignored: str = ""):
        self.root = base / "work"
        self.root.mkdir(parents=True)
        rules = IgnoreRules((IgnoreFile("", ignored),)) if ignored else None
        self.workspace = Workspace(self.root, base / "store", rules)
        self.ledger = Ledger(open_database(sqlite_url(base / "ledger.sqlite3")))
        self.environ: dict[str, str] = dict(os.environ)
        self.search_path = safe_search_path(os.environ["PATH"], self.root)
        self.plan_digest = "plan as approved"
        self.cancelled: Callable[[], bool] | None = None
        self.printed = b""
        self.heldout = base / "heldout"
        self.judgings = 1
        self.approved_heldout: dict[str, str] = {}
        self.approved = ""  # the content that was approved, if any is known

    @property
    def judge_itself(self) -> Judge:
        """The judge under test."""
        pins = self._pins()
        return Judge(
            self.workspace,
            self.root,
            pins,
            self,
            self.runner,
            Rooms(self.root, why_not="none here"),
            Obstacles(pins, self.root, self.runner.enclosure, HeldOutChecks(self.heldout)),
            judgings=self.judgings,
        )

    @property
    def runner(self) -> CheckRunner:
        """Where its contracts run."""
        return CheckRunner(self.search_path, self.environ, self.cancelled, self._hear)

    def judge(
        self,
        contract: Contract | str,
        phase: Phase = Phase.ATTEMPT,
        guard: Guard | None = None,
        run: str | None = RUN,
    ) -> Verdict:
        """Judge a contract now."""
        judged = Contract(contract) if isinstance(contract, str) else contract
        return self.judge_itself.judge(Case("1", judged, phase, guard or Guard(), run))

    def find_verdict(self, key: str) -> Entry | None:
        """The newest verdict with this key, as a drive's own fold finds it."""
        found = [e for e in self.ledger.entries(PLAN_ID) if e.data.get("key") == key]
        return found[-1] if found else None

    def verdicts_on(self, subject: str, snapshot: str) -> list[Entry]:
        """The verdicts about a subject on one content."""
        asked = {"subject": subject, "snapshot": snapshot}
        entries = self.ledger.entries(PLAN_ID)
        return [e for e in entries if asked.items() <= e.data.items()]

    def record(self, verdict: Verdict, run: str = RUN) -> Entry:
        """Append a verdict as the orchestrator does."""
        draft = Draft(Kind.VERDICT, to_builtins(verdict), run, verdict.subject, 1)
        return self.ledger.append(PLAN_ID, [draft])[0]

    def write(self, name: str, text: str = "content\n") -> Path:
        """Put a file into the workspace."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def snapshot(self) -> str:
        """The digest of the content as it is."""
        return self.workspace.snapshot().digest

    def fingerprints(self) -> Mapping[str, str]:
        """Every file as a pin would hold it."""
        manifest = self.workspace.manifest(self.snapshot())
        return {path: fingerprint(state) for path, state in manifest.items()}

    def _hear(self, chunk: bytes) -> None:
        self.printed += chunk

    def _pins(self) -> Pins:
        return Pins(
            plan_digest=self.plan_digest,
            plan_text="",
            settings={},
            config_text="",
            search_path=self.search_path,
            workspace=str(self.root),
            ignore_rules={},
            snapshot=self.approved,
            protected={},
            steering={},
            heldout=self.approved_heldout,
        )


def exit_code(code: int) -> Expectation:
    """`exit_code == N`."""
    return Expectation(ExpectationKind.EXIT_CODE, code)


def stdout_contains(text: str) -> Expectation:
    """`stdout contains "…"`."""
    return Expectation(ExpectationKind.STDOUT_CONTAINS, text)


def stderr_contains(text: str) -> Expectation:
    """`stderr contains "…"`."""
    return Expectation(ExpectationKind.STDERR_CONTAINS, text)


def stdout_equals(text: str) -> Expectation:
    """`stdout equals "…"`."""
    return Expectation(ExpectationKind.STDOUT_EQUALS, text)
