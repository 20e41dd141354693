"""Tests whose answer is written in the contract itself, such as `[ 1 -eq 1 ]`."""

from __future__ import annotations

import operator
from collections.abc import Callable

from signoff.planfile.verify.script import Word

_STRINGS: dict[str, Callable[[str, str], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
}
_NUMBERS: dict[str, Callable[[int, int], bool]] = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-lt": operator.lt,
    "-le": operator.le,
    "-gt": operator.gt,
    "-ge": operator.ge,
}
_ALWAYS_THERE = frozenset((".", "./", "/", "..", "/dev/null", "/tmp"))


def known_status(words: tuple[Word, ...]) -> frozenset[int] | None:
    """The only possible status of a test, None when it depends on anything outside its text."""
    if words and words[-1].text == "]":
        words = words[:-1]
    if not all(w.literal for w in words) or any(c in w.text for w in words for c in "*?{"):
        return None
    holds = _holds([w.text for w in words])
    return None if holds is None else frozenset((0 if holds else 1,))


def _holds(texts: list[str]) -> bool | None:
    if texts[:1] == ["!"] and len(texts) > 1:
        inner = _holds(texts[1:])
        return None if inner is None else not inner
    if len(texts) < 2:
        return bool(texts and texts[0])
    if len(texts) == 2:
        return _unary(texts[0], texts[1])
    if len(texts) == 3:
        return _binary(*texts)
    return None


def _unary(option: str, operand: str) -> bool | None:
    if option in ("-n", "-z"):
        return bool(operand) == (option == "-n")
    if option == "-e" and operand in _ALWAYS_THERE:
        return True
    if option == "-d" and operand in _ALWAYS_THERE - {"/dev/null"}:
        return True
    return None


def _binary(left: str, option: str, right: str) -> bool | None:
    if option in _STRINGS:
        return _STRINGS[option](left, right)
    if option in _NUMBERS and _is_number(left) and _is_number(right):
        return _NUMBERS[option](int(left), int(right))
    return None


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isascii() and text.removeprefix("-").isdigit()
