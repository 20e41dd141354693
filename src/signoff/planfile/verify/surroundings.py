"""What verification asks about the world around a plan; somebody else looks it up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from signoff.domain.findings import SyntaxProblem, Trouble


class Surroundings(Protocol):
    """The workspace, the vault, the machine's tools and the configuration, as questions.

    Whoever has no answer of its own says that nothing is missing.
    """

    @property
    def role_names(self) -> frozenset[str]:
        """Roles that are configured; `human` need not be among them."""

    @property
    def heldout_names(self) -> frozenset[str]:
        """Checks the agent never sees, by name."""
        return frozenset()

    @property
    def waivers_forbidden(self) -> bool:
        """Whether nothing may be signed off by a person's word."""
        return False

    @property
    def read_by_checks(self) -> Mapping[str, Collection[str]]:
        """Step → files that its contract read the last time, before anybody worked."""
        return {}

    def file_exists(self, path: str) -> bool:
        """Whether the workspace has this file or folder now."""
        return bool(path)

    def matches_glob(self, pattern: str) -> bool:
        """Whether some file of the workspace matches now."""
        return bool(pattern)

    def topic_exists(self, name: str) -> bool:
        """Whether the vault has this topic."""
        return bool(name)

    def tool_exists(self, name: str) -> bool:
        """Whether a contract would find this command."""
        return bool(name)

    def role_troubles(self, name: str) -> tuple[Trouble, ...]:
        """What would keep a configured role from working here."""
        del name
        return ()

    def syntax_problems(self, texts: Collection[str]) -> Mapping[str, SyntaxProblem]:
        """Those of the texts that bash refuses, and why."""


@dataclass(frozen=True)
class Anywhere(Surroundings):
    """Surroundings of which nothing is known: no rule about them has anything to say."""

    role_names: frozenset[str] = frozenset()
    check_syntax: Callable[[Collection[str]], Mapping[str, SyntaxProblem]] | None = None

    def syntax_problems(self, texts: Collection[str]) -> Mapping[str, SyntaxProblem]:
        """As far as somebody said how to find out."""
        return self.check_syntax(texts) if self.check_syntax is not None and texts else {}
