"""Which plan a file is: by repository and name in a vault, by its real path anywhere else."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from signoff.domain.digests import digest_bytes, digest_of
from signoff.domain.names import name_of_file
from signoff.errors import PlanConflict
from signoff.storage.files import read_plan_file, swap_file
from signoff.storage.ledger import Ledger
from signoff.storage.location import (
    OWNERS_FILE,
    SHARED_VAULT_FOLDER,
    VaultPlace,
    refuse_clash,
    repository_of_vault,
)
from signoff.storage.records import PlanRecord
from signoff.storage.vault import Vault

_ID_DIGITS = 16


def plan_identity(plan_path: Path, here: VaultPlace | None = None) -> PlanRecord:
    """Repository and name for a plan in a repository's vault, else its real path.

    `here` is the vault around the caller: a shared one may not know its repository yet.
    """
    real = Path(os.path.realpath(plan_path))
    name = name_of_file(real.name)
    repository = repository_of_vault(real.parent) if name is not None else None
    if here is not None and here.shared and real.parent == Path(os.path.realpath(here.folder)):
        repository = here.repository
    if repository is not None and name is not None:
        main = str(repository)
        return PlanRecord(_short_id("vault", main, name), name, str(real), main)
    # The name is for people; the identity keeps the exact bytes of the path.
    shown = os.fsencode(real.stem).decode("utf-8", "replace")
    return PlanRecord(_short_id("file", str(real)), shown, str(real), None)


def remember_plan(ledger: Ledger, record: PlanRecord) -> None:
    """Note in the ledger where a plan lives, and in a shared vault whose plans these are."""
    folder = Path(record.path).parent
    if record.repository is not None and folder.name == SHARED_VAULT_FOLDER:
        own_shared_vault(folder, Path(record.repository))
    ledger.register_plan(record)


def own_vault(place: VaultPlace) -> None:
    """Before the first write into a shared vault: say whose it is, or VaultClash."""
    if place.shared:
        Vault(place.folder).create()
        own_shared_vault(place.folder, Path(place.owner))


def own_shared_vault(folder: Path, owner: Path) -> None:
    """Say that this repository keeps its plans here, so that no other takes them for its own.

    Other machines that share the folder have paths of their own; their lines stay.
    """
    path = folder / OWNERS_FILE
    host = os.fsencode(os.uname().nodename)
    mine = host + b"\t" + os.fsencode(owner)
    while True:
        before = read_plan_file(path, follow=False) if path.exists() else None
        # After that look: whoever comes in between is refused by the swap, and seen next time.
        refuse_clash(VaultPlace(str(folder), str(owner), str(owner), shared=True))
        lines = before.split(b"\n") if before else []
        if mine in lines:
            return
        kept = [line for line in lines if line and not line.startswith(host + b"\t")]
        text = b"\n".join([*kept, mine]) + b"\n"
        with suppress(PlanConflict):
            swap_file(path, None if before is None else digest_bytes(before), text)
            return


def _short_id(*parts: str) -> str:
    return digest_of(list(parts))[:_ID_DIGITS]
