"""Find what keeps a contract from being judged as approved, and keep deciding files as they are."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from signoff.commands.analysis import analyse
from signoff.commands.launchers import is_plain
from signoff.commands.programs import BUILTINS
from signoff.domain.languages import is_test, is_work
from signoff.domain.plan import Contract
from signoff.domain.text import decode_output, shown_list, storable_path
from signoff.domain.verdict import Isolation, Observation, Reason, Result
from signoff.errors import ConfigInvalid
from signoff.planfile.subjects import measures
from signoff.process.command import Mount
from signoff.process.shell import find_tool
from signoff.verification.enclosure import Enclosure, JudgingPlace
from signoff.verification.heldout import HeldOut, HeldOutChecks
from signoff.verification.ignored import configures, digest_on_disk
from signoff.verification.pins import Pins, changed_tools
from signoff.verification.protection import Guard, file_of
from signoff.verification.verdicts import UnboundVerdict
from signoff.workspace.opened import OpenedFiles


def tools_of(contract: Contract, search_path: str, workspace: Path) -> dict[str, dict[str, Any]]:
    """The programs that analysis can see the contract call, as they are found now.

    A program inside the workspace is a by-product and covered by the environment digest: it is
    labelled, not hashed. What the analysis cannot see through adds nothing.
    """
    facts = analyse(contract.command)
    found: dict[str, dict[str, Any]] = {}
    for call in facts.calls:
        name = call.name
        if name in BUILTINS or name in facts.functions or not is_plain(name) or name in found:
            continue
        if "/" in name and not name.startswith("/"):
            continue  # a script of the workspace, pinned as content
        found[name] = _seen(name, search_path, workspace)
    return found


def _seen(name: str, search_path: str, workspace: Path) -> dict[str, Any]:
    path = find_tool(name, search_path)
    if path is None:
        return {"path": None}
    if path.is_relative_to(workspace):
        return {"path": str(path), "by_product": True}
    try:
        real = path.resolve()
        return {"path": str(path), "sha256": digest_on_disk(real, real.stat())}
    except OSError as error:
        return {"path": str(path), "sha256": f"unreadable: {error.strerror}"}


class Obstacles(Struct, frozen=True):
    """A sandbox that is missing, a tool that changed, a held-out check that is not the approved."""

    pins: Pins
    workspace: Path
    enclosure: Enclosure
    checks: HeldOutChecks
    sandbox_required: bool = False

    def find(self, contract: Contract) -> UnboundVerdict | None:
        """The reason why the contract cannot be judged; None when it can."""
        return self._sandbox(contract) or self._tools(contract) or self._heldout(contract)

    def heldout(self, contract: Contract) -> HeldOut:
        """The held-out check behind a contract that `find` had nothing against."""
        assert contract.heldout is not None
        return self.checks.find(contract.heldout)

    def _sandbox(self, contract: Contract) -> UnboundVerdict | None:
        if self.enclosure.isolation is not Isolation.NONE:
            return None
        if contract.network is False:
            return _unknown(Reason.SANDBOX_MISSING, "`network: no` needs a sandbox")
        if self.sandbox_required:
            return _unknown(Reason.SANDBOX_MISSING, "the policy requires a sandbox")
        return None

    def _tools(self, contract: Contract) -> UnboundVerdict | None:
        if not self.pins.tools:
            return None
        now = tools_of(contract, self.pins.search_path, self.workspace)
        changed = changed_tools(self.pins.tools, now)
        if not changed:
            return None
        return _unknown(Reason.TOOL_CHANGED, f"tool changed since approval: {'; '.join(changed)}")

    def _heldout(self, contract: Contract) -> UnboundVerdict | None:
        name = contract.heldout
        if name is None:
            return None
        try:
            check = self.checks.find(name)
        except ConfigInvalid as error:
            return _unknown(Reason.INFRASTRUCTURE, str(error))
        if check.digest != self.pins.heldout.get(name):
            what = f"held-out check `{name}` is not the one that was approved"
            return _unknown(Reason.TOOL_CHANGED, what)
        return None


def unreadable(paths: list[str]) -> UnboundVerdict | None:
    """Judge nothing while a check could pass over files that it may not read."""
    if not paths:
        return None
    named = _names(paths)
    what = f"their own permissions keep these from being read: {named}; chmod u+rX them"
    return _unknown(Reason.INFRASTRUCTURE, what)


def _unknown(reason: Reason, what: str) -> UnboundVerdict:
    return UnboundVerdict(Result.UNKNOWN, reason, f"could not judge: {what}")


# A sandbox with mounts shows the most important files read-only, one by one: new files beside them
# are allowed. Mounts cost more the more there are (bubblewrap reads the list of mounts for each: 16
# take 4 ms, 64 12 ms, 200 80 ms, 1,000 1.5 s), so the others are only watched, as all are where
# there are no mounts. A folder above can be moved with its mounts, so moving is watched everywhere.
MOST_MOUNTED = 16
MOST_WATCHED = 2_000  # looked at twice, some microseconds each

_SETS_ATTRIBUTES = frozenset({"chmod", "touch", "chown", "chgrp", "setfacl"})
_DENIED = re.compile(r"read-only file system|\bEROFS\b|resource busy|\bEBUSY\b", re.IGNORECASE)


class Fixed(Struct, frozen=True):
    """Files that decide one check; none of them may be written to while the check runs."""

    files: frozenset[str] = frozenset()
    # Those whose modes and times must stay too, the most important first: what the contract's own
    # text sets is not among them.
    kept: tuple[str, ...] = ()
    mounted: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()  # those, and what is no work and was read before anybody worked

    @classmethod
    def of(
        cls,
        guard: Guard,
        texts: Iterable[str],
        set_back: Collection[str] = (),
        read: Iterable[str] = (),
    ) -> Fixed:
        """Influences, what was pinned or set back, and what the work is compared with."""
        texts = tuple(texts)
        influences = sorted(file_of(name) for name in guard.influences or ())
        named = dict.fromkeys((*influences, *set_back, *sorted(guard.pinned or ())))
        files = [p for p in named if not guard.is_written(p)]
        words = tuple(_words_set(texts))
        kept = tuple(p for p in files if not _is_set(p, words))
        beside = sorted(p for p in read if not is_work(p) and not _is_set(p, words))
        watched = tuple(dict.fromkeys((*kept, *beside[:MOST_WATCHED])))
        return cls(frozenset((*files, *_compared_with(texts))), kept, watched=watched)

    def shown(self, spot: JudgingPlace) -> tuple[JudgingPlace, Fixed]:
        """The place with the first of them read-only."""
        disk = spot.on_disk or spot.folder
        # A link of the agent's on the way would lead the mount to another place.
        there = (p for p in self.kept if _is_plain(disk, p) and _is_plain(spot.folder, p))
        mounted = tuple(islice(there, MOST_MOUNTED))
        mounts = (Mount(disk / p, spot.folder / p, holds_parents=False) for p in mounted)
        return replace(spot, mounts=(*spot.mounts, *mounts)), replace(self, mounted=mounted)

    def written(
        self, approved: Collection[str], opened: OpenedFiles, bent: Collection[str] = ()
    ) -> UnboundVerdict | None:
        """The answer when one of them, or of those `bent`, was written to, and perhaps put back."""
        both = opened.written & opened.files
        tests = {p for p in both if p in approved and is_test(p)}
        came_and_went = {p for p in both if p not in approved and configures(p)}
        decides = self.files.union(tests, came_and_went, bent)
        above = {path[:i] for path in decides for i, c in enumerate(path) if c == "/"}
        found = sorted(opened.written & (decides | above))
        if found:
            line = " or declare `**writes:**`" if bent else ""
            return _moved(f"was written to while it ran: {_names(found)}", line)
        if decides and opened.overflowed:
            return _moved(f"may have been written to while it ran: {opened.why_not}")
        return None

    def refused(self, seen: Observation) -> UnboundVerdict | None:
        """The answer when the check failed and says that one of them could not be written."""
        said = (decode_output(stream.kept) for stream in (seen.stdout, seen.stderr))
        denied = [line for text in said for line in text.splitlines() if _DENIED.search(line)]
        found = [p for p in self.mounted if any(posixpath.basename(p) in line for line in denied)]
        return _moved(f"could not be written to by the check: {_names(found)}") if found else None


def _is_plain(folder: Path, path: str) -> bool:
    real = folder.resolve() / path
    return real.is_file() and real.resolve() == real


def _compared_with(texts: Iterable[str]) -> Iterator[str]:
    """Files that plain commands hold the work against, unless the contract writes them itself."""
    for text in texts:
        own = {write.path for write in analyse(text).writes}
        yield from (posixpath.normpath(path) for path in measures(text) if path not in own)


def _words_set(texts: Iterable[str]) -> Iterator[str]:
    """Files whose modes or times the contract's own text sets, as it spells them."""
    for text in texts:
        for call in analyse(text).calls:
            if call.name in _SETS_ATTRIBUTES:
                yield from (word for word in call.args if not word.startswith("-"))
            elif not _SETS_ATTRIBUTES.isdisjoint(call.args):
                yield "."


def _is_set(path: str, words: tuple[str, ...]) -> bool:
    for word in words:
        plain = posixpath.normpath(word)
        if plain == "." or "$" in word or path.startswith(f"{plain}/"):
            return True
        # After a `cd` it may be spelled from another folder.
        if fnmatchcase(posixpath.basename(path), posixpath.basename(plain)):
            return True
    return False


def _names(paths: list[str]) -> str:
    return shown_list(map(storable_path, paths))


def _moved(what: str, line: str = "") -> UnboundVerdict:
    advice = f"if the contract does that itself, let it work on a copy{line}"
    return UnboundVerdict(Result.UNKNOWN, Reason.MOVED, f"what decides the check {what}; {advice}")
