"""Copies that cloud drives leave beside plan and progress files, told by their names."""

from __future__ import annotations

import re

_FLAGS = re.IGNORECASE | re.DOTALL
# Compiled when first needed: most names are plain.
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
