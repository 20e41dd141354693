"""Where a script loses a failure: between two commands, in a last `if`, by only printing it."""

from __future__ import annotations

import re
from itertools import pairwise

from signoff.commands.statuses import (
    PRINTERS,
    ZERO,
    ShellEvaluation,
    Statuses,
    is_filter,
    keeps_count,
)
from signoff.commands.tree import Link, NodeKind, ShellNode, shown

_SETUP = frozenset(
    (
        *("rm", "mkdir", "export", "set", "sleep", "echo", "printf", "trap", "umask"),
        *("kill", "read", "mapfile", "readarray"),
    )
)
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)\+?=")


def reason_of(block: ShellNode) -> str:
    """Why the status is always the same, in the words of the text."""
    if not block.parts:
        return "there is no command, only blank lines or comments"
    last = block.parts[-1]
    if last.kind is NodeKind.BACKGROUND:
        return "the last command runs in the background, so its status is never seen"
    if last.kind is NodeKind.PIPELINE and is_filter(last.parts[-1]):
        return f"the pipeline ends in `{shown(last)}`, which succeeds on any input"
    if last.kind is NodeKind.CHAIN and last.links[-1] is Link.OR:
        return f"`|| {shown(last.parts[-1])}` turns every failure into a success"
    if last.kind is NodeKind.IF:
        return "every branch of the last `if` ends in success"
    if len(block.parts) > 1:
        return f"the last command is `{shown(last)}`, and only the last one counts"
    return f"`{shown(last)}` always ends the same way"


def ignored(block: ShellNode) -> tuple[ShellNode, ...]:
    """Commands whose failure nobody would notice."""
    shell = ShellEvaluation()
    found: list[ShellNode] = []
    last: Statuses = ZERO
    for part, after in pairwise(range(len(block.parts))):
        node, following = block.parts[part], block.parts[after:]
        last = shell.run(ShellNode(NodeKind.BLOCK, 0, (node,)), last).falls
        stops = shell.errexit and shell.stops(node) is not False
        if last - ZERO and not stops and not _is_setup(node) and not _asks_for_status(following):
            found.append(node)
        if not last:
            return ()
    return tuple(found)


def is_negated(node: ShellNode) -> bool:
    """Whether the status comes from `! …`, which `set -e` does not look at."""
    return is_negated(node.parts[-1]) if node.kind is NodeKind.CHAIN else node.kind is NodeKind.NOT


def _is_setup(node: ShellNode) -> bool:
    if node.kind is NodeKind.COMMAND:
        return not node.words or node.name in _SETUP
    return node.kind in (NodeKind.BACKGROUND, NodeKind.OPAQUE) or keeps_count(node)


def _asks_for_status(after: tuple[ShellNode, ...]) -> bool:
    """Whether what follows a command looks at its status: `exit`, `[ $? = 0 ]`, `rc=$?`."""
    following = after[0]
    if following.name in ("exit", "return") and not following.args:
        return True
    texts = list(following.texts())
    if not any("$?" in text or "PIPESTATUS" in text for text in texts):
        return False
    # `[ $? -lt 99 ]` looks, and lets failures pass.
    if any("$?" in text and then in ("-lt", "-le") for text, then in pairwise(texts)):
        return False
    if following.kind is not NodeKind.COMMAND or following.words:
        return True
    found = (_ASSIGNED.match(word.text) for word in following.assigned)
    kept = re.compile(rf"\b(?:{'|'.join(name[1] for name in found if name)})\b")
    return any(kept.search(text) for node in after[1:] for text in node.texts())


def skipping_line(block: ShellNode) -> int | None:
    """The line of a last `if` without `else`: a false condition counts as success."""
    last = block.parts[-1] if block.parts else None
    if last is None or last.kind is not NodeKind.IF or len(last.parts) % 2:
        return None
    # `if grep -q FORBIDDEN f; then exit 1; fi` means just that.
    can_hold = any(0 in ShellEvaluation().run(body).all for body in last.parts[1::2])
    return last.line if can_hold else None


def printed_anyway(block: ShellNode, errexit: bool) -> tuple[str, ...]:
    """Texts that are printed whatever the workspace holds."""
    if errexit and len(block.parts) > 2:
        return ()
    found: list[str] = []
    shell = ShellEvaluation()
    for node in block.parts:
        if node.name in PRINTERS and not node.redirects and all(w.literal for w in node.words):
            found.append(" ".join(node.args))
        if shell.run(node).exits:
            break
    return tuple(found)
