"""Calls that were made before with nothing changed since: content decides, not the call's text."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from signoff.domain.digests import digest_bytes, digest_of
from signoff.domain.text import escape_line
from signoff.toolbatch.calls import Call, CallResult, Nature
from signoff.toolbatch.disk import WorkspaceFolder

MOST_REMEMBERED = 512
MOST_FILES = 50  # that one result rests on; with more, the call is never called a duplicate
WHOLE, OLD, NEW = "content", "old", "new"  # payloads whose effect on a file is known


def key_of(call: Call) -> str:
    """Key of a call: equal for the same call, whatever its id."""
    try:
        return digest_of([call.tool, call.malformed, dict(call.arguments)])
    except (TypeError, ValueError):
        # Arguments that no JSON could carry: the words they are shown with must do.
        return digest_of([call.tool, call.malformed, repr(call.arguments)])


class Duplicates:
    """Remembers the files that the last few hundred reads and changes rested on.

    A look that names no file, such as a search or a command, is never called a duplicate.
    """

    def __init__(self, disk: WorkspaceFolder, most: int = MOST_REMEMBERED):
        self._disk = disk
        self._most = most
        self._seen: OrderedDict[str, Mapping[str, str]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._seen)

    def repeated(self, call: Call) -> str:
        """The reason why nothing can come of the call, for the model; empty if something can."""
        if call.shape.nature is Nature.MUTATE:
            return self._no_op(call) or self._applied(call)
        if call.shape.nature is Nature.OBSERVE and self._stands(call):
            return f"nothing that `{_label(call)}` shows changed since it was shown"
        return ""

    def note(self, call: Call, result: CallResult) -> None:
        nature = call.shape.nature
        files = {Nature.OBSERVE: result.reads, Nature.MUTATE: result.writes}.get(nature)
        if not result.ok or files is None:
            return
        key = key_of(call)
        self._seen.pop(key, None)
        if 0 < len(files) <= MOST_FILES:
            self._seen[key] = dict(files)
        if len(self._seen) > self._most:
            self._seen.popitem(last=False)

    def forget(self) -> None:
        """Everything: what was shown is not before the model any more."""
        self._seen.clear()

    def _stands(self, call: Call) -> bool:
        """True when the call was made before, and its files are as it met or left them."""
        files = self._seen.get(key_of(call), {})
        return bool(files) and all(self._disk.digest(p) == now for p, now in files.items())

    def _no_op(self, call: Call) -> str:
        """A write of what is there, an edit that replaces a text by itself."""
        old, new, whole = (call.arguments.get(name) for name in (OLD, NEW, WHOLE))
        if {OLD, NEW} <= set(call.shape.payload):
            same = isinstance(old, str) and old != "" and old == new
            return "`old` and `new` are the same text" if same else ""
        if WHOLE not in call.shape.payload or not isinstance(whole, str) or not call.target:
            return ""
        now = self._disk.read(call.target)
        if now is None or digest_bytes(now) != digest_bytes(whole.encode("utf-8", "replace")):
            return ""
        return f"`{_label(call)}`: the file holds exactly this already"

    def _applied(self, call: Call) -> str:
        """The reason to refuse a change made before, for which the file has no place any more."""
        if WHOLE in call.shape.payload or not self._stands(call):
            return ""
        old, now = call.arguments.get(OLD), self._disk.read(call.target)
        if isinstance(old, str) and now is not None and old.encode("utf-8", "replace") in now:
            return ""
        return f"`{_label(call)}`: this very change was made already, and it still stands"


def _label(call: Call) -> str:
    return escape_line(call.label)[:80]
