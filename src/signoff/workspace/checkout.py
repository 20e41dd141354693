"""The checkout around a path, on plain text: what must answer at once starts here.

Found by looking at paths; git itself is not asked, and no object is made for a path.
"""

from __future__ import annotations

import os
from stat import S_ISREG

_POINTER_BYTES = 16 * 1024


def find_checkout(start: str | os.PathLike[str]) -> tuple[str, str] | None:
    """The nearest checkout around `start`, and the main one of its repository."""
    folder = os.path.realpath(start)
    while True:
        dot_git = os.path.join(folder, ".git")
        if os.path.isdir(dot_git):
            return folder, folder
        if os.path.isfile(dot_git):
            return folder, _main_checkout(folder, dot_git)
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def is_git_directory(path: str | os.PathLike[str]) -> bool:
    """True for a repository itself, as a bare one is, by the entries that git looks for."""
    folders = all(os.path.isdir(os.path.join(path, name)) for name in ("objects", "refs"))
    return folders and os.path.lexists(os.path.join(path, "HEAD"))


def bare_repository_around(start: str | os.PathLike[str]) -> str | None:
    """The bare repository in which a path outside any checkout lies."""
    folder = os.path.realpath(start)
    while not is_git_directory(folder):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return folder


def _main_checkout(top: str, dot_git: str) -> str:
    """The main checkout of a linked worktree; `top` itself for a submodule or anything odd.

    Both ends must name each other: a `.git` file alone, which an agent can write, does not
    make a folder part of another repository.
    """
    pointer = read_pointer(dot_git)
    if pointer is None or not pointer.startswith("gitdir:"):
        return top
    git_dir = _resolve(top, pointer.removeprefix("gitdir:").strip())
    common = read_pointer(os.path.join(git_dir, "commondir"))
    back = read_pointer(os.path.join(git_dir, "gitdir"))
    if common is None or back is None or _resolve(git_dir, back) != dot_git:
        return top
    common_dir = _resolve(git_dir, common)
    if os.path.dirname(git_dir) != os.path.join(common_dir, "worktrees"):
        return top
    return os.path.dirname(common_dir) if os.path.basename(common_dir) == ".git" else common_dir


def read_pointer(path: str | os.PathLike[str]) -> str | None:
    """The path in a one-line file such as `gitdir`; None when there is no such file."""
    data = read_small(path, _POINTER_BYTES)
    return None if data is None else os.fsdecode(data).strip()


def read_small(path: str | os.PathLike[str], most: int) -> bytes | None:
    """A small regular file, not through a link; None for anything else, never waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        state = os.fstat(descriptor)
        if not S_ISREG(state.st_mode) or state.st_size > most:
            return None
        return os.read(descriptor, most + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _resolve(base: str, target: str) -> str:
    return os.path.realpath(os.path.join(base, target))
