"""The tool-batch runtime: a definition of done, recovery, steering, rounds that go stale.

Usable by itself, around any model and any tools:

    from hashlib import sha256
    from pathlib import Path
    from signoff.toolbatch import Ending, Result, open_runner, propose

    def execute(call):
        if call.tool == "write":
            content = call.arguments["content"].encode()
            (root / call.arguments["path"]).write_bytes(content)
            return Result("written", ok=True, writes={call.target: sha256(content).hexdigest()})
        return Result((root / call.arguments["path"]).read_text(), ok=True)

    root = Path("work")
    runner = open_runner(root, execute, "Create `a.md` and `b.md`.")
    batch = [propose("1", "write", {"path": "a.md", "content": "# A"}, root=root)]
    result = runner.run(batch)
    print(result.ending is Ending.CONTINUE, result.steering.next_action.target)  # True b.md

`execute` carries out one call; looks may come from several threads. Everything is loaded when it is
first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from signoff.lazy import door

if TYPE_CHECKING:
    from signoff.toolbatch.calls import (
        ANSWER,
        STANDARD_SHAPES,
        Call,
        Nature,
        NextAction,
        Outcome,
        OutcomeKind,
        Result,
        ToolShape,
    )
    from signoff.toolbatch.disk import Disk, Folder
    from signoff.toolbatch.events import Event, Steered, Stream
    from signoff.toolbatch.executing import NOT_FINISHED, Execute
    from signoff.toolbatch.judging import Court, Judge
    from signoff.toolbatch.keeping import Keeper, LedgerBook, MemoryBook
    from signoff.toolbatch.moments import WorkspaceSnapshots
    from signoff.toolbatch.opening import Parts, open_runner
    from signoff.toolbatch.pipeline import BatchResult, BatchRunner, Ending
    from signoff.toolbatch.preflight import PREFLIGHT
    from signoff.toolbatch.proposing import propose
    from signoff.toolbatch.rollback import Restoring, Rollbacks, Undone
    from signoff.toolbatch.shelves import LedgerShelf, MemoryShelf
    from signoff.toolbatch.steering import STEERING
    from signoff.toolbatch.view import BatchLimits, View

__all__ = [
    "ANSWER",
    "NOT_FINISHED",
    "PREFLIGHT",
    "STANDARD_SHAPES",
    "STEERING",
    "BatchLimits",
    "BatchResult",
    "BatchRunner",
    "Call",
    "Court",
    "Disk",
    "Ending",
    "Event",
    "Execute",
    "Folder",
    "Judge",
    "Keeper",
    "LedgerBook",
    "LedgerShelf",
    "MemoryBook",
    "MemoryShelf",
    "Nature",
    "NextAction",
    "Outcome",
    "OutcomeKind",
    "Parts",
    "Restoring",
    "Result",
    "Rollbacks",
    "Steered",
    "Stream",
    "ToolShape",
    "Undone",
    "View",
    "WorkspaceSnapshots",
    "open_runner",
    "propose",
]

_NAMES_OF = {
    "calls": (
        "ANSWER",
        "STANDARD_SHAPES",
        "Call",
        "Nature",
        "NextAction",
        "Outcome",
        "OutcomeKind",
        "Result",
        "ToolShape",
    ),
    "disk": ("Disk", "Folder"),
    "events": ("Event", "Steered", "Stream"),
    "executing": ("NOT_FINISHED", "Execute"),
    "judging": ("Court", "Judge"),
    "keeping": ("Keeper", "LedgerBook", "MemoryBook"),
    "moments": ("WorkspaceSnapshots",),
    "opening": ("Parts", "open_runner"),
    "pipeline": ("BatchResult", "BatchRunner", "Ending"),
    "preflight": ("PREFLIGHT",),
    "proposing": ("propose",),
    "rollback": ("Restoring", "Rollbacks", "Undone"),
    "shelves": ("LedgerShelf", "MemoryShelf"),
    "steering": ("STEERING",),
    "view": ("BatchLimits", "View"),
}
_MODULE_OF = {name: module for module, names in _NAMES_OF.items() for name in names}


__getattr__ = door(__name__, _MODULE_OF)
