"""Targets, package scripts, recipes of just and tox, and shell scripts lead to their tools."""

from __future__ import annotations

import pytest

from signoff.commands.behind import tools_behind

FILES = {
    "Makefile": "P = python3\ntest: unit lint\nunit:\n\t@$(P) -m pytest\nlint: ; ruff check .\n",
    "sub/Makefile": "all:\n\tmypy .\n",
    "package.json": '{"scripts": {"pretest": "eslint .", "test": "npm run unit", "unit": "jest"}}',
    "justfile": "v := 'x'\ntest: lint\n    pytest {{v}}\nlint:\n    @ruff check .\n",
    "tox.ini": "[testenv]\ncommands =\n  pytest {posargs:x}\n[testenv:lint]\ncommands = mypy\n",
    "check.sh": "#!/usr/bin/env bash\nset -e\nuv run pytest\n",
    "check.py": "import os\n",
}


def read(path: str) -> bytes | None:
    return FILES[path].encode() if path in FILES else None


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("make test", {"pytest", "ruff"}),
        ("make", {"pytest", "ruff"}),
        ("make -C sub", {"mypy"}),
        ("cd sub && make all", {"mypy"}),
        ("npm test", {"eslint", "jest"}),
        ("yarn run unit", {"jest"}),
        ("just test", {"pytest", "ruff"}),
        ("tox", {"pytest"}),
        ("uv run tox -e lint", {"mypy"}),
        ("./check.sh", {"pytest"}),
        ("bash check.sh", {"pytest"}),
    ],
)
def test_a_recipe_is_followed_to_its_tools(command: str, expected: set[str]) -> None:
    assert expected <= {call.tool for call in tools_behind(command, read).calls}


@pytest.mark.parametrize("command", ["nox", "make $TARGET", "make nothing", '$TOOL && eval "$X"'])
def test_what_cannot_be_followed_is_told(command: str) -> None:
    assert tools_behind(command, read).hidden


def test_nothing_is_hidden_where_all_was_followed() -> None:
    assert tools_behind("make test && ./check.sh", read).hidden == ()


def test_recipes_that_run_each_other_come_to_an_end() -> None:
    files = {"Makefile": b"a: b\n\tmake b\nb: a\n\tmake a\n"}
    assert {call.tool for call in tools_behind("make a", files.get).calls} == {"make"}
