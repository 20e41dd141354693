"""Find the runners in a contract's text, and read those whose counts lie all over their output."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from operator import add

from msgspec import Struct, field
from msgspec.structs import replace

from signoff.commands.analysis import ShellFacts, analyse
from signoff.commands.launchers import Invocation, see_through
from signoff.commands.programs import (
    RunnerCall,
    is_installed,
    prints_no_results,
    runner_call,
    starts_no_tests,
    tools_started,
)
from signoff.commands.reading import lower
from signoff.commands.statuses import must_succeed
from signoff.commands.tree import ShellNode, commands_in
from signoff.domain.verdict import TestCounts, TestOutcome, named

PRINTED = "printed"  # where these tests are named
PASSED, SKIPPED, FAILED = TestOutcome.PASSED, TestOutcome.SKIPPED, TestOutcome.FAILED

_RUNNING = re.compile(r"running ([0-9]{1,9}) tests?")
_RESULT = re.compile(
    r"test result: (?:ok|FAILED)\. ([0-9]{1,9}) passed; ([0-9]{1,9}) failed; ([0-9]{1,9}) ignored; "
    r"[0-9]+ measured; ([0-9]{1,9}) filtered out(?:; finished in [0-9.]+s)?"
)


def read_cargo(lines: Sequence[str]) -> list[TestCounts]:
    """The sum over all test binaries, as one run.

    Every binary announces its tests first: a result that nothing announced is not the harness's,
    and a result never has more passes than were announced.
    """
    announced: int | None = None
    results: list[TestCounts] = []
    for line in lines:
        running, result = _RUNNING.fullmatch(line), _RESULT.fullmatch(line)
        if running and announced is None:
            announced = int(running[1])
        elif result and announced is not None:
            passed, failed, ignored, filtered = map(int, result.groups())
            results.append(
                TestCounts("cargo", min(passed, announced), failed, ignored, filtered, endings=0)
            )
            announced = None
    return [reduce(add, results, TestCounts("cargo"))] if results else []


_GO_RUN = re.compile(r"=== RUN +(\S+)$")
_GO_DONE = re.compile(r"--- (PASS|FAIL|SKIP): (\S+) \([0-9.]+s\)$")
_GO_PACKAGE = re.compile(r"(?:ok|FAIL|\?) +\t?(\S+)\t.*|(?:ok|FAIL)\t(\S+).*")
_GO_OUTCOMES = {"pass": PASSED, "skip": SKIPPED, "fail": FAILED}


def read_go(lines: Sequence[str]) -> list[TestCounts]:
    """All packages as one run.

    Subtests count like tests, and so do the tests around them: a case taken out of a table is a
    test less. Without `-v` or `-json` go does not say how many tests there were.
    """
    counts = read_go_events(lines) or _go_counts(_go_lines(lines))
    return [counts] if counts else []


def read_go_events(lines: Iterable[str]) -> TestCounts | None:
    """The events of `go test -json`; lines that are none are what packages printed."""
    return _go_counts(filter(None, map(_go_event, lines)))


def _go_event(line: str) -> tuple[str, str] | None:
    if not line.startswith("{"):
        return None
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    action, package, test = (data.get(key, "") for key in ("Action", "Package", "Test"))
    if not all(isinstance(x, str) for x in (action, package, test)) or not test:
        return None
    return action, f"{package}.{test}"


def _go_lines(lines: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Events like those of `-json`, from what `-v` prints; the package is named below its tests."""
    waiting: list[tuple[str, str]] = []
    for line in lines:
        run, done, package = _GO_RUN.search(line), _GO_DONE.search(line), _GO_PACKAGE.match(line)
        if run:
            waiting.append(("run", run[1]))
        elif done:
            waiting.append((done[1].lower(), done[2]))
        elif package:
            yield from ((action, f"{package[1] or package[2]}.{t}") for action, t in waiting)
            waiting.clear()
    yield from waiting


def _go_counts(events: Iterable[tuple[str, str]]) -> TestCounts | None:
    """Only what was started counts; what was started and never ended has failed."""
    told = list(events)
    started = dict.fromkeys(test for action, test in told if action == "run")
    ended = named((test, _GO_OUTCOMES[action]) for action, test in told if action in _GO_OUTCOMES)
    return from_names("go", {t: ended.get(t, FAILED) for t in started}) if started else None


def from_names(source: str, tests: dict[str, TestOutcome], where: str = PRINTED) -> TestCounts:
    """The counts of tests that are all named."""
    told = list(tests.values())
    passed, failed, skipped = (told.count(outcome) for outcome in (PASSED, FAILED, SKIPPED))
    return TestCounts(source, passed, failed, skipped, names={where: tests})


def each_its_own(told: Iterable[tuple[str, TestOutcome]]) -> dict[str, TestOutcome]:
    """Tests that share an id are different tests: the second is called `id (2)`."""
    found: dict[str, TestOutcome] = {}
    seen: dict[str, int] = {}
    for test, outcome in told:
        seen[test] = number = seen.get(test, 0) + 1
        found[f"{test} ({number})" if number > 1 else test] = outcome
    return found


_PLAN = re.compile(r"1\.\.([0-9]{1,9})(?:\s*#.*)?")
# A bare `ok` is what `prove -v` says about a whole file.
_POINT = re.compile(r"(not )?ok(?: +(?=\S)([0-9]{1,9})?(.*))")
_NO_PASS = re.compile(r"(?<!\\)#\s*(?:skip|todo).*", re.IGNORECASE)
_VERSION = re.compile(r"TAP version [0-9]+", re.IGNORECASE)


def read_tap(lines: Sequence[str]) -> list[TestCounts]:
    """The sum over all documents of TAP 12 to 14, as one run.

    A document without a plan is none. Indented lines belong to subtests, whose parent has a line
    of its own.
    """
    documents = [_Document()]
    for line in lines:
        if _VERSION.fullmatch(line):
            documents.append(_Document())
            continue
        point, plan = _POINT.fullmatch(line), _PLAN.fullmatch(line)
        if (plan and documents[-1].planned >= 0) or (point and documents[-1].closed):
            documents.append(_Document())
        if plan:
            documents[-1].planned, documents[-1].closed = int(plan[1]), bool(documents[-1].points)
        elif point:
            documents[-1].take(point)
        elif line.startswith("Bail out!"):
            documents[-1].bailed_out = True
    planned = [d for d in documents if d.planned >= 0]
    if not planned:
        return []
    names = {PRINTED: each_its_own(point for d in planned for point in d.points)}
    total = reduce(add, (d.counts() for d in planned), TestCounts("TAP"))
    return [replace(total, names=names)]


class _Document(Struct):
    """One producer's output, as far as it was read."""

    planned: int = -1
    points: list[tuple[str, TestOutcome]] = field(default_factory=list)
    closed: bool = False  # the plan came last
    bailed_out: bool = False

    def take(self, point: re.Match[str]) -> None:
        """A test is known by its description, or by its number where it has none."""
        name = _NO_PASS.sub("", point[3]).strip(" -") or point[2] or ""
        outcome = FAILED if point[1] else PASSED
        self.points.append((name, SKIPPED if _NO_PASS.search(point[3]) else outcome))

    def counts(self) -> TestCounts:
        """Tests planned and not seen have failed, and so have tests seen and not planned."""
        told = [outcome for _, outcome in self.points]
        passed, failed, skipped = (told.count(outcome) for outcome in (PASSED, FAILED, SKIPPED))
        extra = min(passed, max(0, len(told) - self.planned))
        missing = max(0, self.planned - len(told))
        everything_skipped = self.planned == 0 and not told
        return TestCounts(
            "TAP",
            passed - extra,
            failed + extra + missing + self.bailed_out,
            skipped + everything_skipped,
            errors=int(self.bailed_out),
            cut_short="fewer tests than were planned" if self.bailed_out or missing else "",
            endings=0,
        )


# Summaries of any runner, such as `5 tests, 1 failure, 2 skipped`: read where no runner is known by
# its own ending (rspec, phpunit, ctest, maven, and those that nobody here has heard of). A line
# counts when all of it is such pairs, times, and words without digits.
_KINDS = {
    # What may stand beside tests and is none.
    "beside": r"assertions?|asserts?|calls?|warn(?:ings?)?|risky|flaky|deprecations?|notices?"
    r"|unexpected|expect|suites?|files?|features?|steps?|modules?|slow",
    "failed": r"fail(?:ed|ing|ures?|s)?|error(?:s|ed)?|broken|crashed",
    "skipped": r"skip(?:ped|s)?|pending|todos?|ignored|disabled|incomplete|excluded",
    "passed": r"pass(?:ed|es|ing)?|ok|success(?:es|ful)?|succeeded",
    "total": r"(?:doc)?tests?|specs?|examples?|scenarios?|cases?|total|runs?",
}
_SEPARATOR = re.compile(r"\s*(?:[,;|()]|\s/\s|\s-{1,2}\s|[.!](?=\s|$)|\s:\s|\s(?=[A-Z]+=))\s*")
_LEVEL = re.compile(r"^(?:\[\w+\]\s+|[^\w\s]+\s+|(?:with|all|ran|executed) )", re.IGNORECASE)
_PAIR = re.compile(
    r"(?P<head>(?:[a-z]+ )?[a-z]+: +)?(?P<n>[0-9]{1,9}) (?P<words>[a-z]+(?:\(\))?(?: [a-z]+){0,3}?)"
    r"(?: (?:out )?of (?P<all>[0-9]{1,9}))?"
    r"|(?P<label>[a-z]+(?: [a-z]+)?) ?[:=] *(?P<value>[0-9]{1,9})",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"[^0-9]{0,40}|[0-9]+% .*|net[0-9.]+"
    r"|(?:in |after |took |duration:? |time:? )*[0-9:.]+ ?(?:[mµn]?s|m|h|secs?|seconds?|minutes?"
    r"|wallclock secs?|usr\b.*)?",
    re.IGNORECASE,
)
_TICKED = re.compile(r" *[✓✔√] ")
_WHOLE = frozenset(("passed", "total"))


def read_summaries(lines: Sequence[str]) -> list[TestCounts]:
    """One for each summary; lines that stand together and are of the same tests are one."""
    groups: list[dict[str, int]] = []
    joined = False
    for line in lines:
        said = _said(line)
        if not said:
            joined = joined and not line.strip()
        elif joined and not _WHOLE & said.keys() & groups[-1].keys():
            for kind, number in said.items():
                groups[-1][kind] = groups[-1].get(kind, 0) + number
        else:
            groups.append(said)
            joined = True
    ticked = sum(_TICKED.match(line) is not None for line in lines)
    for said in groups:
        if ticked and "failed" in said and not _WHOLE & said.keys():
            said["passed"] = ticked  # ava names those that passed, and counts them if all did
    return [_summed(s) for s in groups if "passed" in s or ("total" in s and len(s) > 1)]


def _summed(said: dict[str, int]) -> TestCounts:
    failed, skipped = said.get("failed", 0), said.get("skipped", 0)
    passed = said.get("passed", max(0, said.get("total", 0) - failed - skipped))
    return TestCounts("", passed, failed, skipped)


def _said(line: str) -> dict[str, int]:
    """The numbers by what they are of; empty where the line is no summary."""
    found: dict[str, int] = {}
    if len(line) > 200 or not re.search(r"[0-9]", line):
        return found
    parts = _SEPARATOR.split(_LEVEL.sub("", line.strip("= \t")))
    for part in (_LEVEL.sub("", part) for part in parts):
        if _ASIDE.fullmatch(part):
            continue
        pair = _PAIR.fullmatch(part)
        kind = _kind(f"{pair['head'] or ''}{pair['words'] or pair['label']}") if pair else ""
        if pair is None or not kind or (kind == "beside" and pair["head"]):
            return {}
        found[kind] = found.get(kind, 0) + int(pair["n"] or pair["value"])
        if pair["all"]:
            found["total"] = int(pair["all"])
    return found if "beside" not in found or _WHOLE & found.keys() else {}


def _kind(words: str) -> str:
    """The kind that the words count; empty where one of them is not known."""
    single = re.findall(r"[a-z]+", words.lower())
    kinds = [next((k for k, s in _KINDS.items() if re.fullmatch(s, word)), "") for word in single]
    return min(kinds, key=["", *_KINDS].index, default="")


REPEATS = re.compile(r"(?<![\w./-])(?:for|while|until|xargs|parallel|-exec|-execdir)(?![\w./=-])")
# Unseen, but no commands: where something is written, and a virtual environment's variables.
_NO_CALL = re.compile(r"where `|`(?:source|\.) \S*bin/activate`")
_SETS_PATH = re.compile(r"(?<!\w)PATH\+?=")


class Sight(Struct, frozen=True):
    """`calls` is how often the text calls each runner, by the name of whose summary it prints.

    `hides` says that it calls other things that could start a runner, `repeats` that a call in it
    may stand for several, `stops_early` that a runner is told to stop at a failure, `untold` what
    would make a runner say how many tests there were.
    """

    calls: Mapping[str, int]
    hides: bool
    repeats: bool
    stops_early: bool = False
    untold: str = ""
    shows_all: bool = True  # no other runner than those in `calls`, where there are any

    @property
    def nothing_can_run(self) -> bool:
        """True when no test runner is started, whatever is printed."""
        return not (self.calls or self.hides or self.repeats)


@lru_cache(maxsize=64)
def look_at(command: str) -> Sight:
    """Never raises, whatever the text."""
    facts = analyse(command)
    calls: dict[str, int] = {}
    repeats = bool(_unseen(facts) or facts.functions or REPEATS.search(command))
    hides = stops_early = False
    untold = ""
    for chain, found in _calls(facts):
        if found is not None:
            calls[found.runner] = calls.get(found.runner, 0) + 1
            stops_early |= found.stops_early
            untold = untold or found.untold
            repeats |= found.several
        elif not chain or not starts_no_tests(chain[-1]):
            hides = True
    return Sight(calls, hides, repeats, stops_early, untold)


def _calls(facts: ShellFacts) -> Iterator[tuple[list[Invocation], RunnerCall | None]]:
    """Each call with all that it launches, and the runner among them; a function is nothing yet."""
    for call in facts.calls:
        if call.name in facts.functions:
            yield [], None
        else:
            yield [*tools_started(call.name, call.args)], runner_call(call.name, call.args)


def _unseen(facts: ShellFacts) -> bool:
    return any(not _NO_CALL.match(unseen.what) for unseen in facts.unseen)


def loses_failures(command: str, recipes: Sequence[str]) -> bool:
    """True when a runner may fail, as far as the texts show, and the contract hold all the same."""
    texts = (command, *(text for text in recipes if look_at(text).calls))
    return any(map(_may_hold_without, texts[:1] if look_at(command).calls else texts))


def _may_hold_without(text: str) -> bool:
    block, clear = lower(text)
    reaching = [node for node in commands_in(block) if _may_run_tests(node)]
    return not clear or not reaching or not all(must_succeed(block, node) for node in reaching)


def _may_run_tests(node: ShellNode) -> bool:
    seen = see_through(node).command
    if seen is None or not seen.words:
        return bool(node.words)
    chain = [*tools_started(seen.name, seen.args)]
    runs = runner_call(seen.name, seen.args) is not None
    return runs or not chain or not starts_no_tests(chain[-1])


@lru_cache(maxsize=64)
def tools_called(command: str) -> frozenset[str]:
    """The tools that the text calls, launchers peeled off; `cargo clippy` also with its verb."""
    called = [call for chain, _ in _calls(analyse(command)) for call in chain]
    verbs = (f"{call.tool} {call.args[0]}" for call in called if call.args)
    return frozenset((*(call.tool for call in called), *verbs))


def runs_only_tests(command: str) -> bool:
    """True when the text shows only known runners, with nothing beside them that could print.

    What it then prints comes out of a runner: from the search path, or of a folder that package
    tools install into.
    """
    facts = analyse(command)
    if facts.functions or _unseen(facts) or _SETS_PATH.search(command):
        return False
    runners = [(chain, found) for chain, found in _calls(facts) if found is not None]
    others = [chain for chain, found in _calls(facts) if found is None]
    # A runner that is a script of the workspace (`python manage.py test`) can print anything.
    trusted = all(
        found.call.tool != "python" and all(not c.path or is_installed(c.path) for c in chain)
        for chain, found in runners
    )
    return bool(runners) and trusted and all(prints_no_results(chain[-1]) for chain in others)
