"""The two corpora: every module of `honest` and `adversary` is a group and lists its CASES."""

from __future__ import annotations

import importlib
import pkgutil
import shutil
import subprocess
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from signoff.domain.verdict import Isolation
from truth.arena import search_path
from truth.case import Accepted, Case
from truth.tools import is_there


class Corpus(StrEnum):
    """Which promise a case is about."""

    HONEST = "honest"
    ADVERSARY = "adversary"


@dataclass(frozen=True)
class Filed:
    """A case in its place."""

    corpus: Corpus
    group: str
    case: Case

    @property
    def _takes_a_decoy(self) -> bool:
        """True when one more step and its file do not break what the plan, or the case, says."""
        case = self.case
        has_plan = any(name.endswith(".md") and "PLAN" in name for name in case.files)
        text = case.plan or case.fields
        return not case.alone and isinstance(text, str) and "touches" not in text and not has_plan

    def left_out(self, isolation: Isolation) -> str:
        """Why it cannot be asked here; empty when it can."""
        if self.case.needs_bubblewrap and not isolation.has_own_view:
            return "only bubblewrap will do"
        if self.case.needs_isolation and isolation is Isolation.NONE:
            return "only isolation will do"
        if self.case.not_with_landlock and isolation is Isolation.LANDLOCK:
            return "Landlock cannot grant it"
        if self.case.lanes and not isolation.has_own_view:
            return "lanes need bubblewrap or namespaces"
        if self.case.lanes and not self._takes_a_decoy:
            return "its plan leaves no room for a step beside it"
        missing = [tool for tool in self.case.tools if not _works(tool)]
        missing += [f"{p} (make truth-tools)" for p in self.case.packages if not is_there(p)]
        return f"needs {', '.join(missing)}" if missing else ""


@lru_cache(maxsize=64)
def _works(tool: str) -> bool:
    """Whether a command is there; one with arguments has to succeed as well."""
    name, *arguments = tool.split()
    if shutil.which(name, path=search_path()) is None or not arguments:
        return shutil.which(name, path=search_path()) is not None
    return subprocess.run([name, *arguments], capture_output=True, check=False).returncode == 0


@lru_cache(maxsize=1)
def load() -> tuple[Filed, ...]:
    """Every case; names are unique and fit their corpus."""
    filed = tuple(
        Filed(corpus, group, case)
        for corpus in Corpus
        for group in _groups(corpus)
        for case in importlib.import_module(f"truth.{corpus}.{group}").CASES
    )
    names = [f.case.name for f in filed]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two cases have the same name: {twice}")
    misplaced = [f.case.name for f in filed if isinstance(f.case.expect, Accepted) != _is_honest(f)]
    if misplaced:
        raise ValueError(f"cases in the wrong corpus: {misplaced}")
    return filed


def select(only: list[str], *, lanes: bool = False) -> tuple[Filed, ...]:
    """Those of a corpus, a group or a name; all when nothing is named; on request in lanes."""
    chosen = tuple(
        f for f in load() if not only or {f.corpus.value, f.group, f.case.name} & {*only}
    )
    if not chosen:
        raise SystemExit(f"error: no group or case is called {' or '.join(map(repr, only))}")
    return tuple(map(in_lanes, chosen)) if lanes else chosen


def in_lanes(filed: Filed) -> Filed:
    """The same case worked on in a lane."""
    return replace(filed, case=replace(filed.case, lanes=True))


def find(name: str) -> Filed:
    """The case of this name."""
    return next(f for f in load() if f.case.name == name)


def _groups(corpus: Corpus) -> list[str]:
    package = importlib.import_module(f"truth.{corpus}")
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__))


def _is_honest(filed: Filed) -> bool:
    return filed.corpus is Corpus.HONEST
