"""Progress files: lines that are only ever appended, and how copies of them become one again.

Nobody replaces a progress file. Merging appends what is missing where that keeps the order of
time. Where it does not, the file is first given a second name among the originals that are kept,
and only then its old name is handed over to the merged one: no byte of any version is lost, the
name never leads to nothing, and whoever waited to append looks again where the name leads.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from signoff.domain.conflicts import merge_progress
from signoff.domain.text import decode_output, escape_line
from signoff.storage.failures import os_failure
from signoff.storage.files import (
    LOCK_TIMEOUT_S,
    append_within,
    durable_replace,
    locked_lines,
    sync_folder,
)
from signoff.storage.locks import wait_for
from signoff.testing.crash import VaultPoint, reach

KEPT_FOLDER = "conflicts-kept"
LONGEST_LINE = 2_000
_LONGEST_WORD = 200
_MOST_BYTES = 20 * 1024 * 1024
# What folders of cloud drives answer that know no second name for a file.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)


def progress_line(at: str, author: str, run: str | None, step: str | None, text: str) -> str:
    """One line of a progress file: when, who, about which run and step, and what there is to say.

    Everything is escaped: no text can pretend to be a second line, nor an author two words."""
    words = f"- {at} {_word(author)} run={_word(run)} step={_word(step)} "
    return _capped(words + escape_line(text.strip()), LONGEST_LINE)


def read_progress(path: Path) -> str:
    """The newest part of a progress file, in the order of time; empty if there is none."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(path, flags)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise os_failure(f"`{path}`", error) from error
    with open(fd, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _MOST_BYTES))
        data = file.read(_MOST_BYTES)
    if size > _MOST_BYTES:
        data = data.partition(b"\n")[2]
    return merge_progress([decode_output(data)])


def merge_copies(path: Path, copies: tuple[Path, ...]) -> tuple[Path, ...]:
    """Bring what only conflict copies hold into the progress file; where the originals are kept.

    Killed at any point, nothing is lost, and the same call finishes it.
    """
    kept: list[Path] = []
    folder = Path(os.path.realpath(path.parent))
    try:
        with wait_for(folder, os.O_RDONLY | os.O_DIRECTORY, LOCK_TIMEOUT_S):
            texts = [decode_output(_content(copy)) for copy in copies]
            with locked_lines(path) as fd:
                kept += _merge_into(path, fd, texts)
            reach(VaultPoint.PROGRESS_MERGED)
            kept += [_set_aside(copy) for copy in copies]
    except OSError as error:
        raise os_failure(f"`{path}`", error) from error
    return tuple(kept)


def _merge_into(path: Path, fd: int, texts: list[str]) -> list[Path]:
    there = decode_output(os.pread(fd, os.fstat(fd).st_size, 0))
    own, merged = merge_progress([there]), merge_progress([there, *texts])
    if merged.startswith(own):  # what is missing, if anything is, comes behind all there is
        append_within(fd, merged[len(own) :].encode())
        return []
    kept = _second_name(path)
    reach(VaultPoint.PROGRESS_KEPT)
    durable_replace(path, merged.encode())
    return [kept]


def _second_name(path: Path) -> Path:
    """The same file under a free name in the folder of originals."""
    folder = path.parent / KEPT_FOLDER
    folder.mkdir(exist_ok=True)
    number = 1
    while True:
        kept = folder / f"{path.name}.{number}"
        try:
            _link_or_copy(path, kept)
        except FileExistsError:
            number += 1
            continue
        sync_folder(folder)
        return kept


def _link_or_copy(path: Path, kept: Path) -> None:
    try:
        os.link(path, kept, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        with open(kept, "xb") as file:
            file.write(_content(path))
            file.flush()
            os.fsync(file.fileno())


def _set_aside(copy: Path) -> Path:
    kept = _second_name(copy)
    reach(VaultPoint.COPY_KEPT)
    copy.unlink()
    sync_folder(copy.parent)
    return kept


def _content(path: Path) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(fd, "rb") as file:
        return file.read()


def _word(text: str | None) -> str:
    """One word, so that the fields of a line stay apart."""
    shown = "_".join(escape_line(text or "").split())
    return _capped(shown, _LONGEST_WORD) or "-"


def _capped(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
