"""The checker of PDFs: header, cross references, trailer, and a tree of pages that has pages."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from signoff.toolbatch.checkers.finding import Finding, Severity
from signoff.toolbatch.checkers.subject import Subject
from signoff.toolbatch.checkers.tree import Tree

MOST_UNPACKED = 50_000_000
MOST_NODES = 100_000

_OBJECT = re.compile(rb"(?<![0-9])(\d{1,10})[ \t\r\n\f\0]+(\d{1,5})[ \t\r\n\f\0]+obj\b")
_START = re.compile(rb"startxref\s{1,4}(\d{1,12})")
_ENTRY = re.compile(rb"(\d{10}) (\d{5}) ([nf])")
_HEAD = re.compile(rb"\s{0,4}(\d{1,10})\s{1,4}(\d{1,7})\s{1,4}")
_FIRST = re.compile(rb"/First\s{1,8}(\d{1,9})")
_COUNT = re.compile(rb"/N\s{1,8}(\d{1,7})")
_ROOT = re.compile(rb"/Root\s{1,8}(\d{1,10})\s{1,8}\d{1,5}\s{1,8}R")
_PAGES = re.compile(rb"/Pages\s{1,8}(\d{1,10})\s{1,8}\d{1,5}\s{1,8}R")
_KIDS = re.compile(rb"/Kids\s{0,8}\[([^\[\]]*)\]")
_REF = re.compile(rb"(\d{1,10})\s{1,8}\d{1,5}\s{1,8}R")


class BadPdf(ValueError):
    """Why it does not open."""


class UnreadPdf(ValueError):
    """Why nobody can tell."""


@dataclass(frozen=True)
class PdfChecker:
    """Follows the way a reader takes, from the end of the file to its pages."""

    name: str = "pdf"
    files: frozenset[str] = frozenset({".pdf"})
    max_bytes: int = 64_000_000

    def check(self, subject: Subject, tree: Tree) -> Iterator[Finding]:  # noqa: ARG002 - alone
        """Why it does not open, or nothing."""
        try:
            if count_pages(subject.content) < 1:
                raise BadPdf("it has no pages")
        except BadPdf as error:
            yield subject.finding("bad-pdf", str(error), "make the document again")
        except UnreadPdf as error:
            yield subject.finding(
                "too-complex", str(error), "open it by hand", severity=Severity.UNKNOWN
            )


PDF = PdfChecker()


def count_pages(data: bytes) -> int:
    """The pages that can be reached from the catalogue."""
    if b"%PDF-" not in data[:1024]:
        raise BadPdf("it does not begin like a PDF")
    if b"%%EOF" not in data[-2048:]:
        raise BadPdf("it has no end (`%%EOF`): it was cut off")
    starts = _START.findall(data[-2048:])
    if not starts:
        raise BadPdf("it does not say where its cross references are (`startxref`)")
    trailer = _trailer(data, int(starts[-1]))
    objects = _Objects(data)
    root = _ROOT.search(trailer) or _ROOT.search(data, data.rfind(b"trailer"))
    if root is None:
        raise BadPdf("its trailer names no catalogue (`/Root`)")
    if b"/Encrypt" in trailer and objects.packed:
        raise UnreadPdf("it is encrypted")
    pages = _PAGES.search(objects.get(int(root.group(1)), "the catalogue"))
    if pages is None:
        raise BadPdf("its catalogue has no `/Pages`")
    return _count(objects, int(pages.group(1)))


def _trailer(data: bytes, at: int) -> bytes:
    """The trailer behind the cross references, which must be where the file says."""
    here = data[at : at + 40].lstrip() if at < len(data) else b""
    if here.startswith(b"xref"):
        end = data.find(b"trailer", at)
        if end < 0:
            raise BadPdf("it has cross references and no trailer")
        _check_entries(data, data.find(b"xref", at) + 4, end)
        return data[end : data.find(b"startxref", end)]
    if _OBJECT.match(here):
        end = data.find(b"stream", at)
        if end >= 0 and b"/XRef" in data[at:end]:
            return data[at:end]
    raise BadPdf("its cross references are not where it says (`startxref`)")


def _check_entries(data: bytes, at: int, end: int) -> None:
    """Every entry in use points at the object of its number."""
    while (head := _HEAD.match(data, at, end)) is not None:
        first, count = int(head.group(1)), int(head.group(2))
        at = head.end()
        for number in range(first, first + count):
            entry = _ENTRY.match(data, at, end)
            if entry is None:
                raise BadPdf(f"the cross reference of object {number} is missing")
            offset = int(entry.group(1))
            if entry.group(3) == b"n" and offset:
                found = _OBJECT.match(data, _skip_space(data, offset))
                if found is None or int(found.group(1)) != number:
                    raise BadPdf(f"object {number} is not where the cross references say")
            at = _skip_space(data, entry.end())


def _skip_space(data: bytes, at: int) -> int:
    while at < len(data) and data[at] in b" \t\r\n\0":
        at += 1
    return at


class _Objects:
    """The objects of a file by number; of two with one number the later counts."""

    def __init__(self, data: bytes):
        self._data = data
        found = list(_OBJECT.finditer(data))
        ends = [match.start() for match in found[1:]] + [len(data)]
        self._places = {
            int(match.group(1)): (match.end(), end) for match, end in zip(found, ends, strict=True)
        }
        self._inside: dict[int, bytes] = {}
        self.packed = False
        self._unpack()

    def get(self, number: int, what: str) -> bytes:
        """The text of an object, without its stream."""
        if number in self._places:
            start, end = self._places[number]
            return self._data[start:end].partition(b"stream")[0]
        if number in self._inside:
            return self._inside[number]
        raise BadPdf(f"{what} (object {number}) is not there")

    def _unpack(self) -> None:
        left = MOST_UNPACKED
        for start, end in self._places.values():
            head, _, rest = self._data[start : min(end, start + 4096)].partition(b"stream")
            if b"/ObjStm" not in head:
                continue
            self.packed = True
            body = self._data[start + len(head) + 6 : end].lstrip(b"\r").removeprefix(b"\n")
            if b"/FlateDecode" not in head or not rest:
                continue
            try:
                text = zlib.decompressobj().decompress(body, left)
            except zlib.error:
                continue
            left -= len(text)
            if left <= 0:
                raise UnreadPdf("its objects unpack to too much")
            self._keep(head, text)

    def _keep(self, head: bytes, text: bytes) -> None:
        count, first = _COUNT.search(head), _FIRST.search(head)
        if count is None or first is None:
            return
        begin = int(first.group(1))
        numbers = text[:begin].split()[: 2 * int(count.group(1))]
        if not all(word.isdigit() and len(word) < 11 for word in numbers):
            return
        places = [int(word) for word in numbers]
        starts = [*places[1::2], len(text) - begin]
        for i, number in enumerate(places[0::2][: len(starts) - 1]):
            self._inside[number] = text[begin + starts[i] : begin + starts[i + 1]]


def _count(objects: _Objects, top: int) -> int:
    """Leaves of the tree of pages."""
    pages, seen, ahead = 0, {top}, [top]
    while ahead:
        number = ahead.pop()
        text = objects.get(number, "a page")
        kids = _KIDS.search(text)
        if kids is None:
            pages += number != top
            continue
        for kid in _REF.findall(kids.group(1)):
            if int(kid) not in seen:
                seen.add(int(kid))
                ahead.append(int(kid))
        if len(seen) > MOST_NODES:
            raise UnreadPdf("it has too many pages to count")
    return pages
