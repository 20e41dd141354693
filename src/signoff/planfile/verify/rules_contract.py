"""Rules about what is written in a contract: its characters, expectations and options.

What a reader cannot see must not be run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from signoff.commands.programs import is_networked
from signoff.domain.findings import Finding, Severity
from signoff.domain.plan import Contract, Effects, ExpectationKind, RedFirst, Step
from signoff.planfile.findinglog import did_you_mean
from signoff.planfile.invisible import called, hidden_places
from signoff.planfile.verify.item_quotes import QuotedItem, quoted_items
from signoff.planfile.verify.view import ITEM, ShellSubject, SubjectKind, VerifyView

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n|\Z)")
_MOST_SHOWN = 5
_LOOKALIKES = {
    "“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "‚": "'",
    "–": "-", "—": "-", "‐": "-", "‑": "-", "−": "-", "＝": "=", "；": ";", "｜": "|", "＆": "&",
}  # fmt: skip
_NEVER_KEPT = (126, 127)
_CONTAINS = (ExpectationKind.STDOUT_CONTAINS, ExpectationKind.STDERR_CONTAINS)


def hidden_characters(view: VerifyView, subject: ShellSubject) -> Iterator[Finding]:
    """A control, bidi, zero-width or blank character in text that the harness runs."""
    text = subject.command
    if text.isascii() and not _CONTROL.search(text):
        return
    for offset in hidden_places(text)[:_MOST_SHOWN]:
        line, column = _place(view, subject, offset)
        yield subject.error(
            "hidden-characters",
            line,
            f"the {subject.kind} holds {called(text[offset])} in column {column}",
            "delete the character and type the text again",
        )


class _Text(NamedTuple):
    """A text that decides something without being run."""

    field: str
    text: str
    owner: str | None
    line: int
    # Where to look for the line when it is not known.
    step: Step | None = None


def hidden_in_fields(view: VerifyView) -> Iterator[Finding]:
    """The same in what output is compared with, and in the names of files."""
    for found in _deciding_texts(view):
        text = found.text
        places = [] if text.isascii() and text.isprintable() else hidden_places(text)
        if places:
            yield view.error(
                "hidden-characters",
                view.line_of(found.step, text) if found.step else found.line,
                f"{found.field} holds {called(text[places[0]])}",
                "delete the character and type the text again",
                found.owner,
            )


def _deciding_texts(view: VerifyView) -> Iterator[_Text]:
    for subject in view.subjects:
        contract = subject.contract
        if contract is None:
            continue
        for expectation in contract.expectations:
            if not isinstance(expectation.value, str):
                continue
            # The line, not the value: what is written as an escape is seen.
            written = view.text_at(expectation.line) or expectation.value
            line = expectation.line or subject.line
            yield _Text(f"the {subject.kind}'s expectation", written, subject.owner, line)
        for name, patterns in (("writes", contract.writes), ("may_change", contract.may_change)):
            for pattern in patterns:
                yield _Text(f"`{name}`", pattern, subject.owner, subject.line, subject.step)
    for step in view.plan.steps:
        for name, patterns in (("produces", step.produces), ("protects", step.protects)):
            for pattern in patterns:
                yield _Text(f"`{name}`", pattern, step.id, step.line, step)
        for subscription in step.subscriptions:
            line = subscription.line or step.line
            yield _Text("the subscription", subscription.target, step.id, line)
    for pattern in view.plan.touches:
        yield _Text("`touches`", pattern, None, 1)


def _place(view: VerifyView, subject: ShellSubject, offset: int) -> tuple[int, int]:
    """Line of the text and column of a character; removed indentation is counted."""
    before = subject.command[:offset]
    line, start = before.count("\n"), before.rfind("\n") + 1
    rest = subject.command[start:].split("\n", 1)[0].rstrip("\r")
    indent = max(view.text_at(subject.line + line).find(rest), 0) if rest else 0
    return line, offset - start + indent + 1


def typographic_characters(view: VerifyView, subject: ShellSubject) -> Iterator[Finding]:
    """Quotes and dashes from a word processor, which bash takes for letters."""
    text = subject.command
    found = next((c for c in text if c in _LOOKALIKES), None) if not text.isascii() else None
    if found is not None:
        line, column = _place(view, subject, text.index(found))
        yield subject.warning(
            "typographic-characters",
            line,
            f"the {subject.kind} has `{found}` in column {column}, which bash reads as a letter",
            f"type `{_LOOKALIKES[found]}` if you mean the shell's own character",
        )


def item_use(_view: VerifyView, subject: ShellSubject) -> Iterator[Finding]:
    """`{item}` where it does nothing, is missing, or is quoted twice."""
    if subject.kind is SubjectKind.LIST:
        return
    listed = subject.step is not None and subject.step.for_each is not None
    uses = ITEM in subject.command
    if listed and not uses:
        yield subject.warning(
            "item-unused",
            0,
            "the contract has no `{item}`: every item of the list gets the same check",
            "name `{item}` in the contract, unquoted",
        )
    elif listed and (quoted := quoted_items(subject.command)):
        yield _quoted(subject, min(quoted, key=lambda item: not item.decides))
    elif uses and not listed:
        yield subject.warning(
            "item-without-list",
            0,
            "the contract names `{item}`, but the step has no `for_each`",
            "add `**for_each:**` with a command that prints the items",
        )


def _quoted(subject: ShellSubject, item: QuotedItem) -> Finding:
    """An error where no item is kept that way, or only one without any special character."""
    effect = f"the {'program' if item.in_program else 'shell'} then reads what the item says"
    if item.decides and item.quote == '"':
        effect = "its own quotes become part of the word"
    hint = 'write it outside of the quotes: `"a "{item}` for `"a {item}"`'
    if item.in_program:
        hint = "pass it as an argument: `bash -c '… \"$1\"' - {item}`"
    return subject.finding(
        Severity.ERROR if item.decides else Severity.WARNING,
        "item-quoted",
        item.line,
        f"`{{item}}` arrives quoted, and stands inside quotes: {effect}",
        hint,
    )


def expectations_can_fail(
    _view: VerifyView, subject: ShellSubject, contract: Contract
) -> Iterator[Finding]:
    """An expectation that says nothing, or that can never be judged."""
    for expectation in contract.expectations:
        kind, value = expectation.kind, expectation.value
        line = max(expectation.line - subject.line, 0)
        none = kind is ExpectationKind.TESTS_AT_LEAST and value == 0
        if none or (kind in _CONTAINS and value == ""):
            yield subject.warning(
                "expectation-always-holds",
                line,
                f"`{expectation}` always holds",
                "say what must be there, or delete the line",
            )
        if kind is ExpectationKind.EXIT_CODE and value in _NEVER_KEPT:
            yield subject.warning(
                "exit-code-never-kept",
                line,
                f"exit code {value} means that a command could not run, which is judged as unknown",
                "test for the command instead: `! command -v NAME`",
            )


def timeouts(view: VerifyView) -> Iterator[Finding]:
    """Deadlines that leave no time, or more time for the check than for the work."""
    for step in view.plan.steps:
        contract_s = step.contract.timeout_s if step.contract else None
        if step.timeout_s <= 0 or (contract_s is not None and contract_s <= 0):
            yield view.error(
                "timeout-empty",
                view.line_of(step, "timeout"),
                "the timeout leaves no time at all",
                "name a positive time, such as `10 minutes`",
                step.id,
            )
        elif contract_s is not None and contract_s > step.timeout_s:
            yield view.warning(
                "timeout-order",
                view.line_of(step, "timeout"),
                f"the contract may take {contract_s:g} s, the whole step only {step.timeout_s:g} s",
                "lengthen `**timeout:**` or shorten `**contract_timeout:**`",
                step.id,
            )


def external_effects(
    _view: VerifyView, subject: ShellSubject, contract: Contract
) -> Iterator[Finding]:
    """Contracts that reach outside: forbidden by their own options, or not marked as such."""
    external = contract.effects is Effects.EXTERNAL
    if external and contract.red_first is RedFirst.REQUIRED:
        yield subject.warning(
            "red-first-external",
            0,
            "`effects: external` is judged once, but `red_first: required` judges it twice",
            "drop one of the two options",
        )
    call = next((c for c in subject.facts.calls if is_networked(c.name, c.args)), None)
    if call is not None and contract.network is not True:
        said = "says `network: no`" if contract.network is False else "does not ask for it"
        yield subject.warning(
            "network-needed",
            call.line,
            f"`{call.name}` needs the network, but the contract {said}",
            "add `**network:** yes`, or check without it: a sandbox has none otherwise",
        )
    if call is not None and not external:
        yield subject.note(
            "looks-external",
            call.line,
            f"`{call.name}` asks the world outside; its answer changes by itself",
            "add `**effects:** external` if it should be judged only once",
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
