"""The built-in agent in a real sandbox: its commands, and the loop as a role."""

from __future__ import annotations

import json
import shutil
import sysconfig
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import signoff
from signoff.process.sandboxes import probe_sandboxes
from signoff.testing.conversation import ScriptedCall, ScriptedRequest
from signoff.testing.script import Script, Turn, say, use
from tests.cli.kit import Desk
from tests.cli.plans import step
from tests.scripted.server import ScriptedServer

BOXED = [str(s.isolation) for s in probe_sandboxes() if s.available]
SECRET = "sk-proj-4f9a8b7c6d5e4f3a2b1c"
pytestmark = pytest.mark.skipif("bubblewrap" not in BOXED, reason="bubblewrap does not work here")


@pytest.fixture
def desk(desk: Desk) -> Iterator[Desk]:
    desk.person('[sandbox]\nisolation = "bubblewrap"\n')
    desk.variable(NO_PROXY="127.0.0.1", no_proxy="127.0.0.1", OPENAI_API_KEY=SECRET)
    yield desk


def _bash(command: str) -> ScriptedCall:
    return ScriptedCall("bash", {"command": command})


def test_commands_of_the_agent_see_neither_the_key_nor_the_home(desk: Desk) -> None:
    tricks = (
        "env; cat /proc/[0-9]*/environ | tr '\\0' '\\n'; echo looked",
        f"ls {desk.home}; echo looked",
        f"echo x > {desk.folder}/planted; echo looked",
        "echo made > made.txt; echo looked",
    )
    script = Script([use(*map(_bash, tricks)), say("sorry")])
    with ScriptedServer(script) as server:
        options = ("--model", "openai:m", "--base-url", server.openai_url, "--no-plan")
        desk.signoff("agent", "cheat", *options).exits(3)
    told = [r.text for r in script.received[1].results]
    assert all("looked" in text for text in told), told
    assert SECRET not in "".join(told)
    assert "ledger.sqlite3" not in told[1]
    assert not (desk.folder / "planted").exists()
    assert desk.read("made.txt") == "made\n"


def test_the_loop_works_as_a_confined_role_that_cannot_see_the_ledger(desk: Desk) -> None:
    def respond(conversation: ScriptedRequest) -> Turn:
        if conversation.model_turns == 0:
            return use(_bash(f"ls -A {desk.home}; echo right > out.txt; echo x >> PLAN.md"))
        return say("It is written.")

    script = Script(respond=respond)
    desk.plan(step("Write it", "grep -q right out.txt"))
    with ScriptedServer(script) as server:
        role = {"agent": "loop", "model": "openai:m", "base_url": server.openai_url}
        lines = [f"{name} = {json.dumps(value)}" for name, value in role.items()]
        desk.file("signoff.toml", "\n".join(["[roles.coder]", *lines]))
        desk.run("--yes").exits(0)
    assert desk.read("out.txt") == "right\n"
    told = script.received[1].results[0].text
    assert "Read-only file system" in told and "ledger" not in told
    (attempt,) = desk.entries("attempt.finished")
    assert attempt["data"]["usage"]["tokens"] == 240
    log = desk.signoff("log", "PLAN.md", "--json").raw_stdout
    assert SECRET.encode() not in log


@pytest.mark.parametrize("there", [True, False], ids=["as they are", "where there are none"])
def test_commands_cannot_write_what_is_not_the_agents(desk: Desk, there: bool) -> None:
    own = (".git/hooks/pre-commit", ".harness/PLAN.md", "signoff.toml")
    if there:
        desk.git().file(".harness/PLAN.md", "# Mine\n").file("signoff.toml", "# mine\n")
        (desk.workspace / ".git" / "hooks").mkdir(exist_ok=True)
    before = {name: _content(desk, name) for name in own}
    tricks = [f"mkdir -p $(dirname {name}); echo pwned > {name}; echo looked" for name in own]
    tricks += ["mv .harness h; mv .git g; rm -rf .git .harness signoff.toml; echo looked"]
    script = Script([use(_bash(trick)) for trick in tricks] + [say("sorry")])
    with ScriptedServer(script) as server:
        options = ("--model", "openai:m", "--base-url", server.openai_url, "--no-plan")
        desk.signoff("agent", "cheat", *options).exits(3)
    told = [result.text for result in script.received[-1].results]
    assert len(told) == 1 and "looked" in told[0], "the commands ran"
    assert {name: _content(desk, name) for name in own} == before
    if not there:
        assert sorted(path.name for path in desk.workspace.iterdir()) == []


def _content(desk: Desk, name: str) -> str | None:
    path = desk.workspace / name
    return path.read_text() if path.exists() else None


class Checkout(Desk):
    """A signoff that is installed from a checkout below /tmp, which no agent sees."""

    @property
    def place(self) -> Path:
        """Where it is installed."""
        return self.folder / "checkout"

    def command(self, arguments: Sequence[str]) -> list[str]:
        """The command line that starts it."""
        return [str(self.place / "venv" / "bin" / "python"), "-m", "signoff", *arguments]

    def install(self) -> None:
        """As `pip install --editable` does."""
        package = Path(signoff.__file__).parent
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(package, self.place / "src" / "signoff", ignore=ignored)
        venv.EnvBuilder(symlinks=True).create(self.place / "venv")
        (packages,) = (self.place / "venv").glob("lib/python*/site-packages")
        others = sysconfig.get_path("purelib")
        (packages / "editable.pth").write_text(f"{self.place / 'src'}\n{others}\n")


def test_the_loop_is_a_role_wherever_signoff_is_installed(tmp_path: Path) -> None:
    desk = Checkout(tmp_path)
    desk.install()
    desk.person('[sandbox]\nisolation = "bubblewrap"\n').variable(PYTHONPATH="")
    script = Script([use(_bash("echo right > out.txt")), say("It is written.")])
    desk.plan(step("Write it", "grep -q right out.txt"))
    with ScriptedServer(script) as server:
        role = f'agent = "loop"\nmodel = "openai:m"\nbase_url = "{server.openai_url}"'
        desk.file("signoff.toml", f"[roles.coder]\n{role}\n")
        desk.run("--yes").exits(0)
    assert desk.read("out.txt") == "right\n"
    desk.close()
