"""`receipt bundle`: everything somebody else needs to check a sign-off, in one file."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from signoff.domain.digests import canonical_json, digest_bytes
from signoff.domain.ledger import Entry, Kind
from signoff.domain.session import SESSION_PREFIX
from signoff.domain.snapshot import FileKind, FileState, Manifest
from signoff.errors import NoSuchRun, UsageError
from signoff.storage.archive import pack
from signoff.storage.chain import entry_line
from signoff.storage.keys import signing_key
from signoff.usecases.history import pinned_plan
from signoff.usecases.openwork import open_pinned_workspace
from signoff.usecases.receipt import Made, make_receipts, trusted_entries, write_once
from signoff.usecases.sign_offs import SignOff, sign_offs
from signoff.usecases.site import PlanPlace, Site
from signoff.verification.pins import Pins

FORMAT = "https://signoff.dev/bundle/v1"
ABOUT, KEY, LEDGER, PLAN = "bundle.json", "key.pem", "ledger.jsonl", "plan.md"
MANIFEST = "content/manifest.json"
WITH_BYTES = (FileKind.FILE, FileKind.LINK)
_SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class BundleReport:
    """What was written."""

    path: Path
    digest: str
    run: str
    receipts: int
    entries: int
    files: int | None


def write_bundle(
    site: Site, place: PlanPlace, output: Path, run: str | None = None, with_content: bool = False
) -> BundleReport:
    """Write the bundle of a sign-off (the newest unless a run is named); same input, same bytes."""
    if place.record.id.startswith(SESSION_PREFIX):
        hint = f"signoff receipt export {place.name}"
        raise UsageError("a bundle is of a plan; a session's sign-off has a receipt", hint)
    entries = trusted_entries(site, place)
    made = make_receipts(site, place, entries)
    signed = _chosen(place, tuple(sign_offs(entries)), run)
    pins = _pins(site, signed.entries)
    plan_text = Pins.from_bytes(pins[_pins_of(signed)]).plan_text
    members = {
        ABOUT: _about(place, signed),
        KEY: signing_key(site.home.keys).public.pem,
        LEDGER: b"".join(entry_line(entry) for entry in signed.entries),
        PLAN: plan_text.encode("utf-8", "surrogatepass"),
        **{pins_member(digest): data for digest, data in pins.items()},
        **_receipts(made, signed),
    }
    files = None
    if with_content:
        content = _content(site, place, Pins.from_bytes(pins[_pins_of(signed)]), signed)
        files = len(json.loads(content[MANIFEST]))
        members.update(content)
    data = pack(members)
    write_once(site.cwd / output, data)
    count = sum(name.startswith("receipts/") for name in members)
    return BundleReport(output, digest_bytes(data), signed.run, count, len(signed.entries), files)


def pins_member(digest: str) -> str:
    """The name of a pin in a bundle."""
    return f"pins/{digest}.json"


def receipt_member(run: str) -> str:
    """The name of a receipt in a bundle."""
    return f"receipts/{run}.json"


def content_member(sha256: str) -> str:
    """The name of a file's content in a bundle: by digest, so that no path is ever followed."""
    return f"content/{sha256}"


def encode_manifest(manifest: Manifest) -> bytes:
    """One line per path; undecodable names survive as JSON's own escapes."""
    rows = [[p, s.kind, s.executable, s.size, s.sha256] for p, s in sorted(manifest.items())]
    return json.dumps(rows, separators=(",", ":"), default=str).encode() + b"\n"


def decode_manifest(data: bytes) -> dict[str, FileState]:
    """What `encode_manifest` wrote; ValueError when it is anything else."""
    manifest: dict[str, FileState] = {}
    for path, kind, executable, size, sha256 in json.loads(data):
        state = FileState(FileKind(kind), executable, size, sha256)
        if not (isinstance(path, str) and _is_plain(state)):
            raise ValueError(f"the manifest's line about {path!r} is none that signoff writes")
        manifest[path] = state
    if encode_manifest(manifest) != data:
        raise ValueError("the manifest is not in canonical form")
    return manifest


def _is_plain(state: FileState) -> bool:
    """Whether the parts that the snapshot's digest does not cover are as they always are."""
    types = type(state.executable) is bool and type(state.size) is int
    counted = state.kind in WITH_BYTES or state.size == 0
    return types and counted and _SHA256.fullmatch(state.sha256) is not None


def _chosen(place: PlanPlace, found: Sequence[SignOff], run: str | None) -> SignOff:
    wanted = [signed for signed in found if run is None or signed.run == run]
    if not wanted:
        which = f"run `{run}` of plan `{place.name}`" if run else f"plan `{place.name}`"
        raise NoSuchRun(f"{which} was not signed off, so there is nothing to prove")
    return wanted[-1]


def _about(place: PlanPlace, signed: SignOff) -> bytes:
    about = {
        "format": FORMAT,
        "plan": place.record.id,
        "name": place.name,
        "run": signed.run,
        "snapshot": signed.finished.data["snapshot"],
    }
    return canonical_json(about).encode("utf-8", "surrogatepass") + b"\n"


def _pins_of(signed: SignOff) -> str:
    started = (e for e in signed.entries if e.kind is Kind.RUN_STARTED and e.run == signed.run)
    digest: str = next(started).data["pins"]
    return digest


def _pins(site: Site, entries: Sequence[Entry]) -> dict[str, bytes]:
    """Every pin that an entry names, so that each approval can be read."""
    named = dict.fromkeys(e.data["pins"] for e in entries if "pins" in e.data)
    return {digest: site.ledger.get_blob(digest) for digest in named}


def _receipts(made: Sequence[Made], signed: SignOff) -> dict[str, bytes]:
    """The receipts up to the sign-off in question; each names the one before."""
    runs = [m.run for m in made]
    upto = runs.index(signed.run) + 1
    return {receipt_member(m.run): m.sealed.data for m in made[:upto]}


def _content(site: Site, place: PlanPlace, pins: Pins, signed: SignOff) -> dict[str, bytes]:
    workspace = open_pinned_workspace(site, place, pins, pinned_plan(pins))
    snapshot = signed.finished.data["snapshot"]
    manifest = workspace.manifest(snapshot)
    members = {MANIFEST: encode_manifest(manifest)}
    for path, state in manifest.items():
        if state.kind in WITH_BYTES:
            members[content_member(state.sha256)] = workspace.read(snapshot, path)
    return members
