"""Whatever a file contains, every checker answers, and soon."""

from __future__ import annotations

import struct
import time
import zlib
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signoff.toolbatch.checkers.registry import BUILT_IN
from signoff.toolbatch.checkers.subject import BuiltInChecker, CheckedFile
from signoff.toolbatch.checkers.tree import FileTree
from tests.toolbatch.checkers.pictures import SVG, animation, document, picture

# Far above what is needed (seconds), far below what a quadratic reader takes (hours).
PATIENCE_S = 60.0
SIZE = 300_000

REPEATED = {
    ".html": ("<!--", "<", "<a ", '<a b="', "<![CDATA[", "</", "<script>", "&#", "<!", "<a href='",
              "<div hidden>", "<img srcset=', ", "<a " + "b=c " * 50, "<a id=x>", "<a\n", "="),
    ".md": ("![a", "[", "[a](", "a <![CDATA[", "*_", "`", "> ", "[a][b] ", "]([\n", "<a ", "- ",
            "[a]: <", "\\[", "|a", "---\n", "# [\n", "&a", "![a][b]", "1. ", "\t", "~~~\n"),
    ".json": ("[", '{"a":', '"', "\\", "1", " ", "{}", '{"a":1,', "-"),
    ".jsonl": ("[\n", "{}\n", "[", "1"),
    ".yaml": ("[", "{", "- ", "? ", "a: ", "&a ", "*a ", "!", "|\n", "'", "#", "---\n", "a:\n ",
              "%", "[a,", "{a: b,"),
    ".toml": ("a.", "[", "a=[", '"a".', "[[a]]\n", "'''", "a={a=", "#", "[a.", "a=1\n", "a=1.\n"),
    ".csv": (",", '"', "a\n", "a,b\n", '""', ";\n"),
    ".py": ("(", "-", "1+", "a.", "a()", "lambda:", "if a:\n ", "'", "\\\n", "f'{", "[", "x="),
    ".svg": ("<g>", "<a ", "<!--", "&", "<![CDATA[", "<svg>"),
    ".ipynb": ("[", '{"cells":', '"'),
    ".pdf": ("1 0 obj\n", "startxref\n", "/Kids [", "stream\n", "xref\n", "trailer", " ", "9"),
    ".sh": ("(", "if true; then ", "$(", "'", "<<a\n", "{ ", "case a in "),
}  # fmt: skip


PNG, GIF, WEBP, PDF = picture(), animation(), picture("WEBP"), document()


def chunk(kind: bytes, body: bytes) -> bytes:
    """A chunk of a PNG."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def checker_of(suffix: str) -> BuiltInChecker:
    (found,) = [checker for checker in BUILT_IN if suffix in checker.files]
    return found


def answer(name: str, content: bytes) -> int:
    """How much a checker says about a file of this content."""
    path = Path(name)
    checker = checker_of(path.suffix)
    content = content[: checker.max_bytes]
    found = checker.check(CheckedFile(path.name, content), FileTree(Path("/nonexistent")))
    return len(list(islice(found, 100)))


@pytest.mark.parametrize(
    ("suffix", "piece"), [(suffix, piece) for suffix, all_ in REPEATED.items() for piece in all_]
)
def test_a_file_that_repeats_itself_is_answered_soon(suffix: str, piece: str) -> None:
    began = time.monotonic()
    answer(f"a{suffix}", (piece * (SIZE // len(piece))).encode())
    assert time.monotonic() - began < PATIENCE_S


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.pdf", b"%PDF-1.4\n" + b"1 0 obj\n" * 90_000 + PDF[9:]),
        ("a.pdf", PDF.replace(b"/Kids [", b"/Kids [" + b"1 0 R " * 100_000)),
        ("a.pdf", PDF.replace(b"/Kids [", b"/Kids [" * 100_000)),
        ("a.pdf", PDF + b"startxref\n" * 90_000),
        ("a.pdf", b"%PDF-1.5\nxref\n0 9999999\n" + b"startxref\n9\n%%EOF"),
        ("a.png", PNG[:16] + b"\xee" * 8 + PNG[24:]),
        ("a.png", PNG[:33] + chunk(b"IDAT", zlib.compress(bytes(50_000_000))) + PNG[-12:]),
        ("a.png", PNG[:8] + chunk(b"abcd", b"") * 70_000),
        ("a.jpg", b"\xff\xd8" + b"\xff\xe0\0\2" * 200_000),
        ("a.jpg", b"\xff\xd8" + b"\xff" * 900_000),
        ("a.gif", GIF[:13] + b"\x21\xf9\x01\0\0" * 180_000),
        ("a.webp", WEBP + b"ABCD\0\0\0\0" * 100_000),
        ("a.yaml", b"".join(b"a%d: &a%d 1\n" % (n, n) for n in range(40_000))),
        ("a.md", b"[a]: b\n" + b"[a] " * 200_000),
        ("a.md", b"".join(b" " * (n * 2) + b"- a\n" for n in range(900))),
        ("a.md", b"---\n" + b"a\n" * 300_000),
        ("a.html", b"<h2>a</h2>" * 90_000),
    ],
)
def test_a_file_that_promises_too_much_is_answered_soon(name: str, content: bytes) -> None:
    began = time.monotonic()
    answer(name, content)
    assert time.monotonic() - began < PATIENCE_S


SUFFIXES = sorted({min(checker.files) for checker in BUILT_IN} - {".cjs", ".bash"})
STARTS = (b"", b"%PDF-1.4\n", b"\xff\xd8\xff", GIF[:13], WEBP[:20], PNG[:33], b"---\n", b"<svg>")


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(start=st.sampled_from(STARTS), content=st.binary(max_size=200))
def test_any_bytes_are_answered(suffix: str, start: bytes, content: bytes) -> None:
    answer(f"a{suffix}", start + content)


@pytest.mark.parametrize("suffix", [".html", ".md", ".json", ".yaml", ".toml", ".csv", ".py"])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=st.text(alphabet="<>a=\"'/![](){}#&;:,-.*`|\n\\ \u2028\ufeff", max_size=80))
def test_any_text_of_signs_is_answered(suffix: str, text: str) -> None:
    answer(f"a{suffix}", text.encode())


@pytest.mark.parametrize("name", ["a.png", "a.gif", "a.webp", "a.pdf", "a.svg"])
def test_any_single_byte_of_damage_is_answered(name: str) -> None:
    whole = {"a.png": PNG, "a.gif": GIF, "a.webp": WEBP, "a.pdf": PDF, "a.svg": SVG}
    for place in range(0, len(whole[name]), 1 + len(whole[name]) // 500):
        for value in (0, 0x7F, 0xFF):
            damaged = bytearray(whole[name])
            damaged[place] = value
            answer(name, bytes(damaged))
