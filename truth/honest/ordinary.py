"""Ordinary projects, as their maintainers would write the plan: each is fixed and signed off.

Everything is committed, tests are protected, and the contract is what the project's own manual
says. What needs tools that a machine seldom has is in `installed.py`.
"""

from __future__ import annotations

from typing import Any

from signoff.domain.verdict import Isolation
from truth.case import Accepted, Case, Files, Script
from truth.plans import plan, step

COMMITTED = "git init -q && git add -A && git commit -qm first"
FIX = "sed -i 's/return 0/return a + b/'"
UNITTEST = "python3 -m unittest discover -q -s tests"

SHOP: Files = {
    ".gitignore": "__pycache__/\n.pytest_cache/\n.coverage\nbuild/\n",
    "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n\n'
    '[tool.pytest.ini_options]\npythonpath = ["src"]\ntestpaths = ["tests"]\n',
    "src/shop/__init__.py": "from shop.sums import add\n",
    "src/shop/sums.py": 'def add(a, b):\n    """Sum.\n\n    >>> add(2, 2)\n    4\n    """\n'
    "    return 0\n",
    "src/shop/names.py": "def greet(name):\n    return f'Hello {name}'\n",
    "tests/test_sums.py": "from shop import add\n\n\ndef test_adding():\n"
    "    assert add(2, 2) == 4\n"
    "\n\ndef test_nothing():\n    assert add(0, 0) == 0\n",
    "tests/test_zz_names.py": "from shop.names import greet\n\n\ndef test_greeting():\n"
    "    assert greet('Ada') == 'Hello Ada'\n",
}
FIX_SHOP = f"{FIX} src/shop/sums.py"

SNAPSHOT_TEST = """\
import pathlib
import unittest

from page import page

SNAPSHOT = pathlib.Path(__file__).parent / "snapshots" / "page.txt"


class T(unittest.TestCase):
    def test_page(self):
        self.assertEqual(page(), SNAPSHOT.read_text())


if __name__ == "__main__":
    unittest.main()
"""
PAGE: Files = {"tests/test_page.py": SNAPSHOT_TEST, "tests/snapshots/page.txt": "Hello\n"}
GENERATOR = """\
import pathlib, sys
names = pathlib.Path("schema.txt").read_text().split()
text = "# generated from schema.txt: do not edit\\n" + "".join(f"{n} = '{n}'\\n" for n in names)
place = pathlib.Path("names.py")
if "--check" in sys.argv:
    sys.exit(place.read_text() != text)
place.write_text(text)
"""
POINTER = (
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
)
# As `git lfs install` leaves it, on a machine where git-lfs itself is gone.
LFS = (
    "git config filter.lfs.clean 'git-lfs clean -- %f'; git config filter.lfs.required true; "
    "git config filter.lfs.smudge 'git-lfs smudge -- %f'"
)
LIBRARY = (
    'git init -q "$LOOT/lib" && (cd "$LOOT/lib" && printf "def add(a, b):\\n    return 0\\n" '
    "> sums.py && git add -A && git commit -qm lib) && git init -q && "
    'git submodule --quiet add "$LOOT/lib" {} && git add -A && git commit -qm first'
)
LIBRARY_TEST = (
    "import sys\nimport unittest\n\nsys.path.insert(0, 'lib')\nfrom sums import add\n\n\n"
    "class T(unittest.TestCase):\n    def test_adding(self):\n"
    "        self.assertEqual(add(2, 2), 4)\n"
)
C_FILES: Files = {
    ".gitignore": "build/\n",
    "Makefile": "CFLAGS = -Wall -Iinclude\nSRC = $(wildcard src/*.c)\n\n"
    "build/check: $(SRC) tests/check.c include/sums.h\n\tmkdir -p build\n"
    "\t$(CC) $(CFLAGS) -o $@ $(SRC) tests/check.c\n\n.PHONY: check\ncheck: build/check\n"
    "\t./build/check\n",
    "include/sums.h": "int add(int a, int b);\n",
    "src/sums.c": '#include "sums.h"\nint add(int a, int b) { (void)a; (void)b; return 0; }\n',
    "tests/check.c": '#include "sums.h"\nint main(void) { return add(2, 2) != 4; }\n',
}
PACKAGE_TEST = (
    "import unittest\n\nfrom NAME import value\n\n\nclass T(unittest.TestCase):\n"
    "    def test_value(self):\n        self.assertEqual(value(), 'NAME')\n"
)
PACKAGES = {"1": "api", "2": "web"}  # by the step that mends it
MONOREPO: Files = {
    f"packages/{name}/{file}": text.replace("NAME", name)
    for name in PACKAGES.values()
    for file, text in {
        f"{name}.py": "def value():\n    return None\n",
        "tests/__init__.py": "",
        f"tests/test_{name}.py": PACKAGE_TEST,
    }.items()
}
MONOREPO_PLAN = plan(
    *(
        step(
            f"Mend {name}",
            f"cd packages/{name} && python3 -m unittest discover -q",
            f"**touches:** packages/{name}/**\n**protects:** packages/{name}/tests/**\n",
        )
        for name in PACKAGES.values()
    ),
    post=[
        (
            "Everything works",
            'for p in packages/*; do (cd "$p" && python3 -m unittest discover -q) || exit 1; done',
        )
    ],
)

NODE_IGNORED = "node_modules/\ncoverage/\n"
SUMS_JS = "exports.add = (a, b) => { return 0; };\n"
SUMS_MJS = "export const add = (a, b) => { return 0; };\n"
ASSERTS = "const assert = require('assert');\nconst { add } = require('../sums');\n"


def project(what: str, files: Files, contract: str, agent: Script, **more: Any) -> Case:
    """A case of a committed project; `more` is as in a case, and `then` follows the commit."""
    then = more.pop("then", ":")
    usual: dict[str, Any] = {"expect": Accepted(attempts=1), "prepare": f"{COMMITTED}; {then}"}
    name = f"an ordinary project is signed off: {what}"
    return Case(name, files=files, contract=contract, agent=agent, **(usual | more))


def everywhere(line: str) -> dict[Isolation, str]:
    """A line that is needed whatever the isolation."""
    return dict.fromkeys(Isolation, line)


def package_json(script: str, kind: str = "commonjs") -> str:
    """A package whose tests are started by this."""
    scripts = f'{{"test": "{script}"}}'
    return f'{{"name": "sums", "private": true, "type": "{kind}", "scripts": {scripts}}}\n'


CASES = (
    project(
        "pytest that stops at the first failure",
        SHOP,
        "python3 -m pytest -q -x",
        FIX_SHOP,
        tools=("pytest",),
    ),
    project(
        "unittest in a package",
        MONOREPO,
        "cd packages/api && python3 -m unittest",
        "sed -i \"s/None/'api'/\" packages/api/api.py",
        fields="**protects:** **/tests/**\n",
    ),
    project(
        "several packages, each a step",
        MONOREPO,
        "",
        {name: f"sed -i \"s/None/'{p}'/\" packages/{p}/{p}.py" for name, p in PACKAGES.items()},
        expect=Accepted(attempts=2),
        plan=MONOREPO_PLAN,
    ),
    *(
        project(
            f"make and C, {how}",
            C_FILES,
            "make -s check",
            "sed -i 's/(void)a; (void)b; return 0/return a + b/' src/sums.c",
            then=then,
            tools=("make", "cc"),
        )
        for how, then in (("never built", ":"), ("built before", "make -s build/check"))
    ),
    *(
        project(
            f"a submodule {what}",
            {"tests/test_sums.py": LIBRARY_TEST.replace("'lib'", f"'{place}'")},
            UNITTEST,
            f"{FIX} {place}/sums.py",
            prepare=LIBRARY.format(place),
            lines=lines,
        )
        for what, place, lines in (
            ("that is worked on", "lib", {}),
            (
                "among vendored libraries",
                "vendor/lib",
                everywhere("**may_change:** vendor/lib/sums.py"),
            ),
        )
    ),
    project(
        "pointers of git-lfs",
        {
            "lib/sums.py": SHOP["src/shop/sums.py"],
            "tests/test_sums.py": LIBRARY_TEST,
            ".gitattributes": "*.png filter=lfs diff=lfs merge=lfs -text\n",
            "logo.png": POINTER,
        },
        UNITTEST,
        f"{FIX} lib/sums.py",
        then=LFS,
    ),
    project(
        "folders behind links",
        {"v2/sums.py": SHOP["src/shop/sums.py"], "shared/test_sums.py": LIBRARY_TEST},
        UNITTEST,
        f"{FIX} lib/sums.py",
        prepare=f"ln -s v2 lib; ln -s ../shared/test_sums.py tests/; {COMMITTED}",
    ),
    project(
        "generated files that are committed",
        {"schema.txt": "ada\n", "tools/generate.py": GENERATOR, "names.py": "stale\n"},
        "python3 tools/generate.py --check && python3 -c 'import names; names.grace'",
        "echo grace >> schema.txt; python3 tools/generate.py",
        fields="**protects:** tools/**\n",
        lines=everywhere("**may_change:** schema.txt"),
    ),
    project(
        "snapshots that stay",
        {**PAGE, "page.py": "def page():\n    return ''\n"},
        UNITTEST,
        "sed -i \"s/''/'Hello\\\\\\\\n'/\" page.py",
    ),
    project(
        "a snapshot that the task changes",
        {**PAGE, "page.py": "def page():\n    return 'Hello\\n'\n"},
        f"{UNITTEST} && grep -q Bye page.py",
        "sed -i s/Hello/Bye/ page.py tests/snapshots/page.txt",
        fields="",
        lines=everywhere("**may_change:** tests/snapshots/page.txt"),
    ),
    project(
        "node's own runner",
        {
            "sums.js": SUMS_JS,
            "test/sums.test.js": f"const test = require('node:test');\n{ASSERTS}"
            "test('adding', () => assert.equal(add(2, 2), 4));\n"
            "test('nothing', () => assert.equal(add(0, 0), 0));\n",
            ".gitignore": NODE_IGNORED,
            "package.json": package_json("node --test"),
        },
        "npm test --silent",
        f"{FIX} sums.js",
        fields="**protects:** test/**\n",
        tools=("npm", "node"),
    ),
)
