"""What is known of a case after it was played, as a value that travels between processes."""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from signoff.domain.verdict import Isolation
from truth.arena import Arena, Happened, SetUpFailed, clear
from truth.case import Case
from truth.comparison import complaints, excerpt, is_accepted, promised, without_the_line
from truth.corpus import Filed


@dataclass(frozen=True)
class Report:
    """One case under one isolation; `complaints` is empty when it came out as it should."""

    corpus: str
    group: str
    name: str
    isolation: str
    accepted: bool
    complaints: tuple[str, ...]
    ledger: tuple[str, ...]
    duration_s: float

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> Report:
        """What `to_json` wrote."""
        data: dict[str, Any] = json.loads(line)
        data["complaints"], data["ledger"] = tuple(data["complaints"]), tuple(data["ledger"])
        return cls(**data)


def failed(filed: Filed, isolation: Isolation, why: str) -> Report:
    """A case that never came to its end."""
    place = (filed.corpus.value, filed.group, filed.case.name, isolation.value)
    return Report(*place, accepted=False, complaints=(why,), ledger=(), duration_s=0.0)


def play(filed: Filed, isolation: Isolation) -> Report:
    """Set the case up in a folder of its own, play it, compare, and clear up."""
    started_s = time.monotonic()
    case, found = filed.case, []
    line = case.lines.get(promised(isolation), "")
    try:
        if line:
            found = without_the_line(case, line, _played(case, isolation))
            case = _with(case, line)
        happened = _played(case, isolation)
    except SetUpFailed as failure:
        return failed(filed, isolation, f"the case could not be set up: {failure}")
    found += complaints(case, happened, isolation)
    return Report(
        corpus=filed.corpus.value,
        group=filed.group,
        name=filed.case.name,
        isolation=isolation.value,
        accepted=is_accepted(case, happened),
        complaints=tuple(found),
        ledger=tuple(excerpt(happened.entries)) if found else (),
        duration_s=round(time.monotonic() - started_s, 3),
    )


def _played(case: Case, isolation: Isolation) -> Happened:
    base = Path(tempfile.mkdtemp(prefix="signoff-truth-"))
    try:
        return Arena(base.resolve(), case, isolation).play()
    finally:
        clear(base)


def _with(case: Case, line: str) -> Case:
    if line.startswith("**"):
        return replace(case, fields=f"{case.fields}{line}\n")
    return replace(case, sandbox=f"{case.sandbox}{line}\n")
