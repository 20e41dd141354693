"""Read what known clients print about their usage: one reader per kind of output, line by line.

A line that a reader does not understand raises, and the meter goes on with the next one.
"""

from __future__ import annotations

import json
import re
from typing import Any

from signoff.agents.meter import Reader, UsageMeter
from signoff.domain.text import decode_output

_MILLION = 1_000_000


def read_claude(meter: UsageMeter, line: bytes) -> None:
    """Claude Code's `stream-json`, which qwen speaks as well."""
    told = _object(line)
    kind, message = told.get("type"), told.get("message")
    if kind == "system":
        meter.name(told.get("model"), told.get("session_id"))
        if told.get("error") == "rate_limit":
            meter.refuse("rate limit", sure=True)
    elif kind == "rate_limit_event":
        info = told["rate_limit_info"]
        if info.get("status") == "rejected":
            meter.refuse("usage limit reached", sure=True, until=info.get("resetsAt"))
    elif kind == "assistant" and isinstance(message, dict):
        _count_message(meter, message)
        words = [part["text"] for part in message["content"] if part.get("type") == "text"]
        if told.get("error"):
            meter.refuse(words[-1] if words else "", sure=told["error"] == "rate_limit")
        else:
            meter.name(message.get("model"), words=words[-1] if words else None)
    elif kind == "result":
        _count_result(meter, told)


def _count_message(meter: UsageMeter, message: dict[str, Any]) -> None:
    used = message.get("usage") or {}
    cached = used.get("cache_read_input_tokens") or 0
    fresh = used.get("input_tokens", 0) + (used.get("cache_creation_input_tokens") or 0)
    # Of Anthropic's numbers the cached ones are beside the others; of qwen's they are among them.
    beside = 0 if "total_tokens" in used else cached
    meter.count(message.get("id"), fresh + beside, used.get("output_tokens", 0), cached)


def _count_result(meter: UsageMeter, told: dict[str, Any]) -> None:
    kept = meter.limit
    meter.name(session=told.get("session_id"), words=told.get("result"))
    meter.pay(told.get("total_cost_usd"))
    models = told.get("modelUsage") or {}
    fields = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
    meter.add_up(sum(used.get(name, 0) for used in models.values() for name in fields))
    meter.add_up((told.get("usage") or {}).get("total_tokens"))
    meter.limit = kept
    if told.get("is_error"):
        said = told.get("result") or (told.get("error") or {}).get("message") or ""
        meter.refuse(said, sure=told.get("api_error_status") == 429)
    else:
        meter.limit = None


def read_codex(meter: UsageMeter, line: bytes) -> None:
    """`codex exec --json`, and the session's own log, where each request is counted."""
    told = _object(line)
    kind, item, payload = told.get("type"), told.get("item") or {}, told.get("payload") or {}
    if kind == "thread.started":
        meter.name(session=told.get("thread_id"))
    elif kind == "item.completed" and item.get("type") == "agent_message":
        meter.name(words=item.get("text"))
    elif kind == "turn.completed":
        used = told["usage"]
        meter.count("all", used["input_tokens"], used["output_tokens"], used["cached_input_tokens"])
    elif kind in ("error", "turn.failed"):
        meter.refuse(told.get("message") or told["error"]["message"])
    elif kind == "turn_context":
        meter.name(payload.get("model"))
    elif payload.get("type") == "token_count" and payload.get("info"):
        used = payload["info"]["total_token_usage"]
        meter.count("all", used["input_tokens"], used["output_tokens"], used["cached_input_tokens"])


def read_gemini(meter: UsageMeter, line: bytes) -> None:
    """`gemini -o stream-json`, and the chat's own log, where each answer is counted."""
    if line.startswith(b"Attempt ") and b"429" in line:  # on standard error, while it tries again
        meter.refuse(decode_output(line), sure=True)
    told = _object(line)
    kind = told.get("type")
    if kind == "init":
        meter.name(session=told.get("session_id"))
    elif kind == "message" and told.get("role") == "assistant":
        meter.name(words=told.get("content"))
    elif kind == "gemini" and told.get("tokens"):
        used = told["tokens"]
        meter.name(told.get("model"))
        output = used["total"] - used["input"]
        meter.count(told["id"], used["input"], output, used.get("cached", 0))
    elif kind == "result":
        stats = told.get("stats") or {}
        meter.add_up(stats.get("total_tokens"))
        if told.get("status") == "error":
            meter.refuse(told.get("error"))
    elif kind == "error":
        meter.refuse(told.get("message"))


def read_pi(meter: UsageMeter, line: bytes) -> None:
    """`pi --mode json`: every message with its usage and its price."""
    if line.startswith(b'{"type":"message_update"'):
        return  # the same message over and over as it grows
    told = _object(line)
    kind, message = told.get("type"), told.get("message") or {}
    if kind == "session":
        meter.name(session=told.get("id"))
    elif kind == "message_end" and message.get("role") == "assistant":
        used = message["usage"]
        cached = used["cacheRead"]
        words = [part["text"] for part in message["content"] if part.get("type") == "text"]
        meter.name(message.get("model"), words=words[-1] if words else None)
        fresh = used["input"] + used["cacheWrite"]
        known = message.get("responseId") or message.get("timestamp")
        meter.count(known, fresh + cached, used["output"], cached, used["cost"]["total"])
        if message.get("stopReason") == "error":
            meter.refuse(message.get("errorMessage"))
    elif kind == "auto_retry_end" and not told.get("success"):
        meter.refuse(told.get("finalError"))


def read_opencode(meter: UsageMeter, line: bytes) -> None:
    """`opencode run --format json`: every step with its tokens and its price."""
    told = _object(line)
    kind, part = told.get("type"), told.get("part") or {}
    meter.name(session=told.get("sessionID"))
    if kind == "text":
        meter.name(words=part.get("text"))
    elif kind == "step_finish":
        used = part["tokens"]
        cached = used["cache"]["read"]
        fresh, output = used["input"] + used["cache"]["write"], used["output"] + used["reasoning"]
        meter.count(part["id"], fresh + cached, output, cached, part["cost"])
    elif kind == "error":
        meter.refuse(told.get("error"))


_AIDER = re.compile(
    r"Tokens: ([\d.,]+)(k|M)? sent(?:, [^,]*cache[^,]*)*, ([\d.,]+)(k|M)? received\."
    r"(?: Cost: \$[\d.]+ message, \$([\d.]+) session)?"
)
_THOUSANDS = {"": 1, None: 1, "k": 1_000, "M": _MILLION}


def read_aider(meter: UsageMeter, line: bytes) -> None:
    """Read the line for people that aider prints after every answer."""
    text = decode_output(line)
    used = _AIDER.match(text)
    if used is not None:
        sent, received = (
            round(float(number.replace(",", "")) * _THOUSANDS[unit])
            for number, unit in (used.group(1, 2), used.group(3, 4))
        )
        meter.count(None, sent, received)
        if used[5]:
            meter.pay(float(used[5]))
    elif text.startswith("litellm.RateLimitError"):
        meter.refuse(text, sure=True)
    elif text.startswith("Main model: "):
        meter.name(text.removeprefix("Main model: ").partition(" with ")[0])


_MINI = re.compile(r"mini-swe-agent \(step \d+, \$([\d.]+)\):")


def read_mini(meter: UsageMeter, line: bytes) -> None:
    """Read the lines for people of mini-swe-agent: dollars before every step, and no tokens."""
    text = decode_output(line)
    paid = _MINI.match(text)
    if paid is not None:
        meter.pay(float(paid[1]))
        meter.limit = None
    elif "litellm.RateLimitError" in text and text.startswith(("Retrying ", "litellm.")):
        meter.refuse(text, sure=True)


def read_nothing(meter: UsageMeter, line: bytes) -> None:
    """A command of which nothing is known."""
    del meter, line


def _object(line: bytes) -> dict[str, Any]:
    told = json.loads(line) if line.startswith(b"{") else {}
    return told if isinstance(told, dict) else {}


# By the name of the client's preset.
READERS: dict[str, Reader] = {
    "claude": read_claude,
    "codex": read_codex,
    "gemini": read_gemini,
    "qwen": read_claude,
    "opencode": read_opencode,
    "aider": read_aider,
    "pi": read_pi,
    "mini": read_mini,
}
