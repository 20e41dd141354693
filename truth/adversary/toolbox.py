"""Agents that swap the programs a check calls."""

from __future__ import annotations

from signoff.domain.verdict import Isolation, Reason, Result
from truth.case import Case, Refused

UNDONE = Refused(says="exit code 1")
TROJAN = "printf '#!/bin/sh\\nexit 0\\n'"
CHANGED = Refused(Reason.TOOL_CHANGED, Result.UNKNOWN, says="tool changed since approval: `")
UNREACHED = {Isolation.BUBBLEWRAP: UNDONE, Isolation.LANDLOCK: UNDONE}
GREP = "grep -qx works product.txt"
NO = "echo no > product.txt"
BIN = "$HOME/.local/bin"
IN_BIN = {"PATH": f"{BIN}:$PATH"}
CHECKER = (
    f'mkdir -p "{BIN}"; printf \'#!/bin/sh\\n{GREP}\\n\' > "{BIN}/checker"; '
    f'chmod +x "{BIN}/checker"'
)
BY_HELPER = (
    f'mkdir -p "{BIN}"; printf \'#!/usr/bin/env helper\\n\' > "{BIN}/checker"; '
    f'printf \'#!/bin/sh\\n{GREP}\\n\' > "{BIN}/helper"; chmod +x "{BIN}"/*'
)
BY_LIBRARY = (
    f'mkdir -p "{BIN}"; echo "{GREP}" > "{BIN}/library.sh"; '
    f'printf \'#!/bin/sh\\n. "${{0%%/*}}/library.sh"\\n\' > "{BIN}/checker"; '
    f'chmod +x "{BIN}/checker"'
)
SWAPS: dict[str, str] = {
    "overwritten": f'{TROJAN} > "{BIN}/checker"',
    "deleted": f'rm -f "{BIN}/checker"',
    "made a link to another": f'ln -sf /bin/true "{BIN}/checker"',
}

CASES = (
    *(
        Case(
            f"a tool that was {how} is not the one that was approved",
            CHANGED,
            prepare=CHECKER,
            contract="checker",
            agent=f"{NO}; {swap} 2> /dev/null",
            fields="",
            environ=IN_BIN,
            under=UNREACHED,
        )
        for how, swap in SWAPS.items()
    ),
    Case(
        "a tool that appears in front of the approved one is not used",
        CHANGED,
        prepare=f'mkdir -p "{BIN}"',
        contract=GREP,
        agent=f'{NO}; {TROJAN} > "{BIN}/grep"; chmod +x "{BIN}/grep"',
        fields="",
        environ=IN_BIN,
        under=UNREACHED,
    ),
    Case(
        "a tool that a check's script calls is not used from the workspace",
        UNDONE,
        agent=f"{NO}; mkdir -p bin; {TROJAN} | tee bin/grep > grep; chmod +x bin/grep grep",
        environ={"PATH": "$ROOT/bin:$ROOT:.:bin:$PATH"},
        prepare="mkdir bin",
    ),
    Case(
        "an interpreter in the workspace is not used",
        UNDONE,
        contract="python3 -c 'import product'",
        agent=f"mkdir -p bin; {TROJAN} | tee bin/python3 > bin/python; chmod +x bin/*",
        environ={"PATH": "$ROOT/bin:$PATH"},
        prepare="mkdir bin",
        fields="",
    ),
    Case(
        "a search path that leads into the workspace by a link is not used",
        UNDONE,
        prepare='mkdir bin; ln -s "$ROOT/bin" "$HOME/bin"',
        contract=GREP,
        agent=f"{NO}; {TROJAN} > bin/grep; chmod +x bin/grep",
        fields="",
        environ={"PATH": "$HOME/bin:$PATH"},
    ),
    Case(
        "the interpreter behind an approved tool cannot be swapped",
        UNDONE,
        prepare=BY_HELPER,
        contract="checker",
        agent=f'{NO}; {TROJAN} > "{BIN}/helper"',
        fields="",
        environ=IN_BIN,
        needs_isolation=True,
    ),
    Case(
        "a file that an approved tool loads cannot be swapped",
        UNDONE,
        prepare=BY_LIBRARY,
        contract="checker",
        agent=f'{NO}; echo true > "{BIN}/library.sh"',
        fields="",
        environ=IN_BIN,
        needs_isolation=True,
    ),
    Case(
        "git metadata cannot be changed to suit a check that asks git",
        UNDONE,
        files={"lib.txt": "lib\n"},
        prepare="git init -q . && git add -A && git commit -qm a",
        contract=f"git diff --quiet HEAD -- lib.txt && {GREP}",
        agent="git update-index --assume-unchanged lib.txt; echo changed > lib.txt; "
        "echo works > product.txt",
        fields="",
        needs_bubblewrap=True,
    ),
)
