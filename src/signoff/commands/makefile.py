"""A makefile as far as it can be read without make: its rules by target, and what is no rule.

Two questions are asked of it. What can happen (`reached_from`, `expand`): both branches of a
condition count, and what is not known stays as written. What surely happens (`recipe`): whatever
could make it mean something else (includes, conditions, functions, a shell of its own) leaves it
unread, with the reason; nothing is guessed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_ASSIGNMENT = re.compile(
    r"(?:(?:export|override|private)\s+)*([^\s:=#?+!]+)\s*(\?|::?:?|\+|!)?=\s*(.*)", re.DOTALL
)
_INCLUDE = re.compile(r"\s*(?:-include|sinclude|include)\s+(.*)", re.DOTALL)
_DIRECTIVE = re.compile(
    r"\s*(?:-?include|sinclude|vpath|(?:un)?export|override|(?:un)?define|-?load)\s+[^\s:]"
)
_DEFINE = re.compile(r"\s*(?:(?:export|override)\s+)*define\s+\S")
_CONDITION = re.compile(r" *(ifn?eq|ifn?def|else|endif)\b")
_REFERENCE = re.compile(r"\$(?:\(([\w.-]+)\)|\{([\w.-]+)\})")
_SPECIAL = re.compile(r"\.[A-Z_]+")
_PHONY = ".PHONY"
_MOST_EXPANSIONS = 200
_LONGEST_EXPANSION = 20_000

_CONTINUED = re.compile(r"\\\n[ \t]*")
_USE = re.compile(r"\$(?:\(([^()${}]*)\)|\{([^()${}]*)\}|(.))", re.DOTALL)
_NAME = re.compile(r"[\w.-]+")
_DEFINED_BY_MAKE = {"CC": "cc", "CXX": "g++", "MAKE": "make", "CFLAGS": "", "LDFLAGS": ""}
_OF_THE_RULE = ("@", "<", "^", "?", "*", "@D", "@F")
_SHELLS = re.compile(r"(?:/bin/|/usr/bin/|/usr/bin/env )?(?:ba)?sh")
_SHELL_FLAGS = re.compile(r"(?:-[eux]+\s+|-[eux]*o\s+pipefail\s+)*-[eux]*c")
_HARMLESS_FLAGS = re.compile(
    r"(?:--no-print-directory|--warn-undefined-variables|--no-builtin-\w+|--silent|-s|-r|-R|-j\d*"
    r"|-rR|--output-sync(?:=\w+)?|--jobs(?:=\d+)?|\s)*"
)
_STEERING = frozenset({"PATH", "ENV", "BASH_ENV", "NODE_OPTIONS", "PYTHONPATH", "PYTEST_ADDOPTS"})
_WRITES_RULES = re.compile(r"\$[({]\s*(?:eval|file|guile)\b|^\s*load\b", re.MULTILINE)
_UNREAD = re.compile(r"[-s]?include\b|\.RECIPEPREFIX|\.SECONDEXPANSION|\.DEFAULT\b|\.POSIX|vpath\b")
_HARMLESS = re.compile(r"(?:export|unexport|undefine)\b|#")
_UNKNOWN = "\0"
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
"""In the order in which make looks for them."""


class Unread(Exception):
    """A part of it means what only make can tell."""


@dataclass(frozen=True)
class MakeRule:
    """One rule: its targets and prerequisites, expanded; its lines as written; its recipe.

    The lines begin with the conditions under which the rule counts.
    """

    targets: tuple[str, ...]
    prerequisites: tuple[str, ...]
    lines: tuple[str, ...]
    recipe: tuple[str, ...]
    several: bool = False  # made by `::`, so that every recipe is run
    needs: tuple[str, ...] = ()  # the prerequisites, as far as they are certain
    unread: str = ""


@dataclass
class Makefile:
    """A makefile taken apart; `preamble` is what is no rule and holds for every target."""

    rules: list[MakeRule] = field(default_factory=list)
    preamble: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    includes: list[str] = field(default_factory=list)
    phony: set[str] = field(default_factory=set)
    special: dict[str, list[str]] = field(default_factory=dict)  # `.ONESHELL` and its kind
    values: dict[str, str] = field(default_factory=dict)  # variables, as far as they are certain
    unread: str = ""

    def has(self, target: str) -> bool:
        """Whether a rule is about this very target."""
        return any(target in rule.targets for rule in self.rules)

    def recipe(self, target: str) -> tuple[str, ...]:
        """Texts that a shell is given, each of which has to hold; Unread where nobody can say."""
        rules = [rule for rule in self.rules if target in rule.targets]
        ignored = self.special.get(".IGNORE")
        if ignored is not None and (not ignored or target in ignored or "$" in str(ignored)):
            raise Unread("`.IGNORE` forgives its failures")
        why = self.unread or next((rule.unread for rule in rules if rule.unread), "")
        recipes = [rule.recipe for rule in rules if rule.recipe]
        if why or (len(recipes) > 1 and not rules[-1].several):
            raise Unread(why or "it has two recipes")
        return tuple(text for recipe in recipes for text in self._texts(recipe))

    def needs(self, target: str) -> tuple[str, ...]:
        """The targets that have to be made first."""
        return tuple(n for rule in self.rules if target in rule.targets for n in rule.needs)

    def _texts(self, recipe: tuple[str, ...]) -> Iterator[str]:
        commands: list[str] = []
        one_shell = ".ONESHELL" in self.special
        for line in recipe:
            expanded = _certain(_CONTINUED.sub(" ", line), self.values).strip()
            bare = expanded.lstrip("@+- \t")
            if "-" not in expanded[: len(expanded) - len(bare)]:
                commands.append(bare)
            elif one_shell and not commands:
                return
        flags = self.values.get(".SHELLFLAGS", "-c").split()
        stops = any("e" in word for word in flags if word.startswith("-"))
        before = "set -e\n" * stops + "set -o pipefail\n" * ("pipefail" in flags)
        for command in ["\n".join(commands)] if one_shell else commands:
            yield f"{before}{command}"

    @property
    def goal(self) -> str | None:
        """What `make` without a target makes."""
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
            replaced = _REFERENCE.sub(self._value, text)
            if replaced == text or len(replaced) > _LONGEST_EXPANSION:
                break
            text = replaced
        return text

    def _value(self, reference: re.Match[str]) -> str:
        name = reference[1] or reference[2]
        return self.variables.get(name, "make" if name == "MAKE" else reference[0])


def read_makefile(text: str) -> Makefile:
    """Take a makefile apart."""
    found = _Reading().read(text)
    found.unread = found.unread or _why_unread(text, found)
    return found


def _why_unread(text: str, found: Makefile) -> str:
    """Why nothing of it can be relied on, if so."""
    values = found.values
    flags = [name for name in values if name in ("MAKEFLAGS", "GNUMAKEFLAGS")]
    odd = [name for name in flags if not _HARMLESS_FLAGS.fullmatch(values[name])]
    odd += sorted(name for name in values if name in _STEERING)
    if odd:
        return f"it sets `{odd[0]}`"
    if _WRITES_RULES.search(text):
        return "its rules are written while it runs"
    shell = values.get("SHELL", "sh").strip()
    if not (_SHELLS.fullmatch(shell) and _SHELL_FLAGS.fullmatch(values.get(".SHELLFLAGS", "-c"))):
        return "it has a shell of its own"
    for line in found.preamble:
        if _UNREAD.match(line):
            return f"`{line.split(maxsplit=1)[0]}` brings in what is not in this file"
        is_known = _CONDITION.match(line) or _DEFINE.match(line) or _HARMLESS.match(line)
        if not is_known and not _ASSIGNMENT.fullmatch(line) and not line.startswith((".", "\t")):
            return "it has lines that are no rules and no variables"
    return ""


def _certain(text: str, values: Mapping[str, str]) -> str:
    """As make would hand it over; NUL stands for what only make knows."""
    kept = text.replace("$$", "\1")
    for _ in range(_MOST_EXPANSIONS):
        found = _USE.search(kept)
        if found is None or len(kept) > _LONGEST_EXPANSION:
            break
        name = next(part for part in found.groups() if part is not None)
        value = "made" if name in _OF_THE_RULE else _UNKNOWN
        if _NAME.fullmatch(name):
            value = values.get(name, _DEFINED_BY_MAKE.get(name, ""))
        kept = kept[: found.start()] + value + kept[found.end() :]
    return _UNKNOWN if "$" in kept or len(kept) > _LONGEST_EXPANSION else kept.replace("\1", "$")


class _Reading:
    """One pass over the logical lines."""

    def __init__(self) -> None:
        self._found = Makefile()
        self._conditions: list[str] = []
        self._head = ""
        self._lines: list[str] = []
        self._recipe: list[str] = []
        self._plain_lines = 1  # that a rule without conditions has besides its recipe
        self._simple = set[str]()  # variables that were expanded where they stand

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
        condition = _CONDITION.match(line)
        if condition:
            # Conditions may stand inside a recipe, so they end no rule.
            self._found.preamble.append(line.strip())
            if self._head:
                self._lines.append(line)
            self._enter(condition[1], line.strip())
            return
        self._end_rule()
        colon = -1 if _DIRECTIVE.match(line) else _rule_colon(line)
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
        self._plain_lines = 1 - len(self._recipe)

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
        own, certain = "=" in needs, _certain(names, found.values)
        if _UNKNOWN in certain or (own and "%" in certain):
            found.unread = "nobody can tell which targets its rules are about"
        if not targets or any(_SPECIAL.fullmatch(t) or "$" in t for t in targets):
            found.preamble += self._lines
            for target in targets:
                found.special.setdefault(target, []).extend(wanted)
            return
        several = head[colon:].startswith("::")
        why = "it has variables of its own" if own or "%" in names else ""
        if len(self._lines) > self._plain_lines + len(self._recipe):
            why = "it stands in a condition"
        known = tuple(_certain(needs, found.values).replace("|", " ").split())
        lines, recipe = tuple(self._lines), tuple(self._recipe)
        needed = () if own else wanted
        found.rules.append(MakeRule(targets, needed, lines, recipe, several, known, why))

    def _other(self, line: str) -> None:
        found = self._found
        found.preamble.append(line.strip())
        include = _INCLUDE.fullmatch(line)
        if include:
            found.includes += found.expand(_one_line(include[1]).partition("#")[0]).split()
        defined = re.match(r"\s*(?:(?:export|override)\s+)*define\s+([^\s=:+?]+)", line)
        assigned = _ASSIGNMENT.fullmatch(line.strip())
        if defined:
            found.values[defined[1]] = _UNKNOWN
        elif assigned:
            name, operator = assigned[1], assigned[2] or ""
            value = _one_line(assigned[3]).partition(" #")[0].strip()
            self._assign(found.variables, name, operator, value)
            self._assign(found.values, name, operator, self._certain_value(name, operator, value))

    def _certain_value(self, name: str, operator: str, value: str) -> str:
        if self._conditions or operator == "!":
            return _UNKNOWN
        if ":" in operator or (operator == "+" and name in self._simple):
            # Expanded where it stands, so that what comes later does not change it.
            self._simple.add(name)
            return _certain(value, self._found.values).replace("$", "$$")
        return value

    @staticmethod
    def _assign(variables: dict[str, str], name: str, operator: str, value: str) -> None:
        if operator == "+":
            value = f"{variables.get(name, '')} {value}".strip()
        if operator != "?" or name not in variables:
            variables[name] = value


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
            in_define = _DEFINE.match(line) is not None and not line.startswith("\t")
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
    """Where the colon of a rule stands; -1 when the line assigns a variable or is no rule."""
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
