"""Text from agents and contracts is data: decoded safely, capped, escaped when shown."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime

_KEEP = frozenset("\n\t")
_INVISIBLE = frozenset(
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200d"
    "\u2060\u2061\u2062\u2063\u2064\u3164\ufeff\uffa0"
)


def decode_output(data: bytes) -> str:
    """Bytes of unknown origin as text that every database and JSON reader accepts."""
    return data.decode("utf-8", "replace")


def storable_path(path: str) -> str:
    """A file name as text, its undecodable bytes shown as escapes."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def escape(text: str) -> str:
    """The one escape for terminals: control, bidi and invisible characters become visible.

    Newlines and tabs stay; a carriage return does not, because it can overwrite what was shown.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in _KEEP or _is_plain(c) else _visible(c) for c in text)


def escape_line(text: str) -> str:
    """`escape` for a place that must stay on one line."""
    return escape(text.replace("\n", "␊").replace("\t", " "))


def tail(text: str, limit: int) -> str:
    """The last `limit` characters, from a line start where possible, saying what was cut."""
    if len(text) <= limit:
        return text
    cut = text[len(text) - limit :]
    newline = cut.find("\n")
    if 0 <= newline < len(cut) // 2:
        cut = cut[newline + 1 :]
    return f"[... {len(text) - len(cut)} characters cut ...]\n{cut}"


def shown_list(names: Iterable[str], most: int = 20) -> str:
    """The first names in backticks, and how many more there are."""
    every = list(names)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(f"`{name}`" for name in every[:most]) + more


def shortened(text: str, most: int) -> str:
    """At most so many characters, the last of them a sign that there was more."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _is_plain(char: str) -> bool:
    return unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") and (
        char not in _INVISIBLE
    )


def _visible(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def moment(seconds: float) -> str:
    """A time as people read it, in the time zone that ledgers are in."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return "an impossible time"
