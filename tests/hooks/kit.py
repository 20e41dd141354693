"""A client for black-box tests: one process that lives as long as the test says and calls hooks."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from tests.cli.ended import LIMIT_S, Ended
from tests.cli.project import Project

# A client: runs what it is told as a child of its own, as clients run hooks, and says what came.
CLIENT = """
import base64, json, subprocess, sys
for line in sys.stdin:
    asked = json.loads(line)
    stdin = base64.b64decode(asked["stdin"])
    done = subprocess.run(
        asked["argv"], input=stdin, capture_output=True, cwd=asked["cwd"], env=asked["env"]
    )
    out, err = base64.b64encode(done.stdout), base64.b64encode(done.stderr)
    print(json.dumps([done.returncode, out.decode(), err.decode()]), flush=True)
"""
EVENTS = {"session-start": "SessionStart", "before-tool": "PreToolUse", "stop": "Stop"}
EVENTS |= {"session-end": "SessionEnd"}


@dataclass
class FakeClient:
    """A living process above every hook; `close` ends it, as a person ends a client."""

    project: Project
    name: str = "claude"
    session: str = "client-session-1"
    shell: bool = True
    _process: subprocess.Popen[str] = field(init=False)

    def __post_init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", CLIENT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """The client is gone."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(timeout=LIMIT_S)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def call(self, *arguments: str, stdin: bytes = b"", cwd: Path | None = None) -> Ended:
        """A command of signoff below the client, through a shell as clients do."""
        argv = self.project.command(list(arguments))
        if self.shell:
            argv = ["/bin/sh", "-c", '"$@"; exit $?', "-", *argv]
        return self.run(*argv, stdin=stdin, cwd=cwd)

    def run(self, *arguments: str, stdin: bytes = b"", cwd: Path | None = None) -> Ended:
        """Any program below the client."""
        asked = {
            "argv": list(arguments),
            "cwd": str(cwd or self.project.workspace),
            "env": self.project.environment(),
            "stdin": base64.b64encode(stdin).decode(),
        }
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        code, out, err = json.loads(self._process.stdout.readline())
        folder = self.project.folder
        return Ended(arguments, code, base64.b64decode(out), base64.b64decode(err), folder)

    def hook(self, event: str, *more: str, cwd: Path | None = None, **data: Any) -> Ended:
        """One event, as the client tells it."""
        named = "AfterAgent" if (self.name, event) == ("gemini", "stop") else EVENTS[event]
        named = "BeforeTool" if (self.name, event) == ("gemini", "before-tool") else named
        told = {
            "session_id": self.session,
            "cwd": str(cwd or self.project.workspace),
            "hook_event_name": named,
            **data,
        }
        stdin = json.dumps(told).encode()
        ended = self.call("hook", self.name, event, *more, stdin=stdin, cwd=cwd)
        return ended.exits(0).hides("Traceback")

    def stop(self, message: str = "All done.", **data: Any) -> Ended:
        """The agent wants to stop."""
        field_name = "prompt_response" if self.name == "gemini" else "last_assistant_message"
        told: dict[str, Any] = {field_name: message, **data}
        return self.hook("stop", **told)

    def is_blocked(self) -> str:
        """The reason for which the agent may not stop."""
        answer = self.stop().json
        assert answer["decision"] == ("deny" if self.name == "gemini" else "block")
        reason: str = answer["reason"]
        return reason

    def may_stop(self) -> str:
        """The agent may stop; what people are told, on standard error and by the client."""
        ended = self.stop()
        if ended.stdout:
            assert set(ended.json) == {"systemMessage"}, "anything else could hold the agent"
            assert ended.json["systemMessage"].removeprefix("signoff: ") in ended.stderr
        return ended.stderr

    def denied(self, tool: str, **given: Any) -> str:
        """Why a tool call is refused; empty when it is not."""
        ended = self.hook("before-tool", tool_name=tool, tool_input=given)
        if not ended.stdout:
            return ""
        answer = ended.json
        if self.name == "gemini":
            assert answer["decision"] == "deny"
            return str(answer["reason"])
        inner = answer["hookSpecificOutput"]
        assert inner["permissionDecision"] == "deny"
        return str(inner["permissionDecisionReason"])
