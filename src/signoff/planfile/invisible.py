"""Characters that a reader of a plan does not see, or takes for a plain space."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# Unicode's default-ignorable code points, those it reserves for more of them included, and letters
# and marks that are drawn as nothing. A table, because an interpreter knows only the characters
# of its own Unicode version.
_IGNORABLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001345f\U00016fe4"
    "\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_UNSEEN_CATEGORIES: Final = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp", "Zs"))
_EMOJI_SELECTOR: Final = "\ufe0f"


def is_invisible(char: str) -> bool:
    """Whether nothing, or nothing but a blank, is drawn for it; plain white space apart."""
    code = ord(char)
    if code < 0x7F:
        return code < 0x20 and char not in "\t\n"
    return _IGNORABLE.match(char) is not None or unicodedata.category(char) in _UNSEEN_CATEGORIES


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
