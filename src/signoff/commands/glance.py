"""Guess from a command's text what it writes, without a grammar: for hooks that answer at once.

Advisory: it sees too much rather than too little, and loads nothing.
"""

from __future__ import annotations

from itertools import pairwise

from signoff.domain.clients import paths_in_command

# Not `typing.TYPE_CHECKING`: loading `typing` takes longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_WRITING_COMMANDS = frozenset(
    {
        "rm", "mv", "cp", "tee", "truncate", "dd", "install", "ln", "chmod", "chown", "touch",
        "unlink", "shred", "rsync", "patch", "ed", "ex", "rmdir",
    }
)  # fmt: skip
_IN_PLACE = ("sed", "perl", "ruby", "awk", "gawk")
_GIT_WRITES = frozenset({"checkout", "restore", "reset", "apply", "mv", "rm", "stash", "clean"})


def seems_to_write(command: str) -> Iterator[str]:
    """The files after a redirection, and all words of commands that change what they name."""
    text = command
    for sign in (">>", ">|", "&>", ">"):
        text = text.replace(sign, " > ")
    for separator in ("&&", "||", ";", "|", "\n", "&"):
        text = text.replace(separator, "\0")
    for part in text.split("\0"):
        words = part.split()
        for before, word in pairwise(words):
            if before == ">":
                yield _unquoted(word)
        if _changes_files(words):
            yield from paths_in_command(part)


def _changes_files(words: list[str]) -> bool:
    rest = [word for word in words if "=" not in word and word not in ("sudo", "env", "command")]
    if not rest:
        return False
    name = _unquoted(rest[0]).rpartition("/")[2]
    if name in _IN_PLACE:
        return any(word.startswith("-") and "i" in word for word in rest[1:])
    if name == "git":
        return any(word in _GIT_WRITES for word in rest[1:])
    return name in _WRITING_COMMANDS


def _unquoted(word: str) -> str:
    return word.strip("\"'`()")
