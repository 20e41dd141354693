"""Copies that cloud drives leave beside plan and progress files: told by name, merged by line."""

from __future__ import annotations

import re

# Imported for annotations only: the fast paths import this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

# A line, and the how-manieth of its kind it is in its version.
_Key = tuple[str, int]

_FLAGS = re.IGNORECASE | re.DOTALL
# Compiled when first needed: most names are plain, and most commands never merge.
_OURS = r"(?:plan|progress)(?:-.+)?"
# `conflict` as English, German, French, Italian, Spanish and Portuguese drives write it.
_CONFLICT = r"[ck]onfli[ck]?t"
_MARKS = "|".join(
    (
        rf"\s*\((?:[^()]|\([^()]*\))*{_CONFLICT}(?:[^()]|\([^()]*\))*\)",
        rf"\s*\[[^\[\]]*{_CONFLICT}[^\[\]]*\]",
        r"\s*\([1-9][0-9]{0,2}\)",
        r"\s+-\s+(?:copy|kopie|copie|copia|cópia|kopia)",
        r"\s*\((?:another |[0-9]+(?:st|nd|rd|th) )?copy(?: [0-9]+)?\)",
        r"\.sync-conflict-[\w-]*",
        r"_conflict-[0-9]{8}-[0-9]{6}",
    )
)
_MARKED = rf"(.+?)(?:{_MARKS})"
_SIGNS_OF_A_MARK = (" ", "(", "[", "conflict")
_UNNAMED_AGAIN = r"(plan|progress)(?: copy)?(?: [1-9][0-9]{0,2})?"
_KEPT_LOSER = r"(.+\.md)\.conflict-[1-9][0-9]*"
_TIMESTAMP = (
    r"(?:- )?([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?"
    r"(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?))(?!\w)"
)


def conflict_copy_of(file_name: str) -> str | None:
    """The file of which this one is a conflict copy, if its name says so.

    Knows what Dropbox, Google Drive, browsers, Windows, GNOME, Syncthing, ownCloud, Nextcloud and
    Seafile append. Two habits look like a plan's own name and are taken for one: OneDrive's
    `PLAN-x-HOSTNAME.md` and iCloud's `PLAN-x 2.md`. Without a name there is no such doubt:
    `PLAN 2.md` and `PLAN copy.md` are copies.
    """
    stem, dot, extension = file_name.rpartition(".")
    if extension.lower() != "md" or not any(s in stem.lower() for s in _SIGNS_OF_A_MARK):
        return None
    original = stem
    while (marked := re.fullmatch(_MARKED, original, _FLAGS)) and _is_ours(marked[1]):
        original = marked[1]
    if again := re.fullmatch(_UNNAMED_AGAIN, original, _FLAGS):
        original = again[1]
    return original + dot + extension if original != stem else None


def _is_ours(stem: str) -> bool:
    return bool(re.fullmatch(f"{_OURS}|{_UNNAMED_AGAIN}", stem, _FLAGS))


def kept_loser_of(file_name: str) -> str | None:
    """The plan or progress file beside which this text was kept when it lost a race."""
    kept = re.fullmatch(_KEPT_LOSER, file_name, _FLAGS)
    return kept[1] if kept and re.fullmatch(_OURS, kept[1][: -len(".md")], _FLAGS) else None


class _Block:
    """A line with a timestamp, and the lines without one that were seen behind it."""

    def __init__(self, time: datetime):
        self.time = time
        self.followers: dict[_Key, None] = {}


def merge_progress(texts: Sequence[str]) -> str:
    """Every line of every version of a progress file, in the order of their timestamps.

    A line that several versions share stands once, and twice if one version has it twice. Lines
    without a timestamp stay behind the line with one that they followed. Line ends become `\\n`.
    """
    head: dict[_Key, None] = {}
    blocks: dict[_Key, _Block] = {}
    for text in texts:
        _add_version(text, head, blocks)
    out = [line for line, _ in head]
    for (line, _), block in sorted(blocks.items(), key=lambda item: item[1].time):
        out += [line, *(follower for follower, _ in block.followers)]
    return "".join(f"{line}\n" for line in out)


def _add_version(text: str, head: dict[_Key, None], blocks: dict[_Key, _Block]) -> None:
    behind = head
    timed: dict[str, int] = {}
    untimed: dict[str, int] = {}
    for line in _lines(text):
        time = _time_of(line)
        if time is None:
            behind.setdefault(_numbered(line, untimed))
        else:
            behind = blocks.setdefault(_numbered(line, timed), _Block(time)).followers
            untimed = {}


def _numbered(line: str, seen: dict[str, int]) -> _Key:
    seen[line] = seen.get(line, 0) + 1
    return line, seen[line]


def _lines(text: str) -> list[str]:
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def _time_of(line: str) -> datetime | None:
    from datetime import datetime  # noqa: PLC0415 - only merging needs it, never the fast paths

    stamp = re.match(_TIMESTAMP, line)
    if stamp is None:
        return None
    try:
        return datetime.fromisoformat(stamp[1])
    except ValueError:
        return None
