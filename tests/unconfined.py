"""Most suites run without a sandbox, so that they are fast and show what holds without one.

The sandboxes have suites of their own: tests/process, tests/truth, tests/cli/test_isolation.py.
"""

from __future__ import annotations

from pathlib import Path

UNCONFINED = '[sandbox]\nisolation = "none"\n'


def user_file(folder: Path) -> str:
    """A configuration of the user's that chooses no sandbox."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "unconfined.toml"
    path.write_text(UNCONFINED)
    return str(path)
