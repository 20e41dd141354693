"""Which checkers there are: the built-in ones, and those that other packages bring along."""

from __future__ import annotations

import site
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path, PurePosixPath

from signoff.toolbatch.checkers.data import JSON, JSON_LINES, TOML, YAML
from signoff.toolbatch.checkers.finding import Finding, Severity
from signoff.toolbatch.checkers.image import IMAGE
from signoff.toolbatch.checkers.notebook import NOTEBOOK
from signoff.toolbatch.checkers.outsiders import PATIENCE_S, Outsider, within
from signoff.toolbatch.checkers.pages import HTML, MARKDOWN
from signoff.toolbatch.checkers.pdf import PDF
from signoff.toolbatch.checkers.source import JAVASCRIPT, PYTHON, SHELL
from signoff.toolbatch.checkers.subject import Checker
from signoff.toolbatch.checkers.table import TABLE

GROUP = "signoff.checkers"
BUILT_IN: tuple[Checker, ...] = (
    HTML,
    MARKDOWN,
    JSON,
    JSON_LINES,
    YAML,
    TOML,
    TABLE,
    PYTHON,
    JAVASCRIPT,
    SHELL,
    IMAGE,
    PDF,
    NOTEBOOK,
)


@dataclass(frozen=True)
class Registry:
    """Checkers in the order in which they are asked, and what is wrong with plug-ins."""

    checkers: tuple[Checker, ...]
    findings: tuple[Finding, ...] = ()
    patience_s: float = PATIENCE_S  # with a plug-in
    # Plug-ins that did not come back once; they are not asked again.
    stuck: set[str] = field(default_factory=set, compare=False)

    def of(self, path: str) -> tuple[Checker, ...]:
        """Those for a file: by its name, or by its suffix."""
        name = PurePosixPath(path).name.lower()
        keys = {name, PurePosixPath(name).suffix}
        return tuple(checker for checker in self.checkers if keys & checker.files)

    def is_built_in(self, checker: Checker) -> bool:
        """Whether it came with signoff."""
        return any(checker is own for own in BUILT_IN)


def load_checkers(
    root: Path, found: Iterable[EntryPoint] | None = None, patience_s: float = PATIENCE_S
) -> Registry:
    """The built-in checkers and every plug-in that can be used; the others are findings."""
    checkers: list[Checker] = list(BUILT_IN)
    findings: list[Finding] = []
    points = entry_points(group=GROUP) if found is None else found
    for point in sorted(points, key=lambda point: (point.name, point.value)):
        try:
            if _comes_from(point, (root, Path.cwd())):
                raise ValueError("it lies in the folder that is judged")
            checker = within(patience_s, partial(_loaded, point))
        except (Outsider, ValueError) as error:
            said = f"checker `{point.name}` ({point.value}) cannot be used: {error}"
            findings.append(_about(point, "plugin-broken", said, "repair or uninstall it"))
            continue
        if any(checker.name == other.name for other in checkers):
            said = f"checker `{point.name}` ({point.value}) is called `{checker.name}`, as another"
            findings.append(_about(point, "plugin-shadows", said, "rename or uninstall it"))
        else:
            checkers.append(checker)
    return Registry(tuple(checkers), tuple(findings), patience_s)


def _loaded(point: EntryPoint) -> Checker:
    return _usable(point.load())


def _usable(loaded: object) -> Checker:
    checker = loaded() if isinstance(loaded, type) else loaded
    if not isinstance(checker, Checker):
        raise TypeError("it has not all of `name`, `files`, `max_bytes` and `check`")
    if not (isinstance(checker.name, str) and checker.name):
        raise TypeError("its name is no text")
    if not all(isinstance(name, str) for name in checker.files):
        raise TypeError("its `files` are not suffixes and names")
    return checker


def _comes_from(point: EntryPoint, folders: Sequence[Path]) -> bool:
    """Whether a plug-in was planted below one of the folders, outside of any installation."""
    if point.dist is None:
        return False
    place = Path(str(point.dist.locate_file(""))).resolve()
    if place in set(_installations()):
        return False
    return any(place.is_relative_to(folder.resolve()) for folder in folders)


def _installations() -> Iterator[Path]:
    for folder in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib")):
        yield Path(folder).resolve()
    for folder in (*site.getsitepackages(), site.getusersitepackages()):
        yield Path(folder).resolve()


def _about(point: EntryPoint, code: str, message: str, hint: str) -> Finding:
    return Finding(f"plug-in {point.name}", 1, code, message, hint, Severity.UNKNOWN, point.name)
