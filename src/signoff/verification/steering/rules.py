"""The rules of steering: which tools each applies to, and what it pins for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from signoff.commands.interpreters import INTERPRETERS
from signoff.commands.launchers import Invocation
from signoff.verification.steering.rule_make import steer_make
from signoff.verification.steering.rule_node import steer_package_script, steer_several_scripts
from signoff.verification.steering.rule_python import (
    steer_installed_command,
    steer_pytest,
    steer_python,
)
from signoff.verification.steering.rule_scripts import steer_interpreter
from signoff.verification.steering.sections import Section
from signoff.verification.steering.settings_files import SETTINGS, pin_settings
from signoff.verification.steering.trail import Trail

Pin = Callable[[Invocation, Trail], None]


@dataclass(frozen=True)
class Rule:
    """A rule pins what steers an invocation of one of its tools."""

    tools: frozenset[str]
    pin: Pin


def _steer_test_environments(call: Invocation, trail: Trail) -> None:
    """tox and nox run tests in environments of their own, as a rule with pytest."""
    trail.follow(Invocation("pytest", (), call.folder))


def _steer_hatch(call: Invocation, trail: Trail) -> None:
    """`hatch test` runs pytest."""
    if "test" in call.args:
        trail.follow(Invocation("pytest", (), call.folder))


_TASK_TABLES = {
    "pdm": ("pyproject.toml", ("tool", "pdm", "scripts")),
    "poe": ("pyproject.toml", ("tool", "poe", "tasks")),
    "pipenv": ("Pipfile", ("scripts",)),
    "pixi": ("pixi.toml", ("tasks",)),
}


def _steer_tasks(call: Invocation, trail: Trail) -> None:
    """Named tasks of a settings file: `pdm run test`."""
    file, table = _TASK_TABLES[call.tool]
    for word in call.args:
        if not word.startswith("-"):
            trail.pin_section(call.folder, Section(file, (*table, word)))


RULES: tuple[Rule, ...] = (
    Rule(frozenset(SETTINGS), pin_settings),
    Rule(frozenset(INTERPRETERS), steer_interpreter),
    Rule(frozenset(("python",)), steer_python),
    Rule(frozenset(("pytest",)), steer_pytest),
    Rule(frozenset(("uv", "poetry", "pdm", "rye", "pipenv")), steer_installed_command),
    Rule(frozenset(("make",)), steer_make),
    Rule(frozenset(("npm", "yarn", "pnpm", "bun")), steer_package_script),
    Rule(frozenset(("run-s", "run-p", "npm-run-all")), steer_several_scripts),
    Rule(frozenset(("tox", "nox")), _steer_test_environments),
    Rule(frozenset(("hatch",)), _steer_hatch),
    Rule(frozenset(_TASK_TABLES), _steer_tasks),
)
