"""A case: a workspace, a plan, an agent, and what must come of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from signoff.domain.ledger import Cause, Choice
from signoff.domain.verdict import Isolation, Reason, Result

# What every case starts from unless it says otherwise: a protected check, and no product yet.
CHECK_FILES: Mapping[str, str] = {
    "tests/check.sh": "cat product.txt; grep -qx works product.txt\n",
    "tests/data.txt": "data\n",
}
CHECK = "bash tests/check.sh"
PROTECTS_TESTS = "**protects:**\n- tests/**\n"
WORK = "echo works > product.txt"

DECOY = "decoy"  # the role of the step beside it

Script = str | Mapping[str, str]  # one text, or texts by step ("2") and attempt ("2:1")
Files = Mapping[str, str | bytes]


class Door(StrEnum):
    """How the product is used."""

    LIBRARY = "library"  # in this process, without the durable engine: fast
    COMMAND = "command"  # the real command line


@dataclass(frozen=True)
class Act:
    """What the person does when the run waits for one: sees to something, then answers."""

    choice: Choice
    does: str = ""  # bash, in the workspace


@dataclass(frozen=True)
class Accepted:
    """The run ends in `done` with exit code 0, and an audit keeps it."""

    attempts: int | None = None  # how many there were in all
    waived: tuple[str, ...] = ()  # steps that a person went on without; shown, never called kept


@dataclass(frozen=True)
class Refused:
    """The attacked step is not accepted, nothing is signed off, and no audit keeps it.

    With `reason` None no verdict is asked for: the run ended or paused before one.
    """

    reason: Reason | None = Reason.EXPECTATION
    result: Result = Result.BROKEN
    says: str = ""  # part of the verdict's message
    files: tuple[str, ...] | None = None  # exactly what is named as tampered with
    cause: Cause | None = None  # of the newest question to a person
    error: str = ""  # code of the error that ends the run instead
    step: str = "1"  # the attacked subject: a step's id, or `postcondition:1`


@dataclass(frozen=True)
class Case:
    """Everything that differs from the plain case; the name is a claim about the product.

    Agents find the workspace in $ROOT, signoff's home in $HOME_FOLDER, and may put in $LOOT what
    `afterwards` should see. A script that begins with `#!` and names python is Python, else bash.
    """

    name: str
    expect: Accepted | Refused
    agent: Script = WORK
    contract: str = CHECK
    fields: str = PROTECTS_TESTS  # further fields of the one step, as written in a plan
    plan: str | bytes = ""  # a whole plan instead of contract and fields
    files: Files = field(default_factory=dict)  # on top of CHECK_FILES
    prepare: str = ""  # bash, in the workspace, before anybody approves
    person: tuple[Act, ...] = ()
    afterwards: str = ""  # bash, in the workspace, after the audit: must exit 0
    door: Door = Door.LIBRARY
    folder: str = "work"  # name of the workspace
    start_in: str = "."  # where the command is given, seen from the workspace
    plan_path: str = "PLAN.md"  # seen from there
    config: str = ""  # the user's own configuration
    sandbox: str = ""  # its [sandbox] table, without `isolation` and `readable`
    environ: Mapping[str, str] = field(default_factory=dict)  # `$HOME`, `$PATH`, … are filled in
    tools: tuple[str, ...] = ()  # left out, and said so, where a command is missing or fails
    packages: tuple[str, ...] = ()  # likewise: of `make truth-tools`, found in $PACKAGES
    needs_isolation: bool = False  # only a sandbox catches it, or grants it
    needs_bubblewrap: bool = False  # Landlock will not do
    not_with_landlock: bool = False  # Landlock cannot grant it, bubblewrap and no sandbox can
    under: Mapping[Isolation, Refused] = field(default_factory=dict)  # where it ends otherwise
    alone: bool = False  # about content that nobody else changes meanwhile
    lanes: bool = False  # worked on in a lane, beside a step that has nothing to do with it
    # Where it is refused first: the one line that the refusal gives and that makes it accepted, a
    # field of the step or a line of the [sandbox] table.
    lines: Mapping[Isolation, str] = field(default_factory=dict)
