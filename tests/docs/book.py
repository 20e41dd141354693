"""The documentation as data: its pages, their fenced blocks, links and command lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
NOT_RUN = "<!-- not run by the tests"

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<language>\w*)$")


@dataclass(frozen=True)
class Block:
    """One fenced block: where it stands, what it says it is, and its text."""

    page: Path
    line: int
    language: str
    text: str
    run: bool  # whether the page lets the tests run it


def pages() -> list[Path]:
    """Every page a reader may open, the top ones first."""
    names = ("README.md", "CHANGELOG.md", "AGENTS.md", "CONTRIBUTING.md")
    return [*(TOP / name for name in names), *sorted((TOP / "docs").rglob("*.md"))]


def page_name(page: Path) -> str:
    """A page as tests name it."""
    return str(page.relative_to(TOP))


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    lines = page.read_text("utf-8").split("\n")
    found: list[Block] = []
    i = 0
    while i < len(lines):
        fence = _FENCE.match(lines[i])
        if fence is None:
            i += 1
            continue
        closing = fence["indent"] + fence["ticks"]
        end = next(j for j in range(i + 1, len(lines)) if lines[j] == closing)
        body = [line.removeprefix(fence["indent"]) for line in lines[i + 1 : end]]
        run = not any(NOT_RUN in line for line in lines[max(0, i - 2) : i])
        found.append(Block(page, i + 1, fence["language"], "\n".join(body) + "\n", run))
        i = end + 1
    return found


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    lines, kept, closing = page.read_text("utf-8").split("\n"), list[str](), None
    for line in lines:
        if closing is not None:
            closing = None if line == closing else closing
            continue
        fence = _FENCE.match(line)
        if fence is None:
            kept.append(line)
        else:
            closing = fence["indent"] + fence["ticks"]
    return "\n".join(kept)


def anchors(page: Path) -> set[str]:
    """The names that links into this page can use, as code hosts make them from headings."""
    found = set()
    for line in prose(page).split("\n"):
        if line.startswith("#"):
            title = line.lstrip("#").strip().lower()
            found.add(re.sub(r"[^\w\- ]", "", title).replace(" ", "-"))
    return found
