"""Held-out checks: contracts that the agent never sees, kept outside every workspace.

A check is a folder `heldout/NAME/` in the home folder with a file `contract` (the command) and
whatever files it needs; the command finds them through `$SIGNOFF_HELDOUT_DIR`. With a file
`product` beside it (a command too) the harness runs that first, and the check gets what it printed.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.digests import digest_bytes, digest_of
from signoff.domain.plan import Contract
from signoff.domain.verdict import Ending, HeldOutKind, Observation, Reason, Result
from signoff.errors import ConfigInvalid
from signoff.verification.counting.verbose import tools_called
from signoff.verification.verdicts import UnboundVerdict, compare

FOLDER_VARIABLE = "SIGNOFF_HELDOUT_DIR"
CONTRACT_FILE = "contract"
PRODUCT_FILE = "product"
OUTPUT_FILE = "output"  # what the product printed, beside the check's own files
_LARGEST_BYTES = 50_000_000
_SIGNALS = 128
# A product that hangs or crashes does that to the check it runs in.
_BY_THE_PRODUCT = frozenset({Reason.TIMED_OUT, Reason.SIGNALLED})
REFUSED = UnboundVerdict(Result.BROKEN, Reason.HELD_OUT, "a held-out check did not hold")
# Internal error, wrong usage, no tests; a module that cannot be imported (2) is the product's.
_UNABLE = {"pytest": frozenset({3, 4, 5}), "unittest": frozenset({5})}
_NO_SCRIPT, _CANNOT_OPEN = 2, b": can't open file "  # of the Python interpreter


class HeldOut(Struct, frozen=True):
    """One check as it lies in the home folder now."""

    name: str
    folder: Path
    command: str
    digest: str
    product: str | None = None  # the command whose output is checked, where that is all it sees

    @property
    def kind(self) -> HeldOutKind:
        """Kind of the check: with or without a product that runs apart."""
        return HeldOutKind.IN_PROCESS if self.product is None else HeldOutKind.SEPARATE

    def as_contract(self, visible: Contract) -> Contract:
        """The check as the visible contract runs, but without network: nothing of it may leave."""
        return replace(visible, command=self.command, expectations=(), heldout=None, network=False)


class HeldOutChecks(Struct, frozen=True):
    """Every held-out check of a user."""

    folder: Path

    def find(self, name: str) -> HeldOut:
        """The check of this name; its digest covers the command and every file beside it."""
        place = self.folder / name
        if not place.resolve().is_relative_to(self.folder.resolve()):
            raise ConfigInvalid(f"held-out check `{name}` does not lie in `{self.folder}`")
        command = _command(name, place / CONTRACT_FILE)
        separate = os.path.lexists(place / PRODUCT_FILE)
        product = _command(name, place / PRODUCT_FILE) if separate else None
        # The kind is pinned with it: the same files may once have been a check of the other one.
        digest = _digest(place)
        return HeldOut(name, place, command, f"separate:{digest}" if separate else digest, product)


def _command(name: str, path: Path) -> str:
    try:
        command = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigInvalid(
            f"held-out check `{name}` has no readable `{path.name}`: {error}",
            f"write the command into {path}",
        ) from None
    if not command.strip():
        raise ConfigInvalid(f"`{path.name}` of held-out check `{name}` is empty", f"edit {path}")
    return command


def answer_of(check: Contract, observation: Observation) -> UnboundVerdict:
    """The check's verdict on the work; unknown where the check itself did not work."""
    answer = compare(check, observation)
    code = observation.exit_code or 0
    if answer.result is Result.UNKNOWN:
        reason = answer.reason if answer.reason in _BY_THE_PRODUCT else Reason.INFRASTRUCTURE
        return answer._replace(reason=reason)
    if code > _SIGNALS:  # what a shell makes of a signal
        return UnboundVerdict(
            Result.UNKNOWN, Reason.SIGNALLED, f"killed by signal {code - _SIGNALS}"
        )
    if _is_unable(check.command, code, observation):
        return UnboundVerdict(Result.UNKNOWN, Reason.INFRASTRUCTURE, f"exit code {code}")
    if answer.result is Result.BROKEN:
        return REFUSED
    return answer


def failing_product(product: Contract, seen: Observation) -> UnboundVerdict | None:
    """The answer when the product itself came to no good end; None when its output decides."""
    answer = compare(product, seen)
    if answer.result is Result.KEPT:
        return None
    if seen.ending is Ending.NOT_STARTED:
        return answer
    return answer if answer.reason in _BY_THE_PRODUCT else REFUSED


def _is_unable(command: str, code: int, observation: Observation) -> bool:
    """True when the program that checks says that it could not."""
    if code == _NO_SCRIPT and _CANNOT_OPEN in observation.stderr.kept:
        return True
    return any(code in _UNABLE.get(tool, ()) for tool in tools_called(command))


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
            if not (stat.S_ISREG(state.st_mode) or stat.S_ISLNK(state.st_mode)):
                raise ConfigInvalid(f"`{path}` is neither a file nor a link")
            content = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
            files[str(path.relative_to(folder))] = f"{state.st_mode:o}:{digest_bytes(content)}"
    return digest_of(files)
