"""Words and operators of bash, for telling the certain syntax errors from the rest."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_PLAIN = re.compile(r"[^\s\\'\"`$;&|<>()#=!?*+@\[{}]+")
_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_OPERATOR = re.compile(r"&>>|&>|&&|\|\||\|&|;;&|;;|;&|<<<|<<-|<<|<&|<>|>>|>&|>\||[;&|<>()\n]")
_ENDS_WORD = frozenset(" \t\n;&|<>()")
REDIRECTS = frozenset(("<", ">", ">>", "<>", ">|", "<&", ">&", "&>", "&>>", "<<", "<<-", "<<<"))
MAX_DEPTH = 60


class Broken(Exception):
    """bash certainly refuses the text."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message


class Unsure(Exception):
    """The text uses something on which this reader has no opinion."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word, or an operator; `plain` words carry no quoting and no expansion."""

    text: str
    start: int
    is_word: bool
    plain: bool = False


class Lexer:
    """Reads one token at a time; `nested` checks the script inside a `$( … )`."""

    def __init__(self, text: str, nested: Callable[[Lexer], None]) -> None:
        self.text = text
        self.position = 0
        self.depth = 0
        self._nested = nested
        self._heredocs: list[tuple[str, bool]] = []

    def next(self) -> Token | None:
        """The next token, None at the end."""
        self._skip_blank()
        if self.position >= len(self.text):
            return None
        start = self.position
        found = _OPERATOR.match(self.text, start)
        if found and not self._process_substitution():
            self.position = found.end()
            if found[0] == "\n":
                self._skip_heredocs()
            return Token(found[0], start, False)
        return self._word(start)

    def expect_heredoc(self, delimiter: Token, strip_tabs: bool) -> None:
        """Remember that after this line a here-document follows."""
        if any(c in delimiter.text for c in "$`"):
            raise Unsure
        plain = re.sub(r"[\\'\"]", "", delimiter.text)
        self._heredocs.append((plain, strip_tabs))

    def skip_arithmetic(self, opened_at: int) -> bool:
        """Move behind the `))` that closes `((`; False when this is no arithmetic after all."""
        depth = 2
        while depth:
            if self.position >= len(self.text):
                raise Broken(opened_at, "`((` is never closed")
            char = self.text[self.position]
            if char in "'\"`\\#":
                raise Unsure
            if (
                char == ")"
                and depth == 2
                and self.text[self.position + 1 : self.position + 2] != ")"
            ):
                return False
            depth += (char == "(") - (char == ")")
            self.position += 1
        return True

    def _skip_blank(self) -> None:
        blank = _BLANK.match(self.text, self.position)
        if blank:
            self.position = blank.end()
        if self.text.startswith("#", self.position):
            end = self.text.find("\n", self.position)
            self.position = len(self.text) if end < 0 else end

    def _skip_heredocs(self) -> None:
        for delimiter, strip_tabs in self._heredocs:
            while self.position < len(self.text):
                end = self.text.find("\n", self.position)
                end = len(self.text) if end < 0 else end
                line = self.text[self.position : end]
                self.position = min(end + 1, len(self.text))
                if (line.lstrip("\t") if strip_tabs else line) == delimiter:
                    break
        self._heredocs.clear()

    def _process_substitution(self) -> bool:
        return self.text.startswith(("<(", ">("), self.position)

    def _word(self, start: int) -> Token:
        plain = True
        while self.position < len(self.text):
            found = _PLAIN.match(self.text, self.position)
            if found:
                self.position = found.end()
                continue
            char = self.text[self.position]
            if char in _ENDS_WORD and not self._continues(char, start):
                break
            plain = plain and char not in "\\'\"`$<>()"
            self._part(char)
        return Token(self.text[start : self.position], start, True, plain)

    def _continues(self, char: str, start: int) -> bool:
        """`<(…)` is part of a word, and so is the list of `name=(…)`."""
        if char in "<>":
            return self.position == start and self._process_substitution()
        if char == "(":
            before = self.text[start : self.position]
            if before.endswith(("=", "+=")) and len(before) > 1:
                return True
            if before.endswith(("!", "?", "*", "+", "@")):
                raise Unsure
        return False

    def _part(self, char: str) -> None:
        here = self.position
        if char == "\\":
            self.position = min(here + 2, len(self.text))
        elif char == "'":
            self._until_quote(here, "'")
        elif char == '"':
            self._double_quoted()
        elif char == "`":
            self._backquoted()
        elif char == "$":
            self._dollar()
        elif char in "<>":
            self._substitution(here + 2)
        elif char == "(":
            self._array()
        else:
            self.position += 1

    def _until_quote(self, opened_at: int, quote: str) -> None:
        end = self.text.find(quote, opened_at + 1)
        if end < 0:
            raise Broken(opened_at, f"the quote {quote} is never closed")
        self.position = end + 1

    def _double_quoted(self) -> None:
        opened_at = self.position
        self.position += 1
        while self.position < len(self.text):
            char = self.text[self.position]
            if char == '"':
                self.position += 1
                return
            if char == "\\":
                self.position += 2
            elif char == "`":
                self._backquoted()
            elif char == "$" and self.text.startswith(("${", "$("), self.position):
                self._dollar()
            else:
                self.position += 1
        raise Broken(opened_at, 'the quote " is never closed')

    def _backquoted(self) -> None:
        opened_at = self.position
        self.position += 1
        while self.position < len(self.text):
            char = self.text[self.position]
            if char == "`":
                self.position += 1
                return
            self.position += 2 if char == "\\" else 1
        raise Broken(opened_at, "the backquote is never closed")

    def _dollar(self) -> None:
        here = self.position
        following = self.text[here + 1 : here + 3]
        if following == "((":
            self.position = here + 3
            if not self.skip_arithmetic(here):
                self._substitution(here + 2)
        elif following.startswith("("):
            self._substitution(here + 2)
        elif following.startswith("{"):
            self._parameter()
        elif following.startswith("'"):
            self._ansi_quoted()
        else:
            self.position += 1

    def _ansi_quoted(self) -> None:
        opened_at = self.position
        self.position += 2
        while self.position < len(self.text):
            char = self.text[self.position]
            if char == "'":
                self.position += 1
                return
            self.position += 2 if char == "\\" else 1
        raise Broken(opened_at, "the quote $' is never closed")

    def _parameter(self) -> None:
        """`${…}`: quotes inside follow rules of their own, so only the plain ones are read."""
        opened_at = self.position
        self.position += 2
        self._deepen()
        while self.position < len(self.text):
            char = self.text[self.position]
            if char == "}":
                self.position += 1
                self.depth -= 1
                return
            if char in "'\"`\\":
                raise Unsure
            if char == "$":
                self._dollar()
            else:
                self.position += 1
        raise Broken(opened_at, "`${` is never closed")

    def _substitution(self, start: int) -> None:
        self.position = start
        self._deepen()
        outer, self._heredocs = self._heredocs, []
        self._nested(self)
        self._heredocs = outer
        self.depth -= 1

    def _deepen(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Unsure

    def _array(self) -> None:
        opened_at = self.position
        self.position += 1
        self._deepen()
        while True:
            token = self.next()
            if token is None:
                raise Broken(opened_at, "the list `(` is never closed")
            if token.text == ")" and not token.is_word:
                self.depth -= 1
                return
            if not token.is_word and token.text != "\n":
                raise Broken(token.start, f"`{token.text}` stands inside a list")
