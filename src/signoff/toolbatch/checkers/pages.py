"""The checkers of HTML and Markdown: links, assets, anchors, the set of pages, thin content."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from signoff.toolbatch.checkers.finding import Finding, Severity
from signoff.toolbatch.checkers.links import (
    HTML_SUFFIXES,
    INDEX_NAMES,
    LARGEST_PAGE,
    MARKDOWN_SUFFIXES,
    MOST_PAGES,
    broken_references,
    reachable_pages,
    read_page,
)
from signoff.toolbatch.checkers.page import Page
from signoff.toolbatch.checkers.subject import Subject
from signoff.toolbatch.checkers.texts import decode_text
from signoff.toolbatch.checkers.tree import Tree

# A page that needs this many times the words it has different ones for says the same over and over.
MOST_REPETITION = 8


@dataclass(frozen=True)
class PageChecker:
    """Checks pages of one language."""

    name: str
    files: frozenset[str]
    max_bytes: int = LARGEST_PAGE

    def check(self, subject: Subject, tree: Tree) -> Iterator[Finding]:
        """What is wrong with the page, and where its references lead."""
        text = decode_text(subject)
        if isinstance(text, Finding):
            yield text
            return
        page = read_page(subject.path, text)
        for remark in page.remarks:
            yield Finding(
                subject.path,
                remark.line,
                remark.code,
                remark.message,
                remark.hint,
                remark.severity,
                remark.about,
            )
        yield from broken_references(subject, page, tree)
        yield from _thin(subject, page)
        if self.files == HTML_SUFFIXES:
            yield from _orphan(subject, tree)


HTML = PageChecker("html", HTML_SUFFIXES)
MARKDOWN = PageChecker("markdown", MARKDOWN_SUFFIXES)


def _thin(subject: Subject, page: Page) -> Iterator[Finding]:
    wanted = subject.thresholds
    if not page.shows:
        yield subject.finding(
            "empty-page", "a reader sees nothing on this page", "write its content"
        )
        return
    if page.words < wanted.words:
        yield subject.finding(
            "thin-page",
            f"{page.words} words, {wanted.words} are asked for",
            "write what the page is about; navigation, footers and hidden text do not count",
            about="words",
        )
    elif wanted.words and page.different * MOST_REPETITION < wanted.words:
        yield subject.finding(
            "thin-page",
            f"{page.words} words, but only {page.different} different ones",
            "write what the page is about instead of repeating words",
            about="different",
        )
    if page.sections < wanted.sections:
        yield subject.finding(
            "thin-page",
            f"{page.sections} sections with text, {wanted.sections} are asked for",
            "add headings below the title, each with text under it",
            about="sections",
        )


def _orphan(subject: Subject, tree: Tree) -> Iterator[Finding]:
    index = root_index(subject.path, tree)
    if index is None or index == subject.path:
        return
    reached = reachable_pages(tree, index)
    if subject.path in reached or len(reached) >= MOST_PAGES:
        return
    yield subject.finding(
        "orphan-page",
        f"no way leads here from `{index}`",
        f"link it from `{index}`, or take it away",
        severity=Severity.WARNING,
    )


def root_index(path: str, tree: Tree) -> str | None:
    """The index that declares the pages around a path: that of the topmost folder with one."""
    folders = [""]
    for part in posixpath.dirname(path).split("/"):
        folders.append(posixpath.join(folders[-1], part))
    for folder in dict.fromkeys(folders):
        for name in INDEX_NAMES:
            index = posixpath.join(folder, name)
            if tree.size(index) is not None:
                return index
    return None
