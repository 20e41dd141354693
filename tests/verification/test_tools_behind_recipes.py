"""Targets, package scripts, recipes of just, tox and nox, and shell scripts lead to their tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from signoff.domain.plan import Contract
from signoff.verification.counting.verbose import tools_called
from signoff.verification.denominator import is_counted
from tests.verification.influences_kit import Place

FILES = {
    "Makefile": "P = python3\ntest: unit lint\nunit:\n\t@$(P) -m pytest\nlint: ; ruff check .\n",
    "sub/Makefile": "all:\n\tmypy .\n",
    "package.json": '{"scripts": {"pretest": "eslint .", "test": "npm run unit", "unit": "jest"}}',
    "justfile": "v := 'x'\ntest: lint\n    pytest {{v}}\nlint:\n    @ruff check .\n",
    "tox.ini": "[testenv]\ncommands =\n  pytest {posargs:x}\n[testenv:lint]\ncommands = mypy\n"
    "[testenv:own]\ncommands = {envpython} -m unittest\n",
    "noxfile.py": "import nox\n\n@nox.session\ndef tests(s):\n    s.run('mypy', *s.posargs)\n",
    "pyproject.toml": "[tool.pdm.scripts]\nunit = 'pytest'\nlint = {cmd = 'mypy .'}\n",
    "check.sh": "#!/usr/bin/env bash\nset -e\nuv run pytest\n",
    "check.py": "import os\n",
}


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
        ("just", {"pytest", "ruff"}),
        ("tox", {"pytest"}),
        ("uv run tox -e lint", {"mypy"}),
        ("tox -e own", {"unittest"}),
        ("nox", {"mypy"}),
        ("pdm run unit", {"pytest"}),
        ("pdm run lint", {"mypy"}),
        ("./check.sh", {"pytest"}),
        ("bash check.sh", {"pytest"}),
    ],
)
def test_a_recipe_is_followed_to_its_tools(
    tmp_path: Path, command: str, expected: set[str]
) -> None:
    texts = Place(tmp_path, FILES).texts(command)
    assert expected <= frozenset().union(*map(tools_called, texts))
    assert is_counted(Contract(command), texts)


def test_recipes_that_run_each_other_come_to_an_end(tmp_path: Path) -> None:
    texts = Place(tmp_path, {"Makefile": "a: b\n\tmake b\nb: a\n\tmake a\n"}).texts("make a")
    assert frozenset().union(*map(tools_called, texts)) == {"make", "make a", "make b"}


@pytest.mark.parametrize(
    "broken", [{"tox.ini": "commands"}, {"noxfile.py": "def ("}, {"pyproject.toml": "["}]
)
def test_a_file_that_cannot_be_read_hides_what_it_runs(
    tmp_path: Path, broken: dict[str, str]
) -> None:
    place = Place(tmp_path, broken)
    for command in ("tox", "nox", "pdm run unit"):
        assert place.texts(command) == [command]
