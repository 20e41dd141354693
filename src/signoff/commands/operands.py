"""Which arguments of well-known commands are files, and which of those get written."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

from signoff.commands.tree import Word

FILE_READERS = frozenset(
    (
        *("cat", "wc", "head", "tail", "diff", "cmp", "ls", "stat", "file", "md5sum", "sha1sum"),
        *("sha256sum", "sort", "uniq", "cut", "nl", "od", "xxd", "tac", "readlink", "realpath"),
        *("less", "more", "comm", "paste", "du", "find", "strings", "zcat", "gzip", "source"),
    )
)
PATTERN_FIRST = frozenset(
    ["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "sed", "awk", "gawk", "jq", "yq", "perl"]
)
FABRICATORS = frozenset(["touch", "mkdir", "truncate", "cp", "mv", "install", "ln", "dd"])
_NO_FILES = frozenset(
    (
        *("echo", "printf", "exit", "return", "kill", "sleep", "export", "set", "command", "which"),
        *("type",),
    )
)
_PATTERN_OPTIONS = ("-e", "-f", "--regexp", "--file")
_STATES_PATTERN = re.compile(r"-[A-Za-z]*e")
_TAKES_NUMBER = frozenset(("-m", "-A", "-B", "-C", "--max-count"))
_TAKES_VALUE = frozenset(
    (
        *("-n", "-m", "-A", "-B", "-C", "-c", "-k", "-t", "-d", "-f", "-o", "-u", "-s", "-w", "-I"),
        *("-maxdepth", "-mindepth", "-name", "-type", "-g", "--include", "--exclude"),
        *("--max-count", "--arg", "--argjson"),
    )
)
_EXTENSION = re.compile(r"(?:.*/)?[\w.+-]*[\w+-]\.[A-Za-z]\w{0,7}")
_NOT_A_PATH = re.compile(r"\w[\w+.-]*://|.*[\s\"'`$;<>|&()\\^]")
_GIT_WRITES = frozenset(
    (
        *("checkout", "commit", "add", "reset", "restore", "clean", "stash", "apply", "merge"),
        *("pull", "rebase", "cherry-pick", "am", "rm", "mv", "switch", "init", "revert"),
    )
)
_REPAIR_OPTIONS = frozenset(
    [
        "--fix",
        "--write",
        "--in-place",
        "--snapshot-update",
        "--update-snapshots",
        "--updateSnapshot",
        "--autofix",
    ]
)
_FORMATTERS = frozenset(("black", "isort", "gofmt", "rustfmt", "prettier"))
_ONLY_LOOKS = frozenset(["--check", "--check-only", "--diff", "-d", "-l", "-c", "--list-different"])


def looks_like_path(text: str) -> bool:
    """Whether an argument of an unknown command is probably a file or folder."""
    if not text or text.startswith("-") or _NOT_A_PATH.match(text):
        return False
    return "/" in text.strip("/") or text.endswith("/") or _EXTENSION.fullmatch(text) is not None


def operands_of(name: str, args: tuple[Word, ...]) -> list[Word]:
    """The arguments that name files."""
    if name in _NO_FILES:
        return []
    if name in PATTERN_FIRST:
        return _after_pattern(args)
    if name in FILE_READERS:
        return _plain_operands(args)
    found = [a for a in args if a.literal and looks_like_path(a.text)]
    for arg in args:
        option, equals, value = arg.text.partition("=")
        if equals and option.startswith("-") and arg.literal and looks_like_path(value):
            found.append(Word(value, arg.line))
    return found


def written_by(name: str, args: tuple[Word, ...]) -> tuple[list[Word], str]:
    """The arguments that name files which the command changes, and the words for it."""
    writer = _WRITERS.get(name)
    return (writer(args), _SHOWN.get(name, name)) if writer else ([], name)


def repairs(name: str, args: list[str]) -> str:
    """The command that mends what it should judge, or changes files it does not name."""
    first = next((a for a in args if not a.startswith("-")), "")
    if name == "git" and first in _GIT_WRITES:
        return f"git {first}"
    option = next((a for a in args if a in _REPAIR_OPTIONS), "")
    if option:
        return f"{name} {option}"
    looks = any(a in _ONLY_LOOKS for a in args)
    if name in _FORMATTERS and not looks and (name not in ("gofmt", "prettier") or "-w" in args):
        return name
    formats = ("format" in args and "ruff" in (name, *args)) or (name == "cargo" and first == "fmt")
    if formats and not looks:
        return f"{name} format" if name == "ruff" else f"{name} {first}"
    return ""


def _plain_operands(args: tuple[Word, ...]) -> list[Word]:
    found: list[Word] = []
    skip = False
    for arg in args:
        if skip:
            skip = False
        elif arg.text.startswith("-") and len(arg.text) > 1:
            skip = arg.text in _TAKES_VALUE
        elif arg.literal:
            found.append(arg)
    return [w for w in found if not re.fullmatch(r"[+-]?\d+", w.text)]


def _after_pattern(args: tuple[Word, ...]) -> list[Word]:
    """Files behind the pattern or program, which `-e` states apart."""
    plain: list[Word] = []
    stated = skip = False
    for arg in args:
        if skip:
            skip = False
        elif arg.text.startswith("-") and not arg.quoted and len(arg.text) > 1:
            pattern = _STATES_PATTERN.fullmatch(arg.text) is not None
            stated = stated or pattern or arg.text.startswith(_PATTERN_OPTIONS)
            skip = pattern or arg.text in _PATTERN_OPTIONS or arg.text in _TAKES_NUMBER
        else:
            plain.append(arg)
    found = plain if stated else plain[1:]
    return [a for a in found if a.literal and not _NOT_A_PATH.match(a.text)]


def _last(args: tuple[Word, ...]) -> list[Word]:
    """The destination of `cp a b`, or the folder of `cp -t folder a`."""
    for option, value in pairwise(args):
        if option.text in ("-t", "--target-directory"):
            return [value]
    plain = [a for a in args if not a.text.startswith("-")]
    return plain[-1:] if len(plain) > 1 else []


def _all_plain(args: tuple[Word, ...]) -> list[Word]:
    found: list[Word] = []
    skip = False
    for arg in args:
        if skip:
            skip = False
        elif arg.text.startswith("-"):
            skip = arg.text in ("-m", "-s", "-d", "-r", "--size", "--mode", "--reference")
            skip = skip and not arg.text.startswith("-r")
        else:
            found.append(arg)
    return found


def _without_first(args: tuple[Word, ...]) -> list[Word]:
    return _all_plain(args)[1:]


def _every(args: tuple[Word, ...]) -> list[Word]:
    return [a for a in args if not a.text.startswith("-")]


def _sed(args: tuple[Word, ...]) -> list[Word]:
    in_place = any(re.match(r"-[A-Za-z]*i|--in-place", a.text) for a in args if not a.quoted)
    return _after_pattern(args) if in_place else []


def _dd(args: tuple[Word, ...]) -> list[Word]:
    return [Word(a.text[3:], a.line, a.literal) for a in args if a.text.startswith("of=")]


def _download(args: tuple[Word, ...]) -> list[Word]:
    options = ("-o", "--output", "-O", "--output-document")
    pairs = pairwise(args)
    return [v for o, v in pairs if o.text in options and not v.text.startswith("http")]


_WRITERS: dict[str, Callable[[tuple[Word, ...]], list[Word]]] = {
    "touch": _all_plain,
    "mkdir": _all_plain,
    "truncate": _all_plain,
    "tee": _every,
    "rm": _every,
    "rmdir": _every,
    "unlink": _every,
    "shred": _every,
    "chmod": _without_first,
    "chown": _without_first,
    "cp": _last,
    "mv": _last,
    "install": _last,
    "ln": _last,
    "sed": _sed,
    "perl": _sed,
    "dd": _dd,
    "curl": _download,
    "wget": _download,
}
_SHOWN = {"sed": "sed -i", "perl": "perl -i"}
