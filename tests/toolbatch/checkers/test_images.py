"""Pictures open: every point is decoded, and a magic number alone is not enough."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from signoff.toolbatch.checkers.documents import IMAGE, SVG
from tests.toolbatch.checkers import pictures
from tests.toolbatch.checkers.kit import Artifacts
from tests.toolbatch.checkers.pictures import picture

WHOLE: dict[str, Callable[[], bytes]] = {
    "a.png": picture,
    "a.jpg": lambda: picture("JPEG"),
    "b.jpeg": lambda: picture("JPEG", progressive=True),
    "a.gif": pictures.animation,
    "a.webp": lambda: picture("WEBP"),
    "a.svg": lambda: pictures.SVG,
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_pictures_have_no_findings(artifacts: Artifacts, name: str) -> None:
    assert artifacts.of(name, WHOLE[name]()) == []


@pytest.mark.parametrize("name", WHOLE)
def test_a_picture_that_is_cut_off_is_found(artifacts: Artifacts, name: str) -> None:
    whole = WHOLE[name]()
    for cut in {len(whole) // 2, len(whole) * 9 // 10, 12, 3}:
        assert [line.split()[1] for line in artifacts.of(name, whole[:cut])] == ["bad-image"], cut


@pytest.mark.parametrize("name", WHOLE)
def test_nothing_and_text_are_no_pictures(artifacts: Artifacts, name: str) -> None:
    assert artifacts.of(name, b"") == ["1 bad-image"]
    assert artifacts.of(name, b"this is a placeholder for the picture") == ["1 bad-image"]


def test_a_picture_under_a_false_name_does_not_pass(artifacts: Artifacts) -> None:
    assert artifacts.of("a.jpg", picture("PNG")) == ["1 bad-image"]
    assert artifacts.of("a.png", picture("JPEG")) == ["1 bad-image"]


def test_damage_inside_the_points_is_found(artifacts: Artifacts) -> None:
    whole = picture("WEBP", lossless=True)
    assert artifacts.of("a.webp", whole[:40] + bytes(len(whole) - 40)) == ["1 bad-image"]


def test_a_picture_too_large_to_decode_is_unknown(artifacts: Artifacts) -> None:
    whole = pictures.animation()
    for size in (b"\xff\xff\xff\xff", b"\xff\x24\xff\x24"):  # 65535², and 9471²
        assert artifacts.of("a.gif", whole[:6] + size + whole[10:]) == ["1 ~too-large"]


@pytest.mark.parametrize(
    "content",
    [
        b"<svg><rect></svg>",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"<html><body/></html>",
        b'<!DOCTYPE svg [<!ENTITY a SYSTEM "/etc/passwd">]><svg><text>&a;</text></svg>',
    ],
)
def test_an_svg_is_well_formed_and_draws_something(artifacts: Artifacts, content: bytes) -> None:
    assert artifacts.of("a.svg", content) == ["1 bad-image"]


def test_the_checkers_of_pictures_read_every_format_they_claim() -> None:
    assert {Path(name).suffix for name in WHOLE} == IMAGE.files | SVG.files
