"""Characters that a reader of a plan does not see, or takes for a plain space."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from typing import Final

# Unicode's default-ignorable code points, those it reserves for more of them included, and letters
# and marks that are drawn as nothing. A table, because an interpreter knows only the characters
# of its own Unicode version.
_RANGES: Final = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x13430, 0x1345F),
    (0x16FE4, 0x16FE4),
    (0x1BCA0, 0x1BCA3),
    (0x1D159, 0x1D159),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
_STARTS: Final = tuple(start for start, _ in _RANGES)
_UNSEEN_CATEGORIES: Final = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
_EMOJI_SELECTOR: Final = "\ufe0f"


def is_invisible(char: str) -> bool:
    """Whether nothing, or nothing but a blank, is drawn for it; plain white space apart."""
    code = ord(char)
    if code < 0x7F:
        return code < 0x20 and char not in "\t\n"
    place = bisect_right(_STARTS, code) - 1
    if place >= 0 and code <= _RANGES[place][1]:
        return True
    category = unicodedata.category(char)
    return category in _UNSEEN_CATEGORIES or category == "Zs"


def hidden_places(text: str) -> list[int]:
    """Where a text holds what its reader does not see.

    A carriage return at a line's end is part of the line's end, and the selector behind a symbol
    is seen: it is what draws the symbol as an emoji.
    """
    return [
        i
        for i, char in enumerate(text)
        if is_invisible(char)
        and not (char == "\r" and text[i + 1 : i + 2] in ("", "\n"))
        and not (char == _EMOJI_SELECTOR and i and unicodedata.category(text[i - 1]) == "So")
    ]


def called(char: str) -> str:
    """Number and name of a character, for a message."""
    return f"U+{ord(char):04X} ({unicodedata.name(char, 'a character without a name').lower()})"
