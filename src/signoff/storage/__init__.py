"""What lasts: the ledger, the vault of plan files, locks, receipts, and the home folder.

What makes and checks proofs is loaded when it is first asked for: most commands do without, and
it takes longer to load than they take to run.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from signoff.storage.chain import check_entries, entry_line, read_entry_line
from signoff.storage.database import DEFAULT_BUSY_TIMEOUT_S, open_database, sqlite_path, sqlite_url
from signoff.storage.engine import Database
from signoff.storage.failures import StorageCause
from signoff.storage.files import (
    MAX_PLAN_BYTES,
    append_line,
    durable_replace,
    read_plan_file,
    swap_file,
)
from signoff.storage.home import Home, resolve_home
from signoff.storage.identity import VAULT_FOLDER, Repository, find_repository, plan_identity
from signoff.storage.ledger import Ledger
from signoff.storage.locks import hold, holders, wait_for
from signoff.storage.records import ChainReport, Fence, Holder, PlanRecord, RunRecord
from signoff.storage.vault import PlanText, Vault, plan_slug

if TYPE_CHECKING:
    from signoff.storage.anchors import note_in_git, read_anchors
    from signoff.storage.archive import MAX_BUNDLE_BYTES, pack, unpack
    from signoff.storage.keys import (
        PublicKey,
        SigningKey,
        own_public_key,
        read_public_key,
        signing_key,
    )
    from signoff.storage.receipts import (
        MAX_RECEIPT_BYTES,
        ReceiptStore,
        Sealed,
        open_sealed,
        seal,
    )

__all__ = [
    "DEFAULT_BUSY_TIMEOUT_S",
    "MAX_BUNDLE_BYTES",
    "MAX_PLAN_BYTES",
    "MAX_RECEIPT_BYTES",
    "VAULT_FOLDER",
    "ChainReport",
    "Database",
    "Fence",
    "Holder",
    "Home",
    "Ledger",
    "PlanRecord",
    "PlanText",
    "PublicKey",
    "ReceiptStore",
    "Repository",
    "RunRecord",
    "Sealed",
    "SigningKey",
    "StorageCause",
    "Vault",
    "append_line",
    "check_entries",
    "durable_replace",
    "entry_line",
    "find_repository",
    "hold",
    "holders",
    "note_in_git",
    "open_database",
    "open_sealed",
    "own_public_key",
    "pack",
    "plan_identity",
    "plan_slug",
    "read_anchors",
    "read_entry_line",
    "read_plan_file",
    "read_public_key",
    "resolve_home",
    "seal",
    "signing_key",
    "sqlite_path",
    "sqlite_url",
    "swap_file",
    "unpack",
    "wait_for",
]

_MODULE_OF = {
    "MAX_BUNDLE_BYTES": "archive",
    "MAX_RECEIPT_BYTES": "receipts",
    "PublicKey": "keys",
    "ReceiptStore": "receipts",
    "Sealed": "receipts",
    "SigningKey": "keys",
    "note_in_git": "anchors",
    "open_sealed": "receipts",
    "own_public_key": "keys",
    "pack": "archive",
    "read_anchors": "anchors",
    "read_public_key": "keys",
    "seal": "receipts",
    "signing_key": "keys",
    "unpack": "archive",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    found = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = found
    return found
