"""The pages as a site: all of them have a place in it, and nothing is loaded from elsewhere."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.book import TOP, page_name, prose
from tests.docs.test_pages import LINK

DOCS = TOP / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
SETTINGS: dict[str, Any] = tomllib.loads((TOP / "zensical.toml").read_text("utf-8"))["project"]


def _places(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        for target in entry.values() if isinstance(entry, dict) else (entry,):
            yield from _places(target) if isinstance(target, list) else (target,)


def test_every_page_has_one_place_in_the_site() -> None:
    assert sorted(_places(SETTINGS["nav"])) == [str(p.relative_to(DOCS)) for p in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_a_page_links_to_nothing_that_the_site_does_not_have(page: Path) -> None:
    for target in LINK.findall(prose(page)):
        path = target.partition("#")[0]
        if path and not target.startswith(("https://", "http://")):
            assert (page.parent / path).resolve().is_relative_to(DOCS), target


def test_the_site_asks_for_no_fonts_of_others() -> None:
    assert SETTINGS["theme"]["font"] is False


def _looked_at(site: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(TOP / "scripts" / "loads.py"), str(site)]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example/a.js"></script>',
        "<link rel=stylesheet href=//fonts.example/a.css>",
        '<p style="background: url(https://cdn.example/a.png)">',
    ],
)
def test_a_page_that_loads_something_from_elsewhere_is_named(tmp_path: Path, text: str) -> None:
    page = tmp_path / "index.html"
    page.write_text('<a href="https://example.org">a link is no load</a>')
    (tmp_path / "search.json").write_text('{"items": [{"title": "A link"}]}')
    assert _looked_at(tmp_path).returncode == 0
    page.write_text(text)
    done = _looked_at(tmp_path)
    assert done.returncode == 1 and f"{page}: loads" in done.stdout


def test_a_site_without_pages_is_none(tmp_path: Path) -> None:
    (tmp_path / "search.json").write_text('{"items": [{"title": "A link"}]}')
    assert _looked_at(tmp_path).returncode == 1


@pytest.mark.parametrize("index", [None, "", "[]", '{"items": []}', '{"items": 1}'])
def test_a_site_whose_search_finds_nothing_is_none(tmp_path: Path, index: str | None) -> None:
    (tmp_path / "index.html").write_text("<p>words")
    if index is not None:
        (tmp_path / "search.json").write_text(index)
    done = _looked_at(tmp_path)
    assert done.returncode == 1 and "no page can be searched for" in done.stdout
