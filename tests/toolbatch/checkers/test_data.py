"""Data files parse, the line of the error is named, and no key stands twice."""

from __future__ import annotations

import pytest

from tests.toolbatch.checkers.kit import Artifacts


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", '{"a": [1, {"b": "\\"x\\": {"}], "c": {"a": 1}}'),
        ("a.json", f'{{"n": {"9" * 10_000}}}'),
        ("a.jsonl", '{"a": 1}\n[2]\n\n"x"\n'),
        ("a.yaml", "a: &x {b: 1}\nc: *x\n'1': s\n1: n\n<<: *x\nd: {<<: *x}\n---\na: 2\n"),
        ("a.yml", "# only a comment\n"),
        ("a.toml", "a = 1\n[b]\na = 2\nc = [1.0, 2.0]\n[[d]]\nx = 1\n[[d]]\nx = 2\n"),
    ],
)
def test_good_data_has_no_findings(artifacts: Artifacts, name: str, content: str) -> None:
    assert artifacts.of(name, content) == []


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.json", '{\n"a": 1,\n}', ["3 bad-json"]),
        ("a.json", "", ["1 bad-json"]),
        ("a.json", '{"a": NaN}', ["1 bad-json"]),
        ("a.json", "{'a': 1}", ["1 bad-json"]),
        ("a.json", '{"a": 1,\n "b": {"a": 2},\n "\\u0061": 3}', ["1 duplicate-key"]),
        ("a.json", b"\xef\xbb\xbf{}", ["1 bad-json"]),
        ("a.json", b'{\n"a": "\xff"}', ["2 encoding"]),
        ("a.json", '{"a": 1}\n{"a": 2}', ["2 bad-json"]),
        ("a.jsonl", '{"a": 1}\n{"a": \n{}', ["2 bad-json"]),
        ("a.jsonl", "\n", ["1 empty-file"]),
        ("a.yaml", "a: 1\nb: [1\nc: 2\n", ["3 bad-yaml"]),
        ("a.yaml", "a: 1\n\tb: 2\n", ["2 bad-yaml"]),
        ("a.yaml", "a: 1\nb:\n  a: 1\n'a': 2\n", ["4 duplicate-key"]),
        ("a.yaml", "a:\n- {b: 1, b: 2}\n", ["2 duplicate-key"]),
        ("a.yaml", "a: 1\nb: *nobody\n", ["2 undefined-alias"]),
        ("a.yaml", "a: 1\nb: \x07\n", ["2 bad-yaml"]),
        ("a.yaml", "a: &x 1\n---\nb: *x\n", ["3 undefined-alias"]),
        ("a.toml", "a = 1\nb = \n", ["2 bad-toml"]),
        ("a.toml", "a = 1\n\na = 2\n", ["3 duplicate-key"]),
        ("a.toml", "[a]\n[a]\n", ["2 bad-toml"]),
    ],
)
def test_bad_data_is_found_on_its_line(
    artifacts: Artifacts, name: str, content: str | bytes, found: list[str]
) -> None:
    assert artifacts.of(name, content) == found


def test_an_alias_bomb_is_only_text(artifacts: Artifacts) -> None:
    rows = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9}]" for n in range(1, 40)]
    assert artifacts.of("bomb.yaml", "\n".join(rows)) == []


def test_a_tag_that_would_make_python_act_is_only_text(artifacts: Artifacts) -> None:
    text = "a: !!python/object/apply:os.system ['touch owned']\n"
    assert artifacts.of("a.yaml", text) == []
    assert not (artifacts.root / "owned").exists()
