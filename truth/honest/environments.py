"""Virtual environments, installed packages, and several packages in one repository."""

from __future__ import annotations

from truth.adversary.byproducts import DEPENDS, SET_UP
from truth.adversary.byproducts import SITE as PACKAGES
from truth.adversary.byproducts import VENV as RUNNER
from truth.adversary.forgery import HELD_OUT
from truth.adversary.heldout import BEHIND, FOLDER
from truth.case import WORK, Accepted, Case
from truth.plans import plan, step

VENV = "python3 -m venv --without-pip .venv"
SITE = "$(.venv/bin/python -c 'import site; print(site.getsitepackages()[0])')"
NODE_LIB = "mkdir -p node_modules/lib; echo 'exports.x = 1;' > node_modules/lib/index.js"
MODULE = "def value():\n    return 0\n"
MODULE_TEST = (
    "import unittest\nfrom lib import value\n\n\nclass T(unittest.TestCase):\n"
    "    def test_value(self):\n        self.assertEqual(value(), 1)\n"
)
MONOREPO = {
    f"packages/{name}/{file}": text
    for name in ("alpha", "beta")
    for file, text in (("lib.py", MODULE), ("test_lib.py", MODULE_TEST))
}
EACH_PACKAGE = plan(
    step("Fix alpha", "cd packages/alpha && python3 -m unittest -q"),
    step("Fix beta", "cd packages/beta && python3 -m unittest -q"),
    post=[
        (
            "All packages pass",
            "for p in packages/*; do (cd $p && python3 -m unittest -q) || exit 1; done",
        )
    ],
)
ROOT_PACKAGE = '{"private": true, "workspaces": ["packages/*"]}\n'
PACKAGE = '{"name": "NAME", "version": "1.0.0", "scripts": {"test": "node test.js"}}\n'

SET_UP_VENV = f"{VENV} && echo $PWD/src > $(echo {PACKAGES})/app.pth"

CASES = (
    Case(
        "a virtual environment that is ignored may be made by the agent",
        Accepted(attempts=1),
        files={".gitignore": ".venv/\n"},
        contract=".venv/bin/python -c 'import sys; assert sys.prefix != sys.base_prefix'",
        agent=VENV,
    ),
    Case(
        "a package may be installed into a virtual environment",
        Accepted(attempts=1),
        files={".gitignore": ".venv/\n"},
        prepare=VENV,
        contract=".venv/bin/python -c 'import newlib'",
        agent=f"touch {SITE}/newlib.py",
    ),
    Case(
        "the project may be installed into it by a path file",
        Accepted(attempts=1),
        files={".gitignore": ".venv/\n", "src/app/__init__.py": ""},
        prepare=VENV,
        contract="cd / && \"$OLDPWD/.venv/bin/python\" -c 'import app; app.run()'",
        agent=f"echo 'def run(): pass' > src/app/__init__.py; echo \"$PWD/src\" > {SITE}/app.pth",
        fields="",
    ),
    *(
        Case(
            f"{what} may come into an environment whose runner checks the work",
            Accepted(attempts=1),
            files={".gitignore": ".venv/\n"},
            prepare=RUNNER,
            contract=". .venv/bin/activate && pytest",
            agent=f"{WORK}; {agent}",
            fields="**produces:** product.txt\n",
        )
        for what, agent in {
            "another package": f"cd $(echo {PACKAGES}); mkdir other; touch other/a.py",
            "a path file": f'echo "$PWD/src" > $(echo {PACKAGES})/app.pth',
            "another program": "printf '#!/bin/sh\\n' > .venv/bin/other",
            "compiled Python": "env -u PYTHONDONTWRITEBYTECODE .venv/bin/python -m pytest",
        }.items()
    ),
    *(
        Case(
            f"a runner in an environment that the agent made counts where {what}",
            Accepted(attempts=1),
            files={".gitignore": ".venv/\n"},
            contract=". .venv/bin/activate && pytest",
            agent=f"{WORK}; {RUNNER}",
            fields=f"{field} .venv/**\n**produces:** product.txt\n",
        )
        for what, field in {"the plan lets it change": "**may_change:**"}.items()
    ),
    Case(
        "an environment that the agent made with packages of every new one may run the check",
        Accepted(attempts=1),
        files={".gitignore": ".venv/\n"},
        contract=".venv/bin/python -c 'import product'",
        agent=f"{VENV}; echo x = 1 > product.py; echo 'import sys; sys.path' > {SITE}/shim.pth",
        fields="",
    ),
    Case(
        "an environment that the agent made beside the check's own is nobody's business",
        Accepted(attempts=1),
        files={".gitignore": ".venv/\nnode_modules/\n"},
        contract="python3 -c 'import product'",
        agent=f"{RUNNER}{NODE_LIB}; echo x = 1 > product.py",
        fields="",
    ),
    *(
        Case(
            f"an ignored file may {what} where the work alone keeps the check",
            Accepted(attempts=1),
            files={".gitignore": ".env\nlocal/\n", "run.sh": "cat .env local/a\n"},
            prepare="echo A=1 > .env; mkdir local; echo b > local/a",
            contract="cat .env local/a 2> /dev/null; python3 -c 'import product'",
            agent=f"{agent}; echo x = 1 > product.py",
            fields="",
            afterwards=there,
        )
        for what, agent, there in (
            ("be removed", "rm -r .env local", "test ! -e .env && test ! -e local"),
            ("be changed", "echo A=2 > .env", "grep -qx A=2 .env"),
        )
    ),
    Case(
        "a tool that was installed before may be run by the check from now on",
        Accepted(attempts=1),
        files={
            ".gitignore": "node_modules/\n",
            "package.json": '{"scripts": {"test": "exit 1"}}\n',
        },
        prepare="mkdir -p node_modules/.bin; printf '#!/bin/sh\\ngrep -qx works product.txt\\n' "
        "> node_modules/.bin/checker; chmod +x node_modules/.bin/checker",
        contract="npm test --silent",
        agent=f"{WORK}; sed -i 's/exit 1/checker/' package.json",
        fields="**may_change:** package.json\n**produces:** product.txt\n",
        tools=("npm",),
    ),
    Case(
        "a held-out check may build into a folder that was there",
        Accepted(attempts=1),
        files={".gitignore": "target/\nnode_modules/\n", "target/old": "", "app.c": ""},
        prepare=f"{HELD_OUT}{FOLDER}/contract <<'END'\ntest -e node_modules/a && "
        "cp app.c target/new && mkdir target/deep && grep -q main target/new\nEND\n"
        "mkdir node_modules; touch node_modules/a",
        contract="grep -q main app.c",
        agent="echo 'int main;' > app.c",
        fields=BEHIND,
        afterwards='test "$(ls target)" = old',
        needs_isolation=True,
    ),
    Case(
        "a virtual environment that nobody ignored is content",
        Accepted(attempts=1),
        prepare=VENV,
        contract=".venv/bin/python -c 'import product'",
        agent="echo x = 1 > product.py",
        fields="",
    ),
    Case(
        "a virtual environment that nobody ignored may be made where the plan says so",
        Accepted(attempts=1),
        contract=".venv/bin/python -c 'import sys; assert sys.prefix != sys.base_prefix'",
        agent=VENV,
        fields="**may_change:** .venv/**\n",
    ),
    Case(
        "a virtual environment may be activated",
        Accepted(attempts=1),
        files={".gitignore": ".venv/\n"},
        prepare=VENV,
        contract=". .venv/bin/activate && python -c 'import product'",
        agent="echo x = 1 > product.py",
        fields="",
    ),
    Case(
        "installed node packages are by-products",
        Accepted(attempts=1),
        files={".gitignore": "node_modules/\n"},
        contract="node -e 'require(\"./app\")'",
        agent=f"{NODE_LIB}; echo 'require(\"lib\").x;' > app.js",
        tools=("node",),
    ),
    Case(
        "a tool among the node packages may be called by a script",
        Accepted(attempts=1),
        files={
            ".gitignore": "node_modules/\n",
            "package.json": '{"scripts": {"test": "checker product.txt"}}\n',
        },
        prepare="mkdir -p node_modules/.bin; printf '#!/bin/sh\\ngrep -qx works \"$1\"\\n' "
        "> node_modules/.bin/checker; chmod +x node_modules/.bin/checker",
        contract="npm test --silent",
        tools=("npm",),
    ),
    Case(
        "fifty thousand bytes of dependencies in a hundred folders are by-products",
        Accepted(attempts=1),
        files={".gitignore": "node_modules/\n"},
        agent=f"{WORK}; for i in {{1..100}}; do mkdir -p node_modules/p$i/dist; "
        "head -c 500 /dev/zero > node_modules/p$i/dist/index.js; done",
    ),
    Case(
        "each package of a repository is checked where it lies",
        Accepted(attempts=2),
        plan=EACH_PACKAGE,
        files=MONOREPO,
        agent={
            "1": "sed -i 's/return 0/return 1/' packages/alpha/lib.py",
            "2": "sed -i 's/return 0/return 1/' packages/beta/lib.py",
        },
    ),
    Case(
        "make may be called in a folder below",
        Accepted(attempts=1),
        files={**MONOREPO, "packages/alpha/Makefile": "test:\n\tpython3 -m unittest -q\n"},
        contract="make -s -C packages/alpha test",
        agent="sed -i 's/return 0/return 1/' packages/alpha/lib.py",
    ),
    Case(
        "a plan may be about one package of a repository",
        Accepted(attempts=1),
        files=MONOREPO,
        prepare="git init -q",
        start_in="packages/alpha",
        contract="cd packages/alpha && python3 -m unittest -q",
        agent="sed -i 's/return 0/return 1/' packages/alpha/lib.py",
    ),
    Case(
        "npm may test one package of several",
        Accepted(attempts=1),
        files={
            "package.json": ROOT_PACKAGE,
            "packages/a/package.json": PACKAGE.replace("NAME", "a"),
            "packages/a/test.js": "require('assert').equal(require('./index').x, 1);\n",
            "packages/a/index.js": "exports.x = 0;\n",
        },
        contract="npm test --silent --prefix packages/a",
        agent="echo 'exports.x = 1;' > packages/a/index.js",
        tools=("npm", "node"),
    ),
    Case(
        "a shared library may change under its users",
        Accepted(attempts=2),
        files={"shared.py": "VALUE = 0\n", "a.py": "import shared\n", "b.py": "import shared\n"},
        plan=plan(
            step("Change the library", "python3 -c 'import shared; assert shared.VALUE == 1'"),
            step("Use it", "python3 -c 'import a, b; assert a.x == b.x == 1'"),
        ),
        agent={
            "1": "echo VALUE = 1 > shared.py",
            "2": "for f in a b; do echo 'x = shared.VALUE' >> $f.py; done",
        },
    ),
    Case(
        "a set-up makes the virtual environment where the workspace is",
        Accepted(attempts=1),
        files={
            ".gitignore": ".venv/\n",
            "src/app/__init__.py": "",
            "signoff.toml": f"[setup]\ncommand = '{SET_UP_VENV}'\n",
        },
        prepare=SET_UP_VENV,
        contract="cd / && \"$OLDPWD/.venv/bin/python\" -c 'import app; app.run()'",
        agent="echo 'def run(): pass' > src/app/__init__.py",
        fields="",
    ),
    Case(
        "a lock file may change where the plan says so, and its set-up counts",
        Accepted(attempts=1),
        files=DEPENDS,
        prepare=SET_UP,
        contract="python3 checker/run.py",
        agent=f"echo more > product.txt; echo 'hold = len' > lock.txt; {SET_UP}",
        fields="**may_change:** lock.txt, product.txt\n",
    ),
    Case(
        "a set-up that builds the work builds it as it is",
        Accepted(attempts=1),
        files={
            ".gitignore": "build/\n",
            "app.py": "x = 0\n",
            "signoff.toml": "[setup]\ncommand = 'mkdir -p build && cp app.py build/'\n",
        },
        contract='python3 -c \'import sys; sys.path.insert(0, "build"); import app; '
        "assert app.x == 1'",
        agent="echo 'x = 1' > app.py; mkdir -p build; cp app.py build/",
        fields="",
    ),
)
