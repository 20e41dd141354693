"""What an agent says it used: a malformed report is no report, and none can stop the run."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from signoff.agents.assignment import Usage, read_usage


@pytest.mark.parametrize(
    ("text", "usage"),
    [
        ('{"tokens": 1200, "usd": 0.25}', Usage(1200, 0.25)),
        ('{"tokens": 1200}', Usage(1200, None)),
        ('{"usd": 1}', Usage(None, 1.0)),
        ('{"tokens": 5, "model": "x", "usd": 0}', Usage(5, 0.0, "x")),
    ],
)
def test_a_report_is_read(tmp_path: Path, text: str, usage: Usage) -> None:
    path = tmp_path / "usage.json"
    path.write_text(text)
    assert read_usage(path) == usage


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tokens: 5",
        "[1, 2]",
        "{}",
        "5",
        "null",
        '"done"',
        '{"tokens": -1}',
        '{"usd": -0.01}',
        '{"tokens": NaN}',
        '{"usd": NaN}',
        '{"usd": Infinity}',
        '{"usd": -Infinity}',
        '{"usd": 1e999}',
        '{"tokens": true}',
        '{"usd": false}',
        '{"tokens": "5"}',
        '{"usd": "0.5"}',
        '{"tokens": 1.5}',
        '{"tokens": null}',
        '{"tokens": [5]}',
        '{"tokens": 1' + "0" * 400 + "}",
        '{"tokens": 1' + "0" * 5_000 + "}",
        '{"usd": 1e300}',
        "[" * 50_000,
        '{"tokens": 5}' + " " * 100_000,
    ],
    ids=lambda text: text[:24] or "empty",
)
def test_a_report_that_cannot_be_meant_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "usage.json"
    path.write_text(text)
    assert read_usage(path) is None


def test_a_report_that_is_no_text_is_none(tmp_path: Path) -> None:
    (tmp_path / "usage.json").write_bytes(b"\xff\xfe\xff")
    assert read_usage(tmp_path / "usage.json") is None


def test_without_a_report_there_is_none(tmp_path: Path) -> None:
    assert read_usage(tmp_path / "usage.json") is None


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text(json.dumps({"tokens": 5}))
    (tmp_path / "usage.json").symlink_to("real.json")
    assert read_usage(tmp_path / "usage.json") is None


def test_a_folder_or_a_pipe_is_none_and_nobody_waits(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert read_usage(tmp_path / "pipe") is None
    assert read_usage(tmp_path) is None
    assert read_usage(Path("/dev/zero")) is None
