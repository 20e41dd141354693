"""Known agents in one word: with which flags, variables and folders each works unattended here.

One row per client. `docs/how-to/your-agent.md` shows the same rows; a test compares them.
"""

from __future__ import annotations

import os
import posixpath
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from signoff.domain.verdict import Isolation
from signoff.errors import ConfigInvalid, nearest
from signoff.process.shell import find_tool
from signoff.settings.loading import Settings
from signoff.settings.roles import AGENT_HOSTS, LOOP, Role

MODEL_PLACE = "{model}"
_COMMON_KEYS = (
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "OPENROUTER_API_KEY",
    "DEEPSEEK_API_KEY",
)
_COMMON_HOSTS = (
    "api.anthropic.com",
    "api.openai.com",
    "generativelanguage.googleapis.com",
    "openrouter.ai",
    "api.deepseek.com",
)


class Preset(Struct, frozen=True):
    name: str
    words: tuple[str, ...]  # `{prompt}`: the prompt, else it goes to stdin; `{model}`: the model
    package: str  # how it is installed
    model_flag: str = "--model"
    keys: tuple[str, ...] = ()  # variables, one of which logs it in; all that are set are passed
    variables: tuple[str, ...] = ()  # passed as well
    sets: Mapping[str, str] = field(default_factory=dict)  # said to the client in any case
    sets_confined: tuple[tuple[str, str], ...] = ()  # said only where our sandbox confines it
    login: tuple[str, ...] = ()  # files below the home folder that log it in
    keyless: bool = False  # it may serve a model that needs no key
    folders: tuple[str, ...] = ()  # below the home folder, its own: it must write there
    files: tuple[str, ...] = ()  # likewise
    hosts: tuple[str, ...] = ()  # what it talks to, unless a variable names another place
    log: str = ""  # a log below the home folder that tells more than its output
    tells_tokens: bool = True
    tells_usd: bool = False
    writes: tuple[str, ...] = ()  # denied by every sandbox of ours unless `writable` names it
    writes_landlock: tuple[str, ...] = ()  # denied by Landlock alone
    tested: str = "not tested"  # the version that `make test-clients` last worked with
    note: str = ""

    def places_denied(self, isolation: Isolation) -> tuple[str, ...]:
        """The places that it must write to and that this sandbox denies unless they are opened."""
        if isolation is Isolation.NONE:
            return ()
        return self.writes + (self.writes_landlock if isolation is Isolation.LANDLOCK else ())


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "claude",
            (
                *("claude", "-p", "--output-format", "stream-json", "--verbose"),
                *("--dangerously-skip-permissions", MODEL_PLACE),
            ),
            "npm install -g @anthropic-ai/claude-code",
            keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
            variables=("ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "CLAUDE_CODE_MAX_RETRIES"),
            sets={"DISABLE_AUTOUPDATER": "1"},
            sets_confined=(("IS_SANDBOX", "1"),),
            login=(".claude/.credentials.json",),
            folders=(".claude",),
            files=(".claude.json",),
            hosts=("api.anthropic.com", "console.anthropic.com", "platform.claude.com"),
            tested="2.1.197",
            tells_usd=True,
            note="while it works, words that it writes are counted late; input is not",
        ),
        Preset(
            "codex",
            (
                *("codex", "exec", "--json", "--skip-git-repo-check"),
                *("--dangerously-bypass-approvals-and-sandbox", MODEL_PLACE, "-"),
            ),
            "npm install -g @openai/codex",
            keys=("CODEX_API_KEY", "OPENAI_API_KEY"),
            variables=("OPENAI_BASE_URL",),
            login=(".codex/auth.json",),
            folders=(".codex",),
            hosts=("api.openai.com", "chatgpt.com", "auth.openai.com"),
            tested="0.169.0",
            log=".codex/sessions/*/*/*/rollout-*{session}.jsonl",
            note="its own sandbox is off: ours confines it",
        ),
        Preset(
            "gemini",
            (
                *("gemini", "-o", "stream-json", "--approval-mode", "yolo", "--skip-trust"),
                MODEL_PLACE,
            ),
            "npm install -g @google/gemini-cli",
            keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            variables=(
                *("GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI"),
                *("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"),
            ),
            login=(".gemini/oauth_creds.json",),
            folders=(".gemini",),
            hosts=(
                *("generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com"),
                "oauth2.googleapis.com",
            ),
            tested="0.61.0",
            log=".gemini/tmp/*/chats/session-*{start}.jsonl",
        ),
        Preset(
            "qwen",
            ("qwen", "-o", "stream-json", "--approval-mode", "yolo", MODEL_PLACE),
            "npm install -g @qwen-code/qwen-code",
            keys=("OPENAI_API_KEY", "DASHSCOPE_API_KEY", "BAILIAN_CODING_PLAN_API_KEY"),
            variables=("OPENAI_BASE_URL", "OPENAI_MODEL"),
            login=(".qwen/oauth_creds.json",),
            folders=(".qwen",),
            hosts=(
                *("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"),
                *("chat.qwen.ai", "portal.qwen.ai"),
            ),
            tested="0.15.10",
            writes_landlock=("/dev/ptmx", "/dev/pts"),
            note="its shell tool wants a pseudo-terminal: behind Landlock it needs"
            ' `writable = ["/dev/ptmx", "/dev/pts"]`',
        ),
        Preset(
            "opencode",
            ("opencode", "run", "--format", "json", MODEL_PLACE),
            "npm install -g opencode-ai",
            keys=_COMMON_KEYS,
            variables=("OPENCODE_API_KEY", "OPENCODE_CONFIG"),
            sets={"OPENCODE_DISABLE_AUTOUPDATE": "1"},
            login=(".local/share/opencode/auth.json",),
            keyless=True,
            folders=(
                *(".local/share/opencode", ".local/state/opencode"),
                *(".config/opencode", ".cache/opencode"),
            ),
            hosts=(*_COMMON_HOSTS, "models.dev", "opencode.ai"),
            tested="1.18.33",
            tells_usd=True,
        ),
        Preset(
            "aider",
            (
                *("aider", "--yes-always", "--no-check-update", "--no-show-release-notes"),
                *("--analytics-disable", "--no-auto-commits", "--no-dirty-commits"),
                *("--no-pretty", "--no-stream", "--chat-history-file", "/dev/null"),
                *("--input-history-file", "/dev/null", MODEL_PLACE),
                *("--message-file", "/dev/stdin"),
            ),
            "uv tool install aider-chat",
            keys=_COMMON_KEYS,
            variables=("OPENAI_API_BASE", "OLLAMA_API_BASE", "AIDER_MODEL"),
            keyless=True,
            folders=(".aider",),
            hosts=_COMMON_HOSTS,
            tested="0.86.2",
            tells_usd=True,
            writes=(".git",),
            note="have `.aider*` in .gitignore; it adds new files to git, and our sandbox lets it"
            ' with `writable = [".git"]` only',
        ),
        Preset(
            "pi",
            ("pi", "-p", "--mode", "json", MODEL_PLACE),
            "npm install -g @earendil-works/pi-coding-agent",
            keys=("ANTHROPIC_OAUTH_TOKEN", *_COMMON_KEYS),
            sets={"PI_OFFLINE": "1"},
            login=(".pi/agent/auth.json",),
            keyless=True,
            folders=(".pi",),
            hosts=_COMMON_HOSTS,
            tested="0.74.2",
            tells_usd=True,
        ),
        Preset(
            "mini",
            ("mini", "-y", "--exit-immediately", MODEL_PLACE, "-t", "{prompt}"),
            "uv tool install mini-swe-agent",
            keys=_COMMON_KEYS,
            variables=("OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "MSWEA_MODEL_NAME"),
            sets={"MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors"},
            keyless=True,
            folders=(".config/mini-swe-agent",),
            hosts=_COMMON_HOSTS,
            tested="2.4.6",
            tells_tokens=False,
            tells_usd=True,
        ),
        Preset(
            LOOP,
            (),  # signoff itself: the settings write its command
            "part of signoff",
            keyless=True,
            hosts=_COMMON_HOSTS,
            tells_usd=True,
            tested="with every release",
            note='needs a model: `model = "anthropic:NAME"`',
        ),
    )
}
# Clients without a preset that keep state of their own in the home folder.
_OTHERS: dict[str, tuple[str, ...]] = {
    "goose": (".config/goose", ".local/share/goose"),
    "cursor-agent": (".cursor",),
}


def preset_of(role: Role) -> Preset | None:
    """The role's preset; None of a command that is no more than a command."""
    return PRESETS.get(role.agent)


def with_presets(settings: Settings) -> Settings:
    """The settings with every role's command written out, as it is pinned and shown."""
    return replace(settings, roles={n: with_preset(role) for n, role in settings.roles.items()})


def with_preset(role: Role) -> Role:
    """The role as its preset has it; a command of the user's own stays, the rest is added."""
    preset = PRESETS.get(role.agent)
    if role.agent and preset is None:
        close = nearest(role.agent, PRESETS)
        hint = f"did you mean `{close}`?" if close else f"known: {', '.join(PRESETS)}"
        raise ConfigInvalid(f"role `{role.name}`: there is no agent `{role.agent}`", hint)
    role = replace(role, hosts=_hosts(role, preset))
    if preset is None or role.agent == LOOP:
        return role
    command = role.command
    if command == role.agent:
        model = (preset.model_flag, role.model) if role.model else ()
        words = ((word,) if word != MODEL_PLACE else model for word in preset.words)
        command = shlex.join(word for part in words for word in part)
    env = tuple(dict.fromkeys((*role.env, *preset.keys, *preset.variables)))
    return replace(role, command=command, env=env)


def _hosts(role: Role, preset: Preset | None) -> tuple[str, ...] | None:
    """Hosts of the role, with the agent's own in place of the word for them."""
    hosts = role.hosts
    if hosts is None or AGENT_HOSTS not in hosts:
        return hosts
    if preset is not None:
        return (*hosts[: hosts.index(AGENT_HOSTS) + 1], *preset.hosts)
    if hosts[-1] == AGENT_HOSTS:
        raise ConfigInvalid(
            f"role `{role.name}`: `{AGENT_HOSTS}` in `hosts` stands for the hosts that a known"
            " agent needs, and this role names no agent",
            f'agent = "claude" under [roles.{role.name}], or write the hosts themselves',
        )
    return hosts  # approved for an agent that a command of the person's own replaces


def own_places(role: Role, program: str, home: Path) -> tuple[Path, ...]:
    """Places in the home folder that a known client must write to; none for an unknown command.

    Of a preset the folders are made, since a client cannot make them where it may not write.
    """
    preset = preset_of(role) or PRESETS.get(posixpath.basename(program))
    if preset is None:
        named = _OTHERS.get(posixpath.basename(program), ())
        return tuple(home / place for place in named if (home / place).exists())
    for folder in preset.folders if role.agent else ():
        try:
            (home / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
    named = (*preset.folders, *preset.files)
    return tuple(home / place for place in named if (home / place).exists())


def installed_presets(search_path: str, workspace: Path) -> Iterator[Preset]:
    """Clients that are installed here, the ones that know their dollars best first."""
    for preset in PRESETS.values():
        if preset.words and find_tool(preset.words[0], search_path, workspace) is not None:
            yield preset


def sandbox_variables(preset: Preset | None, *, confined: bool) -> dict[str, str]:
    """Variables that the client gets beside those that the role passes on."""
    if preset is None:
        return {}
    return {**dict(preset.sets), **(dict(preset.sets_confined) if confined else {})}


def logged_in_by(preset: Preset, environ: Mapping[str, str]) -> str:
    """The variable or file that logs it in; empty where none is found."""
    home = Path(environ.get("HOME", "/"))
    named = [name for name in preset.keys if name in environ]
    files = [f"~/{file}" for file in preset.login if os.path.lexists(home / file)]
    return next(iter((*named, *files)), "")
