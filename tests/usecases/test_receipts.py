"""Every sign-off has a receipt, which follows from the ledger and says nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from signoff.domain.ledger import Kind, Outcome
from signoff.domain.verdict import Result
from signoff.errors import LedgerBroken, NoSuchRun, PlanConflict, ProofInvalid
from signoff.usecases.audit import audit_plan
from signoff.usecases.receipt import (
    anchor_head,
    check_receipts,
    export_receipt,
    verify_receipt,
)
from tests.cli.plans import step
from tests.usecases.library import Library
from tests.usecases.signed import (
    GROUND,
    drop_receipts,
    entries_of,
    predicate_of,
    public_key,
    receipt_files,
    receipts_of,
    rehashed,
    sign_off_again,
    signed_library,
    store_chain,
    waive,
)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return signed_library(tmp_path)


def test_a_run_that_signs_off_leaves_a_receipt(library: Library) -> None:
    (path,) = receipt_files(library)
    finished = entries_of(library)[-1]
    assert path.stem == finished.run
    harness, _ = library.open()
    report = verify_receipt(harness.home, path, ())
    assert (report.result, report.key) == (Result.KEPT, "this home")
    assert report.summary.snapshot == finished.data["snapshot"]
    assert report.summary.lines == (
        ("kept", "1", "Lay the ground"),
        ("kept", "2", "Build the wall"),
    )


def test_a_receipt_names_everything_the_sign_off_rests_on(library: Library) -> None:
    (made,) = receipts_of(library)
    entries = entries_of(library)
    said = predicate_of(made)
    assert said["ledger"] == {"first_seq": 1, "last_seq": len(entries), "head": entries[-1].hash}
    assert said["approval"]["by"] == entries[0].data["by"] and not said["approval"]["interactive"]
    assert said["pins"] == entries[0].data["pins"]
    assert [s["contract"]["command"] for s in said["steps"]] == [
        "grep -qx firm ground",
        "grep -qx high wall",
    ]
    for subject in said["steps"]:
        verdict = entries[subject["verdict"]["seq"] - 1]
        assert verdict.kind is Kind.VERDICT and verdict.step == subject["id"]
        for name in ("key", "snapshot", "environment", "isolation", "result", "reused_from"):
            assert subject["verdict"][name] == verdict.data[name]
        assert verdict.data["result"] == "kept"
    assert [(a["step"], a["tokens"], a["usd"], a["model"]) for a in said["attempts"]] == [
        ("1", 1000, 0.25, "m-1"),
        ("2", 1000, 0.25, "m-1"),
        ("2", 1000, 0.25, "m-1"),
    ]
    assert [a["role"] for a in said["agents"]] == ["coder"]
    assert said["runner"] and said["waivers"] == [] and said["previous"] is None


def test_a_run_without_a_sign_off_gets_no_receipt(tmp_path: Path) -> None:
    library = Library(tmp_path, script="true").plan(GROUND)
    assert library.run().outcome is None
    assert receipt_files(library) == [] and receipts_of(library) == ()
    harness, place = library.open()
    with pytest.raises(NoSuchRun, match="was not signed off"):
        export_receipt(harness, place, None, None)


def test_a_lost_receipt_is_made_again_byte_for_byte(library: Library) -> None:
    (path,) = receipt_files(library)
    before = path.read_bytes()
    drop_receipts(library)
    assert library.run().nothing_to_do
    (path,) = receipt_files(library)
    assert path.read_bytes() == before
    drop_receipts(library)
    harness, place = library.open()
    assert export_receipt(harness, place, None, None).sealed.data == before


def test_each_receipt_names_the_one_before(library: Library) -> None:
    sign_off_again(library)
    sign_off_again(library)
    first, second, third = receipts_of(library)
    assert predicate_of(first)["previous"] is None
    assert predicate_of(second)["previous"] == first.sealed.digest
    assert predicate_of(third)["previous"] == second.sealed.digest
    nonces = {predicate_of(made)["nonce"] for made in (first, second, third)}
    assert len(nonces) == 3
    drop_receipts(library)
    again = receipts_of(library)
    assert [made.sealed.data for made in again] == [m.sealed.data for m in (first, second, third)]
    assert all(made.new for made in again)


def test_one_lost_receipt_among_others_does_not_make_the_rest_false(library: Library) -> None:
    sign_off_again(library)
    first, second = receipts_of(library)
    lost = next(path for path in receipt_files(library) if path.stem == first.run)
    lost.unlink()
    harness, place = library.open()
    assert check_receipts(harness, place, entries_of(library)) == (second.sealed.digest,)
    assert [made.new for made in receipts_of(library)] == [True, False]


def test_a_waived_step_is_named_and_never_called_kept(tmp_path: Path) -> None:
    library = Library(tmp_path).plan(GROUND, step("Paint", "test -s paint", on_fail="escalate"))
    assert library.run().outcome is None
    waive(library, "no paint\udcff today")
    assert library.run().outcome is Outcome.DONE
    (made,) = receipts_of(library)
    said = predicate_of(made)
    (waiver,) = said["waivers"]
    assert (waiver["subject"], waiver["note"]) == ("2", "no paint\\udcff today")
    assert [s["state"] for s in said["steps"]] == ["done", "waived"]
    assert made.sealed.statement["predicate"]["steps"][1]["verdict"]["result"] == "broken"


def test_an_agent_that_reports_absurd_usage_cannot_prevent_a_receipt(tmp_path: Path) -> None:
    """Ten such reports add up to more than canonical JSON can hold as a number."""
    many = f'echo \'{{"tokens": {10**15}, "usd": 1e12}}\' > "$SIGNOFF_USAGE_FILE"'
    work = "case $SIGNOFF_ATTEMPT in *:12) echo firm;; *) echo $SIGNOFF_ATTEMPT;; esac > ground"
    hard = step("Lay the ground", "grep -qx firm ground", on_fail="retry(20), then escalate")
    library = Library(tmp_path, script=f"{many}\n{work}").plan(hard)
    report = library.run()
    assert report.outcome is Outcome.DONE and report.no_receipt == ""
    (made,) = receipts_of(library)
    assert sum(a["tokens"] for a in predicate_of(made)["attempts"]) > 2**53


def test_a_sign_off_stands_without_its_receipt_and_says_so(tmp_path: Path) -> None:
    library = Library(tmp_path).plan(GROUND)
    harness, _ = library.open()
    (harness.home.keys / "receipts.pem").write_text("damaged")
    (harness.home.keys / "receipts.pem").chmod(0o600)
    report = library.run()
    assert report.outcome is Outcome.DONE and "damaged" in report.no_receipt
    (harness.home.keys / "receipts.pem").unlink()
    again = library.run()
    assert again.nothing_to_do and again.no_receipt == ""
    assert len(receipt_files(library)) == 1


def test_a_ledger_rewritten_from_end_to_end_no_longer_matches_its_receipt(
    library: Library,
) -> None:
    """Every hash is right again; only the receipt knows what the entries were."""
    harness, place = library.open()
    assert audit_plan(harness, place).receipts == 1
    honest = entries_of(library)
    forged = list(honest)
    forged[0] = replace(forged[0], data={**forged[0].data, "by": "the boss", "interactive": True})
    store_chain(library, rehashed(forged))
    assert harness.ledger.check_chain(place.record.id).holds
    with pytest.raises(LedgerBroken, match="is about another ledger"):
        audit_plan(harness, place)
    with pytest.raises(LedgerBroken, match="is about another ledger"):
        receipts_of(library)


def test_a_sign_off_that_was_cut_from_the_ledger_is_missed_by_its_receipt(
    library: Library,
) -> None:
    entries = entries_of(library)
    finished = next(e.seq for e in entries if e.kind is Kind.RUN_FINISHED)
    store_chain(library, entries[: finished - 1])
    harness, place = library.open()
    with pytest.raises(LedgerBroken, match="but a receipt proves there was"):
        audit_plan(harness, place)


def test_no_receipt_is_signed_for_a_done_that_the_gate_does_not_bear_out(
    library: Library,
) -> None:
    """Whoever leaves out a kept verdict, an acceptance or the approval gets no signature."""
    drop_receipts(library)
    honest = entries_of(library)
    kept = [e for e in honest if e.kind is Kind.VERDICT and e.data["result"] == "kept"]
    approval = [e for e in honest if e.kind is Kind.PLAN_APPROVED]
    started = [e for e in honest if e.kind is Kind.RUN_STARTED]
    done = [e for e in honest if e.kind is Kind.STEP_DONE]
    for left_out in (*kept, *approval, *started, *done):
        store_chain(library, rehashed([e for e in honest if e is not left_out]))
        with pytest.raises(LedgerBroken):
            receipts_of(library)
        assert receipt_files(library) == []
    store_chain(library, honest)
    assert len(receipts_of(library)) == 1


def test_no_receipt_is_signed_for_a_waiver_that_nobody_gave(library: Library) -> None:
    drop_receipts(library)
    *before, finished = entries_of(library)
    assert finished.kind is Kind.RUN_FINISHED
    forged = replace(finished, data={**finished.data, "waived": ["2"]})
    store_chain(library, rehashed([*before, forged]))
    with pytest.raises(LedgerBroken, match="not those that people waived"):
        receipts_of(library)


def test_a_sign_off_on_other_content_than_was_judged_gets_no_receipt(library: Library) -> None:
    drop_receipts(library)
    *before, finished = entries_of(library)
    forged = replace(finished, data={**finished.data, "snapshot": "f" * 64})
    store_chain(library, rehashed([*before, forged]))
    with pytest.raises(LedgerBroken, match="the gate is shut"):
        receipts_of(library)


def test_entries_that_make_no_sense_are_an_error_and_not_a_crash(library: Library) -> None:
    honest = entries_of(library)
    refused = []
    for number, entry in enumerate(honest):
        drop_receipts(library)
        forged = list(honest)
        forged[number] = replace(entry, data={"outcome": "done"})
        store_chain(library, rehashed(forged))
        try:
            receipts_of(library)
        except LedgerBroken:
            refused.append(entry.kind)
    # What was broken before the work began proves nothing either way.
    assert len(refused) >= len(honest) - 4
    assert {Kind.PLAN_APPROVED, Kind.RUN_STARTED, Kind.STEP_DONE} <= set(refused)


def test_a_receipt_changed_in_the_home_folder_is_noticed(library: Library) -> None:
    (path,) = receipt_files(library)
    outer = json.loads(path.read_bytes())
    sig = outer["signatures"][0]["sig"]
    outer["signatures"][0]["sig"] = ("B" if sig[0] == "A" else "A") + sig[1:]
    path.write_text(json.dumps(outer, sort_keys=True, separators=(",", ":")) + "\n")
    harness, place = library.open()
    assert verify_receipt(harness.home, path, ()).result is Result.BROKEN
    with pytest.raises(ProofInvalid, match="wrong signature"):
        audit_plan(harness, place)


def test_a_receipt_is_checked_with_a_public_key_and_nothing_else(
    library: Library, tmp_path: Path
) -> None:
    (path,) = receipt_files(library)
    key = public_key(library, tmp_path / "key.pem")
    assert verify_receipt(None, path, (key,)).result is Result.KEPT
    assert verify_receipt(None, path, ()).result is Result.UNKNOWN
    other = signed_library_key(tmp_path / "other")
    assert verify_receipt(None, path, (other,)).result is Result.UNKNOWN
    assert verify_receipt(None, path, (other, key)).key == str(key)


def signed_library_key(folder: Path) -> Path:
    """The public key of somebody else."""
    from signoff.storage.keys import signing_key

    folder.mkdir()
    (folder / "key.pem").write_bytes(signing_key(folder).public.pem)
    return folder / "key.pem"


def test_a_named_key_takes_the_place_of_ones_own(library: Library, tmp_path: Path) -> None:
    """Who asks whether Ada signed it must not hear yes because they signed it themselves."""
    (path,) = receipt_files(library)
    harness, _ = library.open()
    other = signed_library_key(tmp_path / "other")
    assert verify_receipt(harness.home, path, (other,)).result is Result.UNKNOWN


def test_an_export_never_overwrites_another_file(library: Library, tmp_path: Path) -> None:
    harness, place = library.open()
    target = tmp_path / "receipt.json"
    made = export_receipt(harness, place, None, target)
    assert target.read_bytes() == made.sealed.data
    export_receipt(harness, place, made.run, target)
    target.write_text("mine")
    with pytest.raises(PlanConflict, match="exists already"):
        export_receipt(harness, place, None, target)
    assert target.read_text() == "mine"
    with pytest.raises(NoSuchRun, match="run `nope`"):
        export_receipt(harness, place, "nope", None)


def test_an_anchor_tells_a_rewritten_and_a_cut_ledger(library: Library, tmp_path: Path) -> None:
    harness, place = library.open()
    audit_plan(harness, place)
    file = tmp_path / "anchors"
    said = anchor_head(harness, place, file)
    (made,) = receipts_of(library)
    assert said.receipt == made.sealed.digest
    assert audit_plan(harness, place, anchor=file).anchors == 1
    honest = entries_of(library)
    # After the sign-off no receipt covers the entries; the anchor does.
    finished = next(e.seq for e in honest if e.kind is Kind.RUN_FINISHED)
    forged = [*honest[:finished], replace(honest[finished], data={"result": "kept"})]
    for chain in (rehashed(forged), honest[:finished]):
        store_chain(library, chain)
        assert audit_plan(harness, place).result is Result.KEPT
        store_chain(library, chain)
        with pytest.raises(LedgerBroken, match="no longer contains entry"):
            audit_plan(harness, place, anchor=file)


def test_anchors_of_other_plans_do_not_pass_for_ones_own(library: Library, tmp_path: Path) -> None:
    harness, place = library.open()
    file = tmp_path / "anchors"
    said = anchor_head(harness, place, file)
    file.write_text(replace(said, plan="other").line() + "\n")
    for _ in range(2):
        with pytest.raises(ProofInvalid, match="has no anchor of this ledger"):
            audit_plan(harness, place, anchor=file)
        file.write_text("")


def test_an_anchored_receipt_that_was_replaced_is_noticed(library: Library, tmp_path: Path) -> None:
    """Whoever has the home folder can sign anew with another key; the anchor remembers the old."""
    harness, place = library.open()
    file = tmp_path / "anchors"
    anchor_head(harness, place, file)
    drop_receipts(library)
    (harness.home.keys / "receipts.pem").unlink()
    harness, place = library.open()
    receipts_of(library)
    with pytest.raises(ProofInvalid, match="the receipt anchored at"):
        audit_plan(harness, place, anchor=file)
