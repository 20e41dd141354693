"""What static verification needs to know about the machine and the workspace."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path

from signoff.agents.command import troubles_of
from signoff.domain.findings import SyntaxProblem, Trouble
from signoff.domain.globs import has_wildcard, matches
from signoff.process.shell import find_tool
from signoff.process.syntax import syntax_problems
from signoff.settings.loading import HUMAN_ROLE, Settings
from signoff.storage.vault import Vault

MOST_FILES = 200_000


class RealSurroundings:
    """Looks at the disk, and only at names; the texts of contracts are read by bash, not run."""

    def __init__(
        self,
        workspace: Path,
        vault: Vault,
        search_path: str,
        settings: Settings,
        heldout_names: frozenset[str] = frozenset(),
        environ: Mapping[str, str] | None = None,
        read_by_checks: Mapping[str, Collection[str]] | None = None,
    ):
        self._workspace = workspace
        self._vault = vault
        self._search_path = search_path
        self._roles = settings.roles
        self._environ = environ or {}
        self.role_names = frozenset((*settings.roles, HUMAN_ROLE))
        self.heldout_names = heldout_names
        self.read_by_checks = read_by_checks or {}
        self.waivers_forbidden = settings.policy.forbid_waivers
        self._tools: dict[str, bool] = {}

    def file_exists(self, path: str) -> bool:
        """Whether something lies at this path of the workspace."""
        return os.path.lexists(self._workspace / path)

    def matches_glob(self, pattern: str) -> bool:
        """Whether the pattern covers some file of the workspace."""
        if not has_wildcard(pattern):
            return self.file_exists(pattern)
        return any(matches(pattern, path) for path in self._files)

    def topic_exists(self, name: str) -> bool:
        """Whether the vault has this topic."""
        return self._vault.topic_exists(name)

    def tool_exists(self, name: str) -> bool:
        """Whether a command of this name would be found when a contract runs."""
        if name not in self._tools:
            self._tools[name] = find_tool(name, self._search_path) is not None
        return self._tools[name]

    def role_troubles(self, name: str) -> tuple[Trouble, ...]:
        """What the first attempt of this role would stumble over."""
        role = self._roles[name]
        return tuple(troubles_of(role, self._search_path, self._workspace, self._environ))

    def syntax_problems(self, texts: Collection[str]) -> Mapping[str, SyntaxProblem]:
        """What bash says about them."""
        return syntax_problems(texts)

    @cached_property
    def _files(self) -> list[str]:
        found: list[str] = []
        for folder, folders, files in os.walk(self._workspace):
            folders[:] = [name for name in folders if name != ".git"]
            base = os.path.relpath(folder, self._workspace)
            found.extend(name if base == "." else f"{base}/{name}" for name in files)
            if len(found) > MOST_FILES:
                break
        return found
