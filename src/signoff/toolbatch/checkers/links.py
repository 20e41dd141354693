"""Where a reference leads: to a file below the root, elsewhere on the network, or nowhere."""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import PurePosixPath
from urllib.parse import unquote

from signoff.toolbatch.checkers.finding import Finding, Severity
from signoff.toolbatch.checkers.html_page import read_html
from signoff.toolbatch.checkers.markdown_page import read_markdown
from signoff.toolbatch.checkers.page import Page, Reference, Use
from signoff.toolbatch.checkers.subject import Subject
from signoff.toolbatch.checkers.templates import is_filled_in
from signoff.toolbatch.checkers.tree import Tree
from signoff.toolbatch.checkers.walk import is_left_out

HTML_SUFFIXES = frozenset({".html", ".htm", ".xhtml"})
MARKDOWN_SUFFIXES = frozenset({".md", ".markdown"})
INDEX_NAMES = ("index.html", "index.htm")
MOST_PAGES = 2_000
LARGEST_PAGE = 2_000_000

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
# Places that every page has, also as source text.
_ALWAYS = re.compile(r"(?i:top)|L\d+(?:C\d+)?(?:-L\d+(?:C\d+)?)?")
_PLACEHOLDER = re.compile(r"#|javascript:(?:void\(0\)|;|)?;?", re.IGNORECASE)


class Kind(StrEnum):
    """What a target is, by the way it is written."""

    LOCAL = "local"
    ELSEWHERE = "elsewhere"
    MACHINE = "machine"
    PLACEHOLDER = "placeholder"


@dataclass(frozen=True)
class Target:
    """A reference taken apart; `path` is below the root, None when it leaves it."""

    kind: Kind
    path: str | None = ""
    anchor: str = ""
    folder: bool = False


def resolve(page: str, written: str, base: str = "") -> Target:
    """Where a target leads from a page, by the rules of browsers."""
    target = "".join(written.split("\n")).replace("\r", "").replace("\t", "").strip()
    if _PLACEHOLDER.fullmatch(target) and target:
        return Target(Kind.PLACEHOLDER)
    if is_filled_in(unquote(target)):
        return Target(Kind.ELSEWHERE)
    scheme = _SCHEME.match(target)
    if scheme is not None:
        machine = scheme.group().lower() == "file:" or len(scheme.group()) == 2
        return Target(Kind.MACHINE if machine else Kind.ELSEWHERE)
    if target.startswith(("//", "\\\\")):
        return Target(Kind.ELSEWHERE)
    before, _, fragment = target.partition("#")
    path = unquote(before.partition("?")[0])
    anchor = unquote(fragment.partition(":~:")[0])
    if not path and not base:
        return Target(Kind.LOCAL, page, anchor)
    folder = posixpath.join(posixpath.dirname(page), posixpath.dirname(base))
    joined = path.lstrip("/") if path.startswith("/") else posixpath.join(folder, path)
    clean = posixpath.normpath(joined) if joined else "."
    if clean == ".." or clean.startswith(("../", "/")):
        return Target(Kind.LOCAL, None, anchor)
    clean = "" if clean == "." else clean
    return Target(Kind.LOCAL, clean, anchor, path.endswith("/") or not clean)


def page_at(tree: Tree, path: str) -> Page | None:
    """The page at a path, read once per view; None for what is no page or cannot be read."""
    return tree.recall("page", path, lambda: _read_page(tree, path))


def read_page(path: str, text: str) -> Page:
    """A page by the suffix of its path."""
    suffix = PurePosixPath(path).suffix.lower()
    return read_markdown(text) if suffix in MARKDOWN_SUFFIXES else read_html(text)


def is_page(path: str) -> bool:
    """Whether its links can be followed."""
    return PurePosixPath(path).suffix.lower() in HTML_SUFFIXES | MARKDOWN_SUFFIXES


def broken_references(subject: Subject, page: Page, tree: Tree) -> Iterator[Finding]:
    """A finding for each reference that leads nowhere."""
    if page.base and resolve(subject.path, page.base).kind is not Kind.LOCAL:
        yield subject.finding(
            "base-elsewhere",
            f'`<base href="{page.base}">` sends every link elsewhere, so none can be checked',
            "remove `<base>`, or make it relative",
            severity=Severity.NOTE if is_filled_in(page.base) else Severity.UNKNOWN,
            about=page.base,
        )
        return
    for reference in page.references:
        found = _judge(subject, page, reference, tree)
        if found is not None and page.template and reference.target.strip().startswith("/"):
            # Where a server shows a template is nothing that its folder tells.
            found = replace(found, severity=Severity.WARNING)
        if found is not None:
            yield found


def reachable_pages(tree: Tree, index: str) -> frozenset[str]:
    """The pages that ways lead to from an index, itself included."""
    return tree.recall("reachable", index, lambda: _reach(tree, index))


def linked_pages(tree: Tree, index: str) -> frozenset[str]:
    """The pages that an index links to directly: the set that it declares, there or not."""
    page = page_at(tree, index)
    return frozenset(_linked(tree, index, page)) if page is not None else frozenset()


def _reach(tree: Tree, index: str) -> frozenset[str]:
    seen, ahead = {index}, [index]
    while ahead and len(seen) < MOST_PAGES:
        here = ahead.pop()
        page = page_at(tree, here)
        for path in _linked(tree, here, page) if page is not None else ():
            if path not in seen:
                seen.add(path)
                ahead.append(path)
    return frozenset(seen)


def _linked(tree: Tree, here: str, page: Page) -> Iterator[str]:
    for reference in page.references:
        if reference.use is Use.LINK:
            target = resolve(here, reference.target, page.base)
            path = _landing(tree, target)
            if target.kind is Kind.LOCAL and path is not None and is_page(path):
                yield path


def _landing(tree: Tree, target: Target) -> str | None:
    """The file that is shown for a target: a folder shows its index."""
    if target.path is None or not (target.folder or tree.is_folder(target.path)):
        return target.path
    for name in INDEX_NAMES:
        path = f"{target.path}/{name}".lstrip("/")
        if tree.size(path) is not None:
            return path
    return None


def _read_page(tree: Tree, path: str) -> Page | None:
    size = tree.size(path)
    if size is None or size > LARGEST_PAGE or not is_page(path):
        return None
    content = tree.read(path)
    return None if content is None else read_page(path, content.decode("utf-8-sig", "replace"))


def _judge(subject: Subject, page: Page, reference: Reference, tree: Tree) -> Finding | None:
    target = resolve(subject.path, reference.target, page.base)
    written = reference.target.strip()
    if target.kind is Kind.ELSEWHERE:
        return None
    if target.kind is Kind.PLACEHOLDER:
        if reference.use is Use.ASSET:
            return None
        return _finding(
            subject, reference, "placeholder-link", f"`{written}` goes nowhere",
            "link to a real page, or remove the link", Severity.WARNING,
        )  # fmt: skip
    if target.kind is Kind.MACHINE or target.path is None:
        return _finding(
            subject, reference, "leaves-root", f"`{written}` leads out of the root",
            "link to a file below the root; --root says which folder that is",
        )  # fmt: skip
    if reference.use is Use.ASSET:
        return _judge_asset(subject, reference, target.path, tree)
    return _judge_link(subject, page, reference, target, tree)


def _judge_asset(subject: Subject, reference: Reference, path: str, tree: Tree) -> Finding | None:
    written = reference.target.strip()
    size = len(subject.content) if path == subject.path else tree.size(path)
    if size and written:
        return None
    said = "is empty" if size == 0 else "is not there"
    said = "is the name of no file" if not written else said
    return _finding(
        subject, reference, "broken-asset", f"`{written}` {said}",
        _advice(tree, path) if size is None else "name a file that has content",
    )  # fmt: skip


def _judge_link(
    subject: Subject, page: Page, reference: Reference, target: Target, tree: Tree
) -> Finding | None:
    written, path = reference.target.strip(), target.path or ""
    html = subject.suffix in HTML_SUFFIXES
    landing = _landing(tree, target)
    if path != subject.path and not tree.exists(path):
        return _finding(
            subject, reference, "broken-link", f"`{written}` is not there", _advice(tree, path)
        )
    if landing is None:
        if not html:
            return None
        return _finding(
            subject, reference, "broken-link", f"`{written}` is a folder without `index.html`",
            "link to a page in it, or give it an index",
        )  # fmt: skip
    if is_page(landing) and _is_left_out(subject, landing, tree):
        return _finding(
            subject, reference, "unchecked-page", f"`{written}` lies where nothing is checked",
            "move the page out of folders for dependencies and tools",
        )  # fmt: skip
    return _judge_anchor(subject, page, reference, landing, target.anchor, tree)


def _is_left_out(subject: Subject, landing: str, tree: Tree) -> bool:
    """Whether nobody checks the page: one folder on the way to it is walked past."""
    parts = landing.split("/")[:-1]
    folders = ["/".join(parts[: i + 1]) for i in range(len(parts))]
    return any(
        is_left_out(tree, folder) and not subject.path.startswith(f"{folder}/")
        for folder in folders
    )


def _judge_anchor(
    subject: Subject, page: Page, reference: Reference, landing: str, anchor: str, tree: Tree
) -> Finding | None:
    if not anchor or not is_page(landing) or _ALWAYS.fullmatch(anchor):
        return None
    there = page if landing == subject.path else page_at(tree, landing)
    if there is None or there.template:
        return None
    names = {anchor, f"user-content-{anchor}", anchor.removeprefix("user-content-")}
    if not names.isdisjoint(there.anchors):
        return None
    near = difflib.get_close_matches(anchor, sorted(there.anchors)[:500], n=1)
    hint = f"did you mean `#{near[0]}`?" if near else f"give an element in `{landing}` that id"
    return _finding(
        subject,
        reference,
        "broken-anchor",
        f"`{reference.target.strip()}`: `{landing}` has no `#{anchor}`",
        hint,
    )


def _advice(tree: Tree, path: str) -> str:
    folder, name = posixpath.split(path)
    names = tree.list(folder)[:500]
    near = difflib.get_close_matches(name[:200], names, n=1)
    close = posixpath.join(folder, near[0]) if near else ""
    return f"write `{path}` first, or link to `{close}`" if close else f"write `{path}` first"


def _finding(
    subject: Subject,
    reference: Reference,
    code: str,
    message: str,
    hint: str,
    severity: Severity = Severity.ERROR,
) -> Finding:
    about = reference.target.strip()
    return subject.finding(code, message, hint, line=reference.line, severity=severity, about=about)
