"""Pictures open: they are decoded, and a magic number alone is not enough."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from signoff.toolbatch.checkers import DiskTree, Subject
from signoff.toolbatch.checkers.image import IMAGE, ImageChecker
from tests.toolbatch.checkers.kit import Artifacts
from tests.toolbatch.checkers.pictures import GIF, SVG, WEBP, chunk, png


def drawn(form: str, **options: object) -> bytes:
    """A picture with some content, as an encoder makes it."""
    out = io.BytesIO()
    picture = Image.radial_gradient("L").resize((64, 64)).convert("RGB")
    picture.save(out, form, **options)
    return out.getvalue()


WHOLE: dict[str, Callable[[], bytes]] = {
    "a.png": png,
    "b.png": lambda: drawn("PNG"),
    "a.jpg": lambda: drawn("JPEG"),
    "b.jpeg": lambda: drawn("JPEG", progressive=True),
    "a.gif": lambda: GIF,
    "b.gif": lambda: drawn("GIF"),
    "a.webp": lambda: WEBP,
    "b.webp": lambda: drawn("WEBP"),
    "a.svg": lambda: SVG,
}


def with_standard_library(name: str, content: bytes) -> list[str]:
    """What is found where Pillow is not installed."""
    tree = DiskTree(Path())
    found = ImageChecker(decoder=False).check(Subject(name, content), tree)
    return [finding.code for finding in found]


@pytest.mark.parametrize("name", WHOLE)
def test_whole_pictures_have_no_findings(artifacts: Artifacts, name: str) -> None:
    assert artifacts.of(name, WHOLE[name]()) == []


@pytest.mark.parametrize("name", WHOLE)
def test_without_a_decoder_the_parts_are_checked_and_that_is_said(name: str) -> None:
    complete = name.endswith((".png", ".svg"))
    assert with_standard_library(name, WHOLE[name]()) == ([] if complete else ["structure-only"])


@pytest.mark.parametrize("name", WHOLE)
def test_a_picture_that_is_cut_off_is_found_with_and_without_a_decoder(
    artifacts: Artifacts, name: str
) -> None:
    whole = WHOLE[name]()
    for cut in {len(whole) // 2, len(whole) - 4, 12, 3}:
        assert artifacts.of(name, whole[:cut]) == ["1 bad-image"], cut
        assert with_standard_library(name, whole[:cut]) == ["bad-image"], cut


@pytest.mark.parametrize("name", WHOLE)
def test_nothing_and_text_are_no_pictures(artifacts: Artifacts, name: str) -> None:
    assert artifacts.of(name, b"") == ["1 empty-file"]
    assert artifacts.of(name, b"this is a placeholder for the picture") == ["1 bad-image"]


@pytest.mark.parametrize(
    "content",
    [
        b"\x89PNG\r\n\x1a\n",
        png()[:-1] + b"x",
        png().replace(b"IDAT", b"IDAX"),
        png(points=b"\0\x80\x80"),
        png(width=0),
        b"\x89PNG\r\n\x1a\n" + chunk(b"IEND", b""),
        png(points=b"")[:33] + chunk(b"IDAT", b"not compressed") + chunk(b"IEND", b""),
    ],
)
def test_a_png_is_decoded_to_its_last_line(artifacts: Artifacts, content: bytes) -> None:
    assert artifacts.of("a.png", content) == ["1 bad-image"]


def test_an_interlaced_png_is_counted_pass_by_pass(artifacts: Artifacts) -> None:
    lines = b"".join(
        b"\0" + b"\0" * w
        for w, h in ((1, 1), (1, 1), (2, 1), (2, 2), (4, 2), (4, 4), (8, 4))
        for _ in range(h)
    )
    assert artifacts.of("a.png", png(8, 8, lines, 1)) == []
    assert artifacts.of("a.png", png(8, 8, lines[:-1], 1)) == ["1 bad-image"]


def test_a_picture_under_a_false_name_does_not_pass(artifacts: Artifacts) -> None:
    assert artifacts.of("a.jpg", png()) == ["1 bad-image"]
    assert artifacts.of("a.png", drawn("JPEG")) == ["1 bad-image"]


def test_damage_inside_the_points_is_found_by_decoding(artifacts: Artifacts) -> None:
    whole = drawn("WEBP", lossless=True)
    damaged = whole[:40] + bytes(len(whole) - 40)
    assert with_standard_library("a.webp", damaged) == ["structure-only"]
    assert artifacts.of("a.webp", damaged) == ["1 bad-image"]


def test_a_picture_too_large_to_decode_is_unknown(artifacts: Artifacts) -> None:
    bomb = GIF[:6] + b"\xff\xff\xff\xff" + GIF[10:]
    assert artifacts.of("a.gif", bomb) == ["1 ~too-large"]


@pytest.mark.parametrize(
    "content",
    [
        b"<svg><rect></svg>",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"<html><body/></html>",
        b'<!DOCTYPE svg [<!ENTITY a "aaaa">]><svg><text>&a;</text></svg>',
        b'<!DOCTYPE svg [<!ENTITY a SYSTEM "/etc/passwd">]><svg><text>&a;</text></svg>',
    ],
)
def test_an_svg_is_well_formed_draws_something_and_defines_no_entities(
    artifacts: Artifacts, content: bytes
) -> None:
    assert artifacts.of("a.svg", content) == ["1 bad-image"]


def test_the_checker_of_pictures_reads_every_format_it_claims() -> None:
    assert {Path(name).suffix for name in WHOLE} == IMAGE.files
