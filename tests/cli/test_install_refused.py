"""`install` meets odd files, links, look-alikes and agents: it refuses or tells, and harms none."""

from __future__ import annotations

import json
import os

import pytest

from tests.cli.clientfiles import MINE, commands, files_of
from tests.cli.kit import Desk
from tests.cli.plans import step


@pytest.fixture
def at(desk: Desk) -> Desk:
    return desk.git().tool("signoff", "exit 0")


@pytest.mark.parametrize(
    ("file", "text", "fact"),
    [
        (".claude/settings.json", '{\n  "a": 1,\n  oops\n}\n', "settings.json:3`: a key in double"),
        (".claude/settings.json", "[]\n", "it is not an object"),
        (".claude/settings.json", '{"hooks": 3}', "`hooks` is not an object"),
        (".claude/settings.json", '{"hooks": {"Stop": {}}}', "`hooks.Stop` is not a list"),
        (".claude/settings.json", '{"hooks": {}, "hooks": {}}', "`hooks` is there twice"),
        (".claude/settings.json", '{"a": 1} x', "there is more after the end"),
        (".claude/settings.json", "[" * 5000, "nested more than"),
        (".claude/settings.json", '{"a": "\\x"}', "wrong escape"),
        (".mcp.json", '{"mcpServers": []}', "`mcpServers` is not an object"),
        (".mcp.json", "{", "a key in double quotes is missing"),
    ],
)
def test_what_cannot_be_read_is_refused_and_nothing_changes(
    at: Desk, file: str, text: str, fact: str
) -> None:
    at.file(file, text)
    at.signoff("install", "claude").fails(4, fact, hint=f"correct `DESK/work/{file}`")
    assert files_of(at.workspace) == {file: text.encode()}


@pytest.mark.parametrize("text", ["a = ", "mcp_servers = 3\n", "mcp_servers = {}\n"])
def test_toml_that_cannot_be_edited_safely_is_refused(at: Desk, text: str) -> None:
    at.file(".codex/config.toml", text)
    at.signoff("install", "codex").fails(4, ".codex/config.toml")
    assert files_of(at.workspace) == {".codex/config.toml": text.encode()}


def test_bytes_that_are_no_text_are_refused(at: Desk) -> None:
    at.file(".qwen/settings.json")
    (at.workspace / ".qwen/settings.json").write_bytes(b'{"a": "\xff"}')
    at.signoff("install", "qwen").fails(4, "is not UTF-8")


@pytest.mark.parametrize(
    "link", [".claude/settings.json", ".claude", ".mcp.json", ".claude/commands"]
)
def test_a_link_in_a_repository_is_not_followed(at: Desk, link: str) -> None:
    outside = at.folder / "outside"
    outside.mkdir()
    path = at.workspace / link
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(outside)
    at.signoff("install", "claude").fails(4, f"`DESK/work/{link}` is a symbolic link")
    assert list(outside.iterdir()) == []


def test_a_linked_file_in_the_home_is_refused_and_a_linked_folder_is_not(at: Desk) -> None:
    dotfiles, home = at.folder / "dotfiles", at.folder / "person"
    dotfiles.mkdir()
    (home / ".gemini").symlink_to(dotfiles)
    at.signoff("install", "gemini", "--user").exits(0)
    assert (dotfiles / "settings.json").is_file()
    (dotfiles / "real.json").write_text("{}")
    (dotfiles / "settings.json").unlink()
    (dotfiles / "settings.json").symlink_to("real.json")
    at.signoff("install", "gemini", "--user").fails(4, "is a symbolic link")
    assert (dotfiles / "real.json").read_text() == "{}"


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(at: Desk) -> None:
    (at.workspace / ".claude").mkdir()
    os.mkfifo(at.workspace / ".claude" / "settings.json")
    at.signoff("install", "claude").fails(4, "is a named pipe")


def test_a_read_only_file_or_folder_is_refused(at: Desk) -> None:
    at.file(".claude/settings.json", "{}")
    path = at.workspace / ".claude" / "settings.json"
    path.chmod(0o444)
    at.signoff("install", "claude").fails(4, "is read-only", hint="chmod u+w")
    path.chmod(0o644)
    path.parent.chmod(0o555)
    at.signoff("install", "claude").fails(4, "`DESK/work/.claude` is read-only", hint="chmod u+w")
    path.parent.chmod(0o755)
    assert files_of(at.workspace) == {".claude/settings.json": b"{}"}


def test_one_bad_file_leaves_all_of_them_as_they_were(at: Desk) -> None:
    at.file(".claude/settings.json", MINE).file(".mcp.json", "broken")
    at.signoff("install", "claude").fails(4, ".mcp.json")
    assert files_of(at.workspace) == {
        ".claude/settings.json": MINE.encode(),
        ".mcp.json": b"broken",
    }


def test_an_attempt_can_neither_install_nor_uninstall(at: Desk) -> None:
    at.signoff("install", "claude").exits(0)
    before = files_of(at.workspace)
    at.variable(SIGNOFF_ATTEMPT="r:1:1")
    at.signoff("uninstall", "claude").fails(2, "inside an attempt")
    at.signoff("install", "gemini").fails(2, "inside an attempt")
    assert files_of(at.workspace) == before


def test_an_agent_that_hides_where_it_comes_from_is_refused_too(at: Desk) -> None:
    at.signoff("install", "claude").exits(0)
    real = " ".join(at.command(("uninstall", "claude")))
    at.agent(f"env -u SIGNOFF_ATTEMPT {real}; echo hello > hello.txt", env=["PYTHONPATH"])
    at.plan(step("Say hello", "grep -q hello hello.txt")).run("--yes").exits(0)
    assert "signoff hook claude stop" in at.read(".claude/settings.json")


@pytest.mark.parametrize(
    "fake",
    [
        "true # signoff hook claude stop",
        "echo signoff hook claude stop",
        "signoff hook claude stop || true",
        "signoff hook claude stop > /dev/null",
        "signoff hook gemini stop",
        "/tmp/x/signoffx hook claude stop",
    ],
)
def test_a_hook_that_only_looks_like_ours_does_not_count_as_one(at: Desk, fake: str) -> None:
    group = {"hooks": [{"type": "command", "command": fake}]}
    at.file(".claude/settings.json", json.dumps({"hooks": {"Stop": [group]}}))
    at.signoff("install", "claude").exits(0)
    found = commands(json.loads(at.read(".claude/settings.json"))["hooks"])["Stop"]
    assert found == [fake, "signoff hook claude stop"]
    at.signoff("uninstall", "claude").exits(0)
    assert json.loads(at.read(".claude/settings.json")) == {"hooks": {"Stop": [group]}}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"timeout": 300', '"timeout": 1', "`Stop` is not as install writes it (`timeout`)"),
        ('"timeout": 300', '"timeout": 300, "async": true', "(`async`)"),
        (
            '{\n  "hooks": {',
            '{\n  "disableAllHooks": true, "hooks": {',
            "`disableAllHooks` is true",
        ),
        ('"PreToolUse": [\n      {', '"PreToolUse": [\n      {"matcher": "X",', "(`matcher`)"),
        ('"Stop": [', '"StopFailure": [', "the hook for stop is under `StopFailure`"),
    ],
)
def test_what_makes_our_hooks_harmless_is_told(at: Desk, old: str, new: str, told: str) -> None:
    at.signoff("install", "claude").exits(0)
    text = at.read(".claude/settings.json")
    assert old in text
    at.file(".claude/settings.json", text.replace(old, new))
    at.signoff("install", "claude").exits(0).shows(told)
    at.signoff("uninstall", "claude").exits(0)
    assert "signoff hook" not in at.read(".claude/settings.json")


def test_switched_off_hooks_of_other_clients_are_told(at: Desk) -> None:
    at.file(".gemini/settings.json", '{"hooksConfig": {"enabled": false}}')
    at.signoff("install", "gemini").exits(0).shows("`hooksConfig.enabled` is false")
    at.file(".codex/config.toml", "[features]\nhooks = false\n")
    at.signoff("install", "codex").exits(0).shows("`features.hooks` is false")


def test_a_server_of_our_name_that_is_not_ours_stays(at: Desk) -> None:
    fake = {"mcpServers": {"signoff": {"command": "evil", "args": ["mcp"]}}}
    at.file(".mcp.json", json.dumps(fake))
    told = "`mcpServers.signoff` is an entry of your own; left as it is"
    at.signoff("install", "claude").exits(0).shows(told)
    at.signoff("uninstall", "claude").exits(0).shows("was changed or is your own")
    assert json.loads(at.read(".mcp.json")) == fake
    at.file(".codex/config.toml", '[mcp_servers.signoff]\ncommand = "evil"\n')
    at.signoff("install", "codex").exits(0).shows("`mcp_servers.signoff` is not as install writes")
    assert at.read(".codex/config.toml") == '[mcp_servers.signoff]\ncommand = "evil"\n'


def test_a_block_of_toml_that_somebody_wrote_into_stays_and_is_named(at: Desk) -> None:
    at.signoff("install", "codex").exits(0)
    text = at.read(".codex/config.toml").replace('["mcp"]', '["mcp"]\nenv = {A = "1"}')
    at.file(".codex/config.toml", text)
    at.signoff("uninstall", "codex").exits(0).shows("`mcp_servers.signoff` was changed")
    assert at.read(".codex/config.toml") == text


def test_a_planted_backup_does_not_bring_back_what_it_likes(at: Desk) -> None:
    at.file(".claude/settings.json", "{}\n")
    at.signoff("install", "claude").exits(0)
    planted = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "evil"}]}]}}'
    at.file(".claude/settings.json.signoff-backup-9", planted)
    at.signoff("uninstall", "claude").exits(0)
    assert at.read(".claude/settings.json") == "{}\n"


def test_a_signoff_inside_the_project_is_told(desk: Desk) -> None:
    bin_folder = desk.git().workspace / ".venv" / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "signoff").write_text("#!/bin/sh\n")
    (bin_folder / "signoff").chmod(0o755)
    desk.variable(PATH=f"{bin_folder}:/usr/bin:/bin")
    desk.signoff("install", "claude").exits(0).shows("lies in the project, where an agent can")


def test_without_a_home_there_is_nowhere_to_install_for_a_user(at: Desk) -> None:
    at.variable(HOME="")
    at.signoff("install", "claude", "--user").fails(2, "`HOME` is not set", hint="--project")


def test_a_file_that_is_far_too_large_is_refused_with_what_helps(at: Desk) -> None:
    at.file(".claude/settings.json", " " * 30_000_000)
    refused = at.signoff("install", "claude").fails(4, "the limit is", hint="look at")
    refused.hides("smaller plans")


def test_both_places_at_once_are_refused(at: Desk) -> None:
    for verb in ("install", "uninstall"):
        at.signoff(verb, "claude", "--user", "--project").fails(2, "do not go together")


def test_a_client_that_nobody_knows_is_refused(at: Desk) -> None:
    at.signoff("install", "emacs").fails(2, "emacs", hint="signoff install --help")
