"""A client's files as text: edits touch nothing else, and a set of changes is made whole or not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.domain.clients import CLIENTS
from signoff.errors import PlanConflict
from signoff.usecases.clients import jsontext
from signoff.usecases.clients.config import Wanted, add_to_json, take_from_json
from signoff.usecases.clients.files import ClientFileChange, apply_all

GAPS = st.sampled_from(["", " ", "\n", "\n  ", "\t", " // a, {[ note\n", "/* b ] } , */", "\r\n"])
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
KEYS = st.sampled_from(["a", "b", "hooks!", "é", 'q"', ""])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def written(draw: Any, value: Any) -> str:
    """A value as some person may have written it: comments, odd space, trailing commas."""
    ascii_only: bool = draw(st.booleans())

    def gap() -> str:
        return str(draw(GAPS))

    if isinstance(value, dict):
        parts = [
            f"{gap()}{json.dumps(k, ensure_ascii=ascii_only)}{gap()}:{gap()}"
            f"{draw(written(v))}{gap()}"
            for k, v in value.items()
        ]
    elif isinstance(value, list):
        parts = [f"{gap()}{draw(written(v))}{gap()}" for v in value]
    else:
        return json.dumps(value)
    trailing = ("," if parts and ascii_only else "") + gap()
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return opening + ",".join(parts) + trailing + closing


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A settings file of somebody, hooks and servers of their own among it."""
    value = draw(st.dictionaries(KEYS, VALUES, max_size=3))
    handler = {"type": "command", "command": draw(st.sampled_from(["say", "signoff run"]))}
    if draw(st.booleans()):
        event = draw(st.sampled_from(["Stop", "PreToolUse", "Other"]))
        value["hooks"] = {event: draw(st.lists(st.just({"hooks": [handler]}), max_size=2))}
    if draw(st.booleans()):
        servers = st.dictionaries(st.sampled_from(["docs", "web"]), st.just({"command": "x"}))
        value["mcpServers"] = draw(servers)
    return f"{draw(GAPS)}{draw(written(value))}{draw(GAPS)}", value


WANTED = Wanted(CLIENTS["claude"], ("signoff",), hooks=True, mcp=True)


@given(documents())
def test_reading_gives_what_was_written(document: tuple[str, dict[str, Any]]) -> None:
    text, value = document
    assert jsontext.read(text).value == value


@given(documents())
def test_what_was_put_in_can_be_taken_out_of_whatever_people_write(
    document: tuple[str, dict[str, Any]],
) -> None:
    text, value = document
    added = add_to_json(text, WANTED, "f")
    config = jsontext.read(added).value
    assert add_to_json(added, WANTED, "f") == added
    for event in WANTED.client.events.values():
        assert sum("signoff hook" in json.dumps(group) for group in config["hooks"][event]) == 1
    assert config["mcpServers"]["signoff"] == {"command": "signoff", "args": ["mcp"]}
    taken = jsontext.read(take_from_json(added, WANTED, "f")).value
    # Containers that were empty before may be gone: they said nothing.
    for key in ("hooks", "mcpServers"):
        theirs = {k: v for k, v in value.pop(key, {}).items() if v}
        assert {k: v for k, v in taken.pop(key, {}).items() if v} == theirs
    assert taken == value


@given(documents())
def test_every_comment_survives_both_ways(document: tuple[str, dict[str, Any]]) -> None:
    text, _ = document
    added = add_to_json(text, WANTED, "f")
    taken = take_from_json(added, WANTED, "f")
    for comment in ("// a, {[ note", "/* b ] } , */"):
        assert text.count(comment) == added.count(comment) == taken.count(comment)


@given(st.text(alphabet='{}[]",:/*\\ \n1tré', max_size=30))
def test_text_that_is_no_json_is_refused_and_never_more_than_that(text: str) -> None:
    try:
        value = jsontext.read(text).value
    except jsontext.NotJson as error:
        assert 0 <= error.at <= len(text)
        with pytest.raises(json.JSONDecodeError):
            json.loads(text)
    else:
        json.dumps(value)


def test_an_edit_in_between_is_not_overwritten_and_undoes_the_rest(tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in ("a.json", "b.json", "c.json"))
    first.write_text("old")
    second.write_text("somebody else's")
    changes = [
        ClientFileChange(first, "old", "new"),
        ClientFileChange(third, None, "made"),
        ClientFileChange(second, "as it was read", "new"),
    ]
    with pytest.raises(PlanConflict) as caught:
        apply_all(changes)
    assert "b.json" in caught.value.message and caught.value.hint == "run the same command again"
    assert first.read_text() == "old" and second.read_text() == "somebody else's"
    assert not third.exists()


def test_a_file_that_appeared_or_changed_meanwhile_is_neither_made_nor_removed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.json"
    path.write_text("theirs")
    for change in (ClientFileChange(path, None, "ours"), ClientFileChange(path, "ours", None)):
        with pytest.raises(PlanConflict):
            apply_all([change])
        assert path.read_text() == "theirs"


def test_a_planted_link_in_the_place_of_a_backup_is_not_written_through(tmp_path: Path) -> None:
    path, outside = tmp_path / "a.json", tmp_path / "outside"
    path.write_text("old")
    outside.write_text("precious")
    (tmp_path / "a.json.signoff-backup-1").symlink_to(outside)
    (done,) = apply_all([ClientFileChange(path, "old", "new")])
    assert outside.read_text() == "precious"
    assert done.backup is not None and done.backup.read_text() == "old"
