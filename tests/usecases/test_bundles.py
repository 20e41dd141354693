"""A bundle proves a sign-off to somebody who has nothing but the file and a public key."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from signoff.domain.digests import canonical_json, digest_bytes
from signoff.domain.ledger import Entry, Kind
from signoff.domain.verdict import Result
from signoff.errors import LedgerBroken, ProofInvalid, UsageError
from signoff.storage.archive import pack, unpack
from signoff.storage.home import Home
from signoff.storage.keys import signing_key
from signoff.storage.receipts import open_sealed, seal
from signoff.storage.records import entry_line, read_entry_line
from signoff.usecases.audit import audit_plan
from signoff.usecases.bundle import audit_bundle
from signoff.usecases.receipt import anchor_head
from tests.usecases.library import Library
from tests.usecases.signed import (
    GROUND,
    audit_elsewhere,
    bundle_of,
    entries_of,
    public_key,
    receipts_of,
    rehashed,
    sign_off_again,
    signed_library,
)

Members = dict[str, bytes]
Change = Callable[[Members], None]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Signed off twice; no test here changes it."""
    made = signed_library(tmp_path_factory.mktemp("signed"))
    sign_off_again(made)
    return made


@pytest.fixture(scope="module")
def key(library: Library) -> Path:
    return public_key(library, library.folder / "key.pem")


@pytest.fixture(scope="module")
def bundle(library: Library) -> Path:
    path = library.folder / "bundle.zip"
    bundle_of(library, path, with_content=True)
    return path


def changed(bundle: Path, tmp_path: Path, change: Change) -> Path:
    """The bundle with other members, packed as signoff itself would."""
    members = unpack(bundle.read_bytes(), "b")
    change(members)
    path = tmp_path / "changed.zip"
    path.write_bytes(pack(members))
    return path


def test_a_bundle_is_checked_with_the_public_key_alone(
    library: Library, bundle: Path, key: Path
) -> None:
    report = audit_elsewhere(bundle, key)
    last = entries_of(library)[-1]
    assert (report.result, report.signer) == (Result.KEPT, str(key))
    assert (report.receipts, report.entries, report.head) == (2, last.seq, last.hash)
    assert report.content_files == 4
    assert report.summary.lines[0] == ("kept", "1", "Lay the ground")


def test_without_a_known_key_nobody_can_say_who_signed(bundle: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    other.write_bytes(signing_key(tmp_path).public.pem)
    for keys in ((), (other,)):
        report = audit_elsewhere(bundle, *keys)
        assert (report.result, report.signer) == (Result.UNKNOWN, "")


def test_ones_own_bundle_is_known_by_ones_own_key(library: Library, bundle: Path) -> None:
    report = audit_bundle(bundle, (), Home(library.folder / "home"))
    assert (report.result, report.signer) == (Result.KEPT, "this home")


def test_the_same_sign_off_gives_the_same_bytes(library: Library, tmp_path: Path) -> None:
    first, again = tmp_path / "1.zip", tmp_path / "2.zip"
    for path in (first, again):
        bundle_of(library, path, with_content=True)
    assert first.read_bytes() == again.read_bytes()


def test_later_entries_do_not_change_the_bundle_of_a_sign_off(tmp_path: Path) -> None:
    made = signed_library(tmp_path)
    bundle_of(made, tmp_path / "1.zip")
    first = receipts_of(made)[0].run
    audit_plan(*made.open())
    sign_off_again(made)
    bundle_of(made, tmp_path / "2.zip", run=first)
    assert (tmp_path / "1.zip").read_bytes() == (tmp_path / "2.zip").read_bytes()


def test_a_bundle_without_content_still_names_it(
    library: Library, tmp_path: Path, key: Path
) -> None:
    bundle_of(library, tmp_path / "b.zip")
    report = audit_elsewhere(tmp_path / "b.zip", key)
    assert report.result is Result.KEPT and report.content_files is None
    assert report.snapshot == entries_of(library)[-1].data["snapshot"]


def test_checking_a_bundle_writes_nothing_and_needs_no_home(
    bundle: Path, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SIGNOFF_HOME", str(tmp_path / "home"))
    before = sorted(bundle.parent.rglob("*"))
    assert audit_elsewhere(bundle, key).result is Result.KEPT
    assert list(tmp_path.iterdir()) == [] and sorted(bundle.parent.rglob("*")) == before


def flip_plan(members: Members) -> None:
    members["plan.md"] = members["plan.md"].replace(b"firm", b"soft")


def drop_receipt(members: Members) -> None:
    del members[next(name for name in members if name.startswith("receipts/"))]


def drop_pins(members: Members) -> None:
    del members[next(name for name in members if name.startswith("pins/"))]


def swap_receipts(members: Members) -> None:
    one, two = (name for name in members if name.startswith("receipts/"))
    members[one], members[two] = members[two], members[one]


def change_pins(members: Members) -> None:
    name = next(name for name in members if name.startswith("pins/"))
    members[name] = members[name].replace(b"grep -qx firm", b"true   -qx firm")


def change_file(members: Members) -> None:
    name = "content/" + digest_bytes(b"firm\n")
    members[name] = b"soft\n"


def drop_file(members: Members) -> None:
    del members["content/" + digest_bytes(b"firm\n")]


def add_file(members: Members) -> None:
    members["content/" + digest_bytes(b"extra")] = b"extra"


def add_pins(members: Members) -> None:
    members[f"pins/{digest_bytes(b'{}')}.json"] = b"{}"


def add_anything(members: Members) -> None:
    members["readme.txt"] = b"all good, trust me"


def retarget_link(members: Members) -> None:
    rows = json.loads(members["content/manifest.json"])
    (link,) = (row for row in rows if row[1] == "link")
    link[4] = digest_bytes(b"/etc")
    members["content/" + digest_bytes(b"/etc")] = b"/etc"
    members["content/manifest.json"] = json.dumps(rows, separators=(",", ":")).encode() + b"\n"


def grow_size(members: Members) -> None:
    rows = json.loads(members["content/manifest.json"])
    rows[0][3] += 1
    members["content/manifest.json"] = json.dumps(rows, separators=(",", ":")).encode() + b"\n"


def rename_plan(members: Members) -> None:
    about = json.loads(members["bundle.json"])
    members["bundle.json"] = (canonical_json({**about, "name": "OTHER"}) + "\n").encode()


def other_format(members: Members) -> None:
    members["bundle.json"] = members["bundle.json"].replace(b"bundle/v1", b"bundle/v2")


def break_key(members: Members) -> None:
    members["key.pem"] = b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"


def respell_key(members: Members) -> None:
    members["key.pem"] = members["key.pem"] + b"\n"


def cut_ledger(members: Members) -> None:
    lines = members["ledger.jsonl"].splitlines(keepends=True)
    members["ledger.jsonl"] = b"".join(lines[:-1])


def empty_ledger(members: Members) -> None:
    members["ledger.jsonl"] = b""


def respell_ledger(members: Members) -> None:
    members["ledger.jsonl"] = members["ledger.jsonl"].replace(b'":', b'": ', 1)


def non_utf8_ledger(members: Members) -> None:
    members["ledger.jsonl"] = members["ledger.jsonl"].replace(b"ground", b"gr\xffund", 1)


def deep_ledger(members: Members) -> None:
    members["ledger.jsonl"] = b"[" * 100_000 + b"\n"


@pytest.mark.parametrize(
    "change",
    [
        flip_plan, drop_receipt, drop_pins, swap_receipts, change_pins, change_file, drop_file,
        add_file, add_pins, add_anything, retarget_link, grow_size, rename_plan, other_format,
        break_key, respell_key, cut_ledger, empty_ledger, respell_ledger, non_utf8_ledger,
        deep_ledger,
    ],
    ids=lambda change: change.__name__,
)  # fmt: skip
def test_a_bundle_that_was_changed_proves_nothing(
    bundle: Path, key: Path, tmp_path: Path, change: Change
) -> None:
    with pytest.raises(ProofInvalid):
        audit_elsewhere(changed(bundle, tmp_path, change), key)


def resign(members: Members, folder: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    """Forge the receipts with a key of one's own, as far as that goes."""
    folder.mkdir()
    own = signing_key(folder)
    members["key.pem"] = own.public.pem
    previous = None
    entries = [read_entry_line(line) for line in members["ledger.jsonl"].splitlines()]
    for run in [e.run for e in entries if e.kind is Kind.RUN_FINISHED]:
        statement = open_sealed(members[f"receipts/{run}.json"], "r").statement
        statement["predicate"]["previous"] = previous
        edit(statement)
        sealed = seal(statement, own)
        members[f"receipts/{run}.json"] = sealed.data
        previous = sealed.digest


def test_a_forger_with_a_key_of_their_own_stays_unknown(
    bundle: Path, key: Path, tmp_path: Path
) -> None:
    """The bundle agrees with itself, so all that is missing is somebody who knows the key."""
    forged = changed(bundle, tmp_path, lambda m: resign(m, tmp_path / "own", lambda _: None))
    assert audit_elsewhere(forged, key).result is Result.UNKNOWN


def test_a_forger_who_claims_a_known_key_is_found(bundle: Path, key: Path, tmp_path: Path) -> None:
    def change(members: Members) -> None:
        resign(members, tmp_path / "own", lambda _: None)
        members["key.pem"] = key.read_bytes()

    with pytest.raises(ProofInvalid, match="is not signed by key"):
        audit_elsewhere(changed(bundle, tmp_path, change), key)


def test_a_receipt_that_says_more_than_the_ledger_is_found_even_when_signed(
    bundle: Path, tmp_path: Path
) -> None:
    def praise(statement: dict[str, Any]) -> None:
        statement["predicate"]["approval"]["by"] = "the boss"

    forged = changed(bundle, tmp_path, lambda m: resign(m, tmp_path / "own", praise))
    with pytest.raises(ProofInvalid, match="does not match the ledger"):
        audit_elsewhere(forged)


def with_ledger(members: Members, entries: list[Entry]) -> None:
    """Another ledger, every hash right again."""
    chain = rehashed(entries)
    members["ledger.jsonl"] = b"".join(entry_line(entry) for entry in chain)


def test_a_ledger_rewritten_to_its_end_does_not_match_the_receipts(
    bundle: Path, key: Path, tmp_path: Path
) -> None:
    def change(members: Members) -> None:
        entries = [read_entry_line(line) for line in members["ledger.jsonl"].splitlines()]
        entries[0] = replace(entries[0], data={**entries[0].data, "by": "the boss"})
        with_ledger(members, entries)

    with pytest.raises(ProofInvalid, match="does not match the ledger"):
        audit_elsewhere(changed(bundle, tmp_path, change), key)


def test_a_done_without_a_kept_verdict_is_found_even_when_everything_else_agrees(
    bundle: Path, tmp_path: Path
) -> None:
    def change(members: Members) -> None:
        entries = [read_entry_line(line) for line in members["ledger.jsonl"].splitlines()]
        with_ledger(members, [e for e in entries if e.data.get("result") != "kept"])

    with pytest.raises(ProofInvalid, match="the gate is shut"):
        audit_elsewhere(changed(bundle, tmp_path, change))


def test_a_list_that_would_unfold_without_end_is_refused(bundle: Path, tmp_path: Path) -> None:
    def change(members: Members) -> None:
        entries = [read_entry_line(line) for line in members["ledger.jsonl"].splitlines()]
        bomb = replace(
            entries[2], kind=Kind.STEP_EXPANDED, step="1", data={"items": ["x"] * 2_000_000}
        )
        with_ledger(members, [*entries[:2], bomb, *entries[2:]])

    with pytest.raises(ProofInvalid, match="too many steps"):
        audit_elsewhere(changed(bundle, tmp_path, change))


def test_anchors_are_compared_as_far_as_the_bundle_reaches(tmp_path: Path) -> None:
    made = signed_library(tmp_path)
    harness, place = made.open()
    anchors = tmp_path / "anchors"
    early = anchor_head(harness, place, anchors)
    bundle_of(made, tmp_path / "b.zip")
    audit_plan(harness, place)
    late = anchor_head(harness, place, anchors)
    assert late.seq > early.seq
    report = audit_bundle(tmp_path / "b.zip", (), None, anchors)
    assert report.anchors == 1
    anchors.write_text(replace(early, hash="f" * 64).line() + "\n")
    with pytest.raises(LedgerBroken, match="no longer contains entry"):
        audit_bundle(tmp_path / "b.zip", (), None, anchors)
    anchors.write_text(late.line() + "\n")
    with pytest.raises(ProofInvalid, match="has no anchor"):
        audit_bundle(tmp_path / "b.zip", (), None, anchors)


def test_a_file_that_is_not_there_or_no_file_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file at"):
        audit_elsewhere(tmp_path / "nowhere.zip")
    with pytest.raises(UsageError, match="is a folder"):
        audit_elsewhere(tmp_path)


def test_names_that_are_no_text_survive_a_bundle(tmp_path: Path) -> None:
    made = Library(tmp_path).plan(GROUND)
    (made.workspace / "caf\udce9 \n.txt").write_text("odd\n")
    (made.workspace / "empty").mkdir()
    assert made.run().no_receipt == ""
    bundle_of(made, tmp_path / "b.zip", with_content=True)
    report = audit_elsewhere(tmp_path / "b.zip", public_key(made, tmp_path / "key.pem"))
    assert report.result is Result.KEPT and report.content_files == 3
