"""A makefile as far as it can be read without make: its rules by target, and what is no rule.

Two questions are asked of it. What can happen (`reached_from`, `expand`): both branches of a
condition count, and what is not known stays as written. What surely happens (`recipe`): only a file
of plain rules and variables that are set once is read that far; nothing is guessed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from msgspec import Struct, field

_ASSIGNMENT = r"(?s)(?:(?:export|override|private)\s+)*([^\s:=#?+!]+)\s*(\?|::?:?|\+|!)?=\s*(.*)"
_INCLUDE = r"(?s)\s*(?:-include|sinclude|include)\s+(.*)"
_DIRECTIVE = r"\s*(?:-?include|sinclude|vpath|(?:un)?export|override|(?:un)?define|-?load)\s+[^\s:]"
_DEFINE = r"\s*(?:(?:export|override)\s+)*define\s+\S"
_CONDITION = r" *(ifn?eq|ifn?def|else|endif)\b"
_REFERENCE = r"\$(?:\(([\w.-]+)\)|\{([\w.-]+)\})"
_SPECIAL = r"\.[A-Z_]+"
_PHONY = ".PHONY"
_MOST_EXPANSIONS = 200
_LONGEST_EXPANSION = 20_000

_CONTINUED = r"\\\n[ \t]*"
_PLAIN_NAME = r"[A-Za-z_]\w*|\.DEFAULT_GOAL"
_SHELLS = r"(?:/bin/|/usr/bin/|/usr/bin/env )?(?:ba)?sh"
_STEERING = frozenset(
    (
        *("PATH", "ENV", "BASH_ENV", "NODE_OPTIONS", "PYTHONPATH", "PYTEST_ADDOPTS"),
        *("MAKEFLAGS", "GNUMAKEFLAGS"),
    )
)
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
"""In the order in which make looks for them."""


class Unread(Exception):
    """A part of it means what only make can tell."""


class MakeRule(Struct, frozen=True):
    """One rule: its targets and prerequisites, expanded; its lines as written; its recipe.

    The lines begin with the conditions under which the rule counts.
    """

    targets: tuple[str, ...]
    prerequisites: tuple[str, ...]
    lines: tuple[str, ...]
    recipe: tuple[str, ...]


class Makefile(Struct):
    """A makefile taken apart; `preamble` is what is no rule and holds for every target."""

    rules: list[MakeRule] = field(default_factory=list)
    preamble: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    includes: list[str] = field(default_factory=list)
    phony: set[str] = field(default_factory=set)
    is_plain: bool = True  # rules and variables that are set once, and nothing else

    def has(self, target: str) -> bool:
        """True when a rule is about this very target."""
        return any(target in rule.targets for rule in self.rules)

    def recipe(self, target: str) -> tuple[str, ...]:
        """Texts that a shell is given, each of which has to hold; Unread where nobody can say."""
        recipes = [rule.recipe for rule in self.rules if target in rule.targets and rule.recipe]
        if not self.is_plain or len(recipes) > 1:
            raise Unread
        return tuple(text for line in sum(recipes, ()) if (text := self._text(line)))

    def needs(self, target: str) -> tuple[str, ...]:
        """The targets that have to be made first."""
        return tuple(n for r in self.rules if target in r.targets for n in r.prerequisites)

    def _text(self, line: str) -> str:
        """The text that make hands to the shell; nothing for a line whose failure is forgiven."""
        expanded = self.expand(re.sub(_CONTINUED, " ", line).replace("$$", "\0"))
        expanded = re.sub(_REFERENCE, "", expanded).strip()  # what nobody set is empty
        if "$" in expanded:
            raise Unread
        bare = expanded.lstrip("@+- \t")
        forgiven = "-" in expanded[: len(expanded) - len(bare)]
        return "" if forgiven else bare.replace("\0", "$")

    @property
    def goal(self) -> str | None:
        """The target that `make` makes when none is given."""
        stated = self.variables.get(".DEFAULT_GOAL")
        if stated:
            return self.expand(stated).strip()
        names = (target for rule in self.rules for target in rule.targets)
        ordinary = (n for n in names if "%" not in n and (not n.startswith(".") or "/" in n))
        return next(ordinary, None)

    def reached_from(self, targets: list[str]) -> dict[str, list[MakeRule]]:
        """The targets and, from there on, every prerequisite, each with the rules about it."""
        named: dict[str, list[MakeRule]] = defaultdict(list)
        for rule in self.rules:
            for target in rule.targets:
                named[target].append(rule)
        patterns = [target for target in named if "%" in target]
        reached: dict[str, list[MakeRule]] = {}
        waiting = list(targets)
        while waiting:
            target = waiting.pop()
            if target not in reached:
                fitting = [p for p in patterns if _fits(p, target)]
                rules = [r for name in (target, *fitting) for r in named.get(name, ())]
                reached[target] = rules
                waiting += [p for rule in rules for p in rule.prerequisites if "%" not in p]
        return reached

    def expand(self, text: str) -> str:
        """The text with the variables that are stated in the makefile put in."""
        for _ in range(_MOST_EXPANSIONS):
            replaced = re.sub(_REFERENCE, self._value, text)
            if replaced == text or len(replaced) > _LONGEST_EXPANSION:
                break
            text = replaced
        return text

    def _value(self, reference: re.Match[str]) -> str:
        name = reference[1] or reference[2]
        return self.variables.get(name, "make" if name == "MAKE" else reference[0])


def read_makefile(text: str) -> Makefile:
    """Take a makefile apart."""
    return _Reading().read(text)


class _Reading:
    """One pass over the logical lines."""

    def __init__(self) -> None:
        self._found = Makefile()
        self._conditions: list[str] = []
        self._head = ""
        self._lines: list[str] = []
        self._recipe: list[str] = []

    def read(self, text: str) -> Makefile:
        for line in _logical_lines(text):
            if line.startswith("\t") and self._head:
                self._lines.append(line)
                self._recipe.append(line[1:])
            elif line.strip() and not line.lstrip().startswith("#"):
                self._line(line)
        self._end_rule()
        return self._found

    def _line(self, line: str) -> None:
        condition = re.match(_CONDITION, line)
        if condition:
            # Conditions may stand inside a recipe, so they end no rule.
            self._found.is_plain = False
            self._found.preamble.append(line.strip())
            if self._head:
                self._lines.append(line)
            self._enter(condition[1], line.strip())
            return
        self._end_rule()
        colon = -1 if re.match(_DIRECTIVE, line) else _rule_colon(line)
        if colon >= 0:
            self._begin_rule(line, colon)
        else:
            self._other(line)

    def _enter(self, word: str, line: str) -> None:
        if word == "endif":
            del self._conditions[-1:]
        elif word == "else" and self._conditions:
            self._conditions[-1] += f"\n{line}"
        else:
            self._conditions.append(line)

    def _begin_rule(self, line: str, colon: int) -> None:
        self._head = line
        self._lines = [*self._conditions, line]
        needs, semicolon, inline = line[colon:].partition(";")
        self._recipe = [inline.strip()] if semicolon and "#" not in needs else []

    def _end_rule(self) -> None:
        head, self._head = self._head, ""
        if not head:
            return
        found = self._found
        colon = _rule_colon(head)
        names = _one_line(head[:colon])
        needs = _one_line(head[colon:].lstrip(":").partition(";")[0].partition("#")[0])
        targets = tuple(found.expand(names).split())
        wanted = tuple(found.expand(needs).replace("|", " ").split())
        if targets == (_PHONY,):
            found.phony.update(wanted)
            return
        own = "=" in needs  # variables of its own
        if own or "$" in "".join((*targets, *wanted)):
            found.is_plain = False
        if not targets or any(re.fullmatch(_SPECIAL, t) or "$" in t for t in targets):
            found.is_plain = False
            found.preamble += self._lines
            return
        lines, recipe = tuple(self._lines), tuple(self._recipe)
        found.rules.append(MakeRule(targets, () if own else wanted, lines, recipe))

    def _other(self, line: str) -> None:
        found = self._found
        found.preamble.append(line.strip())
        include = re.fullmatch(_INCLUDE, line)
        if include:
            found.includes += found.expand(_one_line(include[1]).partition("#")[0]).split()
        assigned = re.fullmatch(_ASSIGNMENT, line.strip())
        if assigned is None:
            found.is_plain = False
            return
        name, operator = assigned[1], assigned[2] or ""
        value = _one_line(assigned[3]).partition(" #")[0].strip()
        found.is_plain = found.is_plain and self._is_plain(name, operator, value)
        if operator == "+":
            value = f"{found.variables.get(name, '')} {value}".strip()
        if operator != "?" or name not in found.variables:
            found.variables[name] = value

    def _is_plain(self, name: str, operator: str, value: str) -> bool:
        """True when the variable means the same wherever it is used, and steers nothing."""
        if (
            not re.fullmatch(_PLAIN_NAME, name)
            or name in _STEERING
            or name in self._found.variables
        ):
            return False
        if name == "SHELL" and not re.fullmatch(_SHELLS, value):
            return False
        # `:=` is expanded where it stands: what comes later does not count.
        at_once = ":" in operator and "$" in self._found.expand(value)
        return operator not in ("!", "+") and not at_once


def _logical_lines(text: str) -> Iterator[str]:
    """Lines with their continuations, and `define` blocks as one line each."""
    waiting: list[str] = []
    in_define = False
    for line in text.replace("\r\n", "\n").split("\n"):
        first = not waiting
        waiting.append(line)
        if (len(line) - len(line.rstrip("\\"))) % 2:
            continue
        if first and not in_define:
            in_define = re.match(_DEFINE, line) is not None and not line.startswith("\t")
        elif in_define and line.strip().startswith("endef"):
            in_define = False
        if not in_define:
            yield "\n".join(waiting)
            waiting = []
    if waiting:
        yield "\n".join(waiting)


def _one_line(text: str) -> str:
    return text.replace("\\\n", " ")


def _rule_colon(line: str) -> int:
    """Index of a rule's colon; -1 when the line assigns a variable or is no rule."""
    depth = 0
    for i, char in enumerate(line):
        if char in "({":
            depth += 1
        elif char in ")}":
            depth -= 1
        elif depth <= 0 and char == "=":
            return -1
        elif depth <= 0 and char == ":":
            return -1 if re.match(r":{1,3}=", line[i:]) else i
    return -1


def _fits(pattern: str, target: str) -> bool:
    before, _, after = pattern.partition("%")
    long_enough = len(target) >= len(before) + len(after) + 1
    return long_enough and target.startswith(before) and target.endswith(after)
