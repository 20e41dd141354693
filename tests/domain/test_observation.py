"""What a process did is told in a few words, and what was not kept of its output is counted."""

from __future__ import annotations

import pytest

from signoff.domain.verdict import Ending, Observation, Output

SILENT = Output(0, "", b"", b"")


def observed(ending: Ending, detail: str = "") -> Observation:
    exit_code = 3 if ending is Ending.EXITED else None
    signal = 9 if ending is Ending.SIGNALLED else None
    return Observation(ending, exit_code, signal, 0.1, SILENT, SILENT, detail=detail)


def test_a_short_stream_is_kept_whole() -> None:
    whole = Output(6, "", b"abc", b"def")
    assert whole.complete
    assert whole.kept == b"abcdef"


def test_a_long_stream_says_how_much_was_not_kept() -> None:
    cut = Output(1_000_006, "", b"abc", b"def")
    assert not cut.complete
    assert cut.kept == b"abc\n[... 1000000 bytes not kept ...]\ndef"


@pytest.mark.parametrize(
    ("ending", "detail", "said"),
    [
        (Ending.EXITED, "", "exit code 3"),
        (Ending.SIGNALLED, "", "killed by signal 9"),
        (Ending.TIMED_OUT, "after 60 s", "timed out: after 60 s"),
        (Ending.NOT_FOUND, "", "not found"),
    ],
)
def test_an_ending_is_told_in_a_few_words(ending: Ending, detail: str, said: str) -> None:
    assert observed(ending, detail).describe() == said
