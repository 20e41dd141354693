"""Everyday changes to code, tests and settings."""

from __future__ import annotations

from truth.case import Accepted, Case
from truth.plans import plan, step

TEST = """\
import unittest

import calc


class Adding(unittest.TestCase):
    def test_two_and_two(self):
        self.assertEqual(calc.add(2, 2), 4)
"""
FILES = {
    "calc.py": "def add(a, b):\n    return 0\n",
    "tests/__init__.py": "",
    "tests/test_calc.py": TEST,
}
FIX = "sed -i 's/return 0/return a + b/' calc.py"
UNITTEST = "python3 -m unittest discover -q -s tests -t ."
PYTEST = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python3 -m pytest -q -p no:cacheprovider tests"
MORE = (
    "sed -e 's/two_and_two/one_and_one/' -e 's/2, 2), 4/1, 1), 2/' tests/test_calc.py "
    "> tests/test_more.py"
)
PYPROJECT = '[project]\nname = "calc"\nversion = "1"\n\n[tool.pytest.ini_options]\naddopts = "-q"\n'
PACKAGE = '{\n  "name": "calc",\n  "scripts": {\n    "test": "node test.js"\n  }\n}\n'
NODE_TEST = "require('assert').equal(require('./calc').add(2, 2), 4);\n"
MAKEFILE = "test:\n\tpython3 -m unittest discover -q -s tests -t .\n"
RED_GREEN = plan(
    step(
        "Write a test that fails",
        UNITTEST,
        "**produces:** tests/test_calc.py\n**holds:** at_step\n",
        expect="exit_code == 1",
    ),
    step("Make it pass", UNITTEST),
)
CHANGELOG = plan(
    step("Add", "grep -q add CHANGES", "**produces:** CHANGES, add.py\n"),
    step("Subtract", "grep -q sub CHANGES", "**produces:** CHANGES, sub.py\n"),
    step("Release", "grep -q '^1.0' CHANGES", "**may_change:** CHANGES\n"),
)

CASES = (
    Case(
        "a bug is fixed and the suite passes",
        Accepted(attempts=1),
        files=FILES,
        contract=UNITTEST,
        agent=FIX,
    ),
    Case(
        "new tests may be added where nothing is protected",
        Accepted(attempts=1),
        files=FILES,
        contract=UNITTEST,
        agent=f"{FIX}; {MORE}",
        fields="",
    ),
    Case(
        "new tests may be added to a protected folder where the plan allows it",
        Accepted(attempts=1),
        files=FILES,
        contract=UNITTEST,
        agent=f"{FIX}; {MORE}",
        fields="**protects:** tests/**\n**may_change:** tests/test_more.py\n",
    ),
    Case(
        "tests may be renamed where the plan allows it",
        Accepted(attempts=1),
        files=FILES,
        contract=UNITTEST,
        agent=f"{FIX}; mv tests/test_calc.py tests/test_adding.py",
        fields="**protects:** tests/**\n**may_change:** tests/test_*.py\n",
    ),
    Case(
        "tests may be moved into folders where nothing is protected",
        Accepted(attempts=1),
        files=FILES,
        contract=UNITTEST,
        agent=f"{FIX}; mkdir tests/unit; touch tests/unit/__init__.py; "
        "mv tests/test_calc.py tests/unit/",
        fields="",
    ),
    Case(
        "a test may be corrected where the plan allows it",
        Accepted(attempts=1),
        files=FILES,
        contract=UNITTEST,
        agent=f"{FIX}; sed -i 's/2, 2), 4/3, 2), 5/' tests/test_calc.py",
        fields="**protects:** tests/**\n**may_change:** tests/test_calc.py\n",
    ),
    Case(
        "expected output may be recorded anew where the plan allows it",
        Accepted(attempts=1),
        files={"tests/golden.txt": "0\n", **FILES},
        contract="diff tests/golden.txt <(python3 -c 'import calc; print(calc.add(2, 2))') && "
        "grep -qx 4 tests/golden.txt",
        agent=f"{FIX}; echo 4 > tests/golden.txt",
        fields="**protects:** tests/**\n**may_change:** tests/golden.txt\n",
    ),
    Case(
        "a failing test is written first, then made to pass",
        Accepted(attempts=2),
        plan=RED_GREEN,
        files={"calc.py": FILES["calc.py"], "tests/__init__.py": ""},
        agent={"1": f"cat > tests/test_calc.py <<'END'\n{TEST}END", "2": FIX},
    ),
    Case(
        "a file that two steps produce may be changed by both, and by a step that may",
        Accepted(attempts=3),
        plan=CHANGELOG,
        agent={
            "1": "echo add > CHANGES; touch add.py",
            "2": "echo sub >> CHANGES; touch sub.py",
            "3": "sed -i '1i 1.0' CHANGES",
        },
    ),
    Case(
        "source files may be moved",
        Accepted(attempts=1),
        files=FILES,
        contract=f"PYTHONPATH=src {UNITTEST}",
        agent=f"{FIX}; mkdir src; mv calc.py src/",
        fields="",
    ),
    Case(
        "a module may become a package",
        Accepted(attempts=1),
        files=FILES,
        contract=UNITTEST,
        agent=f"{FIX}; mkdir calc; mv calc.py calc/adding.py; "
        "echo 'from calc.adding import add' > calc/__init__.py",
    ),
    Case(
        "two hundred files may change at once",
        Accepted(attempts=1),
        prepare="mkdir src; for i in {1..200}; do echo 'old_name()' > src/m$i.py; done",
        contract="! grep -rq old_name src && test $(grep -rl new_name src | wc -l) = 200",
        agent="sed -i s/old_name/new_name/ src/*.py",
    ),
    Case(
        "a formatter may rewrite everything",
        Accepted(attempts=1),
        files={**FILES, "ugly.py": "x = {  'a':1 }\n"},
        contract="ruff format --no-cache --isolated -q --check . && " + UNITTEST,
        agent=f"{FIX}; ruff format --no-cache --isolated -q .",
        fields="",
        tools=("ruff",),
    ),
    Case(
        "settings that do not steer the check may change",
        Accepted(attempts=1),
        files={**FILES, "pyproject.toml": PYPROJECT},
        contract=PYTEST,
        agent=f'{FIX}; sed -i \'s/^version = .*/version = "2"\\nlicense = "MIT"/\' pyproject.toml',
        tools=("pytest",),
    ),
    Case(
        "a fixture file may be added where the plan allows it",
        Accepted(attempts=1),
        files=FILES,
        contract=PYTEST,
        agent=f"{FIX}; printf 'import sys\\nsys.path.insert(0, \".\")\\n' > tests/conftest.py",
        fields="**may_change:** tests/conftest.py\n",
        tools=("pytest",),
    ),
    Case(
        "other make targets may be added",
        Accepted(attempts=1),
        files={**FILES, "Makefile": MAKEFILE},
        contract="make -s test",
        agent=f"{FIX}; printf '\\nclean:\\n\\trm -rf build\\n' >> Makefile",
    ),
    Case(
        "other scripts and dependencies may be added to package.json",
        Accepted(attempts=1),
        files={
            "package.json": PACKAGE,
            "test.js": NODE_TEST,
            "calc.js": "exports.add = () => 0;\n",
        },
        contract="npm test --silent",
        agent="echo 'exports.add = (a, b) => a + b;' > calc.js; "
        'sed -i \'s|"scripts": {|"dependencies": {}, "scripts": {"start": "node calc.js",|\' '
        "package.json",
        tools=("npm", "node"),
    ),
    Case(
        "a module may have a name of the standard library inside a package",
        Accepted(attempts=1),
        files=FILES,
        contract=f"{UNITTEST} && python3 -c 'import app.queue, app.types'",
        agent=f"{FIX}; mkdir app; touch app/__init__.py app/queue.py app/types.py",
    ),
    Case(
        "a module may have a name of the standard library where the plan allows it",
        Accepted(attempts=1),
        files=FILES,
        contract=UNITTEST,
        agent=f"{FIX}; echo 'x = 1' > calendar.py",
        fields="**may_change:** calendar.py\n",
    ),
    Case(
        "dead code and its tests may be deleted where the plan allows it",
        Accepted(attempts=1),
        files={**FILES, "old.py": "", "tests/test_old.py": "import old\n"},
        contract=f"! test -e old.py && {UNITTEST}",
        agent=f"{FIX}; rm old.py tests/test_old.py",
        fields="**protects:** tests/**\n**may_change:** tests/test_old.py\n",
    ),
    Case(
        "documentation may change beside the code",
        Accepted(attempts=1),
        files={**FILES, "README.md": "# calc\n", "docs/use.md": "x\n"},
        contract=UNITTEST,
        agent=f"{FIX}; echo more >> README.md; mv docs/use.md docs/usage.md",
    ),
    Case(
        "the check itself may be the work, where the plan says so",
        Accepted(attempts=1),
        contract="bash tests/new_check.sh",
        agent="echo 'test -d tests' > tests/new_check.sh",
        fields="**produces:** tests/new_check.sh\n",
    ),
)
