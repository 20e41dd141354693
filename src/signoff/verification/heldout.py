"""Held-out checks: contracts that the agent never sees, kept outside every workspace.

A check is a folder `heldout/NAME/` in the home folder with a file `contract` (the command) and
whatever files it needs; the command finds them through `$SIGNOFF_HELDOUT_DIR`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from signoff.domain.digests import digest_bytes, digest_of
from signoff.domain.plan import Contract
from signoff.errors import ConfigInvalid

FOLDER_VARIABLE = "SIGNOFF_HELDOUT_DIR"
CONTRACT_FILE = "contract"
_LARGEST_BYTES = 50_000_000


@dataclass(frozen=True)
class HeldOut:
    """One check as it lies in the home folder now."""

    name: str
    folder: Path
    command: str
    digest: str

    def as_contract(self, visible: Contract) -> Contract:
        """The check under the conditions of the visible contract it stands behind."""
        return replace(visible, command=self.command, expectations=(), heldout=None)


@dataclass(frozen=True)
class HeldOutChecks:
    """Every held-out check of a user."""

    folder: Path

    def find(self, name: str) -> HeldOut:
        """The check of this name; its digest covers the command and every file beside it."""
        place = self.folder / name
        if not place.resolve().is_relative_to(self.folder.resolve()):
            raise ConfigInvalid(f"held-out check `{name}` does not lie in `{self.folder}`")
        try:
            command = (place / CONTRACT_FILE).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigInvalid(
                f"held-out check `{name}` has no readable `{CONTRACT_FILE}`: {error}",
                f"write the command into {place / CONTRACT_FILE}",
            ) from None
        if not command.strip():
            raise ConfigInvalid(
                f"held-out check `{name}` is empty", f"edit {place / CONTRACT_FILE}"
            )
        return HeldOut(name, place, command, _digest(place))


def _digest(folder: Path) -> str:
    files: dict[str, str] = {}
    total = 0
    for here, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(here) / name
            state = path.lstat()
            total += state.st_size
            if total > _LARGEST_BYTES:
                raise ConfigInvalid(f"`{folder}` is larger than {_LARGEST_BYTES} bytes")
            content = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
            files[str(path.relative_to(folder))] = f"{state.st_mode:o}:{digest_bytes(content)}"
    return digest_of(files)
