"""Programs in the clients' places: they insist on their flags, speak as the real ones and end.

What each prints was recorded from the real client (`tests/agents/recorded`). Nothing is talked to.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from signoff.agents.presets import PRESETS

RECORDED = Path(__file__).parents[1] / "agents" / "recorded"

# Without these the real one asks a person, confines itself, or says nothing that can be read.
INSISTS_ON = {
    "claude": "-p --output-format stream-json --verbose --dangerously-skip-permissions",
    "codex": "exec --json --dangerously-bypass-approvals-and-sandbox",
    "gemini": "-o stream-json --approval-mode yolo --skip-trust",
    "qwen": "-o stream-json --approval-mode yolo",
    "opencode": "run --format json",
    "aider": "--yes-always --no-auto-commits --no-pretty --no-stream --message-file /dev/stdin",
    "pi": "-p --mode json",
    "mini": "-y --exit-immediately -t",
}


class Conduct(StrEnum):
    """What a stand-in does beside saying that it is done."""

    WORKS = "echo hello > hello.txt"
    LIES = ":"
    SPENDS = "trap '' TERM; end='exec sleep 600'"  # it would never end by itself


def stand_in(name: str, conduct: Conduct) -> str:
    """The text of the program."""
    (recorded,) = (p for p in RECORDED.glob(f"{name}-*.[jt]*") if "limit" not in p.name)
    wanted = "".join(f'wants "{word}" "$@"\n' for word in INSISTS_ON[name].split())
    folder = PRESETS[name].folders[0]
    return f"""\
#!/bin/sh
wants() {{
    word=$1; shift
    for given in "$@"; do [ "$given" != "$word" ] || return 0; done
    echo "{name}: $word is missing" >&2; exit 2
}}
{wanted}
{{ printf '%s\\n' "$@"; cat; }} | grep -q 'hello.txt' || {{ echo "{name}: no prompt" >&2; exit 2; }}
date > "$HOME/{folder}/session" || exit 3
{conduct}
cat <<'END'
{recorded.read_text()}
END
$end
"""
