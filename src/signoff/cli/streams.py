"""Our own output, to its last line: where nobody reads it any more, the verb goes on without.

So `signoff status | head -1` ends with the exit code of the verb, as `signoff status` does.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class PatientFile(io.FileIO):
    """A descriptor of ours that takes everything, also when its reader left."""

    deserted = False

    def write(self, data: ReadableBuffer, /) -> int:
        """Write; of a closed pipe, claim that all bytes were written."""
        try:
            return super().write(data)
        except BrokenPipeError:
            self.deserted = True
            return memoryview(data).nbytes


def outlive_readers() -> None:
    """Let no reader who closes a pipe change how a command ends."""
    sys.stdout = _patient(sys.stdout)
    sys.stderr = _patient(sys.stderr)


def _patient(stream: TextIO) -> TextIO:
    # None where the descriptor was closed before we began.
    if not isinstance(stream, io.TextIOWrapper) or isinstance(_raw_of(stream), PatientFile):
        return stream
    stream.flush()
    file = PatientFile(stream.fileno(), "w", closefd=False)
    unbuffered = isinstance(stream.buffer, io.RawIOBase)  # PYTHONUNBUFFERED, or python -u
    return io.TextIOWrapper(
        file if unbuffered else io.BufferedWriter(file),
        encoding=stream.encoding,
        # A terminal of another encoding sees escapes instead of what it cannot show.
        errors="backslashreplace" if stream.errors == "strict" else stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _raw_of(stream: io.TextIOWrapper) -> object:
    return getattr(stream.buffer, "raw", stream.buffer)


def reader_left(stream: TextIO) -> bool:
    """True when nobody reads this stream any more, as far as writing to it showed."""
    raw = _raw_of(stream) if isinstance(stream, io.TextIOWrapper) else None
    return isinstance(raw, PatientFile) and raw.deserted


def leave_at_once(code: int) -> NoReturn:
    """End here: the engine's thread may be parked for ever, and nothing is left to save."""
    from signoff.process.landlock import put_away  # noqa: PLC0415 - who leaves so has loaded it

    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    put_away()
    os._exit(int(code))
