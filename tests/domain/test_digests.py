"""The same meaning has the same digest, and another meaning has another one."""

from __future__ import annotations

import json
from enum import Enum, StrEnum
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.domain.digests import ByMeaning, canonical_json, digest_bytes, digest_of

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


class Word(StrEnum):
    YES = "yes"


class Level(Enum):
    HIGH = 3


class Noun(ByMeaning, frozen=True):
    name: str
    level: Level
    line: int = 0


def test_the_encoding_is_sorted_dense_and_plain() -> None:
    assert canonical_json({"b": [1, 2.5, None], "a": "é"}) == '{"a":"é","b":[1,2.5,null]}'


def test_enums_count_by_their_stored_word() -> None:
    assert canonical_json([Word.YES, Level.HIGH]) == '["yes",3]'


def test_a_noun_counts_by_the_fields_it_is_compared_by() -> None:
    assert canonical_json(Noun("a", Level.HIGH, 1)) == '{"level":3,"name":"a"}'
    assert digest_of(Noun("a", Level.HIGH, 1)) == digest_of(Noun("a", Level.HIGH, 99))
    assert digest_of(Noun("a", Level.HIGH)) != digest_of(Noun("b", Level.HIGH))
    assert len({Noun("a", Level.HIGH, 1), Noun("a", Level.HIGH, 2)}) == 1
    assert Noun("a", Level.HIGH) != Noun("b", Level.HIGH)


def test_the_order_of_keys_and_members_does_not_count() -> None:
    assert digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    assert digest_of(frozenset("abc")) == digest_of(frozenset("cba"))
    assert digest_of(MappingProxyType({"a": 1})) == digest_of({"a": 1})


def test_the_order_of_a_list_counts() -> None:
    assert digest_of([1, 2]) != digest_of([2, 1])


@pytest.mark.parametrize(
    ("one", "other"),
    [("1", 1), (True, 1), (None, "null"), ("", None), ([], {}), (["ab"], ["a", "b"]), (0, False)],
)
def test_different_values_that_look_alike_have_different_digests(
    one: object, other: object
) -> None:
    assert digest_of(one) != digest_of(other)


@given(json_values)
def test_a_value_keeps_its_digest_through_storage(value: object) -> None:
    assert digest_of(json.loads(canonical_json(value))) == digest_of(value)


@given(json_values, json_values)
def test_equal_encodings_mean_equal_values(one: object, other: object) -> None:
    if canonical_json(one) == canonical_json(other):
        assert json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def test_a_file_name_that_is_no_text_still_has_a_digest() -> None:
    assert digest_of("bad\udcff") != digest_of("bad\udcfe")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_json_does_not_have_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        digest_of(value)


@pytest.mark.parametrize("value", [b"bytes", object(), Noun])
def test_what_has_no_canonical_form_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="no canonical form"):
        digest_of({"a": [value]})


def test_the_digest_of_bytes_is_sha256() -> None:
    assert digest_bytes(b"") == ("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
