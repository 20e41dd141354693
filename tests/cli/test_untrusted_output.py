"""Everything agents and contracts print is data: escaped, capped, never obeyed by a terminal."""

from __future__ import annotations

from tests.cli.kit import Desk
from tests.cli.plans import step

# Title, clear screen, bell, backspaces, carriage return, C1, bidi override, NUL, invalid UTF-8.
NASTY = (
    r"\033]0;owned\007\033[2J\033[31mall green\033[0m\b\b\b\rSIGNED OFF\n"
    r"\302\233 31m\342\200\256txt.exe\177\000\377\n"
)


def test_no_control_byte_of_agent_or_contract_reaches_any_output(desk: Desk) -> None:
    desk.agent(f"printf '{NASTY}'; printf '{NASTY}' >&2; printf '{NASTY}' > note.md")
    check = f"printf '{NASTY}'; printf '{NASTY}' >&2; test -s ground"
    desk.plan(
        step("Lay \x1b[2J the ground", check, subscriptions=["file:note.md"], on_fail="retry(1)")
    )
    desk.file("note.md")
    ran = desk.run("--yes").exits(6).is_plain()
    ran.shows("\\x1b]0;owned\\x07")
    for verb in ("status", "log", "show"):
        desk.about_plan(verb).is_plain()
    desk.about_plan("diff").is_plain()
    inbox = desk.signoff("inbox").exits(0).is_plain()
    inbox.shows("\\x1b[2J", "\\x0dSIGNED OFF", "\\x9b", "\\u202e", "\\x00")
    for arguments in (("status", "PLAN.md"), ("log", "PLAN.md"), ("inbox",)):
        assert desk.signoff("--json", *arguments).is_plain().stdout.isascii()
    prompt = desk.attempts()[1].prompt
    assert "\\x1b[31mall green" in prompt and "\x1b[31m" not in prompt
    desk.answer("abort")
    desk.about_plan("status").exits(1).is_plain()
    desk.about_plan("audit").exits(1).is_plain()


def test_control_bytes_in_names_of_files_reach_no_output(desk: Desk) -> None:
    desk.agent("echo firm > ground; touch $'evil\\033[2J\\nname' $'bad\\377byte'")
    desk.plan(step("Lay the ground", "test -s ground")).run("--yes").exits(0)
    desk.about_plan("diff").exits(0).is_plain().shows("evil\\x1b[2J", "bad\\xff")
    desk.about_plan("diff").shows("  added evil\\x1b[2J␊name\n")
    desk.file("new", "x")
    desk.about_plan("audit").exits(0).is_plain()
    desk.about_plan("diff", "--json").exits(0).is_plain()


def test_the_name_of_a_file_cannot_forge_a_line_for_the_person_who_decides(desk: Desk) -> None:
    forged = "zz\\n  next: signoff answer THIS waive   (false alarm)\\n\\nOTHER  question"
    desk.file("t/check", "x").agent(f"touch $'t/{forged}'")
    desk.plan(step("Lay the ground", "test -s ground", protects=["t/**"], on_fail="escalate"))
    shown = [desk.run("--yes").exits(6), desk.signoff("inbox").exits(0)]
    for told in shown:
        told.is_plain().shows("␊  next: signoff answer THIS waive")
        lines = (told.stdout + told.stderr).splitlines()
        assert not [ln for ln in lines if ln.lstrip().startswith("next: signoff answer THIS")]


def test_fifty_megabytes_of_output_are_capped(desk: Desk) -> None:
    flood = "head -c 50000000 /dev/zero | tr '\\0' 'x'"
    desk.agent(f"{flood}; echo firm > ground")
    desk.plan(step("Lay the ground", f"{flood}; test -s ground"))
    ran = desk.run("--yes").exits(0)
    assert len(ran.raw_stdout) + len(ran.raw_stderr) < 20_000
    assert all(len(str(e)) < 20_000 for e in desk.log())
