"""What a tool call may reach: files, the shell, the notebook, the person."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from signoff.agents.tools.files import Files
from signoff.process.environment import STANDARD_PATH
from signoff.settings.loading import Role
from signoff.toolbatch.calls import Result
from signoff.verification.enclosure import UNCONFINED, Enclosure

Ask = Callable[[str], str | None]


@dataclass
class Trace:
    """The files that one call read and wrote, each with its digest; empty for one that is gone.

    `content` is the workspace's digest after a call that may rest on any file of it; `touched` is
    what it changed otherwise: links, permissions, folders, ignored files.
    """

    reads: dict[str, str] = field(default_factory=dict)
    writes: dict[str, str] = field(default_factory=dict)
    content: str = ""
    touched: tuple[str, ...] = ()
    exit_code: int | None = None  # of a command that was started and came to its end
    says_no: bool = False  # it answered, and the answer is no: it proves nothing

    def result(self, text: str, ok: bool) -> Result:
        """What the call gave, with what it did."""
        return Result(text, ok, **vars(self))


@dataclass(frozen=True)
class Changes:
    """What became of the workspace: files with their digests, anything else, and the whole."""

    files: Mapping[str, str]
    others: tuple[str, ...]
    content: str


class Watch(Protocol):
    """Sees what a command did to the workspace, whatever the command says."""

    def mark(self) -> str:
        """The digest of the content as it is now, to be compared with later."""

    def content(self) -> str:
        """The digest of the content as it is now."""

    def changed_since(self, mark: str) -> Changes:
        """What differs from then."""


@dataclass
class Notebook:
    """What the model writes down for itself; it outlives a compaction."""

    todo: tuple[tuple[str, bool], ...] = ()
    scratchpad: dict[str, str] = field(default_factory=dict)

    def to_data(self) -> dict[str, Any]:
        """The stored form."""
        return {"todo": [list(item) for item in self.todo], "scratchpad": dict(self.scratchpad)}

    def load(self, data: Mapping[str, Any]) -> None:
        """As it was stored."""
        self.todo = tuple((str(text), bool(done)) for text, done in data["todo"])
        self.scratchpad = {str(key): str(text) for key, text in data["scratchpad"].items()}


@dataclass(frozen=True)
class Shell:
    """How commands of the model run: the sandbox, the environment, the limits."""

    role: Role = field(default_factory=lambda: Role("agent", ""))
    enclosure: Enclosure = UNCONFINED
    environ: Mapping[str, str] = field(default_factory=dict)
    search_path: str = STANDARD_PATH
    longest_s: float = 600.0
    mark: str | None = None  # of the workspace, to find what outlives a killed harness
    cancelled: Callable[[], bool] | None = None


@dataclass(frozen=True)
class ToolContext:
    """Given to every tool that asks for it; the trace is of one call."""

    files: Files
    shell: Shell = Shell()
    notebook: Notebook = field(default_factory=Notebook)
    ask: Ask | None = None
    watch: Watch | None = None
    trace: Trace = field(default_factory=Trace)

    @property
    def workspace(self) -> Path:
        """Where the work is."""
        return self.files.workspace

    def for_call(self) -> ToolContext:
        """The same, with nothing touched yet."""
        return replace(self, trace=Trace())

    def read(self, named: str) -> bytes:
        """A file's content; the call is noted to rest on it."""
        content = self.files.read(named)
        self.trace.reads[content.path] = content.sha256
        return content.data

    def rest_on_all(self) -> None:
        """The call looked at more files than can be named: it rests on the whole content."""
        if self.watch is not None:
            self.trace.content = self.watch.content()

    def write(self, named: str, data: bytes) -> str:
        """Replace or make a file; returns its path as reports name it."""
        content = self.files.write(named, data)
        self.trace.writes[content.path] = content.sha256
        return content.path

    def remove(self, named: str) -> str:
        """Remove a file; returns its path as reports name it."""
        path = self.files.remove(named)
        self.trace.writes[path] = ""
        return path
