"""A real workspace in which a test makes changes and asks what they would be called."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from signoff.domain.plan import Contract
from signoff.verification.ignored import Ignored
from signoff.verification.influences.rules import influences_of, texts_of
from signoff.verification.protection import Guard, find_tampering
from signoff.workspace.ignore import IgnoreFile, IgnoreRules
from signoff.workspace.workspace import Workspace

GONE = "\0gone"
LINK = "\0link:"
EXECUTABLE = "\0+x:"


class Place:
    """A folder with files; `change` edits it and names what the harness calls tampered."""

    def __init__(self, base: Path, files: Mapping[str, str], ignored: str = ""):
        self.root = base / "workspace"
        self.root.mkdir()
        self.search_path = os.environ["PATH"]
        rules = IgnoreRules((IgnoreFile("", ignored),))
        self._workspace = Workspace(self.root, base / "store", rules)
        self.write(files)

    def write(self, files: Mapping[str, str]) -> None:
        """Write, link, mark as executable or remove files."""
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_symlink() or text == GONE or text.startswith(LINK):
                path.unlink(missing_ok=True)
            if text.startswith(LINK):
                path.symlink_to(text.removeprefix(LINK))
            elif text != GONE:
                path.write_text(text.removeprefix(EXECUTABLE), encoding="utf-8", newline="")
                path.chmod(0o755 if text.startswith(EXECUTABLE) else 0o644)

    def influences(self, command: str) -> dict[str, str]:
        """What steers the command on the content as it is."""
        content = self._workspace.snapshot().digest
        manifest = self._workspace.manifest(content)
        return influences_of(
            Contract(command),
            manifest,
            lambda path: self._workspace.read(content, path),
            Ignored(self.root, self._workspace.byproducts),
            self.search_path,
        )

    def texts(self, command: str) -> list[str]:
        """All shell text that the command runs on the content as it is."""
        content = self._workspace.snapshot().digest
        manifest = self._workspace.manifest(content)
        found = texts_of(
            Contract(command), manifest, lambda path: self._workspace.read(content, path)
        )
        return [shell.text for shell in found]

    def change(
        self, command: str, edits: Mapping[str, str], may_change: tuple[str, ...] = ()
    ) -> list[str]:
        """The names that are tampered with when the edits follow an approval."""
        approved = self.influences(command)
        self.write(edits)
        now = self.influences(command)
        found = find_tampering(Guard(may_change=may_change, influences=approved), {}, now)
        return [tampering.path for tampering in found]
