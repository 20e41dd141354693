"""A real pseudo-terminal to play a command at."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.cli.ended import LIMIT_S

_ROWS, _COLUMNS = 50, 160


def play_at_terminal(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], typed: str
) -> tuple[bytes, int]:
    """What the terminal showed, and the exit code."""
    keyboard, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=dict(environment),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    try:
        os.write(keyboard, typed.encode())
        return _read_to_end(keyboard), process.wait(timeout=LIMIT_S)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(keyboard)


def _read_to_end(keyboard: int) -> bytes:
    shown = b""
    give_up = time.monotonic() + LIMIT_S
    while time.monotonic() < give_up:
        if not select.select([keyboard], [], [], 1.0)[0]:
            continue
        try:
            chunk = os.read(keyboard, 65536)
        except OSError:  # the last one at the terminal has left
            return shown
        if not chunk:
            return shown
        shown += chunk
    raise AssertionError(f"it never ended; the terminal showed: {shown!r}")
