"""Find the subject of a step: the files that its command reads, and those that its words name.

Prose is not understood: a file is named by its path or its own name.
"""

from __future__ import annotations

import re
from functools import lru_cache

from signoff.commands.analysis import MAX_ANALYSED_CHARS, analyse
from signoff.commands.launchers import see_through
from signoff.commands.reading import lower
from signoff.commands.statuses import must_succeed
from signoff.commands.tree import TESTS, ShellNode
from signoff.commands.uses import Collector, CommandCall
from signoff.domain.plan import Contract, ExpectationKind, Plan, Step

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
_FAIL_WITHOUT = frozenset(
    (
        *("cat", "wc", "head", "tail", "diff", "cmp", "ls", "stat", "sort", "uniq", "cut", "nl"),
        *("od", "xxd", "tac", "comm", "paste", "strings", "zcat", "jq", "yq", "sed"),
        *("md5sum", "sha1sum", "sha256sum"),
    )
)
_FAIL_WITHOUT_THEIR_ONE = frozenset(("grep", "egrep", "fgrep", "zgrep", "rg"))
_COMPILERS = (("-m", "py_compile"), ("-m", "json.tool"))
_SYNTAX_ONLY = frozenset(
    (
        *(("bash", "-n"), ("sh", "-n"), ("dash", "-n"), ("ksh", "-n"), ("zsh", "-n")),
        *(("node", "--check"), ("node", "-c"), ("php", "-l")),
    )
)
_EITHER_WAY = frozenset(("!", "-o", "||", "(", ")", "-nt", "-ot", "-ef"))
_MOST_DEMANDS = 100
# In a line with one of these a file is named so that nobody changes it.
FORBIDS = re.compile(r"\b(?:not|never|without|leave|keep|nor)\b|n't\b", re.IGNORECASE)
_PATH = re.compile(r"(?<![\w./:*-])(?:\./)?(?:[\w-][\w.-]*/)+[\w.-]*\.\w+(?![\w/*])")
_NAME = re.compile(r"(?<![\w./:*-])(?:\./)?[\w-]*\.[\w.-]*\w(?![\w/*])")
_CODE = re.compile(r"`([\w./-]+)`")


def demanded_files(contract: Contract) -> tuple[str, ...]:
    """Paths that must be there for the contract to hold, in the order of the text.

    They are what its step makes when it does not say so. A file that is merely spoken of is not
    enough: `! grep -q skip conftest.py` also holds when somebody adds a `conftest.py` of his own,
    and that is nothing the step was asked for.
    """
    codes = {e.value for e in contract.all_expectations() if e.kind is ExpectationKind.EXIT_CODE}
    return _demanded(contract.command) if codes == {0} else ()


@lru_cache(maxsize=4096)
def _demanded(text: str) -> tuple[str, ...]:
    block, clear = lower(text) if len(text) <= MAX_ANALYSED_CHARS else (None, False)
    if block is None or not clear:
        return ()
    collector = Collector()
    collector.visit(block)
    if collector.functions:
        return ()
    return tuple(
        dict.fromkeys(
            use.path
            for command, uses in collector.readers[:_MOST_DEMANDS]
            if _fails_without(command, len(uses)) and must_succeed(block, command)
            for use in uses
        )
    )


def _fails_without(command: ShellNode, reads: int) -> bool:
    """True when the command fails if any of the files it reads is missing."""
    seen = see_through(command).command
    if seen is None or any(word.inner for word in command.words):
        return False
    name, args = seen.name, seen.args
    if name in TESTS:  # `-s a`, also several with `-a` or `&&`; no other way for it to be true
        return _EITHER_WAY.isdisjoint(args)
    if name in ("python", "python3"):
        return args[:2] in _COMPILERS
    if (name, *args[:1]) in _SYNTAX_ONLY:
        return len(args) == 2
    if name in _FAIL_WITHOUT_THEIR_ONE:
        return reads == 1
    makes_do = name == "diff" and any(
        "new-file" in a or "N" in a for a in args if a.startswith("-")
    )
    return name in _FAIL_WITHOUT and not makes_do


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
    """True when it runs nothing but plain tools, as far as can be seen: nothing steers them."""
    facts = analyse(command)
    scripts = {script.path for script in facts.scripts}
    names = {call.name.removeprefix("./") for call in facts.calls} - facts.functions - scripts
    return facts.certain and names <= _PLAIN


def mentions(command: str, path: str) -> bool:
    """True when the command names the file, other than as the value of an option."""
    name = path.rpartition("/")[2]
    if name not in command:
        return False
    found = re.finditer(rf"(?<![\w.-]){re.escape(name)}(?![\w/-])", command)
    return any(not _is_option_value(command[: place.start()]) for place in found)


def _is_option_value(before: str) -> bool:
    """True when the text just before a name is an option that takes it."""
    return re.search(r"(?:^|\s)-{1,2}[\w-]+(?:=|\s+)[\"']?[\w./-]*$", before) is not None


def _taken_from(call: CommandCall) -> set[str]:
    if call.name not in _PLAIN - _NEVER_READ:
        return set()
    pairs = zip(call.args, call.args[1:], strict=False)
    return {value for option, value in pairs if _MEASURE_OPTIONS.fullmatch(option)}


def _is_redirected(command: str, path: str) -> bool:
    if "<" not in command:
        return False
    return re.search(rf"<\s*[\"']?(?:\./)?{re.escape(path)}(?![\w/-])", command) is not None


def bound_of_plan(plan: Plan) -> tuple[str, ...]:
    """Everything that the plan lets anybody change; empty when it sets no bound."""
    every_step = bool(plan.steps) and all(step.touches for step in plan.steps)
    if not (plan.touches or every_step):
        return ()
    named = [glob for step in plan.steps for glob in (*step.touches, *step.produces)]
    contracts = [s.contract for s in plan.subjects if s.contract is not None]
    named += [g for c in contracts for g in (*c.may_change, *c.may_extend, *c.writes)]
    return tuple(dict.fromkeys((*plan.touches, *named)))


def bound_of_step(
    step: Step, of_plan: tuple[str, ...], writes: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """All that the step may change, with what contracts write; empty when nothing sets a bound."""
    if not step.touches:
        return of_plan
    contract = step.contract
    allowed = (*contract.may_change, *contract.may_extend) if contract is not None else ()
    return tuple(dict.fromkeys((*step.touches, *step.produces, *allowed, *writes)))


def speaks_of(step: Step, path: str) -> bool:
    """True when title or task name the file: by path, own name, or its stem in backticks.

    The stem of a module counts as `pkg.module` too.
    """
    text = f"{step.title}\n{step.task}"
    if _names(text, path):
        return True
    stem = path.rpartition(".")[0] if "." in path.rpartition("/")[2] else path
    names = {stem, stem.rpartition("/")[2], stem.replace("/", ".")}
    names.add(stem.partition("/")[2].replace("/", "."))
    return "`" in text and any(name in names for name in _CODE.findall(text))


def names_for_change(step: Step, path: str) -> bool:
    """True when title or task name the file, by path or name, in a line that forbids nothing."""
    return _names(_allowing(step), path)


def names_folder_of(step: Step, path: str) -> str:
    """The innermost folder above the file that such a line names with a slash; empty if none."""
    text, folder = _allowing(step), path.rpartition("/")[0]
    while folder:
        if re.search(rf"(?<![\w./-])(?:\./)?{re.escape(folder)}/(?![\w*]|\.\w)", text):
            return folder
        folder = folder.rpartition("/")[0]
    return ""


def files_named(step: Step) -> tuple[str, ...]:
    """Paths, names with a dot and names in backticks, in lines that forbid nothing."""
    text = _allowing(step)
    names = [*_NAME.findall(text), *_CODE.findall(text), *_PATH.findall(text)]
    return tuple(dict.fromkeys(name.removeprefix("./") for name in names))


def _allowing(step: Step) -> str:
    lines = (step.title, *step.task.split("\n"))
    return "\n".join(line for line in lines if not FORBIDS.search(line))


def _names(text: str, path: str) -> bool:
    return says(text, path) or says(text, path.rpartition("/")[2])


def says(text: str, name: str) -> bool:
    """True when the text has the name as a word of its own."""
    if name not in text:
        return False  # told without compiling anything, as for most of ten thousand steps
    named = rf"(?<![\w./-])(?:\./)?{re.escape(name)}(?![\w/-]|\.\w)"
    return re.search(named, text) is not None


def asked_of(step: Step) -> str:
    """Title, task and subscriptions of a step, without the lines that forbid something."""
    return "\n".join((_allowing(step), *map(str, step.subscriptions)))
