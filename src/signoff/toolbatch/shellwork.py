"""Tell from a shell command's text if it only looks, and which files it rewrites.

`None` and empty answers mean "cannot tell", and nothing is concluded from them.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import PurePosixPath

from signoff.commands.analysis import analyse
from signoff.toolbatch.calls import Call, Nature

_LOOKING = frozenset(
    (
        *("ls", "cat", "head", "tail", "wc", "pwd", "stat", "file", "tree", "diff", "cmp", "grep"),
        *("egrep", "fgrep", "rg", "find", "sort", "uniq", "cut", "nl", "tac", "echo", "printf"),
        *("true", "test", "[", "cd", "basename", "dirname", "du", "md5sum", "sha256sum", "jq"),
    )
)
_GIT_LOOKS = frozenset(["status", "log", "diff", "show", "ls-files", "blame"])
# What makes a looking command do something.
_ACTING = frozenset(
    (
        *("-o", "--output", "-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0"),
        *("-fprintf", "-fls", "--pre"),
    )
)
_REWRITES = frozenset((">", "tee", "sed -i", "perl -i"))
TEXT_SUFFIXES = frozenset(
    (
        *(".html", ".htm", ".css", ".js", ".mjs", ".ts", ".tsx", ".jsx", ".json", ".md", ".rst"),
        *(".txt", ".py", ".rb", ".rs", ".go", ".java", ".c", ".h", ".cc", ".cpp", ".sh", ".toml"),
        *(".yaml", ".yml", ".ini", ".cfg", ".xml", ".svg", ".csv", ".sql", ".php", ".vue", ".tex"),
    )
)


def looks(call: Call) -> bool:
    """True when a call only looks, for sure."""
    return call.shape.nature is Nature.OBSERVE or only_looks(call.command)


@lru_cache(maxsize=1024)
def only_looks(command: str) -> bool:
    """True when it changes nothing, for sure."""
    facts = analyse(command)
    if not facts.certain or facts.writes or facts.scripts:
        return False
    for name, args in ((call.name, call.args) for call in facts.calls):
        acts = any(a.split("=", 1)[0] in _ACTING or a.startswith("-o") or "$" in a for a in args)
        is_look = args[:1] and args[0] in _GIT_LOOKS if name == "git" else name in _LOOKING
        if acts or not is_look:
            return False
    return bool(facts.calls)


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


def is_text(path: str) -> bool:
    """True when a file is text that people write, by its name."""
    return PurePosixPath(path).suffix.lower() in TEXT_SUFFIXES
