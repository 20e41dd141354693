"""The syntax errors of which we are certain: open quotes, a missing `fi`, a dangling operator.

tree-sitter reads on over errors and stumbles over some valid bash, so it is not the judge here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from signoff.planfile.verify.lexer import MAX_DEPTH, REDIRECTS, Broken, Lexer, Token, Unsure

_SEPARATORS = frozenset((";", "&", "\n"))
_CASE_ENDS = frozenset((";;", ";&", ";;&"))
_CLOSERS = frozenset(("then", "do", "done", "fi", "elif", "else", "esac", "}", ")", "]]", "in"))
_OPENER_OF = {
    "then": "if", "elif": "if", "else": "if", "fi": "if",
    "do": "while", "done": "do", "esac": "case", "}": "{", ")": "(",
    "]]": "[[", "in": "for",
}  # fmt: skip

# Simple commands of plain and quoted words, with an operator between each two: what most contracts
# are, and nothing of it can be wrong.
_RESERVED = "if|then|elif|else|fi|for|while|until|do|done|case|esac|in|select|function|time|coproc"
_WORD = r"""(?:[A-Za-z0-9_./:,@%^~=+-]|'[^']*+'|"[^"\\`$]*+")++"""
_WORDS = rf"(?:\[(?=[ \t])|(?!(?:{_RESERVED})\b){_WORD})(?:[ \t]++(?:{_WORD}|\](?![^ \t;|&\n])))*+"
_PLAIN_SCRIPT = re.compile(rf"{_WORDS}(?:[ \t]*+(?:&&|\|\|?+|;|\n)[ \t]*+{_WORDS})*+[ \t\n]*+")


@dataclass(frozen=True)
class SyntaxProblem:
    """One certain error: on which line of the command (from 0), and what is wrong."""

    line: int
    message: str


def find_problem(text: str) -> SyntaxProblem | None:
    """The first certain syntax error; None when there is none or this reader has no opinion."""
    if is_plain(text):
        return None
    try:
        _Grammar(text).script()
    except Broken as broken:
        return SyntaxProblem(text.count("\n", 0, broken.offset), broken.message)
    except Unsure:
        return None
    return None


def is_plain(text: str) -> bool:
    """Whether the text is so simple that nothing in it can be wrong."""
    return _PLAIN_SCRIPT.fullmatch(text) is not None


class _Grammar:
    """script → list → chain → pipeline → command, one token of look-ahead."""

    def __init__(self, text: str) -> None:
        self._lexer = Lexer(text, self._inside_substitution)
        self._token: Token | None = None
        self._depth = 0

    def script(self) -> None:
        self._advance()
        self._list(frozenset(), None, may_be_empty=True)

    def _inside_substitution(self, lexer: Lexer) -> None:
        outer, opened_at = self._token, max(0, lexer.position - 2)
        self._advance()
        self._list(frozenset((")",)), Token("$(", opened_at, False), may_be_empty=True)
        self._token = outer

    def _advance(self) -> None:
        self._token = self._lexer.next()

    def _is(self, *texts: str) -> bool:
        token = self._token
        return token is not None and token.text in texts and (not token.is_word or token.plain)

    def _list(self, ends: frozenset[str], opener: Token | None, may_be_empty: bool = False) -> str:
        """Commands up to one of `ends`; the end itself is the current token afterwards."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise Unsure
        seen = False
        while True:
            self._skip_newlines()
            token = self._token
            if token is None:
                break
            if self._is(*ends):
                if not seen and not may_be_empty:
                    raise Broken(token.start, f"no command before `{token.text}`")
                self._depth -= 1
                return token.text
            self._refuse_stray(token)
            self._chain()
            seen = True
            if self._is(";", "&"):
                self._advance()
            elif not (self._token is None or self._is("\n") or self._is(*ends)):
                self._refuse_unexpected()
        if ends and opener is not None:
            wanted = " or ".join(f"`{e}`" for e in sorted(ends))
            raise Broken(opener.start, f"`{opener.text}` is never closed: {wanted} is missing")
        self._depth -= 1
        return ""

    def _refuse_stray(self, token: Token) -> None:
        if (token.is_word and not token.plain) or token.text not in _CLOSERS:
            return
        raise Broken(token.start, f"`{token.text}` without its `{_OPENER_OF[token.text]}`")

    def _refuse_unexpected(self) -> NoReturn:
        token = self._token
        if token is None:
            raise Broken(len(self._lexer.text), "the command ends after an operator")
        if token.text == "(":
            raise Broken(token.start, "unexpected `(`; quote it if it is meant as text")
        shown = "end of line" if token.text == "\n" else f"`{token.text}`"
        raise Broken(token.start, f"unexpected {shown}")

    def _skip_newlines(self) -> None:
        while self._is("\n"):
            self._advance()

    def _chain(self) -> None:
        self._pipeline()
        while self._is("&&", "||"):
            self._after_operator()
            self._pipeline()

    def _after_operator(self) -> None:
        operator = self._token
        self._advance()
        self._skip_newlines()
        if self._token is None and operator is not None:
            raise Broken(operator.start, f"nothing follows `{operator.text}`")

    def _pipeline(self) -> None:
        while self._is("!", "time"):
            self._advance()
            if self._is("-p"):
                self._advance()
            if self._token is None or self._is(";", "&", "\n", ")"):
                return
        self._command()
        while self._is("|", "|&"):
            self._after_operator()
            while self._is("!", "time"):
                self._advance()
            self._command()

    def _command(self) -> None:
        token = self._token
        if token is None:
            self._refuse_unexpected()
        if not token.is_word and token.text not in REDIRECTS:
            if token.text != "(":
                self._refuse_unexpected()
            self._parenthesis(token)
            return
        compound = _COMPOUNDS.get(token.text) if token.is_word and token.plain else None
        if compound is not None:
            compound(self, token)
            self._redirects()
            return
        if token.plain:
            self._refuse_stray(token)
        if self._is("coproc"):
            raise Unsure
        self._simple()

    def _simple(self) -> None:
        name = self._token
        count = 0
        while self._token is not None:
            if self._token.is_word:
                count += 1
                self._advance()
            elif self._token.text in REDIRECTS:
                self._redirect()
            else:
                break
        if self._is("(") and count == 1 and name is not None and name.plain:
            self._function_body()

    def _function_body(self) -> None:
        self._advance()
        if not self._is(")"):
            self._refuse_unexpected()
        self._advance()
        self._skip_newlines()
        self._command()

    def _redirects(self) -> None:
        while self._token is not None:
            if self._token.is_word and self._token.text.isdigit():
                self._advance()
                if self._token is None or self._token.text not in REDIRECTS:
                    raise Unsure
            elif self._token.is_word and self._token.plain:
                # `{ a; } 2 >f`, `fi foo`: a word cannot follow, a reserved one may close the outer.
                if self._token.text in _CLOSERS:
                    return
                raise Broken(self._token.start, f"unexpected `{self._token.text}`")
            elif not self._token.is_word and self._token.text in REDIRECTS:
                self._redirect()
            else:
                return

    def _redirect(self) -> None:
        operator = self._token
        assert operator is not None
        self._advance()
        target = self._token
        if target is None or not target.is_word:
            raise Broken(operator.start, f"nothing follows `{operator.text}`")
        if operator.text in ("<<", "<<-"):
            self._lexer.expect_heredoc(target, operator.text == "<<-")
        self._advance()

    def _parenthesis(self, token: Token) -> None:
        if self._lexer.text.startswith("((", token.start):
            after = self._lexer.position
            self._lexer.position = token.start + 2
            if self._lexer.skip_arithmetic(token.start):
                self._advance()
                self._redirects()
                return
            self._lexer.position = after
        self._advance()
        self._list(frozenset((")",)), token)
        self._advance()
        self._redirects()

    def _if(self, token: Token) -> None:
        self._advance()
        self._list(frozenset(("then",)), token)
        self._advance()
        while True:
            end = self._list(frozenset(("elif", "else", "fi")), token)
            self._advance()
            if end == "fi":
                return
            if end == "else":
                self._list(frozenset(("fi",)), token)
                self._advance()
                return
            self._list(frozenset(("then",)), token)
            self._advance()

    def _while(self, token: Token) -> None:
        self._advance()
        self._list(frozenset(("do",)), token)
        self._do_group()

    def _do_group(self) -> None:
        do = self._token
        assert do is not None
        self._advance()
        self._list(frozenset(("done",)), do)
        self._advance()

    def _for(self, token: Token) -> None:
        self._advance()
        if self._is("("):
            raise Unsure
        if self._token is None or not self._token.is_word:
            raise Broken(token.start, f"`{token.text}` names no variable")
        self._advance()
        self._skip_newlines()
        if self._is("in"):
            self._advance()
            while self._token is not None and self._token.is_word:
                self._advance()
        if self._is(";", "\n"):
            self._advance()
            self._skip_newlines()
        if self._is("{"):
            raise Unsure
        if not self._is("do"):
            raise Broken(token.start, f"`{token.text}` is never closed: `do` is missing")
        self._do_group()

    def _case(self, token: Token) -> None:
        self._advance()
        if self._token is None or not self._token.is_word:
            raise Broken(token.start, "`case` has no word")
        self._advance()
        self._skip_newlines()
        if not self._is("in"):
            raise Broken(token.start, "`case` is never closed: `in` is missing")
        self._advance()
        while True:
            self._skip_newlines()
            if self._is("esac"):
                self._advance()
                return
            self._case_patterns(token)
            end = self._list_of_case(token)
            if end == "esac":
                self._advance()
                return
            self._advance()

    def _case_patterns(self, token: Token) -> None:
        if self._is("("):
            self._advance()
        while self._token is not None and self._token.is_word:
            self._advance()
            if not self._is("|"):
                break
            self._advance()
        if self._token is None:
            raise Broken(token.start, "`case` is never closed: `esac` is missing")
        if not self._is(")"):
            self._refuse_unexpected()
        self._advance()

    def _list_of_case(self, token: Token) -> str:
        return self._list(frozenset((*_CASE_ENDS, "esac")), token, may_be_empty=True)

    def _brace(self, token: Token) -> None:
        self._advance()
        self._list(frozenset(("}",)), token)
        self._advance()

    def _conditional(self, token: Token) -> None:
        while self._token is not None:
            self._advance()
            if self._is("]]"):
                self._advance()
                return
        raise Broken(token.start, "`[[` is never closed: `]]` is missing")

    def _function(self, token: Token) -> None:
        self._advance()
        if self._token is None or not self._token.is_word:
            raise Broken(token.start, "`function` has no name")
        self._advance()
        if self._is("("):
            self._function_body()
            return
        self._skip_newlines()
        self._command()


_COMPOUNDS = {
    "if": _Grammar._if,
    "while": _Grammar._while,
    "until": _Grammar._while,
    "for": _Grammar._for,
    "select": _Grammar._for,
    "case": _Grammar._case,
    "{": _Grammar._brace,
    "[[": _Grammar._conditional,
    "function": _Grammar._function,
}
