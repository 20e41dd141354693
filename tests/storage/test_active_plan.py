"""Which plan a session works on: argument, marker, unnamed plan; loud in every other case."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import signoff
from signoff.domain.names import name_of_file, plan_file, plan_slug
from signoff.errors import ActivePlanError, NoVault, PlanNameInvalid, PlanNotFound, StorageFailed
from signoff.storage.active import (
    ActivePlan,
    Source,
    find_vault,
    list_plan_files,
    resolve_active_plan,
)
from signoff.storage.home import open_database, sqlite_url
from signoff.storage.identity import bind_worktree, plan_identity, unbind_worktree
from signoff.storage.ledger import Ledger


@dataclass
class Ground:
    """A repository with a vault, and a home of its own."""

    folder: Path
    plans: tuple[str, ...] = ("PLAN.md", "PLAN-auth.md", "PLAN-pay.md")
    environ: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.main.mkdir()
        git(self.main, "init", "-q")
        self.vault.mkdir()
        self.home.mkdir(mode=0o700)
        self.environ = {"HOME": str(self.folder), "SIGNOFF_HOME": str(self.home)}
        for name in self.plans:
            (self.vault / name).write_text("# T\n")

    @property
    def main(self) -> Path:
        return self.folder / "main"

    @property
    def vault(self) -> Path:
        return self.main / ".harness"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def marker(self) -> Path:
        return self.vault / "active-plan"

    @property
    def ledger(self) -> Ledger:
        return Ledger(open_database(sqlite_url(self.home / "ledger.sqlite3")))

    def mark(self, content: str | bytes, where: Path | None = None) -> None:
        path = (where or self.main) / ".harness" / "active-plan"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def bind(self, name: str, worktree: Path | None = None) -> None:
        place = find_vault(self.main, self.environ)
        record = plan_identity(self.vault / plan_file(name), place)
        ledger = self.ledger
        ledger.register_plan(record)
        bind_worktree(ledger, record, worktree or self.main, self.main, "ada")

    def worktree(self, name: str = "tree") -> Path:
        git(self.main, "commit", "-q", "--allow-empty", "-m", "first")
        git(self.main, "worktree", "add", "-q", str(self.folder / name))
        return self.folder / name

    def resolve(self, plan: str | None = None, cwd: Path | None = None) -> ActivePlan:
        return resolve_active_plan(plan, cwd=cwd or self.main, environ=self.environ)


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", *identity, *arguments]
    subprocess.run(command, cwd=folder, env=environ, check=True, capture_output=True)


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


PRECEDENCE = [
    # argument, marker, what decides, which plan
    ("auth", "pay", Source.ARGUMENT, "auth"),
    ("auth", None, Source.ARGUMENT, "auth"),
    ("PLAN-auth.md", "pay", Source.ARGUMENT, "auth"),
    ("auth.md", None, Source.ARGUMENT, "auth"),
    ("PLAN", "pay", Source.ARGUMENT, ""),
    ("PLAN.md", "pay", Source.ARGUMENT, ""),
    (None, "pay", Source.MARKER, "pay"),
    (None, "PLAN-pay.md", Source.MARKER, "pay"),
    (None, None, Source.UNNAMED, ""),
]


@pytest.mark.parametrize(("argument", "marker", "source", "name"), PRECEDENCE)
def test_argument_then_marker_then_the_unnamed_plan(
    ground: Ground, argument: str | None, marker: str | None, source: Source, name: str
) -> None:
    if marker is not None:
        ground.mark(f"{marker}\n")
    found = ground.resolve(argument)
    assert (found.name, found.source) == (name, source)
    suffix = f"-{name}" if name else ""
    assert found.plan_path == ground.vault / f"PLAN{suffix}.md"
    assert found.progress_path == ground.vault / f"progress{suffix}.md"


@pytest.mark.parametrize("spelled", ["auth", "auth\n", "  auth  \n\n", "\nauth\n", "auth\r\n"])
def test_blanks_around_the_name_in_a_marker_mean_nothing(ground: Ground, spelled: str) -> None:
    ground.mark(spelled)
    assert ground.resolve().name == "auth"


BAD_MARKERS = {
    "blank": "",
    "only-spaces": " \n\t\n",
    "two-plans": "auth\npay\n",
    "absent-plan": "gone\n",
    "traversal": "../secrets\n",
    "slash": "a/b\n",
    "dots": "..\n",
    "absolute": "/etc/passwd\n",
    "backslash": "a\\b\n",
    "dash": "-rf\n",
    "nul": b"a\0b\n",
    "bidi": "a\u202eb\n",
    "invisible": "au\u200bth\n",
    "control": "a\x1b[31m\n",
    "not-utf8": b"\xff\xfe\n",
    "too-long": "x" * 101,
    "huge": "x" * 10_000,
    "the-unnamed-plan": "PLAN.md\n",
    "conflict-copy": "auth (1)\n",
}


@pytest.mark.parametrize("content", BAD_MARKERS.values(), ids=list(BAD_MARKERS))
def test_a_marker_that_names_no_one_plan_is_an_error_and_never_the_unnamed_plan(
    ground: Ground, content: str | bytes
) -> None:
    ground.mark(content)
    with pytest.raises(ActivePlanError):
        ground.resolve()
    assert ground.resolve("auth").name == "auth", "what is said explicitly does not need it"


def _folder(path: Path) -> None:
    path.mkdir()


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _dangling_link(path: Path) -> None:
    path.symlink_to("nowhere")


def _link_to_a_good_marker(path: Path) -> None:
    (path.parent / "elsewhere").write_text("auth\n")
    path.symlink_to("elsewhere")


@pytest.mark.parametrize("make", [_folder, _pipe, _dangling_link, _link_to_a_good_marker])
def test_a_marker_that_is_no_regular_file_is_an_error(
    ground: Ground, make: Callable[[Path], None]
) -> None:
    make(ground.marker)
    with pytest.raises(ActivePlanError, match="not a small regular file"):
        ground.resolve()


def _empty(path: Path) -> None:
    path.write_text("")


def _blank(path: Path) -> None:
    path.write_text(" \n\n")


def _link(path: Path) -> None:
    path.unlink()
    path.symlink_to("PLAN-pay.md")


def _plan_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("spoil", [_empty, _blank, _link, _plan_folder, Path.unlink])
def test_a_plan_that_is_not_one_file_with_something_in_it_is_an_error(
    ground: Ground, spoil: Callable[[Path], None]
) -> None:
    spoil(ground.vault / "PLAN-auth.md")
    with pytest.raises(PlanNotFound) as said:
        ground.resolve("auth")
    assert isinstance(said.value, ValueError)
    ground.mark("auth\n")
    with pytest.raises(ActivePlanError, match="names plan `auth`"):
        ground.resolve()


@pytest.mark.parametrize("twin", ["AUTH", "Auth", "\uff41uth"])
def test_names_that_some_file_systems_confuse_are_ambiguous(ground: Ground, twin: str) -> None:
    (ground.vault / plan_file(twin)).write_text("# T\n")
    ground.mark("auth\n")
    with pytest.raises(ActivePlanError, match="ambiguous"):
        ground.resolve()
    with pytest.raises(PlanNotFound, match="ambiguous"):
        ground.resolve("auth")


def test_a_name_in_another_case_is_not_found_and_the_near_one_is_named(ground: Ground) -> None:
    with pytest.raises(PlanNotFound, match="there is `auth`"):
        ground.resolve("Auth")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "-x", "a\0", "\u202e", "x" * 101, ".md"])
def test_a_bad_argument_is_a_value_error(ground: Ground, name: str) -> None:
    with pytest.raises(ValueError, match="plan") as said:
        ground.resolve(name)
    assert isinstance(said.value, PlanNameInvalid)


def test_a_name_about_to_be_created_need_not_exist(ground: Ground) -> None:
    found = resolve_active_plan("fresh", cwd=ground.main, environ=ground.environ, creating=True)
    assert found.plan_path == ground.vault / "PLAN-fresh.md"
    with pytest.raises(PlanNotFound):
        ground.resolve("fresh")


def test_a_solo_project_needs_no_marker_and_no_plan_file_yet(tmp_path: Path) -> None:
    ground = Ground(tmp_path, plans=())
    found = ground.resolve()
    assert found.source is Source.UNNAMED and not found.plan_path.exists()
    assert found.progress_path == ground.vault / "progress.md"
    assert sorted(p.name for p in ground.vault.iterdir()) == [], "nothing was migrated or made"
    assert sorted(p.name for p in ground.home.iterdir()) == [], "looking makes no home either"


def test_without_a_vault_there_is_no_plan(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    with pytest.raises(NoVault):
        resolve_active_plan(cwd=tmp_path, environ=environ)
    with pytest.raises(NoVault):
        resolve_active_plan("auth", cwd=tmp_path, environ=environ)


def test_the_binding_on_record_and_the_marker_agree(ground: Ground) -> None:
    ground.bind("auth")
    found = ground.resolve()
    assert (found.name, found.source) == ("auth", Source.MARKER)


def test_a_marker_changed_behind_the_ledger_is_loud(ground: Ground) -> None:
    ground.bind("auth")
    ground.mark("pay\n")
    with pytest.raises(ActivePlanError, match="the ledger binds this worktree to `auth`"):
        ground.resolve()


def test_a_marker_deleted_behind_the_ledger_is_loud(ground: Ground) -> None:
    ground.bind("auth")
    ground.marker.unlink()
    with pytest.raises(ActivePlanError, match="is gone, but the ledger binds"):
        ground.resolve()


def test_a_marker_written_after_unbinding_is_loud(ground: Ground) -> None:
    ground.bind("auth")
    unbind_worktree(ground.ledger, ground.main, ground.main, "ada")
    assert ground.resolve().source is Source.UNNAMED
    ground.mark("pay\n")
    with pytest.raises(ActivePlanError, match="was unbound"):
        ground.resolve()


def test_the_ledger_of_another_home_knows_nothing_and_the_marker_stands(ground: Ground) -> None:
    ground.bind("auth")
    other = {**ground.environ, "SIGNOFF_HOME": str(ground.folder / "other-home")}
    found = resolve_active_plan(cwd=ground.main, environ=other)
    assert (found.name, found.source) == ("auth", Source.MARKER)


def test_each_worktree_has_its_own_marker_and_the_main_vault(ground: Ground) -> None:
    tree = ground.worktree()
    ground.bind("auth", tree)
    assert ground.resolve(cwd=tree).plan_path == ground.vault / "PLAN-auth.md"
    assert ground.resolve().source is Source.UNNAMED, "the main checkout is bound to nothing"


def test_a_marker_of_the_main_checkout_binds_no_worktree(ground: Ground) -> None:
    tree = ground.worktree()
    ground.bind("auth")
    assert ground.resolve(cwd=tree).source is Source.UNNAMED


def test_a_worktree_of_another_repository_is_not_bound_by_the_old_record(ground: Ground) -> None:
    tree = ground.worktree()
    ground.bind("auth", tree)
    git(ground.main, "worktree", "remove", "--force", str(tree))
    (ground.folder / "beside").mkdir()
    other = Ground(ground.folder / "beside")
    git(other.main, "commit", "-q", "--allow-empty", "-m", "first")
    git(other.main, "worktree", "add", "-q", str(tree))
    found = resolve_active_plan(cwd=tree, environ=ground.environ)
    assert found.source is Source.UNNAMED and found.plan_path.parent == other.vault


def test_a_damaged_ledger_is_no_excuse_to_believe_the_marker(ground: Ground) -> None:
    (ground.home / "ledger.sqlite3").write_bytes(b"not a database " * 100)
    ground.mark("auth\n")
    with pytest.raises(StorageFailed):
        ground.resolve()


def test_plan_files_are_listed_without_copies_and_odd_names(ground: Ground) -> None:
    for name in ("PLAN-a (1).md", "PLAN-a - Copy.md", "PLAN-.md", "notes.md", "plan-x.md"):
        (ground.vault / name).write_text("x")
    (ground.vault / "PLAN-a.sync-conflict-20260601-120000-ABCDEFG.md").write_text("x")
    names = [path.name for path in list_plan_files(str(ground.vault))]
    assert names == ["PLAN.md", "PLAN-auth.md", "PLAN-pay.md"]
    assert list_plan_files(ground.folder / "nowhere") == ()


def test_the_functions_are_public(ground: Ground) -> None:
    assert signoff.resolve_active_plan is resolve_active_plan
    assert signoff.list_plan_files is list_plan_files
    with pytest.raises(AttributeError):
        _ = signoff.no_such_thing  # type: ignore[attr-defined]


@given(st.text(st.characters(codec=None), max_size=110))
def test_every_accepted_name_leads_to_one_file_and_back(name: str) -> None:
    try:
        slug = plan_slug(name)
    except ValueError:
        return
    assert name_of_file(plan_file(slug)) == slug == plan_slug(plan_file(slug))
    assert Path(plan_file(slug)).name == plan_file(slug)
