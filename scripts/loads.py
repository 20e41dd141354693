"""Find what the pages of a built site would load from elsewhere: offline they must be whole."""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

# What a browser fetches by itself; a plain link is followed by the reader alone.
_FETCHED = {
    "script": ("src",),
    "link": ("href",),
    "img": ("src", "srcset"),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "object": ("data",),
    "embed": ("src",),
}
SEARCH_INDEX = "search.json"
_NO_FETCH = {"canonical", "alternate", "prev", "next"}
_ELSEWHERE = re.compile(r"\s*(?:https?:)?//", re.IGNORECASE)
_IN_STYLE = re.compile(r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^'\")\s]+)", re.IGNORECASE)


class _Loads(HTMLParser):
    """Collects the addresses elsewhere that one page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "link" and given.get("rel", "") in _NO_FETCH:
            return
        values = [given.get(name, "") for name in _FETCHED.get(tag, ())]
        self.found += [value for value in values if _ELSEWHERE.match(value)]
        self.found += _IN_STYLE.findall(given.get("style", ""))


def loads_of(file: Path) -> list[str]:
    """What this page or style sheet loads from elsewhere."""
    text = file.read_text("utf-8")
    if file.suffix == ".css":
        return _IN_STYLE.findall(text)
    page = _Loads()
    page.feed(text)
    return page.found


def _search_index(site: Path) -> list[object]:
    """What the search of the site can find; empty without an index that can be read."""
    try:
        items = json.loads((site / SEARCH_INDEX).read_text("utf-8"))["items"]
    except (OSError, ValueError, LookupError, TypeError):
        return []
    return items if isinstance(items, list) else []


def main(site: Path) -> int:
    """Name every load from elsewhere; without pages, or a search that finds some, it is no site."""
    files = sorted((*site.rglob("*.html"), *site.rglob("*.css")))
    wrong = [f"{file}: loads {address}" for file in files for address in loads_of(file)]
    if not _search_index(site):
        wrong.append(f"{site / SEARCH_INDEX}: no page can be searched for")
    print("\n".join(wrong) or f"{len(files)} files of {site}/ load nothing from elsewhere")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
