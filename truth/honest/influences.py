"""Honest work on files that steer checks, or beside them: allowed by a line, or not in the way."""

from __future__ import annotations

from signoff.domain.ledger import Choice
from truth.adversary.influences import CALC, FILES, OBEY, PYTEST
from truth.case import Accepted, Act, Case
from truth.plans import plan, step

FIX = "sed -i 's/return 0/return a + b/' calc.py"
MORE_TESTS = "printf '\\n\\ndef test_more():\\n    assert add(1, 1) == 2\\n' >> tests/test_calc.py"
CHECKED = f"PYTHONPATH=. {PYTEST}"
CHECKER = {"calc.py": CALC, "checker/obey.py": OBEY}
OBEYS = "PYTHONPATH=. python3 checker/obey.py"
RUNS_GREET = (
    "import subprocess\n"
    "assert subprocess.check_output(['bash', 'bin/greet'], text=True) == 'hello\\n'\n"
)
BESIDE = (
    *("CHANGELOG.md", "docs/usage.md", ".gitignore", "app.cfg", "data/new.json", "package.json"),
    *("poetry.lock", ".github/workflows/ci.yml", "LICENSE", "logo.png"),
)

CASES = [
    *(
        Case(
            f"`{path}` may change when the check holds without it too",
            Accepted(attempts=1),
            files={**FILES, path: "before\n"},
            contract=f"PYTHONPATH=. {PYTEST}",
            fields="**protects:** tests/**\n",
            agent=f"{FIX}; echo after >> {path}",
        )
        for path in BESIDE
    ),
    *(
        Case(
            f"`{path}` may decide the check when the plan says so in `{field}`",
            Accepted(attempts=1),
            files={**CHECKER, path: "strict\n"},
            contract=f"{OBEYS} {path}",
            fields=f"**protects:** checker/**\n**{field}:** {path}\n",
            agent=f"echo lenient > {path}",
        )
        for path, field in (
            ("fixtures/users.csv", "may_change"),
            ("__snapshots__/a.snap", "may_change"),
            ("requirements.lock", "produces"),
            ("base.toml", "may_change"),
        )
    ),
    *(
        Case(
            f"an ignored file may decide the check when the plan says so in `{field}`",
            Accepted(attempts=1),
            files={**CHECKER, ".gitignore": ".env\n"},
            contract=f"[ -f .env ] && . ./.env; {OBEYS} .env",
            fields=f"**protects:** checker/**\n**{field}:** .env\n",
            agent="echo MODE=lenient > .env",
        )
        for field in ("may_change", "produces")
    ),
    Case(
        "ignored files that an agent leaves behind do not matter when the check holds without them",
        Accepted(attempts=1),
        files={**FILES, ".gitignore": "*.log\n.env\nnotes/\n"},
        prepare="echo before > run.log; echo A=1 > .env",
        contract=f"PYTHONPATH=. {PYTEST}",
        fields="**protects:** tests/**\n",
        agent=f"{FIX}; echo after >> run.log; echo B=2 >> .env; mkdir notes; echo x > notes/a.json",
        afterwards="grep -q after run.log && grep -q B=2 .env && grep -q x notes/a.json",
    ),
    Case(
        "a person may allow an ignored file that decides the check",
        Accepted(attempts=1),
        files={**CHECKER, ".gitignore": ".env\n"},
        contract=f"{OBEYS} .env",
        fields="**protects:** checker/**\n",
        agent="echo lenient > .env",
        person=(Act(Choice.ALLOW),),
        afterwards="grep -q '[*][*]may_change:[*][*] .env' PLAN.md && grep -q lenient .env",
    ),
    Case(
        "what one step was allowed to leave in an ignored file holds for the next",
        Accepted(attempts=2),
        files={".gitignore": ".env\n"},
        plan=plan(
            step(
                "Set it",
                '[ -f .env ] && . ./.env; test "$MODE" = on',
                "**may_change:** .env\n",
            ),
            step("Use it", '[ -f .env ] && . ./.env; test "$MODE" = on && cat product.txt'),
        ),
        agent={"1": "echo MODE=on > .env", "2": "echo works > product.txt"},
    ),
    Case(
        "a person may allow a file that steers the check, and nobody works again",
        Accepted(attempts=1),
        files={**CHECKER, "rules.yml": "strict\n"},
        contract=f"{OBEYS} rules.yml",
        fields="**protects:** checker/**\n",
        agent="echo lenient > rules.yml",
        person=(Act(Choice.ALLOW),),
        afterwards="grep -q '[*][*]may_change:[*][*] rules.yml' PLAN.md",
    ),
    Case(
        "a person may allow what lies outside the files that the plan names",
        Accepted(attempts=1),
        plan=(
            '---\ntype: plan\nstatus: draft\ntouches: ["src/**"]\n---\n\n# Fix it\n\n## Steps\n\n'
            "### 1. Fix it\n\n**target:** coder\n**task:**\nFix it.\n\n**contract:**\n"
            "```shell\ngrep -q fixed src/a.py\n```\nexit_code == 0\n"
        ),
        files={"src/a.py": "\n", "elsewhere.py": "\n"},
        agent="echo '# fixed' > src/a.py; echo more >> elsewhere.py",
        person=(Act(Choice.ALLOW),),
    ),
    Case(
        "tests may be added and edited where the plan lets them be extended",
        Accepted(attempts=1),
        files=FILES,
        contract=f"PYTHONPATH=. {PYTEST}",
        fields="**protects:** tests/**\n**may_extend:** tests/**\n",
        agent=f"{FIX}; {MORE_TESTS}; cp tests/test_calc.py tests/test_again.py",
    ),
    Case(
        "tests that a step was let extend count when the whole is judged, and for a later step too",
        Accepted(attempts=2),
        plan=plan(
            step("Fix it", CHECKED, "**protects:** tests/**\n**may_extend:** tests/**\n"),
            step("Test more", f"{CHECKED} && test -s done", "**may_extend:** tests/**\n"),
            post=[("All of it", CHECKED)],
        ),
        files=FILES,
        agent={
            "1": f"{FIX}; {MORE_TESTS}",
            "2": "cp tests/test_calc.py tests/test_again.py; echo 1 > done",
        },
    ),
    Case(
        "a new module may be written, and imported by the work",
        Accepted(attempts=1),
        files=FILES,
        contract=f"PYTHONPATH=. {PYTEST}",
        agent="echo 'def plus(a, b): return a + b' > sums.py; "
        "printf 'from sums import plus as add\\n' > calc.py",
    ),
    Case(
        "a package may have a module with the name of a standard one",
        Accepted(attempts=1),
        files=FILES,
        contract=f"PYTHONPATH=. {PYTEST}",
        agent="mkdir app; touch app/__init__.py; echo 'from app.queue import add' > calc.py; "
        "echo 'def add(a, b): return a + b' > app/queue.py",
    ),
    Case(
        "a project without any code yet may be begun",
        Accepted(attempts=1),
        contract="python3 -m app | grep -qx works",
        fields="",
        agent="mkdir app; touch app/__init__.py; echo \"print('works')\" > app/__main__.py",
    ),
    Case(
        "a module that the checker cannot do without is the work",
        Accepted(attempts=1),
        files={"check.py": "from calc import add\nassert add(2, 2) == 4\n"},
        contract="python3 check.py",
        fields="",
        agent="echo 'def add(a, b): return a + b' > calc.py",
    ),
    Case(
        "a lock file that the contract writes anew is no reason to doubt",
        Accepted(attempts=1),
        files={**FILES, "deps.lock": "a 1\n"},
        contract=f"sort -o deps.lock deps.lock && PYTHONPATH=. {PYTEST}",
        agent=FIX,
    ),
    Case(
        "work may lie beside its tests, in the place that the runner is given",
        Accepted(attempts=1),
        files={"pkg/calc.py": CALC, "pkg/test_calc.py": FILES["tests/test_calc.py"]},
        contract="PYTHONPATH=pkg PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python3 -m pytest -q -p "
        "no:cacheprovider pkg",
        fields="",
        agent="sed -i 's/return 0/return a + b/' pkg/calc.py",
    ),
    Case(
        "what a makefile builds is the work, whatever the makefile includes",
        Accepted(attempts=1),
        files={
            "Makefile": (
                "include config.mk\n\ncheck: calc\n\t./calc\n\n"
                "calc: calc.c\n\t$(CC) -o calc calc.c\n"
            ),
            "config.mk": "CC = cc\n",
            "calc.c": "int main(void) { return 1; }\n",
            ".gitignore": "calc\n",
        },
        contract="make -s check",
        fields="",
        agent="sed -i 's/return 1/return 0/' calc.c",
        tools=("cc",),
    ),
    Case(
        "what a package names as its own is the work",
        Accepted(attempts=1),
        files={
            "package.json": '{"main": "index.js", "scripts": {"test": "node --test"}}\n',
            "index.js": "exports.x = 0;\n",
            "index.test.js": (
                "// transform: what is loaded\nrequire('assert').equal(require('./index').x, 1);\n"
            ),
        },
        contract="npm test --silent",
        fields="**protects:** *.test.js\n",
        agent="echo 'exports.x = 1;' > index.js",
        tools=("npm", "node"),
    ),
    Case(
        "what a program that the check runs as a module is made of is the work",
        Accepted(attempts=1),
        files={
            "app/__init__.py": "",
            "app/__main__.py": "from app.core import answer\n\nprint(answer())\n",
            "app/core.py": "def answer():\n    return 0\n",
        },
        contract="python3 -m app | grep -qx 4",
        fields="",
        agent="sed -i 's/return 0/return 4/' app/core.py",
    ),
    Case(
        "a program whose name has no suffix is the work",
        Accepted(attempts=1),
        files={"bin/greet": "#!/usr/bin/env bash\nexit 1\n", "tests/test_greet.py": RUNS_GREET},
        contract="python3 tests/test_greet.py",
        fields="**protects:** tests/**\n",
        agent="sed -i 's/exit 1/echo hello/' bin/greet",
    ),
]
