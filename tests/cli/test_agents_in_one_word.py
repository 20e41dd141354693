"""`--agent claude`, `agent = "claude"`: a client that speaks as the real one does, its budget."""

from __future__ import annotations

import json

import pytest

from tests.cli.kit import Desk
from tests.cli.plans import step
from tests.cli.vaults import git

GROUND = step("Lay the ground", "grep -qx firm ground", on_fail="escalate")


def message(number: int, tokens: int) -> str:
    used = {"input_tokens": tokens, "output_tokens": 0}
    said = {"id": f"m{number}", "model": "claude-sonnet-4-5", "content": [], "usage": used}
    return json.dumps({"type": "assistant", "message": said})


def result(**parts: object) -> str:
    return json.dumps({"type": "result", "is_error": False, "result": "All done.", **parts})


def client(desk: Desk, script: str, name: str = "claude") -> Desk:
    """A program in the client's place; what it was given is kept beside it."""
    kept = desk.folder / "given"
    keep = f'echo "$0 $@" > {kept}; env > {kept}.env; cat > {kept}.prompt\n'
    return desk.tool(name, keep + script).variable(ANTHROPIC_API_KEY="key-of-ada").plan(GROUND)


def test_one_word_is_enough_and_the_cost_is_shown(desk: Desk) -> None:
    used = result(total_cost_usd=0.5, modelUsage={"m": {"inputTokens": 900, "outputTokens": 100}})
    client(desk, f"echo firm > ground; echo '{message(1, 900)}'; echo '{used}'")
    desk.run("--yes", "--agent", "claude", "--model", "opus").exits(0)
    words = (desk.folder / "given").read_text().split()
    assert words[1:] == [
        *("-p", "--output-format", "stream-json", "--verbose"),
        *("--dangerously-skip-permissions", "--model", "opus"),
    ]
    assert "ANTHROPIC_API_KEY=key-of-ada" in (desk.folder / "given.env").read_text()
    assert "Lay the ground" in (desk.folder / "given.prompt").read_text()
    spent = desk.about_plan("status", "--json").exits(0).json["spent"]
    assert (spent["tokens"], spent["usd"]) == (1000, 0.5)
    (ended,) = [e["data"] for e in desk.log() if e["kind"] == "attempt.finished"]
    assert ended["output_tail"] == "All done."


def test_a_role_names_its_agent_and_the_command_is_pinned_as_it_runs(desk: Desk) -> None:
    client(desk, f"echo firm > ground; echo '{result()}'")
    desk.file("signoff.toml", '[roles.coder]\nagent = "claude"\n')
    desk.about_plan("approve", "--yes").exits(0).shows("claude -p --output-format stream-json")
    desk.run().exits(0)


def test_an_unknown_agent_starts_nobody(desk: Desk) -> None:
    desk.plan(GROUND)
    desk.run("--yes", "--agent", "cluade").exits(4).shows("did you mean `claude`?")


def test_a_client_that_is_not_installed_is_told_with_how_to_get_it(desk: Desk) -> None:
    desk.plan(GROUND).variable(PATH="/usr/bin:/bin")
    ended = desk.run("--yes", "--agent", "codex").exits(4)
    ended.shows("npm install -g @openai/codex")


def test_a_client_that_is_not_logged_in_is_not_started(desk: Desk) -> None:
    client(desk, "exit 1")
    del desk.variables["ANTHROPIC_API_KEY"]
    desk.run("--yes", "--agent", "claude").exits(4).shows("`claude` is not logged in")
    assert not (desk.folder / "given").exists()


def test_an_attempt_ends_when_the_budget_is_used_up(desk: Desk) -> None:
    """It would work for ever: the budget ends it, not the step's timeout."""
    client(desk, f"echo '{message(1, 400)}'; echo '{message(2, 700)}'; sleep 600")
    desk.plan(GROUND, budget="1000 tokens")
    desk.run("--yes", "--agent", "claude").exits(6)
    (ended,) = [e["data"] for e in desk.log() if e["kind"] == "attempt.finished"]
    assert ended["ending"] == "over-budget"
    assert ended["why"] == "the budget was used up: 1,100 tokens, of 1,000 that were left"
    assert ended["usage"]["tokens"] == 1100
    assert desk.about_plan("status", "--json").json["spent"]["tokens"] == 1100


def test_a_budget_in_dollars_is_kept_by_the_price_of_the_model(desk: Desk) -> None:
    client(desk, f"echo '{message(1, 500_000)}'; sleep 600")
    desk.plan(GROUND, budget="$1.00")
    desk.run("--yes", "--agent", "claude").exits(6)
    (ended,) = [e["data"] for e in desk.log() if e["kind"] == "attempt.finished"]
    assert (ended["ending"], ended["usage"]["usd"]) == ("over-budget", 1.5)


def test_a_report_that_grows_while_a_command_works_ends_it_too(desk: Desk) -> None:
    tell = """echo '{"tokens": 5000}' > "$SIGNOFF_USAGE_FILE"; sleep 600"""
    desk.agent(tell, reports_usage=True).plan(GROUND, budget="1000 tokens")
    desk.run("--yes").exits(6)
    (ended,) = [e["data"] for e in desk.log() if e["kind"] == "attempt.finished"]
    assert ended["ending"] == "over-budget"


def test_what_nobody_told_is_unknown_and_never_nothing(desk: Desk) -> None:
    desk.agent("echo firm > ground").plan(GROUND, budget="1000 tokens, $5")
    found = desk.about_plan("verify", "--json").exits(0).json["findings"]
    assert [f["message"] for f in found] == [
        "this budget cannot be enforced for `coder`: nothing tells what its command uses"
    ]
    desk.run("--yes").exits(0)
    shown = desk.about_plan("status").exits(0)
    shown.shows("tokens and dollars unknown (no usage reported)")
    spent = desk.about_plan("status", "--json").json["spent"]
    assert (spent["tokens"], spent["usd"]) == (None, None)


@pytest.mark.parametrize("there", [True, False])
def test_init_finds_agents_and_never_overwrites(desk: Desk, there: bool) -> None:
    desk.tool("codex", "exit 0").tool("claude", "exit 0").variable(ANTHROPIC_API_KEY="k")
    if there:
        desk.file("signoff.toml", "# mine\n")
    desk.signoff("init").exits(0)
    text = desk.read("signoff.toml")
    if there:
        assert text == "# mine\n"
    else:
        assert '[roles.coder]\nagent = "claude"   # found on this machine; so are: codex' in text
        desk.signoff("verify").exits(0)


@pytest.mark.parametrize(
    ("agent", "isolation", "line"),
    [
        ("qwen", "landlock", 'writable = ["/dev/ptmx"]'),
        ("aider", "landlock", 'writable = [".git"]'),
        ("aider", "namespaces", 'writable = [".git"]'),
    ],
)
def test_a_place_that_the_sandbox_denies_a_known_agent_is_named_before_anybody_is_paid(
    desk: Desk, agent: str, isolation: str, line: str
) -> None:
    client(desk, "exit 1", agent).git().file(
        "signoff.toml", f'[roles.coder]\nagent = "{agent}"\n'
    ).person(f'[sandbox]\nisolation = "{isolation}"\n')
    desk.variable(OPENAI_API_KEY="key-of-ada")
    desk.about_plan("verify").exits(0).shows(line, "[role-place-denied]")
    desk.about_plan("approve", "--yes").exits(0).shows(line)
    desk.signoff("doctor").shows(line)
    places = '"/dev/ptmx", "/dev/pts", ".git"'
    desk.person(f'[sandbox]\nisolation = "{isolation}"\nwritable = [{places}]\n')
    desk.about_plan("verify").exits(0).hides("role-place-denied")


def test_in_a_linked_worktree_the_place_is_that_of_the_main_checkout(desk: Desk) -> None:
    client(desk, "exit 1", "aider").git().variable(OPENAI_API_KEY="key-of-ada")
    desk.file("signoff.toml", '[roles.coder]\nagent = "aider"\n')
    desk.person('[sandbox]\nisolation = "landlock"\n')
    beside = desk.folder / "beside"
    git(desk, "add", "-A")
    git(desk, "commit", "-qm", "all")
    git(desk, "worktree", "add", "-q", str(beside))
    line = 'writable = ["DESK/work/.git"]'
    desk.signoff("verify", "PLAN.md", cwd=beside).exits(0).shows("role-place-denied", line)


def test_the_loop_without_a_model_is_answered_with_a_line_to_paste(desk: Desk) -> None:
    desk.agent("true").plan(GROUND)
    line = "signoff run --agent loop --model PROVIDER:NAME"
    desk.run("--yes", "--agent", "loop").fails(2, "`--agent loop` names no model", hint=line)
    desk.about_plan("approve", "--yes", "--agent", "loop").fails(2, "`--agent loop`", hint=line)
    role = desk.run("--yes", "--role", "coder=agent:loop")
    role.fails(4, "`--role coder=agent:loop`", hint="--role coder='agent:loop PROVIDER:NAME'")
