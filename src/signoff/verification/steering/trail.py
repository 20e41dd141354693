"""What the rules gather for one contract: pinned names, and what is still to be looked at."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import NamedTuple

from signoff.commands.launchers import Invocation
from signoff.domain.digests import digest_bytes
from signoff.domain.snapshot import FileKind
from signoff.verification.ignored import BUILT, ENVIRONMENTS
from signoff.verification.pins import fingerprint
from signoff.verification.steering.content import Content
from signoff.verification.steering.sections import Section, section_digest
from signoff.workspace.byproducts import DEPENDENCY_FOLDERS

PRESENT = "present"
INSTALLED = "installed:"  # before what an install brings: it may appear, but not change
COMPILED = f"{INSTALLED}compiled:"  # caches of it: they may change, and no check is run with them


class ShellText(NamedTuple):
    """Shell text that a contract runs indirectly, and where."""

    text: str
    folder: str


@dataclass
class Trail:
    """Grows while rules are applied; `pinned` is the answer."""

    content: Content
    search_path: str = ""
    pinned: dict[str, str] = field(default_factory=dict)
    ahead: list[ShellText | Invocation] = field(default_factory=list)
    called: set[str] = field(default_factory=set)  # names of programs, as a shell looks for them
    in_front: dict[str, None] = field(default_factory=dict)  # folders before the search path
    texts: list[ShellText] = field(default_factory=list)  # all that a shell is given to run
    tools: set[str] = field(default_factory=set)  # all that is run, seen through launchers
    starts_python: bool = False
    _done: set[tuple[str, ...]] = field(default_factory=set)

    def first_time(self, *work: str) -> bool:
        """Whether this piece of work was not done before."""
        new = work not in self._done
        self._done.add(work)
        return new

    def pin(self, path: str) -> str:
        """Pin a file and the links on the way to it; returns where they lead."""
        end = self.pin_links(path)
        self._pin_state(end)
        return end

    def pin_called(self, path: str) -> str:
        """Pin a program or script that is run; returns where its links lead.

        An ignored one may come later, by an install. What a build makes of the content is not
        pinned: it is what the contract is about.
        """
        links, end = self.content.trace(path)
        for step in (*links, end):
            if self.content.is_source(step):
                self._pin_state(step)
            elif not self._is_built(step):
                self.pin_installed(step)
        return end

    def pin_installed(self, path: str) -> None:
        """Pin a by-product that may appear, but not change."""
        state = self.content.state(path)
        if state is not None and self.content.has(path):
            self.pinned.setdefault(path, self.as_installed(fingerprint(state)))

    @staticmethod
    def as_installed(seen: str) -> str:
        """How something is pinned that may appear, but not change."""
        return f"{INSTALLED}{seen}"

    def _is_built(self, path: str) -> bool:
        parts = path.split("/")
        if not (ENVIRONMENTS | DEPENDENCY_FOLDERS).isdisjoint(parts):
            return False
        # What lies in `bin` may be built or installed: its content tells.
        if not (BUILT - {"bin"}).isdisjoint(parts[:-1]):
            return True
        state = self.content.state(path)
        if state is None or state.kind is not FileKind.FILE:
            return False
        data = self.content.read(path)
        return data is None or b"\0" in data

    def pin_links(self, path: str) -> str:
        """Pin only the links on the way to a file; returns where they lead."""
        links, end = self.content.trace(path)
        for link in links:
            self._pin_state(link)
        return end

    def _pin_state(self, path: str) -> None:
        state = self.content.state(path)
        if state is not None and self.content.has(path):
            self.pinned[path] = fingerprint(state)

    def pin_presence(self, path: str, mark: str = "") -> None:
        """Pin that something is there, not what it says: its content is ordinary work."""
        self.pinned.setdefault(f"{path}#{mark}" if mark else path, PRESENT)

    def pin_section(self, folder: str, wanted: Section) -> bytes | None:
        """Pin one section of a file in a folder; returns the file's bytes when they were read."""
        path = posixpath.join(folder, wanted.file)
        if not self.content.has(path):
            return None
        end = self.pin_links(path)
        state = self.content.state(end)
        if state is None:
            return None
        data = self.content.read(end)
        digest = fingerprint(state) if data is None else section_digest(wanted, data)
        if digest is not None:
            self.pinned[f"{path}#{wanted.name}"] = digest
        return data

    def pin_text(self, path: str, mark: str, text: str) -> None:
        """Pin a piece of a file."""
        self.pinned[f"{path}#{mark}"] = digest_bytes(text.encode("utf-8", "surrogateescape"))

    def put_in_front(self, folder: str) -> None:
        """From here on, programs are looked for in this folder before the search path."""
        self.in_front[folder] = None

    def note_called(self, *names: str) -> None:
        """Remember what is looked for by name while a folder stands before the search path."""
        if self.in_front:
            self.called.update(name for name in names if "/" not in name)

    def follow(self, what: ShellText | Invocation) -> None:
        """Look at this too: it runs when the contract does."""
        self.ahead.append(what)
