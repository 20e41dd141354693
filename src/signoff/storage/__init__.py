"""What lasts: the ledger, the vault of plan files, locks, and the home folder."""

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

__all__ = [
    "DEFAULT_BUSY_TIMEOUT_S",
    "MAX_PLAN_BYTES",
    "VAULT_FOLDER",
    "ChainReport",
    "Database",
    "Fence",
    "Holder",
    "Home",
    "Ledger",
    "PlanRecord",
    "PlanText",
    "Repository",
    "RunRecord",
    "StorageCause",
    "Vault",
    "append_line",
    "durable_replace",
    "find_repository",
    "hold",
    "holders",
    "open_database",
    "plan_identity",
    "plan_slug",
    "read_plan_file",
    "resolve_home",
    "sqlite_path",
    "sqlite_url",
    "swap_file",
    "wait_for",
]
