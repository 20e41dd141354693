"""What a contract's text shows of the runners it calls, and whether it could call others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from signoff.commands.analysis import analyse
from signoff.commands.launchers import Invocation
from signoff.commands.programs import is_installed, runner_of, tools_started
from signoff.verification.counting.runners import RUNNERS, Runner

_REPEATS = re.compile(r"(?<![\w./-])(?:for|while|until|xargs|parallel|-exec|-execdir)(?![\w./=-])")
# Unseen, but no commands: where something is written, and a virtual environment's variables.
_NO_CALL = re.compile(r"where `|`(?:source|\.) \S*bin/activate`")
_NAMES = frozenset(runner.name for runner in RUNNERS)
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
    may stand for several.
    """

    calls: Mapping[str, int]
    hides: bool
    repeats: bool

    @property
    def nothing_can_run(self) -> bool:
        """Whether no test runner is started, whatever is printed."""
        return not (self.calls or self.hides or self.repeats)

    @property
    def runners(self) -> tuple[Runner, ...]:
        """Whose endings may be read: those that are called, or all where none is seen."""
        return tuple(r for r in RUNNERS if r.name in self.calls) if self.calls else RUNNERS


@lru_cache(maxsize=64)
def look_at(command: str) -> Sight:
    """Never raises, whatever the text."""
    facts = analyse(command)
    calls: dict[str, int] = {}
    unseen = any(not _NO_CALL.match(unseen.what) for unseen in facts.unseen)
    hides = False
    for call in facts.calls:
        chain = (
            list(tools_started(call.name, call.args)) if call.name not in facts.functions else []
        )
        runner = next(filter(_NAMES.__contains__, map(runner_of, chain)), None)
        if runner is not None:
            calls[runner] = calls.get(runner, 0) + 1
        elif not chain or not _is_plain(chain[-1]):
            hides = True
    repeats = bool(unseen or facts.functions or _REPEATS.search(command))
    return Sight(calls, hides, repeats)


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
        runner = next((tool for tool in chain if runner_of(tool) in _NAMES), None)
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
