"""`audit --bundle`: check somebody else's sign-off with nothing but the file and a public key.

    unpack → chain of the ledger → pins and plan → for each sign-off: gate, receipt, signature
           → content, if it is there → who signed

A bundle is hostile input. It is read into memory within limits, nothing of it is written, run or
believed: everything a receipt says is computed again from the ledger and compared.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from signoff.domain.digests import canonical_json, digest_bytes
from signoff.domain.ledger import Entry, Kind
from signoff.domain.receipt import Summary, summary_of
from signoff.domain.verdict import Result
from signoff.errors import ProofInvalid, SignoffError
from signoff.planfile.digest import plan_digest
from signoff.storage.archive import MAX_BUNDLE_BYTES, unpack
from signoff.storage.chain import check_entries, read_entry_line
from signoff.storage.home import Home
from signoff.storage.keys import PublicKey, read_public_key
from signoff.storage.receipts import Sealed, open_sealed
from signoff.usecases.bundle import (
    ABOUT,
    FORMAT,
    KEY,
    LEDGER,
    MANIFEST,
    PLAN,
    WITH_BYTES,
    content_member,
    decode_manifest,
    pins_member,
    receipt_member,
)
from signoff.usecases.receipt import check_anchors, read_given_file, trusted_keys
from signoff.usecases.sign_offs import SENSELESS, SignOff, receipt_of, sign_offs
from signoff.verification.pins import Pins
from signoff.workspace.records import manifest_digest

# A list of a `for_each` step times the text it is put into; more is no plan but an attack.
MOST_UNFOLDED = 256 * 1024 * 1024


@dataclass(frozen=True)
class BundleAudit:
    """What holds, each in its own words; `signer` is empty when nobody here knows the key."""

    path: Path
    plan: str
    run: str
    entries: int
    head: str
    signed_off_at: str
    snapshot: str
    receipts: int
    content_files: int | None
    anchors: int | None
    key_id: str
    signer: str
    summary: Summary
    statement: dict[str, Any]

    @property
    def result(self) -> Result:
        """Kept when everything holds and the key is known; unknown when only the key is not."""
        return Result.KEPT if self.signer else Result.UNKNOWN


@dataclass(frozen=True)
class _Bundle:
    """The members of a bundle, read but not yet believed."""

    where: str
    members: dict[str, bytes]
    about: dict[str, Any]
    entries: tuple[Entry, ...]

    def take(self, name: str) -> bytes:
        """A member that must be there."""
        if name not in self.members:
            raise ProofInvalid(f"`{self.where}` lacks `{name}`")
        return self.members[name]

    def pins(self, digest: str) -> Pins:
        """Pins by the digest that an entry names."""
        data = self.take(pins_member(digest))
        if digest_bytes(data) != digest:
            raise ProofInvalid(f"`{self.where}`: the pins `{digest[:12]}` were changed")
        return Pins.from_bytes(data)


def audit_bundle(
    path: Path, keys: Sequence[Path], home: Home | None = None, anchors: Path | None = None
) -> BundleAudit:
    """Check everything; the first thing that does not hold is raised as ProofInvalid."""
    trusted = trusted_keys(home, keys)
    data = read_given_file(path, MAX_BUNDLE_BYTES)
    try:
        bundle = _read(data, str(path))
        signed = _check_ledger(bundle)
        _check_pins(bundle, signed[-1])
        public, signer = _signer(bundle, trusted)
        sealed = _check_receipts(bundle, signed, public)
        files = _check_content(bundle, signed[-1])
        _check_names(bundle, signed)
    except ProofInvalid:
        raise
    except (SignoffError, *SENSELESS) as error:
        raise ProofInvalid(f"`{path}` proves nothing: {_why(error)}") from error
    finished = signed[-1].finished
    return BundleAudit(
        path=path,
        plan=bundle.about["name"],
        run=signed[-1].run,
        entries=len(bundle.entries),
        head=finished.hash,
        signed_off_at=finished.at,
        snapshot=finished.data["snapshot"],
        receipts=len(signed),
        content_files=files,
        anchors=_check_anchors(bundle, sealed, anchors) if anchors is not None else None,
        key_id=public.id,
        signer=signer,
        summary=summary_of(sealed[-1].statement),
        statement=sealed[-1].statement,
    )


def _why(error: Exception) -> str:
    return error.message if isinstance(error, SignoffError) else repr(error)


def _read(data: bytes, where: str) -> _Bundle:
    members = unpack(data, where)
    if not {ABOUT, KEY, LEDGER, PLAN} <= members.keys():
        raise ProofInvalid(f"`{where}` is a zip file, but not a bundle")
    about = json.loads(members[ABOUT].decode("utf-8", "surrogatepass"))
    if about["format"] != FORMAT:
        raise ProofInvalid(
            f"`{where}` has the format `{about['format']}`", "upgrade signoff to read it"
        )
    lines = members[LEDGER].removesuffix(b"\n").split(b"\n")
    entries = tuple(_entry(line, number, where) for number, line in enumerate(lines, 1))
    return _Bundle(where, members, about, entries)


def _entry(line: bytes, number: int, where: str) -> Entry:
    try:
        return read_entry_line(line)
    except SENSELESS as error:
        raise ProofInvalid(f"`{where}`: line {number} of the ledger: {error}") from error


def _check_ledger(bundle: _Bundle) -> list[SignOff]:
    about, entries = bundle.about, bundle.entries
    chain = check_entries(about["plan"], entries)
    if not chain.holds:
        raise ProofInvalid(f"`{bundle.where}`: the ledger does not hold: {chain.problem}")
    signed = list(sign_offs(entries))
    if not signed or signed[-1].finished is not entries[-1]:
        raise ProofInvalid(f"`{bundle.where}`: the ledger does not end with a sign-off")
    finished = entries[-1]
    expected = {
        "format": FORMAT,
        "plan": finished.plan,
        "name": about["name"],
        "run": finished.run,
        "snapshot": finished.data["snapshot"],
    }
    if (canonical_json(expected) + "\n").encode("utf-8", "surrogatepass") != bundle.take(ABOUT):
        raise ProofInvalid(f"`{bundle.where}`: `{ABOUT}` is not about its ledger")
    return signed


def _check_pins(bundle: _Bundle, newest: SignOff) -> None:
    for entry in bundle.entries:
        if "pins" not in entry.data:
            continue
        pins = bundle.pins(entry.data["pins"])
        if not plan_digest(pins.plan_text) == pins.plan_digest == entry.data["plan_digest"]:
            raise ProofInvalid(f"`{bundle.where}`: entry {entry.seq} is about another plan")
        obeyed = entry.kind is Kind.RUN_STARTED and entry.run == newest.run
        if obeyed and pins.plan_text.encode("utf-8", "surrogatepass") != bundle.take(PLAN):
            raise ProofInvalid(f"`{bundle.where}`: `{PLAN}` is not the plan that was run")
        _refuse_unfolding(bundle, entry, pins)


def _refuse_unfolding(bundle: _Bundle, started: Entry, pins: Pins) -> None:
    lists = [e.data["items"] for e in bundle.entries if e.kind is Kind.STEP_EXPANDED]
    items = sum(len(found) for found in lists)
    characters = sum(len(item) for found in lists for item in found)
    text = pins.plan_text
    if items * len(text) + characters * text.count("{item}") > MOST_UNFOLDED:
        raise ProofInvalid(f"`{bundle.where}`: the plan of entry {started.seq} has too many steps")


def _signer(bundle: _Bundle, trusted: Sequence[tuple[PublicKey, str]]) -> tuple[PublicKey, str]:
    """The bundle's own key says only that the bundle agrees with itself; a known one says who."""
    carried = read_public_key(bundle.take(KEY), f"{bundle.where}: {KEY}")
    if carried.pem != bundle.take(KEY):
        raise ProofInvalid(f"`{bundle.where}`: `{KEY}` is not in canonical form")
    for public, whose in trusted:
        if public.id == carried.id:
            return public, whose
    return carried, ""


def _check_receipts(bundle: _Bundle, found: Sequence[SignOff], public: PublicKey) -> list[Sealed]:
    """One receipt per sign-off: signed, saying what the ledger says, naming the one before."""
    checked: list[Sealed] = []
    for signed in found:
        member = receipt_member(signed.run)
        previous = checked[-1].digest if checked else None
        sealed = open_sealed(bundle.take(member), f"{bundle.where}: {member}")
        which = f"`{bundle.where}`: the receipt of run `{signed.run}`"
        if not sealed.is_signed_by(public):
            raise ProofInvalid(f"{which} is not signed by key `{public.id}`")
        expected = receipt_of(signed, bundle.about["name"], bundle.pins, previous)
        if sealed.statement != expected.statement():
            raise ProofInvalid(f"{which} does not match the ledger")
        checked.append(sealed)
    return checked


def _check_anchors(bundle: _Bundle, sealed: Sequence[Sealed], path: Path) -> int:
    """A bundle ends with its sign-off; what was anchored later is about entries it has not."""
    digests = [receipt.digest for receipt in sealed]
    return check_anchors(bundle.about["plan"], bundle.entries, digests, path, whole=False)


def _check_content(bundle: _Bundle, newest: SignOff) -> int | None:
    """Every file against the manifest, the manifest against the digest that was signed off."""
    if MANIFEST not in bundle.members:
        return None
    manifest = decode_manifest(bundle.take(MANIFEST))
    if manifest_digest(manifest) != newest.finished.data["snapshot"]:
        raise ProofInvalid(f"`{bundle.where}`: its content is not what was signed off")
    for path, state in manifest.items():
        if state.kind not in WITH_BYTES:
            continue
        data = bundle.take(content_member(state.sha256))
        if (digest_bytes(data), len(data)) != (state.sha256, state.size):
            raise ProofInvalid(f"`{bundle.where}`: the content of `{path}` was changed")
    return len(manifest)


def _check_names(bundle: _Bundle, signed: Sequence[SignOff]) -> None:
    """Nothing may lie in a bundle that no check was about."""
    known = {ABOUT, KEY, LEDGER, PLAN, *(receipt_member(s.run) for s in signed)}
    known |= {pins_member(e.data["pins"]) for e in bundle.entries if "pins" in e.data}
    if MANIFEST in bundle.members:
        states = decode_manifest(bundle.members[MANIFEST]).values()
        known |= {MANIFEST, *(content_member(s.sha256) for s in states if s.kind in WITH_BYTES)}
    extra = sorted(bundle.members.keys() - known)
    if extra:
        raise ProofInvalid(f"`{bundle.where}` holds `{extra[0]}`, which nothing in it names")
