"""One output stream: counted, hashed and searched as it passes, its head and tail kept."""

from __future__ import annotations

import hashlib
from enum import StrEnum

from signoff.domain.observation import Output


class StreamName(StrEnum):
    """Which of the two a piece of output came from."""

    STDOUT = "stdout"
    STDERR = "stderr"


class StreamRecord:
    """Takes chunks of any size in bounded memory."""

    def __init__(self, keep_head: int, keep_tail: int, needles: tuple[bytes, ...] = ()):
        self.size = 0
        self._hash = hashlib.sha256()
        self._head = bytearray()
        self._tail = bytearray()
        self._keep_head = keep_head
        self._keep_tail = keep_tail
        self._needles = needles
        self._found = [needle == b"" for needle in needles]
        self._carry = b""

    def feed(self, chunk: bytes) -> None:
        """Account for the next piece of the stream."""
        self.size += len(chunk)
        self._hash.update(chunk)
        self._search(chunk)
        room = self._keep_head - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        self._tail += chunk[-self._keep_tail :] if self._keep_tail else b""
        # Trimming at twice the length keeps the copying linear in the output.
        if len(self._tail) > 2 * self._keep_tail:
            del self._tail[: -self._keep_tail]

    def output(self) -> Output:
        """What is known of the stream so far."""
        tail = self._tail[-self._keep_tail :] if self._keep_tail else b""
        return Output(self.size, self._hash.hexdigest(), bytes(self._head), bytes(tail))

    def matches(self) -> tuple[bool, ...]:
        """For each needle, whether it appeared anywhere."""
        return tuple(self._found)

    def _search(self, chunk: bytes) -> None:
        missing = [i for i, found in enumerate(self._found) if not found]
        if not missing:
            return
        text = self._carry + chunk
        for i in missing:
            self._found[i] = self._needles[i] in text
        longest = max(len(self._needles[i]) for i in missing)
        self._carry = text[-(longest - 1) :] if longest > 1 else b""
