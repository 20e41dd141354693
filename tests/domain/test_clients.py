"""The dialects of real clients: what they send is understood, what we answer is theirs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.domain.clients import (
    CLIENTS,
    LONGEST_CONTEXT,
    TIMEOUT_S,
    HookEvent,
    HookKind,
    add_context,
    block,
    deny_tool,
    paths_in_command,
    read_event,
)

INPUTS = Path(__file__).parent / "hook_inputs"
SENT = sorted(INPUTS.glob("*.json"))
every_input = pytest.mark.parametrize("path", SENT, ids=lambda p: p.stem)
every_client = pytest.mark.parametrize("client", CLIENTS.values(), ids=lambda c: c.name)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def sent(name: str) -> HookEvent:
    client = CLIENTS[name.partition("-")[0]]
    return read_event(client, json.loads((INPUTS / f"{name}.json").read_text()))


def tool_call(client: str, tool: str, given: Any) -> HookEvent:
    dialect = CLIENTS[client]
    event = dialect.events[HookKind.BEFORE_TOOL]
    data = {"hook_event_name": event, "tool_name": tool, "tool_input": given}
    return read_event(dialect, data)


@every_input
def test_what_a_client_really_sends_is_understood(path: Path) -> None:
    client, _, event = path.stem.partition("-")
    found = read_event(CLIENTS[client], json.loads(path.read_text()))
    assert found.problem == ""
    assert found.kind is not None and event.startswith(found.kind.value)
    assert len(found.session) == 36 and found.cwd == "/home/ada/shop"


def test_every_client_has_an_input_of_every_kind() -> None:
    for client in CLIENTS:
        for kind in HookKind:
            assert any(path.stem.startswith(f"{client}-{kind.value}") for path in SENT)


@pytest.mark.parametrize("client", CLIENTS)
def test_the_last_message_is_found_in_every_dialect(client: str) -> None:
    assert sent(f"{client}-stop").last_message == "All done."
    assert sent(f"{client}-stop-again").last_message.endswith("one.")


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("claude-before-tool-write", ("/home/ada/shop/f.txt",)),
        ("claude-before-tool-edit", ("/home/ada/shop/f.txt",)),
        ("claude-before-tool-notebook", ("/home/ada/shop/a.ipynb",)),
        ("codex-before-tool-patch", ("g.txt", "f.txt", "src/h.txt", "old.txt")),
        ("codex-before-tool-patch-in-shell", ("f.txt",)),
        ("gemini-before-tool-write", ("/home/ada/shop/f.txt",)),
        ("gemini-before-tool-edit", ("/home/ada/shop/f.txt",)),
        ("qwen-before-tool-write", ("/home/ada/shop/f.txt",)),
        ("qwen-before-tool-edit", ("/home/ada/shop/f.txt",)),
    ],
)
def test_the_files_that_a_tool_will_write_are_found(name: str, paths: tuple[str, ...]) -> None:
    assert sent(name).paths == paths


@pytest.mark.parametrize("client", CLIENTS)
def test_the_command_of_a_shell_is_passed_on_and_names_no_files_for_sure(client: str) -> None:
    found = sent(f"{client}-before-tool-shell")
    assert found.command == "echo hi > a.txt" and found.paths == () and not found.writes
    assert "a.txt" in paths_in_command(found.command)


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("mcp__files__write_file", {"path": "PLAN.md", "content": "x"}),
        ("mcp_files_writeFile", {"filename": "PLAN.md"}),
        ("mcp__files__move_file", {"source": "x", "destination": "PLAN.md"}),
        ("mcp__files__edit_many", {"edits": [{"file_path": "PLAN.md"}]}),
        ("mcp__files__delete", {"paths": ["a", "PLAN.md"]}),
        ("mcp__any__tool", {"patch": "*** Begin Patch\n  *** Update File: PLAN.md\n"}),
        ("MultiEdit", {"file_path": "file://PLAN.md", "edits": []}),
    ],
)
def test_a_writer_that_no_list_knows_is_seen_all_the_same(tool: str, given: Any) -> None:
    assert "PLAN.md" in tool_call("claude", tool, given).paths


@pytest.mark.parametrize("tool", ["Read", "Grep", "read_file", "mcp__files__read_file", ""])
def test_reading_is_not_writing(tool: str) -> None:
    found = tool_call("gemini", tool, {"file_path": "PLAN.md", "path": "PLAN.md"})
    assert found.paths == () and not found.writes


def test_a_command_in_pieces_is_one_command() -> None:
    found = tool_call("codex", "shell", {"command": ["bash", "-lc", "rm 'a b'>PLAN.md"]})
    assert found.command == "bash -lc rm 'a b'>PLAN.md"
    assert "PLAN.md" in paths_in_command(found.command)


@given(data=JSON, said=st.sampled_from([None, *HookKind]))
def test_nothing_that_a_client_sends_raises(data: Any, said: HookKind | None) -> None:
    for client in CLIENTS.values():
        found = read_event(client, data, said)
        assert found.kind is not None or found.problem


@given(
    tool=st.sampled_from(["Write", "Bash", "apply_patch", "mcp__x__create", "x"]),
    given_=JSON | st.dictionaries(st.sampled_from(["path", "edits", "command", "files"]), JSON),
)
def test_no_tool_input_raises_and_every_path_can_be_used(tool: str, given_: Any) -> None:
    found = tool_call("claude", tool, given_)
    for path in (*found.paths, *paths_in_command(found.command)):
        assert path and "\0" not in path
        path.encode()


@pytest.mark.parametrize("data", [None, [], "text", 3])
def test_what_is_no_object_is_a_problem(data: Any) -> None:
    assert "not a JSON object" in read_event(CLIENTS["claude"], data).problem


def test_an_event_of_another_dialect_is_a_problem() -> None:
    assert "AfterAgent" in read_event(CLIENTS["claude"], {"hook_event_name": "AfterAgent"}).problem
    assert read_event(CLIENTS["gemini"], {"hook_event_name": "AfterAgent"}).problem == ""


def test_an_event_at_the_wrong_hook_is_a_problem() -> None:
    data = {"hook_event_name": "SessionEnd"}
    assert read_event(CLIENTS["claude"], data, HookKind.SESSION_END).problem == ""
    assert "stop" in read_event(CLIENTS["claude"], data, HookKind.STOP).problem
    assert read_event(CLIENTS["claude"], {"hook_event_name": "X"}, HookKind.STOP).problem


def test_without_an_event_name_the_command_line_counts() -> None:
    found = read_event(CLIENTS["codex"], {"session_id": "s"}, HookKind.STOP)
    assert (found.kind, found.session, found.problem) == (HookKind.STOP, "s", "")


def test_half_characters_and_wrong_types_do_no_harm() -> None:
    data = {"hook_event_name": "Stop", "session_id": "a\ud800", "cwd": 3}
    found = read_event(CLIENTS["claude"], data)
    assert (found.session, found.cwd) == ("a?", "")


def test_answers_are_in_the_words_of_each_client() -> None:
    words = {name: block(client, "R")["decision"] for name, client in CLIENTS.items()}
    assert words == {"claude": "block", "codex": "block", "gemini": "deny", "qwen": "block"}
    assert deny_tool(CLIENTS["gemini"], "R") == {"decision": "deny", "reason": "R"}
    assert deny_tool(CLIENTS["codex"], "R")["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "R",
    }
    context = {"hookEventName": "SessionStart", "additionalContext": "T"}
    assert all(add_context(c, "T") == {"hookSpecificOutput": context} for c in CLIENTS.values())


@every_client
def test_a_block_without_a_reason_has_one_all_the_same(client: Any) -> None:
    # codex takes a block without a reason for none.
    assert block(client, " \n")["reason"] and block(client, "why")["reason"] == "why"
    assert json.dumps(deny_tool(client, "")) != json.dumps(deny_tool(client, "x"))


@every_client
def test_going_on_is_silence(client: Any) -> None:
    assert add_context(client, " \n") is None
    long = add_context(client, "x" * 2 * LONGEST_CONTEXT)
    assert long is not None
    assert len(long["hookSpecificOutput"]["additionalContext"]) == LONGEST_CONTEXT


def test_timeouts_are_in_the_units_of_each_client() -> None:
    stop = {name: client.timeout(HookKind.STOP) for name, client in CLIENTS.items()}
    s = TIMEOUT_S[HookKind.STOP]
    assert stop == {"claude": s, "codex": s, "gemini": s * 1000, "qwen": s * 1000}
    # qwen-code reads less than 1000 as seconds, from some version on.
    assert min(CLIENTS["qwen"].timeout(kind) for kind in HookKind) >= 1000


def test_the_dialects_load_nothing_slow() -> None:
    code = "import sys, signoff.domain.clients as c; print(*sys.modules)"
    command = [sys.executable, "-S", "-c", f"sys_path = {sys.path!r}; import sys; "
               f"sys.path[:] = sys_path; {code}"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    slow = {"typing", "re", "json", "dataclasses", "pathlib", "inspect", "subprocess", "click"}
    assert not slow & set(done.stdout.split())
