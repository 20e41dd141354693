"""Plans that were really signed off, for tests that try to prove something false about them."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from signoff.domain.ledger import Choice, Draft, Entry, Outcome, entry_hash
from signoff.storage.home import Home
from signoff.usecases.approve import approve, propose
from signoff.usecases.bundle import BundleAudit, BundleReport, audit_bundle, write_bundle
from signoff.usecases.inbox import answer
from signoff.usecases.journal import read_log
from signoff.usecases.questions import open_items
from signoff.usecases.receipt import IssuedReceipt, make_receipts
from tests.cli.plans import step
from tests.usecases.library import Library

GROUND = step("Lay the ground", "grep -qx firm ground", on_fail="escalate")
WALL = step("Build the wall", "grep -qx high wall", on_fail="retry(2), then escalate")
# The first attempt at every step does nothing; the second does the work and says what it cost.
SCRIPT = """
cat > /dev/null
echo '{"tokens": 1000, "usd": 0.25, "model": "m-1"}' > "$SIGNOFF_USAGE_FILE"
case $SIGNOFF_ATTEMPT in
  *:1:1) echo firm > ground ;;
  *:2:1) echo low > wall ;;
  *:2:*) echo high > wall ;;
esac
"""


def signed_library(folder: Path) -> Library:
    """A workspace whose plan of two steps is signed off, after one refused attempt."""
    library = Library(folder, script=SCRIPT).plan(GROUND, WALL)
    (library.workspace / "notes").mkdir()
    (library.workspace / "notes" / "a b.txt").write_text("kept beside\n")
    (library.workspace / "link").symlink_to("notes")
    assert library.run().outcome is Outcome.DONE
    return library


def sign_off_again(library: Library, script: str = SCRIPT) -> None:
    """Approve the same plan again and run it: another sign-off in the same chain."""
    again = replace(library, script=script)
    harness, place = again.open()
    approve(harness, propose(harness, place), interactive=True)
    assert again.run().outcome is Outcome.DONE


def waive(library: Library, note: str = "never mind") -> None:
    """Answer the one open question with waive."""
    harness, _ = library.open()
    (item,) = open_items(harness.ledger)
    answer(harness, item.id, Choice.WAIVE, note, interactive=True)


def entries_of(library: Library) -> tuple[Entry, ...]:
    """The ledger of the plan."""
    return tuple(read_log(*library.open()))


def receipts_of(library: Library) -> tuple[IssuedReceipt, ...]:
    """The receipts of the plan."""
    return make_receipts(*library.open())


def receipt_files(library: Library) -> list[Path]:
    """Where they lie."""
    return sorted((library.folder / "home" / "receipts").rglob("*.json"))


def predicate_of(made: IssuedReceipt) -> dict[str, Any]:
    """What a receipt says, read without our own code."""
    payload = base64.b64decode(json.loads(made.sealed.data)["payload"])
    found: dict[str, Any] = json.loads(payload)["predicate"]
    return found


def bundle_of(library: Library, path: Path, **options: Any) -> BundleReport:
    """Write the bundle of the newest sign-off."""
    harness, place = library.open()
    return write_bundle(harness, place, path, **options)


def public_key(library: Library, path: Path) -> Path:
    """Write the public key of the library's home to a file."""
    from signoff.storage.keys import own_public_key

    public = own_public_key(library.folder / "home" / "keys")
    assert public is not None
    path.write_bytes(public.pem)
    return path


def audit_elsewhere(bundle: Path, *keys: Path) -> BundleAudit:
    """Check a bundle as on a machine that has nothing but the file and a key."""
    home: Home | None = None
    return audit_bundle(bundle, keys, home)


def rehashed(entries: Sequence[Entry]) -> list[Entry]:
    """The same entries as a chain that agrees with itself, whatever was done to them."""
    chain: list[Entry] = []
    for seq, entry in enumerate(entries, 1):
        prev = chain[-1].hash if chain else "0" * 64
        draft = Draft(entry.kind, entry.data, entry.run, entry.step, entry.attempt)
        hash_ = entry_hash(entry.plan, seq, entry.at, draft, prev)
        chain.append(msgspec.structs.replace(entry, seq=seq, prev=prev, hash=hash_))
    return chain


def store_chain(library: Library, entries: Sequence[Entry]) -> None:
    """Put another chain into the database, head included, as its owner could."""
    import sqlite3

    from signoff.domain.digests import canonical_json
    from signoff.storage.records import COLUMNS, encode_data, to_row

    database = sqlite3.connect(library.folder / "home" / "ledger.sqlite3", isolation_level=None)
    database.execute("DELETE FROM entries")
    marks = ", ".join("?" * len(COLUMNS.split(",")))
    for entry in entries:
        row = to_row(entry, encode_data(canonical_json(entry.data)))
        database.execute(f"INSERT INTO entries ({COLUMNS}) VALUES ({marks})", row)
    last = entries[-1]
    head = (last.seq, last.at, last.hash)
    database.execute("UPDATE chains SET seq = ?, at = ?, hash = ?", head)
    database.close()


def drop_receipts(library: Library) -> None:
    """As if the driver had died before it wrote any."""
    shutil.rmtree(library.folder / "home" / "receipts")
