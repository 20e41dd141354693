"""What a shell command is about, as far as its text says: whether it only looks, what it rewrites.

`None` and empty answers mean "cannot tell", and nothing is concluded from them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import PurePosixPath

from signoff.commands.analysis import analyse
from signoff.toolbatch.calls import Call, Nature

_LOOKERS = frozenset(
    (
        *("ls", "cat", "head", "tail", "wc", "pwd", "stat", "file", "tree", "diff", "cmp", "grep"),
        *("egrep", "fgrep", "rg", "find", "sort", "uniq", "cut", "nl", "tac", "echo", "printf"),
        *("true", "test", "[", "cd", "basename", "dirname", "du", "md5sum", "sha256sum", "jq"),
    )
)
_GIT_LOOKS = frozenset(["status", "log", "diff", "show", "ls-files", "blame"])
# What a looker shows then depends on the clock, whatever else stays the same.
_BY_THE_CLOCK = ("-amin", "-cmin", "-mmin", "-atime", "-ctime", "-mtime", "-newer", "-used")
_GIT_BY_THE_CLOCK = re.compile(
    r"%[acg][rh]|:relative|:human|relative|date=human|@\{|--(?:since|until|after|before)\b"
)
# What makes a looker do something.
_ACTING = frozenset(
    (
        *("-o", "--output", "-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0"),
        *("-fprintf", "-fls", "--pre"),
    )
)
_FAMILY_WORDS = frozenset(
    (
        *("git", "npm", "npx", "yarn", "pnpm", "cargo", "go", "make", "uv", "pip", "poetry"),
        *("docker", "python", "python3"),
    )
)
_SETTING_UP = frozenset(["cd", "set", "export", "mkdir", "source", "."])
_REWRITES = frozenset((">", "tee", "sed -i", "perl -i"))
TEXT_SUFFIXES = frozenset(
    (
        *(".html", ".htm", ".css", ".js", ".mjs", ".ts", ".tsx", ".jsx", ".json", ".md", ".rst"),
        *(".txt", ".py", ".rb", ".rs", ".go", ".java", ".c", ".h", ".cc", ".cpp", ".sh", ".toml"),
        *(".yaml", ".yml", ".ini", ".cfg", ".xml", ".svg", ".csv", ".sql", ".php", ".vue", ".tex"),
    )
)


def looks(call: Call) -> bool:
    """Whether a call only looks, for sure."""
    return call.shape.nature is Nature.OBSERVE or only_looks(call.command)


@lru_cache(maxsize=1024)
def only_looks(command: str) -> bool:
    """Whether it changes nothing and shows nothing from outside of the workspace, for sure."""
    facts = analyse(command)
    if not facts.certain or facts.writes or facts.scripts:
        return False
    quoted = sum(arg.count("<") for call in facts.calls for arg in call.args)
    if command.count("<") != quoted:
        return False  # something is read that no argument names
    return bool(facts.calls) and all(_looks(call.name, call.args) for call in facts.calls)


@lru_cache(maxsize=1024)
def rewritten(command: str) -> tuple[str, ...]:
    """Text files whose content the command states itself, or edits in place."""
    facts = analyse(command)
    found = [
        write.path
        for write in facts.writes
        if write.path and write.how in _REWRITES and (write.made_up or write.how.endswith("-i"))
    ]
    return tuple(dict.fromkeys(path for path in found if is_text(path)))


@lru_cache(maxsize=1024)
def family(command: str) -> str:
    """The program that a command is about: its first, with the word that says what it does."""
    calls = [call for call in analyse(command).calls if call.name not in _SETTING_UP]
    if not calls:
        return ""
    first = calls[0]
    name = PurePosixPath(first.name).name
    words = [word for word in first.args if not word.startswith("-")]
    if name in _FAMILY_WORDS and words:
        return f"{name} {PurePosixPath(words[0]).name}"
    return name


def is_text(path: str) -> bool:
    """Whether a file is text that people write, by its name."""
    return PurePosixPath(path).suffix.lower() in TEXT_SUFFIXES


def _looks(name: str, args: tuple[str, ...]) -> bool:
    if name == "git":
        by_the_clock = any(map(_GIT_BY_THE_CLOCK.search, args))
        return bool(args) and args[0] in _GIT_LOOKS and not by_the_clock and not _acts(args)
    by_the_clock = name == "find" and any(arg.startswith(_BY_THE_CLOCK) for arg in args)
    return name in _LOOKERS and not by_the_clock and not _acts(args)


def _acts(args: tuple[str, ...]) -> bool:
    return any(
        arg.split("=", 1)[0] in _ACTING
        or arg.startswith(("/", "~", "-o"))
        or ".." in PurePosixPath(arg).parts
        or "$" in arg
        for arg in args
    )
