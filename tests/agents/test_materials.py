"""Subscriptions: read as they are now; what cannot be read is named and stops nothing."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from signoff.agents.prompt import Material, gather
from signoff.domain.plan import Subscription, SubscriptionKind

TOPICS = {"auth": "What we know about auth.\n"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    return folder


def _read(root: Path, target: str, kind: SubscriptionKind = SubscriptionKind.FILE) -> Material:
    (material,) = gather((Subscription(kind, target),), root, TOPICS.get)
    return material


def test_files_and_topics_are_read_in_the_order_of_the_plan(root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    subscriptions = (
        Subscription(SubscriptionKind.TOPIC, "auth"),
        Subscription(SubscriptionKind.FILE, "a.txt"),
    )
    assert gather(subscriptions, root, TOPICS.get) == (
        Material("topic:auth", "What we know about auth.\n"),
        Material("file:a.txt", "one\n"),
    )


def test_a_missing_topic_and_a_missing_file_are_named(root: Path) -> None:
    topic = _read(root, "absent", SubscriptionKind.TOPIC)
    assert topic == Material("topic:absent", None, "no such topic in the vault")
    assert _read(root, "absent") == Material("file:absent", None, "No such file or directory")


@pytest.mark.parametrize("target", ["../secret.txt", "/etc/passwd", "link", "folder/secret.txt"])
def test_nothing_outside_the_workspace_is_read(root: Path, target: str) -> None:
    (root / "link").symlink_to("../secret.txt")
    (root / "folder").symlink_to("..")
    found = _read(root, target)
    assert found == Material(f"file:{target}", None, "it lies outside the workspace")


def test_a_link_that_stays_inside_is_followed(root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    (root / "link").symlink_to("a.txt")
    assert _read(root, "link").text == "one\n"


def test_a_pipe_is_refused_without_waiting_for_a_writer(root: Path) -> None:
    os.mkfifo(root / "pipe")
    assert _read(root, "pipe").missing == "it is not a regular file"


def test_a_folder_is_refused(root: Path) -> None:
    (root / "folder").mkdir()
    assert _read(root, "folder").missing == "it is not a regular file"


def test_a_socket_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        assert _read(root, "socket").text is None


@pytest.mark.parametrize("target", ["loop", "loop/x", "a\0b"])
def test_a_name_that_leads_nowhere_is_no_accident(root: Path, target: str) -> None:
    (root / "loop").symlink_to("loop")
    found = _read(root, target)
    assert found.text is None
    assert found.missing


def _open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_refused_files_leave_no_descriptor_open(root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "folder").mkdir()
    before = _open_descriptors()
    for _ in range(10):
        _read(root, "pipe")
        _read(root, "folder")
    assert _open_descriptors() == before


def test_a_huge_file_is_not_read_whole(root: Path) -> None:
    with (root / "huge").open("wb") as file:
        file.truncate(10**11)
    text = _read(root, "huge").text
    assert text is not None
    assert len(text) == 80_000


def test_bytes_that_are_no_text_are_shown_as_such(root: Path) -> None:
    (root / "binary").write_bytes(b"a\xff\xfeb")
    assert _read(root, "binary").text == "a\ufffd\ufffdb"
