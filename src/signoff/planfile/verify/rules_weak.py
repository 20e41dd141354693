"""Rules about contracts that hold without the work: each is named, with a better form."""

from __future__ import annotations

from collections.abc import Iterator

from signoff.commands.looking import HomeMade, Look, deciding_programs, files_imported, looks_of
from signoff.commands.statuses import ZERO
from signoff.domain.findings import Finding
from signoff.domain.globs import matches_any
from signoff.domain.languages import is_test
from signoff.domain.plan import Contract, ExpectationKind, Step
from signoff.planfile.subjects import names_for_change
from signoff.planfile.verify.view import ITEM, ShellSubject, VerifyView

CODE = "weak-contract"
_SETTLING = frozenset((ExpectationKind.STDOUT_EQUALS, ExpectationKind.TESTS_AT_LEAST))
_WEAK_LOOKS = {
    Look.EXISTS: (
        "the contract only asks if something is there: an empty file or folder keeps it",
        "run the work and compare what it prints (`stdout equals …`), or test what it must contain",
    ),
    Look.COUNTS: (
        "the contract only counts: any lines of that number keep it",
        "compare the content itself, or let a program read it and fail where it is wrong",
    ),
    Look.SEARCHES: (
        "the contract only searches for a word: a file with that word and nothing else keeps it",
        "run the work and compare what it prints; of a setting the whole line: `grep -qxF 'a: 1'`",
    ),
}


def holds_without_work(
    view: VerifyView, subject: ShellSubject, contract: Contract
) -> Iterator[Finding]:
    """A step's contract that asks so little that something else than the work keeps it."""
    step = subject.step
    settled = contract.heldout or _SETTLING & {e.kind for e in contract.expectations}
    told = subject.problem is not None or subject.facts.statuses == ZERO  # by another rule
    if step is None or settled or step.rubric or told:
        return
    for line, message, hint in (
        *_only_looks(subject, contract),
        *_compares_with_own(view, subject),
        *_imports_the_product(view, subject, step),
    ):
        yield subject.warning(CODE, line, message, hint)
        return


def _only_looks(subject: ShellSubject, contract: Contract) -> Iterator[tuple[int, str, str]]:
    codes = (e.value for e in contract.expectations if e.kind is ExpectationKind.EXIT_CODE)
    looks = looks_of(subject.command) if next(codes, 0) == 0 else frozenset[Look]()
    if looks:
        words = {ExpectationKind.STDOUT_CONTAINS, ExpectationKind.STDERR_CONTAINS}
        searches = bool(words & {e.kind for e in contract.expectations})
        yield 0, *_WEAK_LOOKS[Look.SEARCHES if searches else max(looks)]


def _compares_with_own(view: VerifyView, subject: ShellSubject) -> Iterator[tuple[int, str, str]]:
    """Both sides of a comparison are the step's: two files, or its program and a file."""
    facts, made = subject.facts, {write.path for write in subject.facts.writes}
    programs = [script.path for script in facts.scripts]
    for reference in facts.references:
        files = [path for path in reference.paths if path not in made]
        sides = reference.compares and (len(files) > 1 or (files and programs))
        if not sides and not (files and reference.how.endswith(" -c")):
            continue
        if all(_is_own(view, subject, path) for path in (*files, *programs)):
            named = files[-1]
            yield (
                reference.line,
                f"the contract compares with `{named}`, which this step writes itself",
                f"write `{named}` before the plan runs and say `**protects:** {named}`, "
                "or use `stdout equals …`",
            )


def _is_own(view: VerifyView, subject: ShellSubject, path: str) -> bool:
    if ITEM in path or (subject.step is not None and matches_any(subject.step.protects, path)):
        return False
    theirs = view.exists(path) or view.makers_of(path, besides=subject.place)
    return not theirs or subject.may_write(path)


def _imports_the_product(
    view: VerifyView, subject: ShellSubject, step: Step
) -> Iterator[tuple[int, str, str]]:
    """The product is loaded by the check: it can end the process, or change what is asked."""
    told = {ExpectationKind.STDOUT_CONTAINS, ExpectationKind.STDERR_CONTAINS}
    if subject.contract is None or told & {e.kind for e in subject.contract.expectations}:
        return
    for program in deciding_programs(subject.command):
        if program.path and (subject.may_write(program.path) or _names(step, program.path)):
            continue  # it is the product, which is run as a process
        text = program.text or view.surroundings.text_of(program.path)
        product = next(filter(None, _products(view, step, program, text)), "")
        if product:
            who = f"`{program.path}`" if program.path else "the text on the command line"
            yield (
                program.line,
                f"{who} imports `{product}` into its own process: what it loads can end it as kept",
                f"run `{product}` as a process and compare what it prints, use the project's test "
                "runner, or add `**heldout:**`",
            )


def _products(view: VerifyView, step: Step, program: HomeMade, text: str) -> Iterator[str]:
    """Imported files that the step may change."""
    for paths in files_imported(program, text):
        free = (p for p in paths if not is_test(p) and not matches_any(step.protects, p))
        yield next((path for path in free if _may_be_changed(view, step, path)), "")


def _may_be_changed(view: VerifyView, step: Step, path: str) -> bool:
    there = _names(step, path) or bool(view.surroundings.text_of(path))
    return there and (not step.touches or matches_any(step.touches, path))


def _names(step: Step, path: str) -> bool:
    return path in step.produces or names_for_change(step, path)
