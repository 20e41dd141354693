"""Reads a contract: one fenced command, the expectations below it, and its options."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from signoff.domain.plan import (
    Contract,
    Effects,
    Expectation,
    ExpectationKind,
    Holds,
    JudgeIn,
    RedFirst,
)
from signoff.planfile.blocks import FencedBlock, LineKind
from signoff.planfile.fields import Block, FieldReader, FieldSet
from signoff.planfile.findinglog import did_you_mean
from signoff.planfile.values import duration_s, yes_no

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RED_OFF = r"(?is)off(?:[ \t]*\((.*)\)|[ \t]*[:,–—-][ \t]*(.*))?"
_HELDOUT = re.compile(r"\w[\w.-]*")
_PERCENT = re.compile(r"(?:>=[ \t]*)?(\d{1,3})[ \t]*%")
_NUMBER_KINDS = {
    "exit_code ==": (ExpectationKind.EXIT_CODE, 255),
    "tests >=": (ExpectationKind.TESTS_AT_LEAST, 999_999_999),
}
_TEXT_KINDS = {
    "stdout contains": ExpectationKind.STDOUT_CONTAINS,
    "stderr contains": ExpectationKind.STDERR_CONTAINS,
    "stdout equals": ExpectationKind.STDOUT_EQUALS,
}
_NUMBER = re.compile(r"(exit_code|tests)[ \t]*(==|>=)[ \t]*([0-9]{1,9})")
_TEXT = re.compile(r"(stdout|stderr)[ \t]+(contains|equals)[ \t]+(\".*\")", re.DOTALL)
_LOOKS_LIKE_ONE = (
    r"(?is)[^\w]*(?:(?:exit|return|status)[ _-]?(?:code|status)?|rc|std(?:out|err)|output|tests?)"
    r"[`*_]*[ \t]*(?:[=!<>~:]|is\b|equals?\b|contains?\b|includes?\b|matches\b|must\b)"
    r"|.*\bexit_?code\b|std(?:out|err)\b|.*[=<>!]=[ \t]*[0-9]+[^\w]*$"
)

EXPECTATION_HINT = (
    'write one of `exit_code == N`, `stdout contains "…"`, `stderr contains "…"`, '
    '`stdout equals "…"`, `tests >= N`'
)


def read_contract(fields: FieldReader, block: Block, found: FieldSet) -> Contract | None:
    """The contract in a field, with the options that stand beside it."""
    fence = single_fence(fields, block)
    if fence is None:
        return None
    if not block.name:
        fields.check_seen(fence.start, block.end)
    findings = fields.findings
    options: dict[str, Any] = {}
    for name, field in found.fields.items():
        attribute, read = _OPTIONS.get(name, ("", None))
        value = read(fields, field) if read is not None else None
        if value is not None:
            options[attribute] = value
    if options.get("red_first") is RedFirst.OFF:
        options["red_first_reason"] = _reason(fields, found.fields["red_first"])
    return Contract(
        command="\n".join(fence.content),
        expectations=_expectations(fields, block, fence),
        line=findings.number(fence.start + (1 if fence.content else 0)),
        **options,
    )


def single_fence(fields: FieldReader, block: Block) -> FencedBlock | None:
    """The one fenced block of a field; says so when there is none, or more than one."""
    fences = fields.fences_in(block)
    name = block.name or "contract"
    if not fences:
        fields.findings.error(
            "contract-without-fence",
            block.line,
            f"`{name}` has no fenced block, so there is no command to run",
            "put the command below it between ```shell and ```",
        )
        return None
    if len(fences) > 1:
        fields.findings.error(
            "several-contracts",
            fences[1].start,
            f"`{name}` has {len(fences)} fenced blocks; which one counts is unclear",
            "join the commands with `&&` in one block",
        )
    return fences[0]


def _expectations(fields: FieldReader, block: Block, fence: FencedBlock) -> tuple[Expectation, ...]:
    found: list[Expectation] = []
    findings = fields.findings
    stray: list[int] = []
    if block.name and block.rest:
        stray.append(block.line)
    for i in range(fields.below(block), block.end):
        if fields.kinds[i] not in (LineKind.TEXT, LineKind.CODE):
            continue
        text = fields.lines[i].strip(" \t")
        if i < fence.start:
            stray += [i] if block.name else []
            continue
        seen = read_expectation(text)
        if isinstance(seen, tuple):
            expectation = Expectation(*seen, line=findings.number(i))
            found.append(expectation)
            if always_holds(expectation):
                findings.warning(
                    "expectation-always-holds",
                    i,
                    f"`{expectation}` always holds",
                    "say what must be there, or delete the line",
                )
        elif seen is not None:
            findings.error("bad-expectation", i, f"`{text}`: {seen}", EXPECTATION_HINT)
        else:
            stray.append(i)
    if stray:
        findings.warning(
            "stray-text",
            stray[0],
            "this text is neither an expectation nor a field; nobody acts on it",
            EXPECTATION_HINT,
        )
    return tuple(found)


Seen = tuple[ExpectationKind, str | int] | str | None


def read_expectation(text: str) -> Seen:
    """The expectation, or what is wrong with it, or None when the line is nothing of the kind."""
    number = _NUMBER.fullmatch(text)
    if number and f"{number[1]} {number[2]}" in _NUMBER_KINDS:
        kind, most = _NUMBER_KINDS[f"{number[1]} {number[2]}"]
        value = int(number[3])
        return (kind, value) if value <= most else f"{value} is more than {most}"
    quoted = _TEXT.fullmatch(text)
    if quoted and f"{quoted[1]} {quoted[2]}" in _TEXT_KINDS:
        return _text_expectation(_TEXT_KINDS[f"{quoted[1]} {quoted[2]}"], quoted[3])
    return "it is not understood" if re.match(_LOOKS_LIKE_ONE, text) else None


def _text_expectation(kind: ExpectationKind, quoted: str) -> Seen:
    try:
        value = json.loads(quoted, strict=False)
        value.encode("utf-8")
    except ValueError:
        return 'the text is not quoted like `"…"` with `\\"`, `\\\\` and `\\n` as escapes'
    return kind, value


def always_holds(expectation: Expectation) -> bool:
    """`tests >= 0`, or output that contains nothing."""
    if expectation.kind is ExpectationKind.TESTS_AT_LEAST:
        return expectation.value == 0
    return expectation.value == "" and expectation.kind is not ExpectationKind.STDOUT_EQUALS


Reader = Callable[[FieldReader, Block], Any]
"""Reads the value of a field; None with a finding where it cannot be used."""


def bad_value(fields: FieldReader, block: Block, value: str, hint: str) -> None:
    """Complain about a value that a field does not allow."""
    shown = f"`{block.name}` cannot be `{value}`" if value else f"`{block.name}` has no value"
    fields.findings.error("bad-value", block.line, shown, hint)


def one_of(read: Callable[[str], Any], hint: str) -> Reader:
    """The reader of a field with one value that this function understands."""

    def reader(fields: FieldReader, block: Block) -> Any:
        value = fields.value(block)
        found = read(value)
        if found is None:
            bad_value(fields, block, value, hint)
        return found

    return reader


read_duration = one_of(duration_s, "write a number and a unit: `60 s`, `10 minutes`, `1 h`")


def read_paths(fields: FieldReader, block: Block) -> tuple[str, ...]:
    """Files and globs, each spelled as the workspace spells it."""
    found = tuple(fields.path(i, item) for i, item in fields.items(block))
    if not found:
        bad_value(fields, block, "", "name files or globs, or delete the field")
    return found


def _env(fields: FieldReader, block: Block) -> tuple[str, ...]:
    names = []
    for _, name in fields.items(block, split_bullets=True):
        if _ENV_NAME.fullmatch(name):
            names.append(name)
        else:
            bad_value(fields, block, name, "name variables only: `HOME, API_URL`")
    return tuple(names)


def _choice(choices: type[StrEnum]) -> Reader:
    def read(fields: FieldReader, block: Block) -> StrEnum | None:
        value = fields.value(block)
        words = [choice.value for choice in choices]
        if value.lower() in words:
            return choices(value.lower())
        otherwise = "write " + " or ".join(f"`{word}`" for word in words)
        bad_value(fields, block, value, did_you_mean(value, words, otherwise))
        return None

    return read


def _red_first(fields: FieldReader, block: Block) -> RedFirst | None:
    if re.fullmatch(_RED_OFF, fields.value(block)):
        return RedFirst.OFF
    chosen: RedFirst | None = _choice(RedFirst)(fields, block)
    return chosen


def _reason(fields: FieldReader, block: Block) -> str:
    """The reason for `red_first: off`."""
    off = re.fullmatch(_RED_OFF, fields.value(block))
    reason = (off[1] or off[2] or "").strip() if off else ""
    if not reason:
        fields.findings.warning(
            "red-first-off-without-reason",
            block.line,
            "`red_first: off` gives no reason",
            "write `off (why the contract may hold before the work)`",
        )
    return reason


def _heldout(value: str) -> str | None:
    return value if _HELDOUT.fullmatch(value) else None


def _percent(value: str) -> int | None:
    found = re.fullmatch(_PERCENT, value)
    return int(found[1]) if found and 0 < int(found[1]) <= 100 else None


_switch = one_of(yes_no, "write `yes` or `no`")


# Field: what the contract calls it, and how it is read.
_OPTIONS: dict[str, tuple[str, Reader]] = {
    "contract_timeout": ("timeout_s", read_duration),
    "network": ("network", _switch),
    "env": ("env", _env),
    "writes": ("writes", read_paths),
    "effects": ("effects", _choice(Effects)),
    "holds": ("holds", _choice(Holds)),
    "red_first": ("red_first", _red_first),
    "may_change": ("may_change", read_paths),
    "may_extend": ("may_extend", read_paths),
    "may_shrink": ("may_shrink", _switch),
    "judge_in": ("judge_in", _choice(JudgeIn)),
    "heldout": ("heldout", one_of(_heldout, "name one held-out check")),
    "strength": ("strength", one_of(_percent, "write a share from 1 % to 100 %: `>= 80%`")),
}
