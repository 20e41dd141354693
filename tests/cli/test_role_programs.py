"""Who does the work can be started: a program of the machine, or a script of the workspace."""

from __future__ import annotations

import json

import pytest

from tests.cli.kit import Desk
from tests.cli.plans import step

GROUND = step("Lay the ground", "grep -qx firm ground", on_fail="escalate")
SCRIPT = "#!/bin/sh\ncat > /dev/null\necho firm > ground\n"


def role(desk: Desk, command: str, *lines: str) -> Desk:
    text = "\n".join(["[roles.coder]", f"command = {json.dumps(command)}", *lines, ""])
    return desk.file("signoff.toml", text).plan(GROUND)


def script(desk: Desk, path: str, mode: int = 0o755) -> Desk:
    desk.file(path, SCRIPT)
    (desk.workspace / path).chmod(mode)
    return desk


@pytest.mark.parametrize(
    ("path", "command"),
    [
        ("agent.sh", "./agent.sh"),
        ("tools/agent.sh", "tools/agent.sh --now"),
        ("../rd/agent.sh", "../rd/agent.sh"),
    ],
)
def test_a_script_is_named_by_its_path_from_the_workspace(
    desk: Desk, path: str, command: str
) -> None:
    role(script(desk, path), command)
    desk.about_plan("verify").exits(0).shows("no findings")
    desk.about_plan("approve", "--yes").exits(0)
    desk.signoff("run", "work/PLAN.md", "--workspace", "work", cwd=desk.folder).exits(0)
    assert desk.read("ground") == "firm\n"


def test_a_script_of_the_workspace_works_in_a_sandbox(desk: Desk) -> None:
    desk.person("[sandbox]\nisolation = 'auto'\n")
    role(script(desk, "tools/agent.sh"), "tools/agent.sh").run("--yes").exits(0)


def test_a_bare_name_of_a_script_in_the_workspace_is_told_how_to_be_written(desk: Desk) -> None:
    role(script(desk, "agent.sh"), "agent.sh")
    verified = desk.about_plan("verify").exits(0).shows("[role-program-missing]")
    verified.shows("hint: write ./agent.sh for the file of the workspace")
    desk.run("--yes").fails(
        4, "`agent.sh` was not found on the search path", hint="write ./agent.sh"
    )


def test_a_script_that_nobody_may_execute_is_told_how_to_be_mended(desk: Desk) -> None:
    role(script(desk, "agent.sh", 0o644), "./agent.sh")
    desk.about_plan("verify").exits(0).shows("`./agent.sh` is not executable", "chmod +x ")
    desk.run("--yes").fails(4, "`./agent.sh` is not executable", hint="chmod +x")


def test_a_missing_program_is_a_warning_before_anything_runs(desk: Desk) -> None:
    role(desk, "no-such-agent -p")
    found = desk.about_plan("verify", "--json").exits(0).json["findings"]
    (finding,) = found
    assert (finding["code"], finding["severity"]) == ("role-program-missing", "warning")
    assert finding["text"] == "**target:** coder"
    desk.about_plan("approve", "--yes").exits(0).shows("command `no-such-agent` was not found")
    desk.run().fails(4, "command `no-such-agent` was not found")


def test_a_role_without_steps_is_nobodys_trouble(desk: Desk) -> None:
    role(script(desk, "agent.sh"), "./agent.sh", "[roles.critic]", "command = 'no-such-critic'")
    desk.about_plan("verify").exits(0).shows("no findings")


def test_a_variable_that_is_set_nowhere_is_a_warning(desk: Desk) -> None:
    role(script(desk, "agent.sh"), "./agent.sh", 'env = ["HERE", "NOT_SET_ANYWHERE"]')
    desk.variable(HERE="1")
    desk.about_plan("verify").exits(0).shows(
        "role `coder` asks for the variable `NOT_SET_ANYWHERE`, which is not set here",
        "[role-variable-unset]",
        "1 warning",
    )


def test_the_key_that_the_built_in_loop_looks_for_is_no_trouble(desk: Desk) -> None:
    desk.file("signoff.toml", '[roles.coder]\nagent = "loop"\nmodel = "local:model"\n').plan(GROUND)
    desk.about_plan("verify").exits(0).shows("no findings")


@pytest.mark.parametrize(
    ("command", "sign"),
    [
        ("cat | nosuch", "|"),
        ("cat > out", ">"),
        ("cat 2>&1", "2>&1"),
        ("cat; true", ";"),
        ("cat && true", "&&"),
        ("cat $HOME/x", "$"),
    ],
)
def test_what_only_a_shell_understands_is_a_warning(desk: Desk, command: str, sign: str) -> None:
    role(desk, command).about_plan("verify").exits(0).shows(
        f"no shell runs the command, so `{sign}` is an ordinary word in it",
        "[role-shell-syntax]",
        "hint: wrap it: sh -c '…'",
    )


@pytest.mark.parametrize("command", ["sh -c 'cat | sort > x; $Y'", 'sh -c "a && b"', "echo a\\;b"])
def test_quoted_words_are_no_shell_syntax(desk: Desk, command: str) -> None:
    role(desk, command).about_plan("verify").exits(0).shows("no findings")


def test_quotes_that_do_not_close_are_an_error_of_the_command(desk: Desk) -> None:
    role(desk, "sh -c 'unclosed").about_plan("verify").exits(4).shows(
        "[role-command-unreadable]", "correct `command` under [roles.coder]"
    )
    told = desk.run("--yes", "--role", "coder='unbalanced")
    told.fails(2, "`--role`: `'unbalanced` is not a command line: no closing quotation")


def test_a_command_written_as_a_list_is_told_as_a_line(desk: Desk) -> None:
    desk.file("signoff.toml", '[roles.coder]\ncommand = ["sh", "-c", "a b"]\n').plan(GROUND)
    desk.about_plan("verify").fails(
        4, "`command` is a list, and must be one command line", hint="command = \"sh -c 'a b'\""
    )
    desk.file("signoff.toml", "[roles.coder]\ncommand = 7\n")
    desk.about_plan("verify").fails(
        4, "must be a text with a command line", hint='agent = "claude"'
    )
