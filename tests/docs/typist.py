"""Types the commands of a page into a shell, as a reader would, and compares what it prints."""

from __future__ import annotations

import os
import pty
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.docs.book import TOP, Block, blocks, page_name

LIMIT_S = 240
SKIPPED = "…"
_MARK = "::typed::"
# The one thing in a page that a reader replaces by what they see: the id of the open question.
_ITEM_ID = re.compile(r"\b[0-9a-f]{8}-(?:merge-)?[0-9]+\b")
_FIRST_OPEN = (
    '"$(signoff inbox --json | python3 -c '
    "\"import json,sys; print(json.load(sys.stdin)['items'][0]['id'])\")\""
)
_NORMAL = (
    (re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+\+00:00)?"), "TIME"),
    (re.compile(r"/tmp/tmp\.\w{10}\b"), "/tmp/FRESH"),
    # By length: where the tool prints 64 digits, a page that shows 12 of them is wrong.
    (re.compile(r"\b[0-9a-f]{64}\b"), "DIGEST-64"),
    (re.compile(r"\b[0-9a-f]{40}\b"), "COMMIT-40"),
    (re.compile(r"\b[0-9a-f]{12}\b"), "DIGEST-12"),
    (re.compile(r"\b[0-9a-f]{8}\b"), "RUN"),
    (re.compile(r"\b\d+\.\d s\b"), "SECONDS"),
    (re.compile(r"\bprocess \d+"), "process PID"),
    # Which sandbox there is depends on the machine, and what is said about having none with it.
    (
        re.compile(
            r"\b(isolation:? )(?:none|landlock|bubblewrap)\b"
            r"(?: \(contracts and agents [^)]*\))?"
        ),
        r"\1SANDBOX",
    ),
)


@dataclass(frozen=True)
class Typed:
    """A block that was typed, and everything the terminal showed for it."""

    block: Block
    shown: str


@dataclass(frozen=True)
class Desk:
    """A folder to work in, with `signoff` on the search path and a home of its own.

    Nothing in the environment says where that home is: it is where a reader's is.
    """

    folder: Path
    environment: Mapping[str, str]
    own: Mapping[str, str] = field(default_factory=dict)  # what a reader has in place of an example

    def type(self, typed: list[Block], limit_s: float = LIMIT_S) -> list[Typed]:
        """Type these blocks into one shell, answering `y` when asked."""
        script = "".join(f"echo '{_MARK}'\n{_with_real_id(block.text)}" for block in typed)
        for example, mine in self.own.items():
            script = script.replace(example, mine)
        shown = self._shell(script, limit_s)
        parts = shown.split(f"{_MARK}\n")
        assert parts[0] == "" and len(parts) == len(typed) + 1, shown
        return [Typed(block, part) for block, part in zip(typed, parts[1:], strict=True)]

    def signoff(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command itself, outside the page's shell."""
        return subprocess.run(
            ["signoff", *arguments],
            cwd=self.folder,
            env=dict(self.environment),
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def _shell(self, script: str, limit_s: float) -> str:
        """Standard input is a terminal, so that approving asks; what is shown comes by a pipe."""
        keyboard, terminal = pty.openpty()
        try:
            os.write(keyboard, b"y\ny\n")
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-c", script],
                cwd=self.folder,
                env=dict(self.environment),
                stdin=terminal,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=limit_s,
                check=False,
            )
        finally:
            os.close(keyboard)
            os.close(terminal)
        return done.stdout


def desk(folder: Path, own: Mapping[str, str] | None = None) -> Desk:
    """A fresh desk below `folder`; the reader's own settings do not get in."""
    work, tools = folder / "desk", folder / "tools"
    work.mkdir()
    tools.mkdir()
    # Without -m, so that a failing import cannot fall back on the current folder.
    _command(tools / "signoff", f'"{sys.executable}" "{tools}/start.py" "$@"')
    start = f"import sys; sys.path.insert(0, {str(TOP / 'src')!r})\n"
    (tools / "start.py").write_text(start + "from signoff.__main__ import main\nmain()\n")
    # The folder that each page makes for itself goes with the test's.
    _command(tools / "mktemp", f'{shutil.which("mktemp")} "$@" -p "{work}"')
    if TOP.is_relative_to("/tmp"):
        # A sandbox has a /tmp of its own; a reader's signoff is installed where contracts see it.
        settings = folder / ".config" / "signoff"
        settings.mkdir(parents=True)
        (settings / "config.toml").write_text(f'[sandbox]\nreadable = ["{TOP}"]\n')
    environment = {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",  # lines in the order in which a terminal would show them
    }
    return Desk(work, environment, own or {})


def _command(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\nexec {line}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def to_type(page: Path) -> list[Block]:
    """The blocks of a page that a reader types."""
    return [b for b in blocks(page) if b.run and b.language == "sh"]


def check_page(page: Path, at: Desk) -> list[Typed]:
    """Type every `sh` block of a page; each `text` block after one is what it must show."""
    typed = at.type(to_type(page))
    check_shown(page, typed, at)
    return typed


def check_shown(page: Path, typed: list[Typed], at: Desk) -> None:
    """Compare what a typed page printed with what it says it prints."""
    shown = {t.block.line: t for t in typed}
    last: Typed | None = None
    for block in blocks(page):
        if not block.run:
            continue
        if block.language == "sh":
            last = shown[block.line]
        elif block.language == "text" and last is not None:
            where = f"{page_name(page)}:{block.line}"
            assert_shows(last.shown, block.text, at, where)
            last = None


def assert_shows(shown: str, wanted: str, at: Desk, where: str) -> None:
    """Line by line; a line that is only `…` stands for any number of lines."""
    real, page = _lines(shown, at), _lines(wanted, at)
    if SKIPPED not in page:
        assert real == page, _difference(real, page, where)
        return
    rest = real
    for piece in _pieces(page):
        starts = [i for i in range(len(rest)) if rest[i : i + len(piece)] == piece]
        assert starts, _difference(real, page, where)
        rest = rest[starts[0] + len(piece) :]
    assert page[-1] == SKIPPED or not rest, _difference(real, page, where)


def normal(text: str) -> str:
    """Times, digests and the like differ from run to run."""
    for pattern, word in _NORMAL:
        text = pattern.sub(word, text)
    return text


def _lines(text: str, at: Desk) -> list[str]:
    """Pages speak of `/tmp`, where the reader may be; tests of their own folder."""
    placed = text.replace(str(at.folder.resolve()), "/tmp").replace(str(at.folder), "/tmp")
    return [line.rstrip() for line in normal(placed).strip("\n").split("\n")]


def _pieces(lines: list[str]) -> list[list[str]]:
    pieces: list[list[str]] = [[]]
    for line in lines:
        if line == SKIPPED:
            pieces.append([])
        else:
            pieces[-1].append(line)
    return [piece for piece in pieces if piece]


def _difference(real: list[str], page: list[str], where: str) -> str:
    return "\n".join([f"{where} shows:", *page, "", "but the command printed:", *real])


def _with_real_id(text: str) -> str:
    return "".join(
        _ITEM_ID.sub(lambda _: _FIRST_OPEN, line) if "signoff answer" in line else line
        for line in text.splitlines(keepends=True)
    )
