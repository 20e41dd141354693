"""A receipt's statement: an in-toto shape, the same bytes for the same facts, anchors that read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from signoff.domain.plan import Contract, Effects, Expectation, ExpectationKind
from signoff.domain.receipt import (
    Anchor,
    ApprovalProof,
    LedgerSlice,
    PlanName,
    Receipt,
    RunSpan,
    SubjectProof,
    VerdictProof,
    contract_proof,
    read_anchor,
    summary_of,
)

ANCHOR = Anchor("p", "PLAN", 3, "a" * 64, "2026-01-02T03:04:05.000006+00:00", None)
VERDICT = VerdictProof(
    7, "attempt", "kept", "held", "k", "s", "e", "none", "clean", None, {"passed": 2}, None
)
STEP = SubjectProof(
    "1", "Dig", "done", contract_proof(Contract("test -s hole")), VERDICT, 1, False, False
)
RECEIPT = Receipt(
    workspace="work",
    snapshot="5" * 64,
    plan=PlanName("p", "PLAN", "Dig a hole", "d" * 64),
    run=RunSpan("r", "2026-01-01", "2026-01-02", None),
    approval=ApprovalProof(1, "2026-01-01", "ada", True, None),
    pins="b" * 64,
    ledger=LedgerSlice(1, 9, "c" * 64),
    runner=("signoff 1",),
    steps=(STEP,),
    postconditions=(),
    waivers=(),
    agents=(),
    attempts=(),
    previous=None,
)


def test_a_receipt_is_an_in_toto_statement_about_the_content() -> None:
    statement = RECEIPT.statement()
    assert set(statement) == {"_type", "subject", "predicateType", "predicate"}
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["subject"] == [{"name": "work", "digest": {"signoffSnapshot1": "5" * 64}}]
    assert statement["predicate"]["steps"][0]["verdict"]["seq"] == 7
    assert json.loads(json.dumps(statement)) == statement


def test_the_nonce_is_new_for_every_head_and_the_same_when_made_again() -> None:
    other = replace(RECEIPT, ledger=LedgerSlice(1, 9, "e" * 64))
    nonces = [r.statement()["predicate"]["nonce"] for r in (RECEIPT, RECEIPT, other)]
    assert nonces[0] == nonces[1] != nonces[2]


def test_text_that_no_canonical_json_can_hold_is_shown_as_escapes() -> None:
    statement = replace(RECEIPT, workspace="w\udcff").statement()
    assert statement["subject"][0]["name"] == "w\\udcff"


def test_options_left_at_their_defaults_do_not_change_a_contracts_digest() -> None:
    """So a later version with more options gives old contracts the digest they always had."""
    digest = "7abbd9009aff059b4e24698e31024ef1ec0bda9e7911b5dc4128ee8960c47c9b"
    plain = Contract("pytest -q")
    assert contract_proof(plain).digest == digest
    assert contract_proof(plain) == contract_proof(Contract("pytest -q", timeout_s=60.0, line=9))
    changes: list[dict[str, Any]] = [
        {"command": "true"},
        {"timeout_s": 61.0},
        {"effects": Effects.EXTERNAL},
        {"expectations": (Expectation(ExpectationKind.EXIT_CODE, 1),)},
    ]
    digests = {contract_proof(replace(plain, **change)).digest for change in changes}
    assert len({digest, *digests}) == 5


def test_the_gist_of_a_statement_names_every_subject_and_its_isolation() -> None:
    waived = replace(STEP, id="2", state="waived", verdict=None)
    summary = summary_of(replace(RECEIPT, steps=(STEP, waived)).statement())
    assert summary.lines == (("kept", "1", "Dig"), ("waived", "2", "Dig"))
    assert summary.isolation == ("none",)


@pytest.mark.parametrize(
    "change",
    [
        {"predicate": {}},
        {"predicate": {"steps": 1}},
        {"subject": []},
        {"subject": [{"name": "w", "digest": {"sha256": "5"}}]},
        {"subject": [{"digest": {"signoffSnapshot1": 5}}]},
    ],
)
def test_a_statement_without_the_gist_of_a_receipt_is_told_apart(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="receipt says more"):
        summary_of({**RECEIPT.statement(), **change})


def test_an_anchor_survives_its_line() -> None:
    assert read_anchor(ANCHOR.line()) == ANCHOR
    signed = replace(ANCHOR, receipt="f" * 64, name="é\n")
    assert read_anchor(signed.line()) == signed and "\n" not in signed.line()


@pytest.mark.parametrize(
    "line",
    [
        "",
        "[]",
        "{}",
        ANCHOR.line().replace('"seq": 3', '"seq": "3"'),
        ANCHOR.line().replace('"seq": 3', '"seq": true'),
        ANCHOR.line().replace("null", "7"),
        ANCHOR.line().replace('"PLAN"', "null"),
        ANCHOR.line().replace('"at"', '"when"'),
    ],
)
def test_a_line_that_is_no_anchor_is_refused(line: str) -> None:
    with pytest.raises(ValueError):
        read_anchor(line)
