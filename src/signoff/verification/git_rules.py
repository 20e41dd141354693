"""What git's own folder tells tools that honour ignore rules: pinned, compared when judged.

Commits, branches, remotes and all other configuration are not looked at.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from signoff.domain.digests import digest_of
from signoff.domain.globs import matches_any
from signoff.planfile.verify.subjects import is_plain
from signoff.storage.active import MARKER_RULE
from signoff.verification.pins import Pins
from signoff.verification.protection import Guard, Tampering, file_of
from signoff.workspace.checkout import find_checkout, read_small
from signoff.workspace.gitfolders import ignore_settings

_MOST_BYTES = 1 << 20
_FILES = ("info/exclude", "info/attributes")
_CONFIG = "config"


def git_rules(root: Path) -> dict[str, str]:
    """Name → digest of every rule that the checkout's git folder adds to the content's own."""
    found = find_checkout(root)
    if found is None:
        return {}
    main = Path(found[1])
    folder = main / ".git" if (main / ".git").is_dir() else main
    rules = {name: _lines(folder / name) for name in _FILES}
    config = read_small(folder / _CONFIG, _MOST_BYTES) or b""
    for name, values in ignore_settings(config.decode("utf-8", "replace")).items():
        rules[f"{_CONFIG}#{name}"] = [part for v in values for part in (v, *_named(folder, v))]
    return {f".git/{name}": digest_of(lines) for name, lines in rules.items() if lines}


def changed_git_rules(
    pins: Pins, root: Path, guard: Guard, texts: Callable[[], Iterable[str]]
) -> tuple[Tampering, ...]:
    """The rules that differ from the approved ones, unless the plan lets them change.

    A check that runs plain tools alone, by all its texts, obeys none of them.
    """
    pinned = pins.git_rules
    if pinned is None or pins.workspace != str(root):
        return ()
    now = git_rules(root)
    if now == pinned or all(map(is_plain, texts())):
        return ()
    names = sorted(n for n in pinned.keys() | now.keys() if pinned.get(n) != now.get(n))
    return tuple(
        Tampering(name, "what git lets tools pass over was changed", unasked=True)
        for name in names
        if not matches_any(guard.may_change, file_of(name))
    )


def _lines(place: Path) -> list[str]:
    """What a file says, without comments; a file that cannot be read says something as well."""
    data = read_small(place, _MOST_BYTES)
    if data is None:
        return ["unreadable"] if os.path.lexists(place) else []
    lines = (line.rstrip("\r") for line in data.decode("utf-8", "replace").split("\n"))
    return [x for x in lines if x.strip() and not x.startswith("#") and x != MARKER_RULE]


def _named(folder: Path, path: str) -> list[str]:
    """What a file says that the configuration names."""
    return _lines(folder / os.path.expanduser(path))  # noqa: PTH111 - joins to an absolute path
