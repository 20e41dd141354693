"""Calls that were made before with nothing changed since: content decides, not the call's text."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from signoff.domain.digests import digest_bytes, digest_of
from signoff.domain.text import escape_line
from signoff.toolbatch.calls import Call, CallResult, Nature
from signoff.toolbatch.disk import Disk, digest_at
from signoff.toolbatch.shellwork import looks

MOST_REMEMBERED = 512
MOST_FILES = 50  # that one result rests on; with more, the call is never called a duplicate
WHOLE, OLD, NEW = "content", "old", "new"  # payloads whose effect on a file is known


def key_of(call: Call) -> str:
    """The same for the same call, whatever its id."""
    try:
        return digest_of([call.tool, call.malformed, dict(call.arguments)])
    except (TypeError, ValueError):
        # Arguments that no JSON could carry: the words they are shown with must do.
        return digest_of([call.tool, call.malformed, repr(call.arguments)])


@dataclass(frozen=True)
class ResultBasis:
    """What a result rested on when it was made."""

    files: Mapping[str, str]
    content: str = ""
    stirred: int = 0


class Duplicates:
    """Remembers what the last few hundred calls rested on; a look-up costs no more with time."""

    def __init__(self, disk: Disk, most: int = MOST_REMEMBERED):
        self._disk = disk
        self._most = most
        self._seen: OrderedDict[str, ResultBasis] = OrderedDict()
        # Calls that may have changed what no digest of the content covers: builds, ignored files.
        self._stirred = 0

    def __len__(self) -> int:
        return len(self._seen)

    def repeated(self, call: Call) -> str:
        """Why nothing can come of the call, in words for the model; empty if something can."""
        nature = call.shape.nature
        if nature is Nature.MUTATE:
            return self._no_op(call) or self._applied(call)
        if looks(call):
            basis = self._seen.get(key_of(call))
            if basis is not None and self._holds(basis):
                return f"nothing that `{_label(call)}` shows changed since it was shown"
        return ""

    def note(self, call: Call, result: CallResult) -> None:
        """Remember what a call rested on; also one that failed may have changed things."""
        nature = call.shape.nature
        if nature is Nature.MUTATE:
            self._stirred += bool(result.ok or result.writes or result.touched)
        elif nature in (Nature.SHELL, Nature.OTHER):
            self._stirred += not looks(call)
        if result.ok and looks(call):
            self._remember(call, self._looked_at(result))
        elif result.ok and nature is Nature.MUTATE:
            self._remember(call, ResultBasis(dict(result.writes)) if result.writes else None)

    def forget(self) -> None:
        """Everything: what was shown is not before the model any more."""
        self._seen.clear()

    def _looked_at(self, result: CallResult) -> ResultBasis | None:
        if result.reads:
            return ResultBasis(dict(result.reads))
        content = result.content or self._disk.content()
        return ResultBasis({}, content, self._stirred) if content else None

    def _remember(self, call: Call, basis: ResultBasis | None) -> None:
        key = key_of(call)
        self._seen.pop(key, None)
        if basis is None or len(basis.files) > MOST_FILES:
            return
        self._seen[key] = basis
        if len(self._seen) > self._most:
            self._seen.popitem(last=False)

    def _holds(self, basis: ResultBasis) -> bool:
        if basis.files:
            return self._same(basis.files)
        return basis.stirred == self._stirred and self._disk.content() == basis.content

    def _same(self, files: Mapping[str, str]) -> bool:
        return all(digest_at(self._disk, path) == digest for path, digest in files.items())

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
        """The same change again, on a file that still is as it left it and has no place for it."""
        basis = self._seen.get(key_of(call))
        if basis is None or WHOLE in call.shape.payload or not self._same(basis.files):
            return ""
        old = call.arguments.get(OLD)
        if OLD in call.shape.payload and isinstance(old, str):
            now = self._disk.read(call.target)
            if now is not None and old.encode("utf-8", "replace") in now:
                return ""
        return f"`{_label(call)}`: this very change was made already, and it still stands"


def _label(call: Call) -> str:
    return escape_line(call.label)[:80]
