"""What differs between two snapshots, as data and as text."""

from __future__ import annotations

import os
import time

from signoff.domain.snapshot import Change, ChangeKind
from tests.workspace.conftest import Desk


def test_a_diff_names_every_path_that_differs(desk: Desk) -> None:
    desk.write("same/file")
    desk.write("edited")
    desk.write("removed")
    desk.write("mode")
    workspace = desk.workspace()
    old = workspace.snapshot().digest
    desk.write("edited", "other\n")
    desk.write("added/file")
    (desk.root / "removed").unlink()
    (desk.root / "mode").chmod(0o755)
    new = workspace.snapshot().digest
    forward = (
        Change("added/file", ChangeKind.ADDED),
        Change("edited", ChangeKind.MODIFIED),
        Change("mode", ChangeKind.MODIFIED),
        Change("removed", ChangeKind.REMOVED),
    )
    assert workspace.diff(old, new) == forward
    assert desk.workspace().diff(old, new) == forward
    assert workspace.diff(old, old) == ()
    assert [c.kind for c in workspace.diff(new, old)] == [
        ChangeKind.REMOVED,
        ChangeKind.MODIFIED,
        ChangeKind.MODIFIED,
        ChangeKind.ADDED,
    ]


def test_the_text_shows_lines_and_only_names_binary_content(desk: Desk) -> None:
    desk.write("a.txt", "one\ntwo\nthree")
    desk.write("b.bin", b"\0\1")
    (desk.root / "link").symlink_to("a.txt")
    workspace = desk.workspace()
    old = workspace.snapshot().digest
    desk.write("a.txt", "one\n2\nthree")
    desk.write("b.bin", b"\0\2")
    desk.write("c.sh", "true\n").chmod(0o755)
    (desk.root / "link").unlink()
    (desk.root / "link").symlink_to("b.bin")
    new = workspace.snapshot().digest
    assert workspace.text_diff(old, new) == (
        "modified: a.txt\n"
        "--- a/a.txt\n"
        "+++ b/a.txt\n"
        "@@ -1,3 +1,3 @@\n"
        " one\n"
        "-two\n"
        "+2\n"
        " three\n"
        "\\ No newline at end of file\n"
        "modified: b.bin\n"
        "  (binary or large content not shown)\n"
        "added executable file: c.sh\n"
        "--- /dev/null\n"
        "+++ b/c.sh\n"
        "@@ -0,0 +1 @@\n"
        "+true\n"
        "modified: link\n"
        "--- a/link\n"
        "+++ b/link\n"
        "@@ -1 +1 @@\n"
        "-a.txt\n"
        "\\ No newline at end of file\n"
        "+b.bin\n"
        "\\ No newline at end of file\n"
    )


def test_a_mode_change_and_a_kind_change_are_said_in_words(desk: Desk) -> None:
    desk.write("mode", "x\n")
    desk.write("kind", "target")
    workspace = desk.workspace()
    old = workspace.snapshot().digest
    (desk.root / "mode").chmod(0o755)
    (desk.root / "kind").unlink()
    (desk.root / "kind").symlink_to("target")
    assert workspace.text_diff(old, workspace.snapshot().digest) == (
        "modified file to link: kind\nmodified file to executable file: mode\n"
    )


def test_the_text_is_capped_and_says_so(desk: Desk) -> None:
    workspace = desk.workspace()
    old = workspace.snapshot().digest
    desk.write("a", "line\n" * 1_000)
    text = workspace.text_diff(old, workspace.snapshot().digest, max_bytes=200)
    assert text.endswith("… cut after 200 bytes\n")
    assert len(text) < 300


def test_a_hostile_name_stays_on_its_line(desk: Desk) -> None:
    workspace = desk.workspace()
    old = workspace.snapshot().digest
    desk.write("a\nmodified: tests\x1b[2J", "x\n")
    desk.write(os.fsdecode(b"\xff"), "x\n")
    text = workspace.text_diff(old, workspace.snapshot().digest)
    assert "\x1b" not in text
    assert '"a\\nmodified: tests\\x1b[2J"' in text
    assert "\nmodified: tests" not in text
    text.encode()


def test_text_made_to_be_slow_to_compare_is_not_slow(desk: Desk) -> None:
    workspace = desk.workspace()
    desk.write("a", "".join(f"{i % 7}\n" for i in range(100_000)))
    old = workspace.snapshot().digest
    desk.write("a", "".join(f"{i % 5}\n" for i in range(100_000)))
    new = workspace.snapshot().digest
    began = time.monotonic()
    workspace.text_diff(old, new, max_bytes=10_000_000)
    assert time.monotonic() - began < 60
