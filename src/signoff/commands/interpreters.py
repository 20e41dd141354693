"""Interpreters, and which of their words name the scripts that they run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from signoff.commands.launchers import SHELLS, python_words


@dataclass(frozen=True)
class Interpreter:
    """How an interpreter's own words end and its script begins."""

    valued: tuple[str, ...] = ()
    inline: str = ""  # letters of options after which the program is on the command line
    loading: tuple[str, ...] = ()  # options that name a script to run first
    subcommands: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ("",)
    syntax_only: tuple[str, ...] = ()  # options with which the script is read and not run


_NODE = Interpreter(
    ("-C", "--conditions", "--env-file", "--test-reporter", "--test-name-pattern", "--tsconfig"),
    "ep",
    ("-r", "--require", "--import", "--loader", "--experimental-loader"),
    suffixes=("", ".js", ".mjs", ".cjs", "/index.js"),
)
_SHELL = Interpreter(
    ("-o", "+o", "-O", "+O"), "c", ("--rcfile", "--init-file"), syntax_only=("-n",)
)
_PROGRAM_FILE = Interpreter(inline="*", loading=("-f", "--file", "--from-file"))
INTERPRETERS: dict[str, Interpreter] = {
    **dict.fromkeys(SHELLS, _SHELL),
    **dict.fromkeys(("tsx", "ts-node"), _NODE),
    "node": replace(_NODE, syntax_only=("-c", "--check")),
    **dict.fromkeys(("awk", "gawk", "mawk", "sed", "jq"), _PROGRAM_FILE),
    "perl": Interpreter(("-I",), "eE"),
    "ruby": Interpreter(("-I", "-C"), "e", ("-r",), suffixes=("", ".rb")),
    "php": Interpreter(("-c", "-d"), "r", ("-f",), syntax_only=("-l",)),
    "Rscript": Interpreter(inline="e"),
    "lua": Interpreter(inline="e"),
    "deno": Interpreter(("-c", "--config"), subcommands=("run", "test")),
}


def scripts_run(tool: str, args: Sequence[str]) -> tuple[str, ...]:
    """The words that name files which an interpreter runs: `bash -e x`, `awk -f x`, `node -r x y`.

    A script that is only checked for its syntax is not run.
    """
    if tool == "python":
        words = python_words(tuple(args))
        return words[:1] if words and not words[0].startswith("-") else ()
    spec = INTERPRETERS.get(tool)
    ahead = list(args)
    if spec is None or (len(ahead) == 2 and ahead[0] in spec.syntax_only):
        return ()
    found: list[str] = []
    while ahead:
        word = ahead.pop(0)
        if word in spec.loading:
            found += ahead[:1]
            del ahead[:1]
        elif word in spec.valued:
            del ahead[:1]
        elif word.startswith(("-", "+")) and len(word) > 1:
            option, equals, value = word.partition("=")
            found += [value] if equals and option in spec.loading else []
            if not word.startswith("--") and set(spec.inline) & set(word[1:]):
                break
        elif spec.inline != "*" and word not in spec.subcommands:
            return (*found, word)
    return tuple(found)
