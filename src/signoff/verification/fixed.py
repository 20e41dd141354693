"""Files that stay as they are while a contract runs: shown read-only, and watched.

A sandbox with mounts shows the most important ones read-only, file by file: new files beside them
are allowed. Mounts cost more the more there are (bubblewrap reads the list of mounts for each: 16
take 4 ms, 64 12 ms, 200 80 ms, 1,000 1.5 s), so the others are only watched, as all are where
there are no mounts. A folder above can be moved with its mounts, so moving is watched everywhere.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

from signoff.commands.analysis import analyse
from signoff.domain.languages import is_test
from signoff.domain.observation import Observation
from signoff.domain.text import decode_output, storable_path
from signoff.domain.verdict import Reason, Result
from signoff.planfile.verify.subjects import measures
from signoff.process.command import Mount
from signoff.verification.enclosure import JudgingPlace
from signoff.verification.ignored import configures
from signoff.verification.protection import Guard, file_of
from signoff.verification.verdicts import NAMED_FILES, UnboundVerdict
from signoff.workspace.opened import OpenedFiles

MOST_MOUNTED = 16

_SETS_ATTRIBUTES = frozenset({"chmod", "touch", "chown", "chgrp", "setfacl"})
_DENIED = re.compile(r"read-only file system|\bEROFS\b|resource busy|\bEBUSY\b", re.IGNORECASE)


@dataclass(frozen=True)
class Fixed:
    """What decides one check; nothing of it may be written to while the check runs."""

    files: frozenset[str] = frozenset()
    # Those whose modes and times must stay too, the most important first: what the contract's own
    # text sets is not among them.
    kept: tuple[str, ...] = ()
    mounted: tuple[str, ...] = ()

    @classmethod
    def of(cls, guard: Guard, texts: Iterable[str], set_back: Collection[str] = ()) -> Fixed:
        """Influences, what was pinned or set back, and what the work is compared with."""
        texts = tuple(texts)
        influences = sorted(file_of(name) for name in guard.influences or ())
        named = dict.fromkeys((*influences, *set_back, *sorted(guard.pinned or ())))
        files = [p for p in named if not guard.is_written(p)]
        words = tuple(_words_set(texts))
        kept = tuple(p for p in files if not _is_set(p, words))
        return cls(frozenset((*files, *_compared_with(texts))), kept)

    def shown(self, seat: JudgingPlace) -> tuple[JudgingPlace, Fixed]:
        """The seat with the first of them read-only."""
        disk = seat.on_disk or seat.folder
        # A link of the agent's on the way would lead the mount to another place.
        there = (p for p in self.kept if _is_plain(disk, p) and _is_plain(seat.folder, p))
        mounted = tuple(islice(there, MOST_MOUNTED))
        mounts = (Mount(disk / p, seat.folder / p, holds_parents=False) for p in mounted)
        return replace(seat, mounts=(*seat.mounts, *mounts)), replace(self, mounted=mounted)

    def written(self, approved: Collection[str], opened: OpenedFiles) -> UnboundVerdict | None:
        """The answer when one of them was written to, and perhaps put back."""
        # A tool may write a lock file anew with the same words; what it says is in the digest.
        both = opened.written & opened.files
        tests = {p for p in both if p in approved and is_test(p)}
        came_and_went = {p for p in both if p not in approved and configures(p)}
        decides = self.files | tests | came_and_went
        above = {path[:i] for path in decides for i, c in enumerate(path) if c == "/"}
        found = sorted(opened.written & (decides | above))
        if found:
            return _unknown(f"was written to while it ran: {_names(found)}")
        if decides and opened.overflowed:
            return _unknown(f"may have been written to while it ran: {opened.why_not}")
        return None

    def refused(self, seen: Observation) -> UnboundVerdict | None:
        """The answer when the check failed and says that one of them could not be written."""
        said = (decode_output(stream.kept) for stream in (seen.stdout, seen.stderr))
        denied = [line for text in said for line in text.splitlines() if _DENIED.search(line)]
        found = [p for p in self.mounted if any(posixpath.basename(p) in line for line in denied)]
        return _unknown(f"could not be written to by the check: {_names(found)}") if found else None


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
    return ", ".join(f"`{storable_path(path)}`" for path in paths[:NAMED_FILES])


def _unknown(what: str) -> UnboundVerdict:
    advice = "if the contract does that itself, let it work on a copy"
    return UnboundVerdict(Result.UNKNOWN, Reason.MOVED, f"what decides the check {what}; {advice}")
