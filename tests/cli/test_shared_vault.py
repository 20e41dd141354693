"""A vault that several repositories could take for theirs: whoever writes first has it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.ended import LIMIT_S
from tests.cli.plans import plan_text, step
from tests.cli.project import Project


@pytest.fixture
def shared(project: Project) -> Project:
    """A project whose plans lie on a drive that others use too."""
    return project.variable(SIGNOFF_VAULT=str(project.folder / "drive"))


def namesake(project: Project, *, git: bool = True) -> Path:
    """Another place whose folder has the same name."""
    other = project.folder / "elsewhere" / project.workspace.name
    other.mkdir(parents=True)
    if git:
        subprocess.run(["git", "init", "-q", str(other)], check=True, timeout=LIMIT_S)
    return other


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("git", [True, False], ids=["a repository", "a plain folder"])
def test_who_comes_second_reads_and_writes_nothing(shared: Project, git: bool) -> None:
    shared.signoff("new", "auth").exits(0)
    other, before = namesake(shared, git=git), content(shared.folder / "drive")
    for command in (
        ("new", "pay"),
        ("new", "pay", "--staged"),
        ("init",),
        ("activate", "auth"),
        ("edit", "auth", "--from", "/dev/null"),
        ("progress", "auth", "--add", "mine"),
        ("verify", "auth"),
        ("approve", "auth", "--yes"),
        ("show", "auth"),
        ("ready",),
        ("check",),
        ("conflicts",),
    ):
        shared.signoff(*command, cwd=other).fails(4, "holds the plans of `DESK/work`")
    assert content(shared.folder / "drive") == before
    assert not (other / "signoff.toml").exists()


def test_listing_says_so_and_lists_nothing(shared: Project) -> None:
    shared.signoff("new", "auth").exits(0)
    other = namesake(shared)
    said = shared.signoff("list-plans", cwd=other).exits(0)
    assert said.stdout == "" and "holds the plans of" in said.stderr
    found = shared.signoff("list-plans", "--json", cwd=other).exits(0).json
    assert found["plans"] == [] and found["active_binding"] is None
    shared.signoff("session-start", cwd=other).exits(0).shows("holds the plans of")


@pytest.mark.parametrize(
    "command",
    [
        ("init",),
        ("new", "pay"),
        ("new", "pay", "--staged"),
        ("activate", "later"),
        ("edit", "auth", "--from", "new.md"),
        ("progress", "auth", "--add", "mine"),
        ("verify", "auth"),
        ("bind", "auth"),
        ("approve", "auth", "--yes"),
    ],
    ids=" ".join,
)
def test_every_first_write_says_whose_the_vault_is(
    shared: Project, command: tuple[str, ...]
) -> None:
    shared.agent("true")
    vault = shared.folder / "drive" / "work" / "_harness"
    (vault / "queued-plans").mkdir(parents=True)
    text = plan_text([step("Log in", "test -s auth")])
    for place in (vault / "PLAN-auth.md", vault / "queued-plans" / "PLAN-later.md"):
        place.write_text(text)
    shared.file("new.md", plan_text([step("Log out", "test -s out")]))
    other = namesake(shared)
    shared.signoff("list-plans", cwd=other).exits(0).shows("PLAN-auth.md")
    shared.signoff(*command).exits(0)
    shared.signoff("show", "auth", cwd=other).fails(4, "holds the plans of `DESK/work`")
    shared.signoff("show", "auth").exits(0)


def test_a_plain_folder_has_its_vault_to_itself_too(shared: Project) -> None:
    plain = namesake(shared, git=False)
    shared.signoff("new", "auth", cwd=plain).exits(0)
    shared.signoff("new", "pay").fails(4, "holds the plans of `DESK/elsewhere/work`")
    shared.signoff("progress", "auth", "--add", "mine", cwd=plain).exits(0)
    assert (shared.folder / "drive" / "work" / "_harness" / "progress-auth.md").exists()
