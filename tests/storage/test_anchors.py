"""Anchors: lines that say a head."""

from __future__ import annotations

import pytest

from signoff.domain.receipt import Anchor
from signoff.errors import ProofInvalid
from signoff.storage.receipts import read_anchors

ANCHOR = Anchor("p", "PLAN", 3, "a" * 64, "2026-01-02T03:04:05.000006+00:00", None)
LATER = Anchor("p", "PLAN", 9, "b" * 64, "2026-01-03T03:04:05.000006+00:00", "c" * 64)


def test_anchors_are_read_line_by_line_and_a_wrong_line_is_named() -> None:
    text = f"{ANCHOR.line()}\n\n{LATER.line()}\n".encode()
    assert read_anchors(text, "a") == (ANCHOR, LATER)
    for wrong in (b"{}", b"\xff", b"[" * 100_000, b"hello"):
        with pytest.raises(ProofInvalid, match="`a`:4 is not an anchor"):
            read_anchors(text + wrong, "a")
