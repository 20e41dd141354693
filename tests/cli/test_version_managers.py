"""Shims of mise and asdf, what direnv adds, conda: seen at verify and approve, or told in time."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.cli.environments import (
    MACHINE,
    PYTEST,
    agents_started,
    make_environment,
    red_project,
)
from tests.cli.kit import Desk
from tests.cli.plans import step

EVERY = pytest.mark.parametrize("isolation", ["none", "landlock", "namespaces", "bubblewrap"])
# As the managers do: the program of the version that a file of the folder, or of the home, names.
SHIM = r"""#!/bin/bash
version=$(cat .tool-versions "$HOME/.tool-versions" 2>/dev/null | awk '$1 == "python" {print $2}')
program="INSTALLS/$version/bin/${0##*/}"
[ -n "$version" ] && [ -x "$program" ] && exec "$program" "$@"
echo "NO_VERSION ${0##*/}" >&2
exit CODE
"""
MANAGERS = {
    "mise": (".local/share/mise", "installs/python", "mise ERROR No version is set for shim:", "1"),
    "asdf": (".asdf", "installs/python", "No version is set for command", "126"),
}
EVERY_MANAGER = pytest.mark.parametrize("manager", MANAGERS)


def manage(desk: Desk, manager: str) -> Path:
    """A manager in the home folder with one python that has pytest, and its shims on the PATH."""
    folder, installs, words, code = MANAGERS[manager]
    home = desk.folder / "person" / folder
    make_environment(home / installs / "3.99", *PYTEST)
    text = SHIM.replace("INSTALLS", str(home / installs))
    text = text.replace("NO_VERSION", words).replace("CODE", code)
    (home / "shims").mkdir()
    for name in ("python3", "pytest"):
        shim = home / "shims" / name
        shim.write_text(text)
        shim.chmod(0o755)
    desk.variable(PATH=f"{home / 'shims'}:{MACHINE}")
    return home


@EVERY
@EVERY_MANAGER
@pytest.mark.parametrize("contract", ["pytest -q", "python3 -m pytest -q"])
def test_a_shim_starts_what_it_starts_for_the_person(
    desk: Desk, manager: str, isolation: str, contract: str
) -> None:
    red_project(desk, isolation).file(".tool-versions", "python 3.99\n")
    manage(desk, manager)
    desk.plan(step("Add the prices", contract))
    desk.about_plan("verify").exits(0).hides("tool-missing")
    desk.run("--yes").exits(0)
    assert agents_started(desk) == 1


@EVERY_MANAGER
@pytest.mark.parametrize("contract", ["pytest -q", "python3 -m pytest -q"])
def test_a_shim_without_a_version_is_told_before_anybody_is_paid(
    desk: Desk, manager: str, contract: str
) -> None:
    red_project(desk, "none")
    home = manage(desk, manager)
    desk.plan(step("Add the prices", contract)).run("--yes").exits(6)
    assert agents_started(desk) == 0
    (asked,) = desk.entries("escalation.opened")
    name = contract.split(maxsplit=1)[0]
    assert f"`{home}/shims/{name}` has no version of `{name}`" in asked["data"]["question"]
    (desk.folder / "person" / ".tool-versions").write_text("python 3.99\n")
    desk.answer("retry")
    desk.run().exits(0)


@EVERY_MANAGER
def test_an_agent_does_not_choose_the_version_that_judges_it(desk: Desk, manager: str) -> None:
    red_project(desk, "none").file(".tool-versions", "python 3.99\n")
    home = manage(desk, manager)
    other = home / "installs" / "python" / "kind" / "bin"
    other.mkdir(parents=True)
    (other / "pytest").write_text("#!/bin/sh\necho 1 passed\n")
    (other / "pytest").chmod(0o755)
    desk.agent("echo python kind > .tool-versions").plan(step("Add the prices", "pytest -q"))
    assert desk.run("--yes").code in (1, 6)
    assert not desk.entries("step.done")


@EVERY
def test_what_direnv_makes_in_the_workspace_is_an_activated_environment(
    desk: Desk, isolation: str
) -> None:
    red_project(desk, isolation).file(".gitignore", ".direnv/\n")
    made = make_environment(desk.workspace / ".direnv" / "python-3.99", *PYTEST)
    desk.variable(VIRTUAL_ENV=str(made.parent), PATH=f"{made}:{MACHINE}")
    desk.plan(step("Add the prices", "pytest -q"))
    desk.about_plan("approve", "--yes").exits(0).shows(".direnv/python-3.99/bin")
    desk.run().exits(0)


def test_a_folder_of_the_workspace_on_the_path_is_not_searched_and_the_path_to_write_is_told(
    desk: Desk,
) -> None:
    """`PATH_add scripts` in an `.envrc`: an agent could put anything there."""
    red_project(desk, "none").file("scripts/check-prices", "#!/bin/sh\ngrep -q sum price.py\n")
    (desk.workspace / "scripts" / "check-prices").chmod(0o755)
    desk.variable(PATH=f"{desk.workspace / 'scripts'}:{MACHINE}")
    desk.plan(step("Add the prices", "check-prices"))
    told = "contracts do not search folders of the workspace: write `scripts/check-prices`"
    desk.about_plan("verify").exits(0).shows("tool-missing", told)
    desk.run("--yes").exits(6)
    assert agents_started(desk) == 0
    (asked,) = desk.entries("escalation.opened")
    assert told in asked["data"]["question"]
    desk.answer("revise")
    desk.plan(step("Add the prices", "scripts/check-prices")).run("--yes").exits(0)


def make_conda(folder: Path) -> Path:
    """As conda makes one: an interpreter and a library of its own, and no `pyvenv.cfg`."""
    make_environment(folder, *PYTEST)
    (folder / "pyvenv.cfg").unlink()
    (folder / "conda-meta").mkdir()
    (folder / "conda-meta" / "history").touch()
    (library,) = (folder / "lib").glob("python*")
    machine = Path(sys.base_prefix)
    left = shutil.ignore_patterns("*.pyc", "test", "*-packages", "config-*", "idlelib", "ensurepip")
    shutil.copytree(machine / "lib" / library.name, library, dirs_exist_ok=True, ignore=left)
    for name in ("python", "python3"):
        (folder / "bin" / name).unlink()
        shutil.copy(machine / "bin" / "python3", folder / "bin" / name)
    return folder / "bin"


@EVERY
@pytest.mark.parametrize("place", ["workspace", "home"])
def test_an_activated_conda_environment_runs_the_contract(
    desk: Desk, place: str, isolation: str
) -> None:
    red_project(desk, isolation).file(".gitignore", "env/\n")
    home = desk.folder / "person" / "miniconda3" / "envs"
    made = make_conda((home if place == "home" else desk.workspace) / "env")
    desk.variable(CONDA_PREFIX=str(made.parent), PATH=f"{made}:{MACHINE}")
    desk.plan(step("Add the prices", "python -m pytest -q"))
    desk.about_plan("verify").exits(0).hides("tool-missing")
    desk.run("--yes").exits(0)
    assert agents_started(desk) == 1


FORGED = "import sys, types; sys.modules['price'] = m = types.ModuleType('price'); m.total = sum"


@pytest.mark.parametrize(
    ("cheat", "why"),
    [
        (f'echo "{FORGED}" >> site-packages/pytest/__init__.py', "tampered"),
        (f'echo "{FORGED}" >> json/__init__.py', "influenced"),
        ("rm ../../bin/python; printf '#!/bin/sh\\n' > ../../bin/python", "tampered"),
    ],
    ids=["runner", "library", "interpreter"],
)
def test_an_agent_does_not_profit_from_a_conda_environment_of_the_workspace(
    desk: Desk, cheat: str, why: str
) -> None:
    red_project(desk, "none").file(".gitignore", "env/\n").agent(f"cd env/lib/python3*; {cheat}")
    made = make_conda(desk.workspace / "env")
    desk.variable(CONDA_PREFIX=str(made.parent), PATH=f"{made}:{MACHINE}")
    desk.plan(step("Add the prices", "python -m pytest -q"))
    assert desk.run("--yes").code in (1, 3, 6)
    assert not desk.entries("step.done")
    (judged, *_) = [e["data"] for e in desk.entries("verdict") if e["data"]["phase"] == "attempt"]
    assert judged["reason"] == why


def test_a_conda_environment_that_is_not_activated_is_named(desk: Desk) -> None:
    red_project(desk, "none").file(".gitignore", "env/\n")
    make_conda(desk.workspace / "env")
    desk.plan(step("Add the prices", "pytest -q"))
    desk.about_plan("verify").exits(0).shows("activate `env`", "`env/bin/pytest`")
    desk.run("--yes").exits(6)
    assert agents_started(desk) == 0
    (asked,) = desk.entries("escalation.opened")
    assert "`pytest` is in `env`, which is not activated" in asked["data"]["question"]
