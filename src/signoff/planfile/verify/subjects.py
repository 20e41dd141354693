"""What a shell command is about: the files that it looks into, as against what steers its tools."""

from __future__ import annotations

import re
from functools import lru_cache

from signoff.commands.analysis import analyse
from signoff.commands.uses import Call
from signoff.domain.plan import Contract
from signoff.planfile.verify.demanded import demanded_files

# Programs that obey no file of the folder they run in but the ones they are given.
_PLAIN = frozenset(
    """
    . : [ [[ alias awk base64 basename bash break builtin cat cd chmod cksum cmp column comm
    command continue cp cut date dd declare df diff dirname du echo egrep eval exit expand
    export expr false fgrep file find fmt fold function getopts grep gunzip gzip hash head
    hexdump iconv id install join jq kill let ln local ls mapfile md5sum mkdir mktemp mv nl
    od paste popd printf pushd pwd read readarray readlink readonly realpath return rev rm
    rmdir sed seq set sh sha1sum sha256sum sha512sum shift shopt sleep sort source split
    stat strings sync tac tail tar tee test time timeout touch tr trap true truncate tty
    type umask uname unexpand uniq unset unzip wait wc which xargs xxd yes yq zcat zgrep zip
    """.split()  # noqa: SIM905 - a table of words reads best as text
)
_NEVER_READ = frozenset({"test", "[", "[[", "find", "ls", "rm", "mkdir", "touch", "echo", "printf"})
_MEASURE_OPTIONS = re.compile(r"-[a-zA-Z]*f|--(?:file|from-file|expression-file)(?:=.*)?")


@lru_cache(maxsize=4096)
def looked_at(command: str) -> frozenset[str]:
    """Files that the command's own words look into with plain tools, or cannot hold without.

    Not what it compares with or takes a list from: that is the measure, not the thing measured. Nor
    what it merely asks for: a file that is there can be a reason to do nothing.
    """
    facts = analyse(command)
    readers = [call for call in facts.calls if call.name in _PLAIN - _NEVER_READ]
    words = {word.removeprefix("./") for call in readers for word in call.args}
    asked = {
        use.path for use in facts.reads if use.path in words or _is_redirected(command, use.path)
    }
    return frozenset(asked.union(demanded_files(Contract(command))) - measures(command))


@lru_cache(maxsize=4096)
def measures(command: str) -> frozenset[str]:
    """Files that the command compares with, loops over, or takes patterns and programs from."""
    facts = analyse(command)
    named = {path for reference in facts.references for path in reference.paths}
    return frozenset(named.union(*map(_taken_from, facts.calls)))


def is_plain(command: str) -> bool:
    """Whether it runs nothing but plain tools, as far as can be seen: there is nothing to steer."""
    facts = analyse(command)
    scripts = {script.path for script in facts.scripts}
    names = {call.name.removeprefix("./") for call in facts.calls} - facts.functions - scripts
    return facts.certain and names <= _PLAIN


def mentions(command: str, path: str) -> bool:
    """Whether the command names the file, other than as what an option takes."""
    name = path.rpartition("/")[2]
    found = re.finditer(rf"(?<![\w.-]){re.escape(name)}(?![\w/-])", command)
    return any(not _is_option_value(command[: place.start()]) for place in found)


def _is_option_value(before: str) -> bool:
    """Whether the text just before a name is an option that takes it."""
    return re.search(r"(?:^|\s)-{1,2}[\w-]+(?:=|\s+)[\"']?[\w./-]*$", before) is not None


def _taken_from(call: Call) -> set[str]:
    if call.name not in _PLAIN - _NEVER_READ:
        return set()
    pairs = zip(call.args, call.args[1:], strict=False)
    return {value for option, value in pairs if _MEASURE_OPTIONS.fullmatch(option)}


def _is_redirected(command: str, path: str) -> bool:
    return re.search(rf"<\s*[\"']?(?:\./)?{re.escape(path)}(?![\w/-])", command) is not None
