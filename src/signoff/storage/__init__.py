"""What lasts: the ledger, the vault of plan files, locks, receipts, and the home folder.

Everything is loaded when it is first asked for: what must answer at once needs little of it, and
what makes and checks proofs takes longer to load than most commands take to run.
"""

from __future__ import annotations

from importlib import import_module

# Not `typing.TYPE_CHECKING`: what must answer at once comes through here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from signoff.errors import PlanConflict
    from signoff.storage.active import (
        MARKER_RULE,
        ActivePlan,
        Source,
        list_plan_files,
        marker_path,
        read_binding,
        resolve_active_plan,
    )
    from signoff.storage.anchors import note_in_git, read_anchors
    from signoff.storage.archive import MAX_BUNDLE_BYTES, pack, unpack
    from signoff.storage.binding import bind_worktree, unbind_worktree
    from signoff.storage.chain import check_entries, entry_line, read_entry_line
    from signoff.storage.claims import (
        CLAIM_S,
        ClaimAnswer,
        Offer,
        claim_first,
        give_back_claim,
        renew_claim,
    )
    from signoff.storage.database import (
        DEFAULT_BUSY_TIMEOUT_S,
        open_database,
        sqlite_path,
        sqlite_url,
    )
    from signoff.storage.engine import Database
    from signoff.storage.failures import StorageCause
    from signoff.storage.files import (
        MAX_PLAN_BYTES,
        append_line,
        append_lines,
        durable_replace,
        read_plan_file,
        swap_file,
    )
    from signoff.storage.glance import Bound, Glance, Question, Standing, open_glance
    from signoff.storage.home import Home
    from signoff.storage.identity import (
        own_shared_vault,
        own_vault,
        plan_identity,
        remember_plan,
    )
    from signoff.storage.keys import (
        PublicKey,
        SigningKey,
        own_public_key,
        read_public_key,
        signing_key,
    )
    from signoff.storage.leases import (
        LEASE_S,
        Lease,
        LeaseRequest,
        acquire_lease,
        home_identity,
        is_gone,
        leased,
    )
    from signoff.storage.ledger import Ledger
    from signoff.storage.location import (
        STAGED_FOLDER,
        VAULT_FOLDER,
        VAULT_VARIABLE,
        VaultPlace,
        find_vault,
    )
    from signoff.storage.locks import hold, holders, wait_for
    from signoff.storage.progress import KEPT_FOLDER, merge_copies, progress_line, read_progress
    from signoff.storage.receipts import MAX_RECEIPT_BYTES, ReceiptStore, Sealed, open_sealed, seal
    from signoff.storage.records import ChainReport, Fence, Holder, PlanRecord, RunRecord
    from signoff.storage.standings import StandingNote, read_standing, write_standing
    from signoff.storage.tenancies import (
        Tenancy,
        find_tenancy,
        plan_resource,
        tenancies_of,
    )
    from signoff.storage.vault import (
        PlanText,
        Vault,
        checked_new_slug,
        checked_slug,
    )

__all__ = [
    "CLAIM_S",
    "DEFAULT_BUSY_TIMEOUT_S",
    "KEPT_FOLDER",
    "LEASE_S",
    "MARKER_RULE",
    "MAX_BUNDLE_BYTES",
    "MAX_PLAN_BYTES",
    "MAX_RECEIPT_BYTES",
    "STAGED_FOLDER",
    "VAULT_FOLDER",
    "VAULT_VARIABLE",
    "ActivePlan",
    "Bound",
    "ChainReport",
    "ClaimAnswer",
    "Database",
    "Fence",
    "Glance",
    "Holder",
    "Home",
    "Lease",
    "LeaseRequest",
    "Ledger",
    "Offer",
    "PlanConflict",
    "PlanRecord",
    "PlanText",
    "PublicKey",
    "Question",
    "ReceiptStore",
    "RunRecord",
    "Sealed",
    "SigningKey",
    "Source",
    "Standing",
    "StandingNote",
    "StorageCause",
    "Tenancy",
    "Vault",
    "VaultPlace",
    "acquire_lease",
    "append_line",
    "append_lines",
    "bind_worktree",
    "check_entries",
    "checked_new_slug",
    "checked_slug",
    "claim_first",
    "durable_replace",
    "entry_line",
    "find_tenancy",
    "find_vault",
    "give_back_claim",
    "hold",
    "holders",
    "home_identity",
    "is_gone",
    "leased",
    "list_plan_files",
    "marker_path",
    "merge_copies",
    "note_in_git",
    "open_database",
    "open_glance",
    "open_sealed",
    "own_public_key",
    "own_shared_vault",
    "own_vault",
    "pack",
    "plan_identity",
    "plan_resource",
    "progress_line",
    "read_anchors",
    "read_binding",
    "read_entry_line",
    "read_plan_file",
    "read_progress",
    "read_public_key",
    "read_standing",
    "remember_plan",
    "renew_claim",
    "resolve_active_plan",
    "seal",
    "signing_key",
    "sqlite_path",
    "sqlite_url",
    "swap_file",
    "tenancies_of",
    "unbind_worktree",
    "unpack",
    "wait_for",
    "write_standing",
]

_MODULE_OF = {
    "STAGED_FOLDER": "location",
    "KEPT_FOLDER": "progress",
    "merge_copies": "progress",
    "progress_line": "progress",
    "read_progress": "progress",
    "append_lines": "files",
    "CLAIM_S": "claims",
    "ClaimAnswer": "claims",
    "Offer": "claims",
    "claim_first": "claims",
    "give_back_claim": "claims",
    "renew_claim": "claims",
    "LEASE_S": "leases",
    "Lease": "leases",
    "LeaseRequest": "leases",
    "acquire_lease": "leases",
    "home_identity": "leases",
    "is_gone": "leases",
    "leased": "leases",
    "StandingNote": "standings",
    "read_standing": "standings",
    "write_standing": "standings",
    "Tenancy": "tenancies",
    "find_tenancy": "tenancies",
    "plan_resource": "tenancies",
    "tenancies_of": "tenancies",
    "MARKER_RULE": "active",
    "remember_plan": "identity",
    "own_shared_vault": "identity",
    "own_vault": "identity",
    "find_vault": "location",
    "VaultPlace": "location",
    "VAULT_VARIABLE": "location",
    "VAULT_FOLDER": "location",
    "open_glance": "glance",
    "Standing": "glance",
    "Question": "glance",
    "Glance": "glance",
    "Bound": "glance",
    "unbind_worktree": "binding",
    "bind_worktree": "binding",
    "resolve_active_plan": "active",
    "read_binding": "active",
    "marker_path": "active",
    "list_plan_files": "active",
    "Source": "active",
    "ActivePlan": "active",
    "note_in_git": "anchors",
    "read_anchors": "anchors",
    "MAX_BUNDLE_BYTES": "archive",
    "pack": "archive",
    "unpack": "archive",
    "check_entries": "chain",
    "entry_line": "chain",
    "read_entry_line": "chain",
    "DEFAULT_BUSY_TIMEOUT_S": "database",
    "open_database": "database",
    "sqlite_path": "database",
    "sqlite_url": "database",
    "Database": "engine",
    "StorageCause": "failures",
    "MAX_PLAN_BYTES": "files",
    "append_line": "files",
    "durable_replace": "files",
    "read_plan_file": "files",
    "PlanConflict": "files",
    "swap_file": "files",
    "Home": "home",
    "plan_identity": "identity",
    "PublicKey": "keys",
    "SigningKey": "keys",
    "own_public_key": "keys",
    "read_public_key": "keys",
    "signing_key": "keys",
    "Ledger": "ledger",
    "hold": "locks",
    "holders": "locks",
    "wait_for": "locks",
    "MAX_RECEIPT_BYTES": "receipts",
    "ReceiptStore": "receipts",
    "Sealed": "receipts",
    "open_sealed": "receipts",
    "seal": "receipts",
    "ChainReport": "records",
    "Fence": "records",
    "Holder": "records",
    "PlanRecord": "records",
    "RunRecord": "records",
    "PlanText": "vault",
    "Vault": "vault",
    "checked_new_slug": "vault",
    "checked_slug": "vault",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    found = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = found
    return found
