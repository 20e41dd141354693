"""Where plans are kept, by looking at paths, variables and the user's own file only.

Light on purpose: what must answer at once (`resolve-active-plan`, `session-start`) starts here.
"""

from __future__ import annotations

import os
from collections import namedtuple

from signoff.domain.names import path_component
from signoff.errors import ConfigInvalid, VaultClash
from signoff.places import as_path, user_choice, user_file
from signoff.workspace.checkout import (
    bare_repository_around,
    find_checkout,
    is_git_directory,
    read_small,
)

# Not `typing.TYPE_CHECKING`: loading `typing` and `pathlib` takes longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

VAULT_FOLDER = ".harness"
SHARED_VAULT_FOLDER = "_harness"
STAGED_FOLDER = "queued-plans"  # in the vault: plans that wait to be activated
VAULT_VARIABLE = "SIGNOFF_VAULT"
PROJECT_VARIABLE = "SIGNOFF_PROJECT"
OWNERS_FILE = ".repositories"
_OWNERS_BYTES = 256 * 1024


class VaultPlace(namedtuple("VaultPlace", ("at", "top", "main", "shared"))):
    """The vault around a folder, on plain text: `top` is the checkout there, `main` its main one.

    The same as paths, for who can afford to make them: `folder`, `worktree`, `repository`.
    """

    __slots__ = ()
    at: str
    top: str
    main: str | None
    shared: bool

    @property
    def owner(self) -> str:
        """Whose plans these are: the repository's, else the folder's own."""
        return self.main or self.top

    @property
    def folder(self) -> Path:
        """Where the plans are."""
        return as_path(self.at)

    @property
    def worktree(self) -> Path:
        """The checkout we are in, or the folder where there is none."""
        return as_path(self.top)

    @property
    def repository(self) -> Path | None:
        """The main checkout."""
        return None if self.main is None else as_path(self.main)


def find_vault(cwd: str | os.PathLike[str], environ: Mapping[str, str]) -> VaultPlace:
    """The main checkout's vault, else the current folder's; VaultClash if it is another's."""
    checkout = find_checkout(cwd)
    if checkout is None and (bare := bare_repository_around(cwd)) is not None:
        checkout = (bare, bare)  # the plans of its worktrees are kept there
    top, main = checkout or (os.path.realpath(cwd),) * 2
    base = _shared_vault(environ)
    owner = main if checkout else None
    if base is None:
        return VaultPlace(os.path.join(main, VAULT_FOLDER), top, owner, shared=False)
    folder = os.path.join(base, _project(main, environ), SHARED_VAULT_FOLDER)
    place = VaultPlace(folder, top, owner, shared=True)
    refuse_clash(place)
    return place


def repository_of_vault(folder: Path) -> Path | None:
    """The main checkout whose plans this folder holds; None if it is no repository's vault."""
    if folder.name == VAULT_FOLDER:
        if is_git_directory(folder.parent):
            return folder.parent  # a bare repository keeps the plans of its worktrees
        checkout = find_checkout(folder.parent)
        return as_path(checkout[1]) if checkout and checkout[0] == str(folder.parent) else None
    if folder.name == SHARED_VAULT_FOLDER:
        living = _living(owners(folder))
        only = living[0] if len(living) == 1 else None
        return as_path(only) if only is not None and _is_repository(only) else None
    return None


def owners(folder: str | os.PathLike[str]) -> tuple[str, ...]:
    """The places of this machine that said they keep their plans in this shared folder."""
    data = read_small(os.path.join(folder, OWNERS_FILE), _OWNERS_BYTES) or b""
    lines = (os.fsdecode(line).split("\t", 1) for line in data.split(b"\n") if b"\t" in line)
    return tuple(path for host, path in lines if host == os.uname().nodename)


def refuse_clash(place: VaultPlace) -> None:
    """Two repositories of the same name must not read each other's plans as their own."""
    known = owners(place.at)
    if place.owner in known:
        return
    living = _living(known)
    if living:
        raise VaultClash(
            f"`{place.at}` holds the plans of `{living[0]}`, not of `{place.owner}`",
            facts={"folder": place.at, "owner": living[0]},
        )


def _living(places: tuple[str, ...]) -> list[str]:
    return [path for path in places if os.path.isdir(path)]


def _is_repository(path: str) -> bool:
    return os.path.exists(os.path.join(path, ".git")) or is_git_directory(path)


def _shared_vault(environ: Mapping[str, str]) -> str | None:
    chosen = environ.get(VAULT_VARIABLE)
    where = VAULT_VARIABLE
    if not chosen:
        chosen = user_choice(environ, "vault")
        if not chosen:
            return None
        where = f"`vault` in `{user_file(environ)}`"
    if not isinstance(chosen, str):
        raise ConfigInvalid(f"{where} must be a text")
    path = os.path.expanduser(chosen)
    if not os.path.isabs(path):
        raise ConfigInvalid(
            f"{where} is `{chosen}`, which is another folder wherever you are",
            "name the shared vault by its absolute path",
        )
    return path


def _project(main: str, environ: Mapping[str, str]) -> str:
    """The folder of this repository in a shared vault; only the user may choose another."""
    named = environ.get(PROJECT_VARIABLE)
    if not named:
        projects = user_choice(environ, "projects")
        named = projects.get(main) if isinstance(projects, dict) else None
    if named is None:
        return os.path.basename(main)
    try:
        return path_component(str(named), "project name")
    except ValueError as error:
        raise ConfigInvalid(
            f"the project name `{named}` is no folder name", "choose letters, digits and dashes"
        ) from error
