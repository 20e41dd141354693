"""Ignored files are no content, but what a check obeys among them is guarded all the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from signoff.domain.plan import Contract, Plan, Step
from signoff.domain.verdict import Reason
from signoff.verification.ignored import MOST_WALKED, Ignored
from signoff.verification.pins import fingerprint, protected_files
from signoff.verification.protection import Guard
from tests.verification.courtroom import Courtroom
from tests.verification.influences_kit import EXECUTABLE, GONE, LINK, Place

PACKAGE = {"package.json": '{"scripts": {"test": "bash check.sh && jest"}}', "check.sh": "node x\n"}
BIN = "node_modules/.bin"
PLUGIN = "[pytest11]\nx = plug\n"


def _protected(court: Courtroom, *globs: str, writes: tuple[str, ...] = ()) -> dict[str, str]:
    contract = Contract("true", writes=writes)
    plan = Plan("plan", (Step("1", "one", protects=globs, contract=contract),))
    manifest = court.workspace.manifest(court.snapshot())
    return protected_files(plan, manifest, Ignored(court.root, court.workspace.byproducts))


def test_an_ignored_file_that_appears_in_a_protected_folder_is_tampering(tmp_path: Path) -> None:
    court = Courtroom(tmp_path, "*.local.sh\n")
    court.write("tests/check.sh")
    guard = Guard(protects=("tests/**",), pinned=_protected(court, "tests/**"))
    assert court.judge("true", guard=guard).kept
    court.write("tests/x.local.sh", "exit 0\n")
    verdict = court.judge("true", guard=guard)
    assert (verdict.reason, verdict.tampered) == (Reason.TAMPERED, ("tests/x.local.sh",))


def test_a_protected_file_in_an_ignored_folder_can_neither_change_nor_go(tmp_path: Path) -> None:
    court = Courtroom(tmp_path, "local/\n")
    held = court.write("tests/local/data.txt")
    gone = court.write("tests/local/more.txt")
    guard = Guard(protects=("tests/**/*.txt",), pinned=_protected(court, "tests/**/*.txt"))
    assert court.judge("true", guard=guard).kept
    held.write_text("changed!\n")
    gone.unlink()
    tampered = court.judge("true", guard=guard).tampered
    assert tampered == ("tests/local/data.txt", "tests/local/more.txt")


def test_an_ignored_folder_that_no_glob_names_is_not_entered(tmp_path: Path) -> None:
    court = Courtroom(tmp_path, "target/\n")
    court.write("target/debug/x.snap")
    assert _protected(court, "**/*.snap", "tests/**") == {}


@pytest.mark.parametrize(
    "name",
    [
        "tests/__pycache__/x.txt",
        "tests/.pytest_cache/x",
        "tests/out/node_modules/x.js",
        "tests/out/.mypy_cache/x",
        "tests/out/x.pyc",
    ],
)
def test_caches_and_installed_packages_are_not_protected(tmp_path: Path, name: str) -> None:
    court = Courtroom(tmp_path, "out/\n")
    court.write(name)
    assert _protected(court, "tests/**") == {}


def test_what_a_contract_writes_itself_is_not_protected(tmp_path: Path) -> None:
    court = Courtroom(tmp_path, "tests/report.xml\n")
    court.write("tests/report.xml")
    assert list(_protected(court, "tests/**")) == ["tests/report.xml"]
    assert _protected(court, "tests/**", writes=("tests/report.xml",)) == {}


def test_links_among_ignored_files_are_compared_and_never_followed(tmp_path: Path) -> None:
    court = Courtroom(tmp_path, "local/\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    court.write("tests/local/kept.txt")
    (court.root / "tests/local/way").symlink_to(outside)
    assert list(_protected(court, "tests/**")) == ["tests/local/kept.txt", "tests/local/way"]


def test_a_pipe_among_ignored_files_keeps_nobody_waiting(tmp_path: Path) -> None:
    court = Courtroom(tmp_path, "local/\n")
    court.write("tests/local/kept.txt")
    os.mkfifo(court.root / "tests/local/pipe")
    assert list(_protected(court, "tests/**")) == ["tests/local/kept.txt", "tests/local/pipe"]


def test_thousands_of_files_do_not_hide_one(tmp_path: Path) -> None:
    court = Courtroom(tmp_path, "local/\n")
    court.write("tests/local/zz.sh")
    guard = Guard(protects=("tests/**/*.sh",), pinned=_protected(court, "tests/**/*.sh"))
    for number in range(MOST_WALKED + 1):
        (court.root / f"tests/local/{number}").touch()
    assert court.judge("true", guard=guard).reason is Reason.TAMPERED


def test_a_file_is_seen_the_same_ignored_or_not(tmp_path: Path) -> None:
    court = Courtroom(tmp_path)
    court.write("run.sh").chmod(0o755)
    (court.root / "link").symlink_to("run.sh")
    ignored = Ignored(court.root, ("run.sh", "link"))
    for name, seen in court.fingerprints().items():
        state = ignored.state(name)
        assert state is not None
        assert fingerprint(state) == seen


def test_an_installed_checker_cannot_be_overwritten(tmp_path: Path) -> None:
    place = Place(tmp_path, {".venv/bin/checker": f"{EXECUTABLE}check\n"}, ".venv/\n")
    edits = {".venv/bin/checker": f"{EXECUTABLE}true\n"}
    assert place.change(".venv/bin/checker", edits) == [".venv/bin/checker"]


def test_a_checker_that_is_installed_later_may_be_used(tmp_path: Path) -> None:
    place = Place(tmp_path, {"a.txt": ""}, ".venv/\n")
    edits = {".venv/bin/activate": "x=1\n", ".venv/bin/checker": f"{EXECUTABLE}check\n"}
    assert place.change(". .venv/bin/activate; .venv/bin/checker", edits) == []


def test_the_way_to_an_installed_program_cannot_be_turned(tmp_path: Path) -> None:
    files = {".venv/bin/python": f"{LINK}/usr/bin/python3", ".venv/bin/other": "x\n"}
    place = Place(tmp_path, files, ".venv/\n")
    edits = {".venv/bin/python": f"{LINK}other"}
    assert ".venv/bin/python" in place.change(".venv/bin/python -m unittest", edits)


def test_an_ignored_script_that_a_contract_runs_cannot_be_changed(tmp_path: Path) -> None:
    place = Place(tmp_path, {"local/check.sh": "test -s product\n"}, "local/\n")
    assert place.change("bash local/check.sh", {"local/check.sh": "true\n"}) == ["local/check.sh"]


@pytest.mark.parametrize(
    ("name", "text"), [("build/app.sh", "echo "), ("dist/cli.js", "print "), ("app", "\0")]
)
def test_what_a_build_makes_may_be_built_again(tmp_path: Path, name: str, text: str) -> None:
    place = Place(tmp_path, {name: f"{EXECUTABLE}{text}old"}, "build/\ndist/\napp\n")
    assert place.change(f"make -s && ./{name}", {name: f"{EXECUTABLE}{text}new"}) == []


@pytest.mark.parametrize("ignored", ["", "node_modules/\n"])
@pytest.mark.parametrize("name", ["node", "sh", "bash", "env"])
def test_a_node_package_cannot_stand_in_for_the_machines_program(
    tmp_path: Path, ignored: str, name: str
) -> None:
    place = Place(tmp_path, PACKAGE, ignored)
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / name).write_text("")
    (tools / name).chmod(0o755)
    place.search_path = str(tools)
    planted = {f"{BIN}/{name}": f"{EXECUTABLE}#!/bin/sh\n"}
    assert place.change("npm test", planted) == [f"{BIN}/{name}"]


@pytest.mark.parametrize("ignored", ["", "node_modules/\n"])
def test_a_plain_install_of_node_packages_is_honest(tmp_path: Path, ignored: str) -> None:
    place = Place(tmp_path, PACKAGE, ignored)
    edits = {
        "node_modules/jest/bin/jest.js": "#!/usr/bin/env node\n",
        f"{BIN}/jest": f"{LINK}../jest/bin/jest.js",
        f"{BIN}/grep": f"{EXECUTABLE}not called\n",
    }
    assert place.change("npm test", edits) == []


@pytest.mark.parametrize("ignored", ["", "node_modules/\n"])
def test_an_installed_runner_cannot_be_overwritten_through_its_link(
    tmp_path: Path, ignored: str
) -> None:
    runner = "node_modules/jest/bin/jest.js"
    files = {**PACKAGE, runner: "run\n", f"{BIN}/jest": f"{LINK}../jest/bin/jest.js"}
    place = Place(tmp_path, files, ignored)
    assert place.change("npm test", {runner: "process.exit(0)\n"}) == [runner]


def test_a_program_of_a_package_above_goes_before_the_machines_too(tmp_path: Path) -> None:
    files = {f"packages/a/{name}": text for name, text in PACKAGE.items()}
    place = Place(tmp_path, files, "node_modules/\n")
    planted = {f"{BIN}/sh": f"{EXECUTABLE}#!/bin/true\n"}
    assert place.change("cd packages/a && npm test", planted) == [f"{BIN}/sh"]


@pytest.mark.parametrize("folder", ["", "src/"])
def test_a_plugin_announced_in_ignored_package_data_steers(tmp_path: Path, folder: str) -> None:
    place = Place(tmp_path, {"tests/test_a.py": ""}, "*.egg-info/\n")
    name = f"{folder}x.egg-info/entry_points.txt"
    assert place.change("pytest tests", {name: PLUGIN}) == [f"{name}#pytest11"]


def test_ignored_package_data_without_a_plugin_is_honest(tmp_path: Path) -> None:
    place = Place(tmp_path, {"tests/test_a.py": ""}, "*.egg-info/\n")
    edits = {"x.egg-info/entry_points.txt": "[console_scripts]\nx = x:main\n"}
    assert place.change("pytest tests", edits) == []


@pytest.mark.parametrize(
    ("ignored", "name"),
    [
        ("*.so\n", "argparse.so"),
        ("*.so\n", "argparse.cpython-311-x86_64-linux-gnu.so"),
        ("secrets.py\n", "secrets.py"),
        ("argparse/\n", "argparse/__init__.py"),
        ("pytest_*/\n", "pytest_x/__init__.py"),
        ("conftest.py\n", "tests/conftest.py"),
        ("pytest.ini\n", "pytest.ini"),
        ("sitecustomize.py\n", "src/sitecustomize.py"),
    ],
)
def test_an_ignored_file_that_steers_python_or_pytest_is_named(
    tmp_path: Path, ignored: str, name: str
) -> None:
    place = Place(tmp_path, {"tests/test_a.py": ""}, ignored)
    assert place.change("python -m pytest tests", {name: "x = 1\n"}) == [name]


def test_an_ignored_library_may_be_removed_only_by_permission(tmp_path: Path) -> None:
    place = Place(tmp_path, {"argparse.so": "x"}, "*.so\n")
    assert place.change("python -m unittest", {"argparse.so": GONE}, ("*.so",)) == []
    place.write({"argparse.so": "x"})
    assert place.change("python -m unittest", {"argparse.so": GONE}) == ["argparse.so"]


def test_a_library_of_the_projects_own_may_be_built(tmp_path: Path) -> None:
    place = Place(tmp_path, {"tests/test_a.py": ""}, "*.so\n")
    assert place.change("python -m unittest", {"fastmath.so": "x"}) == []


def test_an_ignored_makefile_that_is_included_steers(tmp_path: Path) -> None:
    makefile = "-include local.mk\n-include main.d\n\ntest:\n\tgrep -q works product.txt\n"
    place = Place(tmp_path, {"Makefile": makefile}, "local.mk\n*.d\n")
    edits = {"local.mk": "SHELL = /bin/true\n", "main.d": "main.o: main.c\n"}
    assert place.change("make test", edits) == ["local.mk"]
