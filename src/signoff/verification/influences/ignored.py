"""Ignored files that influence a check: no content of a snapshot, but not as they were approved."""

from __future__ import annotations

import configparser
import os
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from signoff.commands.analysis import analyse
from signoff.commands.launchers import inside
from signoff.domain.digests import digest_of
from signoff.domain.globs import matches_any
from signoff.domain.snapshot import Change, ChangeKind, FileKind, FileState, Manifest
from signoff.verification.ignored import Ignored
from signoff.verification.influences.changed import Approved, CheckFacts, Influence, find_influences
from signoff.verification.influences.gathered import COMPILED, INSTALLED, ManifestIndex
from signoff.verification.influences.packages import STARTUP_MARK, startup_code
from signoff.verification.pins import Pins, fingerprint
from signoff.workspace.caches import LooseCopies
from signoff.workspace.opened import OpenedFiles
from signoff.workspace.records import Times
from signoff.workspace.walk import byproduct_digests
from signoff.workspace.workspace import Workspace

_NO_CODE = digest_of({})
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*", re.I)


class LooseFiles(Struct, frozen=True):
    """Ignored files that no build or install made, as approved and as they lay before a judging."""

    approved: Mapping[str, str] = field(default_factory=dict)
    now: Mapping[str, FileState] = field(default_factory=dict)
    kept: Mapping[str, FileState] = field(default_factory=dict)  # as approved, with a copy
    made: tuple[Influence, ...] = ()  # environments of the check's own tools that came since
    times: Mapping[str, Times] = field(default_factory=dict)  # of source files, before a judging

    @classmethod
    def of(
        cls, pins: Pins, workspace: Workspace, made: tuple[Influence, ...], set_up: bool
    ) -> LooseFiles:
        """None of them in another folder than the approved one: there they are somebody else's."""
        if pins.workspace != str(workspace.root):
            return cls()
        if pins.ignored is None or set_up:
            return cls(times=workspace.times())
        ignored = Ignored(workspace.root, workspace.byproducts)
        # Among too many new files, those that were approved are compared all the same.
        seen = {**ignored.loose(), **ignored.present(pins.ignored)}
        now = {path: state for path, state in seen.items() if state.kind is not FileKind.DIRECTORY}
        same = {p for p, state in now.items() if pins.ignored.get(p) == fingerprint(state)}
        gone = {p: _state(f) for p, f in pins.ignored.items() if p not in same}
        copies = LooseCopies(workspace.store)
        kept = {p: state for p, state in gone.items() if copies.read(state.sha256) is not None}
        # A tool that the check did not run before may have been there all the same.
        tops = {i: ignored.topmost(i.path) or i.path for i in made}
        here = byproduct_digests(workspace.root, set(tops.values()))
        then = pins.byproducts or {}
        came = tuple(i for i, top in tops.items() if then.get(top) != here.get(top))
        return cls(pins.ignored, now, kept, came, workspace.times())

    @property
    def folders(self) -> tuple[str, ...]:
        """Folders of the files, for a watch over what is opened."""
        return tuple(sorted({posixpath.dirname(path) for path in self.now}))

    @property
    def changes(self) -> tuple[Change, ...]:
        """Changes of ignored files: new or changed ones, and those gone that can be put back."""
        here = tuple(
            Change(path, ChangeKind.MODIFIED if path in self.approved else ChangeKind.ADDED)
            for path, state in self.now.items()
            if self.approved.get(path) != fingerprint(state)
        )
        gone = sorted(self.kept.keys() - self.now.keys())
        return (*here, *(Change(path, ChangeKind.REMOVED) for path in gone))

    @contextmanager
    def as_approved(self, workspace: Workspace, paths: Collection[str]) -> Iterator[frozenset[str]]:
        """Set these ignored paths for a while as approved: put back, or away if not known."""
        back = {path: self.kept[path] for path in paths if path in self.kept}
        with (
            workspace.without_byproducts(paths),
            LooseCopies(workspace.store).put_back(workspace.root, back),
        ):
            yield frozenset()

    def influences(
        self, content: Manifest, then: Approved, facts: CheckFacts, opened: OpenedFiles
    ) -> tuple[Influence, ...]:
        """Ignored files that the check may have obeyed, unless the plan allows them."""
        changes = self.changes
        made = tuple(i for i in self.made if not _is_settled(i.path, facts))
        if not changes:
            return made
        run = _run_by(facts.texts)
        executed = [c for c in changes if c.path in run and not matches_any(facts.allowed, c.path)]
        before = {path: _state(text) for path, text in self.approved.items()}
        found = find_influences(
            (c for c in changes if c.path not in run),
            {**content, **self.now},
            replace(then, manifest={**then.manifest, **before}),
            facts,
            opened,
            ignored=True,
        )
        return (*(Influence(c.path, "an ignored file that the check runs") for c in executed),
                *(replace(i, why=f"ignored, {i.why}") for i in found), *made)  # fmt: skip


def made_since(
    approved: Mapping[str, str], now: Mapping[str, str], ignored: Ignored
) -> tuple[Influence, ...]:
    """Environments that somebody made since the approval, and that decide the check.

    They decide it where its programs or their packages come from them, and where an interpreter
    runs code of theirs at its start. Nothing in them can be held against a copy that the agent did
    not write. An interpreter that is a link to the machine's own is the machine's.
    """
    found: dict[str, str] = {}
    for name in sorted(now.keys() - approved.keys()):
        path, _, mark = name.partition("#")
        top = ignored.topmost(path)
        if top is None or not now[name].startswith(INSTALLED) or now[name].startswith(COMPILED):
            continue
        if now[name].endswith(_NO_CODE) or _is_the_machines(path, ignored):
            continue
        if mark == STARTUP_MARK:
            code = startup_code(path, ManifestIndex({}, lambda _: b"", ignored))
            found |= {f"{path}/{n}": "came after the approval, and runs before it" for n in code}
        else:
            why = f"came after the approval, and the check runs `{path}` of it"
            found.setdefault(top, f"{why}; a `[setup] command` can make it instead")
    tops = (p for p in sorted(found) if not any(p.startswith(f"{other}/") for other in found))
    return tuple(Influence(path, found[path]) for path in tops)


def _is_the_machines(path: str, ignored: Ignored) -> bool:
    """True for a link to an interpreter outside the workspace, or a file that names one."""
    place, root = ignored.place(path), ignored.place("").resolve()
    if place.is_symlink():
        end = Path(os.path.realpath(place))
        is_python = _PYTHON.fullmatch(place.name) and _PYTHON.fullmatch(end.name)
        return bool(is_python) and not end.is_relative_to(root)
    if place.name != "pyvenv.cfg":
        return False
    parsed = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parsed.read_string(f"[all]\n{place.read_text()}")
        home = Path(parsed.get("all", "home"))
    except (OSError, ValueError, configparser.Error):
        return False
    return home.is_absolute() and not Path(os.path.realpath(home)).is_relative_to(root)


def changed_byproducts(
    approved: Mapping[str, str],
    now: Mapping[str, str],
    facts: CheckFacts,
    known: Iterable[Influence],
) -> tuple[Influence, ...]:
    """By-products that are not as approved, unless the check names them or the plan lets them be.

    Asked where the same content was broken before: then nothing else can have made it hold. They
    count as a whole, in place of those files in them that are known to influence the check.
    """
    changed = [
        path
        for path, seen in now.items()
        if approved.get(path) != seen
        and not _is_settled(path, facts)
        and not any(_names(text, path) for text, _ in facts.texts)
    ]
    why = "a by-product; nothing else changed since the same content was broken"
    apart = (i for i in known if not any(f"{i.path}/".startswith(f"{p}/") for p in changed))
    return (*apart, *(Influence(path, why) for path in changed))


def _is_settled(path: str, facts: CheckFacts) -> bool:
    """True when the plan lets it change, or something in it."""
    settled = (*facts.allowed, *facts.produces)
    within = any(f"{glob}/".startswith(f"{path}/") for glob in settled)
    return within or matches_any(facts.allowed, path)


def _names(text: str, path: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(path)}(?![\w-])", text) is not None


def _run_by(texts: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Files that shell texts source or execute."""
    scripts = ((folder, script.path) for text, folder in texts for script in analyse(text).scripts)
    return frozenset(path for folder, name in scripts if (path := inside(folder, name)))


def _state(text: str) -> FileState:
    """File state of a fingerprint; the size is not in it."""
    kind, _, digest = text.partition(":")
    return FileState(FileKind(kind.removesuffix("+x")), kind.endswith("+x"), 0, digest)
