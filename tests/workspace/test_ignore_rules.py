"""The ignore rules mean what git says they mean, and stay as they were pinned."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.errors import ConfigInvalid, WorkspaceMissing
from signoff.workspace.ignore import IgnoreFile, IgnoreRules, read_ignore_rules
from tests.workspace.conftest import Desk


def git_ignored(root: Path, paths: list[str]) -> set[str]:
    """What `git check-ignore` says, in a repository of its own and without any configuration."""
    environment = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "HOME": str(root),
    }
    if not (root / ".git").exists():
        subprocess.run(["git", "init", "-q", "."], cwd=root, env=environment, check=True)
    found = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin", "-z"],
        cwd=root,
        env=environment,
        input=b"\0".join(os.fsencode(p) for p in paths),
        capture_output=True,
        check=False,
    )
    assert found.returncode in (0, 1), found.stderr
    return {os.fsdecode(p) for p in found.stdout.split(b"\0") if p}


def everything_below(root: Path) -> list[str]:
    found = []
    for top, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f != ".git"]
        found += [str((Path(top) / name).relative_to(root)) for name in folders + files]
    return found


def ours(root: Path, paths: list[str]) -> set[str]:
    rules = read_ignore_rules(root)
    return {p for p in paths if rules.is_ignored(p, is_dir=(root / p).is_dir())}


@pytest.mark.parametrize(
    "lines",
    [
        ["*.log", "!keep.log"],
        ["/build", "build/out"],
        ["build/"],
        ["build/*", "!build/keep"],
        ["build", "!build/keep"],
        ["**/build", "a/**/keep.log", "a/**"],
        ["a**/keep", "**keep", "b/**/"],
        ["*", "!*/", "!*.py"],
        ["a/", "!a/"],
        ["a", "!a/"],
        ["[ab].py", "[!a]b", "[a-c]/*.log", "[[:alpha:]]?.txt", "[", "[]x]", "[^]]"],
        ["\\#x", "#x", "\\!x", "! x", "x\\ ", "x   ", "x\\", " x"],
        ["é?", "?é", "[é]", "*é"],
        ["/", "//", "!", "", "a//", "//a", "***/keep", "a/***", "keep\\"],
    ],
)
def test_every_kind_of_pattern_means_what_git_says(desk: Desk, lines: list[str]) -> None:
    for name in (
        "keep",
        "keep.log",
        "x",
        "x ",
        " x",
        "#x",
        "!x",
        "ab",
        "bb",
        "a.py",
        "]",
        "a1.txt",
    ):
        for folder in ("", "a/", "a/b/", "build/", "build/out/", "é/", "b/build/"):
            desk.write(folder + name)
    desk.write("éa")
    desk.write("aé")
    desk.write(".gitignore", "\n".join(lines) + "\n")
    paths = everything_below(desk.root)
    assert ours(desk.root, paths) == git_ignored(desk.root, paths)


def test_nested_files_override_and_ignored_folders_are_not_searched(desk: Desk) -> None:
    desk.write(".gitignore", "*.log\nout/\n/only-here\n")
    desk.write("pkg/.gitignore", "!debug.log\n/local\nonly-here\n")
    desk.write("pkg/deep/.gitignore", "*.txt\n!*.log")
    desk.write("out/.gitignore", "!*\n")
    for path in ("debug.log", "pkg/debug.log", "pkg/other.log", "pkg/local", "pkg/deep/local"):
        desk.write(path)
    for path in ("pkg/deep/a.txt", "pkg/deep/a.log", "out/x", "only-here", "pkg/deep/only-here"):
        desk.write(path)
    paths = everything_below(desk.root)
    assert ours(desk.root, paths) == git_ignored(desk.root, paths)
    assert "out" not in {f.folder for f in read_ignore_rules(desk.root).files}


def test_crlf_bom_and_a_last_line_without_newline_are_understood(desk: Desk) -> None:
    desk.write(".gitignore", b"\xef\xbb\xbf*.log\r\nbuild/ \r\n# c\r\nlast")
    for path in ("a.log", "build/x", "last", "c"):
        desk.write(path)
    paths = everything_below(desk.root)
    expected = git_ignored(desk.root, paths)
    assert {"a.log", "build", "last"} <= expected
    assert ours(desk.root, paths) == expected


def test_info_exclude_counts_and_the_gitignore_overrides_it(desk: Desk) -> None:
    git_ignored(desk.root, [])
    (desk.root / ".git/info").mkdir(exist_ok=True)
    (desk.root / ".git/info/exclude").write_text("*.secret\n*.tmp\n")
    desk.write(".gitignore", "!keep.tmp\n")
    for path in ("a.secret", "b.tmp", "keep.tmp"):
        desk.write(path)
    paths = everything_below(desk.root)
    assert ours(desk.root, paths) == git_ignored(desk.root, paths) == {"a.secret", "b.tmp"}


def test_a_worktree_uses_the_exclude_file_of_its_main_checkout(desk: Desk) -> None:
    main = desk.folder / "main"
    (main / ".git/info").mkdir(parents=True)
    (main / ".git/info/exclude").write_text("*.secret\n")
    linked = main / ".git/worktrees/w"
    linked.mkdir(parents=True)
    (linked / "commondir").write_text("../..\n")
    desk.write(".git", f"gitdir: {linked}\n")
    assert read_ignore_rules(desk.root).is_ignored("a.secret")


def test_a_symlinked_gitignore_is_not_read(desk: Desk) -> None:
    outside = desk.folder / "outside"
    outside.write_text("*\n")
    (desk.root / ".gitignore").symlink_to(outside)
    assert read_ignore_rules(desk.root) == IgnoreRules()


def test_a_fifo_named_gitignore_does_not_hang(desk: Desk) -> None:
    os.mkfifo(desk.root / ".gitignore")
    assert read_ignore_rules(desk.root) == IgnoreRules()


@pytest.mark.parametrize("name", ["a.log\n", "\na.log", "a.log\x1b[0m", "b\n/a.log"])
def test_odd_characters_in_names_do_not_blur_a_pattern(desk: Desk, name: str) -> None:
    desk.write(name)
    desk.write(".gitignore", "a.log\n*.log\nb?c\n")
    paths = everything_below(desk.root)
    assert ours(desk.root, paths) == git_ignored(desk.root, paths)


def test_rules_survive_json_with_their_digest(desk: Desk) -> None:
    desk.write(".gitignore", b"*.log\n\xff\xfe*\n")
    desk.write("a/.gitignore", "x\n")
    rules = read_ignore_rules(desk.root)
    again = IgnoreRules.from_data(json.loads(json.dumps(rules.to_data())))
    assert again == rules
    assert again.digest == rules.digest
    assert rules.digest != IgnoreRules((IgnoreFile("", "*.log\n"),)).digest


def test_damaged_pins_are_refused_not_guessed() -> None:
    with pytest.raises(ConfigInvalid):
        IgnoreRules.from_data({"files": [{"folder": ""}]})


def test_rules_of_a_missing_workspace_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceMissing):
        read_ignore_rules(tmp_path / "nowhere")


pieces = [*"ab/*?[]!^-\\ #.é", "**", "/**/", "[a-b]", "[!a]", "[[:alpha:]]"]
pattern_text = st.lists(st.sampled_from(pieces), min_size=1, max_size=6).map("".join)
names = st.sampled_from(["a", "b", "ab", "a b", "é", "-", "]", "a.b", "^", "a ", "!", "a\\b"])


@settings(max_examples=80)
@given(
    lines=st.lists(pattern_text, min_size=1, max_size=4),
    nested=st.lists(pattern_text, max_size=2),
    paths=st.lists(st.lists(names, min_size=1, max_size=3), min_size=3, max_size=10),
)
def test_generated_rules_agree_with_git(
    lines: list[str], nested: list[str], paths: list[list[str]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / ".gitignore").write_text("\n".join(lines) + "\n")
        (root / "a").mkdir()
        (root / "a/.gitignore").write_text("\n".join(nested) + "\n")
        for parts in paths:
            place = root.joinpath(*parts)
            if not any(p.is_file() for p in (place, *place.parents)) and not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text("x")
        found = everything_below(root)
        assert ours(root, found) == git_ignored(root, found)
