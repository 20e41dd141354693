"""The tutorial works when it is typed."""

from __future__ import annotations

from pathlib import Path

from tests.docs.book import TOP
from tests.docs.typist import check_page, desk


def test_the_tutorial_shows_what_a_reader_who_types_it_sees(tmp_path: Path) -> None:
    check_page(TOP / "docs" / "tutorial.md", desk(tmp_path))
