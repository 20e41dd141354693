"""The anchors that GitHub makes from headings."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

_KEPT = ("L", "M", "Nd", "Nl", "Pc")


def heading_slug(title: str) -> str:
    """Letters, digits, `_` and `-` in lower case; spaces become dashes, everything else goes."""
    kept = (c for c in title.strip().lower() if c in " -" or _is_word(c))
    return "".join(kept).replace(" ", "-")


def heading_anchors(titles: Iterable[str]) -> frozenset[str]:
    """One anchor per heading; the second `intro` is `intro-1`, past those that are taken."""
    taken: dict[str, int] = {}
    for title in titles:
        first = slug = heading_slug(title)
        while slug in taken:
            taken[first] += 1
            slug = f"{first}-{taken[first]}"
        taken[slug] = 0
    return frozenset(taken)


def _is_word(char: str) -> bool:
    return unicodedata.category(char).startswith(_KEPT)
