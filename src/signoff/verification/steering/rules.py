"""The rules of steering: which tools each applies to, and what it pins for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from signoff.commands.behind import recipe_texts
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
from signoff.verification.steering.sections import Section, command_in
from signoff.verification.steering.settings_files import SETTINGS, pin_settings
from signoff.verification.steering.trail import ShellText, Trail

Pin = Callable[[Invocation, Trail], None]


@dataclass(frozen=True)
class Rule:
    """A rule pins what steers an invocation of one of its tools."""

    tools: frozenset[str]
    pin: Pin


def _steer_recipes(call: Invocation, trail: Trail) -> None:
    """just, tox and nox run what their files say; where that is not seen, as a rule pytest."""
    found = list(recipe_texts(call, trail.content.read))
    for text in found:
        trail.follow(ShellText(text, call.folder))
    if not found and call.tool != "just":
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
            wanted = Section(file, (*table, word))
            text = command_in(wanted, trail.pin_section(call.folder, wanted))
            if text:
                trail.follow(ShellText(text, call.folder))


RULES: tuple[Rule, ...] = (
    Rule(frozenset(SETTINGS), pin_settings),
    Rule(frozenset(INTERPRETERS), steer_interpreter),
    Rule(frozenset(("python",)), steer_python),
    Rule(frozenset(("pytest",)), steer_pytest),
    Rule(frozenset(("uv", "poetry", "pdm", "rye", "pipenv")), steer_installed_command),
    Rule(frozenset(("make",)), steer_make),
    Rule(frozenset(("npm", "yarn", "pnpm", "bun")), steer_package_script),
    Rule(frozenset(("run-s", "run-p", "npm-run-all")), steer_several_scripts),
    Rule(frozenset(("just", "tox", "nox")), _steer_recipes),
    Rule(frozenset(("hatch",)), _steer_hatch),
    Rule(frozenset(_TASK_TABLES), _steer_tasks),
)
