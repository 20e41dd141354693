"""Collect influences for one contract: pinned names, and what is still to be followed."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, field

from signoff.commands.launchers import Invocation, inside, is_plain
from signoff.commands.settings import SETTINGS, Section, section, section_digest
from signoff.domain.digests import digest_bytes
from signoff.domain.globs import has_wildcard, matches
from signoff.domain.snapshot import FileKind, FileState, Manifest
from signoff.verification.ignored import BUILT, ENVIRONMENTS, LARGEST_READ_BYTES, Ignored
from signoff.verification.pins import fingerprint
from signoff.workspace.byproducts import DEPENDENCY_FOLDERS

_MOST_LINKS = 40
_NOWHERE = Path("/nowhere")  # where nothing is known of ignored files
_END = "\0"


class ManifestIndex:
    """A manifest with the questions that rules ask of it; an index is built only when needed.

    Ignored files are seen where a rule asks for a path or a name: a runner obeys them as well.
    """

    def __init__(
        self, manifest: Manifest, read: Callable[[str], bytes], ignored: Ignored | None = None
    ):
        self.manifest = manifest
        self._read_source = read
        self._ignored = ignored or Ignored(_NOWHERE)
        self._found: dict[str, list[str]] = {}

    def state(self, path: str) -> FileState | None:
        """State of a path."""
        return self.manifest.get(path) or self._ignored.state(path)

    def is_source(self, path: str) -> bool:
        """True when the path belongs to the snapshot."""
        return path in self.manifest

    def has(self, path: str) -> bool:
        """True when a file, link or other entry lies at the path."""
        state = self.state(path)
        return state is not None and state.kind is not FileKind.DIRECTORY

    def read(self, path: str) -> bytes | None:
        """The bytes of a regular file of reasonable size."""
        state = self.state(path)
        if state is None or state.kind is not FileKind.FILE or state.size > LARGEST_READ_BYTES:
            return None
        return self._read(path)

    def trace(self, path: str) -> tuple[list[str], str]:
        """The symbolic links met on the way to a path, and the path where they lead.

        A link that leaves the workspace ends the trace: what lies there is not content.
        """
        links: list[str] = []
        done = ""
        ahead = path.split("/")
        while ahead:
            here = posixpath.join(done, ahead.pop(0))
            state = self.state(here)
            if state is None or state.kind is not FileKind.LINK:
                done = here
                continue
            links.append(here)
            target = self._target(here)
            if target is None or len(links) > _MOST_LINKS:
                return links, here
            done, ahead = "", [*target.split("/"), *ahead]
        return links, done

    def _target(self, link: str) -> str | None:
        """Target of a link, as a workspace path; None when outside."""
        text = self._read(link).decode("utf-8", "surrogateescape")
        root = str(self.on_disk(""))
        if text.startswith(f"{root}/"):
            return inside("", text[len(root) + 1 :])
        return None if text.startswith("/") else inside(posixpath.dirname(link), text)

    def _read(self, path: str) -> bytes:
        return self._read_source(path) if path in self.manifest else self._ignored.read(path)

    def in_folder(self, folder: str, pattern: str) -> list[str]:
        """The paths directly in a folder whose name matches."""
        if not has_wildcard(pattern):
            path = posixpath.join(folder, pattern)
            return [path] if self.has(path) else []
        found = [p for p in self.anywhere(pattern) if posixpath.dirname(p) == folder]
        listed = self._ignored.in_folder(folder)
        return [*found, *(p for p in listed if fnmatchcase(posixpath.basename(p), pattern))]

    def anywhere(self, pattern: str) -> list[str]:
        """The paths in any folder whose name matches; a pattern has at most one `*`."""
        if pattern not in self._found:
            self._found[pattern] = self._search(pattern)
        return self._found[pattern]

    def _search(self, pattern: str) -> list[str]:
        before, star, after = pattern.partition("*")
        needle = f"/{before}" if star and before else f"{before}{after}{_END}"
        found = self._containing(needle if star else f"/{needle}")
        found += self._ignored.named(pattern)
        return [p for p in found if fnmatchcase(posixpath.basename(p), pattern) and self.has(p)]

    def below(self, start: str) -> list[str]:
        """The paths that begin with this text."""
        return self._containing(f"{_END}/{start}")

    def ignored_folders(self, folder: str, pattern: str) -> list[str]:
        """The ignored folders directly in a folder whose name matches."""
        found = self._ignored.folders_in(folder)
        return [path for path in found if fnmatchcase(posixpath.basename(path), pattern)]

    def ignored_environments(self) -> list[str]:
        """Virtual environments among ignored folders."""
        return self._ignored.environments()

    def listed(self, folder: str) -> list[str]:
        """The names of everything directly in a folder."""
        found = {p[len(folder) + 1 :].partition("/")[0] for p in self.below(f"{folder}/")}
        found.update(map(posixpath.basename, self._ignored.in_folder(folder)))
        return sorted(found)

    def tree(self, path: str) -> dict[str, FileState]:
        """A file, or all files below a folder but compiled caches and packages within packages."""
        sources = (p for p in (path, *self.below(f"{path}/")) if self.is_source(p))
        found = {p: self.manifest[p] for p in sources if self.has(p)}
        return found | self._ignored.tree(path)

    def caches(self, folder: str, *, below: bool) -> dict[str, str]:
        """Compiled Python of ignored packages, by folders; that of sources is always removed."""
        return self._ignored.caches(folder, below=below)

    def on_disk(self, folder: str) -> Path:
        """Path of an ignored folder; nowhere, if nothing is known of ignored files."""
        return self._ignored.place(folder)

    def matching(self, pattern: str) -> list[str]:
        """The paths that a shell pattern stands for."""
        if not has_wildcard(pattern):
            return [pattern]
        return [path for path in self.manifest if matches(pattern, path)]

    def is_folder(self, path: str) -> bool:
        """True when something lies below the path, or it is an empty folder."""
        return bool(self.below(f"{path}/")) or (path in self.manifest and not self.has(path))

    def _containing(self, needle: str) -> list[str]:
        # One search over one long text is far cheaper than a look at every path.
        found: dict[str, None] = {}
        text = self._all_paths
        at = text.find(needle)
        while at >= 0:
            start = text.rfind(_END, 0, at + 1) + 2
            end = text.find(_END, max(at + 1, start))
            found[text[start:end]] = None
            at = text.find(needle, end)
        return list(found)

    @cached_property
    def _all_paths(self) -> str:
        """Every path between separators that no path can contain, with a slash before it."""
        return f"{_END}/{f'{_END}/'.join(self.manifest)}{_END}"


def upwards(folder: str) -> Iterator[str]:
    """The folder and every folder around it, the workspace itself last."""
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
    yield ""


PRESENT = "present"
INSTALLED = "installed:"  # before what an install brings: it may appear, but not change
COMPILED = f"{INSTALLED}compiled:"  # caches of it: they may change, and no check is run with them


class ShellText(NamedTuple):
    """Shell text that a contract runs indirectly, and where."""

    text: str
    folder: str


class GatheredInfluences(Struct):
    """Grows while rules are applied; `pinned` is the answer."""

    content: ManifestIndex
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
        """True when this piece of work was not done before."""
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
        """Form in which something is pinned that may appear, but not change."""
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
        """Look for programs in this folder before the search path, from here on."""
        self.in_front[folder] = None

    def note_called(self, *names: str) -> None:
        """Remember what is looked for by name while a folder stands before the search path."""
        if self.in_front:
            self.called.update(name for name in names if "/" not in name)

    def follow(self, what: ShellText | Invocation) -> None:
        """Look at this too: it runs when the contract does."""
        self.ahead.append(what)


def pin_settings(call: Invocation, known: GatheredInfluences) -> None:
    """Pin the settings of the called tool."""
    settings = SETTINGS[call.tool]
    for folder in folders_searched(call):
        for pattern in settings.files:
            for path in known.content.in_folder(folder, pattern):
                known.pin(path)
        for part in map(section, settings.sections):
            known.pin_section(folder, part)
    for pattern in settings.everywhere:
        for path in known.content.anywhere(pattern):
            known.pin(path)
    for part in map(section, settings.sections_everywhere):
        for path in known.content.anywhere(part.file):
            known.pin_section(path.rpartition("/")[0], part)
    named = inside(call.folder, call.value_of(*settings.options)) if settings.options else None
    if named:
        known.pin(named)


def folders_searched(call: Invocation) -> tuple[str, ...]:
    """The folder a tool runs in, those of the files it is given, and all above them."""
    given = [a.partition("::")[0] for a in call.args if not a.startswith("-") and is_plain(a)]
    starts = [call.folder, *(inside(call.folder, path) for path in given)]
    found = {f: None for start in starts if start is not None for f in upwards(start)}
    return tuple(found)
