"""What a step's own words say about a file: that they speak of it, and what is to become of it."""

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
# In front of a file's name these say that it is looked at.
_LOOKED_AT = frozenset(
    (
        *("match", "matches", "matching", "equal", "equals", "against", "with", "like", "as"),
        *("than", "from", "what", "see", "read", "per", "by", "following", "use", "using"),
        *("compare", "check", "how"),
    )
)
_GONE_THROUGH = _LOOKED_AT | {"in", "of", "on", "through", "over"}
_SAME_TO = frozenset(("equal", "identical", "according", "compared", "equivalent", "similar"))
_LAST_WORDS = re.compile(r"(?:(\w+)\W+)?(\w+)[^\w.!?]*$")
_FILLERS = re.compile(r"\b(?:the|file|list)\b", re.IGNORECASE)


def speaks_of(step: Step, path: str) -> bool:
    """Whether title or task name the file: by path, own name, a pattern, or its stem in backticks.

    The stem of a module counts as `pkg.module` too.
    """
    text = _words_of(step)
    if next(_mentions(text, path), None) is not None:
        return True
    if any(matches(glob, path) for glob in _globs(text)):
        return True
    stem = path.rpartition(".")[0] if "." in path.rpartition("/")[2] else path
    names = {stem, stem.rpartition("/")[2], stem.replace("/", ".")}
    names.add(stem.partition("/")[2].replace("/", "."))
    return "`" in text and any(name in names for name in _CODE.findall(text))


def says_to_change(step: Step, path: str, *, of_list: bool) -> bool:
    """Whether title or task name the file otherwise than as something to look at."""
    text = _words_of(step)
    looked_at = _GONE_THROUGH if of_list else _LOOKED_AT
    return any(not _is_looked_at(text[:start], looked_at) for start in _mentions(text, path))


def names_folder_of(step: Step, path: str) -> str:
    """The innermost folder above the file that title or task name with a slash; empty if none."""
    text = "\n".join(line for line in _words_of(step).split("\n") if not FORBIDS.search(line))
    folder = path.rpartition("/")[0]
    while folder:
        if f"{folder}/" in text:
            named = re.search(rf"(?<![\w./-])(?:\./)?{re.escape(folder)}/(?![\w*]|\.\w)", text)
            if named and not _is_looked_at(text[: named.start()], _LOOKED_AT):
                return folder
        folder = folder.rpartition("/")[0]
    return ""


def paths_named(step: Step) -> tuple[str, ...]:
    """Files in folders, as title and task spell them."""
    text = _words_of(step)
    found = _PATH.findall(text) if "/" in text else ()
    return tuple(dict.fromkeys(path.removeprefix("./") for path in found))


def files_named(step: Step) -> tuple[str, ...]:
    """Paths, names with a dot and names in backticks, in lines that forbid nothing."""
    text = "\n".join(line for line in _words_of(step).split("\n") if not FORBIDS.search(line))
    names = [*_NAME.findall(text), *_CODE.findall(text), *_PATH.findall(text)]
    return tuple(dict.fromkeys(name.removeprefix("./") for name in names))


def _words_of(step: Step) -> str:
    return f"{step.title}\n{step.task}"


def _mentions(text: str, path: str) -> Iterator[int]:
    own_name = path.rpartition("/")[2]
    if own_name not in text:
        return  # told without compiling anything, as for most of ten thousand steps
    names = "|".join(re.escape(name) for name in (path, own_name))
    for found in re.finditer(rf"(?<![\w./-])(?:\./)?(?:{names})(?![\w/-]|\.\w)", text):
        yield found.start()


def _globs(text: str) -> list[str]:
    if "*" not in text and "?" not in text:
        return []
    found = (glob.removeprefix("./") for glob in _GLOB.findall(text))
    return [glob for glob in found if "/" in glob.strip("*") or "." in glob]


def _is_looked_at(before: str, looked_at: frozenset[str]) -> bool:
    line = _FILLERS.sub(" ", before.rpartition("\n")[2])
    words = _LAST_WORDS.search(line)
    if words is None:
        return False
    last = words[2].casefold()
    return last in looked_at or (last == "to" and (words[1] or "").casefold() in _SAME_TO)
