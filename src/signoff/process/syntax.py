"""What bash itself says about the syntax of shell texts: one bash reads many and runs none."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from signoff.domain.findings import SyntaxProblem
from signoff.process.command import Command
from signoff.process.environment import STANDARD_PATH
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.shell import shell_command

MOST_TEXTS = 5_000
_PATIENCE_S = 20.0
_LONGEST_ANSWER = 400
_ENVIRONMENT = {"PATH": STANDARD_PATH, "LC_ALL": "C"}
# `set -n` is run before the text is read, and from then on commands are read and not run.
_SCRIPT = f"""
mapfile -d '' -t texts
for text in "${{texts[@]}}"; do
  said=$(
    [[ $text == *extglob* ]] && shopt -s extglob
    eval "set -n"$'\\n'"$text" 2>&1 </dev/null
  )
  printf '%s\\0' "${{said:0:{_LONGEST_ANSWER}}}"
done
"""
# Its answer tells which number bash gives to the first line of a text.
_PROBE = ")"
_SAID = re.compile(r"^.*?\bline (\d+): (?!warning: |`)(.*)$", re.MULTILINE)
_AT_THE_END = ("end of file", "unexpected EOF")


def syntax_problems(texts: Iterable[str]) -> dict[str, SyntaxProblem]:
    """The texts that bash refuses, and why; nothing about those it had no time for."""
    asked = [_PROBE, *(text for text in dict.fromkeys(texts) if "\0" not in text)][: MOST_TEXTS + 1]
    if len(asked) == 1:
        return {}
    given = "".join(f"{text}\0" for text in asked).encode("utf-8", "replace")
    limits = Limits(wall_s=_PATIENCE_S, keep_head=len(asked) * (_LONGEST_ANSWER + 1))
    command = Command(shell_command(_SCRIPT), Path("/"), _ENVIRONMENT, limits, stdin=given)
    answers = run(command).stdout.kept.decode("utf-8", "replace").split("\0")[:-1]
    found = {text: _SAID.search(said) for text, said in zip(asked, answers, strict=False)}
    probe = found.pop(_PROBE, None)
    first = int(probe[1]) if probe else 1
    problems = {}
    for text, said in found.items():
        if said:
            at_end = any(words in said[2] for words in _AT_THE_END)
            message = re.sub(r"`(.+?)'(?= |$)", r"`\1`", said[2])
            problems[text] = SyntaxProblem(None if at_end else int(said[1]) - first, message)
    return problems
