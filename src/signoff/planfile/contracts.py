"""Reads a contract: one fenced command, the expectations below it, and its options."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from enum import StrEnum
from itertools import combinations
from typing import Any

from signoff.domain.globs import plain_path
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
from signoff.planfile.findinglog import FindingLog, did_you_mean
from signoff.planfile.values import duration_s, yes_no

_SHELLS = frozenset({"", "shell", "bash", "sh", "console", "shellscript", "zsh"})
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RED_OFF = re.compile(r"off(?:[ \t]*\((.*)\)|[ \t]*[:,–—-][ \t]*(.*))?", re.IGNORECASE | re.DOTALL)
_HELDOUT = re.compile(r"\w[\w.-]*")
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
_LOOKS_LIKE_ONE = re.compile(
    r"[^\w]*(?:(?:exit|return|status)[ _-]?(?:code|status)?|rc|std(?:out|err)|output|tests?)"
    r"[`*_]*[ \t]*(?:[=!<>~:]|is\b|equals?\b|contains?\b|includes?\b|matches\b|must\b)"
    r"|.*\bexit_?code\b|std(?:out|err)\b|.*[=<>!]=[ \t]*[0-9]+[^\w]*$",
    re.IGNORECASE | re.DOTALL,
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
    findings = fields.findings
    if not "".join(fence.content).strip(" \t"):
        findings.error(
            "empty-contract", fence.start, "the contract's fence is empty", "write a command"
        )
    # An info string may be nothing but space that is none to CommonMark, such as U+00A0.
    language = next(iter(fence.info.split()), "").casefold()
    if language not in _SHELLS:
        findings.warning(
            "contract-language",
            fence.start,
            f"the fence says `{language}`, but a contract is run by bash",
            "write ```shell, and call the interpreter in the command",
        )
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
    found: list[tuple[int, Expectation]] = []
    findings = fields.findings
    stray: list[int] = []
    if block.name and block.rest:
        _misplaced(fields, block.line, block.rest, stray)
    for i in range(fields.below(block), block.end):
        if fields.kinds[i] not in (LineKind.TEXT, LineKind.CODE):
            continue
        text = fields.lines[i].strip(" \t")
        if i < fence.start:
            if block.name:
                _misplaced(fields, i, text, stray)
            continue
        seen = read_expectation(text)
        if isinstance(seen, tuple):
            found.append((i, Expectation(*seen, line=findings.number(i))))
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
    if len(found) > 1:
        check_contradictions(findings, found)
    return tuple(expectation for _, expectation in found)


def _misplaced(fields: FieldReader, i: int, text: str, stray: list[int]) -> None:
    """Text between the field's name and its fence."""
    if read_expectation(text) is None:
        stray.append(i)
    else:
        fields.findings.error(
            "bad-expectation",
            i,
            f"`{text}` stands above the command",
            "move it below the contract's closing fence",
        )


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
    return "it is not understood" if _LOOKS_LIKE_ONE.match(text) else None


def _text_expectation(kind: ExpectationKind, quoted: str) -> Seen:
    try:
        value = json.loads(quoted, strict=False)
        value.encode("utf-8")
    except ValueError:
        return 'the text is not quoted like `"…"` with `\\"`, `\\\\` and `\\n` as escapes'
    return kind, value


def check_contradictions(findings: FindingLog, found: list[tuple[int, Expectation]]) -> None:
    """Complain about pairs that no output can satisfy."""
    for (_, one), (i, other) in combinations(found[:50], 2):
        if _contradict(one, other) or _contradict(other, one):
            findings.error(
                "contradicting-expectations",
                i,
                f"`{one}` and `{other}` never hold together",
                "keep the one that is meant",
            )


def _contradict(one: Expectation, other: Expectation) -> bool:
    if one.kind is other.kind:
        single = one.kind in (ExpectationKind.EXIT_CODE, ExpectationKind.STDOUT_EQUALS)
        return single and one.value != other.value
    if one.kind is ExpectationKind.STDOUT_EQUALS and other.kind is ExpectationKind.STDOUT_CONTAINS:
        # A command's last newline may or may not be part of what is compared.
        return str(other.value) not in f"{one.value}\n"
    return False


Reader = Callable[[FieldReader, Block], Any]
"""Reads the value of a field; None with a finding where it cannot be used."""


def bad_value(fields: FieldReader, block: Block, value: str, hint: str) -> None:
    """Complain about a value that a field does not allow."""
    shown = f"`{block.name}` cannot be `{value}`" if value else f"`{block.name}` has no value"
    fields.findings.error("bad-value", block.line, shown, hint)


def read_duration(fields: FieldReader, block: Block) -> float | None:
    """Seconds."""
    value = fields.value(block)
    seconds = duration_s(value)
    if seconds is None:
        fields.findings.error(
            "bad-duration",
            block.line,
            f"`{block.name}: {value}` is not a time",
            "write a number and a unit: `60 s`, `10 minutes`, `1 h`",
        )
    return seconds


def read_paths(fields: FieldReader, block: Block) -> tuple[str, ...]:
    """Files and globs, each spelled as the workspace spells it."""
    found = tuple(plain_path(item) or item for _, item in fields.items(block))
    if not found:
        bad_value(fields, block, "", "name files or globs, or delete the field")
    return found


def _switch(fields: FieldReader, block: Block) -> bool | None:
    value = fields.value(block)
    answer = yes_no(value)
    if answer is None:
        bad_value(fields, block, value, "write `yes` or `no`")
    return answer


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
    if _RED_OFF.fullmatch(fields.value(block)):
        return RedFirst.OFF
    chosen: RedFirst | None = _choice(RedFirst)(fields, block)
    return chosen


def _reason(fields: FieldReader, block: Block) -> str:
    """Why red first is off."""
    off = _RED_OFF.fullmatch(fields.value(block))
    reason = (off[1] or off[2] or "").strip() if off else ""
    if not reason:
        fields.findings.warning(
            "red-first-off-without-reason",
            block.line,
            "`red_first: off` gives no reason",
            "write `off (why the contract may hold before the work)`",
        )
    return reason


def _heldout(fields: FieldReader, block: Block) -> str | None:
    value = fields.value(block)
    if _HELDOUT.fullmatch(value):
        return value
    bad_value(fields, block, value, "name one held-out check")
    return None


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
    "heldout": ("heldout", _heldout),
}
