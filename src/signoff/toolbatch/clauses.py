"""One sentence about files, read word by word: what its verbs want of the paths behind them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

from signoff.toolbatch.pathwords import tokens_in
from signoff.toolbatch.vocabulary import (
    AS_NEEDED,
    AT_ONCE,
    CONDITIONS,
    FILES,
    FINISHED,
    FOLDERS,
    FUNCTION_WORDS,
    HOLDS,
    LEADS,
    MAKING,
    MAY,
    MODALS,
    NEGATES,
    NO_FILES,
    PARTICIPLE,
    PARTS,
    POINTERS,
    PROJECT,
    QUESTIONS,
    REFERS,
    SPARES,
    SUBORDINATES,
    TARGETS,
    VERBS,
    WHEN,
    WRITES_TO,
    WRITING,
    Verb,
)
from signoff.toolbatch.wordings import ARTICLES, WORD


class Wish(Enum):
    """What becomes of a file that a text names."""

    MAKE = "make"
    UNLESS_THERE = "unless there"  # to be made, if it is not what the text speaks about
    CHANGE = "change"


@dataclass(frozen=True)
class Wanted:
    """A file or folder (trailing `/`), and what is wanted of it."""

    path: str
    wish: Wish


class _Place(Enum):
    OBJECT = "object"
    TARGET = "target"
    SPOKEN_OF = "spoken of"  # nothing was named yet
    NAMED = "named"
    APART = "apart"  # and so is everything up to the next verb


_TO_BE_MADE = re.compile(
    r"\bto (?:be )?(?:created?|make|made|write|written|produced?|generated?)\b|^\W*deliverables\b",
    re.IGNORECASE,
)
_TO_BE_CHANGED = re.compile(
    r"\bto (?:be )?(?:changed?|updated?|edit(?:ed)?|modify|modified)\b", re.IGNORECASE
)


@dataclass
class Sentence:
    """What the words read so far do with the paths that come."""

    verb: Verb | None = None
    place: _Place = _Place.OBJECT
    folder: str = ""  # what comes lies in it
    in_list: bool = False
    word: str = ""  # the verb as it was worded
    spared: set[str] = field(default_factory=set)
    found: list[Wanted] = field(default_factory=list)
    since: int = 0  # where the finds of this verb begin
    opens: bool = True  # a verb here asks for something
    first: bool = True  # nothing was said yet
    told: bool = False  # it has a subject: it tells of something, and asks for nothing
    negated: bool = False
    subordinate: bool = False
    modal: bool = False  # a verb in the subordinate clause may read like one that asks
    dead: bool = False  # nothing more is wanted of this sentence
    asked: bool = False  # "can you …": a question that asks for work
    direct: bool = True  # nothing but fillers since the verb
    hanging: bool = False  # a participle, or an adjective: what follows decides
    goal: bool = False  # "to" was the word before: a place follows, or a purpose
    alternative: bool = False
    stashed: list[Wanted] = field(default_factory=list)  # what is added to something else
    before: str = ""  # the word before; empty behind a path
    last_folder: str = ""
    last: str = ""  # the path just named, while the next word may show what it is part of
    outer: tuple[Verb | None, _Place] | None = None  # what holds again behind a parenthesis
    bracket: bool = False  # it was opened just now

    def for_its_list(self) -> Sentence:
        """A sentence that goes on where this one ended."""
        return Sentence(self.verb, self.place, self.folder, in_list=True, word=self.word)

    def as_head(self, line: str) -> Sentence:
        """What a line that ends in a colon leaves to the list below it."""
        if self.verb is None and _TO_BE_MADE.search(line):
            return Sentence(Verb.MAKE)
        if self.verb is None and _TO_BE_CHANGED.search(line):
            return Sentence(Verb.CHANGE)
        useless = self.dead or self.negated or self.subordinate
        verb = None if useless else self.verb
        return Sentence(verb, self.place, self.folder, word=self.word)

    def read(self, line: str) -> list[Wanted]:
        """What the line wants; sentence by sentence."""
        wanted: list[Wanted] = []
        for token in tokens_in(line):
            if token.path:
                self._named(token.path)
            elif token.mark:
                self._mark(token.mark)
            said = WORD.findall(token.text)
            self.goal = self.goal and bool(said)
            for word in said:
                self._word(word)
                self.first = False
            if token.text == "…":
                self.opens = self.direct = False
                self.before, self.last = "…", ""
            if token.ends or token.mark in (";", "!", "?"):
                wanted += self._ended(question=token.mark == "?")
        return wanted + self._ended(question=False, last=True)

    def _ended(self, *, question: bool, last: bool = False) -> list[Wanted]:
        """What this sentence wanted; the next one knows nothing of it."""
        wanted = [] if question and not self.asked else self.found
        if last:
            self.found = []
            return wanted
        fresh = Sentence(spared=self.spared)
        self.__dict__.update(fresh.__dict__)
        return wanted

    def _mark(self, mark: str) -> None:
        self.last = ""
        if mark == "(":
            self.outer, self.bracket = (self.verb, self.place), True
        elif mark == ")" and self.outer is not None:
            (self.verb, self.place), self.outer, self.bracket = self.outer, None, False
            self.alternative = False
        elif mark == "," and not self.modal:
            self.opens = True
        elif mark == ":" or (mark == "-" and self.in_list):
            self.opens = True
            self.dead = self.dead or self.in_list
        elif mark == "-":
            self.subordinate, self.place = True, _Place.NAMED

    def _word(self, word: str) -> None:
        if self.bracket:
            self.verb, self.bracket = None, False
        self._check_last(word)
        hung, self.hanging = self.hanging, False
        if hung and word in FUNCTION_WORDS:
            self.place = _Place.APART
        if (self.told or self.subordinate) and word in MODALS:
            self.subordinate = self.modal = True
        if self.goal and not self._names_place(word):
            self._purpose(word)
        elif not (self._turns(word) or self._starts(word) or self._leads(word)):
            self._other(word)
        self.before = word

    def _names_place(self, word: str) -> bool:
        """Whether what follows "to" is where something goes, and not what it is for."""
        self.goal = False
        return word in ARTICLES | FILES | PARTS | AT_ONCE or word in ("every", "or")

    def _purpose(self, word: str) -> None:
        if self.verb in (None, Verb.OTHER) and VERBS.get(word) in MAKING and not self.negated:
            self._begin(word)
            return
        if word not in PROJECT:
            self.subordinate = self.modal = True
            self.place, self.opens = _Place.NAMED, False

    def _check_last(self, word: str) -> None:
        """A path before a noun is no path: a `package.json` parser; also `make a.py faster`."""
        part_of = not self.hanging and word not in FUNCTION_WORDS and word not in AS_NEEDED
        if self.last and part_of and word not in VERBS and not _is_side_word(word):
            self.found = [w for w in self.found if w.path != self.last]
        self.last = ""

    def _turns(self, word: str) -> bool:
        """Words that change what everything behind them means."""
        if word in NEGATES:
            self.negated, self.opens = True, True
            self.verb = None
        elif word in SPARES:
            self.negated, self.opens = True, False
        elif word == "forget" and self.negated:
            self.negated = False
        elif word == "but":
            self.negated, self.opens, self.place = False, True, _Place.NAMED
        elif word == "then" and not self.modal:
            self.negated = self.subordinate = False
            self.opens = True
        elif word in CONDITIONS and (not self.subordinate or self.first):
            del self.found[self.since :]
            self.dead = True
        elif word in AS_NEEDED and not self.subordinate and self.before != "":
            del self.found[self.since :]
        elif self.first and word in QUESTIONS | WHEN:
            self.dead = True
        elif self.before in WHEN and word in FINISHED and not self.found:
            self.dead, self.subordinate, self.opens = False, True, False
        elif word in SUBORDINATES or word in WHEN:
            self.subordinate, self.place, self.opens = True, _Place.NAMED, False
        else:
            return False
        return True

    def _starts(self, word: str) -> bool:
        """A verb where a sentence asks for something."""
        if word not in VERBS or not self.opens or self.before in ARTICLES:
            return False
        if self.modal:
            return False
        if self.negated and self.before in AT_ONCE and self.verb is not None:
            return True
        self._begin(word)
        return True

    def _begin(self, word: str) -> None:
        still = self.negated and (self.before in NEGATES or self.before in ("do", "to"))
        self.negated = still
        self.verb, self.word, self.place = VERBS[word], word, _Place.OBJECT
        self.since, self.folder = len(self.found), ""
        self.subordinate = self.modal = self.opens = self.alternative = self.goal = False
        self.direct, self.stashed = True, []

    def _leads(self, word: str) -> bool:
        """Small words: connectives, prepositions, and what stands before a verb."""
        if word in MAY and self.before == "you" and self.verb is None:
            self.dead = True
        elif word == "you" and self.before in (MAY | {"would", "will"}):
            self.asked = True
        elif word == "or":
            self.alternative = True
        elif word in ("and", "also", "please"):
            self.opens = self.opens or not (self.subordinate or self.told)
        elif word == "sure" and self.before in ("make", "making"):
            self.verb = None
        elif word == "to" and not (self.opens and self.verb is None):
            self._to()
        elif word in HOLDS:
            self._holds()
        elif word in TARGETS and self.verb is not None:
            self._target(word)
        elif word in REFERS and not (word == "of" and self.before in PARTS):
            apart = self.place is _Place.APART
            self.place = _Place.APART if apart else _Place.SPOKEN_OF
        elif self.verb is None and self.opens and word in LEADS:
            pass
        else:
            return False
        return True

    def _to(self) -> None:
        self.goal = True
        may = self.verb in WRITES_TO or self.word in WRITING
        if not may or self.before in POINTERS:
            self.place = _Place.NAMED
            return
        if self.verb in (Verb.ADD, Verb.SAVE, Verb.TURN):
            # What was named so far is what goes there, and was there before.
            self.stashed = self.found[self.since :] if self.verb is Verb.ADD else []
            del self.found[self.since :]
        self.place = _Place.TARGET

    def _holds(self) -> None:
        if self.last_folder and self.before == "" and self.verb in MAKING:
            self.folder, self.place = self.last_folder, _Place.TARGET
        else:
            self.place = _Place.SPOKEN_OF
        self.direct = False

    def _target(self, word: str) -> None:
        self.direct = False
        if word == "into" and self.verb is Verb.CHANGE:
            del self.found[self.since :]
            self.verb = Verb.TURN
        if self.verb is Verb.TURN and word not in ("into", "as"):
            self.place = _Place.NAMED
        elif self.verb is Verb.SAVE and word == "as":
            del self.found[self.since :]
            self.place = _Place.TARGET
        elif self.place not in (_Place.SPOKEN_OF, _Place.APART):
            self.place = _Place.TARGET

    def _other(self, word: str) -> None:
        """Any other word; where a verb could be, an unknown one may be a verb of another kind."""
        if self.stashed and word in PROJECT:
            self.found += self.stashed
            self.stashed = []
        elif self.verb is None:
            self.told, self.opens = self.told or self.opens, False
        elif word in ARTICLES or word in PARTS or word == "every":
            self.opens = False
        elif word in NO_FILES:
            self.place, self.opens, self.direct = _Place.NAMED, False, False
        elif self.opens and self.before not in ARTICLES:
            self.opens, self.verb = False, None
        elif word not in FILES:
            self.opens = self.direct = False
            self.hanging = PARTICIPLE.fullmatch(word) is not None

    def _named(self, path: str) -> None:
        self.bracket = self.goal = False
        hung, self.hanging = self.hanging, False
        placed = self.place
        if self.negated:
            self.spared.add(path)
        elif self.verb is not None and not self.dead and not self.subordinate:
            if path.endswith("/") and placed is not _Place.SPOKEN_OF:
                self._into_folder(path)
            wish = None if hung else self._wish()
            if wish is not None and (self.verb in MAKING or not path.endswith("/")):
                self._want(path, wish)
        if hung or placed is _Place.SPOKEN_OF:
            self.place = _Place.NAMED
        self.last_folder = path if path.endswith("/") else ""
        self.before, self.alternative, self.opens, self.first = "", False, False, False

    def _want(self, path: str, wish: Wish) -> None:
        whole = path if path.endswith("/") else _below(self.folder, path)
        if self.alternative:
            del self.found[self.since :]
            return
        self.found.append(Wanted(whole, wish))
        self.last = whole

    def _into_folder(self, folder: str) -> None:
        """What came before it, and what comes, lies in it."""
        if self.verb is Verb.ADD and self.stashed:
            self.found += [Wanted(_below(folder, w.path), w.wish) for w in self.stashed]
            self.stashed = []
        if self.before not in FOLDERS or self.verb not in MAKING:
            return
        own = self.found[self.since :]
        self.found[self.since :] = [Wanted(_below(folder, w.path), w.wish) for w in own]
        self.folder = folder

    def _wish(self) -> Wish | None:
        verb, place = self.verb, self.place
        if verb in MAKING:
            if place is _Place.SPOKEN_OF and self.before in TARGETS:
                return Wish.UNLESS_THERE
            if place is _Place.OBJECT and verb is Verb.BUILD:
                return Wish.UNLESS_THERE
            return Wish.MAKE if place in (_Place.OBJECT, _Place.TARGET) else None
        if verb in (Verb.PUT, Verb.TURN):
            return Wish.MAKE if place is _Place.TARGET else None
        if verb is Verb.ADD:
            return {_Place.OBJECT: Wish.MAKE, _Place.TARGET: Wish.CHANGE}.get(place)
        if verb is Verb.CHANGE and place is _Place.OBJECT and self.direct:
            return Wish.CHANGE
        return None


def _below(folder: str, path: str) -> str:
    """A bare name lies in the folder; a path that has one of its own stays."""
    return path if not folder or path.startswith((folder, "/", ".")) else f"{folder}{path}"


def _is_side_word(word: str) -> bool:
    """An adverb or a participle: it says more about the file, which stays one."""
    return word.endswith("ly") or PARTICIPLE.fullmatch(word) is not None
