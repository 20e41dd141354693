"""What kind of failure a call met, and what it is about; a table, read from the top."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from signoff.toolbatch.calls import Call, Nature
from signoff.toolbatch.shellwork import command_of, family

LONGEST_READ = 20_000  # of a result's text: what failed is said at its beginning or its end


class Category(StrEnum):
    """Kinds of failures that have a follow-up."""

    MALFORMED = "malformed call"
    ARGUMENTS = "bad arguments"
    EDIT_MISMATCH = "edit mismatch"
    NOT_FOUND = "file not found"
    PERMISSION = "permission"
    TIMEOUT = "timeout"
    MISSING_MODULE = "missing module"
    MISSING_COMMAND = "missing command"
    SYNTAX = "syntax"
    EMPTY = "empty response"


@dataclass(frozen=True)
class Failure:
    """A failure with its category; failures with the same subject are one episode."""

    category: Category
    subject: str
    about: str = ""  # what was missing or wrong, as the text names it


_SAID = (
    (
        Category.ARGUMENTS,
        re.compile(
            r"(?:missing|unknown|unexpected|required)[^\n]{0,40}(?:argument|field|parameter)"
            r"|no field `(?P<a>[^`]{1,200})`"
            r"|`(?P<b>[^`]{1,200})` (?:is missing|is required|must be)\b"
            r"|there is no tool `(?P<c>[^`]{1,200})`|not valid JSON",
            re.IGNORECASE,
        ),
    ),
    (
        Category.EDIT_MISMATCH,
        re.compile(
            r"does not occur in|occurs \d+ times in|(?:string|text|hunk|context)[^\n]{0,30}"
            r"(?:not found|does not (?:match|fit|apply))|does not apply|patch failed",
            re.IGNORECASE,
        ),
    ),
    (
        Category.TIMEOUT,
        re.compile(
            r"timed out|timeout (?:after|expired)|was stopped after|deadline", re.IGNORECASE
        ),
    ),
    (
        Category.MISSING_MODULE,
        re.compile(
            r"No module named '?(?P<a>[\w.]{1,200})"
            r"|Cannot find (?:module|package) '(?P<b>[^']{1,200})'"
            r"|ModuleNotFoundError|ImportError",
        ),
    ),
    (
        Category.MISSING_COMMAND,
        re.compile(
            r"(?P<a>[\w./+-]{1,100}): (?:command )?not found|`(?P<b>[^`]{1,200})` is not installed"
            r"|exit code 127",
        ),
    ),
    (
        Category.SYNTAX,
        re.compile(
            r"\b(?:SyntaxError|IndentationError|TabError|ParseError)\b|syntax error|parse error"
            r"|unexpected token|unterminated|unexpected EOF|unexpected end of",
            re.IGNORECASE,
        ),
    ),
    (
        Category.PERMISSION,
        re.compile(
            r"permission denied|operation not permitted|read-only file system|may not write"
            r"|leads outside the workspace|access denied|\bEACCES\b|\bEPERM\b",
            re.IGNORECASE,
        ),
    ),
    (
        Category.NOT_FOUND,
        re.compile(
            r"no (?:such )?file(?: or (?:folder|directory))?\b(?:[^\n`]{0,20}`(?P<a>[^`]{1,200})`)?"
            r"|\bENOENT\b|FileNotFoundError|does not exist",
            re.IGNORECASE,
        ),
    ),
)


def failure_of(call: Call, text: str) -> Failure | None:
    """The failure that a result tells of; None for one that has no name here."""
    if call.malformed:
        return Failure(Category.MALFORMED, call.tool, call.malformed)
    shown = (
        text
        if len(text) <= LONGEST_READ
        else text[: LONGEST_READ // 2] + text[-LONGEST_READ // 2 :]
    )
    for category, pattern in _SAID:
        if category is Category.EDIT_MISMATCH and call.shape.nature is not Nature.MUTATE:
            continue
        if category is Category.ARGUMENTS and call.shape.nature is Nature.SHELL:
            continue  # what a program says about its own arguments
        found = pattern.search(shown)
        if found is not None:
            about = next((name for name in found.groupdict().values() if name), "")
            return Failure(category, subject_of(category, call), about)
    return None


def subject_of(category: Category, call: Call) -> str:
    """What makes two failures one episode: the tool, the command's family, a file or its folder."""
    if category in (Category.MALFORMED, Category.ARGUMENTS):
        return call.tool
    if call.shape.nature is Nature.SHELL:
        return family(command_of(call)) or call.tool
    if category is Category.EDIT_MISMATCH or not call.target:
        return call.target or call.tool
    return str(PurePosixPath(call.target).parent)
