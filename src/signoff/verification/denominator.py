"""The denominator guard: "all tests pass" says nothing when there are fewer of them.

Tests are compared by their names where the runner tells them, otherwise by their numbers. A
baseline that was cut short says nothing about the tests that it did not reach.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence

from msgspec.structs import replace

from signoff.commands.analysis import analyse, invocations_of
from signoff.commands.launchers import inside
from signoff.commands.programs import idle_word, is_plain
from signoff.domain.plan import Contract, ExpectationKind
from signoff.domain.redaction import NOTHING_SECRET, Redactor
from signoff.domain.text import escape_line, shown_list
from signoff.domain.verdict import Ending, Reason, Result, TestCounts
from signoff.verification.check_runner import ContractRun
from signoff.verification.counting.printed import ALWAYS_END, count_printed, has_gap, lines_of
from signoff.verification.counting.reports import DOCUMENTS, count_document, count_reports
from signoff.verification.counting.verbose import REPEATS, look_at, loses_failures, tools_called
from signoff.verification.suppressions import GONE, UNREAD, UNRUN, Checks, Suppression
from signoff.verification.verdicts import UnboundVerdict

# Checkers that say how many files they looked at, whether they find fault or not.
SAYS_FILES = frozenset(
    (
        *("mypy", "dmypy", "black", "ruff format", "rubocop"),
        *("biome", "oxlint", "deno lint", "swiftlint"),
    )
)
_FILES = r"([0-9]{1,9}) (?:source )?files?"
_CHECKED = re.compile(
    rf"(?:Success: no issues found in|Found .* \(checked|Checked|(?:Finished|Done) .* (?:on|in)) "
    rf"{_FILES}(?:\W.*)?|{_FILES} (?:inspected|checked|linted)\b.*"
    r"|((?:[0-9]{1,9} files? (?:would |be |left |already |unchanged|(?:re)?formatted)+(?:, )?)+)\.?"
)
MOST_SHOWN = 5
LONGEST_SHOWN = 160
_EXIT_0 = "its exit code says that all is well"
_MEANT = "; if that is meant, the step says `**may_shrink:** yes`"
_SILENT = (
    "no count although tests were expected: no {what} reported any more; {number} {verb} before the"
    " work began; let the runner come to its end and show its summary, or write a report into"
    " `$SIGNOFF_REPORT_DIR`"
)
_SHOW = "let the runner show its summary, or write a report into `$SIGNOFF_REPORT_DIR`"
_UNCOUNTED = "{said}; tests are run here and none are counted: {untold}"
_HEADINGS = {
    "": ("new suppression since the approval", "new suppressions since the approval"),
    GONE: ("test taken out since the approval", "tests taken out since the approval"),
    UNRUN: ("test in a file that passed did not run", "tests in files that passed did not run"),
    UNREAD: ("file is not checked any more", "files are not checked any more"),
}
_NOTHING = f"{{runner}} shows no summary of tests, and yet {_EXIT_0}: it ran none; {_SHOW}"
# What keeps a runner's ending from being seen, or says in its place that there is nothing to run.
_HUSHED = re.compile(r"(?<!\|)\|(?!\|)|(?<!2)>(?!&)|[`]|\$\(|-reporters?\b")
_TOLD = re.compile(r".*(?:\[no test files\]|no tests to run).*|[.sxX]+ +\[ *100%\]")


def is_counted(contract: Contract, texts: Sequence[str] = ()) -> bool:
    """True when the contract is run at the start, to count: it says a number, or calls a runner.

    `texts` is what the contract runs indirectly: scripts, recipes, package scripts.
    """
    shown = (contract.command, *texts)
    return _least(contract) is not None or any(
        look_at(text).calls or not tools_called(text).isdisjoint(SAYS_FILES) for text in shown
    )


def count(
    contract: Contract,
    seen: ContractRun,
    texts: Sequence[str] = (),
    redactor: Redactor = NOTHING_SECRET,
) -> TestCounts | None:
    """Count the tests and checked files of one run of the contract; None when nothing is told.

    Names are as they are stored: a secret in one must not make it look like another test.
    """
    observation = seen.observation
    streams = observation.stdout.kept, observation.stderr.kept
    ended = observation.ending is Ending.EXITED
    ended_well = ended and observation.exit_code == 0
    counts = count_tests(
        contract.command, *streams, seen.reports, recipes=texts, ended_well=ended_well
    )
    if counts is not None and not ended:
        counts = replace(counts, cut_short=counts.cut_short or observation.describe())
    files = count_files((contract.command, *texts), *streams)
    if files:
        counts = replace(counts or TestCounts("", endings=0), files=files)
    reached = [look_at(text) for text in (contract.command, *texts)]
    if not (counts and counts.endings) and any(sight.calls for sight in reached):
        untold = next((f"add {sight.untold}" for sight in reached if sight.untold), _SHOW)
        counts = replace(counts or TestCounts("", endings=0), untold=untold)
    return None if counts is None else TestCounts.from_data(redactor.data(counts.to_data()))


def count_tests(
    command: str,
    stdout: bytes,
    stderr: bytes,
    reports: Mapping[str, bytes],
    *,
    recipes: Sequence[str] = (),
    ended_well: bool = True,
) -> TestCounts | None:
    """Count the tests of one run of a contract; None when it says nothing about them.

    The streams may have a gap in the middle. `reports` must come from a folder that was empty when
    the contract started (`read_reports`): a report of an earlier run is not evidence. `recipes` are
    texts that the contract runs indirectly: where it shows no runner itself, they say how often
    one is called, and other runners may still be behind them.
    """
    sight = look_at(command)
    if sight.nothing_can_run:
        return None
    if recipes and not sight.calls:
        sight = replace(look_at("\n".join(recipes)), shows_all=False)
    shown = count_printed(sight, (lines_of(stdout), lines_of(stderr)), ended_well=ended_well)
    if shown is None and sight.calls:
        shown = count_document(stdout, DOCUMENTS)
    return _smaller(count_reports(reports, several_runners=len(sight.calls) > 1), shown)


def count_files(texts: Sequence[str], stdout: bytes, stderr: bytes) -> int:
    """Number of files that the checkers in these texts say they looked at; 0 if they do not say."""
    if not any(tools_called(text) & SAYS_FILES for text in texts):
        return 0
    lines = (line for data in (stdout, stderr) for line in lines_of(data) if len(line) < 1_000)
    found = (match[match.lastindex or 0] for match in map(_CHECKED.fullmatch, lines) if match)
    return sum(int(number) for told in found for number in re.findall("[0-9]+", told))


def _smaller(reported: TestCounts | None, shown: TestCounts | None) -> TestCounts | None:
    """Report and text of the same tests: what both admit, with everything either left out."""
    if reported is None or shown is None:
        return reported or shown
    least, most = sorted((reported, shown), key=lambda c: (c.passed, c.executed))
    agree = (least.passed, least.executed) == (most.passed, most.executed)
    return replace(
        least,
        source=reported.source if agree else f"{least.source}, less than {most.source}",
        skipped=max(least.skipped, most.skipped),
        deselected=max(least.deselected, most.deselected),
        cut_short=least.cut_short or most.cut_short,
        names={**most.names, **least.names},
    )


def judge_counts(
    contract: Contract,
    counts: TestCounts | None,
    baseline: TestCounts | None,
    texts: Sequence[str] = (),
) -> UnboundVerdict | None:
    """Refuse a contract that held otherwise, because of its counts; None when they are right.

    `tests >= N` counts tests that passed. Against the baseline, tests that are gone or skipped
    break the contract unless the step says `may_shrink`, and so do tests that failed although
    nothing in the `texts` lets a runner fail.
    """
    least = _least(contract)
    told = counts if counts is not None and counts.endings else None
    if least is not None and told is None:
        message = f"could not judge: no test report was found for `tests >= {least}`"
        return UnboundVerdict(Result.UNKNOWN, Reason.TESTS, message)
    if least is not None and told is not None and told.passed < least:
        message = f"{told.passed} tests passed ({told.source}), expected at least {least}"
        return UnboundVerdict(Result.BROKEN, Reason.TESTS, message)
    if contract.may_shrink:
        return None
    may_fail = _exit_codes(contract) != {0} or loses_failures(contract.command, texts)
    if told is not None and told.failed and not may_fail:
        found = f"{_many(told.failed, 'test', 'tests')} failed ({told.source}), and yet {_EXIT_0}"
        return UnboundVerdict(Result.BROKEN, Reason.TESTS, found + _MEANT)
    if baseline is None:
        return None
    found = _silence(baseline, counts) or _shrinkage(baseline, counts)
    return UnboundVerdict(Result.BROKEN, Reason.TESTS, found + _MEANT) if found else None


def remarked(
    answer: UnboundVerdict,
    contract: Contract,
    seen: ContractRun,
    counts: TestCounts | None,
    texts: Sequence[str] = (),
) -> UnboundVerdict:
    """The answer of a contract that held, where a runner was reached and told of no test.

    A runner that always tells was ended before it could: that proves nothing, and no baseline is
    needed to say so. Where the contract's own text hushes it, or lets it fail, there is a remark.
    """
    if counts is None or not counts.untold:
        return answer
    streams = seen.observation.stdout.kept, seen.observation.stderr.kept
    lines = [line for stream in streams for line in lines_of(stream)]
    shown = [text for text in (contract.command, *texts) if look_at(text).calls]
    runners = sorted(ALWAYS_END & {runner for text in shown for runner in look_at(text).calls})
    hushed = any(look_at(t).untold or _HUSHED.search(t) or idle_word((*t.split(),)) for t in shown)
    may_hold = contract.may_shrink or _exit_codes(contract) != {0} or hushed or not runners
    silent = not (may_hold or has_gap(lines) or any(map(_TOLD.fullmatch, lines)))
    if silent and not loses_failures(contract.command, texts):
        message = _NOTHING.format(runner=shown_list(runners))
        return UnboundVerdict(Result.BROKEN, Reason.TESTS, message + _MEANT)
    said = _UNCOUNTED.format(said=answer.message, untold=counts.untold)
    return answer._replace(message=said)


def checks_of(
    contract: Contract, texts: Sequence[str], baseline: TestCounts | None, paths: Container[str]
) -> Checks | None:
    """Tools of the contract that could be silenced; None where there are none, or it is allowed.

    Where the baseline did not reach every test, or could not be counted, marks that skip tests
    count too. `paths` are the files and folders there are: a tool that is given some looks there.
    """
    if contract.may_shrink:
        return None
    shown = [analyse(text) for text in (contract.command, *texts)]
    scripts = [posixpath.splitext(use.path)[0] for facts in shown for use in facts.scripts]
    tools = {posixpath.basename(script): {""} for script in scripts}
    called = (call for facts in shown for call in invocations_of(facts, ""))
    for call in (call for call in called if not is_plain(call.tool)):
        given = {inside(call.folder, arg) for arg in call.args if not arg.startswith("-")}
        places = {place for place in given if place and place in paths}
        for name in (call.tool, " ".join((call.tool, *call.args[:1]))):
            tools.setdefault(name.lower(), set()).update(places or {""})
    skip_marks = baseline is not None and bool(baseline.cut_short or baseline.untold)
    loops = any(REPEATS.search(text) for text in (contract.command, *texts))
    return Checks(tools, skip_marks=skip_marks, loops=loops)


def judge_suppressions(found: Sequence[Suppression]) -> UnboundVerdict | None:
    """Refuse a contract that held otherwise: its checks were told to look away."""
    kinds: dict[str, list[str]] = {}
    for one in found:
        heading = one.kind if one.kind in _HEADINGS else ""
        kinds.setdefault(heading, []).append(f"{one.path}:{one.line}: {one.text}")
    shown = [f"{_many(len(some), *_HEADINGS[k])}: {_shown(some)}" for k, some in kinds.items()]
    return UnboundVerdict(Result.BROKEN, Reason.TESTS, "; ".join(shown) + _MEANT) if shown else None


def _many(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _silence(then: TestCounts, now: TestCounts | None) -> str:
    """A baseline with an ending, and none now: the runner was ended, or is not heard any more."""
    if then.endings and not (now and now.endings):
        return _SILENT.format(what="tests are", number=then.executed, verb="ran")
    if then.files and not (now and now.files):
        return _SILENT.format(what="files are", number=then.files, verb="were checked")
    return ""


def _shrinkage(then: TestCounts, now: TestCounts | None) -> str:
    if now is None:
        return ""
    if now.cut_short and not now.failed:
        return f"the tests were cut short: {escape_line(now.cut_short)}"
    changes = _lost(then, now)
    all_named = any(then.names_all(where) and now.names_all(where) for where in then.names)
    if then.endings and not changes and not all_named:
        ran = then.least_executed
        # More endings now show that the baseline did not reach every test.
        cut_short = then.cut_short or (then.failed > 0 and then.endings < now.endings)
        whole = then.collected > 0 and not cut_short
        left_out = now.deselected - then.deselected
        changes = [
            f"{_many(after, 'test', 'tests')} {what}, {before} before the work began"
            for what, before, after, worse in (
                ("ran", ran, now.executed, now.executed < ran),
                ("skipped", then.skipped, now.skipped, whole and now.skipped > then.skipped),
                ("deselected", then.deselected, now.deselected, whole and left_out > 0),
            )
            if worse
        ]
    if now.files < then.files:
        changes.append(f"{now.files} files checked, {then.files} before the work began")
    return "; ".join(changes)


def _lost(then: TestCounts, now: TestCounts) -> list[str]:
    """Tests that ran at the baseline and are skipped now, or not there at all."""
    gone: dict[str, None] = {}
    skipped: dict[str, None] = {}
    fresh: dict[str, None] = {}
    for where, tests in then.names.items():
        here, all_named = now.names.get(where, {}), now.names_all(where)
        ran = [test for test, outcome in tests.items() if outcome.ran]
        added = [test for test, outcome in here.items() if outcome.ran and test not in tests]
        skipped |= dict.fromkeys(t for t in ran if t in here and not here[t].ran)
        if where in now.names and all_named:
            missing = _unmatched([t for t in ran if t not in here], added)
            gone |= dict.fromkeys(missing)
            fresh |= dict.fromkeys(added if missing else ())
    renamed = f" (new is {_shown(list(fresh))}; a renamed test is missing too)" if fresh else ""
    return [
        f"{_many(len(tests), 'test', 'tests')} that ran before the work began"
        f" {'is' if len(tests) == 1 else 'are'} {what} now: {_shown(list(tests))}{more}"
        for what, tests, more in (("missing", gone, renamed), ("skipped", skipped, ""))
        if tests
    ]


def _unmatched(missing: list[str], added: list[str]) -> list[str]:
    """Tests for which no new case of the same test runs: `test_price[5]` may become `[7]`."""
    cases = Counter(test.partition("[")[0] for test in added if test.endswith("]"))
    left = []
    for test in missing:
        name = test.partition("[")[0]
        if test.endswith("]") and cases[name]:
            cases[name] -= 1
        else:
            left.append(test)
    return left


def _shown(tests: Sequence[str]) -> str:
    return shown_list((escape_line(test[:LONGEST_SHOWN]) for test in tests), MOST_SHOWN)


def _exit_codes(contract: Contract) -> set[int | str]:
    return {e.value for e in contract.all_expectations() if e.kind is ExpectationKind.EXIT_CODE}


def _least(contract: Contract) -> int | None:
    kind = ExpectationKind.TESTS_AT_LEAST
    numbers = [int(e.value) for e in contract.expectations if e.kind is kind]
    return max(numbers, default=None)
