"""Find the arguments of well-known commands that are files: written, compared or looped over."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from msgspec import Struct

from signoff.commands.tree import TESTS, NodeKind, ShellNode, Word, commands_in

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
_MAKERS_TAKE_VALUE = frozenset(("-m", "-s", "-d", "--size", "--mode", "--reference"))
_EXTENSION = re.compile(r"(?:.*/)?[\w.+-]*[\w+-]\.[A-Za-z]\w{0,7}")
_NOT_A_PATH = re.compile(r"\w[\w+.-]*://|.*[\s\"'`$;<>|&()\\^]")


def looks_like_path(text: str) -> bool:
    """True when an argument of an unknown command is probably a file or folder."""
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


def _plain_operands(args: tuple[Word, ...]) -> list[Word]:
    found = _without_options(args, _TAKES_VALUE)
    return [w for w in found if w.literal and not re.fullmatch(r"[+-]?\d+", w.text)]


def _without_options(args: tuple[Word, ...], take_value: frozenset[str]) -> list[Word]:
    found: list[Word] = []
    words = iter(args)
    for word in words:
        if not word.text.startswith("-") or len(word.text) == 1:
            found.append(word)
        elif word.text in take_value:
            next(words, None)
    return found


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
    return _without_options(args, _MAKERS_TAKE_VALUE)


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


_COMPARING = frozenset(("diff", "cmp", "comm", "paste", "join"))
_SEVERAL = frozenset(("awk", "gawk", "mawk"))
_VALUES_FROM = frozenset(("--slurpfile", "--rawfile", "--argfile"))
_SUMMING = re.compile(r"(?:md5|sha\d{0,3}|b2)sum|cksum")
_CHECKS = re.compile(r"-[A-Za-z]*c[A-Za-z]*|--check")
_SEARCHING = frozenset(("grep", "egrep", "fgrep", "rg"))
_PATTERNS_FROM = re.compile(r"-[A-Za-z]*f|--file")
_ITEMS_FROM = re.compile(r"-a|--arg-file")
_PRINTING = frozenset(("cat", "sort"))
_REDUCING = _PRINTING | FILE_READERS | PATTERN_FIRST | {"tr"}
_READING = frozenset(("read", "mapfile", "readarray"))


class ComparedFiles(Struct, frozen=True):
    """Files that say what is right or what is checked; `compares` when with one another."""

    paths: tuple[str, ...]
    line: int
    how: str
    compares: bool


class Named(Struct, frozen=True):
    """The words that name such files, and the words for what is done with them."""

    how: str
    words: tuple[Word, ...]
    compares: bool = False


def of_call(name: str, args: tuple[Word, ...]) -> Named | None:
    """The operands by which a plain command decides."""
    printed = _printed_in(args, _REDUCING)
    if name in _COMPARING:
        return Named(name, (*operands_of(name, args), *printed), compares=True)
    if (name in TESTS and len(printed) > 1) or (name in _SEARCHING and printed):
        return Named(name, printed, compares=name in TESTS)
    if name in _SEVERAL and any("FNR" in a.text for a in args):
        return Named(name, tuple(operands_of(name, args)), compares=True)
    if name == "jq" and any(a.text in _VALUES_FROM for a in args):
        values = (args[i + 2] for i, a in enumerate(args[:-2]) if a.text in _VALUES_FROM)
        return Named(name, tuple(values))
    if _SUMMING.fullmatch(name) and any(_CHECKS.fullmatch(a.text) for a in args if not a.quoted):
        return Named(f"{name} -c", tuple(a for a in args if not a.text.startswith("-")))
    return _option(f"{name} -f", args, _PATTERNS_FROM) if name in _SEARCHING else None


def of_node(node: ShellNode) -> Named | None:
    """`xargs -a list`, `sha256sum -c < sums`, `for x in $(cat list)`, `while read x … < list`."""
    fed = _fed(node)
    if node.name == "xargs":
        return Named("xargs", fed) if fed else _option("xargs -a", node.words[1:], _ITEMS_FROM)
    if _SUMMING.fullmatch(node.name):
        return Named(node.name, fed) if fed and any(map(_CHECKS.fullmatch, node.args)) else None
    if node.kind is NodeKind.CASE:
        words = _printed_in(node.words, _REDUCING)
        return Named("case", words, compares=True) if len(words) > 1 else None
    if node.kind is not NodeKind.LOOP:
        return None
    if node.text == "for":
        compared = any(c.name in _COMPARING for c in commands_in(node))
        folders = (posixpath.dirname(w.text.partition("*")[0]) for w in node.words if "*" in w.text)
        listed = tuple(Word(f, node.line) for f in folders if f) if compared else ()
        words = (*_printed_in(node.words), *listed)
        return Named("for", words) if words else None
    return Named("while read", fed) if fed else None


def values_of(node: ShellNode) -> Iterator[tuple[str, tuple[ShellNode, ...]]]:
    """The variables that a node fills, each with what prints its value: `x=$(cat a)`, `read x`."""
    declared = node.words if node.kind is NodeKind.DECLARE else ()
    for word in (*node.assigned, *declared):
        name, assigns, _ = word.text.partition("=")
        if assigns:
            yield name, word.inner
    if node.name in _READING:
        printer = ShellNode(NodeKind.COMMAND, node.line, redirects=node.redirects)
        yield from ((name, (printer,)) for name in node.args if name.isidentifier())


def piped(source: ShellNode, into: ShellNode) -> Named | None:
    """`cat list | while read x`, `cat list | xargs`, `sort a b | uniq -u`."""
    if into.kind is NodeKind.LOOP and into.text == "while":
        return Named("while read", _printed_by(source))
    if into.name == "uniq" and len(printed := _printed_by(source)) > 1:
        return Named("uniq", printed, compares=True)
    return Named("xargs", _printed_by(source)) if into.name == "xargs" else None


def _option(how: str, args: tuple[Word, ...], option: re.Pattern[str]) -> Named | None:
    for i, arg in enumerate(args):
        stated, equals, value = arg.text.partition("=")
        if arg.quoted or not option.fullmatch(stated):
            continue
        if equals:
            return Named(how, (Word(value, arg.line, arg.literal),))
        return Named(how, args[i + 1 : i + 2])
    return None


def _printed_in(words: tuple[Word, ...], printing: frozenset[str] = _PRINTING) -> tuple[Word, ...]:
    """The files whose content stands where the words have a `$( )`."""
    return tuple(w for word in words for block in word.inner for w in _printed_by(block, printing))


def _printed_by(node: ShellNode, printing: frozenset[str] = _PRINTING) -> tuple[Word, ...]:
    """The files that `cat a`, `sort a` or `< a` print as they are."""
    if node.kind in (NodeKind.BLOCK, NodeKind.SUBSHELL) and len(node.parts) == 1:
        return _printed_by(node.parts[0], printing)
    if node.kind is NodeKind.PIPELINE:
        return _printed_by(node.parts[0], printing)
    if node.kind is not NodeKind.COMMAND or (node.words and node.name not in printing):
        return ()
    named = operands_of(node.name, node.words[1:]) if node.words else []
    return (*named, *_fed(node))


def _fed(node: ShellNode) -> tuple[Word, ...]:
    """The files that a node has as its input."""
    fed = tuple(r.target for r in node.redirects if r.operator == "<" and r.target is not None)
    return (*fed, *_printed_in(fed))
