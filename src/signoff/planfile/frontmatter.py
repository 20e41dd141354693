"""The block of `name: value` lines at the top of a plan."""

from __future__ import annotations

import re
from collections.abc import Sequence

from signoff.planfile.frontkeys import NULLS, Frontmatter, Key, StatusSpan
from signoff.planfile.lines import bare

# Both bound the work: PyYAML takes time in proportion to the depth for every token.
MAX_CHARS = 20_000
MAX_BRACKETS = 500

# Letters, digits and signs that mean nothing to YAML: such a value is the text that stands there.
_WORD = r"[A-Za-z0-9][A-Za-z0-9_./+-]*"
_PLAIN_LINE = re.compile(rf"([a-z_]{{1,100}}): ({_WORD}(?: {_WORD})*)")


def find_frontmatter(lines: Sequence[str]) -> int:
    """The line after the block's closing line; 0 without a block, -1 when it is never closed."""
    if not lines or bare(lines[0]).rstrip(" \t") != "---":
        return 0
    for i in range(1, len(lines)):
        if bare(lines[i]).rstrip(" \t") in ("---", "..."):
            return i + 1
    return -1


def read_frontmatter(lines: Sequence[str], end: int) -> Frontmatter:
    """Read the block that ends before line `end`."""
    inner = "\n".join(lines[1 : end - 1]) + "\n"
    base = len(lines[0]) + 1
    if len(inner) > MAX_CHARS:
        return Frontmatter(end, refused=f"it has more than {MAX_CHARS:,} characters")
    if inner.count("[") + inner.count("{") > MAX_BRACKETS:
        return Frontmatter(end, refused=f"it has more than {MAX_BRACKETS} brackets")
    if (keys := _plain_keys(inner)) is not None:
        return Frontmatter(end, keys, _plain_status(inner, base, keys), 0)
    from signoff.planfile.yamlblock import read_yaml  # noqa: PLC0415 - most plans need no YAML

    return read_yaml(inner, base, end)


def _plain_keys(inner: str) -> tuple[Key, ...] | None:
    """Read a block of nothing but `name: words` lines, as YAML would; None for any other."""
    found = [_PLAIN_LINE.fullmatch(line) for line in inner.split("\n")[:-1]]
    keys = tuple(
        Key(line[1], None if line[2] in NULLS else line[2], number)
        for number, line in enumerate(found, 1)
        if line is not None
    )
    plain = len(keys) == len(found) == len({key.name for key in keys})
    return keys if plain else None


def _plain_status(inner: str, base: int, keys: tuple[Key, ...]) -> StatusSpan | None:
    for key, line in zip(keys, inner.split("\n"), strict=False):
        if key.name == "status":
            return StatusSpan(key.line, base + len("status: "), base + len(line))
        base += len(line) + 1
    return None
