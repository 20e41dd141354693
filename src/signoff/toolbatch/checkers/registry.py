"""Registry of checkers, and the choice of those for a file."""

from __future__ import annotations

from pathlib import PurePosixPath

from signoff.toolbatch.checkers.data import JSON, JSON_LINES, TABLE, TOML, YAML
from signoff.toolbatch.checkers.documents import IMAGE, NOTEBOOK, PDF, SVG
from signoff.toolbatch.checkers.links import HTML, MARKDOWN
from signoff.toolbatch.checkers.source import PYTHON, SHELL
from signoff.toolbatch.checkers.subject import BuiltInChecker

BUILT_IN: tuple[BuiltInChecker, ...] = (
    *(HTML, MARKDOWN, JSON, JSON_LINES, YAML, TOML, TABLE, PYTHON, SHELL),
    *(IMAGE, SVG, PDF, NOTEBOOK),
)


def checkers_of(path: str) -> tuple[BuiltInChecker, ...]:
    suffix = PurePosixPath(path).suffix.lower()
    return tuple(checker for checker in BUILT_IN if suffix in checker.files)
