"""How each real client is led to a scripted model, and what that model says and does."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from signoff.testing.conversation import ScriptedRequest
from signoff.testing.script import Script, Turn, say
from tests.clients.kit import Do, play

WORK = Do("echo hello > hello.txt")
SUBMIT = Do("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")  # as mini-swe-agent is told to end
EDIT = "hello.txt\n```\n<<<<<<< SEARCH\n=======\nhello\n>>>>>>> REPLACE\n```\n"
Prepare = Callable[[Path, str], Mapping[str, str]]


@dataclass(frozen=True)
class RealPreset:
    """How a client is led to the scripted model: its own files, variables, and the model's name."""

    prepare: Prepare
    model: str = ""
    works: tuple[str | Do, ...] = (WORK, "All done.")
    lies: tuple[str | Do, ...] = ("All done.",)
    by_text: bool = False  # it gives its model no tools
    sandbox: str = ""  # what it needs beside the preset, as its note says
    landlock: str = ""  # and behind Landlock


def _write(home: Path, name: str, content: object) -> None:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def _claude(home: Path, url: str) -> Mapping[str, str]:
    del home
    return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "fake"}


def _codex(home: Path, url: str) -> Mapping[str, str]:
    provider = f'name = "scripted"\nbase_url = "{url}/v1"\nwire_api = "responses"\n'
    text = f'model_provider = "scripted"\n[model_providers.scripted]\n{provider}'
    _write(home, ".codex/config.toml", text)
    return {"OPENAI_API_KEY": "fake"}


def _gemini(home: Path, url: str) -> Mapping[str, str]:
    chosen = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    _write(home, ".gemini/settings.json", chosen)
    return {"GEMINI_API_KEY": "fake", "GOOGLE_GEMINI_BASE_URL": url}


def _qwen(home: Path, url: str) -> Mapping[str, str]:
    _write(home, ".qwen/settings.json", {"security": {"auth": {"selectedType": "openai"}}})
    return {"OPENAI_API_KEY": "fake", "OPENAI_BASE_URL": f"{url}/v1"}


def _opencode(home: Path, url: str) -> Mapping[str, str]:
    options = {"baseURL": f"{url}/v1", "apiKey": "fake"}
    models = {"m": {"name": "m", "cost": {"input": 1, "output": 2}}}
    scripted = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": models}
    _write(home, ".config/opencode/opencode.json", {"provider": {"scripted": scripted}})
    return {}


def _pi(home: Path, url: str) -> Mapping[str, str]:
    cost = {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0}
    model = {"id": "m", "name": "m", "reasoning": False, "input": ["text"], "cost": cost}
    model |= {"contextWindow": 100_000, "maxTokens": 4_000}
    served = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "fake"}
    _write(home, ".pi/agent/models.json", {"providers": {"scripted": served | {"models": [model]}}})
    return {}


def _aider(home: Path, url: str) -> Mapping[str, str]:
    _write(home, ".gitconfig", "[user]\nname = Ada\nemail = ada@example.org\n")
    return _litellm(home, url)


def _litellm(home: Path, url: str) -> Mapping[str, str]:
    del home
    return {"OPENAI_API_KEY": "fake", "OPENAI_API_BASE": f"{url}/v1"}


REAL: dict[str, RealPreset] = {
    "claude": RealPreset(_claude),
    "codex": RealPreset(_codex, "gpt-5"),
    "gemini": RealPreset(_gemini),
    "qwen": RealPreset(_qwen, "gpt-5", landlock='writable = ["/dev/ptmx", "/dev/pts"]\n'),
    "opencode": RealPreset(_opencode, "scripted/m"),
    "aider": RealPreset(
        _aider, "openai/gpt-4o", works=(EDIT,), by_text=True, sandbox='writable = [".git"]\n'
    ),
    "pi": RealPreset(_pi, "scripted/m"),
    "mini": RealPreset(_litellm, "openai/gpt-4o", works=(WORK, SUBMIT), lies=(SUBMIT,)),
}


def speak(real: RealPreset, turns: tuple[str | Do, ...]) -> Script:
    """The last words again, should the client ask once more."""
    if not real.by_text:
        return play(*turns, last_repeats=True)
    left = list(turns)

    def respond(_conversation: ScriptedRequest) -> Turn:
        return say(str(left.pop(0)) if left else "Nothing more.")

    return Script(respond=respond)
