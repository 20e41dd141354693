"""Where tools may read and write, and the tricks that do not get them further."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from signoff.agents.tools.context import ToolError
from signoff.domain.digests import digest_bytes
from tests.agents.toolkit import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_file_is_written_with_the_folders_above_it_and_its_digest_is_kept(bench: Bench) -> None:
    outcome = bench.outcome("write", {"path": "a/b/c.txt", "content": "hello\n"})
    assert outcome.text == "wrote a/b/c.txt (6 characters)"
    assert (bench.work / "a/b/c.txt").read_text() == "hello\n"
    assert outcome.writes == {"a/b/c.txt": digest_bytes(b"hello\n")}


def test_a_read_notes_the_content_of_the_whole_file(bench: Bench) -> None:
    bench.file("a.txt", "one\ntwo\nthree\n")
    outcome = bench.outcome("read", {"path": "a.txt", "first_line": 2, "last_line": 2})
    assert outcome.text == "a.txt, lines 2-2 of 3\ntwo"
    assert outcome.reads == {"a.txt": digest_bytes(b"one\ntwo\nthree\n")}


@pytest.mark.parametrize(
    "path",
    ["../outside/new", "a/../../outside/new", "/etc/passwd", "{folder}/outside/secret", "link/new"],
)
def test_nothing_outside_the_workspace_is_written(bench: Bench, path: str) -> None:
    (bench.work / "link").symlink_to(bench.folder / "outside")
    named = path.format(folder=bench.folder)
    assert "outside the workspace" in bench.refuses("write", path=named, content="x")
    assert (bench.folder / "outside/secret").read_text() == "untouched\n"
    assert sorted(p.name for p in (bench.folder / "outside").iterdir()) == ["secret"]


def test_a_link_to_a_file_outside_is_neither_read_nor_edited(bench: Bench) -> None:
    (bench.work / "innocent").symlink_to(bench.folder / "outside/secret")
    assert "outside the workspace" in bench.refuses("read", path="innocent")
    bench.refuses("edit", path="innocent", old="untouched", new="touched")
    bench.refuses("write", path="innocent", content="touched")
    assert (bench.folder / "outside/secret").read_text() == "untouched\n"


def test_a_link_that_stays_in_the_workspace_is_followed(bench: Bench) -> None:
    bench.file("real/a.txt", "one\n")
    (bench.work / "alias").symlink_to("real")
    bench.does("edit", path="alias/a.txt", old="one", new="two")
    assert (bench.work / "real/a.txt").read_text() == "two\n"
    assert (bench.work / "alias").is_symlink()


@pytest.mark.parametrize(
    "path",
    ["PLAN.md", "signoff.toml", ".harness/PLAN-x.md", ".git/hooks/post-commit", "x/../PLAN.md"],
)
def test_the_plan_the_vault_the_configuration_and_git_are_not_written(
    bench: Bench, path: str
) -> None:
    assert "agents may not write it" in bench.refuses("write", path=path, content="x")
    bench.file("alias-target", "")
    (bench.work / "alias").symlink_to(bench.work / path.rpartition("x/../")[2])
    bench.refuses("write", path="alias", content="x")
    assert (bench.work / "PLAN.md").read_text() == "untouched\n"


def test_a_second_name_of_the_plan_does_not_lead_into_it(bench: Bench) -> None:
    os.link(bench.work / "PLAN.md", bench.work / "copy.md")
    bench.does("edit", path="copy.md", old="untouched", new="status: done")
    assert (bench.work / "PLAN.md").read_text() == "untouched\n"


def test_allowed_folders_are_read_and_never_written(bench: Bench) -> None:
    place = str(bench.folder / "allowed/hosts")
    assert "127.0.0.1 localhost" in bench.does("read", path=place)
    assert "outside the workspace" in bench.refuses("write", path=place, content="x")
    assert "outside the workspace" in bench.refuses("read", path="/etc/hostname")


def test_the_harness_home_is_hidden_even_below_an_allowed_folder(bench: Bench) -> None:
    from msgspec.structs import replace

    bench.change(files=replace(bench.context.files, readable=(bench.folder,)))
    assert "the harness's own" in bench.refuses("read", path=str(bench.folder / "home/ledger"))
    assert "outside/secret" in bench.does("glob", pattern="**", path=str(bench.folder))
    assert "ledger" not in bench.does("glob", pattern="**", path=str(bench.folder))
    bench.refuses("grep", pattern="untouched", path=str(bench.folder))


def test_what_would_block_or_never_end_is_refused_unread(bench: Bench) -> None:
    os.mkfifo(bench.work / "pipe")
    assert "not a regular file" in bench.refuses("read", path="pipe")
    assert "not a regular file" in bench.refuses("write", path="pipe", content="x")
    with (bench.work / "huge").open("wb") as file:
        file.truncate(11_000_000)
    assert "has 11000000 bytes" in bench.refuses("read", path="huge")
    assert "is a folder" in bench.refuses("read", path=".")


def test_a_binary_file_and_text_that_is_no_utf8_are_named_as_such(bench: Bench) -> None:
    bench.file("a.bin", b"\x7fELF\0\0")
    bench.file("b.txt", b"caf\xe9\n")
    assert "binary file of 6 bytes" in bench.refuses("read", path="a.bin")
    assert "not UTF-8 text" in bench.refuses("read", path="b.txt")


def test_a_long_file_is_read_in_parts_that_join_without_a_gap(bench: Bench) -> None:
    lines = [f"line {number} " + "x" * 50 for number in range(1, 2001)]
    bench.file("long.txt", "\n".join(lines) + "\n")
    seen: list[str] = []
    first = 1
    while True:
        head, *body = bench.does("read", path="long.txt", first_line=first).split("\n")
        assert head.startswith(f"long.txt, lines {first}-") and head.endswith(" of 2000")
        cut = body[-1].startswith("[cut here: read on with first_line=")
        seen += body[:-1] if cut else body
        if not cut:
            break
        first = int(body[-1].rstrip("]").rpartition("=")[2])
    assert seen == lines


def test_one_endless_line_is_shortened_and_says_so(bench: Bench) -> None:
    bench.file("min.js", "x" * 1_000_000)
    text = bench.does("read", path="min.js")
    assert "998000 more characters in this line" in text and len(text) < 3000


def test_lines_that_are_not_there_are_told_with_those_that_are(bench: Bench) -> None:
    bench.file("a.txt", "one\n")
    assert "has lines 1 to 1" in bench.refuses("read", path="a.txt", first_line=7)
    assert bench.does("read", path=bench.file("b.txt", "").name) == "b.txt is empty\n"


def test_an_edit_needs_exactly_one_place(bench: Bench) -> None:
    bench.file("a.txt", "x = 1\ny = 1\n")
    assert "occurs 2 times" in bench.refuses("edit", path="a.txt", old="= 1", new="= 2")
    assert "does not occur" in bench.refuses("edit", path="a.txt", old="z", new="w")
    assert "nothing would change" in bench.refuses("edit", path="a.txt", old="x", new="x")
    bench.does("edit", path="a.txt", old="x = 1", new="x = 2")
    assert bench.does("edit", path="a.txt", old=" = ", new=": ", every=True).endswith("(2 places)")
    assert (bench.work / "a.txt").read_text() == "x: 2\ny: 1\n"


def test_an_edit_keeps_line_endings_and_permissions(bench: Bench) -> None:
    place = bench.file("run.sh", b"one\r\ntwo\r\nthree\r\n")
    place.chmod(0o755)
    bench.does("edit", path="run.sh", old="one\ntwo", new="1\n2")
    assert place.read_bytes() == b"1\r\n2\r\nthree\r\n"
    assert place.stat().st_mode & 0o777 == 0o755


def test_files_are_found_by_pattern_without_following_links_or_git(bench: Bench) -> None:
    for path in ("a.py", "src/b.py", "src/deep/c.py", ".git/config.py"):
        bench.file(path, "")
    (bench.work / "loop").symlink_to(".")
    assert bench.does("glob", pattern="*.py") == "a.py"
    assert bench.does("glob", pattern="**/*.py") == "a.py\nsrc/b.py\nsrc/deep/c.py"
    assert bench.does("glob", pattern="*.py", path="src") == "b.py"
    assert "no file under" in bench.does("glob", pattern="*.rs")


def test_lines_are_found_by_expression(bench: Bench) -> None:
    bench.file("a.py", "import os\nx = 1\n")
    bench.file("b.txt", "IMPORT\n")
    bench.file(".git/c.py", "import git\n")
    assert bench.does("grep", pattern="^import") == "a.py:1:import os"
    found = bench.does("grep", pattern="import|x", ignore_case=True, files="*.txt")
    assert found == "b.txt:1:IMPORT"
    assert "no line under" in bench.does("grep", pattern="nowhere")
    assert "error" in bench.refuses("grep", pattern="(")
    assert "outside the workspace" in bench.refuses("grep", pattern="x", path="../outside")


def test_an_expression_that_begins_like_an_option_stays_an_expression(bench: Bench) -> None:
    bench.file("a.txt", "--file=x\n")
    assert bench.does("grep", pattern="--file=") == "a.txt:1:--file=x"


def test_a_path_that_is_no_text_is_told_in_words(bench: Bench) -> None:
    for name, more in (("write", {"content": "x"}), ("read", {}), ("grep", {"pattern": "x"})):
        said = bench.refuses(name, path="a\ud800b", **more)
        assert "half a character" in said and "Unicode" not in said
    with pytest.raises(ToolError, match="cannot be a file's name"):
        bench.context.read("a\ud800b")
