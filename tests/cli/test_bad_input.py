"""Bad plans and bad words on the command line: a clear error, an exit code, nothing lost."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.kit import Desk
from tests.cli.plans import plan_text, step

GROUND = step("Lay the ground", "grep -qx firm ground")
HUNDRED_MB = 100 * 1024 * 1024


def _alias_bomb(path: Path) -> None:
    lines = ["---", "type: plan", 'a0: &a0 ["lol"]']
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    path.write_text("\n".join([*lines, "---", "", plan_text([GROUND]).partition("---\n\n")[2]]))


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(HUNDRED_MB)


BAD_PLANS: dict[str, tuple[Callable[[Path], object], str]] = {
    "none": (lambda _: None, "no plan at `DESK/work/PLAN.md`"),
    "binary": (lambda path: path.write_bytes(b"\x7fELF\x02\x01\x01\x00\x00"), "NUL byte"),
    "latin-1": (lambda path: path.write_bytes("# Gr\u00fcn\n".encode("latin-1")), "is not UTF-8"),
    "huge": (_sparse, f"has {HUNDRED_MB} bytes, the limit is"),
    "folder": (lambda path: path.mkdir(), "a folder"),
    "pipe": (os.mkfifo, "a named pipe"),
    "dangling link": (lambda path: path.symlink_to("nowhere.md"), "nowhere.md"),
    "link to itself": (lambda path: path.symlink_to("PLAN.md"), "PLAN.md"),
    "link to a device": (lambda path: path.symlink_to("/dev/zero"), "a device"),
}


@pytest.mark.parametrize("kind", BAD_PLANS)
def test_what_is_no_readable_plan_is_a_clear_error_for_every_verb(desk: Desk, kind: str) -> None:
    make, fact = BAD_PLANS[kind]
    desk.agent("true")
    make(desk.plan_path)
    for verb in (("verify",), ("run", "--yes")):
        desk.about_plan(*verb).fails(4, fact)
    assert desk.attempts() == []


BAD_TEXTS = {
    "empty": ("", "the plan is empty"),
    "no steps": ("# A house\n\nIt would be nice.\n", "no steps"),
    "empty steps": ("# A house\n\n## Steps\n", "no steps"),
}


@pytest.mark.parametrize("kind", BAD_TEXTS)
def test_a_plan_without_steps_is_invalid_and_never_done(desk: Desk, kind: str) -> None:
    text, fact = BAD_TEXTS[kind]
    desk.agent("true").plan(text)
    desk.about_plan("verify").exits(4).shows(fact)
    desk.run("--yes").fails(4, fact)
    assert desk.read("PLAN.md") == text


def test_a_frontmatter_that_explodes_is_refused_at_once(desk: Desk) -> None:
    desk.agent("true")
    _alias_bomb(desk.plan_path)
    desk.about_plan("verify").exits(4).shows("the frontmatter cannot be read")
    desk.run("--yes").fails(4, "the frontmatter cannot be read")


def test_a_link_to_a_plan_is_the_plan_it_points_to(desk: Desk) -> None:
    desk.agent("echo firm > ground").plan(GROUND)
    (desk.workspace / "LINK.md").symlink_to("PLAN.md")
    desk.signoff("run", "LINK.md", "--yes").exits(0)
    assert (desk.workspace / "LINK.md").is_symlink() and "status: done" in desk.read("PLAN.md")
    desk.run().exits(0).shows("already signed off")


def test_a_role_that_nobody_has_is_named(desk: Desk) -> None:
    desk.plan(GROUND).about_plan("verify").exits(4).shows(
        "`coder`", "[unknown-role]", "--agent claude"
    )
    desk.run("--yes").fails(4, "goes to `coder`")


def test_a_role_that_vanished_after_approval_is_named(desk: Desk) -> None:
    desk.agent("echo firm > ground").plan(GROUND)
    desk.about_plan("approve", "--yes").exits(0)
    desk.run("--role", "coder=no-such-agent --fast").fails(
        4, "role `coder`: command `no-such-agent` was not found", hint="--role coder="
    )
    assert "run.started" not in desk.kinds()
    desk.run().exits(0)


def test_an_agent_that_is_no_program_is_a_refused_attempt_and_no_crash(desk: Desk) -> None:
    broken = desk.tools / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    desk.plan(step("Lay the ground", "test -s ground", on_fail="escalate"))
    desk.run("--yes", "--role", "coder=broken").exits(6).shows("is broken after 1 attempt")
    assert desk.entries("attempt.finished")[0]["data"]["ending"] != "exited"


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        (["runn", "PLAN.md"], "no such verb `runn` (did you mean `run`?)"),
        (["run", "--frobnicate"], "--frobnicate"),
        (["run", "PLAN.md", "--role", "coder"], "is not NAME='COMMAND'"),
        (["answer", "x"], "`CHOICE` is missing"),
        (["answer", "x", "maybe"], "`CHOICE`: `maybe` is not one of `retry`"),
        (["run", "PLAN.md", "--stric"], "no such option `--stric` (did you mean `--strict`?)"),
        (["run", "--jobs", "0", "--all"], "`--jobs`: 0 is not in the range"),
        (["stauts"], "(did you mean `status`?)"),
        (["diff", "PLAN.md", "--attempt", "1"], "--attempt needs the step"),
        (["verify", ""], "the plan's name is empty"),
        (["log", "PLAN.md", "--after", "soon"], "not a valid integer"),
    ],
)
def test_wrong_words_are_wrong_usage(desk: Desk, arguments: list[str], fact: str) -> None:
    desk.plan(GROUND).signoff(*arguments).fails(2, fact)


def test_a_plan_that_is_nowhere_leads_to_what_helps(desk: Desk) -> None:
    desk.signoff("run", "nope.md").fails(4, "no plan at", hint="signoff init, or name a file")
    desk.signoff("status", "/").fails(4, "`/` is a folder, not a plan", hint="name a file")
    desk.file(".harness/PLAN.md", "# A plan\n")
    desk.signoff("run", "nope.md").fails(4, "no plan at", hint="signoff list-plans")


def test_a_failure_is_machine_readable_when_asked(desk: Desk) -> None:
    for arguments in (("--json", "status", "NO.md"), ("status", "NO.md", "--json")):
        failure = desk.signoff(*arguments).exits(4).failure
        assert failure["code"] == "plan-not-found" and failure["exit_code"] == 4
        assert "NO.md" in failure["message"] and failure["hint"]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("[roles", "is not valid TOML"),
        ("[rolls.coder]\ncommand='x'\n", "unknown key `rolls`"),
        ("[roles.coder]\ncommand=''\n", "has no `command`"),
        ("[roles.human]\ncommand='x'\n", "`human` is built in"),
        ("[roles.coder]\ncommand='unclosed \"quote'\n", "is not a command line"),
        ("database = 'sqlite:////tmp/x'\n", "belongs in the user's file"),
    ],
)
def test_a_bad_configuration_is_named_and_nothing_runs(desk: Desk, text: str, fact: str) -> None:
    desk.file("signoff.toml", text).plan(GROUND).run("--yes").fails(
        4, "signoff.toml" if "line" not in fact else "role", fact
    )


def test_a_workspace_that_is_missing_is_named(desk: Desk) -> None:
    desk.agent("true").plan(GROUND)
    desk.run("--yes", "--workspace", "nowhere").fails(3, "the workspace `DESK/work/nowhere`")
    desk.file("a-file").run("--yes", "--workspace", "a-file").fails(3, "is not a folder")


def test_a_plan_is_run_in_the_workspace_it_was_approved_for(desk: Desk) -> None:
    desk.agent("true").plan(GROUND)
    desk.about_plan("approve", "--yes").exits(0)
    other = desk.folder / "other"
    other.mkdir()
    role = "coder=true"
    desk.run("--workspace", str(other), "--role", role).fails(
        2, "was approved for `DESK/work`, not for `DESK/other`"
    )


def test_a_home_inside_the_workspace_is_refused(desk: Desk) -> None:
    desk.agent("true").plan(GROUND)
    desk.variable(SIGNOFF_HOME=str(desk.workspace / "state"))
    desk.run("--yes").fails(4, "lies inside the workspace", hint="SIGNOFF_HOME")
    desk.variable(SIGNOFF_HOME="relative/home")
    desk.run("--yes").fails(4, "SIGNOFF_HOME is `relative/home`")


def test_a_name_that_is_a_path_out_of_the_vault_is_no_plan(desk: Desk) -> None:
    desk.signoff("status", "no-such-plan").fails(4, "no vault at", hint="signoff init")
    desk.signoff("status").fails(4, "no plan at `DESK/work/.harness/PLAN.md`")
