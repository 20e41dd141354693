"""`doctor`: OK, WARN or FAIL for each thing, with what to do about it."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from signoff.domain.verdict import Isolation
from signoff.process.sandboxes import probe_sandboxes
from tests.cli.kit import Desk
from tests.cli.plans import step
from tests.cli.project import Project


@pytest.fixture
def healthy(project: Project) -> Project:
    return project.named("auth", step("Log in", "test -s auth")).commit("first")


def checks(project: Project, code: int = 0) -> dict[str, dict[str, Any]]:
    report = project.signoff("doctor", "--json").exits(code).json
    assert report["healthy"] is (code == 0)
    assert [c for c in report["checks"] if c["health"] != "ok" and not c["next"]] == [], "no fix"
    return {check["name"]: check for check in report["checks"]}


def health(project: Project, name: str, code: int = 0) -> str:
    return str(checks(project, code)[name]["health"])


def test_every_line_begins_with_its_health_and_says_what_to_do(healthy: Project) -> None:
    (healthy.vault / "PLAN-auth (1).md").write_text("x")
    lines = healthy.signoff("doctor").exits(0).is_plain().stdout.splitlines()
    assert all(line.startswith(("OK    ", "WARN  ", "FAIL  ", "      next: ")) for line in lines)
    found = lines.index("WARN  conflicts: `PLAN-auth (1).md`")
    assert lines[found + 1] == "      next: signoff conflicts"
    names = {line[6:].split(":")[0].split(" `")[0] for line in lines if line[0] != " "}
    assert names >= {"vault", "database", "binding of", "conflicts", "worktrees", "hooks", "git"}


def test_a_vault_with_named_plans_only_is_healthy(healthy: Project) -> None:
    found = checks(healthy)["vault"]
    assert found["health"] == "ok" and "PLAN-auth.md" in found["detail"]


def lines_of(project: Project, name: str) -> list[str]:
    found = project.signoff("doctor", "--json").exits(0).json["checks"]
    return [f"{c['health']}: {c['detail']}" for c in found if c["name"] == name]


def test_what_a_new_worktree_would_miss_is_named(healthy: Project) -> None:
    assert lines_of(healthy, "new worktrees") == []
    healthy.file(".gitmodules", "").file(".gitattributes", "*.bin filter=lfs -text\n")
    healthy.file(".venv/pyvenv.cfg", "")
    found = lines_of(healthy, "new worktrees")
    assert [line.split(":")[0] for line in found] == ["warn"] * 3
    assert "without `.venv`" in found[0] and "submodules" in found[1] and "LFS" in found[2]
    healthy.file("signoff.toml", '[setup]\ncommand = "true"\n')
    assert len(lines_of(healthy, "new worktrees")) == 2


def test_an_empty_submodule_and_a_pointer_are_in_a_new_worktree(healthy: Project) -> None:
    """What `doctor` says of them is so."""
    pointer = "version https://git-lfs.github.com/spec/v1\n"
    healthy.file("a.bin", pointer).commit("pointer")
    healthy.file(".gitattributes", "*.bin filter=lfs\n").commit("tracked by LFS")
    healthy.call("init", "-q", "sub")
    healthy.file("sub/f", "x").call("add", ".", cwd=healthy.workspace / "sub")
    healthy.call("commit", "-qm", "sub", cwd=healthy.workspace / "sub")
    healthy.file(".gitmodules", '[submodule "sub"]\npath = sub\nurl = ./sub\n').commit("sub")
    healthy.call("config", "filter.lfs.smudge", "echo smudged")
    healthy.signoff("worktree", "add", "auth").exits(0)
    tree = healthy.worktree("auth")
    assert (tree / "a.bin").read_text() == pointer and not list((tree / "sub").glob("*"))


@pytest.mark.parametrize(
    ("choice", "said"),
    [('isolation = "none"', "`.venv` holds absolute paths"), ("clean_room = false", "clean_room")],
)
def test_where_no_lane_can_be_made_the_reason_is_named(
    healthy: Project, choice: str, said: str
) -> None:
    healthy.file(".venv/pyvenv.cfg", "").person(f"[sandbox]\n{choice}\n")
    (line,) = lines_of(healthy, "lanes")
    assert line.startswith("warn: none") and said in line


def test_no_plan_at_all_is_a_failure(project: Project) -> None:
    found = checks(project, 1)["vault"]
    assert found["health"] == "fail" and found["next"] == "signoff init"
    shutil.rmtree(project.vault)
    assert health(project, "vault", 1) == "fail"


@pytest.mark.parametrize("marker", ["gone\n", "", "../x\n"])
def test_a_dangling_marker_is_a_warning(healthy: Project, marker: str) -> None:
    (healthy.vault / "active-plan").write_text(marker)
    found = checks(healthy)[f"binding of `{healthy.workspace}`"]
    assert found["health"] == "warn" and found["detail"].startswith("DANGLING: ")


def test_the_markers_of_all_worktrees_are_looked_at(healthy: Project) -> None:
    healthy.signoff("worktree", "add", "auth").exits(0)
    tree = healthy.worktree("auth")
    assert checks(healthy)[f"binding of `{tree}`"]["detail"] == "plan `auth`"
    (tree / ".harness" / "active-plan").write_text("other\n")
    assert health(healthy, f"binding of `{tree}`") == "warn"
    assert health(healthy, f"binding of `{healthy.workspace}`") == "ok"


def test_a_worktree_whose_folder_is_gone_is_a_warning(healthy: Project) -> None:
    tree = healthy.folder / "tree"
    healthy.call("worktree", "add", "-q", str(tree))
    assert health(healthy, "worktrees") == "ok"
    shutil.rmtree(tree)
    found = checks(healthy)[f"worktree `{tree}`"]
    assert found["health"] == "warn" and found["next"] == "signoff worktree prune"


def test_a_role_whose_program_is_missing_is_a_warning(healthy: Project) -> None:
    healthy.file("signoff.toml", '[roles]\ncoder = "bash -c true"\ncritic = "no-such-agent -p"\n')
    found = checks(healthy)
    assert found["role coder"]["health"] == "ok"
    assert (
        found["role critic"]["health"] == "warn" and "no-such-agent" in found["role critic"]["next"]
    )


def test_a_program_of_the_workspace_is_no_program_for_a_role(healthy: Project) -> None:
    healthy.file("bin/my-agent", "#!/bin/sh\n")
    (healthy.workspace / "bin" / "my-agent").chmod(0o755)
    healthy.variable(PATH=f"{healthy.workspace}/bin:/usr/bin:/bin")
    healthy.file("signoff.toml", '[roles]\ncoder = "my-agent"\n')
    assert health(healthy, "role coder") == "warn"


def test_a_database_that_cannot_be_opened_is_a_failure_and_hides_nothing(healthy: Project) -> None:
    healthy.home.mkdir(mode=0o700)
    healthy.ledger_file.write_bytes(b"no database at all " * 60)
    found = checks(healthy, 1)
    assert found["home and database"]["health"] == "fail"
    assert found["vault"]["health"] == "ok" and found["hooks"]["detail"] == "none installed"


def test_a_configuration_that_is_no_toml_is_a_failure(healthy: Project) -> None:
    healthy.file("signoff.toml", "[roles\n")
    assert health(healthy, "configuration", 1) == "fail"


def test_a_vault_of_another_repository_is_a_failure(healthy: Project) -> None:
    healthy.variable(SIGNOFF_VAULT="not/absolute")
    assert health(healthy, "vault", 1) == "fail"


def test_outside_git_there_are_no_worktrees_to_look_at(healthy: Project) -> None:
    alone = healthy.folder / "alone"
    (alone / ".harness").mkdir(parents=True)
    (alone / ".harness" / "PLAN.md").write_text("# T\n")
    report = healthy.signoff("doctor", "--json", cwd=alone).exits(0).json
    names = [check["name"] for check in report["checks"]]
    assert f"binding of `{alone}`" in names and "worktrees" not in names


def test_a_machine_without_any_plan_is_no_failure_yet(desk: Desk) -> None:
    shown = desk.signoff("doctor").exits(0).shows("WARN  vault: none yet", "next: signoff init")
    assert "FAIL" not in shown.stdout


def test_opened_places_that_are_not_there_are_named_with_what_to_do(healthy: Project) -> None:
    user = healthy.folder / "config.toml"
    user.write_text('[sandbox]\nwritable = ["/nowhere/at all", ".git", "/usr"]\n')
    found = checks(healthy)
    if found["isolation"]["health"] != "ok":
        pytest.skip("no sandbox on this machine")
    assert found["sandbox places"] == {
        "name": "sandbox places",
        "health": "warn",
        "detail": "not there, so left out of the sandbox: `/nowhere/at all`",
        "next": "mkdir -p '/nowhere/at all', or change [sandbox] in your own configuration",
    }
    user.write_text('[sandbox]\nwritable = [".git", "/usr"]\n')
    assert "sandbox places" not in checks(healthy)


@pytest.fixture
def at(desk: Desk) -> Desk:
    """Nobody's clients are on the search path, ours are installed."""
    return desk.git().tool("signoff", "exit 0")


def doctor(desk: Desk) -> dict[str, dict[str, Any]]:
    return {c["name"]: c for c in desk.signoff("doctor", "--json").json["checks"]}


def own(desk: Desk, path: str, text: str) -> None:
    place = desk.folder / "person" / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def test_a_client_without_our_hooks_is_named_with_what_installs_them(at: Desk) -> None:
    assert "hooks claude" not in doctor(at)
    at.tool("claude", "exit 0")
    found = doctor(at)["hooks claude"]
    assert found["health"] == "warn" and found["next"] == "signoff install claude"


def test_hooks_that_nobody_trusted_are_told(at: Desk) -> None:
    for client in ("claude", "codex", "gemini", "qwen"):
        at.signoff("install", client).exits(0)
    found = doctor(at)
    for client in ("claude", "codex", "gemini"):
        one = found[f"hooks {client}"]
        assert one["health"] == "warn" and "skips them" in one["detail"] and one["next"]
    assert "not trusted: session-start, before-tool, stop" in found["hooks codex"]["detail"]
    assert found["hooks qwen"]["health"] == "ok", "it trusts every folder unless told otherwise"
    top, hooks = at.workspace, at.workspace / ".codex" / "hooks.json"
    own(at, ".claude.json", json.dumps({"projects": {str(top): {"hasTrustDialogAccepted": True}}}))
    own(at, ".gemini/trustedFolders.json", json.dumps({str(top.parent): "TRUST_FOLDER"}))
    events = ("session_start", "pre_tool_use", "stop", "session_end")
    lines = [f'[hooks.state."{hooks}:{event}:0:0"]\ntrusted_hash = "sha256:1"' for event in events]
    own(at, ".codex/config.toml", "\n".join(lines))
    found = doctor(at)
    assert found["hooks claude"]["health"] == found["hooks gemini"]["health"] == "ok"
    assert "the project is not" in found["hooks codex"]["detail"]
    lines.append(f'[projects."{top}"]\ntrust_level = "trusted"')
    own(at, ".codex/config.toml", "\n".join(lines))
    assert doctor(at)["hooks codex"]["health"] == "ok"


def test_hooks_that_are_switched_off_are_told(at: Desk) -> None:
    at.signoff("install", "claude", "--user").exits(0)
    assert doctor(at)["hooks claude"]["health"] == "ok"
    path = at.folder / "person" / ".claude" / "settings.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "disableAllHooks": True}))
    assert "no hook runs" in doctor(at)["hooks claude"]["detail"]


def test_the_server_and_completion_and_budgets_are_looked_at(at: Desk) -> None:
    at.agent("true").variable(SHELL="/bin/bash")
    loop = '[roles.own]\nagent = "loop"\nmodel = "x:y"\n'
    at.file("signoff.toml", at.read("signoff.toml") + loop)
    found = doctor(at)
    assert found["mcp"]["health"] == "ok"
    assert found["completion"]["health"] == "warn"
    assert found["completion"]["next"].endswith(">> ~/.bashrc")
    assert found["budget of role coder"]["health"] == "warn"
    assert "SIGNOFF_USAGE_FILE" in found["budget of role coder"]["next"]
    assert found["budget of role own"]["health"] == "ok"
    own(at, ".bashrc", 'eval "$(signoff completion bash)"\n')
    assert doctor(at)["completion"]["health"] == "ok"


def test_a_sandbox_that_another_makes_needless_is_no_warning(desk: Desk) -> None:
    working = [s.isolation for s in probe_sandboxes() if s.available]
    said = desk.signoff("doctor").stdout
    boxed = [isolation for isolation in working if isolation.has_own_view]
    for isolation in (Isolation.BUBBLEWRAP, Isolation.NAMESPACES):
        (line,) = (s for s in said.splitlines() if f"sandbox {isolation}:" in s)
        assert line.startswith("OK" if boxed else "WARN"), line
        assert ("not needed" in line) == (bool(boxed) and isolation not in working)
    assert ("install bubblewrap" in said) != bool(boxed)
    assert ('set `isolation = "auto"`' in said) == bool(boxed)
