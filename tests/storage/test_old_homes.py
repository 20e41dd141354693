"""What older versions wrote is read by this one, byte for byte."""

from __future__ import annotations

import json

import pytest

from signoff.domain.digests import digest_bytes
from signoff.errors import SchemaTooNew
from signoff.storage.records import check_rows
from signoff.verification.pins import PIN_FORMAT, Pins
from tests.fixtures.old import HERE, plain, read_case, row_of

CASES = sorted(path.stem for path in (HERE / "0.1.0").glob("*.json"))


@pytest.mark.parametrize("name", CASES)
def test_the_chains_and_blobs_of_an_older_version_hold_as_they_were_written(name: str) -> None:
    rows = read_case("0.1.0", name)["database"]
    assert rows["chains"]
    for head in rows["chains"]:
        entries = [row_of(e) for e in rows["entries"] if e["plan"] == head["plan"]]
        entries.sort(key=lambda row: row[1])
        report = check_rows(head["plan"], entries, (head["seq"], head["at"], head["hash"]))
        assert report.holds and report.entries == len(entries), report.problem
    for blob in rows["blobs"]:
        assert digest_bytes(plain(blob["data"])) == blob["digest"]


def test_pins_without_a_format_are_of_an_older_version() -> None:
    rows = read_case("0.1.0", "approved")["database"]
    (stored,) = [plain(b["data"]) for b in rows["blobs"] if b"plan_digest" in plain(b["data"])]
    old = Pins.from_bytes(stored)
    assert old.outdated and old.ignored is None and "format" not in json.loads(stored)
    kept = Pins.from_bytes(old.to_bytes())
    assert kept.outdated, "reading and storing makes nothing newer than it is"


def test_pins_of_a_newer_version_are_not_taken_for_ours() -> None:
    rows = read_case("0.1.0", "approved")["database"]
    (stored,) = [json.loads(b["data"][0]) for b in rows["blobs"] if "plan_digest" in b["data"][0]]
    newer = {**stored, "format": PIN_FORMAT + 1, "unheard_of": {}}
    with pytest.raises(SchemaTooNew, match="approved by a newer signoff"):
        Pins.from_bytes(json.dumps(newer).encode())
