"""Test runners: which program is one, whose summary it prints, and how its words change the run."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from signoff.commands.launchers import Invocation, invocation_of, python_words, started_by

_BAIL = r"-b|--bail(?:=(?!0|false).*)?|--fail-?fast|--stop-on-failure"
_REPORT = "a report in `$SIGNOFF_REPORT_DIR`"


class Runner(NamedTuple):
    """One row of the table; the patterns are for whole words of a call.

    A call that has none of the words it `needs`, or one that `mutes` it, does not say how many
    tests there were; `remedy` is what helps.
    """

    words: tuple[str, ...] = ()  # one of them comes first
    prints: str = ""  # whose summary it ends with, where it is not its own
    stops: str = _BAIL  # at a failure, before the tests that follow
    goes_on: str = ""  # it stops at a failure unless told so
    needs: str = ""
    mutes: str = ""
    remedy: str = _REPORT
    takes_paths: bool = False
    several: bool = False  # it ends with a summary for each part of the project


_TAP = Runner(prints="TAP")
RUNNERS: Mapping[str, Runner] = {
    "pytest": Runner(
        stops=r"-[lqsv]*x[lqsv]*|--exitfirst|--maxfail.*|--sw|--stepwise.*",
        mutes=r"-\w*qq\w*",
        remedy="`-q` at most once",
        takes_paths=True,
    ),
    "unittest": Runner(stops=r"-[a-z]*f[a-z]*|--failfast", takes_paths=True),
    "node": Runner(mutes=r"--test-reporter=dot", remedy="`--test-reporter=spec`"),
    "go": Runner(("test",), stops=r"--?failfast", needs=r"--?(?:test\.)?(?:v|json)(?:=true)?",
                 remedy="`-v`"),
    "gotestsum": Runner(stops=r"--?failfast|--max-fails.*"),
    "cargo": Runner(("test", "t", "nextest"), goes_on="--no-fail-fast"),
    "nextest": Runner(goes_on="--no-fail-fast"),
    "gradle": Runner(("test", "check", "build"), needs=r"(?!)"),
    "mvn": Runner(("test", "verify", "package", "install"), several=True),
    "hatch": Runner(("test",), prints="pytest"),
    **dict.fromkeys(("jest", "vitest", "mocha"), Runner(takes_paths=True)),
    "_mocha": Runner(prints="mocha"),
    "nose2": Runner(prints="unittest"),
    **dict.fromkeys(("tape", "tap"), _TAP),
    **dict.fromkeys(("prove", "bats"), _TAP._replace(takes_paths=True)),
    **dict.fromkeys(
        (
            *("tox", "nox", "ava", "rspec", "phpunit", "pest", "ctest", "busted", "stestr"),
            *("jasmine", "uvu", "qunit"),
        ),
        Runner(),
    ),
    **dict.fromkeys(("behave", "karma"), Runner(several=True)),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun", "deno"), Runner(("test", "t"))),
    **dict.fromkeys(("swift", "dotnet", "mix", "flutter"), Runner(("test",), several=True)),
}  # fmt: skip
PACKAGE_TOOLS = frozenset(("npm", "pnpm", "yarn", "bun"))
_START_OTHERS = frozenset(("npm", "pnpm", "yarn", "tox", "nox"))
_TAP_BY_CHOICE = frozenset(("mocha", "ava"))
_SELECTS = re.compile(
    r"(?:-k|-m|-t|-g|-run|--lf|--ff|--last-failed|--failed-first|--deselect|--ignore(?:-glob)?"
    r"|--testNamePattern|--testPathPattern|--grep|--filter|--test-name-pattern)(?:=.*)?"
)
_REPORTS = re.compile(
    r"(?:--junit-?xml|--json-report-file|--report-log|--reporters?|--outputFile|--test-reporter"
    r"|--json)(?:=.*)?|-r[fEsxXpPwaAN]+"
)
_TAKES_VALUE = frozenset(("-k", "-m", "-t", "-g", "-run", "-p", "-c", "-n", "-o", "-r", "-W"))


@dataclass(frozen=True)
class RunnerCall:
    """One call of a test runner, and which of its words stop it early, select tests or report.

    `runner` is whose summary it prints; `untold` what would make it say how many tests there were,
    where it does not.
    """

    runner: str
    call: Invocation
    stops_early: bool
    selects: tuple[str, ...]
    reports: tuple[str, ...]
    untold: str = ""
    several: bool = False


def tools_started(name: str, args: tuple[str, ...], folder: str = "") -> Iterator[Invocation]:
    """The call and what it launches; `pnpm vitest` launches a package's command by its name."""
    yield from started_by(name, args, folder)
    words = [arg for arg in args if arg not in ("run", "--")]
    if posixpath.basename(name) in PACKAGE_TOOLS and words and not words[0].startswith("-"):
        inner = invocation_of(words[0], tuple(words[1:]), folder, name)
        if runner_of(inner):
            yield inner


def runner_call(name: str, args: tuple[str, ...], folder: str = "") -> RunnerCall | None:
    """How a call runs a project's tests, launchers passed over; None where it runs none itself."""
    for call in tools_started(name, args, folder):
        runner = runner_of(call)
        if not runner or runner in _START_OTHERS or (runner == "bun" and "run" in call.args):
            continue
        own = RUNNERS.get(call.tool, Runner())
        row = RUNNERS.get(runner, own)
        selects, reports = (
            tuple(word for word in call.args if pattern.fullmatch(word))
            for pattern in (_SELECTS, _REPORTS)
        )
        if own.takes_paths:
            pairs = zip(("", *call.args), call.args, strict=False)
            named = (w for before, w in pairs if w[:1] != "-" and before not in _TAKES_VALUE)
            selects = (*selects, *named)
        stops = row.goes_on not in call.args if row.goes_on else _has(call, row.stops)
        untold = (row.needs and not _has(call, row.needs)) or _has(call, row.mutes)
        remedy = row.remedy if untold else ""
        return RunnerCall(runner, call, stops, selects, reports, remedy, row.several)
    return None


def _has(call: Invocation, pattern: str) -> bool:
    return any(re.fullmatch(pattern, word) for word in call.args)


def runner_of(call: Invocation) -> str:
    """The name of the test runner that is called; empty where it is none that we know."""
    tool, words = call.tool, [arg for arg in call.args if not arg.startswith(("-", "+"))]
    if tool in ("python", "manage.py", "django-admin"):
        return "unittest" if _is_django(call) else ""
    if tool == "node":
        return "node" if "--test" in call.args else ""
    if tool in _TAP_BY_CHOICE and any("tap" in arg for arg in call.args):
        return "TAP"
    if tool in PACKAGE_TOOLS and words[:1] == ["run"]:
        words = words[1:]
    row = RUNNERS.get(tool)
    if row is None or (row.words and not (words and words[0] in row.words)):
        return ""
    return "nextest" if words[:1] == ["nextest"] else row.prints or tool


def _is_django(call: Invocation) -> bool:
    """`python manage.py test` prints what unittest prints."""
    words = python_words(call.args) if call.tool == "python" else (call.tool, *call.args)
    manages = bool(words) and posixpath.basename(words[0]) in ("manage.py", "django-admin")
    return manages and words[1:2] == ("test",)
