"""Files without which a contract cannot hold: what its step makes when it does not say so.

A file that is merely spoken of is not enough. `! grep -q skip conftest.py` also holds when somebody
adds a `conftest.py` of his own, and that is nothing the step was asked for.
"""

from __future__ import annotations

from functools import lru_cache

from signoff.commands.analysis import MAX_ANALYSED_CHARS, analyse
from signoff.commands.launchers import see_through
from signoff.commands.reading import lower
from signoff.commands.tree import TESTS, Block, Chain, Command, Link, Node, Word
from signoff.commands.uses import Call, Collector
from signoff.domain.plan import Contract, ExpectationKind

_FAIL_WITHOUT = frozenset(
    (
        *("cat", "wc", "head", "tail", "diff", "cmp", "ls", "stat", "sort", "uniq", "cut", "nl"),
        *("od", "xxd", "tac", "comm", "paste", "strings", "zcat", "jq", "yq", "sed"),
        *("md5sum", "sha1sum", "sha256sum"),
    )
)
_FAIL_WITHOUT_THEIR_ONE = frozenset(("grep", "egrep", "fgrep", "zgrep", "rg"))
_MODULES = frozenset(("py_compile", "json.tool"))
_SYNTAX_ONLY = frozenset(
    (
        *(("bash", "-n"), ("sh", "-n"), ("dash", "-n"), ("ksh", "-n"), ("zsh", "-n")),
        *(("node", "--check"), ("node", "-c"), ("php", "-l")),
    )
)
_EITHER_WAY = frozenset(("!", "-o", "||", "(", ")", "-nt", "-ot", "-ef"))
# After these the end of the shell is not where the text ends, or is something else's doing.
_UNSURE = frozenset(("return", "trap", "exec", "eval", "source", ".", "break", "continue"))


def demanded_files(contract: Contract) -> tuple[str, ...]:
    """Paths that must be there for the contract to hold, in the order of the text."""
    codes = {e.value for e in contract.all_expectations() if e.kind is ExpectationKind.EXIT_CODE}
    return _demanded(contract.command) if codes == {0} else ()


@lru_cache(maxsize=4096)
def _demanded(text: str) -> tuple[str, ...]:
    facts = analyse(text)
    if (
        len(text) > MAX_ANALYSED_CHARS
        or facts.functions
        or any(map(_may_end_elsewhere, facts.calls))
    ):
        return ()
    block, clear = lower(text)
    demands = _Demands()
    if clear:
        demands.visit(block)
    return tuple(demands.found)


def _may_end_elsewhere(call: Call) -> bool:
    return call.name in _UNSURE or (call.name == "exit" and not _is_failure(call.args))


class _Demands(Collector):
    """The walk of the collector, which also knows what must succeed where it stands."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, None] = {}
        self._must = True
        self._errexit = False

    def visit(self, node: Node) -> None:
        """Note what this part does, and the files that it cannot do without."""
        must = self._must
        if isinstance(node, Block) and must and not node.subshell:
            self._items(node.items)
            return
        self._must = must and isinstance(node, Chain) and _is_strict(node)
        before = len(self.reads)
        super().visit(node)
        if must and _fails_without(node, len(self.reads) - before):
            self.found.update(dict.fromkeys(use.path for use in self.reads[before:]))
        self._must = must

    def _items(self, items: tuple[Node, ...]) -> None:
        for i, item in enumerate(items):
            is_last = i == len(items) - 1
            ends_it = self._errexit and isinstance(item, Command)
            self._must = is_last or ends_it or _gives_up(item)
            self.visit(item)
            self._errexit = _errexit_after(item, self._errexit)
        self._must = True


def _is_strict(chain: Chain) -> bool:
    """`a && b`, and `a && b || exit 1`: every part but the last way out must succeed."""
    links = [link for link, _ in chain.rest]
    return Link.OR not in (links[:-1] if _gives_up(chain) else links)


def _gives_up(node: Node) -> bool:
    """`… || exit 1`: the shell ends there, and not with 0."""
    if not isinstance(node, Chain) or node.rest[-1][0] is not Link.OR:
        return False
    last = node.rest[-1][1]
    words = last.words if isinstance(last, Command) else ()
    exits = bool(words) and words[0].text == "exit"
    return exits and _is_failure(tuple(word.text for word in words[1:]))


def _is_failure(args: tuple[str, ...]) -> bool:
    return len(args) == 1 and args[0].isdigit() and int(args[0]) % 256 != 0


def _errexit_after(node: Node, before: bool) -> bool:
    if not isinstance(node, Command) or not node.words or node.words[0].text != "set":
        return before
    for word in node.words[1:]:
        if word.text[:1] in ("-", "+") and "e" in word.text:
            before = word.text.startswith("-")
    return before


def _fails_without(node: Node, reads: int) -> bool:
    """Whether the command fails when any of the files it reads is missing."""
    if not isinstance(node, Command) or not _is_plain(node.words):
        return False
    seen, _ = see_through(node)
    if not isinstance(seen, Command) or not seen.words:
        return False
    name, args = seen.words[0].text, tuple(word.text for word in seen.words[1:])
    if name in TESTS:
        return _asks_plainly(seen.words[1:])
    if name in ("python", "python3"):
        return args[:1] == ("-m",) and args[1:2] != () and args[1] in _MODULES
    if (name, *args[:1]) in _SYNTAX_ONLY:
        return len(args) == 2
    if name in _FAIL_WITHOUT_THEIR_ONE:
        return reads == 1
    return name in _FAIL_WITHOUT and not (name == "diff" and any("N" in a for a in _flags(args)))


def _flags(args: tuple[str, ...]) -> tuple[str, ...]:
    return tuple("N" if "new-file" in a else a for a in args if a.startswith("-"))


def _asks_plainly(words: tuple[Word, ...]) -> bool:
    """`-s a`, also several with `-a` or `&&`; no other way for it to be true."""
    return _is_plain(words) and not _EITHER_WAY & {word.text for word in words}


def _is_plain(words: tuple[Word, ...]) -> bool:
    return not any(word.inner for word in words)
