"""Launchers are seen through, and what they start is known by its name, words and folder."""

from __future__ import annotations

import shlex

import pytest

from signoff.commands.analysis import analyse, invocations_of
from signoff.commands.launchers import started_by
from signoff.commands.programs import runner_call


def tools(command: str) -> list[str]:
    name, *args = shlex.split(command)
    return [call.tool for call in started_by(name, tuple(args))]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("uv run pytest -x", ["uv", "pytest"]),
        ("uv run --with attrs python -m pytest", ["uv", "python", "pytest"]),
        ("uv run -m pytest", ["uv", "pytest"]),
        ("uv sync", ["uv"]),
        ("poetry run coverage run -m pytest", ["poetry", "coverage", "pytest"]),
        ("npx --yes jest@29", ["npx", "jest"]),
        ("pnpm exec vitest run", ["pnpm", "vitest"]),
        ("hatch run dev:mypy src", ["hatch", "mypy"]),
        ("cross-env CI=1 jest", ["cross-env", "jest"]),
        ("python3.12 -Wd -m unittest", ["python", "unittest"]),
        ("make test", ["make"]),
    ],
)
def test_a_launcher_and_what_it_starts(command: str, expected: list[str]) -> None:
    assert tools(command) == expected


@pytest.mark.parametrize(
    ("command", "tool", "folder"),
    [
        ("cd sub && pytest", "pytest", "sub"),
        ("uv run --directory sub pytest", "pytest", "sub"),
        ("env A=1 timeout 5 nice -n 5 pytest", "pytest", ""),
        ("bash -c 'cd a && cd b && pytest'", "pytest", "a/b"),
        ("find . | xargs -n 1 mypy", "mypy", ""),
    ],
)
def test_the_folder_in_which_a_tool_runs(command: str, tool: str, folder: str) -> None:
    found = [(call.tool, call.folder) for call in invocations_of(analyse(command), "")]
    assert (tool, folder) in found


@pytest.mark.parametrize(
    ("command", "runner", "stops", "selects", "reports"),
    [
        ("pytest -x -k fast tests/a.py", "pytest", True, ("-k", "tests/a.py"), ()),
        ("uv run pytest --maxfail=1 -rA", "pytest", True, (), ("-rA",)),
        ("pytest tests/a.py::test_b", "pytest", False, ("tests/a.py::test_b",), ()),
        ("npx jest --bail --json", "jest", True, (), ("--json",)),
        ("go test -failfast -run X ./...", "go", True, ("-run",), ()),
        ("cargo nextest run", "nextest", True, (), ()),
        ("python manage.py test", "unittest", False, (), ()),
        ("pnpm vitest run", "vitest", False, (), ()),
    ],
)
def test_how_a_test_runner_is_called(
    command: str,
    runner: str,
    stops: bool,
    selects: tuple[str, ...],
    reports: tuple[str, ...],
) -> None:
    name, *args = shlex.split(command)
    call = runner_call(name, tuple(args))
    assert call is not None
    assert (call.runner, call.stops_early, call.selects, call.reports) == (
        runner,
        stops,
        selects,
        reports,
    )


@pytest.mark.parametrize("command", ["npm run build", "echo pytest", "python3 x.py", "make test"])
def test_what_runs_no_tests_by_itself(command: str) -> None:
    name, *args = shlex.split(command)
    assert runner_call(name, tuple(args)) is None


@pytest.mark.parametrize(
    "command", ['eval "$X"', "$TOOL x", 'bash -c "$X"', "xargs --weird pytest", "source env.sh"]
)
def test_what_is_hidden_is_said_and_not_guessed(command: str) -> None:
    facts = analyse(command)
    assert facts.unseen and not facts.certain


@pytest.mark.parametrize(
    ("command", "scripts"),
    [
        ("bash -e scripts/check.sh a.txt", ["scripts/check.sh"]),
        ("./check.sh", ["check.sh"]),
        ("node -r ./setup.js test/run.js", ["setup.js", "test/run.js"]),
        ("uv run python -W error scripts/check.py", ["scripts/check.py"]),
        ("cd sub && awk -f prog.awk data.txt", ["sub/prog.awk"]),
        ("source lib/env.sh; pytest", ["lib/env.sh"]),
        ("bash -n scripts/check.sh", []),
        ("python3 -m tool x.py", []),
        ("python3 -c 'print(1)' x.py", []),
    ],
)
def test_which_files_are_executed(command: str, scripts: list[str]) -> None:
    assert [script.path for script in analyse(command).scripts] == scripts
