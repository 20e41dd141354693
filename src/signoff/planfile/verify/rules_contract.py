"""Rules about one contract: whether it can run, whether it can fail, what it leaves behind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

import tree_sitter

from signoff.commands.launchers import invocation_of, is_plain, started_by
from signoff.commands.programs import BUILTINS, is_known, is_networked
from signoff.commands.programs import is_plain as is_small_tool
from signoff.commands.reading import syntax_of
from signoff.commands.statuses import FAILS
from signoff.commands.uses import CommandCall, FileUse, scripts_run
from signoff.domain.findings import Finding, Severity
from signoff.domain.globs import matches_any
from signoff.domain.plan import Contract, Effects, Expectation, ExpectationKind
from signoff.planfile.contracts import always_holds
from signoff.planfile.findinglog import did_you_mean
from signoff.planfile.verify.view import ITEM, ShellSubject, SubjectKind, VerifyView

_ITEM, _STAND_IN = b"{item}", b"uitemu"
_PLAIN = re.compile(r"[\w./:=@%+,-]*")
# A quote of either kind becomes several when it is quoted, and one of them ends these.
_IN_DOUBLE = re.compile(r"""[^"'$`\\\x00-\x1f]*""")
_LIKE_DOUBLE = frozenset(("string", "heredoc_body"))
_INSIDE = frozenset(("command_substitution", "process_substitution", "arithmetic_expansion"))


def takes_any_item(text: str) -> bool:
    """True when every `{item}` of a script stands outside of quotes."""
    return _fitting(text) is None


def unfit_items(text: str, items: Iterable[str]) -> tuple[str, ...]:
    """Items that would not stay one word of the script: the shell would read what they say.

    Somebody who writes the list must not be able to write the contract with it, so inside quotes
    only an item without special characters will do.
    """
    fits = _fitting(text)
    return tuple(item for item in items if fits is not None and not fits.fullmatch(item))


@lru_cache(maxsize=1024)
def _fitting(text: str) -> re.Pattern[str] | None:
    """Pattern that an item must match; None when anything will do."""
    # Braces mean something to the grammar; letters of the same length do not.
    source = text.encode("utf-8", "surrogatepass").replace(_ITEM, _STAND_IN)
    root = syntax_of(source)
    kinds = {_place_of(root, found.start()) for found in re.finditer(_STAND_IN, source)}
    if kinds <= {"word"} and not root.has_error:
        return None
    return _IN_DOUBLE if kinds <= {"word", *_LIKE_DOUBLE} and not root.has_error else _PLAIN


def _place_of(root: tree_sitter.Node, start: int) -> str:
    """`word`, or the kind of quotes that the text at this place stands in."""
    node = root.named_descendant_for_byte_range(start, start + len(_STAND_IN))
    place = node.type if node is not None else ""
    while node is not None and node.type not in _INSIDE:
        if node.type in _LIKE_DOUBLE:
            return node.type
        node = node.parent
    return place


_SHOWN_STEPS = 5
_ENVIRONMENTS = (".venv", "venv", "env", ".env")
_SHOWN_CHARS = 60
_WRITTEN_BY_HAND = (".sh", ".bash", ".py", ".rb", ".pl", ".php")


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
    """A command or module that contracts would not find; an earlier step may install it."""
    users: dict[str, list[tuple[int, str]]] = {}
    for subject in view.subjects:
        for call in subject.facts.calls:
            known = call.name in BUILTINS or call.name in subject.facts.functions
            names = [call.name] if not known else []
            names += _behind_uv(view, call) if call.name == "uv" else ()
            names = [n for n in names if n and not view.surroundings.tool_exists(n)]
            for name in (*names, *_modules_missing(view, call)):
                if "/" not in name or name.startswith("/"):
                    users.setdefault(name, []).append((subject.line + call.line, subject.owner))
    for name, uses in users.items():
        line, owner = uses[0]
        owners = list(dict.fromkeys(owner for _, owner in uses))
        shown = ", ".join(owners[:_SHOWN_STEPS])
        more = f" and {len(owners) - _SHOWN_STEPS} more" if len(owners) > _SHOWN_STEPS else ""
        yield view.warning(
            "tool-missing",
            line,
            f"`{name}` is not installed here; used by {shown}{more}",
            _way_to(name, view) or f"install `{name}`, or make sure that an earlier step does",
            owner,
        )


def _modules_missing(view: VerifyView, call: CommandCall) -> Iterator[str]:
    """Tools that `python -m` runs, and that no interpreter of the contract's has."""
    for started in started_by(call.name, call.args):
        is_tool = started.behind == "python" and is_known(started.tool) and "/" not in call.name
        if is_tool and not view.surroundings.module_exists(started.tool):
            yield started.tool


def _way_to(name: str, view: VerifyView) -> str:
    """Hint at a copy in the workspace: in an environment not activated, or on the own PATH."""
    if path := view.surroundings.left_out(name):
        return f"contracts do not search folders of the workspace: write `{path}`"
    for folder in _ENVIRONMENTS:
        if view.exists(f"{folder}/bin/{name}"):
            instead = f"write `{folder}/bin/{name}`"
            return f"activate `{folder}` before you approve the plan, or {instead}"
    return f"write `npx {name}`" if view.exists(f"node_modules/.bin/{name}") else ""


def _behind_uv(view: VerifyView, call: CommandCall) -> Iterator[str]:
    """Tools that `uv run` would not find in the project's environment.

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
        if _may_be_built_before(subject, script):
            continue
        late = next((view.plan.steps[p.place].id for p in makers if p.declared), "")
        who = f"only step {late} makes it" if late else "no earlier step makes it"
        message = f"`{path}` does not exist and {who}"
        if subject.kind is SubjectKind.CONTRACT and not late:
            message += f"; this step can be kept only with `**may_change:** {path}`"
        yield subject.finding(
            Severity.ERROR if late else Severity.WARNING,
            "script-missing",
            script.line,
            message,
            "write the script before the plan runs, let an earlier step produce it, or say "
            f"`**may_change:** {path}` if this step writes its own check",
        )


def _may_be_built_before(subject: ShellSubject, script: FileUse) -> bool:
    """True when an earlier command of the same contract may make the program that it then runs."""
    writes = (w for w in subject.facts.writes if w.order < script.order and w.how != "chmod")
    if any(w.path and _covers(w.path, script.path) for w in writes):
        return True
    name = script.path.rpartition("/")[2]
    if name.endswith(_WRITTEN_BY_HAND):
        return False
    for call in subject.facts.calls:
        tool = invocation_of(call.name, call.args).tool
        if name in (w.rpartition("/")[2] for w in (call.name, *scripts_run(tool, call.args))):
            return False
        if not is_small_tool(call.name):
            return True
    return False


def cannot_fail(_view: VerifyView, subject: ShellSubject, contract: Contract) -> Iterator[Finding]:
    """The contract holds, or breaks, whatever the workspace contains."""
    codes = (e.value for e in contract.expectations if e.kind is ExpectationKind.EXIT_CODE)
    wanted, facts = next(codes, 0), subject.facts
    severity = Severity.ERROR if facts.certain else Severity.WARNING
    last = subject.command.split("\n")[facts.last_line].strip()[:_SHOWN_CHARS]
    reason = f"`{last}` always ends the same way" if last else "there is no command in it"
    if subject.problem is not None:
        return
    said = (e for e in contract.expectations if e.kind is not ExpectationKind.EXIT_CODE)
    only_status = all(_printed_anyway(e, subject) for e in said)
    if facts.statuses == {wanted} and only_status:
        yield subject.finding(
            severity,
            "cannot-fail",
            facts.last_line,
            f"the {subject.kind} can never fail: {reason}",
            "let the last command be the check itself, without anything that hides its status",
        )
    elif wanted not in facts.statuses and (wanted == 0 or FAILS not in facts.statuses):
        yield subject.finding(
            severity,
            "cannot-hold",
            facts.last_line,
            f"the {subject.kind} can never end with exit code {wanted}: {reason}",
            "correct the command or the expected exit code",
        )
    elif facts.lost_lines and only_status and len(facts.statuses) > 1:
        yield subject.warning(
            "only-last-counts",
            facts.lost_lines[0],
            "a failure here goes unnoticed: what follows it decides",
            "join commands with `&&`, or begin with `set -e`; in a loop: `do … || exit 1; done`",
        )


def _printed_anyway(expectation: Expectation, subject: ShellSubject) -> bool:
    """True when the contract prints the expected words itself."""
    value = expectation.value
    if always_holds(expectation):
        return True
    if expectation.kind is ExpectationKind.STDOUT_CONTAINS:
        return any(str(value) in text for text in subject.facts.prints)
    only_prints = len(subject.facts.calls) == len(subject.facts.prints) > 0
    return only_prints and expectation.kind is ExpectationKind.STDOUT_EQUALS


def writes(view: VerifyView, subject: ShellSubject) -> Iterator[Finding]:
    """The contract makes what it then looks at, or changes what its plan does not allow."""
    allowed = subject.contract.writes if subject.contract else ()
    for write in subject.facts.writes:
        later = (r.path for r in subject.facts.reads if r.order > write.order)
        seen = [path for path in later if write.made_up and _covers(write.path, path)]
        known = any(matches_any(allowed, p) for p in (write.path, f"{write.path}/file", *seen))
        if seen:
            yield subject.finding(
                Severity.WARNING if known else Severity.ERROR,
                "writes-what-it-checks",
                write.line,
                f"the {subject.kind} writes `{write.path}` (`{write.how}`) and then checks it",
                "let the step make the file; the contract only looks",
            )
        elif not (known or write.path.startswith(("/", "~"))) and not view.surroundings.is_ignored(
            write.path
        ):
            yield subject.warning(
                "contract-writes",
                write.line,
                f"the {subject.kind} changes `{write.path}` (`{write.how}`) and ends as unknown",
                "only look, or declare the files with `**writes:**`",
            )


def _covers(written: str, read: str) -> bool:
    return read.rstrip("/") == written.rstrip("/") or read.startswith(written.rstrip("/") + "/")


def item_use(_view: VerifyView, subject: ShellSubject) -> Iterator[Finding]:
    """`{item}` where it does nothing, is missing, or is quoted twice."""
    if subject.kind is SubjectKind.LIST:
        return
    listed = subject.step is not None and subject.step.for_each is not None
    if listed and ITEM not in subject.command:
        yield subject.warning(
            "item-unused",
            0,
            "the contract has no `{item}`: every item of the list gets the same check",
            "name `{item}` in the contract, unquoted",
        )
    elif listed and not takes_any_item(subject.command):
        yield subject.warning(
            "item-quoted",
            subject.command[: subject.command.index(ITEM)].count("\n"),
            "`{item}` arrives quoted, and stands inside quotes: only plain names work there",
            'write it outside of the quotes: `"a "{item}` for `"a {item}"`',
        )
    elif ITEM in subject.command and not listed:
        yield subject.warning(
            "item-without-list",
            0,
            "the contract names `{item}`, but the step has no `for_each`",
            "add `**for_each:**` with a command that prints the items",
        )


def network_allowed(
    _view: VerifyView, subject: ShellSubject, contract: Contract
) -> Iterator[Finding]:
    """A tool that needs the network, which a sandbox withholds unless asked."""
    call = next((c for c in subject.facts.calls if is_networked(c.name, c.args)), None)
    if call is not None and contract.network is not True:
        said = "says `network: no`" if contract.network is False else "does not ask for it"
        once = "" if contract.effects is Effects.EXTERNAL else ", with `**effects:** external`"
        yield subject.warning(
            "network-needed",
            call.line,
            f"`{call.name}` needs the network, but the contract {said}",
            f"add `**network:** yes`{once} if it should be judged only once",
        )


def heldout_known(view: VerifyView, subject: ShellSubject, contract: Contract) -> Iterator[Finding]:
    """A held-out check must exist."""
    name, known = contract.heldout, view.surroundings.heldout_names
    if name is None or name in known:
        return
    line = subject.line if subject.step is None else view.line_of(subject.step, "heldout")
    advice = "write its command into `heldout/NAME/contract` in the home folder"
    hint = did_you_mean(name, known, advice, listed=True)
    yield view.error(
        "heldout-unknown", line, f"no held-out check is named `{name}`", hint, subject.owner
    )
