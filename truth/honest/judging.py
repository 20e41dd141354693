"""Stricter ways of judging that honest work passes: counts, clean rooms, held-out checks."""

from __future__ import annotations

from dataclasses import replace

from signoff.domain.ledger import Choice
from truth.case import CHECK, PROTECTS_TESTS, WORK, Accepted, Act, Case
from truth.plans import plan, step

CALC = "def add(a, b):\n    return 0\n"
FIX = "sed -i 's/return 0/return a + b/' calc.py"
TESTS = (
    "import unittest\nfrom calc import add\n\n\nclass T(unittest.TestCase):\n"
    "    def test_one(self):\n        self.assertEqual(add(1, 1), 2)\n\n"
    "    def test_two(self):\n        self.assertEqual(add(2, 2), 4)\n"
)
FILES = {"calc.py": CALC, "test_calc.py": TESTS, "test_old.py": TESTS.replace("T(", "Old(")}
UNITTEST = "python3 -m unittest -v"
HELD_OUT = (
    'mkdir -m 700 -p "$HOME_FOLDER" && mkdir -p "$HOME_FOLDER/heldout/secret" && '
    "echo 'grep -qx works product.txt' > \"$HOME_FOLDER/heldout/secret/contract\""
)
SEPARATE = (
    'echo \'grep -qx works "$SIGNOFF_HELDOUT_DIR/output"\' > "$HOME_FOLDER/heldout/secret/contract"'
    " && echo 'cat product.txt' > \"$HOME_FOLDER/heldout/secret/product\""
)
BY_PYTEST = (
    'echo \'pytest -q "$SIGNOFF_HELDOUT_DIR"\' > "$HOME_FOLDER/heldout/secret/contract" && '
    'echo \'def test_it(): assert open("product.txt").read() == "works\\n"\' '
    '> "$HOME_FOLDER/heldout/secret/test_it.py"'
)
ANSWER = 'echo "SAID: the specification is missing" > "$SIGNOFF_ANSWER_FILE"'
# What honest checks do to, and near, the files that decide them.
BESIDE = {
    "set the permissions of its own script": Case(
        "",
        Accepted(attempts=1),
        contract="chmod +x tests/check.sh && touch tests/data.txt && tests/check.sh",
        prepare="chmod +x tests/check.sh && sed -i '1i #!/bin/sh' tests/check.sh",
    ),
    "make new files and remove them": Case(
        "",
        Accepted(attempts=1),
        contract="cp product.txt tests/new && bash tests/check.sh && rm tests/new",
    ),
    "move files between folders": Case(
        "",
        Accepted(attempts=1),
        contract='touch a && python3 -c \'import os; os.rename("a", "tests/a")\' && '
        "rm tests/a && bash tests/check.sh",
    ),
    "work on a copy of everything": Case(
        "",
        Accepted(attempts=1),
        contract='copy=$(mktemp -d) && cp -r tests product.txt "$copy" && cd "$copy" && '
        "echo >> tests/data.txt && bash tests/check.sh",
    ),
    "write a lock file anew with the same words": Case(
        "",
        Accepted(attempts=1),
        files={"deps.lock": "tea 1.0\n"},
        contract="python3 -c \"t = open('deps.lock').read(); open('deps.lock', 'w').write(t)\" && "
        "bash tests/check.sh",
    ),
    "write what the plan says that it writes": Case(
        "",
        Accepted(attempts=1),
        contract="date > tests/data.txt && bash tests/check.sh",
        fields=f"{PROTECTS_TESTS}**writes:** tests/data.txt\n",
    ),
}

CASES = (
    Case(
        "as many tests as demanded",
        Accepted(attempts=1),
        files=FILES,
        plan=plan(step("Fix it", UNITTEST, expect="exit_code == 0\ntests >= 4")),
        agent=FIX,
    ),
    Case(
        "more tests than there were",
        Accepted(attempts=1),
        files=FILES,
        contract=UNITTEST,
        agent=f"{FIX}; sed s/Old/New/ test_old.py > test_new.py",
        fields="",
    ),
    Case(
        "fewer tests where the plan says so",
        Accepted(attempts=1),
        files=FILES,
        contract=UNITTEST,
        agent=f"{FIX}; rm test_old.py",
        fields="**may_shrink:** yes\n",
    ),
    Case(
        "a check that the agent never sees holds too",
        Accepted(attempts=1),
        prepare=HELD_OUT,
        fields=f"{PROTECTS_TESTS}**heldout:** secret\n",
    ),
    Case(
        "a check that sees only what the product prints holds too",
        Accepted(attempts=1),
        prepare=f"{HELD_OUT.rpartition(' && ')[0]} && {SEPARATE}",
        fields=f"{PROTECTS_TESTS}**heldout:** secret\n",
    ),
    Case(
        "a held-out check by pytest needs no flag and no settings",
        Accepted(attempts=1),
        prepare=f"{HELD_OUT.rpartition(' && ')[0]} && {BY_PYTEST}",
        fields=f"{PROTECTS_TESTS}**heldout:** secret\n",
        tools=("pytest",),
    ),
    Case(
        "work that looked right and was wrong is kept once it is right",
        Accepted(attempts=2),
        files={"product.txt": "works\nnot quite\n"},
        prepare=HELD_OUT.replace("grep -qx works product.txt", "! grep -q not product.txt"),
        plan=plan(
            step("Repair it", CHECK, "**heldout:** secret\n", on_fail="retry(1), then escalate")
        ),
        agent={"1:1": "true", "1:2": WORK},
    ),
    Case(
        "work may be judged in a checkout that the agent never touched",
        Accepted(attempts=1),
        fields=f"{PROTECTS_TESTS}**judge_in:** clean\n",
        needs_bubblewrap=True,
    ),
    Case(
        "a clean checkout has the installed dependencies",
        Accepted(attempts=1),
        files={".gitignore": "deps/\n"},
        prepare="mkdir deps; echo 'x = 1' > deps/lib.py",
        contract="PYTHONPATH=deps python3 -c 'import lib, product'",
        agent="echo 'import lib' > product.py",
        fields="**judge_in:** clean\n",
        needs_bubblewrap=True,
    ),
    Case(
        "a clean checkout may be written to where that is declared",
        Accepted(attempts=1),
        contract="sort product.txt > sorted.txt && diff sorted.txt product.txt",
        fields="**judge_in:** clean\n**writes:** sorted.txt\n",
        afterwards="! test -e sorted.txt",
        needs_bubblewrap=True,
    ),
    Case(
        "a contract may do without the network",
        Accepted(attempts=1),
        fields=f"{PROTECTS_TESTS}**network:** no\n",
        needs_isolation=True,
    ),
    Case(
        "a sandbox may be demanded where there is one",
        Accepted(attempts=1),
        files={"signoff.toml": "[policy]\nrequire_sandbox = true\n"},
        needs_isolation=True,
    ),
    Case(
        "a contract may be asked several times and hold each time",
        Accepted(attempts=1),
        files={"signoff.toml": "[policy]\njudgings = 3\n"},
    ),
    *(
        Case(
            f"an agent may answer that it is {said}, and finish when a person helped",
            Accepted(attempts=2),
            agent={"1:1": ANSWER.replace("SAID", said), "1:2": f"test -e spec.txt && {WORK}"},
            person=(Act(Choice.RETRY, "echo spec > spec.txt"),),
        )
        for said in ("blocked", "impossible")
    ),
    Case(
        "an agent may ask for input, and finish when a person gave it",
        Accepted(attempts=2),
        agent={"1:1": ANSWER.replace("SAID", "needs input"), "1:2": WORK},
        person=(Act(Choice.RETRY),),
    ),
    Case(
        "files that other tools execute are told and stop nothing",
        Accepted(attempts=1),
        agent=f"{WORK}; mkdir .vscode; echo '{{}}' > .vscode/tasks.json; echo rules > AGENTS.md",
        afterwards="signoff log PLAN.md --json | grep AGENTS.md",
    ),
    Case(
        "such files may be let pass by a person where a policy asks",
        Accepted(attempts=1),
        files={"signoff.toml": "[policy]\nescalate_handoffs = true\n"},
        agent=f"{WORK}; echo rules > AGENTS.md",
        person=(Act(Choice.RETRY),),
    ),
    Case(
        "the same tool on another day is the same tool",
        Accepted(attempts=2),
        plan=plan(step("One", CHECK, PROTECTS_TESTS), step("Two", "sort -c product.txt")),
        agent=f"{WORK}; sleep 0.1",
    ),
    *(
        replace(case, name=f"beside what is read-only while it is judged, a check may {does}")
        for does, case in BESIDE.items()
    ),
)
