"""Scripts are read from files, and what is wrong with one is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from signoff.errors import ScriptUnusable
from signoff.testing.conversation import Call, Conversation, Message, Speaker
from signoff.testing.script import FailureKind
from signoff.testing.script_file import read_script

HELLO = Conversation((Message(Speaker.USER, "Hello."),))
JSON = """{
  "schema_version": 1,
  "last_repeats": true,
  "turns": [
    {"text": "Hello."},
    {"text": ["a", "b"], "input_tokens": 7, "output_tokens": 3, "cut_off": true},
    {"calls": [{"name": "bash", "arguments": {"command": "ls"}, "id": "c1"}]},
    {"failure": {"status": 429, "retry_after_s": 2, "message": "slow down", "code": "limit"}},
    {"text": "par", "failure": {"kind": "dropped"}, "first_byte_s": 0.5, "between_chunks_s": 1}
  ]
}"""
TOML = """
last_repeats = true
[[turns]]
text = "Hello."
[[turns]]
text = ["a", "b"]
input_tokens = 7
output_tokens = 3
cut_off = true
[[turns]]
calls = [{ name = "bash", id = "c1", arguments = { command = "ls" } }]
[[turns]]
failure = { status = 429, retry_after_s = 2, message = "slow down", code = "limit" }
[[turns]]
text = "par"
failure = { kind = "dropped" }
first_byte_s = 0.5
between_chunks_s = 1
"""


@pytest.mark.parametrize(("name", "text"), [("s.json", JSON), ("s.toml", TOML)])
def test_every_field_of_a_turn_is_read(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    hello, chunks, calls, refused, dropped = read_script(path).turns
    assert hello.text == ("Hello.",)
    assert (chunks.text, chunks.input_tokens, chunks.output_tokens) == (("a", "b"), 7, 3)
    assert chunks.cut_off
    assert calls.calls == (Call("bash", {"command": "ls"}, "c1"),)
    assert refused.failure is not None
    assert (refused.failure.status, refused.failure.retry_after_s) == (429, 2)
    assert (refused.failure.message, refused.failure.code) == ("slow down", "limit")
    assert dropped.failure is not None
    assert dropped.failure.kind is FailureKind.DROPPED
    assert (dropped.first_byte_s, dropped.between_chunks_s) == (0.5, 1)


def test_the_last_turn_and_the_aside_do_what_the_file_says(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    data = {"turns": [{"text": "never"}], "aside": {"text": "a title"}}
    path.write_text(json.dumps(data), "utf-8")
    assert read_script(path).answer(HELLO).whole_text == "a title"
    path.write_text(json.dumps({"turns": [{"text": "lie"}], "last_repeats": True}), "utf-8")
    script = read_script(path)
    assert [script.answer(HELLO).whole_text for _ in range(3)] == ["lie"] * 3


WRONG = [
    ("{", "Expecting property name"),
    ("[]", "the script is no table"),
    ('{"turns": []}', "either turns or a function"),
    ('{"schema_version": 2, "turns": [{}]}', "schema_version 2 is not known"),
    ('{"turn": []}', "the script: `turn` is not known; there are ['aside'"),
    ('{"turns": [{}, {"txt": "a"}]}', "turn 2: `txt` is not known"),
    ('{"turns": [{"text": [1]}]}', "turn 1: `text` is no list of strings"),
    ('{"turns": [{"input_tokens": true}]}', "turn 1: `input_tokens` cannot be `True`"),
    ('{"turns": [{"cut_off": 1}]}', "turn 1: `cut_off` cannot be `1`"),
    ('{"turns": [{"calls": [{"arguments": {}}]}]}', "turn 1: a call without a name"),
    ('{"turns": [{"calls": ["bash"]}]}', "turn 1, a call is no table"),
    ('{"turns": [{"failure": {"kind": "no"}}]}', "turn 1: `no` is no kind of failure"),
    ('{"turns": [{"failure": {"status": 200}}]}', "`200` is no failure"),
    ('{"turns": [{"first_byte_s": 3600}]}', "`first_byte_s` is 3600"),
    ("[" * 200_000, "recursion"),
    ("\ufeff{}", "BOM"),
]


@pytest.mark.parametrize(("text", "reason"), WRONG, ids=[reason for _, reason in WRONG])
def test_what_is_wrong_with_a_script_is_named(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "script.json"
    path.write_text(text, "utf-8")
    with pytest.raises(ScriptUnusable) as caught:
        read_script(path)
    assert caught.value.message.startswith(f"`{path}` is no script: ")
    assert reason in caught.value.message
    assert caught.value.hint


def test_a_file_that_is_not_there_or_no_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScriptUnusable, match="No such file"):
        read_script(tmp_path / "nowhere.json")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ScriptUnusable, match=r"binary\.toml` is no script"):
        read_script(tmp_path / "binary.toml")
