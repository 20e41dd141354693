"""A project's manifest that the task names may ask for other packages, and for nothing else."""

from __future__ import annotations

import pytest

from signoff.commands.settings import only_needs_differ

PROJECT = '[project]\nname = "x"\ndependencies = [%s]\n[tool.obey]\nstrict = %s\n'


@pytest.mark.parametrize(
    ("needs", "strict", "allowed"),
    [
        ('"httpx>=0.27"', "true", True),
        ("", "true", True),
        ('"httpx"', "false", False),
        ('"evil @ file:./evil"', "true", False),
        ('"evil @ git+https://here"', "true", False),
    ],
)
def test_only_packages_of_an_index_come_and_go(needs: str, strict: str, allowed: bool) -> None:
    before, now = PROJECT % ('"requests"', "true"), PROJECT % (needs, strict)
    assert only_needs_differ("pyproject.toml", before.encode(), now.encode()) is allowed


@pytest.mark.parametrize(
    ("path", "now", "allowed"),
    [
        ("package.json", '{"dependencies": {"a": "^2"}}', True),
        ("package.json", '{"dependencies": {"a": "../a"}}', False),
        ("package.json", '{"scripts": {"test": "true"}}', False),
        ("package.json", "[]", False),
        ("package.json", '{"dependencies": 1}', False),
        ("package.json", "{", False),
        ("Cargo.toml", '[dependencies]\na = "2"\n', True),
        ("Cargo.toml", '[dependencies]\na = { path = "a" }\n', False),
        ("rules.toml", '[dependencies]\na = "2"\n', False),
    ],
)
def test_what_is_no_such_change_is_an_influence(path: str, now: str, allowed: bool) -> None:
    before = b"{}" if path.endswith("json") else b""
    assert only_needs_differ(path, before, now.encode()) is allowed
