"""Our own output must not lie in the workspace: a file that grows as we print is never judged."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from signoff.domain.text import storable_path
from signoff.errors import UsageError
from signoff.workspace.workspace import Workspace

_HINT = (
    "write it outside the workspace, as in > ../run.log; what was not ignored when it was approved"
    " counts until it is approved again"
)


def refuse_own_output(files: Iterable[Path], workspace: Workspace, root: Path) -> None:
    """Before anything is run or approved: the file is named, and that we write it ourselves."""
    inside = [str(file.relative_to(root)) for file in files if file.is_relative_to(root)]
    if not inside:
        return
    content = workspace.manifest(workspace.digest_now(quiet=False).digest)
    found = [path for path in inside if path in content]
    if found:
        raise UsageError(
            f"signoff's own output goes to `{storable_path(found[0])}` in the workspace, so the"
            " content would change whenever something is said about it",
            _HINT,
        )
