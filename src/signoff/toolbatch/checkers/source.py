"""The checkers of code: Python and shell parse; none of it is run."""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from signoff.domain.text import decode_output
from signoff.domain.verdict import Ending
from signoff.process.command import Command
from signoff.process.environment import clean_environment, safe_search_path
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.shell import find_tool
from signoff.toolbatch.checkers.subject import BuiltInChecker, CheckedFile, FileFinding, of_text
from signoff.toolbatch.checkers.tree import FileTree

_LIMITS = Limits(wall_s=20.0, cpu_s=20, max_output=1_000_000)
_CORRECT = "correct the line"
# Said in words that only later versions know: `type X = …`, `def f[T](…)`, `t"…"`, `except A, B:`.
_LATER_PYTHON = re.compile(
    r"^(?:type\s+\w+.*=|(?:async\s+)?def\s+\w+\s*\[|class\s+\w+\s*\[|except\s+[\w.]+\s*,)|\bt[\"']"
)
_SHELLS = frozenset({"", "bash", "sh", "dash", "ash", "busybox"})


def _python(subject: CheckedFile, _tree: FileTree) -> Iterator[FileFinding]:
    """Compile, and forget the result."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(subject.content, subject.path, "exec", dont_inherit=True)
    except SyntaxError as error:
        line = max(1, min(error.lineno or 1, subject.content.count(b"\n") + 1))
        said, written = error.msg or "does not parse", (error.text or "").strip()
        if said.startswith("f-string") or _LATER_PYTHON.search(written):
            yield subject.other_dialect(f"a later Python may read it ({said})", line)
        else:
            yield subject.finding("syntax", said, _CORRECT, line)
    except ValueError as error:
        yield subject.finding("syntax", str(error), "save it as UTF-8 text without NUL")
    except (RecursionError, MemoryError, OverflowError):
        yield subject.too_complex("nested too deeply to compile", "break the expression up")


def _shell(subject: CheckedFile, text: str, tree: FileTree) -> Iterator[FileFinding]:
    """Ask `bash -n`; a here-document that never ends is a warning to bash, an error here."""
    # Without anything from below the root: what is judged there does not bring its own judge.
    path = safe_search_path(os.environ.get("PATH", ""), tree.root)
    shell, bash = _interpreter(text), find_tool("bash", path)
    if shell not in _SHELLS or bash is None:
        yield subject.tool_missing(shell or "bash", "write it for bash or sh, and install bash")
        return
    # In a folder where nothing else steers it.
    with tempfile.TemporaryDirectory(prefix="signoff-check-") as folder:
        file = Path(folder) / "file.sh"
        file.write_bytes(subject.content)
        argv = (str(bash), "--noprofile", "--norc", "-n", str(file))
        seen = run(Command(argv, Path(folder), clean_environment(os.environ, path=path), _LIMITS))
    said = decode_output(seen.stderr.kept)
    if seen.ending is not Ending.EXITED:
        hint = "simplify the file, or check it by hand"
        yield subject.too_complex(f"`bash` gave no answer: {seen.describe()}", hint)
    elif seen.exit_code != 0 or "warning: here-document" in said:
        found = re.search(r"line (\d+): (.*)", said)
        line, message = (int(found[1]), found[2]) if found else (1, said)
        yield subject.finding("syntax", message or "does not parse", _CORRECT, line)


def _interpreter(text: str) -> str:
    """Interpreter that would run a script, by its first line; empty where that does not say."""
    first = text.partition("\n")[0]
    words = [PurePosixPath(word).name for word in first.removeprefix("#!").split()]
    if not first.startswith("#!") or not words:
        return ""
    named = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return named[0] if words[0] == "env" and named else words[0]


PYTHON = BuiltInChecker("python", frozenset({".py", ".pyi"}), 2_000_000, _python)
SHELL = BuiltInChecker("shell", frozenset({".sh", ".bash"}), 2_000_000, of_text(_shell))
