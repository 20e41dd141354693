"""One contract of the corpus, with the work that it should show and what else keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """Ways in which a contract is weak, or good."""

    EXISTENCE = "existence"
    COUNT = "count"
    WORD = "word"
    SELF_COMPARED = "self-compared"
    IMPORTING = "importing"
    THIN = "thin"  # tests whose inputs a table of them answers
    UNCOVERED = "uncovered"  # tests of something else
    SUITE = "suite"
    PROCESS = "process"
    EXPECTED = "expected"


BY_VERIFY = frozenset((Kind.EXISTENCE, Kind.COUNT, Kind.WORD, Kind.SELF_COMPARED, Kind.IMPORTING))
GOOD = frozenset((Kind.SUITE, Kind.PROCESS, Kind.EXPECTED))


@dataclass(frozen=True)
class StrengthCase:
    """Files by path; `cheat` keeps a weak contract without doing the work."""

    name: str
    language: str
    kind: Kind
    task: str
    product: str
    before: Mapping[str, str]
    after: Mapping[str, str]
    contract: str
    tests: tuple[str, ...] = ()
    cheat: Mapping[str, str] = field(default_factory=dict)
    least: int = 0  # tests that have to pass

    @property
    def weak(self) -> bool:
        """True when something else than the work keeps it."""
        return self.kind not in GOOD

    @property
    def plan(self) -> str:
        """The plan, as a person would write it."""
        protects = "".join(f"- {path}\n" for path in self.tests)
        fields = f"**protects:**\n{protects}" if protects else ""
        tests = f"tests >= {self.least}\n" if self.least else ""
        made = [path for path in self.after if path not in self.tests]
        produces = "".join(f"- {path}\n" for path in made)
        return (
            f"# {self.name}\n\n## Steps\n\n### 1. Write {self.product}\n\n**target:** coder\n"
            f"{fields}**produces:**\n{produces}**task:**\n{self.task}\n\n"
            f"**contract:**\n```shell\n{self.contract}\n```\nexit_code == 0\n{tests}"
            "**on_fail:** escalate\n"
        )
