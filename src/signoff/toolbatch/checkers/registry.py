"""Which checkers there are: the built-in ones, and those that other packages bring along."""

from __future__ import annotations

import site
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path, PurePosixPath

from signoff.toolbatch.checkers.data import JSON, JSON_LINES, TABLE, TOML, YAML
from signoff.toolbatch.checkers.documents import IMAGE, NOTEBOOK, PDF, SVG
from signoff.toolbatch.checkers.links import HTML, MARKDOWN
from signoff.toolbatch.checkers.source import JAVASCRIPT, PYTHON, SHELL
from signoff.toolbatch.checkers.subject import BuiltInChecker, CheckedFile, Checker, FileFinding

GROUP = "signoff.checkers"
BUILT_IN: tuple[BuiltInChecker, ...] = (
    *(HTML, MARKDOWN, JSON, JSON_LINES, YAML, TOML, TABLE, PYTHON, JAVASCRIPT, SHELL),
    *(IMAGE, SVG, PDF, NOTEBOOK),
)


@dataclass(frozen=True)
class Registry:
    """Checkers in the order in which they are asked, and what is wrong with plug-ins."""

    checkers: tuple[Checker, ...]
    findings: tuple[FileFinding, ...] = ()

    def of(self, path: str) -> tuple[Checker, ...]:
        """Those for a file: by its name, or by its suffix."""
        name = PurePosixPath(path).name.lower()
        keys = {name, PurePosixPath(name).suffix}
        return tuple(checker for checker in self.checkers if keys & checker.files)


def load_checkers(root: Path, found: Iterable[EntryPoint] | None = None) -> Registry:
    """Load the built-in checkers and every plug-in that can be used; the others are findings."""
    checkers: list[Checker] = list(BUILT_IN)
    findings: list[FileFinding] = []
    points = entry_points(group=GROUP) if found is None else found
    for point in sorted(points, key=lambda point: (point.name, point.value)):
        named, about = (
            f"checker `{point.name}` ({point.value})",
            CheckedFile(f"plug-in {point.name}"),
        )
        try:
            if _comes_from(point, (root, Path.cwd())):
                raise ValueError("it lies in the folder that is judged")
            checker = _usable(point.load())
        except (Exception, SystemExit) as error:  # whatever it does, the others are loaded
            said = f"{named} cannot be used: {type(error).__name__}: {error}"
            hint = "repair or uninstall it"
            findings.append(about.finding("plugin-broken", said, hint, about=point.name))
            continue
        if any(checker.name == other.name for other in checkers):
            said, hint = f"{named} is called `{checker.name}`, as another", "rename or uninstall it"
            findings.append(about.finding("plugin-shadows", said, hint, about=point.name))
        else:
            checkers.append(checker)
    return Registry(tuple(checkers), tuple(findings))


def _usable(loaded: object) -> Checker:
    checker = loaded() if isinstance(loaded, type) else loaded
    if not isinstance(checker, Checker):
        raise TypeError("it has not all of `name`, `files`, `max_bytes` and `check`")
    if not all(isinstance(text, str) and text for text in (checker.name, *checker.files)):
        raise TypeError("its `name` and `files` are not texts")
    return checker


def _comes_from(point: EntryPoint, folders: Sequence[Path]) -> bool:
    """Whether a plug-in was planted below one of the folders, outside of any installation."""
    if point.dist is None:
        return False
    place = Path(str(point.dist.locate_file(""))).resolve()
    installations = (
        *(sysconfig.get_path("purelib"), sysconfig.get_path("platlib")),
        *(*site.getsitepackages(), site.getusersitepackages()),
    )
    if any(place == Path(folder).resolve() for folder in installations):
        return False
    return any(place.is_relative_to(folder.resolve()) for folder in folders)
