"""Counts of outputs that real runners printed, kept byte for byte in `samples/`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from signoff.domain.verdict import TestCounts
from signoff.verification.counting.verbose import look_at
from signoff.verification.denominator import count_tests

Sample = dict[str, Any]

SAMPLES = Path(__file__).parent / "samples"
INDEX: list[Sample] = tomllib.loads((SAMPLES / "index.toml").read_text("utf-8"))["sample"]
# The forger shows itself where the contract hides its runner: see test_counting_forgers.
HONEST = [s for s in INDEX if "forger" not in s["name"]]
ENDINGS = [s for s in HONEST if not s.get("document")]
JUNK = b"\xff\xfe\x80 \xc3(\n"


def _named(samples: list[Sample]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("sample", samples, ids=[s["name"] for s in samples])


def _stream(sample: Sample, stream: str) -> bytes:
    path = SAMPLES / f"{sample['name']}.{stream}"
    return path.read_bytes() if path.exists() else b""


def _streams(sample: Sample) -> tuple[bytes, bytes]:
    return _stream(sample, "stdout"), _stream(sample, "stderr")


def _reports(sample: Sample) -> dict[str, bytes]:
    path = SAMPLES / f"{sample['name']}.xml"
    return {path.name: path.read_bytes()} if path.exists() else {}


def _numbers(counts: TestCounts | None) -> list[int]:
    assert counts is not None
    return [counts.passed, counts.failed, counts.skipped, counts.deselected]


@_named(INDEX)
def test_what_a_real_runner_printed_is_counted(sample: Sample) -> None:
    counts = count_tests(sample["command"], *_streams(sample), _reports(sample))
    assert _numbers(counts) == sample["counts"]


@_named(INDEX)
def test_a_contract_that_calls_a_real_runner_is_seen_to_run_tests(sample: Sample) -> None:
    assert look_at(sample["command"]).calls


@_named(ENDINGS)
def test_a_runner_whose_stream_was_redirected_is_counted_the_same(sample: Sample) -> None:
    out, err = _streams(sample)
    for streams in ((err + out, b""), (b"", err + out)):
        counts = count_tests(sample["command"], *streams, _reports(sample))
        assert _numbers(counts) == sample["counts"]


@_named(ENDINGS)
def test_windows_line_ends_and_broken_bytes_do_not_change_a_count(sample: Sample) -> None:
    out, err = ((JUNK + data).replace(b"\n", b"\r\n") for data in _streams(sample))
    counts = count_tests(sample["command"], out, err, _reports(sample))
    assert _numbers(counts) == sample["counts"]


@_named(ENDINGS)
def test_a_contract_that_hides_its_runner_is_counted_by_what_it_prints(sample: Sample) -> None:
    counts = count_tests("make test", *_streams(sample), _reports(sample))
    assert _numbers(counts) == sample["counts"]
    assert counts is not None
    assert "not seen in the contract" in counts.source or "report" in counts.source
