"""The how-to pages work when they are typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.book import TOP, blocks, page_name
from tests.docs.typist import check_page, desk

HOW_TO = TOP / "docs" / "how-to"
ON_EMBEDDED = sorted(p for p in HOW_TO.glob("*.md") if p.name != "use-postgresql.md")


@pytest.mark.parametrize("page", ON_EMBEDDED, ids=page_name)
def test_a_how_to_page_shows_what_a_reader_who_types_it_sees(page: Path, tmp_path: Path) -> None:
    assert check_page(page, desk(tmp_path)), "the page has nothing to type"


def test_the_page_on_postgresql_works_with_a_real_server(tmp_path: Path, postgres_url: str) -> None:
    page = HOW_TO / "use-postgresql.md"
    check_page(page, desk(tmp_path, SIGNOFF_DATABASE=postgres_url))
    assert not (tmp_path / "home" / "ledger.sqlite3").exists()


def test_every_block_to_type_on_a_how_to_page_is_followed_by_what_it_shows() -> None:
    for page in HOW_TO.glob("*.md"):
        languages = [b.language for b in blocks(page) if b.run and b.language in ("sh", "text")]
        pairs = list(zip(languages[::2], languages[1::2], strict=False))
        assert len(languages) % 2 == 0 and set(pairs) <= {("sh", "text")}, page_name(page)
