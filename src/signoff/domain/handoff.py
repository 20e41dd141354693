"""Files that make other programs act: editors, shells, agents and git obey what lies in them.

One table. An agent that may write such a file hands its will to whoever opens the folder next, so
creating or changing one is told to a person.
"""

from __future__ import annotations

from signoff.domain.globs import matches_any

HANDOFF: dict[str, str] = {
    # agents and their tools
    ".claude/**": "Claude Code runs hooks and commands from it",
    "**/CLAUDE.md": "Claude Code follows it",
    "**/CLAUDE.local.md": "Claude Code follows it",
    ".codex/**": "codex runs hooks from it",
    ".gemini/**": "gemini-cli runs hooks from it",
    "**/GEMINI.md": "gemini-cli follows it",
    ".qwen/**": "qwen-code runs hooks from it",
    ".opencode/**": "opencode loads plugins from it",
    "opencode.json": "opencode runs commands from it",
    ".cursor/**": "Cursor follows its rules and starts its servers",
    ".cursorrules": "Cursor follows it",
    ".windsurfrules": "Windsurf follows it",
    ".clinerules": "Cline follows it",
    ".aider.conf.yml": "aider runs the commands in it",
    ".continue/**": "Continue loads it",
    ".github/copilot-instructions.md": "Copilot follows it",
    "**/AGENTS.md": "agents follow it",
    ".mcp.json": "clients start the servers in it",
    # editors
    ".vscode/**": "VS Code runs tasks and settings from it",
    ".idea/**": "JetBrains editors run configurations from it",
    ".zed/**": "Zed runs tasks from it",
    "*.code-workspace": "VS Code runs tasks and settings from it",
    ".devcontainer/**": "editors build and start it",
    ".devcontainer.json": "editors build and start it",
    ".nvim.lua": "Neovim runs it",
    ".exrc": "vi runs it",
    ".dir-locals.el": "Emacs evaluates it",
    # shells and environments
    ".envrc": "direnv runs it",
    ".env": "many tools load it",
    ".mise.toml": "mise runs hooks from it",
    "mise.toml": "mise runs hooks from it",
    ".tool-versions": "version managers obey it",
    ".npmrc": "npm obeys it",
    ".yarnrc.yml": "yarn runs the program it names",
    "pip.conf": "pip obeys it",
    # git and what runs on its events
    ".git/hooks/**": "git runs it",
    ".git/config": "git runs the programs it names",
    ".git/info/attributes": "git runs filters by it",
    ".gitattributes": "git runs filters by it",
    ".gitmodules": "git fetches what it names",
    ".githooks/**": "git may run it",
    ".husky/**": "git runs it",
    ".pre-commit-config.yaml": "pre-commit runs it",
    "lefthook.yml": "lefthook runs it",
    # machines that build
    ".github/workflows/**": "GitHub runs it",
    ".github/actions/**": "GitHub runs it",
    ".gitlab-ci.yml": "GitLab runs it",
    ".circleci/**": "CircleCI runs it",
    "Jenkinsfile": "Jenkins runs it",
    "azure-pipelines.yml": "Azure runs it",
    ".buildkite/**": "Buildkite runs it",
}


def is_handoff(path: str) -> bool:
    """Whether some other program obeys what lies at this path of a workspace."""
    return bool(reason_for(path))


def reason_for(path: str) -> str:
    """Who obeys it; empty when nobody does."""
    return next((why for glob, why in HANDOFF.items() if matches_any((glob,), path)), "")
