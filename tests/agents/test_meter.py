"""What real clients printed, and what a meter makes of it; forged lines never lower a count."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from signoff.agents.assignment import Usage
from signoff.agents.meter import UsageMeter, reset_named_in
from signoff.agents.presets import PRESETS
from signoff.agents.readers import READERS
from signoff.settings.roles import Price, price_of

RECORDED = Path(__file__).parent / "recorded"
NOW = 1_764_500_000.0


def listen(name: str, file: str, **known: object) -> UsageMeter:
    meter = UsageMeter(READERS[name], {}, **known)  # type: ignore[arg-type]
    for line in (RECORDED / file).read_bytes().splitlines(keepends=True):
        meter.feed("stdout", line)
    meter.finish()
    return meter


@pytest.mark.parametrize(
    ("name", "file", "usage", "words"),
    [
        (
            "claude",
            "claude-2.1.197.jsonl",
            Usage(3060, 0.0165, "claude-opus-4-8", "9ace58a7-78e1-4e4f-8e36-3c3f0cc0e655"),
            "Final words: done.",
        ),
        (
            "codex",
            "codex-0.169.0.jsonl",
            Usage(2040, None, "", "01a1ecee-3651-7d33-9f66-8b3d1dba48c4"),
            "Final words: done.",
        ),
        (
            "gemini",
            "gemini-0.61.0.jsonl",
            Usage(3060, None, "", "429185aa-9031-4ea6-a865-9d4400ca8b29"),
            "Final words: done.",
        ),
        (
            "qwen",
            "qwen-0.15.10.jsonl",
            Usage(2040, 0.0029, "gpt-5", "e510b668-55d6-4940-bafd-f677bc6bf1f4"),
            "Final words: done.",
        ),
        (
            "pi",
            "pi-0.74.2.jsonl",
            Usage(2040, 0.00208, "m", "01a1ecf3-bae6-72bf-b7cb-0124655d0698"),
            "Final words: done.",
        ),
        (
            "opencode",
            "opencode-1.18.33.jsonl",
            Usage(2040, 0.00208, "", "ses_e130b5f3affeKYvPhV7OVfsFjy"),
            "Final words: done.",
        ),
        ("aider", "aider-0.86.2.txt", Usage(2410, 0.0061, "openai/gpt-4o"), ""),
        ("mini", "mini-2.4.6.txt", Usage(None, 0.02), ""),
    ],
)
def test_every_client_is_understood(name: str, file: str, usage: Usage, words: str) -> None:
    meter = listen(name, file)
    used = meter.usage()
    assert used is not None
    assert used.usd == (None if usage.usd is None else pytest.approx(usage.usd))
    assert (used.tokens, used.model, used.session) == (usage.tokens, usage.model, usage.session)
    assert (meter.words, meter.limit) == (words, None)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("claude", "claude-2.1.197-limit.jsonl"),
        ("codex", "codex-0.169.0-limit.jsonl"),
        ("pi", "pi-0.74.2-limit.jsonl"),
        ("aider", "aider-0.86.2-limit.txt"),
        ("opencode", "opencode-1.18.33-limit.jsonl"),
        # These two try again for longer than a step lasts: it is their time that ends them.
        ("gemini", "gemini-0.61.0-limit.jsonl"),
        ("mini", "mini-2.4.6-limit.txt"),
    ],
)
def test_a_client_that_ended_by_a_limit_is_told_from_one_that_failed(name: str, file: str) -> None:
    assert listen(name, file).limit is not None


def test_what_a_model_says_of_limits_is_no_limit() -> None:
    meter = UsageMeter(READERS["claude"], {})
    meter.feed(
        "stdout",
        b'{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":"rate limit'
        b' 429, usage limit reached"}],"usage":{"input_tokens":5,"output_tokens":1}}}\n'
        b'{"type":"result","is_error":false,"result":"429 usage limit reached"}\n',
    )
    meter.finish()
    assert meter.limit is None


def test_a_limit_that_passed_while_the_client_tried_again_is_none() -> None:
    meter = UsageMeter(READERS["claude"], {})
    meter.feed("stdout", b'{"type":"system","subtype":"api_retry","error":"rate_limit"}\n')
    assert meter.limit is not None
    meter.feed(
        "stdout",
        b'{"type":"assistant","message":{"id":"a","content":[],'
        b'"usage":{"input_tokens":5,"output_tokens":1}}}\n',
    )
    assert meter.limit is None


def test_codex_is_counted_from_its_log_while_it_works(tmp_path: Path) -> None:
    session = "01a1ecee-3651-7d33-9f66-8b3d1dba48c4"
    folder = tmp_path / ".codex/sessions/2026/11/18"
    folder.mkdir(parents=True)
    log = (RECORDED / "codex-0.169.0.log").read_text().splitlines(keepends=True)
    file = folder / f"rollout-2026-11-18T04-33-16-{session}.jsonl"
    file.write_text("".join(log[:-1]))
    codex = PRESETS["codex"]
    meter = UsageMeter(READERS["codex"], {}, codex.log, tmp_path)
    meter.feed("stdout", f'{{"type":"thread.started","thread_id":"{session}"}}\n'.encode())
    meter.read_log()
    assert meter.usage() == Usage(1020, 0.00145, "gpt-5", session)
    file.write_text("".join(log))
    meter.read_log()
    assert meter.usage() == Usage(2040, 0.0029, "gpt-5", session)


def test_gemini_is_counted_from_its_log_while_it_works(tmp_path: Path) -> None:
    folder = tmp_path / ".gemini/tmp/work/chats"
    folder.mkdir(parents=True)
    text = (RECORDED / "gemini-0.61.0.log").read_text()
    (folder / "session-2026-11-18T04-39-429185aa.jsonl").write_text(text)
    gemini = PRESETS["gemini"]
    meter = UsageMeter(READERS["gemini"], {}, gemini.log, tmp_path)
    meter.feed("stdout", b'{"type":"init","session_id":"429185aa-9031-4ea6-a865-9d4400ca8b29"}\n')
    meter.read_log()
    used = meter.usage()
    assert used is not None
    assert (used.tokens, used.model) == (2040, "gemini-3.1-pro-preview")


@pytest.mark.parametrize(
    "forged",
    [
        b'{"type":"result","is_error":false,"total_cost_usd":0,"modelUsage":{}}\n',
        b'{"type":"assistant","message":{"id":"msg_2e45c88be5bd4e0a90be","content":[],'
        b'"usage":{"input_tokens":-5000,"output_tokens":0}}}\n',
        b'{"type":"assistant","message":{"id":"msg_2e45c88be5bd4e0a90be","content":[],'
        b'"usage":{"input_tokens":0,"output_tokens":0}}}\n',
        b'{"type":"result","total_cost_usd":NaN}\n',
        b'{"type":"result","usage":[]}\n',
        b"[" * 100_000 + b"\n",
        b'{"type":"assistant","message":7}\n',
    ],
)
def test_no_line_that_an_agent_forges_lowers_what_was_counted(forged: bytes) -> None:
    meter = UsageMeter(READERS["claude"], {})
    meter.feed("stdout", (RECORDED / "claude-2.1.197.jsonl").read_bytes())
    meter.feed("stdout", forged)
    meter.finish()
    used = meter.usage()
    assert used is not None
    assert (used.tokens, used.usd) == (3060, 0.0165)


def test_a_log_that_is_a_link_or_a_pipe_is_not_read(tmp_path: Path) -> None:
    folder = tmp_path / ".codex/sessions/2026/11/18"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "rollout-x-01a1ecee-0000.jsonl")
    (folder / "rollout-x-01a1ecee-1111.jsonl").symlink_to(RECORDED / "codex-0.169.0.log")
    for session in ("01a1ecee-0000", "01a1ecee-1111", "../../x", "*"):
        meter = UsageMeter(READERS["codex"], {}, PRESETS["codex"].log, tmp_path, session=session)
        meter.read_log()
        assert meter.usage() is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Claude AI usage limit reached|1764510000", 10_000.0),
        ("Rate limit reached. Please try again in 20s.", 20.0),
        ("You've hit your usage limit. Try again in 3 days 4 hours 12 minutes.", 274_320.0),
        ("retry after 1h 5m", 3_900.0),
        ("please try again in 850ms", 0.85),
        ("Overloaded", None),
    ],
)
def test_the_time_that_a_client_names_is_read(text: str, seconds: float | None) -> None:
    assert reset_named_in(text, NOW) == (None if seconds is None else pytest.approx(NOW + seconds))


def test_an_hour_is_the_next_one_of_that_name() -> None:
    until = reset_named_in("You've hit your session limit · resets 3pm", NOW)
    assert until is not None
    assert 0 < until - NOW <= 24 * 3600


def test_the_users_price_stands_over_ours_and_other_models_have_none() -> None:
    mine = {"gpt-5": Price(100, 200)}
    assert price_of("openai/gpt-5", mine) == Price(100, 200)
    assert price_of("claude-sonnet-4-5-20250929", {}) == Price(3, 15, 0.3)
    assert price_of("gpt-5-pro", {}) is None
