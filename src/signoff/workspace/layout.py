"""What belongs into each folder of a clean room: sources, copied by-products, places to bind to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from signoff.workspace.byproducts import Survey
from signoff.workspace.records import FileRecord, FilesByFolder, StatKey

_NOTHING: Mapping[str, FileRecord] = {}


@dataclass(eq=False)
class Shelf:
    """Everything that may lie directly in one folder; whatever else does is to go.

    `other_folders` are by-products and places to bind a folder to, `points` places for a file.
    """

    sources: Mapping[str, FileRecord] = field(default_factory=lambda: _NOTHING)
    source_folders: set[str] = field(default_factory=set)
    other_folders: set[str] = field(default_factory=set)
    copies: dict[str, StatKey] = field(default_factory=dict)
    points: set[str] = field(default_factory=set)
    is_source: bool = True

    @property
    def holds_others(self) -> bool:
        """Whether the walk will meet something in it that is no source."""
        return bool(self.other_folders or self.copies or self.points)


Layout = dict[str, Shelf]


def lay_out(content: FilesByFolder, survey: Survey) -> Layout:
    """The folders of a room, those above others first.

    The snapshot comes first: a by-product where an older snapshot has a file stays out.
    """
    layout: Layout = {"": Shelf()}
    for path, files in content.items():
        _make(layout, path)
        layout[path].sources = files
    for path in (*survey.folders, *survey.shared, *survey.apart):
        if path in survey.apart_files:
            _add_point(layout, path)
        else:
            _add_folder(layout, path)
    for path, key in survey.copies.items():
        above, _, name = path.rpartition("/")
        if _make(layout, above) and name not in layout[above].sources:
            layout[above].copies[name] = key
    return dict(sorted(layout.items(), key=lambda item: item[0].count("/")))


def has_place(layout: Layout, path: str) -> bool:
    """Whether something can be bound there: no file of the snapshot is in the way."""
    above, _, name = path.rpartition("/")
    return path in layout or (above in layout and name in layout[above].points)


def _add_point(layout: Layout, path: str) -> None:
    above, _, name = path.rpartition("/")
    if _make(layout, above) and name not in layout[above].sources:
        layout[above].points.add(name)


def _add_folder(layout: Layout, path: str) -> None:
    """A folder that is no source; where the snapshot has one of this name, it is that one."""
    above, _, name = path.rpartition("/")
    if path not in layout and _make(layout, above) and name not in layout[above].sources:
        layout[above].other_folders.add(name)
        layout[path] = Shelf(is_source=False)


def _make(layout: Layout, path: str) -> bool:
    """Have a shelf for the folder and those above it; False where a file is in the way."""
    missing: list[str] = []
    while path not in layout:
        missing.append(path)
        path = path.rpartition("/")[0]
    for below in reversed(missing):
        above, _, name = below.rpartition("/")
        if name in layout[above].sources:
            return False
        layout[above].source_folders.add(name)
        layout[below] = Shelf()
    return True
