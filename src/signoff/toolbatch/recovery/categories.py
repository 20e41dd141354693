"""What kind of failure a call met, and episodes of such failures, in which every retry counts."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePosixPath

from signoff.toolbatch.calls import Call, Nature, Outcome
from signoff.toolbatch.shellwork import family

MOST_OPEN = 64
MOST_NAMES = 20  # of files or commands that one episode remembers
LONGEST_NAME = 300
LONGEST_READ = 20_000  # of a result's text: what failed is said at its beginning or its end


class Category(StrEnum):
    """Kinds of failures that have a follow-up."""

    MALFORMED = "malformed call"
    ARGUMENTS = "bad arguments"
    EDIT_MISMATCH = "edit mismatch"
    NOT_FOUND = "file not found"
    PERMISSION = "permission"
    TIMEOUT = "timeout"
    MISSING_MODULE = "missing module"
    MISSING_COMMAND = "missing command"
    SYNTAX = "syntax"
    EMPTY = "empty response"


@dataclass(frozen=True)
class Failure:
    """A failure with its category; failures with the same subject are one episode."""

    category: Category
    subject: str
    about: str = ""  # what was missing or wrong, as the text names it


Table = tuple[tuple[Category, re.Pattern[str]], ...]

# What tools of the runtime say, and tools that are not commands.
_SAID: Table = (
    (
        Category.ARGUMENTS,
        re.compile(
            r"(?:missing|unknown|unexpected|required)[^\n]{0,40}(?:argument|field|parameter)"
            r"|no field `(?P<a>[^`]{1,200})`"
            r"|`(?P<b>[^`]{1,200})` (?:is missing|is required|must be|is not an argument)\b"
            r"|there is no tool `(?P<c>[^`]{1,200})`|not valid JSON",
            re.IGNORECASE,
        ),
    ),
    (
        Category.EDIT_MISMATCH,
        re.compile(
            r"does not occur in|occurs (?P<a>\d{1,9}) times in|(?:string|text|hunk|context)"
            r"[^\n]{0,30}(?:not found|does not (?:match|fit|apply))|does not apply|patch failed",
            re.IGNORECASE,
        ),
    ),
    (
        Category.TIMEOUT,
        re.compile(r"timed out|timeout (?:after|expired)|was stopped after", re.IGNORECASE),
    ),
    (
        Category.PERMISSION,
        re.compile(
            r"permission denied|operation not permitted|read-only file system|may not write"
            r"|leads outside the workspace|access denied|\bEACCES\b|\bEPERM\b",
            re.IGNORECASE,
        ),
    ),
    (
        Category.NOT_FOUND,
        re.compile(
            r"no (?:such )?file(?: or (?:folder|directory))?\b(?:[^\n`]{0,20}`(?P<a>[^`]{1,200})`)?"
            r"|\bENOENT\b|FileNotFoundError|does not exist",
            re.IGNORECASE,
        ),
    ),
)
# What a command prints is anybody's words: only whole lines that shells and interpreters write.
_SHELL = r"^\S{0,80}sh: (?:-c: )?(?:(?:line )?\d+: )?"
_PRINTED: Table = (
    (
        Category.MISSING_COMMAND,
        re.compile(
            rf"{_SHELL}(?P<a>[^\s:]{{1,100}}): (?:command )?not found\s*$"
            r"|^(?P<b>[^\s:]{1,100}): command not found\s*$"
            r"|`(?P<c>[^`]{1,200})` is not installed|\A[^\n]{0,40}exit code 127\b",
            re.MULTILINE,
        ),
    ),
    (
        Category.MISSING_MODULE,
        re.compile(
            r"^(?:ModuleNotFoundError|ImportError): No module named '?(?P<a>[\w.]{1,200})"
            r"|^\S{0,80}python[\d.]{0,5}: No module named '?(?P<b>[\w.]{1,200})"
            r"|^Error: Cannot find (?:module|package) '(?P<c>[^'\n]{1,200})'",
            re.MULTILINE,
        ),
    ),
    (
        Category.SYNTAX,
        re.compile(
            r"^(?:SyntaxError|IndentationError|TabError): "
            rf"|{_SHELL}(?:-c: )?(?:syntax error|unexpected EOF)",
            re.MULTILINE,
        ),
    ),
    (
        Category.PERMISSION,
        re.compile(
            r"^\S[^\n]{0,200}: (?:Permission denied|Operation not permitted"
            r"|Read-only file system)\s*$|^PermissionError: ",
            re.MULTILINE,
        ),
    ),
    (
        Category.NOT_FOUND,
        re.compile(
            r"^[^\n:]{1,60}: (?:(?:line )?\d+: )?(?:cannot \w{1,10} )?['‘]?"
            r"(?P<a>[^\n:'’]{1,200})['’]?: No such file or directory\s*$"
            r"|^FileNotFoundError: \[Errno 2\] No such file or directory: '(?P<b>[^'\n]{1,200})'"
            r"|: can't open file '(?P<c>[^'\n]{1,200})': \[Errno 2\]",
            re.MULTILINE,
        ),
    ),
)
_STOPPED = re.compile(r"timed out|timeout (?:after|expired)|was stopped after", re.IGNORECASE)
# What a test prints is about the test: an assertion names whatever it likes.
RUNS_TESTS = re.compile(
    r"\b(?:py\.?test|tests?|test_\w+|\w+_test|unittest|tox|nox|jest|vitest|mocha|rspec|phpunit"
    r"|ctest|bats|check)\b"
)
_IN_TESTS = frozenset({Category.MISSING_COMMAND})
_FILE_LINE = re.compile(r'^\s{0,8}File "(?P<path>[^"\n]{1,300})", line \d+', re.MULTILINE)


def failure_of(call: Call, text: str, *, ran: bool = False) -> Failure | None:
    """The failure that a result tells of; None for one that has no name here.

    `ran`: it is a command that came to its end, so it cannot have been stopped.
    """
    if call.malformed:
        return Failure(Category.MALFORMED, call.tool, call.malformed)
    shown = (
        text
        if len(text) <= LONGEST_READ
        else text[: LONGEST_READ // 2] + text[-LONGEST_READ // 2 :]
    )
    if call.shape.nature is Nature.SHELL:
        return _of_command(call, shown, ran)
    for category, pattern in _SAID:
        if category is Category.EDIT_MISMATCH and call.shape.nature is not Nature.MUTATE:
            continue
        found = pattern.search(shown)
        if found is not None:
            return Failure(category, subject_of(category, call), _named(found))
    return None


def _of_command(call: Call, text: str, ran: bool) -> Failure | None:
    if not ran and _STOPPED.search(text.split("\n", 1)[0]):
        return Failure(Category.TIMEOUT, subject_of(Category.TIMEOUT, call))
    tests = RUNS_TESTS.search(call.command) is not None
    for category, pattern in _PRINTED:
        matches = () if tests and category not in _IN_TESTS else tuple(pattern.finditer(text))
        if not matches:
            continue
        found = next((match for match in matches if _named(match)), matches[0])
        about = _named(found)
        if category is Category.SYNTAX:
            files = _FILE_LINE.findall(text[: found.start()])
            about = files[-1] if files else ""
        return Failure(category, subject_of(category, call), about)
    return None


def _named(found: re.Match[str]) -> str:
    return next((name for name in found.groupdict().values() if name), "")


def subject_of(category: Category, call: Call) -> str:
    """What makes two failures one episode: the tool, the command's family, a file or its folder."""
    if category in (Category.MALFORMED, Category.ARGUMENTS):
        return call.tool
    if call.shape.nature is Nature.SHELL:
        return family(call.command) or call.tool
    if category is Category.EDIT_MISMATCH or not call.target:
        return call.target or call.tool
    return str(PurePosixPath(call.target).parent)


_BY_TOOL = frozenset({Category.MALFORMED, Category.ARGUMENTS})


@dataclass(frozen=True)
class Episode:
    """Failures of one kind about one thing; `names` are the files or commands that failed in it."""

    failure: Failure
    attempts: int
    budget: int
    names: Mapping[str, int] = field(default_factory=dict)  # each with how often it failed
    of_command: bool = False

    @property
    def used_up(self) -> bool:
        """Whether another way is due."""
        return self.attempts > self.budget

    @property
    def hopeless(self) -> bool:
        """Whether the other way did not help either: the very same failed as often again.

        Looking for one file after the other that is not there is no dead end, only a search.
        """
        alike = max(self.names.values(), default=self.attempts)
        by_tool = self.failure.category in _BY_TOOL
        return (self.attempts if by_tool else alike) > 2 * self.budget


class Episodes:
    """The open ones, newest last; the oldest goes when there are too many."""

    def __init__(self, budget: int):
        self._budget = budget
        self._open: OrderedDict[tuple[Category, str], Episode] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def count(self, failure: Failure, call: Call | None = None) -> Episode:
        """One more failure, of a new episode or of one that is open."""
        key = (failure.category, failure.subject)
        before = self._open.pop(key, None)
        names = dict(before.names) if before is not None else {}
        name = "" if call is None else call.target or call.command[:LONGEST_NAME]
        if name:
            names[name] = names.pop(name, 0) + 1
        latest = dict(list(names.items())[-MOST_NAMES:])
        attempts = (before.attempts if before is not None else 0) + 1
        of_command = call is not None and call.shape.nature is Nature.SHELL
        episode = Episode(failure, attempts, self._budget, latest, of_command)
        self._open[key] = episode
        if len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)
        return episode

    def settle(self, outcome: Outcome) -> tuple[Episode, ...]:
        """The episodes that a success resolved, closed; a success elsewhere resolves none.

        Whatever a command failed over may be mended by any change: it is a new attempt then.
        """
        if outcome.changed:
            of_commands = [key for key, episode in self._open.items() if episode.of_command]
            for key in of_commands:
                del self._open[key]
        if not outcome.ok or outcome.result is None:
            return ()
        resolved = [key for key, episode in self._open.items() if _resolves(outcome, episode)]
        return tuple(self._open.pop(key) for key in resolved)

    def answered(self) -> None:
        """The model made a call or said something: nothing is empty any more."""
        self._open.pop((Category.EMPTY, ""), None)


def _resolves(outcome: Outcome, episode: Episode) -> bool:
    call, category = outcome.call, episode.failure.category
    if category in _BY_TOOL:
        return call.tool == episode.failure.subject
    if call.shape.nature is Nature.SHELL:
        return subject_of(category, call) == episode.failure.subject
    result = outcome.result
    assert result is not None
    worked_on = {*result.writes, *call.paths} if result.writes else {*result.reads, *call.paths}
    if category in (Category.EDIT_MISMATCH, Category.PERMISSION, Category.SYNTAX):
        worked_on = set(result.writes)
    return bool(worked_on & set(episode.names))
