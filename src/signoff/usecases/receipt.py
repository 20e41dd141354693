"""`receipt`: make, export and check the receipts of a plan, and anchor its chain outside."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from signoff.domain.digests import digest_bytes
from signoff.domain.ledger import Entry
from signoff.domain.plan import Plan
from signoff.domain.receipt import Anchor, Summary, summary_of
from signoff.domain.verdict import Result
from signoff.errors import (
    LedgerBroken,
    NoSuchRun,
    PlanConflict,
    PlanNotFound,
    PlanUnreadable,
    ProofInvalid,
    UsageError,
)
from signoff.gate.state import State
from signoff.storage.archive import refuse_bundle
from signoff.storage.files import append_lines, read_plan_file, swap_file
from signoff.storage.home import Home
from signoff.storage.keys import PublicKey, own_public_key, read_public_key, signing_key
from signoff.storage.receipts import (
    MAX_RECEIPT_BYTES,
    ReceiptStore,
    Sealed,
    open_sealed,
    read_anchors,
    seal,
)
from signoff.usecases.harness import Harness, PlanLocation
from signoff.usecases.history import fold_run, read_history, trusted_history
from signoff.usecases.sign_offs import SENSELESS, SignOff, fold_entries, receipt_of, sign_offs
from signoff.verification.pins import Pins

LARGEST_KEY = 16 * 1024
LARGEST_ANCHORS = 64 * 1024 * 1024
UNKNOWN = "unknown"


_OfRun = TypeVar("_OfRun", "IssuedReceipt", SignOff)


class IssuedReceipt(Struct, frozen=True):
    """The receipt of one run, and whether it had to be made just now."""

    run: str
    sealed: Sealed
    new: bool


class ReceiptReport(Struct, frozen=True):
    """A receipt by itself: kept when a known key signed it, unknown when nobody knows the key."""

    sealed: Sealed
    summary: Summary
    result: Result
    key: str  # whose: a file's name, "this home", or empty


def make_receipts(
    harness: Harness, place: PlanLocation, entries: Sequence[Entry] | None = None
) -> tuple[IssuedReceipt, ...]:
    """One receipt per sign-off, oldest first; those that are there must match the ledger.

    Making one again gives the same bytes, because everything in it comes from the ledger and
    ed25519 signs the same message the same way. So a crash before this costs nothing.
    """
    found = trusted_entries(harness, place) if entries is None else entries
    return tuple(_receipts(harness, place, found, make=True))


def _receipts(
    harness: Harness, place: PlanLocation, entries: Sequence[Entry], *, make: bool
) -> Iterator[IssuedReceipt]:
    """The receipt of each sign-off, compared with the ledger; a missing one is made or left out."""
    store = ReceiptStore(harness.home.receipts)
    key = signing_key(harness.home.keys) if make else None
    public = key.public if key is not None else own_public_key(harness.home.keys)
    previous: str | None = None
    for signed in sign_offs(entries):
        stored = store.read(place.id, signed.run)
        if stored is None and key is None:
            # Not made yet, or lost: what the next one must name is then for itself to say.
            previous = UNKNOWN
            continue
        if previous == UNKNOWN and stored is not None:
            previous = stored.statement["predicate"].get("previous")
        statement = expected_statement(harness, place.name, signed, previous)
        if stored is not None:
            require_match(stored, statement, public, signed)
            made = IssuedReceipt(signed.run, stored, new=False)
        else:
            assert key is not None
            made = IssuedReceipt(signed.run, seal(statement, key), new=True)
            store.keep(place.id, signed.run, made.sealed)
        previous = made.sealed.digest
        yield made


def export_receipt(
    harness: Harness, place: PlanLocation, run: str | None, output: Path | None
) -> IssuedReceipt:
    """The receipt of a run (the newest sign-off unless named), made if it was lost."""
    chosen = newest_of(make_receipts(harness, place), place, run)
    if output is not None:
        write_once(harness.cwd / output, chosen.sealed.data)
    return chosen


def newest_of(found: Iterable[_OfRun], place: PlanLocation, run: str | None) -> _OfRun:
    """The one about this run, or the newest; NoSuchRun where it was not signed off."""
    wanted = [one for one in found if run is None or one.run == run]
    if not wanted:
        which = f"run `{run}` of plan `{place.name}`" if run else f"plan `{place.name}`"
        raise NoSuchRun(f"{which} was not signed off, so there is nothing to prove")
    return wanted[-1]


def verify_receipt(home: Home | None, path: Path, keys: Sequence[Path]) -> ReceiptReport:
    """Check form and signature; with nothing but the file and a public key."""
    refuse_bundle(path, "receipt")
    sealed = open_sealed(read_given_file(path, MAX_RECEIPT_BYTES), str(path))
    try:
        summary = summary_of(sealed.statement)
    except ValueError as error:
        raise ProofInvalid(f"`{path}` is not a receipt: {error}") from error
    for public, whose in trusted_keys(home, keys):
        if sealed.key_id == public.id:
            result = Result.KEPT if sealed.is_signed_by(public) else Result.BROKEN
            return ReceiptReport(sealed, summary, result, whose)
    return ReceiptReport(sealed, summary, Result.UNKNOWN, "")


def anchor_head(harness: Harness, place: PlanLocation, file: Path) -> Anchor:
    """Append the head of the chain to a file that is kept outside."""
    entries = trusted_entries(harness, place)
    made = make_receipts(harness, place, entries)
    if not entries:
        raise NoSuchRun(f"the ledger has nothing about plan `{place.name}` yet")
    last = entries[-1]
    receipt = made[-1].sealed.digest if made else None
    anchor = Anchor(place.id, place.name, last.seq, last.hash, last.at, receipt)
    append_lines(harness.cwd / file, anchor.line())
    return anchor


def check_receipts(
    harness: Harness, place: PlanLocation, entries: Sequence[Entry]
) -> tuple[str, ...]:
    """The digests of the receipts here, all of them about this very ledger; raises otherwise."""
    runs = harness.home.receipt_runs(place.id)
    if not runs:
        return ()
    found = tuple(_receipts(harness, place, entries, make=False))
    unknown = sorted({*runs} - {made.run for made in found})
    if unknown:
        raise LedgerBroken(
            f"the ledger has no sign-off of run `{unknown[0]}`, but a receipt proves there was one"
        )
    return tuple(made.sealed.digest for made in found)


def check_anchors(
    plan: str, entries: Sequence[Entry], receipts: Collection[str], path: Path, *, whole: bool
) -> int:
    """Count the heads of this plan that a file anchors, all of them still in the chain.

    Of a chain that is not `whole`, what lies beyond its end cannot be told.
    """
    anchors = read_anchors(read_given_file(path, LARGEST_ANCHORS), str(path))
    known = {entry.seq: entry.hash for entry in entries}
    own = [a for a in anchors if a.plan == plan and (whole or a.seq <= len(entries))]
    if not own:
        raise ProofInvalid(f"`{path}` has no anchor of this ledger", "name the file with anchors")
    for anchor in own:
        if known.get(anchor.seq) != anchor.hash:
            raise LedgerBroken(
                f"the ledger no longer contains entry {anchor.seq} as it was anchored at "
                f"{anchor.at}: it was rewritten or cut",
                facts={"first_bad": anchor.seq},
            )
        if anchor.receipt is not None and anchor.receipt not in receipts:
            hint = "signoff receipt export PLAN makes a lost one again; another is a forgery"
            raise ProofInvalid(f"the receipt anchored at {anchor.at} is not here", hint)
    return len(own)


def trusted_entries(harness: Harness, place: PlanLocation) -> tuple[Entry, ...]:
    """The plan's entries, every hash recomputed first."""
    return trusted_history(harness.ledger, place.id)[1].entries


def expected_statement(
    harness: Harness, name: str, signed: SignOff, previous: str | None
) -> dict[str, Any]:
    """The statement that a receipt of this sign-off must make, whoever made it and whenever."""

    def read_pins(digest: str) -> Pins:
        return Pins.from_bytes(harness.ledger.get_blob(digest))

    def folded(signed: SignOff, plan: Plan) -> State:
        """The state that this command has folded already, if it is of these very entries."""
        known = read_history(harness.ledger, signed.finished.plan)
        same = known.entries[: len(signed.entries)] == signed.entries
        newest = same and known.run_id == signed.run
        return fold_run(known, plan) if newest else fold_entries(signed, plan)

    try:
        return receipt_of(signed, name, read_pins, previous, folded).statement()
    except SENSELESS as error:
        raise LedgerBroken(f"the entries of run `{signed.run}` make no sense: {error!r}") from error


def require_match(
    stored: Sealed, statement: dict[str, Any], public: PublicKey | None, signed: SignOff
) -> None:
    """A receipt that says anything else than the ledger means that one of them was changed."""
    if public is not None and stored.key_id == public.id and not stored.is_signed_by(public):
        raise ProofInvalid(f"the receipt of run `{signed.run}` has a wrong signature")
    if stored.statement != statement:
        raise LedgerBroken(
            f"the receipt of run `{signed.run}` is about another ledger: one of them was changed",
            facts={"run": signed.run},
        )


def trusted_keys(home: Home | None, keys: Sequence[Path]) -> list[tuple[PublicKey, str]]:
    """The keys a person named, else the one of this home, if there is any."""
    named = [(read_public_key(read_given_file(k, LARGEST_KEY), str(k)), str(k)) for k in keys]
    own = own_public_key(home.keys) if home is not None and not keys else None
    return [*named, *([(own, "this home")] if own is not None else [])]


def read_given_file(path: Path, limit_bytes: int) -> bytes:
    """A file that a person named on the command line."""
    try:
        return read_plan_file(path, limit_bytes=limit_bytes)
    except PlanNotFound as error:
        raise UsageError(f"no file at `{path}`", "name a file that exists") from error
    except PlanUnreadable as error:
        raise UsageError(error.message, "name a regular file that signoff wrote") from error


def write_once(path: Path, data: bytes) -> None:
    """Write a new file; one that is there stays, unless it is the same already."""
    try:
        swap_file(path, None, data)
    except PlanConflict as error:
        if error.facts["current"] != digest_bytes(data):
            hint = "choose a name that is not taken"
            raise PlanConflict(f"`{path}` exists already", hint, error.facts) from error
