"""Ending of `node --test`, in its own and in its TAP form: eight lines from `# tests 5` on."""

from __future__ import annotations

import re
from collections.abc import Sequence

from signoff.domain.counts import TestCounts

_LINE = re.compile(r"(?:#|ℹ) ([a-z_]+) ([0-9]{1,9})(?:\.[0-9]+)?")
_KEYS = ("tests", "suites", "pass", "fail", "cancelled", "skipped", "todo", "duration_ms")


def read_node(lines: Sequence[str]) -> list[TestCounts]:
    """One for each ending; all eight lines, in their order, or it is not the runner's."""
    found = []
    for i, line in enumerate(lines):
        if " tests " in line:
            block = [_LINE.fullmatch(each) for each in lines[i : i + len(_KEYS)]]
            said = {m[1]: int(m[2]) for m in block if m}
            if tuple(said) == _KEYS:
                failed, skipped = said["fail"] + said["cancelled"], said["skipped"] + said["todo"]
                found.append(TestCounts("node", said["pass"], failed, skipped))
    return found
