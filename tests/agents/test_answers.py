"""An agent may say that it cannot finish; malformed or hostile answer files stop nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from signoff.agents.assignment import Answer, AnswerKind, read_answer


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        ("blocked: the registry is down", AnswerKind.BLOCKED, "the registry is down"),
        ("Impossible\nthe two tests contradict", AnswerKind.IMPOSSIBLE, "the two tests contradict"),
        ("needs-input: which port?", AnswerKind.NEEDS_INPUT, "which port?"),
        ("NEEDS_INPUT", AnswerKind.NEEDS_INPUT, ""),
        ('{"answer": "blocked", "reason": "no key"}', AnswerKind.BLOCKED, "no key"),
        ('{"answer": 7, "reason": ["x"]}', AnswerKind.NEEDS_INPUT, ""),
        ("Which database: A or B?", AnswerKind.NEEDS_INPUT, "Which database: A or B?"),
        ("done", AnswerKind.NEEDS_INPUT, "done"),
    ],
)
def test_an_answer_is_read(tmp_path: Path, text: str, kind: AnswerKind, reason: str) -> None:
    path = tmp_path / "answer"
    path.write_text(text)
    assert read_answer(path) == Answer(kind, reason)


def test_no_file_and_an_empty_file_are_no_answer(tmp_path: Path) -> None:
    assert read_answer(tmp_path / "answer") is None
    (tmp_path / "answer").write_text(" \n")
    assert read_answer(tmp_path / "answer") is None


def test_a_long_reason_is_cut_and_a_huge_file_is_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "answer"
    path.write_text("blocked: " + "x" * 10_000)
    answer = read_answer(path)
    assert answer is not None and len(answer.reason) == 4_000
    path.write_text("x" * 200_000)
    assert read_answer(path) is None


def test_a_pipe_a_folder_or_a_link_is_no_answer(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("blocked: other people's words")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    assert [read_answer(tmp_path / n) for n in ("link", "pipe", "folder")] == [None] * 3


def test_bytes_that_are_no_text_are_still_an_answer(tmp_path: Path) -> None:
    (tmp_path / "answer").write_bytes(b"blocked: \xff\xfe")
    answer = read_answer(tmp_path / "answer")
    assert answer is not None and answer.kind is AnswerKind.BLOCKED
