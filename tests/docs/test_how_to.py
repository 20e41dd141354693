"""The how-to pages work when they are typed: each alone, and one after the other."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

import signoff
from tests.docs.book import TOP, Block, blocks, page_name, prose
from tests.docs.typist import (
    LIMIT_S,
    Typed,
    assert_shows,
    check_page,
    check_shown,
    desk,
    to_type,
)

HOW_TO = TOP / "docs" / "how-to"
ON_SERVER = ("use-postgresql.md", "many-machines.md")
ON_EMBEDDED = sorted(p for p in HOW_TO.glob("*.md") if p.name not in ON_SERVER)
FRESH_FOLDER = (
    'cd "$(mktemp -d)" && mkdir project && cd project   # an empty folder, for this page alone'
)
ALL_PAGES_S = 5 * LIMIT_S
EXAMPLE_DATABASE = "postgresql://signoff@localhost/signoff"
# What a page must leave to the next one as it was: variables, functions, processes, questions.
LEFT_BEHIND = """\
env | grep -vE '^(_|PWD|OLDPWD|SHLVL)=' | sort
declare -F
jobs
signoff inbox
"""


@pytest.mark.parametrize("page", ON_EMBEDDED, ids=page_name)
def test_a_how_to_page_shows_what_a_reader_who_types_it_sees(page: Path, tmp_path: Path) -> None:
    assert check_page(page, desk(tmp_path)), "the page has nothing to type"


@pytest.mark.parametrize("page", [HOW_TO / name for name in ON_SERVER], ids=page_name)
def test_the_pages_on_postgresql_work_with_a_real_server(
    page: Path, tmp_path: Path, postgres_url: str
) -> None:
    check_page(page, desk(tmp_path, {EXAMPLE_DATABASE: postgres_url}))
    home = tmp_path / ".local" / "state" / "signoff"
    assert home.is_dir() and not (home / "ledger.sqlite3").exists()


@pytest.mark.timeout(ALL_PAGES_S + 60)
def test_a_reader_can_type_all_how_to_pages_one_after_the_other_in_one_shell(
    tmp_path: Path, postgres_url: str
) -> None:
    pages = _in_the_order_of_the_overview()
    at = desk(tmp_path, {EXAMPLE_DATABASE: postgres_url})
    look = Block(TOP, 0, "sh", LEFT_BEHIND, run=True)
    typed = at.type([look, *(b for p in pages for b in (*to_type(p), look))], ALL_PAGES_S)
    before = typed[0].shown
    assert before.endswith("nothing waits for you\n")
    for page, shown in zip(pages, _by_page(typed[1:]), strict=True):
        check_shown(page, shown[:-1], at)
        assert shown[-1].shown == before, f"{page_name(page)} leaves something behind"


def _in_the_order_of_the_overview() -> list[Path]:
    listed = prose(TOP / "docs" / "index.md").partition("## All pages")[2]
    named = re.findall(r"\(how-to/([\w-]+\.md)\)", listed)
    assert sorted(named) == sorted(p.name for p in HOW_TO.glob("*.md"))
    return [HOW_TO / name for name in named]


def _by_page(typed: list[Typed]) -> list[list[Typed]]:
    """Each page's blocks, with the look around at its end."""
    found: list[list[Typed]] = [[]]
    for each in typed:
        found[-1].append(each)
        if each.block.page == TOP:
            found.append([])
    return found[:-1]


@pytest.mark.parametrize("page", sorted(HOW_TO.glob("*.md")), ids=page_name)
def test_a_how_to_page_begins_in_an_empty_folder_of_its_own(page: Path) -> None:
    assert to_type(page)[0].text.split("\n")[0] == FRESH_FOLDER


def test_a_page_that_shortens_a_digest_does_not_show_what_a_reader_sees(tmp_path: Path) -> None:
    at = desk(tmp_path)
    assert_shows(f"key {'a' * 64}\n", f"key {'b' * 64}\n", at, "long")
    with pytest.raises(AssertionError):
        assert_shows(f"key {'a' * 64}\n", f"key {'b' * 12}\n", at, "short")


def test_the_page_on_the_built_in_agent_names_every_tool_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGNOFF_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    session = signoff.start_session(tmp_path / "work")
    tools = (*signoff.STANDARD_TOOLS, *signoff.plan_tools(session))
    section = _section(HOW_TO / "use-the-built-in-agent.md", "What it can do")
    rows = re.findall(r"^\| (`.+?`) \|", section, re.M)
    assert set(re.findall(r"`(\w+)`", " ".join(rows))) == {*(t.name for t in tools), "delegate"}


def test_the_page_on_tidying_names_everything_that_is_in_a_home(tmp_path: Path) -> None:
    at = desk(tmp_path)
    at.signoff("init")
    assert at.signoff("run", "--yes", "--role", "coder=touch hello.txt").returncode == 6
    rows = re.findall(
        r"^\| (`.+?`) \|", _section(HOW_TO / "keep-it-tidy.md", "What may be deleted"), re.M
    )
    named = re.findall(r"`([^`]+?)/?`", " ".join(rows))
    home = tmp_path / ".local" / "state" / "signoff"
    there = sorted(path.name for path in home.iterdir())
    assert "rooms" in named and "ledger.sqlite3" in there
    assert [n for n in there if not any(fnmatch(n, pattern) for pattern in named)] == []


def _section(page: Path, title: str) -> str:
    return prose(page).partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_every_block_to_type_on_a_how_to_page_is_followed_by_what_it_shows() -> None:
    for page in HOW_TO.glob("*.md"):
        languages = [b.language for b in blocks(page) if b.run and b.language in ("sh", "text")]
        pairs = list(zip(languages[::2], languages[1::2], strict=False))
        assert len(languages) % 2 == 0 and set(pairs) <= {("sh", "text")}, page_name(page)
