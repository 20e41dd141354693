"""Tool pinning: the programs a contract calls are the ones that were approved, byte for byte."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from signoff.commands.analysis import analyse
from signoff.commands.launchers import is_plain
from signoff.commands.programs import BUILTINS
from signoff.domain.plan import Contract
from signoff.process.shell import find_tool
from signoff.verification.ignored import digest_on_disk

Tools = Mapping[str, Mapping[str, Any]]  # name → {"path": …, "sha256": …}, or {"path": None}


def tools_of(contract: Contract, search_path: str, workspace: Path) -> dict[str, dict[str, Any]]:
    """The programs that analysis can see the contract call, as they are found now.

    A program inside the workspace is a by-product and covered by the environment digest: it is
    labelled, not hashed. What the analysis cannot see through adds nothing.
    """
    facts = analyse(contract.command)
    found: dict[str, dict[str, Any]] = {}
    for call in facts.calls:
        name = call.name
        if name in BUILTINS or name in facts.functions or not is_plain(name) or name in found:
            continue
        if "/" in name and not name.startswith("/"):
            continue  # a script of the workspace, pinned as content
        found[name] = _seen(name, search_path, workspace)
    return found


def changed_tools(pinned: Tools, now: Tools) -> tuple[str, ...]:
    """What is not the program that was approved, each with both places."""
    return tuple(
        f"`{name}` was {_shown(pinned[name])}, is {_shown(now[name])}"
        for name in sorted(pinned)
        if name in now and dict(pinned[name]) != dict(now[name])
    )


def _shown(tool: Mapping[str, Any]) -> str:
    if tool["path"] is None:
        return "not there"
    digest = tool.get("sha256")
    return f"`{tool['path']}`" + (f" ({digest[:12]})" if digest else "")


def _seen(name: str, search_path: str, workspace: Path) -> dict[str, Any]:
    path = find_tool(name, search_path)
    if path is None:
        return {"path": None}
    if path.is_relative_to(workspace):
        return {"path": str(path), "by_product": True}
    try:
        real = path.resolve()
        return {"path": str(path), "sha256": digest_on_disk(real, real.stat())}
    except OSError as error:
        return {"path": str(path), "sha256": f"unreadable: {error.strerror}"}
