"""Trust hand-off: files that other tools execute, created or changed during an attempt.

Editors, shells, agents and git obey what lies in them. An agent that may write such a file hands
its will to whoever opens the folder next, so creating or changing one is told to a person.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from signoff.domain.digests import digest_bytes
from signoff.domain.globs import has_wildcard, matches_any
from signoff.domain.snapshot import Change
from signoff.domain.text import storable_path

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
    """True when some other program obeys the file at this path of a workspace."""
    return bool(reason_for(path))


def reason_for(path: str) -> str:
    """The program that obeys it; empty when none does."""
    return next((why for glob, why in HANDOFF.items() if matches_any((glob,), path)), "")


MOST_FILES = 2_000  # of one folder; more than that is no configuration
GONE = "removed"
_LARGEST_BYTES = 1_000_000
_FIXED = tuple(glob for glob in HANDOFF if not has_wildcard(glob))
_FOLDERS = tuple(
    glob.removesuffix("/**") for glob in HANDOFF if not has_wildcard(glob.removesuffix("/**"))
)


def handoff_files(root: Path) -> dict[str, str]:
    """Path → fingerprint of what the table names and what lies there, ignored or not.

    Looked up by name instead of in the content, because ignore rules and git's own folder hide
    many of them: `.envrc`, `.vscode`, `.git/hooks`.
    """
    found: dict[str, str] = {}
    for path in _present(root):
        seen = _look(root / path)
        if seen is not None:
            found[storable_path(path)] = seen
    return found


def changed_handoffs(
    known: Mapping[str, str],
    now: Mapping[str, str],
    changes: Iterable[Change],
    installed: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Hand-offs that were created, changed or removed: at known places, or in the content.

    Not what is as `install` left it: by its sha256, or gone where it took a file away.
    """
    nested = {storable_path(c.path): str(c.kind) for c in changes if is_handoff(c.path)}
    placed = {
        name: now.get(name, GONE)
        for name in known.keys() | now.keys()
        if known.get(name, GONE) != now.get(name, GONE)
    }
    found = sorted({**nested, **placed}.items())
    left = {
        path: f"file:{sha256}" if sha256 else GONE for path, sha256 in (installed or {}).items()
    }
    return {path: seen for path, seen in found if left.get(path) != now.get(path, GONE)}


def _present(root: Path) -> Iterator[str]:
    try:
        names = {path.name for path in root.iterdir()}
    except OSError:
        return
    yield from (path for path in _FIXED if path.partition("/")[0] in names)
    for folder in _FOLDERS:
        if folder.partition("/")[0] in names:
            yield from _below(root, folder)


def _below(root: Path, folder: str) -> Iterator[str]:
    count = 0
    for here, folders, files in os.walk(root / folder):
        folders.sort()
        for name in sorted(files):
            count += 1
            if count > MOST_FILES:
                return
            yield os.path.relpath(os.path.join(here, name), root)  # noqa: PTH118 - many, in a row


def _look(path: Path) -> str | None:
    """A short comparable text of what lies there, links not followed; None when nothing does."""
    try:
        state = path.lstat()
        if stat.S_ISLNK(state.st_mode):
            return f"link:{digest_bytes(os.fsencode(path.readlink()))}"
        if not stat.S_ISREG(state.st_mode):
            return None if stat.S_ISDIR(state.st_mode) else "special"
        changed = (state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
        if state.st_size > _LARGEST_BYTES:
            return f"large:{changed}"
        return f"file{'+x' if state.st_mode & 0o111 else ''}:{_sha256(path, changed)}"
    except OSError:
        return None


@lru_cache(maxsize=4096)
def _sha256(path: Path, changed: tuple[int, ...]) -> str:
    """Read once per version of the file: git's sample hooks alone are fourteen."""
    del changed
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        return digest_bytes(file.read(_LARGEST_BYTES + 1))
