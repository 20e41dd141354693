"""`install` and `uninstall`: a client's files get what is missing and lose it again; no more."""

from __future__ import annotations

import json
import shlex
import stat
import subprocess
import tomllib
from typing import Any

import pytest
import yaml

from tests.cli.clientfiles import EVENTS, HOOKS_FILE, MINE, commands, files_of
from tests.cli.ended import LIMIT_S
from tests.cli.kit import Desk
from tests.cli.plans import plan_text, step

KINDS = ("session-start", "before-tool", "stop", "session-end")
every_client = pytest.mark.parametrize("client", EVENTS)


@pytest.fixture
def at(desk: Desk) -> Desk:
    return desk.git().tool("signoff", "exit 0")


def plain(text: str) -> Any:
    """JSON whose comments are all known to the test."""
    for comment in ("// my own notes", "/* and\n     more */", "// loud", "// added later"):
        text = text.replace(comment, "")
    return json.loads(text)


@every_client
def test_a_client_gets_hooks_a_server_and_commands(at: Desk, client: str) -> None:
    at.signoff("install", client).exits(0).shows(f"created: DESK/work/{HOOKS_FILE[client]}")
    config = json.loads(at.read(HOOKS_FILE[client]))
    wanted = [[f"signoff hook {client} {kind}"] for kind in KINDS]
    assert commands(config["hooks"]) == dict(zip(EVENTS[client], wanted, strict=True))
    server = {"command": "signoff", "args": ["mcp"]}
    if client == "codex":
        toml = tomllib.loads(at.read(".codex/config.toml"))
        assert toml == {"mcp_servers": {"signoff": server}}
    else:
        where = at.read(".mcp.json") if client == "claude" else at.read(HOOKS_FILE[client])
        assert json.loads(where)["mcpServers"] == {"signoff": server}
    unit = 1000 if client in ("gemini", "qwen") else 1
    for groups in config["hooks"].values():
        assert groups[0]["hooks"][0]["timeout"] in [s * unit for s in (3, 30, 60, 300)]


@every_client
def test_the_second_time_there_is_nothing_to_do(at: Desk, client: str) -> None:
    at.signoff("install", client).exits(0)
    before = files_of(at.workspace)
    at.signoff("install", client).exits(0).shows("nothing to do for ").hides("---", "backup")
    assert files_of(at.workspace) == before


@every_client
@pytest.mark.parametrize("scope", ["--project", "--user"])
def test_what_install_made_uninstall_removes(at: Desk, client: str, scope: str) -> None:
    at.file("README.md", "mine\n")
    at.signoff("install", client, scope).exits(0)
    assert len(files_of(at.workspace)) + len(files_of(at.folder / "person")) > 4
    at.signoff("uninstall", client, scope).exits(0).shows("removed: ")
    assert files_of(at.workspace) == {"README.md": b"mine\n"}
    assert files_of(at.folder / "person") == {}
    assert not (at.workspace / f".{client}").exists()
    at.signoff("uninstall", client, scope).exits(0).shows("nothing to do for ")


@every_client
def test_a_dry_run_shows_the_difference_and_writes_nothing(at: Desk, client: str) -> None:
    at.file(HOOKS_FILE[client], MINE)
    shown = at.signoff("install", client, "--dry-run").exits(0)
    shown.shows(f"+++ DESK/work/{HOOKS_FILE[client]} (now)", f"signoff hook {client} stop")
    shown.shows(f"would be changed: DESK/work/{HOOKS_FILE[client]}")
    assert files_of(at.workspace) == {HOOKS_FILE[client]: MINE.encode()}
    at.signoff("install", client).exits(0)
    before = files_of(at.workspace)
    at.signoff("uninstall", client, "--dry-run").exits(0).shows("would be removed: ")
    assert files_of(at.workspace) == before


@every_client
def test_comments_and_everything_else_stay(at: Desk, client: str) -> None:
    at.file(HOOKS_FILE[client], MINE)
    shown = at.signoff("install", client).exits(0)
    shown.shows("as it was: ", ".signoff-backup-1")
    after = at.read(HOOKS_FILE[client])
    kept = iter(after.split("\n"))
    for line in MINE.replace("} // loud", "").split("\n"):
        assert any(now.startswith(line.rstrip("}")) for now in kept), line
    config = plain(after)
    assert config["model"] == "best" and config["permissions"] == {"allow": ["Bash(ls:*)"]}
    assert commands(config["hooks"])["Stop"][0] == "say done"
    assert (at.workspace / f"{HOOKS_FILE[client]}.signoff-backup-1").read_text() == MINE
    at.signoff("uninstall", client).exits(0)
    assert at.read(HOOKS_FILE[client]) == MINE


@every_client
def test_uninstall_works_after_edits_around_it(at: Desk, client: str) -> None:
    at.file(HOOKS_FILE[client], MINE)
    at.signoff("install", client).exits(0)
    path = at.workspace / HOOKS_FILE[client]
    edited = (
        path.read_text().replace('"best"', '"other"').replace("// my", "// added later\n  // my")
    )
    path.write_text(edited)
    at.signoff("uninstall", client).exits(0)
    wanted = MINE.replace('"best"', '"other"').replace("// my", "// added later\n  // my")
    assert path.read_text() == wanted


@pytest.mark.parametrize(
    "text",
    ["{}", "{ }\n", '{"a":1}', '{"a": 1,\n}\n', "{\n\n}\n", '{\r\n\t"a": 1\r\n}\r\n',
     '\ufeff{"hooks": {}}', '{"hooks": {"Stop": []}}', '{ // c\n}\n', '{"a": [1, 2,],}', "",
     "  \n"],
)  # fmt: skip
def test_an_unusual_file_comes_back_byte_for_byte(at: Desk, text: str) -> None:
    path = at.workspace / ".gemini" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(text.encode())
    at.signoff("install", "gemini").exits(0)
    assert b"signoff hook gemini stop" in path.read_bytes()
    at.signoff("install", "gemini").exits(0).shows("nothing to do")
    at.signoff("uninstall", "gemini").exits(0)
    assert path.read_bytes() == text.encode()


def test_codex_servers_of_others_stay_and_come_back(at: Desk) -> None:
    mine = '# me\nmodel = "x"\n\n[mcp_servers.docs]\ncommand = "docs" # ours\n'
    at.file(".codex/config.toml", mine)
    at.signoff("install", "codex").exits(0)
    text = at.read(".codex/config.toml")
    assert text.startswith(mine) and set(tomllib.loads(text)["mcp_servers"]) == {"docs", "signoff"}
    (at.workspace / ".codex/config.toml").write_text(text + '\n[profiles.a]\nmodel = "y"\n')
    at.signoff("install", "codex").exits(0).shows("nothing to do")
    at.signoff("uninstall", "codex").exits(0)
    assert at.read(".codex/config.toml") == mine + '\n[profiles.a]\nmodel = "y"\n'


def test_codex_is_told_that_hooks_must_be_trusted(at: Desk) -> None:
    shown = at.signoff("install", "codex").exits(0)
    shown.shows("codex skips hooks that nobody trusted", "type /hooks")


@every_client
def test_a_user_installs_below_home(at: Desk, client: str) -> None:
    at.signoff("install", client, "--user").exits(0)
    assert files_of(at.workspace) == {}
    home = at.folder / "person"
    assert (home / HOOKS_FILE[client]).is_file()
    if client == "claude":
        assert "signoff" in json.loads((home / ".claude.json").read_text())["mcpServers"]


def test_a_client_whose_folder_is_elsewhere_is_found(at: Desk) -> None:
    at.variable(CODEX_HOME=str(at.folder / "cx"), CLAUDE_CONFIG_DIR=str(at.folder / "cl"))
    at.signoff("install", "codex", "--user").exits(0)
    at.signoff("install", "claude", "--user").exits(0)
    assert (at.folder / "cx" / "hooks.json").is_file()
    assert (at.folder / "cl" / ".claude.json").is_file()
    assert files_of(at.folder / "person") == {}


def test_hooks_that_would_run_twice_are_told(at: Desk) -> None:
    at.signoff("install", "codex", "--user").exits(0)
    again = at.signoff("install", "codex").exits(0)
    again.shows("has the hooks too", "signoff uninstall codex --user")


def test_a_backup_is_as_private_as_the_file_and_none_is_overwritten(at: Desk) -> None:
    path = at.folder / "person" / ".claude.json"
    path.write_text('{"token": "secret"}\n')
    path.chmod(0o600)
    first = path.with_name(".claude.json.signoff-backup-1")
    first.write_text("older")
    at.signoff("install", "claude", "--user").exits(0)
    backup = path.with_name(".claude.json.signoff-backup-2")
    assert first.read_text() == "older" and backup.read_text() == '{"token": "secret"}\n'
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    at.signoff("uninstall", "claude", "--user").exits(0)
    at.signoff("install", "claude", "--user").exits(0)
    backups = sorted(p.name for p in path.parent.glob(".claude.json.*"))
    assert len(backups) == 3, "what is kept already is not kept again"


def test_commands_are_in_the_form_of_each_client(at: Desk) -> None:
    for client in EVENTS:
        at.signoff("install", client).exits(0)
    for name in ("plan", "work", "review", "design"):
        for path in (f".claude/commands/{name}.md", f".codex/skills/{name}/SKILL.md"):
            head, text = at.read(path).removeprefix("---\n").split("---\n", 1)
            assert yaml.safe_load(head)["description"]
            found = (
                "show SLUG --json" if name in ("plan", "design") else "resolve-active-plan --plan"
            )
            assert f"signoff {found}" in text and "--name SLUG" in text
        toml = tomllib.loads(at.read(f".gemini/commands/{name}.toml"))
        assert set(toml) == {"description", "prompt"} and toml["prompt"] in text
        assert at.read(f".qwen/commands/{name}.md") == at.read(f".claude/commands/{name}.md")
    assert yaml.safe_load(at.read(".codex/skills/work/SKILL.md").split("---")[1])["name"] == "work"
    assert "three times in a row: stop" in at.read(".claude/commands/work.md")


def test_every_command_line_in_the_commands_is_understood(at: Desk) -> None:
    at.signoff("install", "claude").exits(0)
    at.plan(step("Say hello", "test -s hello.txt"))
    at.signoff("init").exits(0)
    text = "".join(p.read_text() for p in (at.workspace / ".claude" / "commands").iterdir())
    words = text.replace("    signoff", "`signoff").split("`")
    lines = {word.split("\n")[0] for word in words if word.startswith("signoff ")}
    assert len(lines) >= 7
    for line in lines:
        at.signoff(*shlex.split(line)[1:], "--help").exits(0).hides("no such", "No such")


def test_a_command_that_somebody_changed_stays_and_is_named(at: Desk) -> None:
    at.signoff("install", "claude").exits(0)
    path = at.workspace / ".claude" / "commands" / "work.md"
    path.write_text(path.read_text().replace("Do this step", "Do this one step"))
    changed = path.read_text()
    told = "`DESK/work/.claude/commands/work.md` was changed since it was installed"
    at.signoff("install", "claude").exits(0).shows(told)
    at.signoff("uninstall", "claude").exits(0).shows(told)
    assert files_of(at.workspace) == {".claude/commands/work.md": changed.encode()}


def test_a_command_of_ones_own_is_not_touched(at: Desk) -> None:
    at.file(".claude/commands/plan.md", "my plan\n")
    at.signoff("install", "claude").exits(0).shows("commands/plan.md` is your own; left")
    at.signoff("uninstall", "claude").exits(0)
    assert files_of(at.workspace) == {".claude/commands/plan.md": b"my plan\n"}


def test_without_signoff_on_the_path_the_commands_name_its_place(desk: Desk) -> None:
    desk.git().variable(PATH="/usr/bin:/bin")
    desk.signoff("install", "claude").exits(0)
    (command,) = commands(json.loads(desk.read(".claude/settings.json"))["hooks"])["Stop"]
    words = command.removesuffix(" hook claude stop").split(" ")
    assert words[0].startswith("/") and (
        words[0].endswith("/signoff") or words[1:] == ["-m", "signoff"]
    )
    # Later it is on the path: the entries follow, there are not two of each.
    desk.variable(PATH=f"{desk.tools}:/usr/bin:/bin").tool("signoff", "exit 0")
    desk.signoff("install", "claude").exits(0).shows("changed: ")
    found = commands(json.loads(desk.read(".claude/settings.json"))["hooks"])
    assert found["Stop"] == ["signoff hook claude stop"]
    assert json.loads(desk.read(".mcp.json"))["mcpServers"]["signoff"]["command"] == "signoff"


def test_machines_get_the_same_answer(at: Desk) -> None:
    at.file(".gemini/settings.json", "{}\n")
    body = at.signoff("install", "gemini", "--json").exits(0).json
    assert (body["schema_version"], body["client"], body["scope"]) == (1, "gemini", "project")
    assert body["changed"] is True and body["dry_run"] is False
    first = body["files"][0]
    assert first["path"].endswith(".gemini/settings.json") and first["outcome"] == "changed"
    assert first["backup"].endswith("-backup-1") and "+++" in first["diff"]
    assert any("folders you trust" in warning for warning in body["warnings"])
    again = at.signoff("install", "gemini", "--json").exits(0).json
    assert again["changed"] is False and again["files"] == []


def test_without_what_the_server_needs_nothing_is_installed(at: Desk) -> None:
    missing = at.folder / "missing"
    missing.mkdir()
    (missing / "sitecustomize.py").write_text("import sys\nsys.modules['mcp'] = None\n")
    environ = at.environment()
    environ["PYTHONPATH"] = f"{missing}:{environ['PYTHONPATH']}"
    done = subprocess.run(
        at.command(["install", "claude"]),
        cwd=at.workspace,
        env=environ,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 2 and "needs `mcp`; nothing was written" in done.stderr
    assert "next: " in done.stderr and "[mcp]" in done.stderr
    assert files_of(at.workspace) == {}


def test_codex_is_not_told_to_wait_longer_than_it_does(at: Desk) -> None:
    at.signoff("install", "codex").exits(0)
    (group,) = json.loads(at.read(".codex/hooks.json"))["hooks"]["SessionEnd"]
    assert group["hooks"][0]["timeout"] <= 3


@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_no_step_is_blamed_for_what_was_installed_since_the_approval(at: Desk, verb: str) -> None:
    if verb == "uninstall":
        at.signoff("install", "claude").exits(0)
    at.file(".claude/notes.md", "mine\n").agent("echo hello > hello.txt")
    hello = step("Say hello", "test -s hello.txt")
    at.plan(plan_text([hello], front=['touches: ["hello.txt"]']))
    at.about_plan("approve", "--yes").exits(0)
    at.signoff(verb, "claude").exits(0)
    at.run().exits(0).hides("other tools execute")


def test_a_step_that_changes_what_was_installed_is_told(at: Desk) -> None:
    at.agent("echo hello > hello.txt; echo '{}' > .claude/settings.json")
    at.plan(plan_text([step("Say hello", "test -s hello.txt")], front=['touches: ["hello.txt"]']))
    at.about_plan("approve", "--yes").exits(0)
    at.signoff("install", "claude").exits(0)
    at.run().exits(6).shows("other tools execute: .claude/settings.json")
    (item,) = at.inbox()
    assert "`touches`" in json.dumps(item) and ".mcp.json" not in json.dumps(item)
