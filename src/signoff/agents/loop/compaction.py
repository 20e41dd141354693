"""When the context fills: the conversation becomes a summary; plan and evidence live elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from signoff.agents.loop.asking import text_size
from signoff.agents.loop.limits import CHARACTERS_A_TOKEN
from signoff.domain.text import tail

FULL_AT = 0.8  # of the model's context; the rest is for the answer
RECORD_SHARE = 0.4  # of the context, for the record that is summarised
KEPT_SHARE = 0.2  # of the context, for the latest exchange that is kept word by word
LONGEST_PIECE = 1_500
SUMMARY_REQUEST = """\
Below is the record of an agent's work so far. Summarise it for the agent that goes on: what was
asked, what was found out (paths, names, numbers that matter, quoted exactly), what was changed,
what failed and why, and what comes next. Claim nothing that the record does not show. Write plain
text, at most 800 words.

<record>
{record}
</record>"""
AFTER_COMPACTION = """\
{task}

The conversation so far grew too long and was replaced by this summary, written by a model:
<summary>
{summary}
</summary>
{plan}
Go on from here. The plan, its evidence and the scratchpad are kept by the harness and are complete;
the summary is not. Call plan_show to re-orient."""


def is_full(tokens: int, context_tokens: int) -> bool:
    """Whether the next answer may not fit any more."""
    return tokens >= FULL_AT * context_tokens


def summary_request(messages: Sequence[ModelMessage], context_tokens: int) -> ModelRequest:
    """Asks for a summary, with the record as one text.

    Not as a conversation: providers refuse one with calls in it when no tools are offered.
    """
    room = int(context_tokens * RECORD_SHARE) * CHARACTERS_A_TOKEN
    record = "\n".join(line for m in messages for line in _lines(m))
    return ModelRequest.user_text_prompt(SUMMARY_REQUEST.format(record=tail(record, room)))


def compacted(
    task: str, summary: str, plan: str, messages: Sequence[ModelMessage], context_tokens: int
) -> list[ModelMessage]:
    """What stands for the conversation from now on: task, summary, plan, the latest exchange."""
    shown = f"\nThe plan as the harness has it:\n{plan}\n" if plan else ""
    text = AFTER_COMPACTION.format(task=task, summary=summary, plan=shown)
    kept = _latest_exchange(messages)
    if text_size(kept) > int(context_tokens * KEPT_SHARE) * CHARACTERS_A_TOKEN:
        kept = []
    return [ModelRequest.user_text_prompt(text), *kept]


def bare_record(messages: Sequence[ModelMessage], context_tokens: int) -> str:
    """In place of a summary when the model gives none: the end of the record itself."""
    room = int(context_tokens * KEPT_SHARE) * CHARACTERS_A_TOKEN
    return tail("\n".join(line for m in messages for line in _lines(m)), room)


def _latest_exchange(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The last answer and what was told to it; a call is never kept without its result."""
    for at in range(len(messages) - 1, 0, -1):
        if isinstance(messages[at], ModelResponse):
            return list(messages[at:]) if at < len(messages) - 1 else []
    return []


def _lines(message: ModelMessage) -> list[str]:
    found = []
    for part in message.parts:
        match part:
            case UserPromptPart():
                found.append(f"harness: {_cut(str(part.content))}")
            case TextPart():
                found.append(f"agent: {_cut(part.content)}")
            case ToolCallPart():
                found.append(f"agent calls {part.tool_name} {_cut(str(part.args or ''))}")
            case ToolReturnPart():
                found.append(f"{part.tool_name} gave: {_cut(part.model_response_str())}")
    return found


def _cut(text: str) -> str:
    if len(text) <= LONGEST_PIECE:
        return text
    half = LONGEST_PIECE // 2
    return f"{text[:half]} [...] {text[-half:]}"
