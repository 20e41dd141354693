"""By-products that the repository's set-up command made, on content that the harness wrote out.

    a folder with nothing but the content → the command, confined like a contract → what it made

What it makes counts where the ignore rules cover it; everything else in the folder is content, and
the content is the snapshot's.
"""

from __future__ import annotations

import json
import os
import re
import stat
import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from msgspec import Struct

from signoff.domain.digests import digest_of
from signoff.domain.plan import Contract, JudgeIn
from signoff.domain.redaction import Redactor
from signoff.domain.verdict import Ending
from signoff.errors import SetupFailed
from signoff.process.command import Mount
from signoff.settings.loading import Setup
from signoff.verification.check_runner import CheckRunner
from signoff.verification.enclosure import JudgingPlace
from signoff.verification.verdicts import output_tail
from signoff.workspace.byproducts import Byproducts
from signoff.workspace.fitting import write_out
from signoff.workspace.folders import opened_root, opened_strictly, remove_any, remove_tree
from signoff.workspace.opened import OpenedFiles, OpenWatch
from signoff.workspace.records import FilesByFolder, StatKey, stat_key
from signoff.workspace.walk import CACHE_FOLDERS, CACHE_SUFFIXES, Territory, scan
from signoff.workspace.workspace import Workspace

KEPT_SETUPS = 4  # of one workspace: its content, with influences as approved, and the ones before
_INSTALLS = re.compile(r"\b(?:npm|pnpm|yarn)\s+(?:ci|i|install)\b")
_INSTALL_SCRIPTS = ("preinstall", "install", "postinstall", "prepare")
_TREE, _RECORD = "tree", "made.json"


def as_contract(setup: Setup) -> Contract:
    """The command as what it is for the judge: one more command that reads the content."""
    return Contract(setup.command, timeout_s=setup.timeout_s, network=setup.network)


def as_read(setup: Setup) -> Contract:
    """The command with what an install of node packages runs besides: the package's scripts."""
    found = _INSTALLS.search(setup.command)
    more = [f"npm run {name}" for name in _INSTALL_SCRIPTS] if found else []
    return Contract("\n".join((setup.command, *more)))


def run_setup(
    setup: Setup, runner: CheckRunner, spot: JudgingPlace, paths: Iterable[str], redactor: Redactor
) -> OpenedFiles:
    """Run the command where nothing but content lies; returns the files below `paths` it opened."""
    with OpenWatch(spot.on_disk or spot.folder, paths) as watch:
        seen = runner.run(as_contract(setup), spot, watch).observation
    if seen.ending is Ending.EXITED and seen.exit_code == 0:
        return watch.seen
    raise SetupFailed(
        f"set-up failed: `{setup.command}`: {seen.describe()}",
        facts={
            "command": setup.command,
            "exited": seen.ending is Ending.EXITED,
            "output_tail": output_tail(seen, redactor),
        },
    )


class MadeByProducts(Struct, frozen=True):
    """By-products, and what the command read to make them."""

    byproducts: Byproducts
    opened: OpenedFiles


@dataclass(frozen=True)
class SetUpsInUse:
    """Results of a set-up command that lanes and rooms work with at once; none of them is removed.

    One is made at a time: whoever waited may find that it does for its content too.
    """

    making: threading.RLock = field(default_factory=threading.RLock)
    looking: threading.Lock = field(default_factory=threading.Lock)
    places: dict[str, Path] = field(default_factory=dict)  # by who took it last


class SetUps(Struct, frozen=True):
    """Results of the set-up command for a workspace, kept in the home, where no contract can write.

    made → a kept one, if nothing differs that the command may have read → else a new one
    """

    setup: Setup
    runner: CheckRunner
    workspace: Workspace
    folder: Path
    redactor: Redactor
    in_use: SetUpsInUse
    user: str = ""  # who works with what it made last: a lane, a room

    def made(self, content: FilesByFolder) -> MadeByProducts:
        """By-products of exactly this content, or of content that the command cannot tell from it.

        The caller holds the workspace's lock. SetupFailed when the command does not end well.
        """
        files = _fingerprints(content)
        found = self._find(files)
        if found is not None:
            return found
        with self.in_use.making:
            return self._find(files) or self.make(content)

    def _find(self, files: Mapping[str, str]) -> MadeByProducts | None:
        with self.in_use.looking:
            for kept, record in self._kept():
                if record["base"] == self._base and not _may_have_read(record, files):
                    os.utime(kept / _RECORD)
                    self.in_use.places[self.user] = kept
                    return _made(kept, record)
        return None

    @property
    def _base(self) -> str:
        """Everything but the content that makes a kept one valid."""
        return digest_of(
            {
                "command": self.setup.command,
                "network": self.setup.network,
                "search_path": self.runner.search_path,
                "isolation": self.runner.enclosure.isolation,
                "workspace": str(self.workspace.root),
                "rules": self.workspace.rules.to_data(),
            }
        )

    def make(self, content: FilesByFolder) -> MadeByProducts:
        """Run the command now, whatever is kept."""
        with self.in_use.making:
            return self._make(content)

    def _make(self, content: FilesByFolder) -> MadeByProducts:
        files = _fingerprints(content)
        name = digest_of({"base": self._base, "files": files})[:24]
        with self.in_use.looking:
            used = set(self.in_use.places.values())
            place = next(p for i in count() if (p := self.folder / f"{name}-{i}") not in used)
            self._prune(place, used)
        tree = place / _TREE
        tree.mkdir(mode=0o700, parents=True)
        write_out(content, self.workspace.objects, tree)
        # At the workspace's own path: virtual environments hold absolute paths.
        root = self.workspace.root
        shown = Mount(tree, root, writable=True)
        opened = run_setup(
            self.setup,
            self.runner,
            JudgingPlace(root, JudgeIn.CLEAN, mounts=(shown,), on_disk=tree),
            content,
            self.redactor,
        )
        territory = Territory(tree, self.workspace.rules, self.workspace.apart)
        record = {
            "base": self._base,
            "files": files,
            "byproducts": scan(territory, {}, None, quiet=True).byproducts,
            "opened": sorted(opened.files),
            "listed": sorted(opened.folders),
            "why_not": opened.why_not,
        }
        with self.in_use.looking:
            # Last: a folder without a record was never finished.
            (place / _RECORD).write_text(json.dumps(record), "ascii")
            self.in_use.places[self.user] = place
        return _made(place, record)

    def _kept(self) -> list[tuple[Path, dict[str, Any]]]:
        """Finished results, the latest first."""
        found: list[tuple[float, Path, dict[str, Any]]] = []
        for record in self.folder.glob(f"*/{_RECORD}"):
            data = json.loads(record.read_bytes())
            found.append((record.stat().st_mtime, record.parent, data))
        return [(place, data) for _, place, data in sorted(found, key=lambda f: -f[0])]

    def _prune(self, place: Path, used: Collection[Path]) -> None:
        """Remove what was not finished, and the oldest, so that there is room for this one."""
        if not self.folder.is_dir():
            return
        latest = [made for made, _ in self._kept() if made != place]
        kept = {*latest[: KEPT_SETUPS - 1], *used}
        with opened_root(self.folder) as fd:
            for found in self.folder.iterdir():
                if found not in kept:
                    remove_tree(fd, found.name)


def _made(place: Path, record: Mapping[str, Any]) -> MadeByProducts:
    opened = OpenedFiles(
        frozenset(record["opened"]), frozenset(record["listed"]), why_not=record["why_not"]
    )
    return MadeByProducts(Byproducts(place / _TREE, tuple(record["byproducts"])), opened)


def _fingerprints(content: FilesByFolder) -> dict[str, str]:
    """Content and mode of every file, and the folders that are empty."""
    found = {f"{folder}/": "" for folder, files in content.items() if not files}
    for folder, files in content.items():
        prefix = f"{folder}/" if folder else ""
        for name, record in files.items():
            found[prefix + name] = f"{record.key[4]:o}:{record.sha256.hex()}"
    return found


def _may_have_read(record: Mapping[str, Any], files: Mapping[str, str]) -> bool:
    """True when the command may know of a difference: an open is seen, a mere look is not.

    So a file that came, went, or has another mode counts as read, and so does a changed one in a
    folder that was listed.
    """
    then: Mapping[str, str] = record["files"]
    differ = {path for path in then.keys() | files.keys() if then.get(path) != files.get(path)}
    if not differ:
        return False
    if record["why_not"] or not differ.isdisjoint(record["opened"]):
        return True
    listed = frozenset(record["listed"])
    return any(
        then.get(path, "").partition(":")[0] != files.get(path, "").partition(":")[0]
        or path.rpartition("/")[0] in listed
        for path in differ
    )


@dataclass
class ScratchSetUp:
    """By-products made in the very folder in which contracts are judged, one after the other.

    Whatever a contract changed among them is made anew before the next one: what one leaves must
    not decide another.
    """

    setup: Setup
    runner: CheckRunner
    spot: JudgingPlace
    workspace: Workspace  # in which they are by-products
    redactor: Redactor
    opened: OpenedFiles = field(default_factory=OpenedFiles, init=False)
    paths: tuple[str, ...] = field(default=(), init=False)
    _made_on: str = field(default="", init=False)
    _states: Mapping[str, StatKey] = field(default_factory=dict, init=False)

    def refresh(self) -> None:
        """Make by-products of exactly the content that lies there now."""
        content = self.workspace.snapshot().digest
        if content == self._made_on and self._is_as_made():
            return
        self._made_on = ""
        self._remove(self.workspace.byproducts)
        folders = self.workspace.folders
        self.opened = run_setup(self.setup, self.runner, self.spot, folders, self.redactor)
        if self.workspace.snapshot().digest != content:
            self.workspace.revert(content)
        self.paths = self.workspace.byproducts
        self._made_on, self._states = content, self._look()

    def _is_as_made(self) -> bool:
        """True when nothing made was changed; compiled caches that came since are removed."""
        now = self._look()
        came = now.keys() - self._states.keys()
        if any(now.get(path) != state for path, state in self._states.items()):
            return False
        self._remove(path for path in came if _is_compiled(path))
        return all(map(_is_compiled, came))

    def _look(self) -> dict[str, StatKey]:
        """Stat data of every file and link among what was made."""
        found: dict[str, StatKey] = {}
        root = self.workspace.root
        for top in self.paths:
            walked = os.walk(root / top)
            inside = (Path(f, name) for f, folders, names in walked for name in (*names, *folders))
            for place in (root / top, *inside):
                seen = place.lstat()
                if not stat.S_ISDIR(seen.st_mode):
                    found[place.relative_to(root).as_posix()] = stat_key(seen)
        return found

    def _remove(self, paths: Iterable[str]) -> None:
        with opened_root(self.workspace.root) as root_fd:
            for path in paths:
                above, _, name = path.rpartition("/")
                with opened_strictly(root_fd, above) as fd:
                    remove_any(fd, name)


def _is_compiled(path: str) -> bool:
    return path.endswith(CACHE_SUFFIXES) or not CACHE_FOLDERS.isdisjoint(path.split("/"))
