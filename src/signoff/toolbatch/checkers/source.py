"""The checkers of code: Python, JavaScript and shell parse; none of it is run."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from signoff.domain.observation import Ending, Observation
from signoff.domain.text import decode_output
from signoff.process.command import Command
from signoff.process.environment import clean_environment, safe_search_path
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.shell import find_tool
from signoff.toolbatch.checkers.data import other_dialect
from signoff.toolbatch.checkers.dialects import script_dialect
from signoff.toolbatch.checkers.finding import Finding, Severity
from signoff.toolbatch.checkers.subject import Subject
from signoff.toolbatch.checkers.texts import decode_text
from signoff.toolbatch.checkers.tree import Tree

_LIMITS = Limits(wall_s=20.0, cpu_s=20, max_output=1_000_000)
_NODE_LINE = re.compile(r":(\d+)\n")
_NODE_SAYS = re.compile(r"^(\w*Error: .*)$", re.MULTILINE)
_BASH_LINE = re.compile(r"line (\d+): (.*)")
# Said in words that only later versions know: `type X = …`, `def f[T](…)`, `t"…"`, `except A, B:`.
_LATER_PYTHON = re.compile(
    r"^(?:type\s+\w+.*=|(?:async\s+)?def\s+\w+\s*\[|class\s+\w+\s*\[|except\s+[\w.]+\s*,)|\bt[\"']"
)
LATER_VERSIONS = 6
_COMPILE = "import sys; compile(open(sys.argv[1], 'rb').read(), 'file', 'exec')"
_SHELLS = frozenset({"", "bash", "sh", "dash", "ash", "busybox"})
_MODULE = re.compile(r"^\s*(?:import\b|export\b)|\bimport\.meta\b|^\s*await\b", re.MULTILINE)


@dataclass(frozen=True)
class PythonChecker:
    """Compiles, and forgets the result."""

    name: str = "python"
    files: frozenset[str] = frozenset({".py", ".pyi"})
    max_bytes: int = 2_000_000

    def check(self, subject: Subject, tree: Tree) -> Iterator[Finding]:
        """The first place that does not parse."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(subject.content, subject.path, "exec", dont_inherit=True)
        except SyntaxError as error:
            yield from _python_says(subject, error, tree)
        except ValueError as error:
            yield subject.finding("syntax", str(error)[:200], "save it as UTF-8 text without NUL")
        except (RecursionError, MemoryError, OverflowError):
            yield subject.finding(
                "too-complex",
                "nested too deeply to compile",
                "break the expression up",
                severity=Severity.UNKNOWN,
            )


@dataclass(frozen=True)
class JavaScriptChecker:
    """Asks `node --check`, once as a script and once as a module where it could be either."""

    name: str = "javascript"
    files: frozenset[str] = frozenset({".js", ".mjs", ".cjs"})
    max_bytes: int = 5_000_000

    def check(self, subject: Subject, tree: Tree) -> Iterator[Finding]:
        """What node says, or that nobody can tell."""
        node = find_tool("node", _search_path(tree))
        if node is None:
            yield _no_tool(subject, "node", "install Node.js")
            return
        text = decode_text(subject)
        if isinstance(text, Finding):
            yield text
            return
        seen = None
        for suffix in _readings(subject.suffix, text):
            seen = _run_on(subject, suffix, (str(node), "--check"), tree)
            if seen.ending is Ending.EXITED and seen.exit_code == 0:
                return
        assert seen is not None
        found, dialect = _node_says(subject, seen), script_dialect(text)
        if found.code == "syntax" and dialect:
            found = other_dialect(subject, f"it seems to be {dialect}", found.line)
        yield found


@dataclass(frozen=True)
class ShellChecker:
    """Asks `bash -n`."""

    name: str = "shell"
    files: frozenset[str] = frozenset({".sh", ".bash"})
    max_bytes: int = 2_000_000

    def check(self, subject: Subject, tree: Tree) -> Iterator[Finding]:
        """What bash says; a here-document that never ends is a warning to bash, an error here."""
        text = decode_text(subject)
        if isinstance(text, Finding):
            yield text
            return
        shell = _interpreter(text)
        if shell not in _SHELLS:
            yield _no_tool(subject, shell, "write it for bash or sh")
            return
        bash = find_tool("bash", _search_path(tree))
        if bash is None:
            yield _no_tool(subject, "bash", "install bash")
            return
        seen = _run_on(subject, ".sh", (str(bash), "--noprofile", "--norc", "-n"), tree)
        said = decode_output(seen.stderr.kept)
        if seen.ending is not Ending.EXITED:
            yield _cannot_tell(subject, "bash", seen)
        elif seen.exit_code != 0 or "warning: here-document" in said:
            found = _BASH_LINE.search(said)
            line, message = (int(found.group(1)), found.group(2)) if found else (1, said)
            yield subject.finding(
                "syntax", message.strip()[:200] or "does not parse", "correct the line", line=line
            )


PYTHON = PythonChecker()
JAVASCRIPT = JavaScriptChecker()
SHELL = ShellChecker()


def _python_says(subject: Subject, error: SyntaxError, tree: Tree) -> Iterator[Finding]:
    """What does not parse here may in a later version: one that is installed is asked."""
    line = max(1, min(error.lineno or 1, subject.content.count(b"\n") + 1))
    said = (error.msg or "does not parse")[:200]
    written = (error.text or "").strip()
    if not said.startswith("f-string") and not _LATER_PYTHON.search(written):
        yield subject.finding("syntax", said, "correct the line", line=line)
        return
    asked = False
    for minor in range(sys.version_info.minor + 1, sys.version_info.minor + LATER_VERSIONS + 1):
        later = find_tool(f"python3.{minor}", _search_path(tree))
        if later is None:
            continue
        seen = _run_on(subject, ".py", (str(later), "-I", "-S", "-c", _COMPILE), tree)
        if seen.ending is Ending.EXITED and seen.exit_code == 0:
            return
        # A name that stands for nothing installed has no opinion.
        asked = asked or b"SyntaxError" in seen.stderr.kept
    if asked:
        yield subject.finding("syntax", said, "correct the line", line=line)
    else:
        yield other_dialect(subject, f"a later Python may read it ({said})", line)


def _readings(suffix: str, text: str) -> tuple[str, ...]:
    """Names under which node is asked; a browser's script tells nobody which of the two it is."""
    if suffix != ".js":
        return (suffix,)
    # The last answer is the one that is shown.
    return (".cjs", ".mjs") if _MODULE.search(text) else (".mjs", ".cjs")


def _interpreter(text: str) -> str:
    """Who would run a script, by its first line; nothing where that does not say."""
    first = text.partition("\n")[0]
    words = [PurePosixPath(word).name for word in first.removeprefix("#!").split()]
    if not first.startswith("#!") or not words:
        return ""
    named = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return named[0] if words[0] == "env" and named else words[0]


def _run_on(subject: Subject, suffix: str, argv: tuple[str, ...], tree: Tree) -> Observation:
    """Give the content to a program, in a folder where nothing else steers it."""
    with tempfile.TemporaryDirectory(prefix="signoff-check-") as folder:
        file = Path(folder) / f"file{suffix}"
        file.write_bytes(subject.content)
        environment = clean_environment(os.environ, path=_search_path(tree))
        return run(Command((*argv, str(file)), Path(folder), environment, _LIMITS))


def _search_path(tree: Tree) -> str:
    """Without anything from below the root: what is judged there does not bring its own judge."""
    return safe_search_path(os.environ.get("PATH", ""), tree.root)


def _node_says(subject: Subject, seen: Observation) -> Finding:
    said = decode_output(seen.stderr.kept)
    message, place = _NODE_SAYS.search(said), _NODE_LINE.search(said)
    if seen.ending is not Ending.EXITED or message is None:
        return _cannot_tell(subject, "node", seen)
    line = int(place.group(1)) if place else 1
    return subject.finding("syntax", message.group(1)[:200], "correct the line", line=line)


def _no_tool(subject: Subject, tool: str, hint: str) -> Finding:
    return subject.finding(
        "tool-missing",
        f"cannot tell without `{tool}`",
        hint,
        severity=Severity.UNKNOWN,
        about=tool,
    )


def _cannot_tell(subject: Subject, tool: str, seen: Observation) -> Finding:
    return subject.finding(
        "too-complex",
        f"`{tool}` gave no answer: {seen.describe()}",
        "simplify the file, or check it by hand",
        severity=Severity.UNKNOWN,
        about=tool,
    )
