"""What must answer at once: the same answer as every other door, and nothing slow is loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.ended import LIMIT_S
from tests.cli.project import Project
from tests.cli.test_start_up import LOADED

# Each takes longer to load than the answer takes; `re`, `typing` and `pathlib` are among them.
SLOW = {
    "click", "yaml", "rich", "dbos", "psycopg", "dataclasses", "typing", "pathlib", "re", "json",
    "subprocess", "importlib.metadata", "tomllib", "inspect",
}  # fmt: skip
PLAN = "# T\n\n## Steps\n\n### 1. Say hello\n\n**target:** coder\n"


@pytest.fixture
def vault(project: Project) -> Path:
    for name in ("PLAN.md", "PLAN-auth.md", "PLAN-pay.md"):
        (project.vault / name).write_text(PLAN)
    return project.vault


def pair(vault: Path, suffix: str = "") -> str:
    return f"{vault}/PLAN{suffix}.md\t{vault}/progress{suffix}.md\n"


def test_the_unnamed_plan_is_printed_where_nothing_is_bound(project: Project, vault: Path) -> None:
    assert project.signoff("resolve-active-plan").exits(0).stdout == pair(vault)


@pytest.mark.parametrize("spelled", ["auth", "PLAN-auth.md", "auth.md"])
def test_a_named_plan_is_printed(project: Project, vault: Path, spelled: str) -> None:
    for arguments in (("--plan", spelled), (f"--plan={spelled}",)):
        shown = project.signoff("resolve-active-plan", *arguments).exits(0)
        assert shown.stdout == pair(vault, "-auth")


def test_the_bound_plan_is_printed(project: Project, vault: Path) -> None:
    project.signoff("bind", "auth").exits(0)
    assert project.signoff("resolve-active-plan").exits(0).stdout == pair(vault, "-auth")
    assert project.signoff("resolve-active-plan", "--plan", "PLAN").stdout == pair(vault)


def test_every_door_resolves_the_same_plan(project: Project, vault: Path) -> None:
    project.signoff("bind", "pay").exits(0)
    (project.vault / "PLAN-pay.md").write_text(PLAN.replace("# T", "# Payments"))
    assert project.signoff("show").exits(0).stdout.startswith("# Payments")
    assert project.signoff("show", "auth").exits(0).stdout.startswith("# T")


@pytest.mark.parametrize("content", ["", "gone\n", "../x\n", "auth\npay\n", "\u202eauth\n"])
def test_a_dangling_marker_is_loud_and_the_unnamed_plan_is_not_printed(
    project: Project, vault: Path, content: str
) -> None:
    (vault / "active-plan").write_text(content)
    project.signoff("resolve-active-plan").fails(2).is_plain()
    failed = project.signoff("resolve-active-plan", "--json").exits(2)
    assert failed.stdout == "" and failed.failure["exit_code"] == 2
    project.signoff("show").fails(2, hint="signoff")


@pytest.mark.parametrize("name", ["gone", "../x", "-x", "", "a/b", "a\x1b[31mb", "auth (1)"])
def test_an_unknown_or_unsafe_name_is_loud(project: Project, vault: Path, name: str) -> None:
    project.signoff("resolve-active-plan", "--plan", name).fails(2).is_plain()


def test_no_vault_is_an_answer_of_its_own(project: Project) -> None:
    project.vault.rmdir()
    project.signoff("resolve-active-plan").fails(1, "no vault", hint="signoff init")
    project.signoff("resolve-active-plan", "--plan", "auth").fails(1, "no vault")
    assert not project.home.exists(), "looking makes nothing"


def test_a_ledger_that_cannot_be_read_is_an_accident(project: Project, vault: Path) -> None:
    project.home.mkdir(mode=0o700)
    (project.home / "ledger.sqlite3").write_bytes(b"no database at all " * 60)
    project.signoff("resolve-active-plan").fails(3)


def test_the_json_answer_says_what_decided(project: Project, vault: Path) -> None:
    found = project.signoff("resolve-active-plan", "--json").exits(0).json
    paths = {"plan_path": f"{vault}/PLAN.md", "progress_path": f"{vault}/progress.md"}
    assert found == {"schema_version": 1, "plan": "", **paths, "source": "unnamed"}
    named = project.signoff("--json", "resolve-active-plan", "--plan", "auth").exits(0).json
    assert (named["plan"], named["source"]) == ("auth", "argument")


def test_reading_writes_nothing(project: Project, vault: Path) -> None:
    project.signoff("bind", "auth").exits(0)
    before = _state(project.workspace)
    for verb in ("resolve-active-plan", "list-plans", "session-start"):
        project.signoff(verb).exits(0)
    assert _state(project.workspace) == before


def _state(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(p): (p.stat().st_mtime_ns, p.stat().st_size) for p in folder.rglob("*") if p.is_file()
    }


@pytest.mark.parametrize(
    "arguments", [("resolve-active-plan",), ("list-plans",), ("session-start",)]
)
def test_the_fast_doors_load_nothing_slow(
    project: Project, vault: Path, arguments: tuple[str, ...]
) -> None:
    project.signoff("bind", "auth").exits(0)
    bare = _modules(project, "-c", LOADED.partition("sys.argv")[0])
    loaded = _modules(project, "-c", LOADED, *arguments)
    assert {"signoff", "sqlite3"} <= loaded
    assert not (loaded - bare) & SLOW, (loaded - bare) & SLOW
    third_party = loaded - bare - set(sys.stdlib_module_names) - {"signoff", "__main__"}
    assert third_party == set()


def test_importing_the_package_loads_next_to_nothing(project: Project) -> None:
    start = LOADED.partition("sys.argv")[0]
    assert _modules(project, "-c", start + "import signoff") - _modules(project, "-c", start) == {
        "signoff",
        "__future__",
    }


def _modules(project: Project, *words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=project.workspace,
        env=project.environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    return set(done.stdout.splitlines()[-1].partition("modules:")[2].split())


def test_arguments_that_are_not_simple_are_read_by_click(project: Project, vault: Path) -> None:
    for verb in ("resolve-active-plan", "list-plans", "session-start"):
        project.signoff(verb, "--help").exits(0).shows("Usage: signoff", "--json")
        project.signoff(verb, "--no-such-option").fails(2, "--no-such-option")
    project.signoff("resolve-active-plan", "--plan").fails(2)


def test_a_reader_who_leaves_early_is_no_error(project: Project, vault: Path) -> None:
    for number in range(3000):
        (vault / f"PLAN-{number:05}{'x' * 60}.md").write_text(PLAN)
    done = subprocess.run(
        ["bash", "-c", 'set -o pipefail; "$@" | head -1', "-", *project.command(["list-plans"])],
        cwd=project.workspace,
        env=project.environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_folder_whose_name_breaks_the_line_is_given_as_json_only(project: Project) -> None:
    odd = project.folder / "a\tb\n\x1b[31m"
    (odd / ".harness").mkdir(parents=True)
    project.signoff("resolve-active-plan", cwd=odd).fails(2, hint="--json").is_plain()
    found = project.signoff("resolve-active-plan", "--json", cwd=odd).exits(0).json
    assert found["plan_path"] == str(odd.resolve() / ".harness" / "PLAN.md")
