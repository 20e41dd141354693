"""People in the loop: steps of their own, answers, waivers."""

from __future__ import annotations

from signoff.domain.ledger import Choice
from truth.case import CHECK, PROTECTS_TESTS, WORK, Accepted, Act, Case, Door
from truth.plans import plan, step

HUMAN = plan(step("Sign the contract", "grep -qx signed paper.txt", target="human"))
WITH_HUMAN = plan(
    step("Write the product", CHECK, PROTECTS_TESTS),
    step("Try it out", "grep -qx 'it is good' opinion.txt", target="human"),
    step("Ship it", "test -e shipped"),
)
REVISED = """
signoff run PLAN.md --yes --role coder=true || test $? = 6
items=$(signoff inbox --json)
id=$(echo "$items" | python3 -c 'import json, sys; print(json.load(sys.stdin)["items"][0]["id"])')
signoff answer "$id" revise
sed -i s/perfect/works/ PLAN.md
"""
EDIT = "sed -i 's/^# Make it work/# Make it work well/' PLAN.md"
UNDO = "sed -i 's/^# Make it work well/# Make it work/' PLAN.md"

CASES = (
    Case(
        "a person may do a step",
        Accepted(attempts=1),
        plan=HUMAN,
        person=(Act(Choice.RETRY, "echo signed > paper.txt"),),
    ),
    Case(
        "a person may do a step, on the command line",
        Accepted(attempts=1),
        plan=HUMAN,
        person=(Act(Choice.RETRY, "echo signed > paper.txt"),),
        door=Door.COMMAND,
    ),
    Case(
        "a person may need a second try",
        Accepted(),
        plan=HUMAN,
        person=(Act(Choice.RETRY), Act(Choice.RETRY, "echo signed > paper.txt")),
    ),
    Case(
        "people and agents may take turns",
        Accepted(attempts=3),
        plan=WITH_HUMAN,
        agent={"1": WORK, "3": "touch shipped"},
        person=(Act(Choice.RETRY, "echo it is good > opinion.txt"),),
    ),
    Case(
        "an agent that failed may be given another chance",
        Accepted(attempts=2),
        agent={"1:1": "true", "1:2": WORK},
        person=(Act(Choice.RETRY),),
    ),
    Case(
        "an agent that failed the same way twice may go on when a person says so",
        Accepted(attempts=3),
        plan=plan(step("Write the product", CHECK, on_fail="retry(5), then escalate")),
        agent={"1": "true", "1:3": WORK},
        person=(Act(Choice.RETRY),),
    ),
    Case(
        "a person may do the work where an agent failed",
        Accepted(attempts=1),
        agent="true",
        person=(Act(Choice.RETRY, WORK),),
    ),
    Case(
        "an agent that tampered once may do honest work the next time",
        Accepted(attempts=2),
        agent={"1:1": "echo exit 0 > tests/check.sh", "1:2": WORK},
        person=(Act(Choice.RETRY),),
        afterwards="grep -q works tests/check.sh",
    ),
    Case(
        "a step may be waived, which is shown and never called kept",
        Accepted(attempts=2, waived=("1",)),
        plan=plan(
            step("Impossible", "test -e miracle.txt"),
            step("Write the product", CHECK, PROTECTS_TESTS),
        ),
        agent={"1": "true", "2": WORK},
        person=(Act(Choice.WAIVE),),
        afterwards="signoff status PLAN.md | grep waived; "
        "signoff audit PLAN.md | grep 'waived .*Impossible'",
    ),
    Case(
        "a postcondition that only a person can see to may be waived",
        Accepted(attempts=1, waived=("postcondition:1",)),
        plan=plan(step("Write the product", CHECK), post=[("It reads well", None)]),
        person=(Act(Choice.WAIVE),),
    ),
    Case(
        "a postcondition that was broken may be put right by a person",
        Accepted(attempts=1),
        plan=plan(step("Write the product", CHECK), post=[("Notes exist", "test -s notes.txt")]),
        person=(Act(Choice.RETRY, "echo notes > notes.txt"),),
    ),
    Case(
        "a person may say that a contract that already held is well",
        Accepted(attempts=1),
        files={"product.txt": "works\n"},
        fields=f"{PROTECTS_TESTS}**red_first:** required\n",
        person=(Act(Choice.RETRY),),
    ),
    Case(
        "an edit of the plan during a run is asked about, and the approved one finished",
        Accepted(attempts=2),
        agent={"1:1": "true", "1:2": WORK},
        person=(Act(Choice.RETRY, EDIT), Act(Choice.RETRY, UNDO)),
    ),
    Case(
        "a plan may be revised after a question, approved again and finished",
        Accepted(attempts=2),
        plan=plan(step("Write the product", "grep -qx perfect product.txt")),
        prepare=REVISED,
    ),
    Case(
        "the user's own configuration may approve by policy",
        Accepted(attempts=1),
        config="auto_approve = true\n",
    ),
)
