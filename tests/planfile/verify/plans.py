"""Plans and surroundings for these tests, built from the facts a test is about."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from signoff.domain.findings import Finding, Severity, SyntaxProblem, Trouble
from signoff.domain.globs import matches
from signoff.domain.plan import (
    Budget,
    Contract,
    Expectation,
    ExpectationKind,
    Plan,
    Step,
    Subscription,
    SubscriptionKind,
)
from signoff.planfile.parse import Parsed
from signoff.planfile.verify import CODES, verify
from signoff.process.shell import syntax_problems


@cache
def _asked(texts: frozenset[str]) -> Mapping[str, SyntaxProblem]:
    return syntax_problems(texts)


@dataclass(frozen=True)
class World:
    """Surroundings that are stated instead of looked up."""

    files: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()
    missing_tools: frozenset[str] = frozenset()
    role_names: frozenset[str] = frozenset({"coder", "reviewer"})
    heldout_names: frozenset[str] = frozenset()
    waivers_forbidden: bool = False
    judge_named: bool = True
    read_by_checks: Mapping[str, Collection[str]] = field(default_factory=dict)
    troubles: Mapping[str, tuple[Trouble, ...]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    def file_exists(self, path: str) -> bool:
        return any(
            f == path.rstrip("/") or f.startswith(path.rstrip("/") + "/") for f in self.files
        )

    def text_of(self, path: str) -> str:
        return self.texts.get(path, "")

    def matches_glob(self, pattern: str) -> bool:
        return any(matches(pattern, f) for f in self.files)

    def topic_exists(self, name: str) -> bool:
        return name in self.topics

    def is_ignored(self, path: str) -> bool:
        return path in self.ignored

    def tool_exists(self, name: str) -> bool:
        return name not in self.missing_tools

    def left_out(self, name: str) -> str:
        del name
        return ""

    def module_exists(self, name: str) -> bool:
        return name not in self.missing_tools

    def syntax_problems(self, texts: Collection[str]) -> Mapping[str, SyntaxProblem]:
        return _asked(frozenset(texts))

    def role_troubles(self, name: str) -> tuple[Trouble, ...]:
        return self.troubles.get(name, ())

    def budget_trouble(self, name: str, budget: Budget) -> Trouble | None:
        del name, budget
        return None


def contract(command: str, code: int | None = None, **options: Any) -> Contract:
    """A contract; `code` is the exit code when stated."""
    stated = () if code is None else (Expectation(ExpectationKind.EXIT_CODE, code),)
    expectations = (*stated, *options.pop("expectations", ()))
    return Contract(command, expectations, **options)


def step(id_: str, command: str | None = "test -f x", **fields: Any) -> Step:
    """A step of the role `coder`."""
    made = fields.pop("contract", None) or (contract(command) if command is not None else None)
    return Step(
        id_, f"step {id_}", **{"target": "coder", "task": "do it", "contract": made, **fields}
    )


def reads(*paths: str) -> tuple[Subscription, ...]:
    """Subscriptions to files."""
    return tuple(Subscription(SubscriptionKind.FILE, p) for p in paths)


def says(kind: ExpectationKind, value: str | int) -> tuple[Expectation, ...]:
    """One expectation."""
    return (Expectation(kind, value),)


def check(
    *steps: Step, world: World | None = None, weak: bool = False, **fields: Any
) -> tuple[Finding, ...]:
    """Verify a plan of these steps; small contracts are called weak where a test is about that."""
    findings = verify(Parsed(Plan("plan", steps, **fields), (), ()), world or World())
    assert all(f.code in CODES and f.message and f.hint for f in findings)
    return tuple(f for f in findings if weak or f.code != "weak-contract")


def codes(findings: tuple[Finding, ...], severity: Severity | None = None) -> list[str]:
    """The codes in order, of one severity or of all."""
    return [f.code for f in findings if severity is None or f.severity is severity]


def of_command(command: str, code: int | None = None, **options: Any) -> tuple[Finding, ...]:
    """Findings about one contract in a world that has everything it needs."""
    world = World(files=frozenset({"x", "src/a.py", "tests/t.py", "check.sh"}))
    return check(step("1", contract=contract(command, code, **options)), world=world)
