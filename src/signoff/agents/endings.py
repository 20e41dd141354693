"""Why an agent ended as it did, where more is known than its exit code: for people to read.

What an agent printed is its own word, so it only chooses among clauses that are ours.
"""

from __future__ import annotations

import re

from signoff.domain.observation import Ending, Observation, Output
from signoff.domain.text import decode_output, storable_path
from signoff.domain.verdict import Isolation

_PAGE = "docs/how-to/confine-agents.md"
WORKSPACE_ONLY = (
    f"the sandbox allows writing in the workspace only; `[sandbox] writable` widens it: {_PAGE}"
)
GIT_IS_READ_ONLY = (
    'the sandbox keeps `.git` as it is; `writable = [".git"]` under `[sandbox]` '
    f"lets agents commit: {_PAGE}"
)
_LAST_LINES = 20
_LAST_BYTES = 8_000
_NEVER_RAN = frozenset({Ending.NOT_STARTED, Ending.NOT_FOUND, Ending.NOT_EXECUTABLE})
# What each sandbox answers to a write outside; anything else has other causes more often.
_REFUSED = {
    Isolation.BUBBLEWRAP: re.compile(r"read-only file system|\bEROFS\b", re.IGNORECASE),
    Isolation.LANDLOCK: re.compile(r"permission denied(?! \()|\bEACCES\b", re.IGNORECASE),
}
_OWN_GIT = re.compile(r"(?:^|[\s'\"/])\.git/(?!worktrees/)")


def why_it_ended(seen: Observation, isolation: Isolation) -> str:
    """What the launcher said of an agent that never ran, or that its sandbox was in its way."""
    if seen.exit_code is None and seen.ending in _NEVER_RAN:
        return storable_path(seen.detail)
    if seen.exit_code == 0 or seen.ending not in (Ending.EXITED, Ending.TIMED_OUT):
        return ""
    refused = _REFUSED.get(isolation)
    if refused is None:
        return ""
    lines = [line for o in (seen.stdout, seen.stderr) for line in _last(o) if refused.search(line)]
    if not lines:
        return ""
    return GIT_IS_READ_ONLY if all(map(_OWN_GIT.search, lines)) else WORKSPACE_ONLY


def _last(output: Output) -> list[str]:
    return decode_output(output.kept[-_LAST_BYTES:]).splitlines()[-_LAST_LINES:]
