"""Files and folders that a text names as paths, and which of them a task plans.

calc.py, docs/spec.md, site/                          are paths: a known suffix, or a slash
json.loads, example.com, Node.js, 3.11, and/or        are none
https://a.example/b.html, me@a.py, `run me.py`        neither, nor what a code block or quote holds

A path that is not there when it is named is planned: it has to be there in the end. One that is
there already is only spoken of, whatever the words around it say. `index.html` is the one planned
path that ends so; where files that end so are there, or a folder is named, nobody knows which file
is meant and it plans nothing.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from signoff.domain.globs import has_wildcard
from signoff.domain.session import Artifact
from signoff.domain.text import escape
from signoff.toolbatch.disk import entries_below

LONGEST_READ = 200_000  # characters of a text that are looked at
LONGEST_PATH = 400
LONGEST_NAME_BYTES = 255
MOST_ENTRIES = 10_000  # of a workspace, among which a file that ends in a path is looked for

_KNOWN_SUFFIX = re.compile(
    r"html?|s?css|[mc]?js|tsx?|jsx|jsonl?|mdx?|rst|txt|pyi?|ipynb|rb|rs|go|java|kt|c|h|cc|[ch]pp|cs"
    r"|sh|bash|toml|ya?ml|ini|cfg|conf|xml|svg|csv|tsv|sql|php|vue|svelte|tex|pdf|png|jpe?g|gif|webp"
    r"|ico|proto|swift|scala|lua|jl|pl|ps1|bat|gradle|tf|docx|xlsx",
    re.IGNORECASE,
)
_WITHOUT_SUFFIX = frozenset({"Makefile", "Dockerfile", "Procfile", ".gitignore"})
_PRODUCTS = re.compile(
    r"(node|next|vue|nuxt|express|react|three|d3|chart|alpine|ember|angular|backbone|moment|p5"
    r"|nest|electron)\.js|(discord|web)\.py|docs\.rs|bun\.sh",
    re.IGNORECASE,
)
_HOST = re.compile(r"([\w-]+\.)+(com|org|net|io|dev|app|edu|gov|example|test|ai|co|uk|de)", re.I)
_WORD = re.compile(
    r"(?:\w[\w+.-]{0,30}://\S+|[\w.+-]{1,100}@[\w.-]+|\]\([^)\n]{0,400}\)|[\w.-]+:\d\S*)"
    r"|`(?P<ticked>[^`\n]{1,400})`|(?P<plain>[^\s`\"();,!?:<>|\[\]]+)"
)
_SUFFIX = re.compile(r".*[^./]\.([A-Za-z][A-Za-z0-9]{0,9})")
_NO_PATH = re.compile(r"[\s|<>;&()=@]|//|^[sy]/.*/$")  # `s/a/b/` is for sed
_FENCED = re.compile(r"^\s*(```|~~~).*?(^\s*\1|\Z)|^\s*>.*?$", re.MULTILINE | re.DOTALL)


def artifact_of(path: str) -> Artifact | None:
    """A path as an artifact; None for a pattern, and for what hides something or lies outside."""
    hidden = escape(path) != path or path != path.strip() or any(c in path for c in "\n\t\\")
    outside = path.startswith(("/", "~")) or not {"..", ".git"}.isdisjoint(path.split("/"))
    if hidden or outside or has_wildcard(path) or "{" in path or "$" in path:
        return None
    parts = [part for part in path.split("/") if part not in ("", ".")]
    too_long = len(path) > LONGEST_PATH or any(len(p.encode()) > LONGEST_NAME_BYTES for p in parts)
    return Artifact("/".join(parts), path.endswith("/")) if parts and not too_long else None


def declared(paths: Iterable[str]) -> tuple[Artifact, ...]:
    """Paths as artifacts, each once; those that cannot be any are left out."""
    found: dict[str, Artifact] = {}
    for artifact in filter(None, map(artifact_of, paths)):
        found.setdefault(artifact.path, artifact)
    return tuple(found.values())


def paths_in(text: str) -> Iterator[str]:
    """Everything in a text that is written as the path of a file or folder, in its order."""
    for word in _WORD.finditer(_FENCED.sub("", text[:LONGEST_READ])):
        plain = (word["plain"] or "").strip("'’*").rstrip(".'’-*")
        named = (word["ticked"] or plain).strip()
        if named and _is_path(named):
            yield named


def planned_in(
    text: str, root: Path, planned: Sequence[Artifact] = (), touched: Sequence[str] = ()
) -> tuple[Artifact, ...]:
    """Artifacts that one text plans, as `planned_by` says."""
    return planned_by((text,), root, planned, touched)[0]


def planned_by(
    texts: Sequence[str], root: Path, planned: Sequence[Artifact] = (), touched: Sequence[str] = ()
) -> list[tuple[Artifact, ...]]:
    """Artifacts that each text is about: of those planned already, and new ones.

    `touched` are files that this task changed: one that is not there any more was removed.
    """
    named = [declared(p.removeprefix(f"{root}/") for p in paths_in(t)) for t in texts]
    known = {a.path: a for group in (planned, *named) for a in group}
    earlier = {a.path: a for a in planned}
    unplanned = [path for path in known if path not in earlier]
    spoken_of = _ends_there(root, unplanned) | _ends_of(unplanned, touched)
    in_folders = any(artifact.directory for artifact in known.values())
    alike: dict[str, list[str]] = {}
    for path in known:
        alike.setdefault(posixpath.basename(path), []).append(path)

    def meant(one: Artifact) -> Artifact | None:
        same_name = alike[posixpath.basename(one.path)]
        longer = [path for path in same_name if path.endswith(f"/{one.path}")]
        bare = not one.directory and "/" not in one.path
        if one.path in earlier:
            return earlier[one.path]
        if longer:
            return known[longer[0]] if len(longer) == 1 and longer[0] not in spoken_of else None
        return None if one.path in spoken_of or (bare and in_folders) else one

    return [tuple(dict.fromkeys(filter(None, map(meant, group)))) for group in named]


def _is_path(word: str) -> bool:
    name = word.rstrip("/").rpartition("/")[2]
    if not name.strip(".") or _NO_PATH.search(word) or _PRODUCTS.fullmatch(word):
        return False
    if _HOST.fullmatch(word.partition("/")[0]):
        return False
    if word.endswith("/") or name in _WITHOUT_SUFFIX:
        return len(word) > len("w/")
    suffix = _SUFFIX.fullmatch(name)
    if suffix is None:
        return False
    return bool(_KNOWN_SUFFIX.fullmatch(suffix[1])) or ("/" in word and suffix[1].islower())


def _ends_of(paths: Sequence[str], longer: Sequence[str]) -> frozenset[str]:
    """Paths that are one of the longer ones, or the end of one."""
    whole = tuple(f"/{path}" for path in longer)
    return frozenset(p for p in paths if any(one.endswith(f"/{p}") for one in whole))


def _ends_there(root: Path, paths: Sequence[str]) -> frozenset[str]:
    """Paths at which something is, or that something in the workspace ends in.

    In a workspace with too much in it nobody can tell, and a bare name counts as found.
    """
    there = {path for path in paths if os.path.lexists(root / path)}
    wanted = [path for path in paths if path not in there]
    if not wanted:
        return frozenset(there)
    names = {posixpath.basename(path) for path in wanted}
    below = [path.rstrip("/") for path in entries_below(root, MOST_ENTRIES)]
    there |= _ends_of(wanted, [path for path in below if posixpath.basename(path) in names])
    crowded = len(below) >= MOST_ENTRIES
    return frozenset(there | {path for path in wanted if crowded and "/" not in path})
