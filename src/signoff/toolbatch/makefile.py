"""A Makefile as far as it can be read without make: variables, targets and their recipes.

What could make a recipe mean something else (includes, conditions, functions that write rules, a
shell of its own) leaves it unread, with the reason; nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

MOST_EXPANSIONS = 200
LONGEST_LINE = 20_000

_CONTINUED = re.compile(r"\\\n[ \t]*")
_ASSIGNMENT = re.compile(
    r"(?:(?:override|export|private)\s+)*([\w.%-]+)\s*(\+|\?|::?:?|!)?=\s*(.*)", re.DOTALL
)
_RULE = re.compile(r"([^\t#:=][^#:=]*?)\s*(::?)(?!=)([^\n]*)", re.DOTALL)
_USE = re.compile(r"\$(?:\(([^()${}]*)\)|\{([^()${}]*)\}|(.))", re.DOTALL)
_NAME = re.compile(r"[\w.-]+")
_DEFINED_BY_MAKE = {"CC": "cc", "CXX": "g++", "MAKE": "make", "CFLAGS": "", "LDFLAGS": ""}
_SHELLS = frozenset(
    f"{place}{name}"
    for place in ("", "/bin/", "/usr/bin/", "/usr/bin/env ")
    for name in ("bash", "sh")
)
_SHELL_FLAGS = re.compile(r"(?:-[eux]+\s+|-[eux]*o\s+pipefail\s+)*-[eux]*c")
_HARMLESS_FLAGS = re.compile(
    r"(?:--no-print-directory|--warn-undefined-variables|--no-builtin-\w+|--silent|-s|-r|-R|-j\d*"
    r"|-rR|--output-sync(?:=\w+)?|--jobs(?:=\d+)?|\s)*"
)
_STEERS = frozenset({"PATH", "ENV", "BASH_ENV", "NODE_OPTIONS", "PYTHONPATH", "PYTEST_ADDOPTS"})
_WRITES_RULES = re.compile(r"\$[({]\s*(?:eval|file|guile)\b|^\s*load\b", re.MULTILINE)
_UNREAD = re.compile(r"[-s]?include\b|\.RECIPEPREFIX|\.SECONDEXPANSION|\.DEFAULT\b|\.POSIX|vpath\b")
_CONDITION = re.compile(r"if(?:eq|neq|def|ndef)\b")
_UNKNOWN = "\0"


class Unread(Exception):
    """A part of it means what only make can tell."""


@dataclass
class Target:
    """What is made first, and the lines of the recipe, as they are written."""

    needs: list[str] = field(default_factory=list)
    recipes: list[list[str]] = field(default_factory=list)
    several: bool = False  # made by `::`, so that every recipe is run
    unread: str = ""


@dataclass(frozen=True)
class Makefile:
    """The targets by name; `unread` says why nothing of it can be trusted."""

    targets: Mapping[str, Target]
    variables: Mapping[str, str]
    unread: str = ""
    one_shell: bool = False
    options: tuple[str, ...] = ()  # that its shell is started with

    def recipe(self, name: str) -> tuple[str, ...]:
        """Texts that a shell is given, each of which has to hold; Unread where nobody can say."""
        target = self.targets[name]
        if self.unread or target.unread:
            raise Unread(self.unread or target.unread)
        recipes = [lines for lines in target.recipes if lines]
        if len(recipes) > 1 and not target.several:
            raise Unread("it has two recipes")
        return tuple(text for lines in recipes for text in self._texts(lines))

    def needs(self, name: str) -> tuple[str, ...]:
        """The targets that have to be made first."""
        return tuple(word for word in " ".join(self.targets[name].needs).split() if word != "|")

    def _texts(self, lines: list[str]) -> Iterator[str]:
        commands = []
        for line in lines:
            expanded = _expanded(line, self.variables).strip()
            bare = expanded.lstrip("@+- \t")
            if "-" not in expanded[: len(expanded) - len(bare)]:
                commands.append(bare)
            elif self.one_shell and not commands:
                return
        if self.one_shell:
            commands = ["\n".join(commands)]
        before = "".join(f"set {option}\n" for option in self.options)
        yield from (f"{before}{command}" for command in commands)


def _expanded(text: str, variables: Mapping[str, str]) -> str:
    """As make would hand it over; NUL stands for what only make knows."""
    kept = text.replace("$$", "\1")
    for _ in range(MOST_EXPANSIONS):
        found = _USE.search(kept)
        if found is None or len(kept) > LONGEST_LINE:
            break
        kept = kept[: found.start()] + _value(found, variables) + kept[found.end() :]
    return _UNKNOWN if "$" in kept or len(kept) > LONGEST_LINE else kept.replace("\1", "$")


def _value(use: re.Match[str], variables: Mapping[str, str]) -> str:
    name = use[1] if use[1] is not None else use[2] if use[2] is not None else use[3]
    if not _NAME.fullmatch(name):
        return "made" if name in ("@", "<", "^", "?", "*", "@D", "@F") else _UNKNOWN
    return variables.get(name, _DEFINED_BY_MAKE.get(name, ""))


def read_makefile(text: str) -> Makefile:
    """Everything that can be told about it."""
    return _Reader().read(text)


class _Reader:
    """Takes a Makefile line by line."""

    def __init__(self) -> None:
        self._targets: dict[str, Target] = {}
        self._variables: dict[str, str] = {}
        self._simple = set[str]()  # variables that were expanded where they stand
        self._unread = ""
        self._depth = 0  # of conditions
        self._inside = ""  # the variable that is being defined over several lines
        self._open: list[list[str]] = []  # recipes that the next indented lines belong to

    def read(self, text: str) -> Makefile:
        """One pass."""
        if _WRITES_RULES.search(text):
            self._unread = "its rules are written while it runs"
        for line in _CONTINUED.sub(" ", text.replace("\r\n", "\n")).split("\n"):
            self._line(line)
        shell = self._variables.get("SHELL", "sh").strip()
        flags = self._variables.get(".SHELLFLAGS", "-c").strip()
        for name in ("MAKEFLAGS", "GNUMAKEFLAGS"):
            if not _HARMLESS_FLAGS.fullmatch(self._variables.get(name, "")):
                self._unread = f"it sets `{name}`"
        if shell not in _SHELLS or not _SHELL_FLAGS.fullmatch(flags):
            self._unread = "it has a shell of its own"
        if not _STEERS.isdisjoint(self._variables):
            self._unread = f"it sets `{min(_STEERS & self._variables.keys())}`"
        self._ignored()
        stops = any("e" in word for word in flags.split() if word.startswith("-"))
        options = ("-e",) * stops + ("-o pipefail",) * ("pipefail" in flags)
        one_shell = ".ONESHELL" in self._targets
        return Makefile(self._targets, self._variables, self._unread, one_shell, options)

    def _ignored(self) -> None:
        ignored = self._targets.get(".IGNORE")
        if ignored is None:
            return
        names = " ".join(ignored.needs).split()
        if not names or any("$" in name for name in names):
            self._unread = "`.IGNORE` forgives every failure"
        for name in names:
            self._targets.setdefault(name, Target()).unread = "`.IGNORE` forgives its failures"

    def _line(self, line: str) -> None:
        if self._inside:
            if line.strip() == "endef":
                self._inside = ""
            return
        if line.startswith("\t"):
            for recipe in self._open:
                recipe.append(_UNKNOWN if self._depth else line[1:])
            return
        bare = line.partition("#")[0].strip()
        if not bare:
            return
        if bare.startswith("define "):
            self._inside = bare
            name = re.split(r"[\s=:+?]", bare.removeprefix("define ").strip(), maxsplit=1)[0]
            self._variables[name] = _UNKNOWN
        elif _CONDITION.match(bare):
            self._depth += 1
        elif bare == "endif":
            self._depth -= 1
        elif not re.match(r"else\b", bare):
            self._statement(bare)

    def _statement(self, bare: str) -> None:
        if _UNREAD.match(bare):
            self._unread = f"`{bare.split(maxsplit=1)[0]}` brings in what is not in this file"
            return
        assigned = _ASSIGNMENT.fullmatch(bare)
        rule = _RULE.fullmatch(bare)
        if assigned is not None:
            self._open = []
            self._assign(assigned[1], assigned[2] or "", assigned[3])
        elif rule is not None:
            self._rule(rule[1], rule[2] == "::", rule[3])
        elif not re.match(r"(?:export|unexport|undefine)\b", bare):
            self._unread = "it has lines that are no rules and no variables"

    def _assign(self, name: str, how: str, value: str) -> None:
        if self._depth or how == "!":
            value = _UNKNOWN
        elif ":" in how or (how == "+" and name in self._simple):
            # Expanded where it stands, so that what comes later does not change it.
            self._simple.add(name)
            value = _expanded(value, self._variables).replace("$", "$$")
        if how == "+":
            value = f"{self._variables.get(name, '')} {value}".strip()
        if how != "?" or name not in self._variables:
            self._variables[name] = value

    def _rule(self, names: str, several: bool, needs: str) -> None:
        before, semicolon, recipe = needs.partition(";")
        lines: list[str] = [recipe.strip()] if semicolon else []
        self._open = [lines]
        # Make expands these two where they stand, too.
        own = "=" in before
        names, before = (_expanded(text, self._variables) for text in (names, before))
        if _UNKNOWN in names or (own and "%" in names):
            self._unread = "nobody can tell which targets its rules are about"
        for name in names.split():
            target = self._targets.setdefault(name, Target())
            target.needs.append(before)
            target.recipes.append(lines)
            target.several = several
            if self._depth:
                target.unread = "it stands in a condition"
            if own or "%" in names:
                target.unread = "it has variables of its own"
