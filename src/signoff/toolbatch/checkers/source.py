"""The checkers of code: Python, JavaScript and shell parse; none of it is run."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from signoff.domain.observation import Ending, Observation
from signoff.domain.text import decode_output
from signoff.process.command import Command
from signoff.process.environment import clean_environment, safe_search_path
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.shell import find_tool
from signoff.toolbatch.checkers.pages import is_template
from signoff.toolbatch.checkers.subject import BuiltInChecker, CheckedFile, FileFinding, of_text
from signoff.toolbatch.checkers.tree import FileTree

LARGEST_LOOKED_AT = 1_000_000  # for signs of a dialect
LATER_VERSIONS = 6
_LIMITS = Limits(wall_s=20.0, cpu_s=20, max_output=1_000_000)
_CORRECT = "correct the line"
# Said in words that only later versions know: `type X = …`, `def f[T](…)`, `t"…"`, `except A, B:`.
_LATER_PYTHON = re.compile(
    r"^(?:type\s+\w+.*=|(?:async\s+)?def\s+\w+\s*\[|class\s+\w+\s*\[|except\s+[\w.]+\s*,)|\bt[\"']"
)
_COMPILE = "import sys; compile(open(sys.argv[1], 'rb').read(), 'file', 'exec')"
_SHELLS = frozenset({"", "bash", "sh", "dash", "ash", "busybox"})
_MODULE = re.compile(r"^\s*(?:import\b|export\b)|\bimport\.meta\b|^\s*await\b", re.MULTILINE)
# An element where a value is expected: behind `(`, `=`, `?`, `:`, `,`, `{`, `>`, `&` or `return`.
_ELEMENT = re.compile(r"(?:[(=?:,{>&]|\breturn)\s{0,200}<(?:[A-Za-z][\w.:-]{0,100}[\s/>]|>)")
_BUILT = re.compile(
    r'"(?:react|preact|solid-js|next|gatsby|inferno|flow-bin|@babel/[\w-]+|@vitejs/[\w-]+|esbuild'
    r'|react-scripts)"\s*:'
)


def _python(subject: CheckedFile, tree: FileTree) -> Iterator[FileFinding]:
    """Compile, and forget the result."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(subject.content, subject.path, "exec", dont_inherit=True)
    except SyntaxError as error:
        yield from _python_says(subject, error, tree)
    except ValueError as error:
        yield subject.finding("syntax", str(error), "save it as UTF-8 text without NUL")
    except (RecursionError, MemoryError, OverflowError):
        yield subject.too_complex("nested too deeply to compile", "break the expression up")


def _python_says(subject: CheckedFile, error: SyntaxError, tree: FileTree) -> Iterator[FileFinding]:
    """Ask later versions that are installed: what does not parse here may parse there."""
    line = max(1, min(error.lineno or 1, subject.content.count(b"\n") + 1))
    said, written = error.msg or "does not parse", (error.text or "").strip()
    asked = not said.startswith("f-string") and not _LATER_PYTHON.search(written)
    if not asked:
        first = sys.version_info.minor + 1
        for minor in range(first, first + LATER_VERSIONS):
            later = find_tool(f"python3.{minor}", _search_path(tree))
            if later is None:
                continue
            seen = _run_on(subject, ".py", (str(later), "-I", "-S", "-c", _COMPILE), tree)
            if seen.ending is Ending.EXITED and seen.exit_code == 0:
                return
            # A name that stands for nothing installed has no opinion.
            asked = asked or b"SyntaxError" in seen.stderr.kept
    if asked:
        yield subject.finding("syntax", said, _CORRECT, line)
    else:
        yield subject.other_dialect(f"a later Python may read it ({said})", line)


def _javascript(subject: CheckedFile, text: str, tree: FileTree) -> Iterator[FileFinding]:
    """Ask `node --check`, once as a script and once as a module where it could be either."""
    node = find_tool("node", _search_path(tree))
    if node is None:
        yield subject.tool_missing("node", "install Node.js")
        return
    suffixes = [subject.suffix]
    if subject.suffix == ".js":
        # The last answer is the one that is shown.
        suffixes = [".cjs", ".mjs"] if _MODULE.search(text) else [".mjs", ".cjs"]
    for suffix in suffixes:
        seen = _run_on(subject, suffix, (str(node), "--check"), tree)
        if seen.ending is Ending.EXITED and seen.exit_code == 0:
            return
    said = decode_output(seen.stderr.kept)
    message, place = re.search(r"^\w*Error: .*$", said, re.MULTILINE), re.search(r":(\d+)\n", said)
    line = int(place[1]) if place else 1
    if seen.ending is not Ending.EXITED or message is None:
        yield _no_answer(subject, "node", seen)
    elif dialect := _script_dialect(text):
        yield subject.other_dialect(f"it seems to be {dialect}", line)
    else:
        yield subject.finding("syntax", message[0], _CORRECT, line)


def _shell(subject: CheckedFile, text: str, tree: FileTree) -> Iterator[FileFinding]:
    """Ask `bash -n`; a here-document that never ends is a warning to bash, an error here."""
    shell, bash = _interpreter(text), find_tool("bash", _search_path(tree))
    if shell not in _SHELLS or bash is None:
        yield subject.tool_missing(shell or "bash", "write it for bash or sh, and install bash")
        return
    seen = _run_on(subject, ".sh", (str(bash), "--noprofile", "--norc", "-n"), tree)
    said = decode_output(seen.stderr.kept)
    if seen.ending is not Ending.EXITED:
        yield _no_answer(subject, "bash", seen)
    elif seen.exit_code != 0 or "warning: here-document" in said:
        found = re.search(r"line (\d+): (.*)", said)
        line, message = (int(found[1]), found[2]) if found else (1, said)
        yield subject.finding("syntax", message or "does not parse", _CORRECT, line)


def unread_dialect(path: str, tree: FileTree) -> str:
    """Say why no checker can judge a file, by its content and the project; empty: one can.

    What the file says of itself is not enough: the project has to be one that builds such files.
    """
    place = PurePosixPath(path)
    if place.suffix.lower() == ".js":
        manifests = [(folder / "package.json").as_posix() for folder in place.parents]
        built = any(_BUILT.search(_text(file, tree)) for file in manifests)
        return _script_dialect(_text(path, tree)) if built else ""
    if place.suffix.lower() in (".yaml", ".yml") and "templates" in place.parts[:-1]:
        charts = [(folder / "Chart.yaml").as_posix() for folder in place.parents]
        chart = any(tree.size(file) is not None for file in charts)
        return "Helm" if chart and is_template(_text(path, tree)) else ""
    return ""


def _script_dialect(text: str) -> str:
    """The dialect that a JavaScript file seems to be in; empty for the plain language."""
    return "JSX" if _ELEMENT.search(text) and re.search("/>|</", text) else ""


def _text(path: str, tree: FileTree) -> str:
    size = tree.size(path)
    content = tree.read(path) if size is not None and size <= LARGEST_LOOKED_AT else None
    return (content or b"").decode("utf-8", "replace")


def _interpreter(text: str) -> str:
    """Who would run a script, by its first line; nothing where that does not say."""
    first = text.partition("\n")[0]
    words = [PurePosixPath(word).name for word in first.removeprefix("#!").split()]
    if not first.startswith("#!") or not words:
        return ""
    named = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return named[0] if words[0] == "env" and named else words[0]


def _run_on(
    subject: CheckedFile, suffix: str, argv: tuple[str, ...], tree: FileTree
) -> Observation:
    """Give the content to a program, in a folder where nothing else steers it."""
    with tempfile.TemporaryDirectory(prefix="signoff-check-") as folder:
        file = Path(folder) / f"file{suffix}"
        file.write_bytes(subject.content)
        environment = clean_environment(os.environ, path=_search_path(tree))
        return run(Command((*argv, str(file)), Path(folder), environment, _LIMITS))


def _search_path(tree: FileTree) -> str:
    """Without anything from below the root: what is judged there does not bring its own judge."""
    return safe_search_path(os.environ.get("PATH", ""), tree.root)


def _no_answer(subject: CheckedFile, tool: str, seen: Observation) -> FileFinding:
    hint = "simplify the file, or check it by hand"
    return subject.too_complex(f"`{tool}` gave no answer: {seen.describe()}", hint)


_SCRIPTS = frozenset({".js", ".mjs", ".cjs"})
PYTHON = BuiltInChecker("python", frozenset({".py", ".pyi"}), 2_000_000, _python)
JAVASCRIPT = BuiltInChecker("javascript", _SCRIPTS, 5_000_000, of_text(_javascript))
SHELL = BuiltInChecker("shell", frozenset({".sh", ".bash"}), 2_000_000, of_text(_shell))
