"""The shell of contracts: what bash says of a text, and where tools and modules would be found."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from signoff.domain.findings import SyntaxProblem
from signoff.errors import ProcessFailed
from signoff.process.environment import STANDARD_PATH

_PYTHONS = ("python3", "python")


def shell_command(text: str) -> tuple[str, ...]:
    """Arguments that run the text in a bash without anybody's start-up files."""
    return (_bash(), "--noprofile", "--norc", "-c", text)


def script_command(path: Path) -> tuple[str, ...]:
    """Arguments that run the text of a file likewise, and do not show it in the process table."""
    return (_bash(), "--noprofile", "--norc", str(path))


def input_command(text: str) -> tuple[tuple[str, ...], bytes]:
    """Arguments and an input that run the text as `shell_command` does, with no input of its own.

    Whoever looks at this process, or opens what it has open, sees nothing of the text.
    """
    if "\0" in text:  # the input would end there; as an argument it is refused
        return shell_command(text), b""
    # A plan is UTF-8, whatever the person's locale says of names of files.
    given = text.encode(errors="surrogateescape")
    return shell_command('read -rd ""; exec </dev/null; eval "$REPLY"'), given


def find_tool(name: str, path: str, folder: Path | None = None) -> Path | None:
    """The file that running `name` in this folder would start with this search path, if any.

    Relative entries of the path are skipped, and without a folder a relative name with a slash is
    never found: both would depend on where we are.
    """
    if "\0" in name or name in ("", ".", ".."):
        return None
    if "/" in name:
        return _if_executable(name if folder is None else os.path.normpath(folder / name))
    for entry in path.split(":"):
        found = _if_executable(f"{entry}/{name}")
        if found is not None:
            return found
    return None


@lru_cache(maxsize=1)
def _bash() -> str:
    # The system's own, whatever the caller's search path says.
    found = find_tool("bash", STANDARD_PATH)
    if found is None:
        raise ProcessFailed(
            f"no `bash` in {STANDARD_PATH}", hint="install bash with the system's package manager"
        )
    return str(found)


def _if_executable(path: str) -> Path | None:
    if not path.startswith("/"):
        return None
    found = Path(path)
    return found if found.is_file() and os.access(found, os.X_OK) else None


@lru_cache(maxsize=16)
def installed_modules(search_path: str) -> frozenset[str]:
    """Names of all modules that the interpreters of the search path have installed."""
    found: set[str] = set()
    for folder in package_folders(search_path):
        names = (entry.name.partition(".")[0] for entry in os.scandir(folder))
        found.update(name for name in names if name.isidentifier())
    return frozenset(found)


def package_folders(search_path: str) -> Iterator[str]:
    """Package folders of the interpreters on the search path."""
    for name in _PYTHONS:
        python = find_tool(name, search_path)
        for prefix in _prefixes(python) if python is not None else ():
            for folder in sorted(prefix.glob("lib*/python3*/*-packages")):
                yield str(folder)


def _prefixes(python: Path) -> Iterator[Path]:
    """Prefixes of an interpreter: an environment adds its own; a shim may start any version."""
    around = python.parent.parent
    if python.parent.name == "shims":
        yield from around.glob("versions/*")
        yield from around.glob("installs/python/*")
        return
    real = Path(os.path.realpath(python)).parent.parent
    for prefix in dict.fromkeys((around, real)):
        yield prefix
        yield prefix / "local"


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


def _ask_bash(given: bytes) -> bytes:
    """Return bash's answers, as far as they come in time. It runs nothing: no sandbox is needed."""
    import signal  # noqa: PLC0415 - as below
    import subprocess  # noqa: PLC0415 - most commands read no new contract

    bash = subprocess.Popen(
        shell_command(_SCRIPT),
        cwd="/",
        env=_ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return bash.communicate(given, timeout=_PATIENCE_S)[0]
    except subprocess.TimeoutExpired:
        os.killpg(bash.pid, signal.SIGKILL)  # with the subshell that reads the text
        return bash.communicate()[0]


def syntax_problems(texts: Iterable[str]) -> dict[str, SyntaxProblem]:
    """The texts that bash refuses, and why; nothing about those it had no time for."""
    asked = [_PROBE, *(text for text in dict.fromkeys(texts) if "\0" not in text)][: MOST_TEXTS + 1]
    if len(asked) == 1:
        return {}
    given = "".join(f"{text}\0" for text in asked).encode("utf-8", "replace")
    answers = _ask_bash(given).decode("utf-8", "replace").split("\0")[:-1]
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
