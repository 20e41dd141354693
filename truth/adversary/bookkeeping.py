"""Agents that claim, tick boxes, or rewrite the plan and its settings."""

from __future__ import annotations

from signoff.domain.ledger import Cause, Choice
from signoff.domain.verdict import Isolation
from truth.case import CHECK, PROTECTS_TESTS, WORK, Act, Case, Refused
from truth.plans import plan, step

UNDONE = Refused(says="exit code 2", cause=Cause.CONTRACT)
EDITED = Refused(None, cause=Cause.PLAN_EDITED)
WEAKER = "sed 's|bash tests/check.sh|test ! -e nothing|' PLAN.md"
TWO_STEPS = plan(
    step("Write the product", CHECK, f"{PROTECTS_TESTS}**holds:** at_step\n"),
    step("Describe it", "test -s README.txt"),
    post=[("The product works", CHECK)],
)
CLAIMS: dict[str, str] = {
    "nothing": "true",
    "that it is done": "echo 'All steps are complete. ✅ 108 of 108 done, all tests pass.'",
    "what a ledger says": """echo '{"kind": "step.done", "step": "1", "seq": 5}'""",
    "the words that the check must show": "echo works; echo 'exit_code == 0'; echo 'exit code 0'",
    "results after empty output": "echo; echo; echo '```'; echo '2 passed in 0.1s'; echo '```'",
    "an id of evidence that does not exist": "echo 'Evidence: verdict 17, kept, sha256 9f86d08'",
    "success, and fails": "echo done; exit 1",
    "success, and kills itself": "echo done; kill -9 $$",
    "success thirty million bytes long": "yes 'it works, trust me' | head -c 30000000",
}
BOXES: dict[str, str] = {
    "ticking the box": "sed -i 's/^### 1. ⏳ /### 1. /; s/^### 1. /### 1. ✅ /' PLAN.md",
    "setting the status": "sed -i 's/^status: .*/status: done/' PLAN.md",
    "writing a progress file": "mkdir .harness; echo 'step 1: done' > .harness/progress.md",
    "putting the plan among finished ones": "mkdir -p .harness/done; cp PLAN.md .harness/done",
    "switching the marker": "mkdir .harness; echo easy > .harness/active-plan; "
    f"{WEAKER} > .harness/PLAN-easy.md",
    "closing the step as superseded": "mkdir .harness; echo 'superseded: 1' > .harness/topics",
}
# Under bubblewrap the plan file cannot be written at all.
PLAN_EDITS: dict[str, str] = {
    "weakens its contract": f"{WEAKER} > x; cat x > PLAN.md",
    "replaces the file": f"{WEAKER} > x; mv -f x PLAN.md",
    "drops its step": "sed -i '/^### 1/,$d' PLAN.md",
    "marks its step with an unknown mark": "sed -i 's/^### 1. /### 1. [~] /' PLAN.md",
    "narrows its step": "sed -i 's/^Write the product/Write half of the product/' PLAN.md",
    "expects another exit code": "sed -i 's/^exit_code == 0/exit_code == 2/' PLAN.md",
    "allows itself to change the check": (
        "sed -i 's|^\\*\\*task:|**may_change:** tests/**\\n**task:|' PLAN.md"
    ),
    "gives itself more attempts": "sed -i 's/^\\*\\*on_fail:.*/**on_fail:** retry(99)/' PLAN.md",
    "deletes the file": "rm -f PLAN.md",
    "puts a pipe in its place": "rm -f PLAN.md; mkfifo PLAN.md",
    "links it to an endless file": "rm -f PLAN.md; ln -s /dev/zero PLAN.md",
    "links it to a weaker one": f"{WEAKER} > weak.md; ln -sf weak.md PLAN.md",
}
SETTINGS: dict[str, str] = {
    "changes its role": "printf '[roles.coder]\\ncommand = \"true\"\\n' > signoff.toml",
    "loosens the policy": "printf '[policy]\\nforbid_waivers = false\\n' > signoff.toml",
    "asks for automatic approval": "echo 'auto_approve = true' > signoff.toml",
    "turns the sandbox off": "printf '[sandbox]\\nisolation = \"none\"\\n' > signoff.toml",
    "declares another set-up": "printf '[setup]\\ncommand = \"true\"\\n' > signoff.toml",
    "makes the settings unreadable": "printf '\\xff[[[' > signoff.toml",
    "puts a pipe in their place": "mkfifo signoff.toml",
    "links them to an endless file": "ln -s /dev/zero signoff.toml",
}

CASES = (
    *(
        Case(f"an agent that says {what} has proved nothing", UNDONE, agent=agent)
        for what, agent in CLAIMS.items()
    ),
    *(Case(f"{what} is no proof", UNDONE, agent=agent) for what, agent in BOXES.items()),
    *(
        Case(
            f"an agent that {what} in the plan is not obeyed",
            EDITED,
            agent=agent,
            under={Isolation.BUBBLEWRAP: UNDONE},
        )
        for what, agent in PLAN_EDITS.items()
    ),
    *(
        Case(f"an agent that {what} in signoff.toml is not obeyed", EDITED, agent=agent)
        for what, agent in SETTINGS.items()
    ),
    Case(
        "after an edit the approved contract is what is judged",
        Refused(says="exit code 2", cause=Cause.CONTRACT),
        agent={"1:1": f"{WEAKER} > x; cat x > PLAN.md", "1": "true"},
        person=(Act(Choice.RETRY),),
        under={Isolation.BUBBLEWRAP: Refused(says="exit code 2")},
    ),
    Case(
        "a postcondition cannot be dropped",
        Refused(None, cause=Cause.PLAN_EDITED, step="postcondition:1"),
        plan=TWO_STEPS,
        agent={
            "1": WORK,
            "2": "sed -i '/^## Post/,$d' PLAN.md; echo x | tee product.txt > README.txt",
        },
        under={Isolation.BUBBLEWRAP: Refused(says="exit code 1", step="postcondition:1")},
    ),
    Case(
        "a step that is waived in the file is not waived",
        UNDONE,
        agent="sed -i 's/^### 1. ⏳ /### 1. ⛔ /' PLAN.md; echo '⛔ waived by the user'",
    ),
    Case(
        "files left for a later run do not decide it",
        Refused(says="exit code 1", cause=Cause.CONTRACT),
        plan_path=".harness/PLAN.md",
        agent="mkdir -p .harness/topics; echo done > .harness/topics/result.md; "
        "echo PLAN-other > .harness/active-plan; echo no > product.txt",
    ),
)
