"""`make truth`: the two corpora as a script, runnable from anywhere."""

from __future__ import annotations

import sys
from pathlib import Path

# Its own folder gives way to the repository, where the package lies.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from truth.__main__ import main  # noqa: E402 - found by the line above

if __name__ == "__main__":
    sys.exit(main())
