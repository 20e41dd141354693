"""Any change at all: versions differ, stay within it, and are made in bounded time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.domain.second_look import VersionKind
from signoff.verification.strength.drafts import edited
from signoff.verification.strength.hunks import hunks_of
from signoff.verification.strength.versions import StepChange, wrong_versions

LINES = (
    b"def f(a, b=1):", b"    if a > 1 and not b:", b"        return a + 1",
    b"    save('x')", b"    return None",
    b"", b"class A:", b"    def m(self): return 'x'", b"# note", b'    """Doc."""',
    b"x = f(1)", b"f() {", b"}",
    b"function g(a) { return a === 1; }", b"const h = (x) => x;", b"\xff\xfe",
    b"\xef\xbb\xbf", b"\0", b"'''", b"if [ 1 -ge 2 ]; then :; fi",
)  # fmt: skip
NAMES = ("a.py", "b.js", "c.ts", "d.go", "e.rs", "f.c", "G.java", "h.sh", "i.md", "test_a.py")
texts = st.builds(
    lambda lines, end, last: end.join(lines) + (end if last else b""),
    st.lists(st.sampled_from(LINES), max_size=25),
    st.sampled_from((b"\n", b"\r\n")),
    st.booleans(),
)
contents = st.dictionaries(st.sampled_from(NAMES), texts, max_size=3)


@given(texts | st.binary(max_size=60), texts | st.binary(max_size=60))
def test_all_hunks_undone_give_the_text_before(before: bytes, after: bytes) -> None:
    assert edited(after, [hunk.edit for hunk in hunks_of(before, after)]) == before


@settings(max_examples=60)
@given(contents, contents, st.sampled_from(("", "seed")))
def test_versions_differ_and_stay_within_the_change(
    before: dict[str, bytes], after: dict[str, bytes], seed: str
) -> None:
    product = frozenset(name for name in NAMES if not name.startswith("test"))
    changed = StepChange(before, after, product)
    made = wrong_versions(changed, after, most=30, seed=seed)
    assert made == wrong_versions(changed, after, most=30, seed=seed)
    assert len(made.chosen) <= 30
    if changed.paths:
        whole = made.chosen[0]
        assert {**after, **whole.files} == {**{p: None for p in after if p not in before}, **before}
    for version in made.chosen:
        assert version.files.keys() <= set(changed.paths)
        assert any(after.get(path) != text for path, text in version.files.items())
        assert version.kind is VersionKind.UNDO or version.files.keys() <= product


FUNCTION = b"def f(a):\n    if a > 1:\n        return 2\n    return 3\n\n\n"
HOSTILE = {
    "a long line": b"x = '" + b"a" * 1_000_000 + b"'\n",
    "a long sum": b"x = " + b"1+" * 40_000 + b"1\n",
    "nul bytes": FUNCTION + b"\0" * 1000,
    "deep brackets": b"(" * 4_000 + b"\n" + FUNCTION,
    "deep blocks": b"".join(b" " * n + b"if x:\n" for n in range(300)) + b" " * 300 + b"pass\n",
    "many functions": FUNCTION * 3_000,
    "many equal lines": b"x = 1\n" * 100_000,
    "other line ends": FUNCTION.replace(b"\n", b"\r\n") * 3,
    "only returns": FUNCTION.replace(b"\n", b"\r"),
    "a byte order mark": b"\xef\xbb\xbf" + FUNCTION,
    "latin 1": FUNCTION + b"# \xe9\xff\n",
    "utf-16": FUNCTION.decode().encode("utf-16"),
    "no program": b"if ( ) { } \" ' def : x = < /* `\n" * 2_500,
    "nothing": b"",
}


@pytest.mark.parametrize("suffix", ["py", "js", "ts", "go", "rs", "c", "java", "sh"])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_costs_bounded_time(name: str, suffix: str) -> None:
    text, path = HOSTILE[name], f"a.{suffix}"
    began = time.process_time()
    for before in ({}, {path: b"x = 2\n" * 5_000 + FUNCTION}):
        changed = StepChange(before, {path: text}, frozenset((path,)))
        versions = wrong_versions(changed, {f"test_a.{suffix}": text})
        assert versions.chosen[0].files == {path: before.get(path)}
    assert time.process_time() - began < 60
