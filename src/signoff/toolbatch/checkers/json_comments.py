"""JSON with comments and trailing commas, where the programs that read a file allow them."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

_SUFFIXES = frozenset({".jsonc", ".code-workspace"})
_NAMES = re.compile(
    r"(?:ts|js)config(?:\.[\w.-]+)?\.json|\.(?:eslintrc|babelrc|swcrc|jshintrc|hintrc)(?:\.json)?"
    r"|(?:devcontainer|tslint|api-extractor|language-configuration|turbo|deno|typedoc|knip"
    r"|renovate|biome|angular|nx|wrangler|oxlintrc|\.oxlintrc|pyrightconfig)\.json"
)
_FOLDERS = frozenset({".vscode", ".devcontainer", ".zed"})
_STRING = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
_TOKEN = re.compile(rf"{_STRING}|//[^\n]*|/\*")
_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])")


def allows_comments(path: str) -> bool:
    """Whether the programs that such a file is for read comments in it; by its name."""
    place = PurePosixPath(path.lower())
    named = place.suffix in _SUFFIXES or _NAMES.fullmatch(place.name) is not None
    return named or not _FOLDERS.isdisjoint(place.parent.parts[-1:])


def without_comments(text: str) -> str:
    """As strict JSON, every value on its line and in its column."""
    pieces, done, at = list[str](), 0, 0
    while found := _TOKEN.search(text, at):
        at = found.end()
        if found.group().startswith('"'):
            continue
        if found.group() == "/*":
            end = text.find("*/", at)
            if end < 0:
                break
            at = end + 2
        blank = re.sub(r"[^\n]", " ", text[found.start() : at])
        pieces += [text[done : found.start()], blank]
        done = at
    plain = "".join((*pieces, text[done:]))
    return _COMMA.sub(lambda found: " " if found.group() == "," else found.group(), plain)
