"""Real clients, headless, against a scripted model on this machine."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from signoff.domain.clients import SHELLS
from signoff.testing.conversation import ScriptedCall, ScriptedRequest
from signoff.testing.script import Script, Turn, say, use
from tests.cli.project import Project
from tests.scripted.server import ScriptedServer

PACKAGES = {"codex": "@openai/codex", "gemini": "@google/gemini-cli"}
NPM_PACKAGES = PACKAGES | {
    "claude": "@anthropic-ai/claude-code",
    "qwen": "@qwen-code/qwen-code",
    "opencode": "opencode-ai",
    "pi": "@earendil-works/pi-coding-agent",
}
PYPI_PACKAGES = {"aider": "aider-chat", "mini": "mini-swe-agent"}
LIMIT_S = 240


@dataclass(frozen=True)
class Do:
    """A shell command, through whichever shell tool the client offers."""

    command: str


def play(*turns: str | Do, last_repeats: bool = False) -> Script:
    """A model that says and does this, in order; requests without tools get a word."""
    left = list(turns)

    def respond(conversation: ScriptedRequest) -> Turn:
        if not conversation.tools:
            return say("Title")
        turn = left[0] if last_repeats and len(left) == 1 else left.pop(0)
        return say(turn) if isinstance(turn, str) else use(_shell(conversation, turn.command))

    return Script(respond=respond)


def _shell(conversation: ScriptedRequest, command: str) -> ScriptedCall:
    tool = next(tool for tool in conversation.tools if tool.name in {*SHELLS, "bash"})
    names: Iterable[str] = tool.parameters.get("properties", {})
    field = next(name for name in ("command", "cmd") if name in names)
    return ScriptedCall(tool.name, {field: command})


@dataclass(frozen=True)
class RealClient:
    """One client in one project; `program` is where npm put it."""

    name: str
    program: Path
    project: Project

    def work(self, script: Script) -> subprocess.CompletedProcess[str]:
        """Let it do a task with this model, to its end."""
        with ScriptedServer(script) as server:
            argv, extra = _PREPARED[self.name](self, server.root_url)
            return subprocess.run(
                argv,
                cwd=self.project.workspace,
                env={**self.project.environment(), "NO_COLOR": "1", **extra},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                check=False,
            )

    @property
    def own_folder(self) -> Path:
        """The user's configuration of this client."""
        folder = Path(self.project.environment()["HOME"]) / f".{self.name}"
        folder.mkdir(exist_ok=True)
        return folder


def _codex(client: RealClient, url: str) -> tuple[list[str], dict[str, str]]:
    (client.own_folder / "config.toml").write_text(
        'model = "gpt-5"\nmodel_provider = "scripted"\n'
        f'[model_providers.scripted]\nname = "scripted"\nbase_url = "{url}/v1"\n'
        'wire_api = "responses"\nrequires_openai_auth = false\n'
        f'[projects."{client.project.workspace}"]\ntrust_level = "trusted"\n'
    )
    trusted = ["--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"]
    return [str(client.program), "exec", "--json", *trusted, "do it"], {}


def _gemini(client: RealClient, url: str) -> tuple[list[str], dict[str, str]]:
    chosen = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    (client.own_folder / "settings.json").write_text(json.dumps(chosen))
    extra = {
        "GEMINI_API_KEY": "fake",
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }
    options = ["-o", "json", "--approval-mode", "yolo", "--skip-trust"]
    return [str(client.program), "-p", "do it", *options], extra


_PREPARED: dict[str, Callable[[RealClient, str], tuple[list[str], dict[str, str]]]] = {
    "codex": _codex,
    "gemini": _gemini,
}
