"""What a contract's text shows of the runners it calls, and whether it could call others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from signoff.commands.analysis import analyse
from signoff.commands.launchers import Invocation
from signoff.commands.programs import is_installed, runner_of, stops_early, tools_started

_REPEATS = re.compile(r"(?<![\w./-])(?:for|while|until|xargs|parallel|-exec|-execdir)(?![\w./=-])")
# Unseen, but no commands: where something is written, and a virtual environment's variables.
_NO_CALL = re.compile(r"where `|`(?:source|\.) \S*bin/activate`")
# The runners whose endings are read, in the order in which they are tried where none is seen.
COUNTED = (
    *("pytest", "unittest", "jest", "vitest", "mocha", "node", "cargo", "nextest", "gotestsum"),
    *("go", "TAP"),
)
# Tools that start no tests: a contract of these alone shows nothing but old results.
_PLAIN = frozenset(
    (
        *("cd", "pushd", "popd", "export", "set", "unset", "true", "false", ":", "echo", "printf"),
        *("test", "[", "exit", "return", "shift", "read", "local", "trap", "wait", "umask", "type"),
        *("grep", "egrep", "fgrep", "rg", "cat", "ls", "head", "tail", "wc", "sed", "awk", "sort"),
        *("uniq", "cut", "tr", "tee", "diff", "cmp", "find", "rm", "mkdir", "cp", "mv", "touch"),
        *("chmod", "ln", "stat", "file", "jq", "git", "pip", "pip3", "sleep", "date", "which"),
        *("command", "basename", "dirname", "realpath", "readlink", "sha256sum", "md5sum", "xxd"),
        *("ruff", "mypy", "black", "flake8", "pylint", "isort", "pyright", "eslint", "prettier"),
        *("tsc", "rustfmt", "gofmt", "curl", "wget", "tar", "gzip", "unzip", "seq", "mktemp"),
    )
)
_SILENT = frozenset(
    (
        *("cd", "pushd", "popd", "export", "set", "unset", "true", ":", "test", "[", "umask"),
        *("mkdir", "rm", "source", "."),
    )
)
_SETS_PATH = re.compile(r"(?<!\w)PATH\+?=")
_PREPARING = {
    "uv": ("sync", "pip", "lock", "venv"),
    "poetry": ("install", "sync", "lock"),
    "npm": ("ci", "install", "i"),
    "pnpm": ("install", "i"),
    "yarn": ("install",),
    "bun": ("install", "i"),
    "cargo": ("build", "check", "fmt", "clippy", "fetch"),
    "go": ("build", "vet", "mod", "fmt"),
}


@dataclass(frozen=True)
class Sight:
    """`calls` is how often the text calls each runner, by its name.

    `hides` says that it calls other things that could start a runner, `repeats` that a call in it
    may stand for several, `stops_early` that a runner is told to stop at a failure.
    """

    calls: Mapping[str, int]
    hides: bool
    repeats: bool
    stops_early: bool = False
    shows_all: bool = True  # no other runner than those in `calls`, where there are any

    @property
    def nothing_can_run(self) -> bool:
        """Whether no test runner is started, whatever is printed."""
        return not (self.calls or self.hides or self.repeats)

    @property
    def runners(self) -> tuple[str, ...]:
        """Whose endings may be read: those that are called, or all where none is seen."""
        chosen = self.calls if self.calls and self.shows_all else COUNTED
        return tuple(name for name in COUNTED if name in chosen)


@lru_cache(maxsize=64)
def look_at(command: str) -> Sight:
    """Never raises, whatever the text."""
    facts = analyse(command)
    calls: dict[str, int] = {}
    unseen = any(not _NO_CALL.match(unseen.what) for unseen in facts.unseen)
    hides = cut_short = False
    for call in facts.calls:
        chain = (
            list(tools_started(call.name, call.args)) if call.name not in facts.functions else []
        )
        found = next((inner for inner in chain if runner_of(inner) in COUNTED), None)
        if found is not None:
            runner = runner_of(found)
            calls[runner] = calls.get(runner, 0) + 1
            cut_short |= stops_early(found)
        elif not chain or not _is_plain(chain[-1]):
            hides = True
    repeats = bool(unseen or facts.functions or _REPEATS.search(command))
    return Sight(calls, hides, repeats, cut_short)


def tools_called(command: str) -> frozenset[str]:
    """The tools that the text calls, launchers peeled off; `cargo clippy` also with its verb."""
    chains = (tools_started(call.name, call.args) for call in analyse(command).calls)
    called = [call for chain in chains for call in chain]
    verbs = (f"{call.tool} {call.args[0]}" for call in called if call.args)
    return frozenset((*(call.tool for call in called), *verbs))


def runs_only_tests(command: str) -> bool:
    """Whether all that the text shows is known runners, with nothing beside them that could print.

    What it then prints comes out of a runner: from the search path, or of a folder that package
    tools install into.
    """
    facts = analyse(command)
    unseen = any(not _NO_CALL.match(unseen.what) for unseen in facts.unseen)
    if facts.functions or unseen or _SETS_PATH.search(command):
        return False
    found = False
    for call in facts.calls:
        chain = list(tools_started(call.name, call.args))
        runner = next((tool for tool in chain if runner_of(tool) in COUNTED), None)
        # A runner that is a script of the workspace (`python manage.py test`) can print anything.
        if runner is not None and runner.tool != "python" and all(map(_is_installed, chain)):
            found = True
        elif runner is not None or not _prints_nothing(chain[-1]):
            return False
    return found


def _prints_nothing(call: Invocation) -> bool:
    return (call.tool in _SILENT and not call.path) or (
        bool(call.args) and call.args[0] in _PREPARING.get(call.tool, ())
    )


def _is_installed(call: Invocation) -> bool:
    return not call.path or is_installed(call.path)


def _is_plain(call: Invocation) -> bool:
    return (call.tool in _PLAIN and not call.path) or (
        bool(call.args) and call.args[0] in _PREPARING.get(call.tool, ())
    )
