"""Recipes of a project: derived only when a failing test makes the recipe fail, by real runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from signoff.domain.session import TaskBasis
from signoff.toolbatch.deriving import CheckSource, Derived, derive

NPM, MAKE = "npm run --silent test", "make --always-make test"
needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")


@pytest.fixture
def failing_testers(tmp_path: Path) -> dict[str, str]:
    """An environment in which every test run fails."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("pytest", "jest", "mocha", "eslint", "mypy", "npx"):
        (programs / name).write_text("#!/bin/sh\nexit 1\n")
        (programs / name).chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    return {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(home)}


def derived(root: Path, kind: str, files: dict[str, str]) -> Derived:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    return derive((f"x{kind}",), (), TaskBasis(), root)


def commands(found: Derived) -> list[str]:
    """What is relied on; what is only run beside it does not count."""
    of_project = [c.command for c in found.checks if c.source == CheckSource.PROJECT]
    return [command for command in of_project if command not in found.additional]


HONEST_MAKE = {
    "plain": "test:\n\tpytest -q\n",
    "silent": "test:\n\t@pytest -q\n",
    "last of several": "test:\n\t@echo testing\n\t@mkdir -p out\n\tpytest\n",
    "first of several": "test:\n\tpytest\n\t@echo fine\n",
    "several targets": "check test:\n\tpytest\n",
    "space": "test :\n\tpytest\n",
    "beside": "test: ; pytest\n",
    "prerequisite": "test: unit\nunit: build\n\tpytest\nbuild:\n\t@echo\n",
    "own rule for prerequisites": "test: unit\nunit:\n\tpytest\ntest: other\nother:\n",
    "variable": "PYTEST ?= pytest\nARGS := -q\ntest:\n\t$(PYTEST) ${ARGS} $(MORE)\n",
    "variable of variables": "A = $(B)\nB = pytest\ntest:\n\t$(A)\n",
    "make in make": "test:\n\t$(MAKE) unit\nunit:\n\tpytest\n",
    "continued": "test:\n\tcd . && \\\n\t  pytest -q\n",
    "says why and fails": "test:\n\tpytest || (echo broken; exit 1)\n",
    "comment": "# tests\ntest: # run them\n\tpytest # all\n",
    "wrapped": "test:\n\tenv CI=1 timeout 60 pytest\n",
    "order only": "test: | unit\nunit:\n\tpytest\n",
    "shell of its own": "test:\n\tbash -c 'pytest -q'\n",
    "name in a variable": "T = test\nU = unit\n$(T): $(U)\n$(U):\n\tpytest\n",
    "pattern elsewhere": "%.o: %.c\n\tcc -c $<\ntest:\n\tpytest\n",
}
# More than plain rules and variables that are set once: only make can tell what it does.
UNREAD_MAKE = {
    "bash": "SHELL := /bin/bash\n.SHELLFLAGS := -eu -o pipefail -c\ntest:\n\tpytest | tee log\n",
    "one shell that stops": (
        "SHELL := /bin/bash\n.SHELLFLAGS := -ec\n.ONESHELL:\ntest:\n\tpytest\n\techo ok\n"
    ),
    "one shell": ".ONESHELL:\ntest:\n\techo\n\tpytest\n",
    "flags": "MAKEFLAGS += --no-print-directory\ntest:\n\tpytest\n",
    "conditional elsewhere": "ifdef CI\nX = 1\nendif\ntest:\n\tpytest\n",
    "defined elsewhere": "define HELP\nsome text\nendef\ntest:\n\tpytest\n",
    "double colon": "test::\n\ttrue\ntest::\n\tpytest\n",
    "target variable of another": "test:\n\tpytest\nrun: X = 1\nrun:\n\ttrue\n",
}
USELESS_MAKE = {
    "true": "test:\n\t@true\n",
    "nothing": "test:\n",
    "comment": "test: # run\n\t# nothing\n",
    "echo": "test:\n\t@echo all tests passed\n",
    "prerequisite that is true": "test: noop\nnoop:\n\t@true\n",
    "prerequisite without a recipe": ".PHONY: test\ntest: build\nbuild:\n",
    "prerequisite nobody makes": "test: x\n\t@true\n",
    "dash": "test:\n\t-pytest\n",
    "at and dash": "test:\n\t@-pytest\n",
    "dash in a variable": "Q = -\ntest:\n\t$(Q)pytest\n",
    "or true": "test:\n\tpytest || true\n",
    "or true in a variable": "OK = || true\ntest:\n\tpytest $(OK)\n",
    "or true appended": "ARGS = -q\nARGS += || true\ntest:\n\tpytest $(ARGS)\n",
    "or true for one target": "test: ARGS = || true\ntest:\n\tpytest $(ARGS)\n",
    "or true under a condition": "ifndef X\nARGS = || true\nendif\ntest:\n\tpytest $(ARGS)\n",
    "or true by a function": "test:\n\tpytest $(if x,|| true)\n",
    "or true by the shell": "A := $(shell echo '|| true')\ntest:\n\tpytest $(A)\n",
    "or true by assignment": "A != echo '|| true'\ntest:\n\tpytest $(A)\n",
    "or true in a definition": "define A\n|| true\nendef\ntest:\n\tpytest $(A)\n",
    "ignored": ".IGNORE: test\ntest:\n\tpytest\n",
    "all ignored": ".IGNORE:\ntest:\n\tpytest\n",
    "ignored by a flag": "MAKEFLAGS += -i\ntest:\n\tpytest\n",
    "ignored by a letter": "MAKEFLAGS += -ik\ntest:\n\tpytest\n",
    "not run by a flag": "MAKEFLAGS = n\ntest:\n\tpytest\n",
    "nested and ignored": "test:\n\t$(MAKE) -i unit\nunit:\n\tpytest\n",
    "nested and not run": "test:\n\t$(MAKE) -n unit\nunit:\n\tpytest\n",
    "shell": "SHELL=/bin/true\ntest:\n\tpytest\n",
    "shell for one target": "test: SHELL = /bin/true\ntest:\n\tpytest\n",
    "shell flags": ".SHELLFLAGS = -n -c\ntest:\n\tpytest\n",
    "undefined": "test:\n\t$(NOP)\n",
    "defined": "NOP=true\ntest:\n\t$(NOP)\n",
    "continued": "test:\n\ttrue \\\n\t&& true\n",
    "continued comment": "test:\n\t# \\\n\tpytest\n",
    "in a definition": "define x\ntest:\n\tpytest\nendef\n",
    "under a condition": "ifdef NEVER\ntest:\n\tpytest\nelse\ntest:\n\t@true\nendif\n",
    "overridden": "test:\n\tpytest\ntest:\n\t@true\n",
    "overridden by eval": "test:\n\tpytest\n$(eval test: ; @true)\n",
    "overridden by an include": "test:\n\tpytest\ninclude other.mk\n",
    "own program": "export PATH := $(CURDIR)/bin:$(PATH)\ntest:\n\tpytest\n",
    "own function": "test:\n\tpytest() { true; }; pytest\n",
    "one shell": ".ONESHELL:\ntest:\n\tpytest\n\ttrue\n",
    "one shell ends early": ".ONESHELL:\ntest:\n\texit 0\n\tpytest\n",
    "background": "test:\n\tpytest &\n",
    "pipe": "test:\n\tpytest | tee log\n",
    "only collected": "test:\n\tpytest --collect-only\n",
    "only collected by surroundings": "test:\n\tPYTEST_ADDOPTS=--co pytest\n",
    "exported": "export PYTEST_ADDOPTS = --co\ntest:\n\tpytest\n",
    "version": "test:\n\tpytest --version\n",
    "file": "test:\n\tcat Makefile\n",
    "recipe prefix": ".RECIPEPREFIX = >\ntest:\n>true\n\tpytest\n",
    "itself": "test: test2\ntest2: test\n",
    "never": "test:\n\tif false; then pytest; fi\n",
    "trap": "test:\n\ttrap 'exit 0' EXIT; pytest\n",
    "not": "test:\n\t! pytest\n",
    "shell for every target": "%: SHELL = /bin/true\ntest:\n\tpytest\n",
    "shell by a name": "T = test\n$(T): SHELL = /bin/true\ntest:\n\tpytest\n",
    "recipe by a name": "T = test\ntest:\n\tpytest\n$(T):\n\t@true\n",
    "recipe by a function": "test:\n\tpytest\n$(subst x,t,xesx):\n\t@true\n",
    "prerequisite of before": "D = noop\ntest: $(D)\nD = unit\nunit:\n\tpytest\nnoop:\n",
    "variable of before": "A := $(B)\nB = pytest\ntest:\n\t$(A)\n",
    "added to a variable": "A := true\nA += $(B)\nB = && pytest\ntest:\n\t$(A)\n",
    "condition in a recipe": "test:\nifdef NEVER\n\tpytest\nelse\n\t@true\nendif\n",
    "one shell and dash": ".ONESHELL:\ntest:\n\t-true\n\tpytest\n",
    "emptied": "test:\n\tpytest\ntest: ;\n",
}


@pytest.mark.parametrize("name", HONEST_MAKE)
@needs_make
def test_a_make_target_that_runs_tests_is_derived_and_fails_with_them(
    tmp_path: Path, failing_testers: dict[str, str], name: str
) -> None:
    assert commands(derived(tmp_path, ".c", {"Makefile": HONEST_MAKE[name]})) == [MAKE]
    run = subprocess.run(
        MAKE.split(), cwd=tmp_path, env=failing_testers, capture_output=True, check=False
    )
    assert run.returncode != 0


@pytest.mark.parametrize("name", USELESS_MAKE)
def test_a_make_target_that_can_pass_without_its_tests_is_refused(
    tmp_path: Path, name: str
) -> None:
    found = derived(tmp_path, ".c", {"Makefile": USELESS_MAKE[name]})
    assert commands(found) == [] and found.checks == ()
    assert name == "in a definition" or "the make target `test`" in " ".join(found.refused)


@pytest.mark.parametrize("name", UNREAD_MAKE)
def test_a_make_target_that_only_make_can_read_has_to_hold_and_proves_nothing_alone(
    tmp_path: Path, name: str
) -> None:
    found = derived(tmp_path, ".c", {"Makefile": UNREAD_MAKE[name]})
    assert found.checks == ()
    assert "nobody can tell what the make target `test` proves" in " ".join(found.refused)


HONEST_NPM: dict[str, dict[str, str]] = {
    "plain": {"test": "jest"},
    "with arguments": {"test": "jest --coverage --ci"},
    "by npx": {"test": "npx jest"},
    "with surroundings": {"test": "NODE_ENV=test jest"},
    "in order": {"test": "npm run lint && npm run unit", "lint": "eslint .", "unit": "jest"},
    "linter first": {"test": "eslint . && echo fine"},
    "make": {"test": "make check"},
    "says why and fails": {"test": "jest || exit 1"},
}
USELESS_NPM: dict[str, dict[str, str]] = {
    "a script of the project": {"test": "node test.js"},
    "a shell script of the project": {"test": "./run.sh"},
    "constant": {"test": "node -e 0"},
    "exits": {"test": "node -e 'process.exit(0)'"},
    "version": {"test": "node --version"},
    "npm version": {"test": "npm --version"},
    "version of the tester": {"test": "jest --version"},
    "short version": {"test": "jest -v"},
    "noop": {"test": "npm run noop", "noop": "true"},
    "missing": {"test": "npm run nothing --if-present"},
    "itself": {"test": "npm test"},
    "file": {"test": "cat package.json"},
    "exists": {"test": "test -f package.json"},
    "no tests": {"test": "jest --passWithNoTests"},
    "wrapped": {"test": "cross-env CI=1 true"},
    "or": {"test": "jest || node -e 0"},
    "then": {"test": "jest; node -e 0"},
    "nested": {"test": "bash -c 'jest; node -e 0'"},
    "unknown": {"test": "my-tester"},
    "script that cannot fail": {"test": "node fine.js"},
    "shell script that cannot fail": {"test": "./fine.sh"},
    "script that is not there": {"test": "node gone.js"},
    "script outside": {"test": "node ../test.js"},
    "own program": {"test": "PATH=./bin:$PATH jest"},
    "own program of that name": {"test": "./jest"},
    "only listed": {"test": "jest --listTests"},
}
SCRIPTS = {
    "test.js": "const assert = require('assert'); assert.equal(1, 2)\n",
    "fine.js": "console.log('ok'); process.exit(0)\n",
    "run.sh": "#!/bin/sh\nset -e\njest\necho fine\n",
    "fine.sh": "#!/bin/sh\njest\necho fine\n",
    "jest": "#!/bin/sh\nexit 0\n",
    "Makefile": "check:\n\tpytest\n",
}


@pytest.mark.parametrize("name", HONEST_NPM)
@needs_npm
def test_an_npm_script_that_runs_tests_is_derived_and_fails_with_them(
    tmp_path: Path, failing_testers: dict[str, str], name: str
) -> None:
    files = {**SCRIPTS, "package.json": json.dumps({"scripts": HONEST_NPM[name]})}
    assert commands(derived(tmp_path, ".ts", files)) == [NPM]
    run = subprocess.run(
        NPM.split(), cwd=tmp_path, env=failing_testers, capture_output=True, check=False
    )
    assert run.returncode != 0


@pytest.mark.parametrize("name", USELESS_NPM)
def test_an_npm_script_that_can_pass_without_its_tests_is_refused(
    tmp_path: Path, name: str
) -> None:
    files = {**SCRIPTS, "package.json": json.dumps({"scripts": USELESS_NPM[name]})}
    del files["Makefile"]
    found = derived(tmp_path, ".ts", files)
    assert commands(found) == [] and "the npm script `test`" in " ".join(found.refused)


@pytest.mark.parametrize(
    "files",
    [
        {"jest.config.js": "module.exports = { passWithNoTests: true }\n"},
        {".mocharc.json": '{"dry-run": true}'},
        {"package.json": '{"scripts": {"test": "jest"}, "jest": {"passWithNoTests": true}}'},
    ],
    ids=lambda files: next(iter(files)),
)
def test_settings_that_forgive_leave_a_script_untold(tmp_path: Path, files: dict[str, str]) -> None:
    scripts = json.dumps({"scripts": {"test": "jest"}})
    assert commands(derived(tmp_path, ".ts", {"package.json": scripts, **files})) == []


@pytest.mark.parametrize(
    "settings",
    [
        "testpaths = tests docs",
        "python_files = test_*.py",
        "addopts = --ignore=docs -p no:x -m 'a'",
    ],
)
def test_ordinary_settings_of_pytest_keep_it_proving(tmp_path: Path, settings: str) -> None:
    files = {"tests/unit/test_a.py": "def test(): pass\n", "tox.ini": f"[pytest]\n{settings}\n"}
    assert len(commands(derived(tmp_path, ".py", files))) == 1


def test_a_shell_that_npm_is_told_to_use_leaves_its_scripts_untold(tmp_path: Path) -> None:
    scripts = json.dumps({"scripts": {"test": "jest"}})
    files = {"package.json": scripts, ".npmrc": "script-shell=/bin/true\n"}
    assert commands(derived(tmp_path, ".ts", files)) == []


@pytest.mark.parametrize(
    "files",
    [
        {"pytest.ini": "[pytest]\naddopts = -q --collect-only\n"},
        {"pyproject.toml": '[tool.pytest.ini_options]\naddopts = ["--co"]\n'},
        {"setup.cfg": "[tool:pytest]\naddopts = --setup-plan\n"},
        {"conftest.py": "def pytest_sessionfinish(session): session.exitstatus = 0\n"},
        {"tests/conftest.py": "import os\ndef pytest_unconfigure(): os._exit(0)\n"},
        {"pytest.py": ""},
        {"pytest.ini": "[pytest]\npython_files = x_*.py\n", "x_a.py": "def test(): pass\n"},
        {"pytest.ini": "[pytest]\ntestpaths = other\n", "other/test_b.py": "def test(): pass\n"},
        {"tox.ini": "[pytest]\naddopts = --ignore=tests\n"},
        {"setup.cfg": "[tool:pytest]\naddopts = -p mine\n", "mine.py": ""},
        {"tests/conftest.py": "collect_ignore = ['test_a.py']\n"},
        {"pytest/__main__.py": ""},
    ],
    ids=lambda files: next(iter(files)),
)
def test_pytest_that_is_kept_from_judging_is_refused(tmp_path: Path, files: dict[str, str]) -> None:
    found = derived(tmp_path, ".py", {"tests/test_a.py": "def test(): pass\n", **files})
    assert commands(found) == [] and "pytest is kept from judging" in found.refused[0]


@pytest.mark.parametrize(
    "path", ["tests/unit/test_a.py", "pkg/tests/deep/er/a_test.py", "test_a.py", "test/test_a.py"]
)
def test_pytest_finds_its_tests_however_deep_they_lie(tmp_path: Path, path: str) -> None:
    (command,) = commands(derived(tmp_path, ".py", {path: "def test(): assert 0\n"}))
    assert "pytest" in command


@pytest.mark.parametrize(
    "path", ["node_modules/x/tests/test_a.py", ".venv/lib/tests/test_a.py", "scripts/test_a.py"]
)
def test_tests_of_others_are_none_of_the_project(tmp_path: Path, path: str) -> None:
    assert commands(derived(tmp_path, ".py", {path: "def test(): assert 0\n"})) == []


@pytest.mark.parametrize(
    "makefile",
    ["\0", "test:" * 50_000, "A=$(A)\ntest:\n\t$(A)\n", "$" * 9_000, "A = $(B)$(B)\n" * 99],
)
def test_whatever_a_makefile_holds_it_is_read_or_left(tmp_path: Path, makefile: str) -> None:
    assert commands(derived(tmp_path, ".c", {"Makefile": makefile})) == []


def test_what_nobody_can_tell_about_has_to_hold_but_never_stands_alone(tmp_path: Path) -> None:
    makefile = {"Makefile": "test:\n\tgrep -qx good report.txt\n"}
    alone = derived(tmp_path, ".xyz", makefile)
    assert alone.checks == () and "the make target `test`" in " ".join(alone.refused)
    (tmp_path / "report.md").write_text("good\n")
    beside = derive(("report.md",), (), TaskBasis(), tmp_path)
    assert [c.command for c in beside.checks] == [MAKE, "signoff check-artifact ./report.md"]
    assert beside.additional == (MAKE,) and commands(beside) == []


def test_a_linter_that_proves_does_not_replace_tests_that_nobody_can_tell_about(
    tmp_path: Path,
) -> None:
    scripts = {"test": "my-tester", "lint": "eslint ."}
    found = derived(tmp_path, ".ts", {"package.json": json.dumps({"scripts": scripts})})
    assert commands(found) == ["npm run --silent lint"] and found.additional == (NPM,)
    assert len(found.checks) == 2
