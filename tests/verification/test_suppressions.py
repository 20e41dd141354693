"""Comments that silence a check: which are new between two texts."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from signoff.domain.snapshot import Change, ChangeKind, FileKind, FileState
from signoff.verification.suppressions import Checks, files_not_checked, new_suppressions

EVERYWHERE = ("",)
TOOLS = (
    *("ruff", "flake8", "mypy", "pyright", "pylint", "bandit", "black", "tsc", "eslint", "biome"),
    *("golangci-lint", "staticcheck", "cargo clippy", "shellcheck", "rubocop", "hadolint"),
    *("markdownlint-cli2", "yamllint", "clang-format", "phpstan", "detekt"),
    *("isort", "cargo fmt", "coverage report"),
)
ALL = Checks(dict.fromkeys(TOOLS, EVERYWHERE))


def of(tool: str, opened: set[str] | None = None) -> Checks:
    return Checks({tool: EVERYWHERE}, opened=opened)


def new(before: str, after: str, name: str = "a.py", checks: Checks = ALL) -> list[str]:
    return [s.text for s in new_suppressions(checks, {name: before}, {name: after})]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a.py", "import os  # noqa"),
        ("a.py", "import os  # noqa: F401"),
        ("a.py", "# ruff: noqa"),
        ("a.py", "# flake8: noqa: E501"),
        ("a.py", "x = f()  # type: ignore"),
        ("a.py", "x = f()  # type: ignore[attr-defined]"),
        ("a.py", "# mypy: ignore-errors"),
        ("a.py", "# mypy: disable-error-code=attr-defined"),
        ("a.py", "x = f()  # pyright: ignore[reportAny]"),
        ("a.py", "# pyright: basic"),
        ("a.py", "@typing.no_type_check"),
        ("a.py", "x = 1  # pylint: disable=invalid-name"),
        ("a.py", "# pylint: skip-file"),
        ("a.py", "run(x)  # nosec"),
        ("a.py", "# fmt: off"),
        ("a.ts", "// @ts-nocheck"),
        ("a.tsx", "{/* @ts-ignore */}"),
        ("a.ts", "// @ts-expect-error"),
        ("a.js", "/* eslint-disable */"),
        ("a.js", "x() // eslint-disable-line no-undef"),
        ("a.ts", "// biome-ignore lint/suspicious: later"),
        ("a.go", "x := f() //nolint:errcheck"),
        ("a.rs", "#[allow(dead_code)]"),
        ("a.rs", "#![allow(clippy::all)]"),
        ("a.rs", "#[cfg_attr(test, allow(unused))]"),
        ("a.sh", "# shellcheck disable=SC2086"),
        ("run", "# shellcheck disable=SC2086"),
        ("a.rb", "x # rubocop:disable Style/Foo"),
        ("a.py", "import os# noqa: F401"),
        ("a.py", "x()  # see #12; pylint: disable=not-callable"),
        ("a.go", "//lint:ignore U1000 used by reflection"),
        ("Dockerfile", "# hadolint ignore=DL3008"),
        ("a.md", "<!-- markdownlint-disable MD013 -->"),
        ("a.yml", "key: value  # yamllint disable-line rule:truthy"),
        ("a.c", "// clang-format off"),
        ("a.php", "/** @phpstan-ignore argument.type */"),
        ("a.kt", '@Suppress("LongMethod")'),
        ("a.py", "x = 'a'# noqa"),
        ("a.js", "x = 'a'// eslint-disable-line"),
        ("a.js", '/* eslint no-undef: "off" */'),
        ("a.js", "/* eslint no-undef: 0 */"),
        ("a.py", "# isort: skip_file"),
        ("a.rs", "#[rustfmt::skip]"),
        ("a.py", "if x:  # pragma: no cover"),
    ],
)
def test_every_known_way_to_silence_a_check_is_found(name: str, line: str) -> None:
    assert len(new("code\n", f"code\n{line}\n", name)) == 1
    assert new(f"{line}\n", f"more\n{line}\n", name) == []


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a.md", "write `# noqa` to silence it"),
        ("a.py", "noqa = 1"),
        ("a.py", "# pyright: strict"),
        ("a.py", "# mypy: strict"),
        ("a.rs", "#[derive(Debug)]"),
        ("a.go", "// a nolint comment would be wrong"),
        ("a.py", "# ruff ignores this line, and pylint would disable nothing"),
        ("a.py", "# black skips strings; never disable mypy here"),
        ("a.py", "# TODO: ignore case"),
        ("a.js", "const url = 'https://eslint.org/docs/disable'"),
        ("a.py", "x()  # unknown-tool: disable=all"),
    ],
)
def test_what_silences_nothing_is_not_found(name: str, line: str) -> None:
    assert new("", f"{line}\n", name) == []


def test_one_that_moved_or_silences_less_is_not_new() -> None:
    assert new("x  # noqa\n", "y\n\nx  # noqa: E501\n") == []
    assert new("x  # noqa: E501, F401\n", "x  # noqa: F401\n") == []
    moved = new_suppressions(ALL, {"a.py": "x  # noqa\n"}, {"b.py": "x  # noqa\n"})
    assert moved == []


def test_one_that_silences_more_is_new() -> None:
    assert new("x  # noqa: E501\n", "x  # noqa\n") == ["# noqa"]
    assert new("x  # noqa: E501\n", "x  # noqa: E501, F401\n") == ["# noqa: E501, F401"]
    assert new("x  # noqa\n", "x  # noqa\ny  # noqa\n") == ["# noqa"]


def test_where_it_stands_is_told() -> None:
    found = new_suppressions(of("ruff"), {}, {"src/a.py": "one\ntwo  # noqa\n"})
    assert [(s.path, s.line) for s in found] == [("src/a.py", 2)]


def test_only_what_silences_the_checks_at_hand_counts() -> None:
    assert new("", "x  # type: ignore\n", checks=of("ruff")) == []
    assert new("", "x  # pyright: ignore\n", checks=of("mypy")) == []
    src = Checks({"ruff": ("src",), "mypy": EVERYWHERE})
    assert new("", "x  # noqa\n", "tests/a.py", src) == []
    assert new("", "x  # noqa\n", "src/a.py", src) == ["# noqa"]


def test_a_file_that_the_check_did_not_open_is_not_checked() -> None:
    checks = of("ruff", opened={"a.py"})
    assert new("", "x  # noqa\n", "a.py", checks) == ["# noqa"]
    assert new("", "x  # noqa\n", "b.py", checks) == []


def test_a_comment_that_the_checks_own_script_knows_silences_it() -> None:
    script = "if re.search(r'tidy:\\s*off', line): continue"
    assert new("", "x  # tidy: off\n", checks=Checks(scripts=[script])) == ["# tidy: off"]
    assert new("", "x  # other: off\n", checks=Checks(scripts=[script])) == []
    assert new("", "x  # tidy: off\n", checks=of("tidy")) == ["# tidy: off"]


def test_a_hook_that_runs_linters_runs_any_of_them() -> None:
    assert new("", "x  # noqa\n", checks=of("pre-commit")) == ["# noqa"]
    assert new("", "x  # mytool: off\n", checks=of("pre-commit")) == []


def test_one_for_a_line_that_becomes_one_for_the_file_is_new() -> None:
    line, file = "x() // eslint-disable-line\n", "/* eslint-disable */\nx()\n"
    assert len(new(line, file, "a.js")) == 1
    assert new(file, line, "a.js") == []
    assert new(line, line.replace("-line", "-line no-undef"), "a.js") == []


def test_a_new_stub_beside_a_module_hides_it() -> None:
    paths = {"a.py", "a.pyi", "b.pyi"}
    found = new_suppressions(of("mypy"), {}, {"a.pyi": "", "b.pyi": ""}, paths)
    assert [s.path for s in found] == ["a.pyi"]
    assert new_suppressions(of("mypy"), {"a.pyi": "x"}, {"a.pyi": "y"}, paths) == []
    assert new_suppressions(of("ruff"), {}, {"a.pyi": ""}, paths) == []


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("t.py", "@pytest.mark.skip"),
        ("t.py", "pytestmark = pytest.mark.skipif(True, reason='x')"),
        ("t.py", "@mark.xfail"),
        ("t.py", "@unittest.skip('x')"),
        ("t.py", "@expectedFailure"),
        ("t.py", "self.skipTest('x')"),
        ("t.py", "raise SkipTest"),
        ("t.py", "pytest.skip('x')"),
        ("t.js", "it.skip('x', f)"),
        ("t.ts", "xdescribe('x', f)"),
        ("t.js", "test('x', { skip: true }, f)"),
        ("t_test.go", "t.Skip()"),
        ("t.rs", "#[ignore]"),
        ("t_test.go", "//go:build ignore"),
    ],
)
def test_marks_that_skip_a_test_are_found(name: str, line: str) -> None:
    marks = Checks(skip_marks=True)
    assert len(new("", f"{line}\n", name, marks)) == 1
    assert new("", f"{line}\n", name) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.py", "class T:\n    def test_a(self): pass\n"),
        ("a_test.go", "func TestA(t *testing.T) {\n}\n"),
        ("lib.rs", "#[test]\n#[should_panic]\nfn a() {}\n"),
        ("a.test.ts", "it('adds', () => {})\n"),
        ("a_spec.rb", "  it 'adds' do\n"),
        ("a.bats", '@test "adds" {\n'),
        ("b.test.ts", "/* why */ it('adds', () => {}) // it('old')\n"),
        ("T.java", "  @Test\n  void adds() {\n"),
    ],
)
def test_a_test_that_is_gone_is_missed_where_it_cannot_be_counted(name: str, text: str) -> None:
    marks = Checks(skip_marks=True)
    assert len(new_suppressions(marks, {name: text}, {name: "\n"})) == 1
    assert len(new_suppressions(marks, {name: text}, {})) == 1
    assert new_suppressions(marks, {name: text}, {"moved": f"more\n{text}"}) == []
    assert new_suppressions(ALL, {name: text}, {name: "\n"}) == []


@pytest.mark.parametrize("piece", ["# a-", "# pylint:", "// eslint ", "/* ", "it('", "@Test "])
def test_texts_made_to_be_slow_are_read_quickly(piece: str) -> None:
    checks = replace(of("pylint"), skip_marks=True)
    texts = {"a.py": piece * 50_000}
    started = time.monotonic()
    assert new_suppressions(checks, texts, texts) == []
    assert time.monotonic() - started < 20


def test_a_skip_in_a_new_file_takes_nothing_away_unless_one_is_gone() -> None:
    marks, text = Checks(skip_marks=True), "@pytest.mark.skip\n"
    assert new_suppressions(marks, {}, {"new.py": text}) == []
    assert len(new_suppressions(marks, {"old.py": "x"}, {"new.py": text})) == 1


RUST = "fn f() {{}}\n#[cfg(test)]\nmod t {{\n    fn a() {{ {} }}\n}}\n"
DOCTEST = '"""\n>>> f(2)\n{}\n"""\n'


@pytest.mark.parametrize(
    ("tool", "name", "before", "after", "missed"),
    [
        ("cargo test", "a.rs", RUST.format("assert!(f(1))"), RUST.format("assert!(!f(1))"), True),
        ("cargo test", "a.rs", RUST.format("assert!(f(1))"), "fn f() {}\n", True),
        ("cargo test", "a.rs", RUST.format("f(1)"), RUST.format("f(2)"), False),
        ("cargo test", "a.rs", "fn f() { assert!(x) }\n", "fn f() {}\n", False),
        ("cargo build", "a.rs", RUST.format("assert!(f(1))"), RUST.format(""), False),
        ("doctest", "a.py", DOCTEST.format(4), DOCTEST.format(0), True),
        ("doctest", "a.py", DOCTEST.format(4), DOCTEST.format(4) + DOCTEST.format(5), False),
        ("pytest", "a.py", DOCTEST.format(4), DOCTEST.format(0), False),
    ],
)
def test_what_tests_in_the_work_itself_say_is_missed(
    tool: str, name: str, before: str, after: str, missed: bool
) -> None:
    assert bool(new(before, after, name, of(tool))) is missed
    moved = new_suppressions(of(tool), {name: before}, {f"b{name}": before})
    assert not moved


def test_a_file_that_was_read_is_missed_unless_a_new_one_of_its_kind_stands_in() -> None:
    def missed(*changes: Change, texts: Mapping[str, str]) -> list[str]:
        now = {path: FileState(FileKind.FILE, False, len(text), "") for path, text in texts.items()}
        read = {"a.py", "b.py", "c.md"}
        return [s.path for s in files_not_checked(changes, read, now, texts.__getitem__)]

    gone = [Change(path, ChangeKind.REMOVED) for path in ("a.py", "b.py", "unread.py")]
    emptied = Change("c.md", ChangeKind.MODIFIED)
    new = Change("new.py", ChangeKind.ADDED)
    assert missed(*gone, texts={}) == ["a.py", "b.py"]
    assert missed(*gone, new, texts={"new.py": "x = 1\n"}) == ["b.py"]
    assert missed(gone[0], new, texts={"new.py": "\n"}) == ["a.py"]
    assert missed(emptied, texts={"c.md": " \n"}) == ["c.md"]
    assert missed(emptied, texts={"c.md": "# Title\n"}) == []
