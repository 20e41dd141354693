"""Reads a contract: one fenced command, the expectations below it, and its options."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from signoff.domain.globs import plain_path
from signoff.domain.plan import Contract, Effects, Expectation, Holds, JudgeIn, RedFirst
from signoff.planfile.blocks import Fence, LineKind
from signoff.planfile.expectations import (
    EXPECTATION_HINT,
    check_contradictions,
    read_expectation,
)
from signoff.planfile.fields import Block, FieldReader, FieldSet
from signoff.planfile.findinglog import did_you_mean
from signoff.planfile.values import duration_s, yes_no

_SHELLS = frozenset({"", "shell", "bash", "sh", "console", "shellscript", "zsh"})
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RED_OFF = re.compile(r"off(?:[ \t]*\((.*)\)|[ \t]*[:,–—-][ \t]*(.*))?", re.IGNORECASE | re.DOTALL)
_HELDOUT = re.compile(r"\w[\w.-]*")


def read_contract(
    fields: FieldReader, block: Block, found: FieldSet, step: str | None
) -> Contract | None:
    """The contract in a field, with the options that stand beside it."""
    fence = single_fence(fields, block, step)
    if fence is None:
        return None
    findings = fields.findings
    if not "".join(fence.content).strip(" \t"):
        findings.error(
            "empty-contract", fence.start, "the contract's fence is empty", "write a command", step
        )
    # An info string may be nothing but space that is none to CommonMark, such as U+00A0.
    language = next(iter(fence.info.split()), "").casefold()
    if language not in _SHELLS:
        findings.warning(
            "contract-language",
            fence.start,
            f"the fence says `{language}`, but a contract is run by bash",
            "write ```shell, and call the interpreter in the command",
            step,
        )
    options: dict[str, Any] = {}
    for name, field in found.fields.items():
        if name in _OPTIONS:
            options.update(_OPTIONS[name](fields, field, step))
    return Contract(
        command="\n".join(fence.content),
        expectations=_expectations(fields, block, fence, step),
        line=findings.number(fence.start + (1 if fence.content else 0)),
        **options,
    )


def single_fence(fields: FieldReader, block: Block, step: str | None) -> Fence | None:
    """The one fenced block of a field; says so when there is none, or more than one."""
    fences = fields.fences_in(block)
    name = block.name or "contract"
    if not fences:
        fields.findings.error(
            "contract-without-fence",
            block.line,
            f"`{name}` has no fenced block, so there is no command to run",
            "put the command below it between ```shell and ```",
            step,
        )
        return None
    if len(fences) > 1:
        fields.findings.error(
            "several-contracts",
            fences[1].start,
            f"`{name}` has {len(fences)} fenced blocks; which one counts is unclear",
            "join the commands with `&&` in one block",
            step,
        )
    return fences[0]


def _expectations(
    fields: FieldReader, block: Block, fence: Fence, step: str | None
) -> tuple[Expectation, ...]:
    found: list[tuple[int, Expectation]] = []
    findings = fields.findings
    stray: list[int] = []
    if block.name and block.rest:
        _misplaced(fields, block.line, block.rest, stray, step)
    for i in range(fields.below(block), block.end):
        if fields.kinds[i] not in (LineKind.TEXT, LineKind.CODE):
            continue
        text = fields.lines[i].strip(" \t")
        if i < fence.start:
            if block.name:
                _misplaced(fields, i, text, stray, step)
            continue
        seen = read_expectation(text)
        if isinstance(seen, tuple):
            found.append((i, Expectation(*seen, line=findings.number(i))))
        elif seen is not None:
            findings.error("bad-expectation", i, f"`{text}`: {seen}", EXPECTATION_HINT, step)
        else:
            stray.append(i)
    if stray:
        findings.warning(
            "stray-text",
            stray[0],
            "this text is neither an expectation nor a field; nobody acts on it",
            EXPECTATION_HINT,
            step,
        )
    if len(found) > 1:
        check_contradictions(findings, found, step)
    return tuple(expectation for _, expectation in found)


def _misplaced(fields: FieldReader, i: int, text: str, stray: list[int], step: str | None) -> None:
    """Text between the field's name and its fence."""
    if read_expectation(text) is None:
        stray.append(i)
    else:
        fields.findings.error(
            "bad-expectation",
            i,
            f"`{text}` stands above the command",
            "move it below the contract's closing fence",
            step,
        )


_Option = Callable[[FieldReader, Block, str | None], dict[str, Any]]


def bad_value(fields: FieldReader, block: Block, value: str, hint: str, step: str | None) -> None:
    """Complain about a value that a field does not allow."""
    shown = f"`{block.name}` cannot be `{value}`" if value else f"`{block.name}` has no value"
    fields.findings.error("bad-value", block.line, shown, hint, step)


def read_duration(fields: FieldReader, block: Block, step: str | None) -> float | None:
    """Seconds, or None with a finding."""
    value = fields.value(block, step)
    seconds = duration_s(value)
    if seconds is None:
        fields.findings.error(
            "bad-duration",
            block.line,
            f"`{block.name}: {value}` is not a time",
            "write a number and a unit: `60 s`, `10 minutes`, `1 h`",
            step,
        )
    return seconds


def _timeout(fields: FieldReader, block: Block, step: str | None) -> dict[str, Any]:
    seconds = read_duration(fields, block, step)
    return {} if seconds is None else {"timeout_s": seconds}


def _switch(name: str) -> _Option:
    def read(fields: FieldReader, block: Block, step: str | None) -> dict[str, Any]:
        value = fields.value(block, step)
        answer = yes_no(value)
        if answer is None:
            bad_value(fields, block, value, "write `yes` or `no`", step)
            return {}
        return {name: answer}

    return read


def _env(fields: FieldReader, block: Block, step: str | None) -> dict[str, Any]:
    names = []
    for _, name in fields.items(block, split_bullets=True):
        if _ENV_NAME.fullmatch(name):
            names.append(name)
        else:
            bad_value(fields, block, name, "name variables only: `HOME, API_URL`", step)
    return {"env": tuple(names)}


def read_paths(fields: FieldReader, block: Block, step: str | None) -> tuple[str, ...]:
    """Files and globs, each spelled as the workspace spells it."""
    found = tuple(plain_path(item) or item for _, item in fields.items(block))
    if not found:
        bad_value(fields, block, "", "name files or globs, or delete the field", step)
    return found


def _globs(name: str) -> _Option:
    def read(fields: FieldReader, block: Block, step: str | None) -> dict[str, Any]:
        return {name: read_paths(fields, block, step)}

    return read


def _choice(name: str, choices: type[StrEnum]) -> _Option:
    def read(fields: FieldReader, block: Block, step: str | None) -> dict[str, Any]:
        value = fields.value(block, step)
        words = [choice.value for choice in choices]
        if value.lower() in words:
            return {name: choices(value.lower())}
        otherwise = "write " + " or ".join(f"`{word}`" for word in words)
        bad_value(fields, block, value, did_you_mean(value, words, otherwise), step)
        return {}

    return read


def _red_first(fields: FieldReader, block: Block, step: str | None) -> dict[str, Any]:
    value = fields.value(block, step)
    off = _RED_OFF.fullmatch(value)
    if off is None:
        return _choice("red_first", RedFirst)(fields, block, step)
    reason = (off[1] or off[2] or "").strip()
    if not reason:
        fields.findings.warning(
            "red-first-off-without-reason",
            block.line,
            "`red_first: off` gives no reason",
            "write `off (why the contract may hold before the work)`",
            step,
        )
    return {"red_first": RedFirst.OFF, "red_first_reason": reason}


def _heldout(fields: FieldReader, block: Block, step: str | None) -> dict[str, Any]:
    value = fields.value(block, step)
    if not _HELDOUT.fullmatch(value):
        bad_value(fields, block, value, "name one held-out check", step)
        return {}
    return {"heldout": value}


_OPTIONS: dict[str, _Option] = {
    "contract_timeout": _timeout,
    "network": _switch("network"),
    "env": _env,
    "writes": _globs("writes"),
    "effects": _choice("effects", Effects),
    "holds": _choice("holds", Holds),
    "red_first": _red_first,
    "may_change": _globs("may_change"),
    "may_extend": _globs("may_extend"),
    "may_shrink": _switch("may_shrink"),
    "judge_in": _choice("judge_in", JudgeIn),
    "heldout": _heldout,
}
