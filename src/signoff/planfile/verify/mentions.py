"""Files that a step's own words name: by path, by name, by pattern. Prose is not understood."""

from __future__ import annotations

import re
from collections.abc import Iterator

from signoff.domain.globs import matches
from signoff.domain.plan import Step

# In a line with one of these a file is named so that nobody changes it.
FORBIDS = re.compile(r"\b(?:not|never|without|leave|keep|nor)\b|n't\b", re.IGNORECASE)
_GLOB = re.compile(r"(?<![\w*])[\w./-]*[*?][\w./*?-]*(?<![.,;:])")
_PATH = re.compile(r"(?<![\w./:*-])(?:\./)?(?:[\w-][\w.-]*/)+[\w.-]*\.\w+(?![\w/*])")
_NAME = re.compile(r"(?<![\w./:*-])(?:\./)?[\w-]*\.[\w.-]*\w(?![\w/*])")
_CODE = re.compile(r"`([\w./-]+)`")


def speaks_of(step: Step, path: str) -> bool:
    """Whether title or task name the file: by path, own name, a pattern, or its stem in backticks.

    The stem of a module counts as `pkg.module` too.
    """
    text = f"{step.title}\n{step.task}"
    if _names(text, path) or any(matches(glob, path) for glob in _globs(text)):
        return True
    stem = path.rpartition(".")[0] if "." in path.rpartition("/")[2] else path
    names = {stem, stem.rpartition("/")[2], stem.replace("/", ".")}
    names.add(stem.partition("/")[2].replace("/", "."))
    return "`" in text and any(name in names for name in _CODE.findall(text))


def names_for_change(step: Step, path: str) -> bool:
    """Whether title or task name the file, by path or own name, in a line that forbids nothing."""
    return _names(_allowing(step), path)


def names_folder_of(step: Step, path: str) -> str:
    """The innermost folder above the file that such a line names with a slash; empty if none."""
    text, folder = _allowing(step), path.rpartition("/")[0]
    while folder:
        if re.search(rf"(?<![\w./-])(?:\./)?{re.escape(folder)}/(?![\w*]|\.\w)", text):
            return folder
        folder = folder.rpartition("/")[0]
    return ""


def paths_named(step: Step) -> tuple[str, ...]:
    """Files in folders, as title and task spell them."""
    text = f"{step.title}\n{step.task}"
    found = _PATH.findall(text) if "/" in text else ()
    return tuple(dict.fromkeys(path.removeprefix("./") for path in found))


def files_named(step: Step) -> tuple[str, ...]:
    """Paths, names with a dot and names in backticks, in lines that forbid nothing."""
    text = _allowing(step)
    names = [*_NAME.findall(text), *_CODE.findall(text), *_PATH.findall(text)]
    return tuple(dict.fromkeys(name.removeprefix("./") for name in names))


def _allowing(step: Step) -> str:
    lines = (step.title, *step.task.split("\n"))
    return "\n".join(line for line in lines if not FORBIDS.search(line))


def _names(text: str, path: str) -> bool:
    own_name = path.rpartition("/")[2]
    if own_name not in text:
        return False  # told without compiling anything, as for most of ten thousand steps
    names = "|".join(re.escape(name) for name in (path, own_name))
    return re.search(rf"(?<![\w./-])(?:\./)?(?:{names})(?![\w/-]|\.\w)", text) is not None


def _globs(text: str) -> Iterator[str]:
    for found in _GLOB.findall(text) if "*" in text or "?" in text else ():
        glob = found.removeprefix("./")
        if "/" in glob.strip("*") or "." in glob:
            yield glob
