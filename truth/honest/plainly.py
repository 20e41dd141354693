"""Work that is simply done, perhaps not the first time."""

from __future__ import annotations

from signoff.domain.ledger import Choice
from truth.case import CHECK, PROTECTS_TESTS, WORK, Accepted, Act, Case, Door
from truth.plans import plan, step

RETRIED = plan(
    step("Write the product", CHECK, PROTECTS_TESTS, on_fail="retry(2), then escalate"),
)
TWO_STEPS = plan(
    step("Write the product", CHECK, PROTECTS_TESTS),
    step("Describe it", "grep -q product README.txt"),
)
PYTHON = """#!/usr/bin/env python3
from pathlib import Path

Path("product.txt").write_text("works\\n")
"""

CASES = (
    Case("the work is done and the check holds", Accepted(attempts=1)),
    Case("the same on the real command line", Accepted(attempts=1), door=Door.COMMAND),
    Case("an agent may be a Python program", Accepted(attempts=1), agent=PYTHON),
    Case(
        "an agent's bad exit code does not condemn good work",
        Accepted(attempts=1),
        agent=f"{WORK}; exit 1",
    ),
    Case(
        "an agent that a signal ended may have done its work",
        Accepted(attempts=1),
        agent=f"{WORK}; kill -9 $$",
    ),
    Case(
        "an honest failure is tried again",
        Accepted(attempts=2),
        plan=RETRIED,
        agent={"1:1": "echo not yet > product.txt", "1:2": WORK},
    ),
    Case(
        "an agent that comes nearer each time may succeed at its third attempt",
        Accepted(attempts=3),
        plan=RETRIED,
        agent={"1:1": "echo w > product.txt", "1:2": "echo wo > product.txt", "1:3": WORK},
    ),
    Case(
        "a retry on the command line finds what the attempt before left",
        Accepted(attempts=2),
        plan=RETRIED,
        agent={"1:1": "echo work > product.txt", "1:2": "sed -i s/work/works/ product.txt"},
        door=Door.COMMAND,
    ),
    Case(
        "the prompt of a retry says what was wrong",
        Accepted(attempts=2),
        plan=RETRIED,
        agent={"1:1": "echo nonsense > product.txt", "1:2": f"grep -q nonsense && {WORK}"},
    ),
    Case(
        "steps are done one after the other",
        Accepted(attempts=2),
        plan=TWO_STEPS,
        agent={"1": WORK, "2": "echo the product works > README.txt"},
    ),
    Case(
        "an agent that does the next step's work too is not punished for it",
        Accepted(attempts=2),
        plan=TWO_STEPS,
        agent={"1": f"{WORK}; echo the product works > README.txt", "2": "true"},
    ),
    Case(
        "a plan whose contract already held is done by a person's word, and said to prove nothing",
        Accepted(attempts=1),
        person=(Act(Choice.ACCEPT),),
        files={"product.txt": "works\n"},
        agent="true",
        afterwards="signoff status PLAN.md | grep 'proves nothing'",
    ),
    Case(
        "a plan that is signed off is not run again",
        Accepted(attempts=1),
        afterwards="signoff run PLAN.md --role coder=false 2>&1 | grep 'already signed off'",
    ),
    Case(
        "a later change is drift, and work that still holds is still kept",
        Accepted(attempts=1),
        afterwards="echo notes > notes.txt; signoff audit PLAN.md | grep '^drift: 1 file'",
    ),
    Case(
        "a plan that failed can be resumed and finished",
        Accepted(attempts=2),
        plan=plan(step("Write the product", CHECK, PROTECTS_TESTS, on_fail="abort")),
        prepare="signoff run PLAN.md --yes --role coder=true > /dev/null 2>&1 || test $? = 1",
    ),
    Case(
        "a plan without frontmatter, context or protection is a plan",
        Accepted(attempts=1),
        plan=(
            "# Small\n\n## Steps\n\n### 1. Do it\n**target:** coder\n**task:** Do it.\n"
            "**contract:**\n```\ntest -s product.txt\n```\n"
        ),
    ),
)
