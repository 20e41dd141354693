"""The checkers of HTML and Markdown: where references lead, thin content."""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import PurePosixPath
from urllib.parse import unquote

from msgspec import Struct

from signoff.toolbatch.checkers.pages import Page, PageLink, is_filled_in, read_html, read_markdown
from signoff.toolbatch.checkers.subject import (
    BuiltInChecker,
    CheckedFile,
    FileFinding,
    FileSeverity,
    of_text,
)
from signoff.toolbatch.checkers.tree import FileTree, is_left_out

HTML_SUFFIXES = frozenset({".html", ".htm", ".xhtml"})
MARKDOWN_SUFFIXES = frozenset({".md", ".markdown"})
INDEX_NAMES = ("index.html", "index.htm")
LARGEST_PAGE = 2_000_000
# A page that needs this many times the words it has different ones for says the same over and over.
MOST_REPETITION = 8

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
# Places that every page has, also as source text.
_ALWAYS = re.compile(r"(?i:top)|L\d+(?:C\d+)?(?:-L\d+(?:C\d+)?)?")
_PLACEHOLDER = re.compile(r"#|javascript:(?:void\(0\)|;|)?;?", re.IGNORECASE)


class TargetKind(StrEnum):
    LOCAL = "local"
    ELSEWHERE = "elsewhere"
    OUTSIDE = "outside"
    PLACEHOLDER = "placeholder"


class LinkTarget(Struct, frozen=True):
    """A reference taken apart; `path` is below the root."""

    kind: TargetKind
    path: str = ""
    anchor: str = ""
    folder: bool = False


def resolve(page: str, written: str, base: str = "") -> LinkTarget:
    """Find where a target leads from a page, by the rules of browsers."""
    target = re.sub(r"[\n\r\t]", "", written).strip()
    if target and _PLACEHOLDER.fullmatch(target):
        return LinkTarget(TargetKind.PLACEHOLDER)
    if is_filled_in(unquote(target)) or target.startswith(("//", "\\\\")):
        return LinkTarget(TargetKind.ELSEWHERE)
    scheme = _SCHEME.match(target)
    if scheme is not None:
        on_one_machine = scheme[0].lower() == "file:" or len(scheme[0]) == len("C:")
        return LinkTarget(TargetKind.OUTSIDE if on_one_machine else TargetKind.ELSEWHERE)
    before, _, fragment = target.partition("#")
    path = unquote(before.partition("?")[0])
    anchor = unquote(fragment.partition(":~:")[0])
    if not path and not base:
        return LinkTarget(TargetKind.LOCAL, page, anchor)
    folder = posixpath.join(posixpath.dirname(page), posixpath.dirname(base))
    joined = path.lstrip("/") if path.startswith("/") else posixpath.join(folder, path)
    clean = posixpath.normpath(joined)
    if clean == ".." or clean.startswith(("../", "/")):
        return LinkTarget(TargetKind.OUTSIDE)
    clean = "" if clean == "." else clean
    return LinkTarget(TargetKind.LOCAL, clean, anchor, path.endswith("/") or not clean)


def is_page(path: str) -> bool:
    """True when its links can be followed."""
    return PurePosixPath(path).suffix.lower() in HTML_SUFFIXES | MARKDOWN_SUFFIXES


def _landing(tree: FileTree, target: LinkTarget) -> str | None:
    """The file that is shown for a target: a folder shows its index."""
    if not (target.folder or tree.is_folder(target.path)):
        return target.path
    indexes = (f"{target.path}/{name}".lstrip("/") for name in INDEX_NAMES)
    return next((path for path in indexes if tree.size(path) is not None), None)


def _page_at(tree: FileTree, path: str) -> Page | None:
    """The page at a path, read once per view; None for what is no page or cannot be read."""
    return tree.recall("page", path, lambda: _read_page(tree, path))


def _read_page(tree: FileTree, path: str) -> Page | None:
    size = tree.size(path)
    small = is_page(path) and size is not None and size <= LARGEST_PAGE
    content = tree.read(path) if small else None
    if content is None:
        return None
    return _parse(CheckedFile(path), content.decode("utf-8-sig", "replace"))


def _parse(subject: CheckedFile, text: str) -> Page:
    read = read_markdown if subject.suffix in MARKDOWN_SUFFIXES else read_html
    return read(subject, text)


def _check(subject: CheckedFile, text: str, tree: FileTree) -> Iterator[FileFinding]:
    """Faults of the page, of its references, and of the amount of text on it."""
    page = _parse(subject, text)
    yield from page.remarks
    yield from _references(subject, page, tree)
    yield from _thin(subject, page)


def _references(subject: CheckedFile, page: Page, tree: FileTree) -> Iterator[FileFinding]:
    if page.base and resolve(subject.path, page.base).kind is not TargetKind.LOCAL:
        said = f'`<base href="{page.base}">` sends every link elsewhere, so none can be checked'
        severity = FileSeverity.NOTE if is_filled_in(page.base) else None
        hint = "remove `<base>`, or make it relative"
        yield subject.finding("base-elsewhere", said, hint, about=page.base, severity=severity)
        return
    follower = _Follower(subject, page, tree)
    for link in page.links:
        written, wrong = link.target.strip(), follower.wrong(link)
        if wrong is not None:
            code, said, hint = wrong
            # Where a server shows a template is nothing that its folder tells.
            routed = page.template and written.startswith("/")
            severity, said = FileSeverity.WARNING if routed else None, f"`{written}`{said}"
            yield subject.finding(code, said, hint, link.line, about=written, severity=severity)


class _Follower(Struct, frozen=True):
    """Follows the references of one page; says code, message and hint of one that leads nowhere."""

    subject: CheckedFile
    page: Page
    tree: FileTree

    def wrong(self, link: PageLink) -> tuple[str, str, str] | None:
        target = resolve(self.subject.path, link.target, self.page.base)
        if target.kind is TargetKind.ELSEWHERE:
            return None
        if target.kind is TargetKind.PLACEHOLDER:
            hint = "link to a real page, or remove the link"
            return None if link.is_asset else ("placeholder-link", " goes nowhere", hint)
        if target.kind is TargetKind.OUTSIDE:
            hint = "link to a file below the root; --root says which folder that is"
            return "leaves-root", " leads out of the root", hint
        return self._asset(link, target.path) if link.is_asset else self._link(target)

    def _asset(self, link: PageLink, path: str) -> tuple[str, str, str] | None:
        size = self.tree.size(path)
        if not link.target.strip():
            return "broken-asset", " is the name of no file", "name a file that has content"
        if size == 0:
            return "broken-asset", " is empty", "name a file that has content"
        return ("broken-asset", " is not there", self._advice(path)) if size is None else None

    def _link(self, target: LinkTarget) -> tuple[str, str, str] | None:
        landing = _landing(self.tree, target)
        if not self.tree.exists(target.path):
            return "broken-link", " is not there", self._advice(target.path)
        if landing is None:
            said = " is a folder without `index.html`"
            hint = "link to a page in it, or give it an index"
            is_html = self.subject.suffix in HTML_SUFFIXES
            return ("broken-link", said, hint) if is_html else None
        if is_page(landing) and self._is_left_out(landing):
            hint = "move the page out of folders for dependencies and tools"
            return "unchecked-page", " lies where nothing is checked", hint
        return self._anchor(landing, target.anchor)

    def _is_left_out(self, landing: str) -> bool:
        """True when nobody checks the page: one folder on the way to it is walked past."""
        folders = [folder.as_posix() for folder in PurePosixPath(landing).parents][:-1]
        return any(
            is_left_out(self.tree, folder) and not self.subject.path.startswith(f"{folder}/")
            for folder in folders
        )

    def _anchor(self, landing: str, anchor: str) -> tuple[str, str, str] | None:
        if not anchor or not is_page(landing) or _ALWAYS.fullmatch(anchor):
            return None
        there = self.page if landing == self.subject.path else _page_at(self.tree, landing)
        names = {anchor, f"user-content-{anchor}", anchor.removeprefix("user-content-")}
        if there is None or there.template or names & there.anchors:
            return None
        near = difflib.get_close_matches(anchor, sorted(there.anchors)[:500], n=1)
        hint = f"did you mean `#{near[0]}`?" if near else f"give an element in `{landing}` that id"
        return "broken-anchor", f": `{landing}` has no `#{anchor}`", hint

    def _advice(self, path: str) -> str:
        folder, name = posixpath.split(path)
        near = difflib.get_close_matches(name[:200], self.tree.list(folder)[:500], n=1)
        close = f", or link to `{posixpath.join(folder, near[0])}`" if near else ""
        return f"write `{path}` first{close}"


def _thin(subject: CheckedFile, page: Page) -> Iterator[FileFinding]:
    wanted, words, sections = subject.thresholds, page.words(), sum(page.sections)
    different = len(set(words))
    if not words and not page.shows:
        yield subject.finding("empty-page", "a reader sees nothing on it", "write its content")
        return
    if len(words) < wanted.words:
        said = f"{len(words)} words, {wanted.words} are asked for"
        hint = "write what the page is about; navigation, footers and hidden text do not count"
        yield subject.finding("thin-page", said, hint, about="words")
    elif different * MOST_REPETITION < wanted.words:
        said = f"{len(words)} words, but only {different} different ones"
        hint = "write what the page is about instead of repeating words"
        yield subject.finding("thin-page", said, hint, about="different")
    if sections < wanted.sections:
        said = f"{sections} sections with text, {wanted.sections} are asked for"
        hint = "add headings below the title, each with text under it"
        yield subject.finding("thin-page", said, hint, about="sections")


HTML = BuiltInChecker("html", HTML_SUFFIXES, LARGEST_PAGE, of_text(_check))
MARKDOWN = BuiltInChecker("markdown", MARKDOWN_SUFFIXES, LARGEST_PAGE, of_text(_check))
