"""What verification asks about the world around a plan; somebody else looks it up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from signoff.domain.findings import Finding, SyntaxProblem, Trouble
from signoff.domain.plan import Plan


class Surroundings(Protocol):
    """The workspace, the vault, the machine's tools and the configuration, as questions."""

    @property
    def role_names(self) -> frozenset[str]:
        """Roles that are configured; `human` need not be among them."""
        ...

    @property
    def heldout_names(self) -> frozenset[str]:
        """Checks the agent never sees, by name."""
        ...

    @property
    def waivers_forbidden(self) -> bool:
        """Whether nothing may be signed off by a person's word."""
        ...

    @property
    def read_by_checks(self) -> Mapping[str, Collection[str]]:
        """Step → files that its contract read the last time, before anybody worked."""
        ...

    def file_exists(self, path: str) -> bool:
        """Whether the workspace has this file or folder now."""
        ...

    def matches_glob(self, pattern: str) -> bool:
        """Whether some file of the workspace matches now."""
        ...

    def topic_exists(self, name: str) -> bool:
        """Whether the vault has this topic."""
        ...

    def tool_exists(self, name: str) -> bool:
        """Whether a contract would find this command."""
        ...

    def role_troubles(self, name: str) -> tuple[Trouble, ...]:
        """What would keep a configured role from working here."""
        ...

    def syntax_problems(self, texts: Collection[str]) -> Mapping[str, SyntaxProblem]:
        """Those of the texts that bash refuses, and why."""
        ...


class ParsedPlan(Protocol):
    """What the parser hands over."""

    @property
    def plan(self) -> Plan:
        """The plan, as far as it could be read."""
        ...

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the parser had to say."""
        ...

    @property
    def lines(self) -> tuple[str, ...]:
        """The file's lines."""
        ...


@dataclass(frozen=True)
class Anywhere:
    """Surroundings of which nothing is known: no rule about them has anything to say."""

    role_names: frozenset[str]
    heldout_names: frozenset[str] = frozenset()
    waivers_forbidden: bool = False
    read_by_checks: Mapping[str, Collection[str]] = field(default_factory=dict)
    check_syntax: Callable[[Collection[str]], Mapping[str, SyntaxProblem]] | None = None

    def file_exists(self, path: str) -> bool:
        """As far as anybody knows."""
        return bool(path)

    def matches_glob(self, pattern: str) -> bool:
        """As far as anybody knows."""
        return bool(pattern)

    def topic_exists(self, name: str) -> bool:
        """As far as anybody knows."""
        return bool(name)

    def tool_exists(self, name: str) -> bool:
        """As far as anybody knows."""
        return bool(name)

    def role_troubles(self, name: str) -> tuple[Trouble, ...]:  # noqa: ARG002 - of nobody
        """As far as anybody knows."""
        return ()

    def syntax_problems(self, texts: Collection[str]) -> Mapping[str, SyntaxProblem]:
        """As far as somebody said how to find out."""
        return self.check_syntax(texts) if self.check_syntax is not None and texts else {}
