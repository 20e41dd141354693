"""Exit statuses: sets of possible ones, and those of commands that are known by name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from signoff.planfile.verify.answers import answer_of
from signoff.planfile.verify.constants import known_status
from signoff.planfile.verify.script import Block, Command, Node, Redirect, Word
from signoff.planfile.verify.wrappers import see_through

FAILS = -1
"""Some status other than 0, we cannot say which."""

Statuses = frozenset[int]
NONE: Statuses = frozenset()
ZERO: Statuses = frozenset((0,))
ANY: Statuses = frozenset((0, FAILS))

ALWAYS_ZERO = frozenset(
    [
        "true",
        ":",
        "echo",
        "printf",
        "sleep",
        "pwd",
        "date",
        "wait",
        "set",
        "shopt",
        "trap",
        "umask",
        "alias",
        "hostname",
        "whoami",
        "shift",
        "times",
    ]
)
STDIN_FILTERS = frozenset(
    [
        "cat",
        "tee",
        "head",
        "tail",
        "sort",
        "wc",
        "uniq",
        "tr",
        "cut",
        "nl",
        "rev",
        "column",
        "fold",
        "tac",
        "less",
        "more",
    ]
)
_SAFE_TARGET = re.compile(r"\d+|-|/dev/(?:null|stdout|stderr|tty|fd/\d+)")


@dataclass(frozen=True)
class Outcome:
    """Statuses with which a piece ends normally, leaves the shell, or leaves the function."""

    falls: Statuses
    exits: Statuses = NONE
    returns: Statuses = NONE

    @property
    def all(self) -> Statuses:
        """Every status seen from outside a shell of its own."""
        return self.falls | self.exits | self.returns


def nonzero(statuses: Statuses) -> Statuses:
    """The failing ones among them."""
    return statuses - ZERO


def plain_status(name: str, args: tuple[Word, ...]) -> Statuses:
    """Statuses of a command that is neither a function nor changes the shell."""
    if name in ("test", "["):
        return known_status(args) or ANY
    if name == "false":
        return frozenset((1,))
    written = answer_of(name, args)
    if written is not None:
        return frozenset((written,))
    asks_nothing = not args or name not in ("wait", "ls")
    return ZERO if asks_nothing and (name in ALWAYS_ZERO or name == "ls") else ANY


def is_filter(stage: Node) -> bool:
    """Whether a pipeline's last command passes its input on and answers 0 whatever came."""
    if not isinstance(stage, Command) or not is_safe(stage.redirects):
        return False
    seen, _ = see_through(stage)
    if not isinstance(seen, Command) or not seen.words:
        return False
    name = seen.words[0].text
    args = [w.text for w in seen.words[1:]]
    if name == "tee":
        return True
    if name not in STDIN_FILTERS or any(a.startswith(("-c", "-C", "--check")) for a in args):
        return name == "wc" and all(a.startswith("-") for a in args)
    return all(_is_option_value(a, name) for a in args)


def _is_option_value(arg: str, name: str) -> bool:
    """`head -n 5`, `cut -d : -f 1`, `tr a b`: no file is opened."""
    return arg.startswith("-") or name == "tr" or re.fullmatch(r"[+\d,:;|-]+", arg) is not None


def is_safe(redirects: Iterable[Redirect]) -> bool:
    """Redirections that cannot fail, whatever the workspace holds."""
    for redirect in redirects:
        if redirect.operator == "<<" or redirect.target is None:
            continue
        if not _SAFE_TARGET.fullmatch(redirect.target.text):
            return False
    return True


def stated_status(args: tuple[Word, ...], last: Statuses) -> Statuses:
    """What `exit` and `return` end with."""
    if not args or args[0].text == "$?":
        return last
    if args[0].literal and args[0].text.isdigit():
        return frozenset((int(args[0].text) % 256,))
    return ANY


def reads_lines(condition: Block | None) -> bool:
    """`while read …` ends with its input."""
    if condition is None or len(condition.items) != 1:
        return False
    item = condition.items[0]
    return isinstance(item, Command) and any(w.text == "read" for w in item.words[:2])
