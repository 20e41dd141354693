"""What steers npm, yarn and pnpm: the scripts that are run, and the runners' settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.verification.influences_kit import Place

SCRIPTS = {
    "test": "npm run unit && jest --ci",
    "unit": "node scripts/unit.js",
    "lint": "eslint .",
    "build": "tsc",
}


def _package(**changes: object) -> dict[str, str]:
    scripts = {**SCRIPTS, **changes.pop("scripts", {})}  # type: ignore[dict-item]
    return {"package.json": json.dumps({"name": "x", "scripts": scripts, **changes}, indent=1)}


@pytest.mark.parametrize(
    "command",
    ["npm test", "npm t --silent", "npm run test -- -u", "yarn test", "yarn run test", "pnpm test"],
)
@pytest.mark.parametrize(
    ("edits", "names"),
    [
        (_package(scripts={"test": "true"}), None),
        (_package(scripts={"pretest": "node cheat.js"}), ["package.json#scripts.pretest"]),
        (_package(scripts={"posttest": "true"}), ["package.json#scripts.posttest"]),
        (_package(scripts={"unit": "true"}), None),
        (_package(jest={"testPathIgnorePatterns": ["."]}), ["package.json#jest"]),
        ({"scripts/unit.js": "process.exit(0)\n"}, ["scripts/unit.js"]),
        ({"jest.config.js": "module.exports = {}\n"}, ["jest.config.js"]),
        ({".npmrc": "script-shell=/bin/true\n"}, [".npmrc"]),
    ],
)
def test_the_script_that_is_run_and_its_runner_must_stay_as_approved(
    tmp_path: Path, command: str, edits: dict[str, str], names: list[str] | None
) -> None:
    place = Place(tmp_path, {**_package(), "scripts/unit.js": "test()\n"})
    changed = place.change(command, edits)
    assert changed == names if names else any(n.startswith("package.json#scripts") for n in changed)


@pytest.mark.parametrize(
    "command", ["npm test", "yarn test", "pnpm run test", "npm ci && npm test"]
)
def test_ordinary_work_on_a_package_is_not_flagged(tmp_path: Path, command: str) -> None:
    place = Place(tmp_path, {**_package(), "scripts/unit.js": "", "web/package.json": "{}"})
    edits = {
        **_package(scripts={"start": "node .", "lint": "eslint src"}, dependencies={"a": "1"}),
        "package-lock.json": "{}",
        "src/index.js": "",
        "src/index.test.js": "",
        "web/package.json": json.dumps({"scripts": {"test": "vitest"}}),
        "tsconfig.json": "{}",
    }
    assert place.change(command, edits) == []


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("cd web && npm test", "web/package.json#scripts.test"),
        ("npm --prefix web test", "web/package.json#scripts.test"),
        ("npm --prefix=web run test", "web/package.json#scripts.test"),
        ("yarn --cwd web test", "web/package.json#scripts.test"),
        ("pnpm -C web test", "web/package.json#scripts.test"),
        ("npm test --workspaces", "web/package.json#scripts.test"),
        ("npm test -w web", "web/package.json#scripts.test"),
        ("pnpm --filter web test", "web/package.json#scripts.test"),
        ("yarn workspace web test", "web/package.json#scripts.test"),
        ("npm install-test", "package.json#scripts.test"),
        ("npx run-s lint test", "package.json#scripts.test"),
        ("npm exec run-s lint test", "package.json#scripts.test"),
    ],
)
def test_scripts_are_found_however_they_are_called(tmp_path: Path, command: str, name: str) -> None:
    place = Place(tmp_path, {**_package(), "web/package.json": _package()["package.json"]})
    assert name in place.influences(command)


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("npx jest", "jest.config.ts"),
        ("npx --yes jest@29 --ci", "jest.config.ts"),
        ("npx vitest run", "vitest.config.ts"),
        ("npx vitest run", "vite.config.ts"),
        ("pnpm exec mocha", ".mocharc.yml"),
        ("npx prettier --check .", "src/.prettierignore"),
        ("jest --config ci/jest.json", "ci/jest.json"),
    ],
)
def test_settings_of_a_runner_called_directly_are_noticed(
    tmp_path: Path, command: str, file: str
) -> None:
    place = Place(tmp_path, _package())
    assert place.change(command, {file: "{}"}) == [file]
