"""Scripts that a contract executes from the workspace, and what those run in turn."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, replace

from signoff.commands.launchers import SHELLS, Invocation, inside, is_plain, started_by
from signoff.verification.steering.trail import ShellText, Trail

_SHEBANG = re.compile(rb"#!\s*(\S+)(?:[ \t]+(.*))?")
_NOT_SHELL = (".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".awk", ".sed", ".jq")


@dataclass(frozen=True)
class _Interpreter:
    """How an interpreter's own words end and its script begins."""

    valued: tuple[str, ...] = ()
    inline: str = ""  # letters of options after which the program is on the command line
    loading: tuple[str, ...] = ()  # options that name a script to run first
    subcommands: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ("",)
    syntax_only: tuple[str, ...] = ()  # options with which the script is read and not run


_NODE = _Interpreter(
    ("-C", "--conditions", "--env-file", "--test-reporter", "--test-name-pattern", "--tsconfig"),
    "ep",
    ("-r", "--require", "--import", "--loader", "--experimental-loader"),
    suffixes=("", ".js", ".mjs", ".cjs", "/index.js"),
)
_SHELL = _Interpreter(
    ("-o", "+o", "-O", "+O"), "c", ("--rcfile", "--init-file"), syntax_only=("-n",)
)
_PROGRAM_FILE = _Interpreter(inline="*", loading=("-f", "--file", "--from-file"))
INTERPRETERS: dict[str, _Interpreter] = {
    **dict.fromkeys(SHELLS, _SHELL),
    **dict.fromkeys(("tsx", "ts-node"), _NODE),
    "node": replace(_NODE, syntax_only=("-c", "--check")),
    **dict.fromkeys(("awk", "gawk", "mawk", "sed", "jq"), _PROGRAM_FILE),
    "perl": _Interpreter(("-I",), "eE"),
    "ruby": _Interpreter(("-I", "-C"), "e", ("-r",), suffixes=("", ".rb")),
    "php": _Interpreter(("-c", "-d"), "r", ("-f",), syntax_only=("-l",)),
    "Rscript": _Interpreter(inline="e"),
    "lua": _Interpreter(inline="e"),
    "deno": _Interpreter(("-c", "--config"), subcommands=("run", "test")),
}


def steer_interpreter(call: Invocation, trail: Trail) -> None:
    """`bash x`, `node x`, `awk -f x`: the script is pinned, and read when it is shell."""
    spec = INTERPRETERS[call.tool]
    words = list(call.args)
    if len(words) == 2 and words[0] in spec.syntax_only:
        return
    while words:
        word = words.pop(0)
        if word in spec.loading:
            _pin_named(call, words.pop(0) if words else "", spec, trail)
        elif word in spec.valued:
            del words[:1]
        elif word.startswith(("-", "+")) and len(word) > 1:
            option, equals, value = word.partition("=")
            if equals and option in spec.loading:
                _pin_named(call, value, spec, trail)
            if not word.startswith("--") and set(spec.inline) & set(word[1:]):
                return
        elif spec.inline == "*" or word in spec.subcommands:
            continue
        else:
            _pin_named(call, word, spec, trail)
            return


def _pin_named(call: Invocation, word: str, spec: _Interpreter, trail: Trail) -> None:
    path = inside(call.folder, word) if word and is_plain(word) else None
    if path is None:
        return
    for suffix in spec.suffixes:
        for found in trail.content.matching(path + suffix):
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
