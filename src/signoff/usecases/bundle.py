"""`receipt bundle`, `audit --bundle`: everything that proves a sign-off to others, in one file.

    unpack → chain of the ledger → pins and plan → for each sign-off: gate, receipt, signature
           → content, if it is there → who signed

A bundle is hostile input. It is read into memory within limits, nothing of it is written, run or
believed: everything a receipt says is computed again from the ledger and compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from signoff.domain.digests import canonical_json, digest_bytes
from signoff.domain.ledger import Entry, Kind
from signoff.domain.receipt import Summary, summary_of
from signoff.domain.session import SESSION_PREFIX
from signoff.domain.snapshot import FileKind, FileState, Manifest
from signoff.domain.verdict import Result
from signoff.errors import ProofInvalid, SignoffError, UsageError
from signoff.planfile.outline import plan_digest
from signoff.storage.archive import MAX_BUNDLE_BYTES, pack, unpack
from signoff.storage.home import Home
from signoff.storage.keys import PublicKey, read_public_key, signing_key
from signoff.storage.receipts import Sealed, open_sealed
from signoff.storage.records import check_entries, entry_line, read_entry_line
from signoff.usecases.harness import Harness, PlanLocation
from signoff.usecases.history import pinned_plan
from signoff.usecases.receipt import (
    check_anchors,
    make_receipts,
    newest_of,
    read_given_file,
    trusted_entries,
    trusted_keys,
    write_once,
)
from signoff.usecases.sign_offs import SENSELESS, SignOff, receipt_of, sign_offs
from signoff.usecases.workspaces import open_pinned_workspace
from signoff.verification.pins import Pins
from signoff.workspace.records import manifest_digest

FORMAT = "https://signoff.dev/bundle/v1"
ABOUT, KEY, LEDGER, PLAN = "bundle.json", "key.pem", "ledger.jsonl", "plan.md"
MANIFEST = "content/manifest.json"
WITH_BYTES = (FileKind.FILE, FileKind.LINK)
_SHA256 = re.compile("[0-9a-f]{64}")
# A list of a `for_each` step times the text it is put into; more is no plan but an attack.
MOST_UNFOLDED = 256 * 1024 * 1024


class BundleReport(Struct, frozen=True):
    path: Path
    digest: str
    run: str
    receipts: int
    entries: int
    files: int | None


def write_bundle(
    harness: Harness,
    place: PlanLocation,
    output: Path,
    run: str | None = None,
    with_content: bool = False,
) -> BundleReport:
    """Write the bundle of a sign-off (the newest unless a run is named); same input, same bytes."""
    if place.id.startswith(SESSION_PREFIX):
        hint = f"signoff receipt export {place.name}"
        raise UsageError("only a plan can be bundled; of a session there is a receipt", hint)
    entries = trusted_entries(harness, place)
    made = make_receipts(harness, place, entries)
    signed = newest_of(sign_offs(entries), place, run)
    # Every pin that an entry names, so that each approval can be read.
    named = dict.fromkeys(e.data["pins"] for e in signed.entries if "pins" in e.data)
    pins = {digest: harness.ledger.get_blob(digest) for digest in named}
    started = (e for e in signed.entries if e.kind is Kind.RUN_STARTED and e.run == signed.run)
    obeyed = Pins.from_bytes(pins[next(started).data["pins"]])
    # The receipts up to the sign-off in question; each names the one before.
    receipts = made[: [m.run for m in made].index(signed.run) + 1]
    members = {
        ABOUT: _about(place.name, signed),
        KEY: signing_key(harness.home.keys).public.pem,
        LEDGER: b"".join(entry_line(entry) for entry in signed.entries),
        PLAN: obeyed.plan_text.encode("utf-8", "surrogatepass"),
        **{_pins_member(digest): data for digest, data in pins.items()},
        **{_receipt_member(m.run): m.sealed.data for m in receipts},
    }
    files = None
    if with_content:
        content = _content(harness, place, obeyed, signed)
        files = len(json.loads(content[MANIFEST]))
        members.update(content)
    data = pack(members)
    write_once(harness.cwd / output, data)
    entries_in = len(signed.entries)
    return BundleReport(output, digest_bytes(data), signed.run, len(receipts), entries_in, files)


def _pins_member(digest: str) -> str:
    return f"pins/{digest}.json"


def _receipt_member(run: str) -> str:
    return f"receipts/{run}.json"


def _content_member(sha256: str) -> str:
    """The name of a file's content in a bundle: by digest, so that no path is ever followed."""
    return f"content/{sha256}"


def _encode_manifest(manifest: Manifest) -> bytes:
    """One line per path; undecodable names survive as JSON's own escapes."""
    rows = [[p, s.kind, s.executable, s.size, s.sha256] for p, s in sorted(manifest.items())]
    return json.dumps(rows, separators=(",", ":"), default=str).encode() + b"\n"


def _decode_manifest(data: bytes) -> dict[str, FileState]:
    """Read what `_encode_manifest` wrote; ValueError when it is anything else."""
    manifest: dict[str, FileState] = {}
    for path, kind, executable, size, sha256 in json.loads(data):
        state = FileState(FileKind(kind), executable, size, sha256)
        # The parts that the snapshot's digest does not cover are as they always are.
        types = isinstance(path, str) and type(executable) is bool and type(size) is int
        counted = state.kind in WITH_BYTES or size == 0
        if not (types and counted and _SHA256.fullmatch(sha256)):
            raise ValueError(f"the manifest's line about {path!r} is none that signoff writes")
        manifest[path] = state
    if _encode_manifest(manifest) != data:
        raise ValueError("the manifest is not in canonical form")
    return manifest


def _about(name: str, signed: SignOff) -> bytes:
    about = {
        "format": FORMAT,
        "plan": signed.finished.plan,
        "name": name,
        "run": signed.run,
        "snapshot": signed.finished.data["snapshot"],
    }
    return canonical_json(about).encode("utf-8", "surrogatepass") + b"\n"


def _content(
    harness: Harness, place: PlanLocation, pins: Pins, signed: SignOff
) -> dict[str, bytes]:
    workspace = open_pinned_workspace(harness, place, pins, pinned_plan(pins))
    snapshot = signed.finished.data["snapshot"]
    manifest = workspace.manifest(snapshot)
    members = {MANIFEST: _encode_manifest(manifest)}
    for path, state in manifest.items():
        if state.kind in WITH_BYTES:
            members[_content_member(state.sha256)] = workspace.read(snapshot, path)
    return members


class BundleAudit(Struct, frozen=True):
    """Results that hold, in words; `signer` is empty when nobody here knows the key."""

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


class _Bundle(Struct, frozen=True):
    """The members of a bundle, read but not yet believed."""

    where: str
    members: dict[str, bytes]
    about: dict[str, Any]
    entries: tuple[Entry, ...]

    def take(self, name: str) -> bytes:
        if name not in self.members:
            raise ProofInvalid(f"`{self.where}` lacks `{name}`")
        return self.members[name]

    def pins(self, digest: str) -> Pins:
        data = self.take(_pins_member(digest))
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
        manifest = _check_content(bundle, signed[-1])
        _check_names(bundle, signed, manifest or {})
    except ProofInvalid:
        raise
    except (SignoffError, *SENSELESS) as error:
        why = error.message if isinstance(error, SignoffError) else repr(error)
        raise ProofInvalid(f"`{path}` proves nothing: {why}") from error
    finished, anchored = signed[-1].finished, None
    if anchors is not None:
        # A bundle ends with its sign-off; what was anchored later is about entries it has not.
        digests = [receipt.digest for receipt in sealed]
        plan = bundle.about["plan"]
        anchored = check_anchors(plan, bundle.entries, digests, anchors, whole=False)
    return BundleAudit(
        path=path,
        plan=bundle.about["name"],
        run=signed[-1].run,
        entries=len(bundle.entries),
        head=finished.hash,
        signed_off_at=finished.at,
        snapshot=finished.data["snapshot"],
        receipts=len(signed),
        content_files=None if manifest is None else len(manifest),
        anchors=anchored,
        key_id=public.id,
        signer=signer,
        summary=summary_of(sealed[-1].statement),
        statement=sealed[-1].statement,
    )


def _read(data: bytes, where: str) -> _Bundle:
    members = unpack(data, where)
    if not {ABOUT, KEY, LEDGER, PLAN} <= members.keys():
        raise ProofInvalid(f"`{where}` is a zip file, but not a bundle")
    about = json.loads(members[ABOUT].decode("utf-8", "surrogatepass"))
    if about["format"] != FORMAT:
        raise ProofInvalid(
            f"`{where}` has the format `{about['format']}`", "upgrade signoff to read it"
        )
    entries = []
    for number, line in enumerate(members[LEDGER].removesuffix(b"\n").split(b"\n"), 1):
        try:
            entries.append(read_entry_line(line))
        except SENSELESS as error:
            raise ProofInvalid(f"`{where}`: line {number} of the ledger: {error}") from error
    return _Bundle(where, members, about, tuple(entries))


def _check_ledger(bundle: _Bundle) -> list[SignOff]:
    about, entries = bundle.about, bundle.entries
    chain = check_entries(about["plan"], entries)
    if not chain.holds:
        raise ProofInvalid(f"`{bundle.where}`: the ledger's chain is broken: {chain.problem}")
    signed = list(sign_offs(entries))
    if not signed or signed[-1].finished is not entries[-1]:
        raise ProofInvalid(f"`{bundle.where}`: the ledger does not end with a sign-off")
    if _about(about["name"], signed[-1]) != bundle.take(ABOUT):
        raise ProofInvalid(f"`{bundle.where}`: `{ABOUT}` describes another ledger")
    return signed


def _check_pins(bundle: _Bundle, newest: SignOff) -> None:
    lists = [e.data["items"] for e in bundle.entries if e.kind is Kind.STEP_EXPANDED]
    items = sum(len(found) for found in lists)
    characters = sum(len(item) for found in lists for item in found)
    for entry in bundle.entries:
        if "pins" not in entry.data:
            continue
        pins = bundle.pins(entry.data["pins"])
        if not plan_digest(pins.plan_text) == pins.plan_digest == entry.data["plan_digest"]:
            raise ProofInvalid(f"`{bundle.where}`: entry {entry.seq} is about another plan")
        obeyed = entry.kind is Kind.RUN_STARTED and entry.run == newest.run
        if obeyed and pins.plan_text.encode("utf-8", "surrogatepass") != bundle.take(PLAN):
            raise ProofInvalid(f"`{bundle.where}`: `{PLAN}` is not the plan that was run")
        text = pins.plan_text
        if items * len(text) + characters * text.count("{item}") > MOST_UNFOLDED:
            raise ProofInvalid(
                f"`{bundle.where}`: the plan of entry {entry.seq} has too many steps"
            )


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
        member = _receipt_member(signed.run)
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


def _check_content(bundle: _Bundle, newest: SignOff) -> Manifest | None:
    """Every file against the manifest, the manifest against the digest that was signed off."""
    if MANIFEST not in bundle.members:
        return None
    manifest = _decode_manifest(bundle.take(MANIFEST))
    if manifest_digest(manifest) != newest.finished.data["snapshot"]:
        raise ProofInvalid(f"`{bundle.where}`: its content is not what was signed off")
    for path, state in manifest.items():
        if state.kind not in WITH_BYTES:
            continue
        data = bundle.take(_content_member(state.sha256))
        if (digest_bytes(data), len(data)) != (state.sha256, state.size):
            raise ProofInvalid(f"`{bundle.where}`: the content of `{path}` was changed")
    return manifest


def _check_names(bundle: _Bundle, signed: Sequence[SignOff], manifest: Manifest) -> None:
    """Refuse members of a bundle that no check was about."""
    known = {ABOUT, KEY, LEDGER, PLAN, MANIFEST, *(_receipt_member(s.run) for s in signed)}
    known |= {_pins_member(e.data["pins"]) for e in bundle.entries if "pins" in e.data}
    known |= {_content_member(s.sha256) for s in manifest.values() if s.kind in WITH_BYTES}
    extra = sorted(bundle.members.keys() - known)
    if extra:
        raise ProofInvalid(f"`{bundle.where}` holds `{extra[0]}`, which nothing in it names")
