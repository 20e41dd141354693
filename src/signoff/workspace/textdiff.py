"""The difference between two snapshots as text for people and prompts."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator

from signoff.domain.snapshot import Change, ChangeKind, FileKind
from signoff.workspace.store import StoredFile

Entries = dict[str, StoredFile]
ReadContent = Callable[[StoredFile, str], bytes]

_MAX_FILE_BYTES = 1 << 20
# difflib takes quadratic time on text made to defeat it; beyond this, old out and new in.
_MAX_COMPARED_LINES = 3_000
_CONTEXT_LINES = 3


def render_diff(
    changes: Iterable[Change], old: Entries, new: Entries, read: ReadContent, max_bytes: int
) -> str:
    """Unified diff of the changes; binary and large files are named only, the end may be cut."""
    out: list[str] = []
    left = max_bytes
    for change in changes:
        for line in _one(change, old, new, read):
            left -= len(line.encode("utf-8", "replace"))
            if left < 0:
                return "".join(out) + f"… cut after {max_bytes} bytes\n"
            out.append(line)
    return "".join(out)


def _one(change: Change, old: Entries, new: Entries, read: ReadContent) -> Iterator[str]:
    before, after = old.get(change.path), new.get(change.path)
    was, now = _what(before), _what(after)
    said = {
        ChangeKind.ADDED: f" {now}",
        ChangeKind.REMOVED: f" {was}",
        ChangeKind.MODIFIED: "" if was == now else f" {was} to {now}",
    }[change.kind]
    yield f"{change.kind}{said}: {shown_path(change.path)}\n"
    old_lines, new_lines = _lines(change.path, before, read), _lines(change.path, after, read)
    if old_lines is None or new_lines is None:
        yield "  (binary or large content not shown)\n"
        return
    if old_lines == new_lines:
        return
    name = shown_path(change.path)
    yield f"--- {'/dev/null' if before is None else 'a/' + name}\n"
    yield f"+++ {'/dev/null' if after is None else 'b/' + name}\n"
    for line in _hunks(old_lines, new_lines):
        yield line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"


def _what(stored: StoredFile | None) -> str:
    if stored is None:
        return "nothing"
    return "executable file" if stored.state.executable else str(stored.state.kind)


def _lines(path: str, stored: StoredFile | None, read: ReadContent) -> list[str] | None:
    """The text lines of a file or link; None when it is not to be shown."""
    if stored is None or stored.state.kind not in (FileKind.FILE, FileKind.LINK):
        return []
    if stored.state.size > _MAX_FILE_BYTES:
        return None
    data = read(stored, path)
    if b"\0" in data:
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    changed = len(old) + len(new) - 2 * _common_ends(old, new)
    if changed <= _MAX_COMPARED_LINES:
        diff = difflib.unified_diff(old, new, n=_CONTEXT_LINES)
        next(diff)
        next(diff)
        yield from diff
        return
    yield f"@@ -1,{len(old)} +1,{len(new)} @@\n"
    yield from ("-" + line for line in old)
    yield from ("+" + line for line in new)


def _common_ends(old: list[str], new: list[str]) -> int:
    """How many lines are the same at the start and at the end."""
    limit = min(len(old), len(new))
    start = next((i for i in range(limit) if old[i] != new[i]), limit)
    end = next((i for i in range(limit - start) if old[-1 - i] != new[-1 - i]), limit - start)
    return start + end


def shown_path(path: str) -> str:
    """A path that stays on one line and carries no control characters."""
    if path.isprintable():
        return path
    return '"' + path.encode("unicode_escape", "surrogatepass").decode("ascii") + '"'
