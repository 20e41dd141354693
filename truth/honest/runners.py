"""Test runners and build tools."""

from __future__ import annotations

import os
from pathlib import Path

from truth.case import Accepted, Case
from truth.plans import plan, step
from truth.standins import EXCUSES, LINT, QUILL_FILES, STYLES, VELLUM_FILES, vellum

FIX = "sed -i 's/return 0/return a + b/'"
PYTHON_FILES = {
    "calc.py": "def add(a, b):\n    return 0\n",
    "test_calc.py": "from calc import add\n\n\ndef test_adding():\n    assert add(2, 2) == 4\n",
}
UNITTEST_FILES = {
    "calc.py": PYTHON_FILES["calc.py"],
    "test_calc.py": (
        "import unittest\nfrom calc import add\n\n\nclass T(unittest.TestCase):\n"
        "    def test_adding(self):\n        self.assertEqual(add(2, 2), 4)\n"
    ),
}
JS = "exports.add = (a, b) => { return 0; };\n"
JS_TEST = (
    "const test = require('node:test');\nconst assert = require('node:assert');\n"
    "test('adding', () => assert.equal(require('./calc').add(2, 2), 4));\n"
)
PACKAGE = '{"name": "calc", "private": true, "scripts": {"test": "node --test"}}\n'
RUST = (
    "pub fn add(a: i32, b: i32) -> i32 {\n    return 0;\n}\n\n#[cfg(test)]\nmod tests {\n"
    "    #[test]\n    fn adding() {\n        assert_eq!(super::add(2, 2), 4);\n    }\n}\n"
)
CARGO = '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n'
GO_TEST = (
    'package calc\n\nimport "testing"\n\nfunc TestAdding(t *testing.T) {\n'
    "\tif add(2, 2) != 4 {\n\t\tt.Fail()\n\t}\n}\n"
)
C_TEST = '#include "calc.h"\nint main(void) { return add(2, 2) != 4; }\n'
MAKE = "check: main.c calc.c calc.h\n\tcc -o build/check main.c calc.c\n\tbuild/check\n"
PROVE = "use Test::More tests => 1;\nopen my $f, '<', 'product.txt';\nis(<$f>, \"works\\n\");\n"
QUIET_PYTEST = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python3 -m pytest -q -p no:cacheprovider"
OLD_SKIP = {
    "calc.py": PYTHON_FILES["calc.py"],
    "test_calc.py": (
        "import unittest\nfrom calc import add\n\n\nclass T(unittest.TestCase):\n"
        "    def test_adding(self):\n        self.assertEqual(add(2, 2), 4)\n\n"
        "    @unittest.skip('since ever')\n    def test_old(self):\n        pass\n"
    ),
}
TEARDOWN = (
    "import pytest\nfrom calc import add\n\n\n@pytest.fixture\ndef kept():\n    yield\n"
    "    assert add(2, 2) == 4\n\n\ndef test_it(kept):\n    pass\n"
)
WRITES_CALC = "printf 'def add(a, b):\\n    return a + b\\n' > calc.py"
# Runners that could not start before the work began: the files, the contract, and the honest work.
COULD_NOT_RUN: dict[str, tuple[dict[str, str], str, str, tuple[str, ...]]] = {
    "unittest": (
        {
            "tests/__init__.py": "import calc\n",
            "tests/test_calc.py": UNITTEST_FILES["test_calc.py"],
        },
        "python3 -m unittest discover -q -s tests -t .",
        WRITES_CALC,
        (),
    ),
    "pytest": (
        {"conftest.py": "import calc\n", "test_calc.py": PYTHON_FILES["test_calc.py"]},
        QUIET_PYTEST,
        WRITES_CALC,
        ("pytest",),
    ),
    "pytest, hushed by its settings,": (
        {
            "conftest.py": "import calc\n",
            "test_calc.py": PYTHON_FILES["test_calc.py"],
            "pytest.ini": "[pytest]\naddopts = -q\n",
        },
        QUIET_PYTEST,
        WRITES_CALC,
        ("pytest",),
    ),
    "pytest, hushed by the contract,": (
        {"conftest.py": "import calc\n", "test_calc.py": PYTHON_FILES["test_calc.py"]},
        f"{QUIET_PYTEST} > /dev/null",
        WRITES_CALC,
        ("pytest",),
    ),
    "node": (
        {"test/calc.test.js": JS_TEST.replace("./calc", "../calc")},
        "node --test test/",
        "echo 'exports.add = (a, b) => a + b;' > calc.js",
        ("node",),
    ),
    "node, in a script without any,": (
        {
            "test/calc.test.js": "const test = (name, run) => run();\n"
            "const { add } = require('../calc');\n"
            "test('adds', () => { require('assert').equal(add(2, 2), 4); });\n"
        },
        "node --test test/",
        "echo 'exports.add = (a, b) => a + b;' > calc.js",
        ("node",),
    ),
    "cargo": (
        {
            "Cargo.toml": CARGO,
            ".gitignore": "target/\n",
            "tests/calc.rs": "#[test]\nfn adds() { assert_eq!(calc::add(2, 2), 4); }\n",
        },
        "cargo test --offline",
        "mkdir src; echo 'pub fn add(a: i32, b: i32) -> i32 { a + b }' > src/lib.rs",
        ("cargo --version", "cc"),
    ),
    "cargo, of which there are none,": (
        {"Cargo.toml": CARGO, ".gitignore": "target/\n"},
        "cargo test --offline --lib",
        "mkdir src; echo 'pub fn add(a: i32, b: i32) -> i32 { a + b }' > src/lib.rs",
        ("cargo --version", "cc"),
    ),
}
# Honest twins of what makes a linter look at less: what the agent does, and the step's title.
AROUND_FILES = {
    "renamed": ("rm src/shop.py; echo 'x = 1' > src/store.py", ""),
    "cut in two": (
        "echo 'x = 1' > src/a.py; echo 'y = 1' > src/b.py; rm src/shop.py",
        "",
    ),
    "gone as the task says": ("rm src/shop.py", "Take out src/shop.py"),
    "gone as the plan allows": ("rm src/shop.py", ""),
}
RUSTUP = os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup"))

# Honest twins of what silences a linter that nobody knows: what the agent does, and more fields.
AROUND_A_LINTER = {
    "prose may speak of the linter": (
        "printf '# quill ignores nothing here, and nobody turns quill off\\nprice = 5\\n'"
        " > src/shop.py",
        "",
    ),
    "an excuse may move with its file": (
        "mv src/old.py src/moved.py; sed -i 's/ \\t$//' src/shop.py",
        "",
    ),
    "an excuse may stand where the linter does not look": (
        "sed -i 's/ \\t$//' src/shop.py; echo 'x = 1 # quill: off' > other.py",
        "",
    ),
    "an excuse is allowed where the plan says so": (
        "sed -i '1s/$/ # quill: off/' src/shop.py",
        "**may_shrink:** yes\n",
    ),
}

CASES = (
    *(
        Case(
            f"a runner that nobody knows counts its tests in its {style}",
            Accepted(attempts=1),
            files=VELLUM_FILES,
            contract=vellum(style),
            agent=f"{FIX} calc.py; echo 'case one 1 0 1' >> specs/more.spec",
            fields="**may_change:** specs/**\n",
        )
        for style in STYLES
    ),
    *(
        Case(
            what,
            Accepted(attempts=1),
            files={**QUILL_FILES, "src/old.py": f"x = 1 \t {EXCUSES[0]}\n"},
            contract=LINT,
            fields=fields,
            agent=agent,
        )
        for what, (agent, fields) in AROUND_A_LINTER.items()
    ),
    *(
        Case(
            f"a file under a linter may be {what}",
            Accepted(attempts=1),
            files={"src/shop.py": "import os\n", "src/calc.py": "x = 1\n"},
            plan=plan(
                step(
                    title or "Tidy up",
                    "ruff check --no-cache --isolated src",
                    fields="**may_shrink:** yes\n" if "allows" in what else "",
                )
            ),
            agent=agent,
            tools=("ruff",),
        )
        for what, (agent, title) in AROUND_FILES.items()
    ),
    Case(
        "a file under a linter may be gone by what another step was asked for",
        Accepted(attempts=2),
        files={"src/shop.py": "import os\n", "src/calc.py": "import os\n"},
        plan=plan(
            step("Take out src/shop.py", "test ! -e src/shop.py"),
            step("Tidy up", "ruff check --no-cache --isolated src"),
        ),
        agent={"1": "rm src/shop.py", "2": "echo 'x = 1' > src/calc.py"},
        tools=("ruff",),
    ),
    *(
        Case(
            f"tests of {runner} that could not run before are signed off when they pass",
            Accepted(attempts=1),
            files=files,
            contract=contract,
            agent=agent,
            fields="**env:** RUSTUP_HOME\n**writes:** Cargo.lock\n" if "cargo" in contract else "",
            environ={"RUSTUP_HOME": RUSTUP},
            tools=tools,
        )
        for runner, (files, contract, agent, tools) in COULD_NOT_RUN.items()
    ),
    Case(
        "tests that a runner does not count are signed off with a remark",
        Accepted(attempts=1),
        files=PYTHON_FILES,
        contract=f"{QUIET_PYTEST} -qq",
        agent=f"{FIX} calc.py",
        tools=("pytest",),
        afterwards="signoff status PLAN.md | grep 'tests not counted: add `-q` at most once'",
    ),
    Case(
        "another value in a case of a test is not a test less",
        Accepted(attempts=1),
        files={
            "calc.py": PYTHON_FILES["calc.py"],
            "test_calc.py": "import pytest\nfrom calc import add\n\n\n"
            "@pytest.mark.parametrize('n', [1, 2])\n"
            "def test_it(n):\n    assert add(n, n) == 2 * n\n",
        },
        contract=f"{QUIET_PYTEST} -v",
        fields="**may_change:** test_calc.py\n",
        agent=f"{FIX} calc.py; sed -i 's/1, 2/1, 3/' test_calc.py",
        tools=("pytest",),
    ),
    Case(
        "tests of a module that could not be imported may be skipped",
        Accepted(attempts=1),
        files={"test_calc.py": OLD_SKIP["test_calc.py"]},
        contract="python3 -m unittest",
        agent="printf 'def add(a, b):\\n    return a + b\\n' > calc.py",
    ),
    Case(
        "work may be checked with pytest",
        Accepted(attempts=1),
        files=PYTHON_FILES,
        contract=QUIET_PYTEST,
        agent=f"{FIX} calc.py",
        tools=("pytest",),
    ),
    Case(
        "pytest may be a command that writes a report and a cache",
        Accepted(attempts=1),
        files=PYTHON_FILES,
        contract="PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTHONPATH=. pytest -q --junitxml=report.xml",
        fields="**writes:** report.xml\n",
        agent=f"{FIX} calc.py",
        tools=("pytest",),
    ),
    Case(
        "an agent may run pytest itself",
        Accepted(attempts=1),
        files=PYTHON_FILES,
        contract=QUIET_PYTEST,
        agent=f"{FIX} calc.py; PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python3 -m pytest -q",
        tools=("pytest",),
    ),
    Case(
        "work may be checked with unittest",
        Accepted(attempts=1),
        files=UNITTEST_FILES,
        contract="python3 -m unittest -q",
        agent=f"{FIX} calc.py",
    ),
    Case(
        "work may be checked with one unittest by its name",
        Accepted(attempts=1),
        files=UNITTEST_FILES,
        contract="python3 -m unittest test_calc.T.test_adding",
        agent=f"{FIX} calc.py",
    ),
    *(
        Case(
            f"an old skip is no new one where the first failure ends {name}",
            Accepted(attempts=1),
            files={**OLD_SKIP, **files},
            contract=contract,
            agent=f"{FIX} calc.py",
            tools=tools,
        )
        for name, contract, files, tools in (
            ("pytest", f"{QUIET_PYTEST} -x", {}, ("pytest",)),
            ("pytest that names its tests", f"{QUIET_PYTEST} -vx", {}, ("pytest",)),
            ("unittest", "python3 -m unittest -f", {}, ()),
            (
                "a runner behind make",
                "make",
                {"Makefile": f"all:\n\t@{QUIET_PYTEST} -x\n"},
                ("make", "pytest"),
            ),
            (
                "the first of two runners",
                "python3 -m unittest test_a && python3 -m unittest test_calc",
                {"test_a.py": UNITTEST_FILES["test_calc.py"]},
                (),
            ),
        )
    ),
    Case(
        "an error beside a test is not a test that ran",
        Accepted(attempts=1),
        files={"calc.py": PYTHON_FILES["calc.py"], "test_calc.py": TEARDOWN},
        contract=QUIET_PYTEST,
        agent=f"{FIX} calc.py",
        tools=("pytest",),
    ),
    Case(
        "a doctest may move to another module, and others be added",
        Accepted(attempts=1),
        files={
            "calc.py": 'def add(a, b):\n    """\n    >>> add(2, 2)\n    4\n    """\n    return 0\n',
            "sums.py": "",
        },
        contract="python3 -m doctest calc.py sums.py",
        agent=f"{FIX} calc.py; mv calc.py sums.py; "
        'printf \'"""\\n>>> 1 + 1\\n2\\n"""\\n\' > calc.py',
    ),
    Case(
        "tests that the contract lets fail may go on failing",
        Accepted(attempts=1),
        files={
            **PYTHON_FILES,
            "old/test_old.py": "import unittest\n\n\nclass Old(unittest.TestCase):\n"
            "    def test_old(self):\n        self.fail()\n",
            "Makefile": "test:\n\t-python3 -m unittest discover -s old\n"
            "\tpython3 -c 'import calc; assert calc.add(2, 2) == 4'\n",
        },
        contract="make test",
        agent=f"{FIX} calc.py",
    ),
    Case(
        "a suppression may move with its line",
        Accepted(attempts=1),
        files={"calc.py": "import os  # noqa: F401\nimport re\n"},
        contract="ruff check --no-cache --isolated .",
        agent="mv calc.py sums.py; sed -i '/import re/d' sums.py",
        tools=("ruff",),
    ),
    Case(
        "a suppression is allowed where the plan says so",
        Accepted(attempts=1),
        files={"calc.py": "import os\n"},
        contract="ruff check --no-cache --isolated calc.py",
        fields="**may_shrink:** yes\n",
        agent="sed -i 's/os$/&  # noqa: F401/' calc.py",
        tools=("ruff",),
    ),
    Case(
        "work may be checked with doctest",
        Accepted(attempts=1),
        files={
            "calc.py": 'def add(a, b):\n    """\n    >>> add(2, 2)\n    4\n    """\n    return 0\n'
        },
        contract="python3 -m doctest calc.py",
        agent=f"{FIX} calc.py",
    ),
    Case(
        "work may be checked with a Python script that asserts",
        Accepted(attempts=1),
        files={
            "calc.py": PYTHON_FILES["calc.py"],
            "check.py": "import calc\nassert calc.add(1, 1) == 2\n",
        },
        contract="python3 check.py",
        fields="**may_change:** calc.py\n",
        agent=f"{FIX} calc.py",
    ),
    Case(
        "work may be checked with node's own test runner",
        Accepted(attempts=1),
        files={"calc.js": JS, "calc.test.js": JS_TEST},
        contract="node --test",
        agent=f"{FIX} calc.js",
        tools=("node",),
    ),
    Case(
        "work may be checked with an npm script",
        Accepted(attempts=1),
        files={"calc.js": JS, "calc.test.js": JS_TEST, "package.json": PACKAGE},
        contract="npm test --silent",
        agent=f"{FIX} calc.js",
        tools=("npm", "node"),
    ),
    Case(
        "work may be checked with make that calls other things",
        Accepted(attempts=1),
        files={**UNITTEST_FILES, "Makefile": "all: test\n\ntest:\n\t@python3 -m unittest -q\n"},
        contract="make",
        agent=f"{FIX} calc.py",
        tools=("make",),
    ),
    Case(
        "work may be checked with a C compiler and make",
        Accepted(attempts=1),
        files={
            "main.c": C_TEST,
            "calc.h": "int add(int a, int b);\n",
            "calc.c": "int add(int a, int b) { return 0; }\n",
            "Makefile": MAKE,
            ".gitignore": "build/*\n!build/.keep\n",
            "build/.keep": "",
        },
        contract="make -s check",
        agent=f"{FIX} calc.c",
        tools=("make", "cc"),
    ),
    Case(
        "a contract may call a compiler when its output is declared",
        Accepted(attempts=1),
        files={
            "main.c": C_TEST,
            "calc.h": "int add(int a, int b);\n",
            "calc.c": "int add(int a, int b) { return 0; }\n",
        },
        contract="cc -o app main.c calc.c && ./app",
        fields="**writes:** app\n",
        agent=f"{FIX} calc.c",
        tools=("cc",),
    ),
    Case(
        "work may be checked with cargo",
        Accepted(attempts=1),
        files={"Cargo.toml": CARGO, "src/lib.rs": RUST, ".gitignore": "target/\n"},
        contract="cargo test --offline --quiet",
        fields="**env:** RUSTUP_HOME\n**writes:** Cargo.lock\n**contract_timeout:** 2 minutes\n",
        agent=f"{FIX} src/lib.rs",
        environ={"RUSTUP_HOME": RUSTUP},
        tools=("cargo --version", "cc"),
    ),
    Case(
        "work may be checked with go",
        Accepted(attempts=1),
        files={
            "go.mod": "module calc\n\ngo 1.20\n",
            "calc.go": "package calc\n\nfunc add(a, b int) int {\n\treturn 0\n}\n",
            "calc_test.go": GO_TEST,
        },
        contract="go test ./...",
        fields="**contract_timeout:** 2 minutes\n",
        agent=f"{FIX} calc.go",
        tools=("go",),
    ),
    Case(
        "work may be checked with prove, which speaks TAP",
        Accepted(attempts=1),
        files={"t/product.t": PROVE},
        contract="prove -q t",
        fields="**produces:** product.txt\n",
        tools=("prove",),
    ),
    Case(
        "work may be checked with a shell script that prints TAP",
        Accepted(attempts=1),
        files={"check.sh": "echo 1..1\ngrep -qx works product.txt && echo ok 1 || echo not ok 1\n"},
        contract="bash check.sh | tee /dev/stderr | grep -qx 'ok 1'",
    ),
    Case(
        "work may be checked with a linter",
        Accepted(attempts=1),
        files={"calc.py": "import os\n\n\ndef add(a, b):\n    return 0\n"},
        contract="ruff check --no-cache --isolated calc.py",
        agent="sed -i '/import os/,+2d' calc.py",
        tools=("ruff",),
    ),
    Case(
        "work may be checked with a type checker",
        Accepted(attempts=1),
        files={"calc.py": "def add(a: int, b: int) -> int:\n    return 'no'\n"},
        contract="mypy --cache-dir=/dev/null calc.py",
        agent="sed -i \"s/return 'no'/return a + b/\" calc.py",
        tools=("mypy",),
    ),
)
