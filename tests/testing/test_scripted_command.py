"""The door for users: a command that serves a script, and a package that loads in no time."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import ProxyHandler, Request, build_opener

import pytest

SERVE = [sys.executable, "-m", "signoff.testing.server"]
CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hello."}]}


def _post(url: str, body: object) -> bytes:
    request = Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    answer: bytes = build_opener(ProxyHandler({})).open(request, timeout=60).read()
    return answer


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_script_file_is_served_until_interrupted(tmp_path: Path, number: int) -> None:
    script, log = tmp_path / "script.toml", tmp_path / "log.jsonl"
    script.write_text('[[turns]]\ntext = "Hi from a file."\n', "utf-8")
    command = [*SERVE, str(script), "--log", str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as served:
        try:
            assert served.stdout is not None
            lines = [served.stdout.readline().decode().split() for _ in range(3)]
            urls = dict(line for line in lines)
            assert list(urls) == ["openai", "anthropic", "gemini"]
            assert urls["openai"] == urls["anthropic"] + "/v1"
            assert b"Hi from a file." in _post(urls["openai"] + "/chat/completions", CHAT)
        finally:
            served.send_signal(number)
            out, err = served.communicate(timeout=60)
    assert (served.returncode, out, err) == (0, b"", b"")
    assert json.loads(log.read_text("utf-8"))["api"] == "chat"


def test_a_script_that_cannot_be_used_ends_the_command(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('{"turns": [{"txt": "Hi"}]}', "utf-8")
    ended = subprocess.run([*SERVE, str(script)], capture_output=True, text=True, check=False)
    error, following = ended.stderr.splitlines()
    assert (ended.returncode, ended.stdout) == (2, "")
    assert error.startswith(f"error: `{script}` is no script: turn 1: `txt` is not known")
    assert following.startswith("next: ")


def _python(program: str) -> str:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_without_the_library_the_way_to_get_it_is_named() -> None:
    program = """
import sys
sys.modules["pydantic_ai"] = None
from signoff.errors import ExtraMissing
from signoff.testing.model import scripted_model
from signoff.testing.script import Script, say
try:
    scripted_model(Script([say("Hi.")]))
except ExtraMissing as error:
    print(error, error.hint, sep="; ")
"""
    said = _python(program)
    assert said.startswith("a scripted model needs pydantic-ai, which is not installed; ")
    assert "pip install" in said and "[llm]" in said and sys.executable in said


def test_crash_points_load_nothing_of_the_scripted_model() -> None:
    program = "import sys, signoff.testing.crash; print(*sys.modules)"
    loaded = set(_python(program).split())
    assert "signoff.testing.crash" in loaded
    heavy = {"dataclasses", "http.server", "threading", "json", "pydantic_ai", "uuid"}
    assert not loaded & (heavy | {"signoff.testing.script", "signoff.testing.server"})


def test_the_server_loads_no_client_library() -> None:
    program = "import sys, signoff.testing.server; print(*sys.modules)"
    loaded = set(_python(program).split())
    assert not loaded & {"pydantic", "pydantic_ai", "openai", "anthropic", "httpx2", "click"}
