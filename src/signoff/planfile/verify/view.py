"""One plan made ready for the rules: its contracts analysed, its order known, its lines at hand."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import StrEnum
from functools import cached_property, partialmethod
from graphlib import CycleError, TopologicalSorter
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from signoff.commands.analysis import ShellFacts, analyse
from signoff.commands.reading import error_line
from signoff.domain.findings import Finding, Severity, SyntaxProblem, Trouble
from signoff.domain.globs import has_wildcard, matches, matches_any
from signoff.domain.plan import Budget, Contract, Plan, Step
from signoff.planfile.parse import Parsed
from signoff.planfile.subjects import demanded_files

_SyntaxCheck = Callable[[Collection[str]], Mapping[str, SyntaxProblem]]


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
        """True when nothing may be signed off by a person's word."""
        return False

    @property
    def judge_named(self) -> bool:
        """True when the user names a model for opinions."""
        return True

    @property
    def read_by_checks(self) -> Mapping[str, Collection[str]]:
        """Step → files that its contract read the last time, before anybody worked."""
        return {}

    def file_exists(self, path: str) -> bool:
        """True when the workspace has this file or folder now."""
        return bool(path)

    def text_of(self, path: str) -> str:
        """Text of a program of the workspace; empty where there is none, or it is no text."""
        return path[:0]

    def matches_glob(self, pattern: str) -> bool:
        """True when some file of the workspace matches now."""
        return bool(pattern)

    def is_ignored(self, path: str) -> bool:
        """True when what a contract writes there is a by-product, which it may change."""
        del path
        return False

    def topic_exists(self, name: str) -> bool:
        """True when the vault has this topic."""
        return bool(name)

    def left_out(self, name: str) -> str:
        """Path of a command in the workspace that the person's PATH has and contracts' has not."""
        del name
        return ""

    def tool_exists(self, name: str) -> bool:
        """True when a contract would find this command."""
        return bool(name)

    def module_exists(self, name: str) -> bool:
        """True when `python -m` would find this module of a tool in a contract."""
        return bool(name)

    def role_troubles(self, name: str) -> tuple[Trouble, ...]:
        """Reasons why a configured role could not work here."""
        del name
        return ()

    def budget_trouble(self, name: str, budget: Budget) -> Trouble | None:
        """The reason why this budget cannot be enforced for a configured role; None if it can."""
        del name, budget
        return None

    def syntax_problems(self, texts: Collection[str]) -> Mapping[str, SyntaxProblem]:
        """Syntax problems of those texts that bash refuses."""


class Anywhere(Surroundings):
    """Surroundings of which nothing is known: no rule about them has anything to say."""

    role_names: frozenset[str] = frozenset()

    def __init__(self, role_names: frozenset[str], check_syntax: _SyntaxCheck | None = None):
        self.role_names, self._check_syntax = role_names, check_syntax

    def syntax_problems(self, texts: Collection[str]) -> Mapping[str, SyntaxProblem]:
        """Syntax problems, where somebody said how to find them."""
        return self._check_syntax(texts) if self._check_syntax is not None and texts else {}


ITEM = "{item}"


class SubjectKind(StrEnum):
    """Kinds of shell texts in a plan."""

    CONTRACT = "contract"
    POSTCONDITION = "postcondition's contract"
    LIST = "for_each list"


class ShellSubject(Struct, frozen=True):
    """One shell text that the harness will run, and whose it is."""

    kind: SubjectKind
    command: str
    line: int
    owner: str
    contract: Contract | None
    step: Step | None
    place: int
    facts: ShellFacts
    problem: SyntaxProblem | None = None

    def finding(self, severity: Severity, code: str, line: int, message: str, hint: str) -> Finding:
        """A finding about a line of this text, counted from 0."""
        return Finding(code, severity, self.line + line, message, hint, "", self.owner)

    error = partialmethod(finding, Severity.ERROR)
    warning = partialmethod(finding, Severity.WARNING)
    note = partialmethod(finding, Severity.NOTE)

    def may_write(self, path: str) -> bool:
        """True when the plan lets the step make or change a file that decides its own check."""
        produces = self.step.produces if self.step is not None else ()
        may_change = self.contract.may_change if self.contract is not None else ()
        return path in produces or matches_any(may_change, path)


class Producer(Struct, frozen=True):
    """A step that makes files; `declared` when the plan says so, else read off its contract."""

    place: int
    pattern: str
    declared: bool


class StepOrder:
    """Questions about `needs`; steps stand for their place in the plan."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        places: dict[str, int] = {}
        for i, step in enumerate(steps):
            places.setdefault(step.id, i)
        self._places: Mapping[str, int] = places
        self._needs = [tuple(places[n] for n in step.needs if n in places) for step in steps]
        self.cycle: tuple[str, ...] = ()
        self._floor = [0] * len(steps)
        for i in self._sorted(steps):
            self._floor[i] = self._floor_of(i)

    def _sorted(self, steps: tuple[Step, ...]) -> Iterable[int]:
        """Places in an order that respects all needs; nothing when there is none."""
        if all(need < i for i, needs in enumerate(self._needs) for need in needs):
            return range(len(steps))
        try:
            return list(TopologicalSorter(dict(enumerate(self._needs))).static_order())
        except CycleError as error:
            self.cycle = tuple(steps[i].id for i in error.args[1])
            return ()

    def _floor_of(self, i: int) -> int:
        """All places below this number come before step `i`: in a plain sequence, all there are."""
        floor = 0
        for need in self._needs[i]:
            below = self._floor[need]
            floor = max(floor, need + 1 if below == need else below)
        return floor

    def comes_before(self, earlier: int, later: int) -> bool:
        """True when `later` needs `earlier`, directly or through other steps."""
        if earlier < self._floor[later]:
            return True
        waiting = list(self._needs[later])
        seen: set[int] = set()
        while waiting:
            here = waiting.pop()
            if here == earlier:
                return True
            if here not in seen:
                seen.add(here)
                waiting.extend(self._needs[here])
        return False


class VerifyView:
    """Everything the rules look at; answers from the surroundings are asked for once."""

    def __init__(self, parsed: Parsed, surroundings: Surroundings) -> None:
        self.plan: Plan = parsed.plan
        self.lines = parsed.lines
        self.surroundings = surroundings
        self.read_by_checks = surroundings.read_by_checks
        self._known_files: dict[str, bool] = {}

    def finding(  # the text of the line is filled in when all are there
        self,
        severity: Severity,
        code: str,
        line: int,
        message: str,
        hint: str,
        step: str | None = None,
    ) -> Finding:
        """A finding about a line of the file."""
        return Finding(code, severity, line, message, hint, "", step)

    error = partialmethod(finding, Severity.ERROR)
    warning = partialmethod(finding, Severity.WARNING)
    note = partialmethod(finding, Severity.NOTE)

    @cached_property
    def subjects(self) -> tuple[ShellSubject, ...]:
        """Contracts, lists and postconditions, in the order of the plan."""
        found: list[ShellSubject] = []
        for place, owner in enumerate(self.plan.subjects):
            step = owner if isinstance(owner, Step) else None
            kind = SubjectKind.CONTRACT if step else SubjectKind.POSTCONDITION
            texts: list[tuple[SubjectKind, str, int, Contract | None]] = []
            if step and step.for_each is not None:
                near = self.line_of(step, "for_each")
                texts.append((SubjectKind.LIST, step.for_each, near, None))
            if (contract := owner.contract) is not None:
                texts.append((kind, contract.command, contract.line or owner.line, contract))
            for which, text, near, decides in texts:
                line, facts = self._first_line(text, near), analyse(text)
                found.append(ShellSubject(which, text, line, owner.id, decides, step, place, facts))
        return self._with_problems(found)

    def _with_problems(self, subjects: list[ShellSubject]) -> tuple[ShellSubject, ...]:
        """Ask bash about every text that is not plain; of those it refuses nothing else is told.

        Texts that differ in numbers only are asked about once.
        """
        alike = {s.facts.unchecked for s in subjects if s.facts.unchecked}
        doubtful = self.surroundings.syntax_problems(alike) if alike else {}
        if not doubtful:
            return tuple(subjects)
        texts = {s.command for s in subjects if s.facts.unchecked in doubtful}
        problems = self.surroundings.syntax_problems(texts)
        return tuple(
            replace(s, facts=ShellFacts(), problem=_placed(problems[s.command], s.command))
            if s.command in problems
            else s
            for s in subjects
        )

    def _first_line(self, command: str, near: int) -> int:
        """The file line on which a command begins; `near` is its field, its fence or itself."""
        first = command.split("\n", 1)[0].strip()
        for line in range(near, min(near + 4, len(self.lines) + 1)):
            if line > 0 and self.lines[line - 1].strip() == first:
                return line
        return near

    @cached_property
    def order(self) -> StepOrder:
        """Order of the steps, by their `needs`."""
        return StepOrder(self.plan.steps)

    @cached_property
    def _facts_of_step(self) -> dict[int, ShellFacts]:
        return {s.place: s.facts for s in self.subjects if s.kind is SubjectKind.CONTRACT}

    @cached_property
    def producers(self) -> tuple[Producer, ...]:
        """Files that steps make, with the step that makes them."""
        found: list[Producer] = []
        for place, step in enumerate(self.plan.steps):
            if step.produces:
                found += [Producer(place, _open_item(p), True) for p in step.produces]
            elif place in self._facts_of_step:
                facts = self._facts_of_step[place]
                named = [r.path for r in facts.reads] + [w.path for w in facts.writes]
                paths = dict.fromkeys(path for path in named if path)
                found += [Producer(place, _open_item(p), False) for p in paths]
        return tuple(found)

    @cached_property
    def _exact_producers(self) -> dict[str, list[Producer]]:
        table: dict[str, list[Producer]] = {}
        for producer in self.producers:
            table.setdefault(producer.pattern.rstrip("/"), []).append(producer)
        return table

    @cached_property
    def _wildcards(self) -> tuple[Producer, ...]:
        return tuple(p for p in self.producers if has_wildcard(p.pattern))

    def producers_of(self, path: str) -> list[Producer]:
        """Steps that make this path: by its name, by a folder above it, or by a pattern."""
        parts = path.rstrip("/").split("/")
        above = ("/".join(parts[:i]) for i in range(len(parts), 0, -1))
        found = [p for name in above for p in self._exact_producers.get(name, ())]
        return found + [p for p in self._wildcards if matches(p.pattern, path)]

    def makers_of(self, path: str, besides: int) -> list[Producer]:
        """Other steps that make a file which decides a check, going by what judging will accept.

        A folder, or a file that a contract merely speaks of, is no proof of who makes it.
        """
        return [
            p
            for p in self.producers_of(path)
            if p.place != besides and (p.declared or self._demands(self.plan.steps[p.place], path))
        ]

    def _demands(self, step: Step, path: str) -> bool:
        demanded = demanded_files(step.contract) if step.contract is not None else ()
        return any(matches(_open_item(name), path) for name in demanded)

    def exists(self, path: str) -> bool:
        """True when the workspace has it now."""
        if path not in self._known_files:
            self._known_files[path] = self.surroundings.file_exists(path)
        return self._known_files[path]

    @cached_property
    def _step_lines(self) -> list[int]:
        return sorted(step.line for step in self.plan.steps)

    def line_of(self, step: Step, text: str) -> int:
        """The first line of a step that contains the text; the step's own line otherwise."""
        after = bisect_right(self._step_lines, step.line)
        end = self._step_lines[after] - 1 if after < len(self._step_lines) else len(self.lines)
        wanted = text.casefold()
        for line in range(max(step.line, 1), end + 1):
            if wanted in self.lines[line - 1].casefold():
                return line
        return step.line

    def text_at(self, line: int) -> str:
        """The line as the file has it."""
        return self.lines[line - 1].rstrip("\r") if 0 < line <= len(self.lines) else ""


def _placed(problem: SyntaxProblem, text: str) -> SyntaxProblem:
    return problem if problem.line is not None else replace(problem, line=error_line(text))


def _open_item(path: str) -> str:
    """A path of a `for_each` step stands for one file per item."""
    return path.replace(ITEM, "**")
