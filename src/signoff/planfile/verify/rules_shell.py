"""Rules about what a contract's shell text does: syntax, tools, and whether it can fail."""

from __future__ import annotations

from collections.abc import Iterator

from signoff.commands.launchers import is_plain, started_by
from signoff.commands.programs import BUILTINS, builds, is_known
from signoff.commands.statuses import FAILS, WeaknessKind
from signoff.commands.uses import CommandCall, FileUse
from signoff.domain.findings import Finding, Severity
from signoff.domain.globs import matches_any
from signoff.domain.plan import Contract, Expectation, ExpectationKind
from signoff.planfile.verify.view import ITEM, ShellSubject, SubjectKind, VerifyView

_SHOWN_STEPS = 5
_WRITTEN_BY_HAND = (".sh", ".bash", ".py", ".rb", ".pl", ".php")
_PLAIN = "begin the contract with `set -e`, or join the commands with `&&`"
_ABOUT_OUTPUT = (ExpectationKind.STDOUT_CONTAINS, ExpectationKind.STDOUT_EQUALS)
_NEGATED = "`set -e` passes over `! …`: write `if …; then exit 1; fi`, or join it with `&&`"
# Kind of weakness: code, message and hint.
_SAID = {
    WeaknessKind.ROUNDS: (
        "only-last-round-counts",
        "the `{}` loop goes on when a round fails, so only its last round counts",
        "end it at the first failure: `for …; do … || exit 1; done`",
    ),
    WeaknessKind.PRINTED_FAILURE: (
        "failure-only-printed",
        "`{} echo` prints the failure and goes on as if there were none",
        "end the contract there: `|| { echo …; exit 1; }`",
    ),
}


def contract_syntax(_view: VerifyView, subject: ShellSubject) -> Iterator[Finding]:
    """bash would refuse the text."""
    problem = subject.problem
    if problem is not None:
        yield subject.error(
            "contract-syntax",
            problem.line or 0,
            f"the {subject.kind} is not valid bash: {problem.message}",
            "correct the command; `bash -n` shows what bash makes of it",
        )


def cannot_tell(_view: VerifyView, subject: ShellSubject) -> Iterator[Finding]:
    """Something in the contract is only known when it runs."""
    for unseen in subject.facts.unseen:
        yield subject.note(
            "cannot-tell",
            unseen.line,
            f"cannot tell: {unseen.what}",
            "read this part yourself before you approve the plan",
        )


def tools_exist(view: VerifyView) -> Iterator[Finding]:
    """A command that the machine does not have now; an earlier step may install it."""
    users: dict[str, list[tuple[int, str]]] = {}
    for subject in view.subjects:
        for call in subject.facts.calls:
            known = call.name in BUILTINS or call.name in subject.facts.functions
            names = [call.name] if not known else []
            names += _behind_uv(view, call) if call.name == "uv" else ()
            for name in names:
                if "/" not in name or name.startswith("/"):
                    users.setdefault(name, []).append((subject.line + call.line, subject.owner))
    for name, uses in users.items():
        if not name or view.surroundings.tool_exists(name):
            continue
        line, owner = uses[0]
        owners = list(dict.fromkeys(owner for _, owner in uses))
        shown = ", ".join(owners[:_SHOWN_STEPS])
        more = f" and {len(owners) - _SHOWN_STEPS} more" if len(owners) > _SHOWN_STEPS else ""
        yield view.warning(
            "tool-missing",
            line,
            f"`{name}` is not installed here; used by {shown}{more}",
            f"install `{name}`, or make sure that an earlier step does",
            owner,
        )


def _behind_uv(view: VerifyView, call: CommandCall) -> Iterator[str]:
    """What `uv run` looks for: in the project's environment, then on the search path.

    Tools that environments have as a rule are taken to be there: uv makes one when it runs.
    """
    if any(arg.startswith("--with") for arg in call.args):
        return
    for started in started_by(call.name, call.args):
        plain = started.behind == "uv" and not started.path and is_plain(started.tool)
        if plain and not is_known(started.tool) and not view.exists(f".venv/bin/{started.tool}"):
            yield started.tool


def scripts_exist(view: VerifyView, subject: ShellSubject) -> Iterator[Finding]:
    """A script that a contract runs must be there, or be made by an earlier step."""
    for script in subject.facts.scripts:
        path = script.path
        if view.exists(path) or ITEM in path or subject.may_write(path):
            continue
        makers = view.makers_of(path, besides=subject.place)
        after_all = subject.kind is SubjectKind.POSTCONDITION
        if any(after_all or view.order.comes_before(p.place, subject.place) for p in makers):
            continue
        if _is_built_before(subject, script):
            continue
        late = next((view.plan.steps[p.place].id for p in makers if p.declared), "")
        who = f"only step {late} makes it" if late else "no earlier step makes it"
        message = f"`{path}` does not exist and {who}"
        if subject.kind is SubjectKind.CONTRACT and not late:
            message += f"; this step can be kept only with `**may_change:** {path}`"
        yield subject.finding(
            Severity.ERROR if late else Severity.WARNING,
            "script-order" if late else "script-missing",
            script.line,
            message,
            "write the script before the plan runs, let an earlier step produce it, or say "
            f"`**may_change:** {path}` if this step writes its own check",
        )


def _is_built_before(subject: ShellSubject, script: FileUse) -> bool:
    """Whether an earlier command of the same contract makes the program that it then runs."""
    writes = (w for w in subject.facts.writes if w.order < script.order and w.how != "chmod")
    if any(w.path and _covers(w.path, script.path) for w in writes):
        return True
    name = script.path.rpartition("/")[2]
    if name.endswith(_WRITTEN_BY_HAND):
        return False
    for call in subject.facts.calls:
        words = [word.rpartition("/")[2] for word in (call.name, *call.args)]
        if builds(call.name, call.args) and words[0] != name:
            return True
        if call.line == script.line and name in words:
            return False
    return False


def cannot_fail(_view: VerifyView, subject: ShellSubject, contract: Contract) -> Iterator[Finding]:
    """The contract holds, or breaks, whatever the workspace contains."""
    codes = (e.value for e in contract.expectations if e.kind is ExpectationKind.EXIT_CODE)
    wanted, facts = next(codes, 0), subject.facts
    severity = Severity.ERROR if facts.certain else Severity.WARNING
    if subject.problem is not None:
        return
    if facts.statuses == {wanted} and not looks_at_output(subject, contract):
        yield subject.finding(
            severity,
            "cannot-fail",
            facts.last_line,
            f"the {subject.kind} can never fail: {facts.reason}",
            "let the last command be the check itself, without anything that hides its status",
        )
    elif wanted not in facts.statuses and (wanted == 0 or FAILS not in facts.statuses):
        yield subject.finding(
            severity,
            "cannot-hold",
            facts.last_line,
            f"the {subject.kind} can never end with exit code {wanted}: {facts.reason}",
            "correct the command or the expected exit code",
        )


def looks_at_output(subject: ShellSubject, contract: Contract) -> bool:
    """Whether an expectation about the output could still fail."""
    others = [e for e in contract.expectations if e.kind is not ExpectationKind.EXIT_CODE]
    return any(not _printed_anyway(e, subject) for e in others)


def _printed_anyway(expectation: Expectation, subject: ShellSubject) -> bool:
    value = expectation.value
    if expectation.kind is ExpectationKind.TESTS_AT_LEAST:
        return value == 0
    if value == "" and expectation.kind is not ExpectationKind.STDOUT_EQUALS:
        return True
    if expectation.kind is ExpectationKind.STDOUT_CONTAINS:
        return any(str(value) in text for text in subject.facts.prints)
    only_prints = len(subject.facts.calls) == len(subject.facts.prints) > 0
    return only_prints and expectation.kind is ExpectationKind.STDOUT_EQUALS


def only_last_counts(
    _view: VerifyView, subject: ShellSubject, _contract: Contract
) -> Iterator[Finding]:
    """Commands whose failure is lost because the shell goes on to the next one."""
    facts = subject.facts
    if not facts.ignored_lines or len(facts.statuses) == 1:
        return
    rounds = {w.line for w in facts.weaknesses if w.kind is WeaknessKind.ROUNDS}
    line = next((line for line in facts.ignored_lines if line not in rounds), None)
    if line is not None:
        yield subject.warning(
            "only-last-counts",
            line,
            "only the last command's status counts; a failure here goes unnoticed",
            _NEGATED if line in facts.negated_lines else _PLAIN,
        )


def condition_skips_check(
    _view: VerifyView, subject: ShellSubject, _contract: Contract
) -> Iterator[Finding]:
    """`if a; then check; fi` holds when `a` is false."""
    if subject.facts.skips_line is not None and len(subject.facts.statuses) > 1:
        yield subject.warning(
            "condition-skips-check",
            subject.facts.skips_line,
            "the last `if` has no `else`: when its condition is false, the contract holds",
            "add `else exit 1`, or join condition and check with `&&`",
        )


def failures_are_passed_on(
    _view: VerifyView, subject: ShellSubject, contract: Contract
) -> Iterator[Finding]:
    """A loop, an `echo` or a search that lets the contract hold after a failure."""
    facts = subject.facts
    if not facts.weaknesses or len(facts.statuses) == 1 or looks_at_output(subject, contract):
        return
    for kind, (code, message, hint) in _SAID.items():
        found = next((w for w in facts.weaknesses if w.kind is kind), None)
        if found is not None:
            yield subject.warning(code, found.line, message.format(found.what), hint)


def prints_what_is_expected(
    _view: VerifyView, subject: ShellSubject, contract: Contract
) -> Iterator[Finding]:
    """A contract without any output, of which output is expected."""
    for expectation in contract.expectations if subject.facts.silent else ():
        if expectation.kind in _ABOUT_OUTPUT and expectation.value != "":
            yield subject.error(
                "cannot-hold",
                max(expectation.line - subject.line, 0),
                f"the {subject.kind} prints nothing, so `{expectation}` never holds",
                "print what is to be compared, or delete the expectation",
            )


def writes_what_it_checks(_view: VerifyView, subject: ShellSubject) -> Iterator[Finding]:
    """The contract makes what it then looks at; a warning where the plan declares the file."""
    declared = subject.contract.writes if subject.contract else ()
    for write in subject.facts.writes:
        later = (r for r in subject.facts.reads if r.order > write.order)
        seen = [read for read in later if write.made_up and _covers(write.path, read.path)]
        if seen:
            folder = f"{write.path.rstrip('/')}/file"
            known = any(matches_any(declared, path) for path in (write.path, folder)) or all(
                matches_any(declared, read.path) for read in seen
            )
            yield subject.finding(
                Severity.WARNING if known else Severity.ERROR,
                "writes-what-it-checks",
                write.line,
                f"the {subject.kind} writes `{write.path}` (`{write.how}`) and then checks it",
                "let the step make the file; the contract only looks",
            )
            return


def _covers(written: str, read: str) -> bool:
    return read.rstrip("/") == written.rstrip("/") or read.startswith(written.rstrip("/") + "/")


def contract_writes(_view: VerifyView, subject: ShellSubject) -> Iterator[Finding]:
    """The contract changes files that its plan does not allow it to change."""
    allowed = subject.contract.writes if subject.contract else ()
    for write in subject.facts.writes:
        outside = write.path.startswith(("/", "~")) or (allowed and not write.path)
        if outside or matches_any(allowed, write.path):
            continue
        what = f"`{write.path}` (`{write.how}`)" if write.path else f"files (`{write.how}`)"
        yield subject.warning(
            "contract-writes",
            write.line,
            f"the {subject.kind} changes {what}; judging then ends as unknown",
            "only look, or declare the files with `**writes:**`",
        )
        return
