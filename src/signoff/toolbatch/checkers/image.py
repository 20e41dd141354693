"""The checker of pictures: taken apart always, and decoded point by point where Pillow is there."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec

from signoff.toolbatch.checkers.finding import Finding, Severity
from signoff.toolbatch.checkers.image_parts import MOST_PIXELS, READERS, BadPicture
from signoff.toolbatch.checkers.subject import Subject
from signoff.toolbatch.checkers.tree import Tree

MOST_FRAMES = 200
_FORMATS = {".jpg": "JPEG", ".jpeg": "JPEG", ".gif": "GIF", ".webp": "WEBP", ".png": "PNG"}


@dataclass(frozen=True)
class ImageChecker:
    """`decoder` says whether Pillow may be used, where it is installed."""

    name: str = "image"
    files: frozenset[str] = frozenset(READERS)
    max_bytes: int = 50_000_000
    decoder: bool = True

    def check(self, subject: Subject, tree: Tree) -> Iterator[Finding]:  # noqa: ARG002 - alone
        """What does not fit, or how far was looked."""
        if not subject.content:
            yield subject.finding("empty-file", "there is no picture in it", "make the picture")
            return
        try:
            picture = READERS[subject.suffix](subject.content)
        except BadPicture as error:
            yield _bad(subject, str(error))
            return
        if picture.pixels > MOST_PIXELS:
            yield subject.finding(
                "too-large",
                f"{picture.width} × {picture.height} points are too many to decode",
                "make it smaller",
                severity=Severity.UNKNOWN,
            )
        elif not picture.decoded:
            yield from self._decode(subject)

    def _decode(self, subject: Subject) -> Iterator[Finding]:
        if not self.decoder or find_spec("PIL") is None:
            yield subject.finding(
                "structure-only",
                "its parts fit together; its points were not decoded",
                "pip install 'signoff[checkers]'",
                severity=Severity.NOTE,
            )
            return
        wrong = _decoding_trouble(subject.content, _FORMATS[subject.suffix])
        if wrong:
            yield _bad(subject, wrong)


IMAGE = ImageChecker()


def _bad(subject: Subject, said: str) -> Finding:
    return subject.finding("bad-image", said[:200], "make the picture again")


def _decoding_trouble(data: bytes, form: str) -> str:
    """Decode every frame; why that failed, or nothing."""
    from PIL import Image, ImageSequence  # noqa: PLC0415 - optional, and slow to load

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(data), formats=[form]) as picture:
                for number, frame in enumerate(ImageSequence.Iterator(picture)):
                    frame.load()
                    if number >= MOST_FRAMES:
                        break
    except Exception as error:  # a decoder raises whatever its format makes it raise
        return f"it cannot be decoded: {' '.join(str(error).split()) or type(error).__name__}"
    return ""
