"""Ordinary projects with runners from npm and PyPI, which `make truth-tools` installs once."""

from __future__ import annotations

from collections.abc import Mapping

from truth.case import Case, Files
from truth.honest.ordinary import (
    ASSERTS,
    COMMITTED,
    FIX,
    FIX_SHOP,
    NODE_IGNORED,
    SHOP,
    SUMS_JS,
    everywhere,
    package_json,
    project,
)
from truth.honest.runners import RUSTUP

OUTSIDE = "$HOME/.virtualenvs/shop"
SUMS_MJS = "export const add = (a, b) => { return 0; };\n"
EXPECTS = (
    "describe('sums', () => {\n  test('adding', () => { expect(add(2, 2)).toBe(4); });\n"
    "  test('nothing', () => { expect(add(0, 0)).toBe(0); });\n});\n"
)


# The script, the kind of modules, and the files.
NODE: Mapping[str, tuple[str, str, Files]] = {
    "jest": (
        "jest",
        "commonjs",
        {
            "sums.js": SUMS_JS,
            "test/sums.test.js": f"const {{ add }} = require('../sums');\n{EXPECTS}",
        },
    ),
    "vitest": (
        "vitest run",
        "module",
        {
            "sums.js": SUMS_MJS,
            "test/sums.test.js": "import { describe, expect, test } from 'vitest';\n"
            f"import {{ add }} from '../sums.js';\n{EXPECTS}",
        },
    ),
    "mocha": (
        "mocha",
        "commonjs",
        {
            "sums.js": SUMS_JS,
            "test/sums.test.js": f"{ASSERTS}describe('sums', () => {{\n"
            "  it('adds', () => assert.equal(add(2, 2), 4));\n"
            "  it('adds nothing', () => assert.equal(add(0, 0), 0));\n});\n",
        },
    ),
    "ava": (
        "ava",
        "module",
        {
            "sums.js": SUMS_MJS,
            "test/sums.js": "import test from 'ava';\nimport { add } from '../sums.js';\n"
            "test('adding', t => { t.is(add(2, 2), 4); });\n"
            "test('nothing', t => { t.is(add(0, 0), 0); });\n",
        },
    ),
}

GO: Files = {
    ".gitignore": "bin/\n",
    "go.mod": "module example.org/shop\n\ngo 1.20\n",
    "sums/sums.go": "// Package sums adds.\npackage sums\n\n// Add adds.\n"
    "func Add(a, b int) int { return 0 }\n",
    "sums/sums_test.go": 'package sums\n\nimport "testing"\n\n'
    "func TestAdding(t *testing.T) {\n\tif Add(2, 2) != 4 {\n\t\tt.Fail()\n\t}\n}\n",
    "cmd/shop/main.go": 'package main\n\nimport (\n\t"fmt"\n\n\t"example.org/shop/sums"\n)\n\n'
    "func main() { fmt.Println(sums.Add(1, 2)) }\n",
}
CARGO: Files = {
    ".gitignore": "target/\n",
    "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": "//! Adds.\npub mod sums;\n",
    "src/sums.rs": "/// Adds.\npub fn add(_a: i32, _b: i32) -> i32 {\n    0\n}\n\n#[cfg(test)]\n"
    "mod tests {\n    #[test]\n    fn nothing() {\n        assert_eq!(super::add(0, 0), 0);\n"
    "    }\n}\n",
    "src/main.rs": 'fn main() {\n    println!("{}", shop::sums::add(1, 2));\n}\n',
    "tests/adding.rs": "#[test]\nfn adding() {\n    assert_eq!(shop::sums::add(2, 2), 4);\n}\n",
}


def installed(name: str) -> str:
    """The dependencies of a project, as `npm install` leaves them."""
    return f'cp -r "$PACKAGES/{name}/node_modules" .'


def with_pytest(
    what: str,
    contract: str,
    *packages: str,
    place: str = OUTSIDE,
    ignored: str = "",
    line: str = "",
) -> Case:
    """A project in an activated virtual environment, made as `pip install` makes it."""
    made = (
        f'python3 -m venv --without-pip "{place}" && "$PACKAGES/python/bin/python" -m pip -q '
        f'--python "{place}/bin/python" install --no-index --find-links '
        f'"$PACKAGES/python/wheels" pytest {" ".join(packages)}'
    )
    return project(
        what,
        {**SHOP, ".gitignore": ignored} if ignored else SHOP,
        contract,
        FIX_SHOP,
        then=made,
        environ={"VIRTUAL_ENV": place, "PATH": f"{place}/bin:$PATH"},
        packages=("python",),
        lines=everywhere(line) if line else {},
    )


CASES = (
    with_pytest("an environment outside the workspace, activated", "pytest -q"),
    with_pytest(
        "an environment inside the workspace, activated",
        "pytest -q",
        place="$ROOT/.venv",
        ignored="__pycache__/\n.venv/\n",
    ),
    with_pytest("pytest on two processes", "pytest -q -n 2", "pytest-xdist"),
    with_pytest("pytest with coverage", "pytest -q --cov=shop --cov-fail-under=90", "pytest-cov"),
    with_pytest(
        "coverage that nobody ignored",
        "pytest -q --cov=shop --cov-report=xml",
        "pytest-cov",
        ignored="__pycache__/\n",
        line="**writes:** coverage.xml",
    ),
    with_pytest(
        "pytest with doctests",
        "pytest -q --doctest-modules src tests",
        line="**may_change:** src/shop/sums.py",
    ),
    project(
        "tox",
        {
            **SHOP,
            ".gitignore": "__pycache__/\n.tox/\n",
            "tox.ini": "[tox]\nenv_list = py\nskipsdist = true\n\n[testenv]\ndeps = pytest\n"
            "commands = pytest -q\n",
        },
        "tox -q --skip-pkg-install",
        FIX_SHOP,
        then='PIP_NO_INDEX=1 PIP_FIND_LINKS="$PACKAGES/python/wheels" '
        "VIRTUALENV_NO_PERIODIC_UPDATE=1 tox -q --notest -x testenv.pass_env=PIP_*",
        tools=("tox",),
        packages=("python",),
    ),
    *(
        project(
            name,
            {**files, ".gitignore": NODE_IGNORED, "package.json": package_json(script, kind)},
            "npm test --silent",
            f"{FIX} sums.js",
            then=installed(name),
            fields="**protects:** test/**\n",
            tools=("npm", "node"),
            packages=(name,),
        )
        for name, (script, kind, files) in NODE.items()
    ),
    project(
        "ava, and a module that is not there yet",
        {
            **NODE["ava"][2],
            "sums.js": "",
            ".gitignore": NODE_IGNORED,
            "package.json": package_json("ava", "module"),
        },
        "npm test --silent",
        f"echo '{SUMS_MJS.strip().replace('return 0', 'return a + b')}' > sums.js",
        then=f"git rm -q sums.js; {installed('ava')}",
        fields="**protects:** test/**\n",
        tools=("npm", "node"),
        packages=("ava",),
    ),
    project(
        "snapshots of jest",
        {
            "page.js": "exports.page = () => { return ''; };\n",
            "test/page.test.js": "const { page } = require('../page');\n"
            "test('page', () => { expect(page()).toMatchSnapshot(); });\n",
            "test/__snapshots__/page.test.js.snap": "// Jest Snapshot v1, "
            'https://jestjs.io/docs/snapshot-testing\n\nexports[`page 1`] = `"Hello"`;\n',
            ".gitignore": NODE_IGNORED,
            "package.json": package_json("jest --ci"),
        },
        "npx jest --ci",
        "sed -i \"s/''/'Hello'/\" page.js",
        then=installed("jest"),
        fields="**protects:** test/**\n",
        tools=("npx", "node"),
        packages=("jest",),
    ),
    project(
        "a Go module with a command and its tests",
        GO,
        "go vet ./... && go test ./...",
        f"{FIX} sums/sums.go",
        fields="**protects:** **/*_test.go\n**contract_timeout:** 5 minutes\n",
        tools=("go",),
    ),
    *(
        project(
            f"a crate with a program, unit tests and tests of its own, {how}",
            CARGO,
            "cargo test --offline --quiet",
            "sed -i 's/_a: i32, _b: i32/a: i32, b: i32/; s/^    0$/    a + b/' src/sums.rs",
            prepare=f"cargo generate-lockfile --offline; {COMMITTED}; {then}",
            fields="**protects:** tests/**\n**env:** RUSTUP_HOME\n"
            "**contract_timeout:** 5 minutes\n",
            environ={"RUSTUP_HOME": RUSTUP},
            tools=("cargo --version", "cc"),
        )
        for how, then in (("never built", ":"), ("built before", "cargo build --offline -q"))
    ),
    project(
        "bats",
        {
            "bin/greet": "#!/usr/bin/env bash\nexit 1\n",
            "tests/greet.bats": '@test "greets" {\n  run bash bin/greet Ada\n'
            '  [ "$status" -eq 0 ]\n  [ "$output" = "Hello Ada" ]\n}\n',
        },
        "bats tests",
        "sed -i 's/exit 1/echo \"Hello $1\"/' bin/greet",
        tools=("bats",),
    ),
)
