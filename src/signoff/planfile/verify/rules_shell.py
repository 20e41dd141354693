"""Rules about what a contract's shell text does: syntax, tools, and whether it can fail."""

from __future__ import annotations

from collections.abc import Iterator

from signoff.commands.launchers import is_plain, started_by
from signoff.commands.programs import BUILTINS, builds, is_known
from signoff.commands.statuses import FAILS, WeaknessKind
from signoff.commands.uses import Call, FileUse
from signoff.domain.findings import Finding, Severity
from signoff.domain.globs import matches_any
from signoff.domain.plan import Contract, Expectation, ExpectationKind
from signoff.planfile.verify.view import Producer, Subject, SubjectKind, View

_SHOWN_STEPS = 5
_WRITTEN_BY_HAND = (".sh", ".bash", ".py", ".rb", ".pl", ".php")
_PLAIN = "begin the contract with `set -e`, or join the commands with `&&`"
_NEGATED = "`set -e` passes over `! …`: write `if …; then exit 1; fi`, or join it with `&&`"


def contract_syntax(view: View) -> Iterator[Finding]:
    """bash would refuse the text."""
    for subject in view.subjects:
        problem = subject.problem
        if problem is not None:
            yield view.finding(
                "contract-syntax",
                Severity.ERROR,
                subject.line + (problem.line or 0),
                f"the {subject.kind} is not valid bash: {problem.message}",
                "correct the command; `bash -n` shows what bash makes of it",
                step=subject.owner,
            )


def cannot_tell(view: View) -> Iterator[Finding]:
    """Something in the contract is only known when it runs."""
    for subject in view.subjects:
        for unseen in subject.facts.unseen:
            yield view.finding(
                "cannot-tell",
                Severity.NOTE,
                subject.line + unseen.line,
                f"cannot tell: {unseen.what}",
                "read this part yourself before you approve the plan",
                step=subject.owner,
            )


def tools_exist(view: View) -> Iterator[Finding]:
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
        yield view.finding(
            "tool-missing",
            Severity.WARNING,
            line,
            f"`{name}` is not installed here; used by {shown}{more}",
            f"install `{name}`, or make sure that an earlier step does",
            step=owner,
        )


def _behind_uv(view: View, call: Call) -> Iterator[str]:
    """What `uv run` looks for: in the project's environment, then on the search path.

    Tools that environments have as a rule are taken to be there: uv makes one when it runs.
    """
    if any(arg.startswith("--with") for arg in call.args):
        return
    for started in started_by(call.name, call.args):
        plain = started.behind == "uv" and not started.path and is_plain(started.tool)
        if plain and not is_known(started.tool) and not view.exists(f".venv/bin/{started.tool}"):
            yield started.tool


def scripts_exist(view: View) -> Iterator[Finding]:
    """A script that a contract runs must be there, or be made by an earlier step."""
    for subject in view.subjects:
        for script in subject.facts.scripts:
            if view.exists(script.path) or "{item}" in script.path:
                continue
            makers = view.makers_of(script.path, besides=subject.place)
            if subject.may_write(script.path):
                continue
            if any(_is_made_before(view, p.place, subject) for p in makers):
                continue
            if _is_built_before(subject, script):
                continue
            yield _missing_script(view, subject, script, [p for p in makers if p.declared])


def _missing_script(view: View, subject: Subject, script: FileUse, late: list[Producer]) -> Finding:
    path = script.path
    who = f"only step {view.plan.steps[late[0].place].id} makes it" if late else ""
    message = f"`{path}` does not exist and {who or 'no earlier step makes it'}"
    if subject.kind is SubjectKind.CONTRACT and not late:
        message += f"; this step can be kept only with `**may_change:** {path}`"
    return view.finding(
        "script-order" if late else "script-missing",
        Severity.ERROR if late else Severity.WARNING,
        subject.line + script.line,
        message,
        "write the script before the plan runs, let an earlier step produce it, or say "
        f"`**may_change:** {path}` if this step writes its own check",
        step=subject.owner,
    )


def _is_built_before(subject: Subject, script: FileUse) -> bool:
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


def _is_made_before(view: View, place: int, subject: Subject) -> bool:
    if subject.kind is SubjectKind.POSTCONDITION:
        return True
    return view.order.comes_before(place, subject.place)


def cannot_fail(view: View) -> Iterator[Finding]:
    """The contract holds, or breaks, whatever the workspace contains."""
    for subject in view.subjects:
        if subject.contract is None or subject.problem is not None:
            continue
        wanted = _expected_code(subject.contract)
        statuses = subject.facts.statuses
        severity = Severity.ERROR if subject.facts.certain else Severity.WARNING
        line = subject.line + subject.facts.last_line
        if statuses == {wanted} and not looks_at_output(subject):
            yield view.finding(
                "cannot-fail",
                severity,
                line,
                f"the {subject.kind} can never fail: {subject.facts.reason}",
                "let the last command be the check itself, without anything that hides its status",
                step=subject.owner,
            )
        elif wanted not in statuses and (wanted == 0 or FAILS not in statuses):
            yield view.finding(
                "cannot-hold",
                severity,
                line,
                f"the {subject.kind} can never end with exit code {wanted}: {subject.facts.reason}",
                "correct the command or the expected exit code",
                step=subject.owner,
            )


def _expected_code(contract: Contract) -> int:
    codes = (e.value for e in contract.expectations if e.kind is ExpectationKind.EXIT_CODE)
    code = next(codes, 0)
    return code if isinstance(code, int) else 0


def looks_at_output(subject: Subject) -> bool:
    """Whether an expectation about the output could still fail."""
    assert subject.contract is not None
    others = [e for e in subject.contract.expectations if e.kind is not ExpectationKind.EXIT_CODE]
    return any(not _printed_anyway(e, subject) for e in others)


def _printed_anyway(expectation: Expectation, subject: Subject) -> bool:
    value = expectation.value
    if expectation.kind is ExpectationKind.TESTS_AT_LEAST:
        return value == 0
    if value == "" and expectation.kind is not ExpectationKind.STDOUT_EQUALS:
        return True
    if expectation.kind is ExpectationKind.STDOUT_CONTAINS:
        return any(str(value) in text for text in subject.facts.prints)
    only_prints = len(subject.facts.calls) == len(subject.facts.prints) > 0
    return only_prints and expectation.kind is ExpectationKind.STDOUT_EQUALS


def only_last_counts(view: View) -> Iterator[Finding]:
    """Commands whose failure is lost because the shell goes on to the next one."""
    for subject in view.subjects:
        facts = subject.facts
        if subject.contract is None or not facts.ignored_lines or len(facts.statuses) == 1:
            continue
        rounds = {w.line for w in facts.weaknesses if w.kind is WeaknessKind.ROUNDS}
        line = next((line for line in facts.ignored_lines if line not in rounds), None)
        if line is None:
            continue
        yield view.finding(
            "only-last-counts",
            Severity.WARNING,
            subject.line + line,
            "only the last command's status counts; a failure here goes unnoticed",
            _NEGATED if line in facts.negated_lines else _PLAIN,
            step=subject.owner,
        )


def condition_skips_check(view: View) -> Iterator[Finding]:
    """`if a; then check; fi` holds when `a` is false."""
    for subject in view.subjects:
        facts = subject.facts
        if subject.contract is None or facts.skips_line is None or len(facts.statuses) == 1:
            continue
        yield view.finding(
            "condition-skips-check",
            Severity.WARNING,
            subject.line + facts.skips_line,
            "the last `if` has no `else`: when its condition is false, the contract holds",
            "add `else exit 1`, or join condition and check with `&&`",
            step=subject.owner,
        )


def writes_what_it_checks(view: View) -> Iterator[Finding]:
    """The contract makes what it then looks at; a warning where the plan declares the file."""
    for subject in view.subjects:
        facts = subject.facts
        declared = subject.contract.writes if subject.contract else ()
        for write in facts.writes:
            if not write.made_up:
                continue
            seen = [r for r in facts.reads if r.order > write.order and _covers(write.path, r.path)]
            if seen:
                known = _is_declared(declared, write.path) or all(
                    matches_any(declared, read.path) for read in seen
                )
                yield view.finding(
                    "writes-what-it-checks",
                    Severity.WARNING if known else Severity.ERROR,
                    subject.line + write.line,
                    f"the {subject.kind} writes `{write.path}` (`{write.how}`) and then checks it",
                    "let the step make the file; the contract only looks",
                    step=subject.owner,
                )
                break


def _is_declared(writes: tuple[str, ...], path: str) -> bool:
    """Whether the plan says that the contract writes this file, or inside this folder."""
    return matches_any(writes, path) or matches_any(writes, f"{path.rstrip('/')}/file")


def _covers(written: str, read: str) -> bool:
    return read.rstrip("/") == written.rstrip("/") or read.startswith(written.rstrip("/") + "/")


def contract_writes(view: View) -> Iterator[Finding]:
    """The contract changes files that its plan does not allow it to change."""
    for subject in view.subjects:
        allowed = subject.contract.writes if subject.contract else ()
        undeclared = [
            w
            for w in subject.facts.writes
            if not w.path.startswith(("/", "~"))
            and not matches_any(allowed, w.path)
            and not (allowed and not w.path)
        ]
        if undeclared:
            write = undeclared[0]
            what = f"`{write.path}` (`{write.how}`)" if write.path else f"files (`{write.how}`)"
            yield view.finding(
                "contract-writes",
                Severity.WARNING,
                subject.line + write.line,
                f"the {subject.kind} changes {what}; judging then ends as unknown",
                "only look, or declare the files with `**writes:**`",
                step=subject.owner,
            )
