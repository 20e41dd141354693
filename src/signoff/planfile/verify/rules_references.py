"""Rules about files by which work is measured: an agent that may change them sets its own mark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial

from signoff.commands.programs import BUILTINS
from signoff.commands.references import ComparedFiles
from signoff.commands.runners import runner_call, runner_of, tools_started
from signoff.commands.uses import CommandCall
from signoff.domain.findings import Finding
from signoff.domain.globs import intersect, literal, matches_any
from signoff.domain.plan import Contract, Step
from signoff.planfile.verify.rules_plan import HUMAN
from signoff.planfile.verify.subjects import paths_named
from signoff.planfile.verify.view import ITEM, ShellSubject, SubjectKind, VerifyView

_LIKE_A_REFERENCE = re.compile(
    r"expect|golden|reference|fixture|baseline|snapshot|sample|approved|oracle|known|want|\borig",
    re.IGNORECASE,
)
_TEST_FILES = (
    *("**/test_*.*", "**/*_test.*", "**/*.test.*", "**/*.spec.*", "**/*_spec.*", "**/*.bats"),
    *("tests/**", "test/**", "spec/**", "**/__tests__/**"),
)
_NOTHING = Contract("")
_WRITES_TESTS = re.compile(
    r"\b(?:write|add|create|extend|update|rewrite|port|migrate|move|cover)\b[^.\n]{0,80}\btests?\b",
    re.IGNORECASE,
)


def references_are_protected(view: VerifyView) -> Iterator[Finding]:
    """What a contract compares with or loops over, and the step may change."""
    seen: set[str] = set()
    for subject in view.subjects:
        if subject.contract is None or (subject.step and subject.step.target == HUMAN):
            continue
        for reference in subject.facts.references:
            paths = [p for p in _changeable(view, subject, reference) if p not in seen]
            seen.update(paths)
            if paths:
                yield _unprotected(subject, reference, paths)


def _changeable(view: VerifyView, subject: ShellSubject, reference: ComparedFiles) -> list[str]:
    """Those of the files that are there and of which the plan says nothing."""
    there = [path for path in reference.paths if _is_there(view, path)]
    if not there:
        return []
    protected = partial(_covers, view.protected)
    if any(map(protected, there)):
        # Of two files that are compared, one cannot be changed: enough.
        return [] if reference.compares else [p for p in there if not protected(p)]
    found = [path for path in there if not _is_declared(view, subject, path)]
    if len(found) > 1 and reference.compares:
        return [path for path in found if _LIKE_A_REFERENCE.search(path)] or found
    return found


def _is_there(view: VerifyView, path: str) -> bool:
    if ITEM in path:
        return view.surroundings.matches_glob(path.replace(ITEM, "*"))
    return view.exists(path)


def _covers(patterns: Iterable[str], path: str) -> bool:
    """Whether a pattern covers the file, or something in the folder."""
    spelled = literal(path.replace(ITEM, "\0")).replace("\0", "*")
    return any(intersect(pattern.replace(ITEM, "*"), spelled) for pattern in patterns)


def _is_declared(view: VerifyView, subject: ShellSubject, path: str) -> bool:
    """Whether the plan says that somebody makes or changes it, or it is pinned anyway."""
    facts, contract = subject.facts, subject.contract
    assert contract is not None
    touched = [*(s.path for s in facts.scripts), *(w.path for w in facts.writes)]
    if path in touched or _covers((*contract.writes, *contract.may_change), path):
        return True
    if any(p.declared for p in (*view.producers_of(path), *view.producers_of(f"{path}/file"))):
        return True
    makers = view.makers_of(path, besides=subject.place)
    return any(
        subject.step is None or view.order.comes_before(p.place, subject.place) for p in makers
    )


def _unprotected(subject: ShellSubject, reference: ComparedFiles, paths: list[str]) -> Finding:
    shown = [path.replace(ITEM, "*") for path in paths]
    what = "what the result is compared with" if reference.compares else "what is checked"
    measure = "what it is compared with" if reference.compares else what
    who = "this step" if subject.step is not None else "any step"
    message = f"`{shown[0]}` says {what} (`{reference.how}`), and {who} may change it"
    hint = f"`**protects:** {shown[0]}`, or the agent may change {measure}"
    if len(shown) > 1:
        both = " and ".join(f"`{path}`" for path in shown)
        message = f"`{reference.how}` looks at {both}, and {who} may change them"
        lines = " or ".join(f"`**protects:** {path}`" for path in shown)
        hint = f"{lines}: whichever is right already, or the agent may change both"
    return subject.warning("reference-unprotected", reference.line, message, hint)


def protection_leaves_room(view: VerifyView) -> Iterator[Finding]:
    """A file that a step is to make where another step lets nobody add one."""
    protecting = [step for step in view.plan.steps if step.protects]
    for step in view.plan.steps if protecting else ():
        contract = step.contract or _NOTHING
        allowed = (*step.protects, *step.produces, *contract.may_change, *contract.may_extend)
        for path in paths_named(step):
            by = next((s for s in protecting if s is not step and _covers(s.protects, path)), None)
            if by is None or view.exists(path) or _covers(allowed, path):
                continue
            yield view.warning(
                "protected-by-other",
                step.line,
                f"step {step.id} is to make `{path}`, and step {by.id} protects that place",
                f"say `**may_change:** {path}` in step {step.id}, or it is removed again",
                step.id,
            )


def tests_are_protected(view: VerifyView) -> Iterator[Finding]:
    """A contract that runs tests which the step may rewrite; told once, as one line mends it."""
    if any(map(_names_tests, view.protected)):
        return
    for subject in view.subjects:
        step = subject.step
        if subject.kind is not SubjectKind.CONTRACT or step is None or step.target == HUMAN:
            continue
        runner = next((c for c in subject.facts.calls if _runs_tests(c)), None)
        # What the runner is told to run may be protected under whatever name.
        covered = any(matches_any(view.protected, use.path) for use in subject.facts.reads)
        if runner is None or covered or _is_about_tests(step):
            continue
        if any(map(view.surroundings.matches_glob, _TEST_FILES)):
            yield subject.note(
                "tests-unprotected",
                runner.line,
                "the contract runs tests that this step may change",
                "`**protects:** tests/**`, with `**may_extend:** tests/**` if it may add tests",
            )
            return


def tests_can_be_counted(
    _view: VerifyView, subject: ShellSubject, contract: Contract
) -> Iterator[Finding]:
    """A runner that is called so that it does not say how many tests there were."""
    if contract.may_shrink or "SIGNOFF_REPORT_DIR" in contract.command:
        return
    for call in subject.facts.calls:
        found = runner_call(call.name, call.args) if call.name not in BUILTINS else None
        if found is not None and found.untold:
            yield subject.note(
                "tests-uncounted",
                call.line,
                f"`{found.call.tool}`, called so, does not say how many tests it ran:"
                " one that is gone is missed by its text alone",
                f"add {found.untold}",
            )


def _runs_tests(call: CommandCall) -> bool:
    starts = call.name not in BUILTINS
    return starts and any(map(runner_of, tools_started(call.name, call.args)))


def _names_tests(pattern: str) -> bool:
    """Whether a pattern is about tests, or about everything."""
    return pattern.startswith("**") or any(
        w in pattern.casefold() for w in ("test", "spec", "bats")
    )


def _is_about_tests(step: Step) -> bool:
    may_change = step.contract.may_change if step.contract is not None else ()
    declared = (*step.produces, *may_change)
    words = f"{step.title}\n{step.task}"
    return any(map(_names_tests, declared)) or _WRITES_TESTS.search(words) is not None
