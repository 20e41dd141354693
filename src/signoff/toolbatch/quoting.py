"""Names and words that are not ours, as texts for the model show them: data, and no advice."""

from __future__ import annotations

from signoff.domain.text import escape_line

MOST_CHARACTERS = 120
_BRIEF = 56  # characters, where a text has little room


def quoted(text: str, most: int = MOST_CHARACTERS) -> str:
    """In backticks, on one line and not endless; nothing stays nothing."""
    plain = escape_line(text).replace("`", "'")
    return f"`{clipped(plain, most)}`" if plain else ""


def listed(names: tuple[str, ...], most: int = 3) -> str:
    """The first few names, and how many more there are."""
    return ", ".join(map(quoted, names[:most])) + _more(names, most)


def brief(text: str) -> str:
    """The same for a message that has to stay short."""
    return quoted(text, _BRIEF)


def listed_briefly(names: tuple[str, ...], most: int = 2) -> str:
    """The same for a message that has to stay short."""
    return ", ".join(map(brief, names[:most])) + _more(names, most)


def clipped(text: str, most: int) -> str:
    """At most so many characters; the middle goes, because names differ at their ends."""
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


def _more(names: tuple[str, ...], most: int) -> str:
    return f" and {len(names) - most} more" if len(names) > most else ""
