"""The lines below a contract's fence: what the command must show."""

from __future__ import annotations

import json
import re
from itertools import combinations

from signoff.domain.plan import Expectation, ExpectationKind
from signoff.planfile.findinglog import FindingLog

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
