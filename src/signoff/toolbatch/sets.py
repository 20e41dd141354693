"""Declared sets of pages: what belongs to one, what is beyond it, which planned file is nearest."""

from __future__ import annotations

import difflib
import posixpath

from signoff.gate.task import Task
from signoff.toolbatch.view import View

# They tell what else there is: written first or last, they are not the work itself.
SUMMARIES = frozenset({"index", "readme"})
# Kinds of files that make a set which somebody declares.
PAGES = frozenset((".html", ".htm", ".md", ".rst", ".adoc", ".tex"))
_A_SET = 2  # of one kind in one folder: from here on, another one is one too many
_LIKENESS = 0.6


def declared(view: View, path: str) -> bool:
    """Whether a path is a planned artifact or lies in a planned folder."""
    return any(
        path == a.path or (a.directory and path.startswith(f"{a.path}/")) for a in view.task.planned
    )


def is_summary(path: str) -> bool:
    """Whether a file only tells about others: an index or a readme."""
    return posixpath.basename(path).lower().partition(".")[0] in SUMMARIES


def root_page(view: View) -> str:
    """The file that tells what else there is, the one nearest to the root."""
    paths = [a.path for a in view.task.planned if not a.directory and is_summary(a.path)]
    return min(paths, key=lambda p: (p.count("/"), p), default="")


def beyond_the_set(view: View, path: str) -> bool:
    """Whether pages of its kind are declared beside it, and it is not.

    Code grows helpers wherever it likes; only where readers go from page to page one more matters.
    """
    if posixpath.splitext(path)[1].lower() not in PAGES or is_summary(path):
        return False
    return not promised(view.task, path) and of_a_set(view.task, path)


def promised(task: Task, path: str) -> bool:
    """Whether it is planned, or lies in a planned folder of which no file is planned."""
    files = {str(a) for a in task.planned if not a.directory}
    folders = [str(a) for a in task.planned if a.directory]
    open_ones = [f for f in folders if not any(file.startswith(f) for file in files)]
    return path in files or f"{path}/" in folders or path.startswith(tuple(open_ones))


def of_a_set(task: Task, path: str) -> bool:
    """Whether files of its kind are declared beside it."""
    files = (a.path for a in task.planned if not a.directory)
    return sum(_alike(file, path) for file in files) >= _A_SET


def nearest(view: View, path: str) -> str:
    """What is missing in the same folder and named so much alike that it may have been meant."""
    open_ones = (a.path for a in view.missing if not a.directory)
    names = {_stem(other): other for other in open_ones if _alike(other, path)}
    close = difflib.get_close_matches(_stem(path), names, n=1, cutoff=_LIKENESS)
    return names[close[0]] if close else ""


def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]


def _alike(path: str, other: str) -> bool:
    same_folder = posixpath.dirname(path) == posixpath.dirname(other)
    same_kind = posixpath.splitext(path)[1] == posixpath.splitext(other)[1]
    return same_folder and same_kind and not is_summary(path)
