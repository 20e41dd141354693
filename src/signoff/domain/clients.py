"""The dialects of the clients people use: event names, tools that write, how each is answered.

read_event(client, data) → HookEvent · block · deny_tool · add_context: what a hook prints
A hook that prints nothing allows: every client takes silence and exit code 0 for a yes.
Light, for the fast path of `signoff hook`. What is said here about shell commands is advisory only:
nobody can tell from a command's text what it will write.
"""

from __future__ import annotations

from collections import namedtuple
from enum import StrEnum

# Not `typing.TYPE_CHECKING`: loading `typing` takes longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

LONGEST_CONTEXT = 10_000  # codex and Claude Code cut what is longer
LONGEST_MESSAGE = 20_000
_LONGEST_ID = 200
_MOST_PATHS = 1000


class HookKind(StrEnum):
    """Events of a client, in the words of `signoff hook CLIENT EVENT`."""

    SESSION_START = "session-start"
    BEFORE_TOOL = "before-tool"
    STOP = "stop"
    SESSION_END = "session-end"


# How long a client is told to wait for each hook; a hook must answer in less.
TIMEOUT_S: dict[HookKind, int] = {
    HookKind.SESSION_START: 30,
    HookKind.BEFORE_TOOL: 30,
    HookKind.STOP: 300,
    HookKind.SESSION_END: 60,
}

# What a client cuts a longer timeout down to.
_LONGEST_WAITS_S = {("codex", HookKind.SESSION_END): 3}


class Client(namedtuple("Client", ("name", "title", "events", "refusal", "timeout_unit"))):
    """One client's dialect: its event names, its word for no, and hook timeouts per second."""

    __slots__ = ()
    name: str
    title: str
    events: Mapping[HookKind, str]
    refusal: str
    timeout_unit: int

    def timeout_s(self, kind: HookKind) -> int:
        """Seconds that the client waits for the hook, whatever it is told."""
        return min(TIMEOUT_S[kind], _LONGEST_WAITS_S.get((self.name, kind), TIMEOUT_S[kind]))

    def timeout(self, kind: HookKind) -> int:
        """The hook's timeout in the client's own unit."""
        return self.timeout_s(kind) * self.timeout_unit


_EVENTS = {
    HookKind.SESSION_START: "SessionStart",
    HookKind.BEFORE_TOOL: "PreToolUse",
    HookKind.STOP: "Stop",
    HookKind.SESSION_END: "SessionEnd",
}
_GEMINI_EVENTS = {
    **_EVENTS,
    HookKind.BEFORE_TOOL: "BeforeTool",
    HookKind.STOP: "AfterAgent",
}
_SECONDS, _MILLISECONDS = 1, 1000
CLIENTS: dict[str, Client] = {
    "claude": Client("claude", "Claude Code", _EVENTS, "block", _SECONDS),
    "codex": Client("codex", "codex", _EVENTS, "block", _SECONDS),
    "gemini": Client("gemini", "gemini-cli", _GEMINI_EVENTS, "deny", _MILLISECONDS),
    # Newer versions count in seconds, and read 1000 and more as milliseconds all the same.
    "qwen": Client("qwen", "qwen-code", _EVENTS, "block", _MILLISECONDS),
}

# Tools that write the files they name; no two clients use one name for different things.
WRITERS = frozenset(
    {
        "Write", "Edit", "MultiEdit", "NotebookEdit",  # Claude Code
        "apply_patch",  # codex
        "write_file", "replace",  # gemini-cli, qwen-code
        "edit", "notebook_edit",  # qwen-code
    }
)  # fmt: skip
SHELLS = frozenset(
    {
        "Bash", "PowerShell",  # Claude Code; codex calls its shells `Bash` too
        "shell", "shell_command", "exec_command", "local_shell", "write_stdin",  # codex
        "run_shell_command",  # gemini-cli, qwen-code
    }
)  # fmt: skip
# Tools of MCP servers are known by no list; their names say what they do.
_WRITING_WORDS = (
    "write", "edit", "create", "delete", "remove", "move", "rename", "replace", "patch", "append",
    "insert", "update", "save", "copy", "upload", "mkdir", "truncate",
)  # fmt: skip
_PATH_FIELDS = (
    "file_path", "notebook_path", "path", "absolute_path", "relative_path", "filename", "filepath",
    "file", "target_file", "target", "uri", "source", "destination", "from", "to", "old_path",
    "new_path", "paths", "files", "file_paths", "edits",
)  # fmt: skip
_TEXT_FIELDS = ("command", "cmd", "script", "input", "patch", "chars")
_PATCH_START = "*** Begin Patch"
_PATCH_LINES = ("*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:")


class HookEvent(
    namedtuple(
        "HookEvent",
        "kind session cwd tool paths command writes last_message problem",
        defaults=(None, "", "", "", (), "", False, "", ""),
    )
):
    """An event that a client sent to its hook; `problem` says why it is not understood, else empty.

    `paths` are as the agent wrote them, absolute or relative to `cwd`, and only those that a tool
    says it will write. What they say of `stop_hook_active` is not read: it is no
    loop guard, clients set it as they please.
    """

    __slots__ = ()
    kind: HookKind | None
    session: str
    cwd: str
    tool: str
    paths: tuple[str, ...]
    command: str
    writes: bool
    last_message: str
    problem: str


def read_event(client: Client, data: object, said: HookKind | None = None) -> HookEvent:
    """Read the event that a client sent, however odd it is; never raises.

    `said` is the event of the command line: it counts where the data names none.
    """
    if not isinstance(data, dict):
        return HookEvent(kind=said, problem="the input is not a JSON object")
    name = _text(data.get("hook_event_name"))
    known = next((kind for kind, own in client.events.items() if own == name), None)
    kind = known if name else said
    problem = ""
    if kind is None:
        problem = f"{client.title} sent the event `{name[:_LONGEST_ID]}`, which is not known"
    elif said is not None and kind is not said:
        problem = f"{client.title} sent `{name}` to the hook for {said.value}"
    tool, given = _text(data.get("tool_name")), data.get("tool_input")
    command = _command(given) if tool in SHELLS else ""
    sounds_like_it = any(word in tool.lower() for word in _WRITING_WORDS)
    writes = tool in WRITERS or (tool not in SHELLS and sounds_like_it)
    return HookEvent(
        kind=kind,
        session=_text(data.get("session_id"))[:_LONGEST_ID],
        cwd=_text(data.get("cwd")),
        tool=tool,
        paths=_paths(given, writes),
        command=command,
        writes=writes,
        last_message=_last_message(data),
        problem=problem,
    )


def block(client: Client, reason: str) -> dict[str, Any]:
    """The agent may not stop; it reads the reason and goes on."""
    # Without a reason codex takes it for no block at all.
    return {"decision": client.refusal, "reason": reason.strip() or "the plan is not done"}


def tell_person(text: str) -> dict[str, Any]:
    """The agent may stop; every client shows this to the person, and not to the model."""
    return {"systemMessage": text}


def deny_tool(client: Client, reason: str) -> dict[str, Any]:
    """The tool call does not happen; the agent reads the reason."""
    why = reason.strip() or "signoff does not allow it"
    if client.name == "gemini":
        return {"decision": "deny", "reason": why}
    return {
        "hookSpecificOutput": {
            "hookEventName": client.events[HookKind.BEFORE_TOOL],
            "permissionDecision": "deny",
            "permissionDecisionReason": why,
        }
    }


def add_context(client: Client, text: str) -> dict[str, Any] | None:
    """A session begins with this text before it; nothing where there is none."""
    if not text.strip():
        return None
    return {
        "hookSpecificOutput": {
            "hookEventName": client.events[HookKind.SESSION_START],
            "additionalContext": text[:LONGEST_CONTEXT],
        }
    }


def paths_in_command(command: str) -> tuple[str, ...]:
    """Words of a shell command that may be paths, and the files of a patch in it. Advisory."""
    plain = command
    for sign in "\"'`;|&<>(){}=\n\t":
        plain = plain.replace(sign, " ")
    words = [word for word in plain.split(" ") if word and not word.startswith("-")]
    return _first_ones([*_patched(command), *words])


def _paths(given: object, writes: bool) -> tuple[str, ...]:
    """The files that a tool names; a patch says so itself, whichever tool carries it."""
    found = [*_patched(_command(given))]
    if writes:
        found += _named(given)
    return _first_ones(found)


def _named(given: object, depth: int = 0) -> Iterator[str]:
    if not isinstance(given, dict):
        return
    for field in _PATH_FIELDS:
        value = given.get(field)
        for one in value if isinstance(value, list) else (value,):
            if isinstance(one, str):
                yield _text(one)
            elif depth == 0:
                yield from _named(one, depth=1)


def _patched(text: str) -> Iterator[str]:
    if _PATCH_START not in text:
        return
    for line in text.split("\n"):
        for start in _PATCH_LINES:
            if line.lstrip().startswith(start):
                yield line.lstrip()[len(start) :].strip()


def _command(given: object) -> str:
    """The text that a shell or a patch tool is given, in whichever field and form."""
    if isinstance(given, str):
        return _text(given)
    if not isinstance(given, dict):
        return ""
    parts = []
    for field in _TEXT_FIELDS:
        value = given.get(field)
        if isinstance(value, list):
            value = " ".join(word for word in value if isinstance(word, str))
        if isinstance(value, str):
            parts.append(_text(value))
    return "\n".join(parts)


def _first_ones(found: list[str]) -> tuple[str, ...]:
    """Each once, without what cannot be a path."""
    usable = (path.removeprefix("file://") for path in found if path and "\0" not in path)
    return tuple(dict.fromkeys(usable))[:_MOST_PATHS]


def _last_message(data: Mapping[str, Any]) -> str:
    for field in ("last_assistant_message", "prompt_response"):
        text = _text(data.get(field))
        if text:
            return text[-LONGEST_MESSAGE:]
    return ""


def _text(value: object) -> str:
    """Text that can be written anywhere; JSON may hold half a character."""
    if not isinstance(value, str):
        return ""
    return value.encode("utf-8", "replace").decode("utf-8")
