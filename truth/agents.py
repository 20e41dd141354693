"""An agent's scripts as one command line: nothing of it lies in a file that could be changed."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from truth.case import Script

# Step and attempt, whatever the step's id holds.
_KEY = '"$SIGNOFF_STEP:${SIGNOFF_ATTEMPT##*:}"'


def command_line(script: Script, variables: Mapping[str, str]) -> str:
    """What to configure as a role's command."""
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
    return shlex.join(["bash", "-c", exports + _body(script)])


def _body(script: Script) -> str:
    if isinstance(script, str):
        return f"exec {shlex.join(_words(script))}\n"
    # The script for one attempt goes before the one for all attempts at the step.
    named = sorted(script.items(), key=lambda item: ":" not in item[0])
    branches = [f"{_pattern(key)}) exec {shlex.join(_words(text))};;" for key, text in named]
    return "\n".join([f"case {_KEY} in", *branches, "esac", ""])


def _pattern(key: str) -> str:
    return shlex.quote(key) if ":" in key else f"{shlex.quote(key + ':')}*"


def _words(text: str) -> list[str]:
    first = text.lstrip("\n").partition("\n")[0]
    if first.startswith("#!") and "python" in first:
        return ["python3", "-c", text]
    return ["bash", "-c", text]
