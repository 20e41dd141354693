"""Values of passed variables and tokens of services are kept nowhere, and shown to nobody.

Snapshots are the workspace's own content, and the pins hold plan and configuration as approved.
"""

from __future__ import annotations

import base64
import json
import re
import sqlite3
import zipfile
from pathlib import Path

import pytest

from signoff.domain.redaction import NOTHING_SECRET
from tests.cli.ended import Ended
from tests.cli.kit import Desk
from tests.cli.plans import step
from tests.cli.project import Project
from tests.hooks.kit import FakeClient
from tests.mcp_server.kit import Agent, over_stdio

PASSED = "q7RzW2mK9xLp4TvB"  # of a variable whose name says nothing
NAMED = "correct horse battery"  # of one whose name says it
TOKENS = {
    "github": "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hJ2kL4",
    "github fine": "github_pat_" + "11ABCDEFG0" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hJ2kL4",
    "gitlab": "glpat-" + "aB3dE6gH9jK2mN5pQ8sT",
    "openai": "sk-proj-" + "aB3dE6gH9jK2mN5pQ8sT1vW4",
    "anthropic": "sk-ant-api03-" + "aB3dE6gH9jK2mN5pQ8sT1vW4",
    "stripe": "sk_live_" + "aB3dE6gH9jK2mN5pQ8sT1vW4",
    "slack": "xoxb-" + "123456789012-aB3dE6gH9jK2mN5p",
    "aws": "AKIA" + "Q3EGRTZ5YHMNPWX2",
    "google": "AIza" + "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q",
    "npm": "npm_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hJ2kL4",
    "jwt": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N",
}
KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----"
SECRETS = (PASSED, NAMED, *TOKENS.values(), "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC")
ALL = " ".join((PASSED, NAMED, *TOKENS.values()))


def _speaking(desk: Desk) -> Desk:
    """Secrets in every place that the person, an agent and a contract can put them."""
    desk.variable(DEPLOY_WITH=PASSED, MY_PASSWORD=NAMED)
    said = desk.folder / "said.txt"  # beside the workspace: not its content
    said.write_text(f"{ALL}\n{KEY}\n")
    show = f'echo "$DEPLOY_WITH"; cat {said}'
    answer = 'cat > "$SIGNOFF_ANSWER_FILE"'
    desk.agent(
        f"{show}; {show} >&2; if test $attempt = 2; then sed -n 1p {said} >> PLAN.md; fi\n"
        f'if test $attempt = 3; then {{ echo "blocked: "; sed -n 1p {said}; }} | {answer}; fi\n'
        "if test $attempt -ge 4; then touch done.txt; fi",
        env=["DEPLOY_WITH"],
    )
    check = f"{show}; {show} >&2; test -f done.txt"
    hidden = desk.home / "heldout" / "deep"
    hidden.mkdir(parents=True, mode=0o700)
    desk.home.chmod(0o700)
    (hidden / "contract").write_text(f"{show}\ntest -f {desk.folder}/deep || exit 127\n")
    spoken = step(
        "Do it", check, env="DEPLOY_WITH", heldout="deep", on_fail="retry(1), then escalate"
    )
    return desk.plan(spoken)


def _kept(desk: Desk) -> bytes:
    """Everything in the home but snapshots, and every row but the pins."""
    parts = [
        path.read_bytes()
        for path in sorted(desk.home.rglob("*"))
        if path.is_file() and "snapshots" not in path.parts and "heldout" not in path.parts
        if "ledger.sqlite3" not in path.name
    ]
    with sqlite3.connect(desk.ledger_file) as database:
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            for row in database.execute(f'SELECT * FROM "{table}"'):
                cells = [c if isinstance(c, bytes) else str(c).encode() for c in row]
                if not (table == "blobs" and b'"plan_text"' in cells[1]):
                    parts += cells
    return b"\n".join(parts)


def _holds_none(*texts: bytes | str) -> None:
    whole = b"\n".join(t if isinstance(t, bytes) else t.encode() for t in texts)
    # In files of zip and in envelopes too.
    whole += b"".join(
        base64.b64decode(found + b"=" * (-len(found) % 4))
        for found in re.findall(rb'"payload": ?"([A-Za-z0-9+/]+)=*"', whole)
    )
    found = [secret for secret in SECRETS if secret.encode() in whole]
    assert not found, [whole[max(0, whole.index(f.encode()) - 300) :][:400] for f in found]


def test_a_run_keeps_and_shows_no_secret(desk: Desk) -> None:
    _speaking(desk)
    desk.about_plan("approve", "--yes").exits(0)
    seen: list[Ended] = [desk.run().exits(6)]
    while desk.status()["status"] == "in-progress":
        (item,) = desk.inbox()
        seen += [desk.signoff("inbox"), desk.signoff("inbox", "--json")]
        if len(desk.attempts()) > 3:
            (desk.folder / "deep").touch()  # what the held-out check needs to run at all
        seen += [desk.signoff("answer", item["id"], "retry", "--note", f"use {ALL} and {KEY}")]
        seen += [desk.run("--json")]
    desk.plan_path.write_bytes(desk.about_plan("show", "--approved").raw_stdout)
    assert desk.status()["status"] == "done", desk.kinds()
    prompts = [attempt.prompt for attempt in desk.attempts()]
    assert len(prompts) >= 3 and "[redacted:" in prompts[-1], "told what was said, without secrets"
    _holds_none(*(prompts[1:]))
    for verb in ("status", "log", "audit", "show"):
        seen += [desk.about_plan(verb), desk.about_plan(verb, "--json")]
    seen += [desk.signoff("receipt", "export", "PLAN.md"), desk.signoff("stats", "--json")]
    bundle = desk.folder / "proof.zip"
    seen += [desk.signoff("receipt", "bundle", "PLAN.md", "--output", str(bundle)).exits(0)]
    _holds_none(*(part for ended in seen for part in (ended.raw_stdout, ended.raw_stderr)))
    _holds_none(_kept(desk))
    with zipfile.ZipFile(bundle) as packed:
        _holds_none(*(packed.read(name) for name in packed.namelist()))
    told = _kept(desk).decode(errors="replace")
    assert "[redacted:DEPLOY_WITH]" in told and "[redacted:MY_PASSWORD]" in told
    assert "[redacted:token]" in told
    assert any(e["data"].get("heldout_tail") for e in desk.entries("verdict")), "it was shown"


def test_a_token_in_a_command_line_does_not_travel_with_the_receipt(desk: Desk) -> None:
    desk.agent("touch a.txt", words=f"--key {TOKENS['stripe']}")
    desk.plan(step("Do it", "test -f a.txt")).run("--yes").exits(0)
    receipt = desk.signoff("receipt", "export", "PLAN.md").exits(0)
    _holds_none(receipt.raw_stdout, desk.signoff("stats", "--json").raw_stdout, _kept(desk))
    desk.about_plan("audit").exits(0)


def test_a_secret_in_the_task_is_in_the_pins_alone(desk: Desk) -> None:
    desk.agent("touch a.txt")
    desk.plan(step("Do it", "test -f a.txt", task=f"Use {TOKENS['github']}."))
    seen = desk.run("--yes").exits(0)
    _holds_none(_kept(desk), seen.raw_stdout, seen.raw_stderr)
    assert TOKENS["github"] in desk.attempts()[0].prompt, "the agent is told what the plan says"


def test_sessions_keep_no_secret(project: Project) -> None:
    project.variable(MY_PASSWORD=NAMED).file("README.md", "redacted token\n")
    check = {"kind": "command_succeeds", "command": "echo $MY_PASSWORD; test -f a.txt"}
    said = f"as {NAMED} and {' '.join(TOKENS.values())} {KEY}"

    async def talk(agent: Agent) -> None:
        steps = [{"description": f"Write a.txt {said}", "check": check}, {"description": "More"}]
        leaky = {"kind": "command_succeeds", "command": f"grep -q '{TOKENS['aws']}' README.md"}
        steps += [{"description": "Name the key", "check": leaky}]
        made = await agent.call(
            "plan_create", objective=f"files {said}", steps=steps, postconditions=[]
        )
        assert "plan created" in made, made
        await agent.call("step_update", step_number=1, status="in_progress", notes=said)
        await agent.call("step_update", step_number=1, status="done", evidence=said)
        await agent.call("step_update", step_number=2, status="blocked", notes=said)
        # What stands in place of the token would match nearly any text.
        assert "held a secret" in await agent.call("step_check", step_number=3)
        await agent.call("plan_show")

    over_stdio(project, talk)
    with FakeClient(project) as client:
        client.stop(said)
    seen = [project.signoff("inbox", "--json"), project.signoff("sessions", "--json")]
    for session in seen[-1].json["sessions"]:
        seen += [project.signoff(v, session["id"]) for v in ("log", "status", "show")]
    # The passed one is no variable here, so that nobody could know it.
    _holds_none(_kept(project), *(e.raw_stdout for e in seen), *(e.raw_stderr for e in seen))
    assert b"[redacted:token]" in _kept(project)


def test_a_progress_line_holds_no_secret(project: Project) -> None:
    project.named("auth", step("Do it", "test -f a.txt")).variable(MY_PASSWORD=NAMED)
    said = f"half way with {NAMED} and {' '.join(TOKENS.values())}"
    project.signoff("progress", "auth", "--add", said).exits(0)
    line = (project.vault / "progress-auth.md").read_text()
    assert "half way with [redacted:MY_PASSWORD] and [redacted:token]" in line
    _holds_none(line)


@pytest.mark.parametrize("kind", TOKENS)
def test_each_kind_of_token_is_known(kind: str) -> None:
    token = TOKENS[kind]
    assert NOTHING_SECRET.text(f"with {token}, it works") == "with [redacted:token], it works"
    assert NOTHING_SECRET.data({"a": [token]}) == {"a": ["[redacted:token]"]}
    assert json.loads(json.dumps(NOTHING_SECRET.data({"a": token}))) == {"a": "[redacted:token]"}


@pytest.mark.parametrize(
    "text",
    [
        "class sk-estimator-doc-link-label and sk-toggleable__content-arrow",
        "task-1234567890ABCDEFGHIJKLMNOP, risk-Based2Approach-to-software-testing",
        "commit 5f588d1d0a7c4b6f9e2d1c3b5a7980efcd1234567890abcdef, sha256-" + "a1B2" * 11,
        "AKIA is how a key begins; eyJ is base64 of {; ghp_short; npm_config_registry=x",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "xoxo-love-and-kisses-to-everybody, hf_hub_download, pypi-publish, AIzawa",
    ],
)
def test_honest_text_is_left_as_it_is(text: str) -> None:
    assert NOTHING_SECRET.text(text) == text


def test_a_password_that_is_an_ordinary_word_does_not_break_a_run(desk: Desk) -> None:
    desk.variable(DB_PASSWORD="broken", APP_SECRET="attempt", API_KEY=desk.workspace.name + "/src")
    desk.variable(ADMIN_TOKEN=str(desk.workspace), CI_TOKEN="broken.txt")
    desk.agent("if test $attempt = 2; then touch broken.txt; fi")
    desk.plan(
        step("Do it", "test -f broken.txt", produces="broken.txt", on_fail="retry(2), then abort"),
        step("And this", "test -f broken.txt", protects="broken.txt"),
    )
    desk.run("--yes").exits(0)
    assert desk.status()["status"] == "done"
    desk.about_plan("audit").exits(0)
    desk.plan(step("Each", "test -f {item}", for_each="echo broken.txt")).run("--yes").exits(0)
    assert Path(desk.entries("run.started")[0]["data"]["workspace"]) == desk.workspace
