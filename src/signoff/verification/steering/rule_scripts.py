"""Scripts that a contract executes from the workspace, and what those run in turn."""

from __future__ import annotations

import posixpath
import re

from signoff.commands.interpreters import INTERPRETERS, scripts_run
from signoff.commands.launchers import SHELLS, Invocation, inside, is_plain, started_by
from signoff.verification.steering.trail import ShellText, Trail

_SHEBANG = re.compile(rb"#!\s*(\S+)(?:[ \t]+(.*))?")
_NOT_SHELL = (".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".awk", ".sed", ".jq")


def steer_interpreter(call: Invocation, trail: Trail) -> None:
    """`bash x`, `node x`, `awk -f x`: the script is pinned, and read when it is shell."""
    for word in scripts_run(call.tool, call.args):
        path = inside(call.folder, word) if word and is_plain(word) else None
        for suffix in INTERPRETERS[call.tool].suffixes if path is not None else ():
            for found in trail.content.matching(f"{path}{suffix}"):
                end = trail.pin_called(found)
                if call.tool in SHELLS:
                    _follow_shell(end, call.folder, trail)


def steer_executed(call: Invocation, trail: Trail) -> None:
    """`./check.sh`: pinned, and read as what its first line says it is."""
    path = inside(call.folder, call.path)
    if path is not None and is_plain(call.path):
        for found in trail.content.matching(path):
            execute(found, call.folder, trail)


def execute(path: str, folder: str, trail: Trail) -> None:
    """Pin an executed or sourced file and look at what it runs."""
    end = trail.pin_called(path)
    data = trail.content.read(end) if trail.content.is_source(end) else None
    if data is None or b"\0" in data:
        return
    shebang = _SHEBANG.match(data)
    if shebang is None:
        if not end.endswith(_NOT_SHELL):
            _follow_shell(end, folder, trail)
        return
    words = [shebang[1], *(shebang[2] or b"").split()]
    if posixpath.basename(words[0]) == b"env":
        words = [w for w in words[1:] if not w.startswith(b"-") and b"=" not in w]
    named = [w.decode("utf-8", "surrogateescape") for w in words]
    if named:
        # The path is given from the workspace, so that is where the interpreter is said to run.
        back = posixpath.relpath(end, folder or ".")
        for call in started_by(posixpath.basename(named[0]), (*named[1:], back), folder):
            trail.follow(call)


def _follow_shell(end: str, folder: str, trail: Trail) -> None:
    data = trail.content.read(end) if trail.content.is_source(end) else None
    if data is not None:
        trail.follow(ShellText(data.decode("utf-8", "replace"), folder))
