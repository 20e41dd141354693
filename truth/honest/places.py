"""Where the workspace and its plan lie, and how the plan is written."""

from __future__ import annotations

from truth.case import CHECK, PROTECTS_TESTS, WORK, Accepted, Case, Door
from truth.plans import plan, step

PLAIN = plan(step("Write the product", CHECK, PROTECTS_TESTS))
FOLDERS: dict[str, str] = {
    "spaces": "my  work",
    "letters of other alphabets": "проект 作業",
    "quotes": 'it\'s "quoted"',
    "a dollar sign and backticks": "$HOME `id`",
    "a leading dash": "-work",
    "glob characters": "[work]*",
    "a newline": "two\nlines",
    "a colon": "a:b",
    "a percent sign and a hash": "100%#1",
}
NUMBERED = """\
# Numbers as people write them

## Steps

### 1. First
**target:** coder
**task:** Write.
**contract:**
```
grep -qx works product.txt
```

### 2.1. Second
**target:** coder
**task:** Write more.
**contract:**
```
test -e more.txt
```

### 3–N. The rest
**target:** coder
**task:** Write the rest.
**contract:**
```
test -e rest.txt
```

### N+1. The end
**target:** coder
**task:** End it.
**contract:**
```
test -e end.txt
```
"""
ODDLY_WRITTEN = """\
# Fields in any case

## Steps

### 1. Write the product

**TARGET:** coder
**Task:**   Write
  the product, *carefully*:

  * one
  * two

**Contract:**
~~~~sh
grep -qx works product.txt
~~~~
exit_code == 0
"""

CASES = (
    *(
        Case(f"a workspace's path may have {what}", Accepted(attempts=1), folder=folder)
        for what, folder in FOLDERS.items()
    ),
    Case(
        "an odd path works on the command line too",
        Accepted(attempts=1),
        folder="it's my `work` $1 é",
        door=Door.COMMAND,
    ),
    Case(
        "a workspace may be reached through a link",
        Accepted(attempts=1),
        prepare='ln -s "$PWD" ../link',
        start_in="../link",
    ),
    Case(
        "a plan may lie in the vault",
        Accepted(attempts=1),
        plan_path=".harness/PLAN.md",
    ),
    Case(
        "a plan may lie in a folder of plans",
        Accepted(attempts=1),
        plan_path="docs/plans/first plan.md",
    ),
    Case(
        "a plan may lie outside the workspace",
        Accepted(attempts=1),
        plan_path="../plans/PLAN.md",
    ),
    Case(
        "a plan may be called by its name",
        Accepted(attempts=1),
        files={".harness/PLAN-fix.md": PLAIN},
        plan_path="fix",
    ),
    Case(
        "a plan may be given from a folder below",
        Accepted(attempts=1),
        prepare="git init -q",
        files={"src/deep/x": ""},
        start_in="src/deep",
        plan_path="../../PLAN.md",
    ),
    Case("a plan may have DOS line ends", Accepted(1), plan=PLAIN.replace("\n", "\r\n")),
    Case("a plan may begin with a byte order mark", Accepted(1), plan="\ufeff" + PLAIN),
    Case(
        "a plan may have a byte order mark and DOS line ends",
        Accepted(1),
        plan=("\ufeff" + PLAIN).replace("\n", "\r\n"),
    ),
    Case(
        "a contract of several lines works with DOS line ends",
        Accepted(1),
        plan=plan(
            step("Write", "set -e\nfor f in product.txt; do\n  grep -qx works $f\ndone")
        ).replace("\n", "\r\n"),
    ),
    Case("a plan may lack its last line end", Accepted(1), plan=PLAIN.rstrip("\n")),
    Case(
        "numbers of steps are as people write them",
        Accepted(4),
        plan=NUMBERED,
        agent=f"{WORK}; touch more.txt rest.txt end.txt",
    ),
    Case(
        "fields may be written in any case and fences in any style", Accepted(1), plan=ODDLY_WRITTEN
    ),
    Case(
        "a plan may be written in any language",
        Accepted(1),
        plan=plan(
            step("製品を書く 🚀", "grep -qx 動く 製品.txt"),
            head="**Context:** Üben, упражнение, 練習.\n",
        ),
        agent="echo 動く > 製品.txt",
    ),
    Case(
        "marks and a status from an earlier time are no obstacle",
        Accepted(1),
        plan=PLAIN.replace("### 1. ", "### 1. ✅ ").replace("status: draft", "status: done"),
    ),
    Case(
        "a plan may say more than signoff reads",
        Accepted(1),
        plan=PLAIN.replace(
            "## Steps",
            "## Background\n\nSome prose.\n\n| a | b |\n|---|---|\n\n- [ ] not a step\n\n## Steps",
        )
        + "\n## Notes\n\nMore prose.\n",
    ),
    Case(
        "marks are written without changing another byte",
        Accepted(1),
        plan=PLAIN + "\n\n  trailing spaces   \n\ttab\n",
        prepare='cp PLAN.md "$LOOT/before"',
        afterwards="sed -e 's/^### 1. ✅ /### 1. /' -e 's/^status: done/status: draft/' PLAN.md "
        '| cmp - "$LOOT/before"',
    ),
    Case(
        "a plan may have thirty steps",
        Accepted(attempts=30),
        plan=plan(*(step(f"Write part {n}", f"test -e part{n}") for n in range(1, 31))),
        agent='touch "part$SIGNOFF_STEP"',
    ),
)
