"""Pictures taken apart with the standard library: whether the parts fit together, and the size."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from xml.parsers import expat

MOST_PIXELS = 64_000_000
_PNG = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
# Adam7: where each pass begins and its steps, across and down.
_PASSES = (
    (0, 0, 8, 8),
    (4, 0, 8, 8),
    (0, 4, 4, 8),
    (2, 0, 4, 4),
    (0, 2, 2, 4),
    (1, 0, 2, 2),
    (0, 1, 1, 2),
)
_NO_LENGTH = frozenset({0x01, *range(0xD0, 0xD8)})
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


class BadPicture(ValueError):
    """What does not fit."""


@dataclass(frozen=True)
class Picture:
    """Its size, and whether every point of it was decoded."""

    width: int
    height: int
    decoded: bool = False

    @property
    def pixels(self) -> int:
        """How many points it has."""
        return self.width * self.height


def read_png(data: bytes) -> Picture:
    """Chunks with their checksums, and all lines of the picture unpacked and counted."""
    if not data.startswith(_PNG):
        raise BadPicture("it does not begin like a PNG")
    at, header, unpacked, ended = len(_PNG), b"", _Unpacked(), False
    while at < len(data) and not ended:
        if at + 12 > len(data):
            raise BadPicture("it ends inside a chunk")
        length, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8 : at + 8 + length]
        if at + 12 + length > len(data):
            raise BadPicture(f"it ends inside chunk `{_shown(kind)}`")
        if zlib.crc32(kind + body) != struct.unpack_from(">I", data, at + 8 + length)[0]:
            raise BadPicture(f"the checksum of chunk `{_shown(kind)}` is wrong")
        if not header and kind != b"IHDR":
            raise BadPicture("its first chunk is not `IHDR`")
        if kind == b"IHDR":
            header, unpacked = body, _Unpacked(_png_bytes(body))
        elif kind == b"IDAT":
            unpacked.feed(body)
        ended = kind == b"IEND"
        at += 12 + length
    if not ended:
        raise BadPicture("it has no end (`IEND`)")
    unpacked.finish()
    width, height = struct.unpack_from(">II", header)
    return Picture(width, height, decoded=True)


class _Unpacked:
    """Counts what the compressed lines unpack to, without keeping them."""

    def __init__(self, wanted: int = 0):
        self._wanted, self._got, self._z = wanted, 0, zlib.decompressobj()

    def feed(self, data: bytes) -> None:
        """The next piece; never more than the picture needs."""
        try:
            while data and not self._z.eof and self._got <= self._wanted:
                out = self._z.decompress(data, 1_000_000)
                self._got += len(out)
                data = self._z.unconsumed_tail
        except zlib.error as error:
            raise BadPicture(f"its points cannot be unpacked: {error}") from error

    def finish(self) -> None:
        """Whether that was the whole picture."""
        if self._got < self._wanted:
            raise BadPicture(f"{self._got} of {self._wanted} bytes of its points are there")


def _png_bytes(header: bytes) -> int:
    """How many bytes the lines of a picture with this header have."""
    if len(header) != 13:
        raise BadPicture("its header has a wrong length")
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    if not (width and height) or depth not in _DEPTHS.get(colour, ()):
        raise BadPicture("its header describes no picture")
    bits = depth * _CHANNELS[colour]
    if not interlaced:
        return int(height * (1 + (width * bits + 7) // 8))
    total = 0
    for x, y, step_x, step_y in _PASSES:
        across, down = (width - x + step_x - 1) // step_x, (height - y + step_y - 1) // step_y
        total += down * (1 + (across * bits + 7) // 8) if across > 0 and down > 0 else 0
    return total


def read_jpeg(data: bytes) -> Picture:
    """Segments up to the scan, a frame with a size, and the mark of the end behind it."""
    if not data.startswith(b"\xff\xd8"):
        raise BadPicture("it does not begin like a JPEG")
    at, size = 2, None
    while True:
        if at + 4 > len(data) or data[at] != 0xFF:
            raise BadPicture("a segment does not begin where the one before it ends")
        marker = data[at + 1]
        if marker == 0xFF or marker in _NO_LENGTH:
            at += 1 if marker == 0xFF else 2
            continue
        length = struct.unpack_from(">H", data, at + 2)[0]
        if length < 2 or at + 2 + length > len(data):
            raise BadPicture("it ends inside a segment")
        if marker in _FRAMES:
            if length < 8:
                raise BadPicture("its frame has no size")
            height, width = struct.unpack_from(">HH", data, at + 5)
            size = Picture(width, height)
        at += 2 + length
        if marker == 0xDA:
            break
    if size is None or not size.pixels:
        raise BadPicture("it has no frame with a size before its scan")
    if data.find(b"\xff\xd9", at) < 0:
        raise BadPicture("it has no end: it was cut off")
    if data.find(b"\xff\xd9", at) - at < 2:
        raise BadPicture("its scan is empty")
    return size


def read_gif(data: bytes) -> Picture:
    """Blocks up to the trailer, with at least one picture in them."""
    if data[:6] not in (b"GIF87a", b"GIF89a") or len(data) < 13:
        raise BadPicture("it does not begin like a GIF")
    width, height, flags = struct.unpack_from("<HHB", data, 6)
    at, pictures = 13 + (3 << ((flags & 7) + 1) if flags & 0x80 else 0), 0
    while at < len(data) and data[at] != 0x3B:
        if data[at] == 0x21:
            at = _sub_blocks(data, at + 2)
        elif data[at] == 0x2C and at + 10 <= len(data):
            local = data[at + 9]
            at += 10 + (3 << ((local & 7) + 1) if local & 0x80 else 0)
            body = at + 1
            at, pictures = _sub_blocks(data, body), pictures + 1
            if at - body < 3:
                raise BadPicture("a picture in it has no points")
        else:
            raise BadPicture("a block does not begin where the one before it ends")
    if at >= len(data):
        raise BadPicture("it has no end: it was cut off")
    if not pictures or not (width and height):
        raise BadPicture("there is no picture in it")
    return Picture(width, height)


def _sub_blocks(data: bytes, at: int) -> int:
    """Behind a chain of sub-blocks."""
    while at < len(data) and data[at]:
        at += data[at] + 1
    if at >= len(data):
        raise BadPicture("it ends inside a block")
    return at + 1


def read_webp(data: bytes) -> Picture:
    """Chunks that fill the file, with a picture among them."""
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP" or len(data) < 20:
        raise BadPicture("it does not begin like a WebP")
    if struct.unpack_from("<I", data, 4)[0] + 8 > len(data):
        raise BadPicture("it is shorter than it says: it was cut off")
    at, size, points = 12, None, False
    while at + 8 <= len(data):
        kind, length = struct.unpack_from("<4sI", data, at)
        body = data[at + 8 : at + 8 + length]
        if len(body) < length:
            raise BadPicture(f"it ends inside chunk `{_shown(kind)}`")
        points = points or kind in (b"VP8 ", b"VP8L", b"ANMF")
        size = size or _webp_size(kind, body)
        at += 8 + length + length % 2
    if size is None or not points:
        raise BadPicture("there is no picture in it")
    return size


def _webp_size(kind: bytes, body: bytes) -> Picture | None:
    if kind == b"VP8X" and len(body) >= 10:
        return Picture(
            1 + int.from_bytes(body[4:7], "little"), 1 + int.from_bytes(body[7:10], "little")
        )
    if kind == b"VP8L" and len(body) > 5 and body[0] == 0x2F:
        bits = int.from_bytes(body[1:5], "little")
        return Picture((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8 " and len(body) > 10 and body[3:6] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", body, 6)
        return Picture(width & 0x3FFF, height & 0x3FFF)
    return None


def read_svg(data: bytes) -> Picture:
    """Well-formed XML whose outermost element is `<svg>` with something in it; no entities."""
    parser, names = expat.ParserCreate(namespace_separator=" "), list[str]()

    def begin(name: str, _attributes: dict[str, str]) -> None:
        if len(names) < 2:
            names.append(name)

    def refuse(*_args: object) -> None:
        raise BadPicture("it defines entities, which could grow without end")

    parser.StartElementHandler = begin
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        said = expat.errors.messages[error.code] if error.code else "not XML"
        raise BadPicture(f"{said} on line {error.lineno}") from error
    if names[0].rpartition(" ")[2] != "svg":
        raise BadPicture("its outermost element is not `<svg>`")
    if len(names) < 2:
        raise BadPicture("nothing is drawn in it")
    return Picture(0, 0, decoded=True)


def _shown(kind: bytes) -> str:
    return kind.decode("ascii", "backslashreplace")


READERS: Mapping[str, Callable[[bytes], Picture]] = {
    ".png": read_png,
    ".jpg": read_jpeg,
    ".jpeg": read_jpeg,
    ".gif": read_gif,
    ".webp": read_webp,
    ".svg": read_svg,
}
