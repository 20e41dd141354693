"""Content that travels through a bare git repository comes out as it went in, or not at all."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from signoff.errors import ContentUnreachable, SignoffError
from signoff.workspace.remote import ContentRemote
from signoff.workspace.workspace import Workspace

PLAN = "0123456789abcdef"


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A bare git repository that nobody used."""
    path = tmp_path / "content.git"
    git("init", "--quiet", "--bare", str(path))
    return path


def git(*arguments: str) -> str:
    """The output of git."""
    done = subprocess.run(["git", *arguments], check=True, capture_output=True, text=True)
    return done.stdout


def machine(folder: Path, bare: Path) -> tuple[Workspace, ContentRemote]:
    """A workspace with a store of its own, and its way to the remote."""
    (folder / "work").mkdir(parents=True)
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    remote = ContentRemote(str(bare), folder / "git", PLAN, environ)
    return Workspace(folder / "work", folder / "store"), remote


def filled(workspace: Workspace) -> str:
    """Content of every kind that git alone would lose; its digest."""
    root = workspace.root
    (root / "tool.sh").write_text("#!/bin/sh\n")
    (root / "tool.sh").chmod(0o755)
    (root / "link").symlink_to("nowhere at all")
    (root / "empty" / "deeper").mkdir(parents=True)
    (root / "nested" / ".git").mkdir(parents=True)
    (root / "nested" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / "nested" / "file").write_text("in a repository of its own\n")
    (root / os.fsdecode(b"not \xff utf-8")).write_bytes(b"\0\xff\r\n")
    (root / ".gitattributes").write_text("* text eol=crlf filter=evil\n")
    return workspace.snapshot().digest


def test_content_of_every_kind_arrives_with_its_digest(tmp_path: Path, bare: Path) -> None:
    (here, send), (there, fetch) = machine(tmp_path / "a", bare), machine(tmp_path / "b", bare)
    digest = filled(here)
    send.send(here.objects, digest)
    fetch.fetch(there)
    there.revert(digest)
    assert there.snapshot().digest == digest
    assert (there.root / "empty" / "deeper").is_dir() and (there.root / "link").is_symlink()


def test_only_what_is_new_travels(tmp_path: Path, bare: Path) -> None:
    (here, send), (there, fetch) = machine(tmp_path / "a", bare), machine(tmp_path / "b", bare)
    (here.root / "large").write_bytes(os.urandom(2_000_000))
    send.send(here.objects, here.snapshot().digest)
    fetch.fetch(there)
    before = size(bare), size(tmp_path / "b" / "git")
    (here.root / "small").write_text("new\n")
    digest = here.snapshot().digest
    send.send(here.objects, digest)
    fetch.fetch(there, (digest,))
    after = size(bare), size(tmp_path / "b" / "git")
    assert all(late - early < 100_000 for early, late in zip(before, after, strict=True))
    assert there.read(digest, "small") == b"new\n"


def size(folder: Path) -> int:
    """Bytes in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_two_machines_may_send_the_same(tmp_path: Path, bare: Path) -> None:
    (here, send), (there, fetch) = machine(tmp_path / "a", bare), machine(tmp_path / "b", bare)
    assert filled(here) == filled(there)
    fetch.digests()
    send.send(here.objects, here.snapshot().digest)
    fetch.send(there.objects, there.snapshot().digest)
    assert send.digests() == fetch.digests() == (here.snapshot().digest,)


def test_what_is_not_what_its_name_says_is_refused(tmp_path: Path, bare: Path) -> None:
    (here, send), (there, fetch) = machine(tmp_path / "a", bare), machine(tmp_path / "b", bare)
    (here.root / "file").write_text("honest\n")
    honest = here.snapshot().digest
    (here.root / "file").write_text("forged\n")
    forged = here.snapshot().digest
    send.send(here.objects, forged)
    refs = f"refs/signoff/{PLAN}"
    git("-C", str(bare), "update-ref", f"{refs}/{honest}", f"{refs}/{forged}")
    with pytest.raises(SignoffError, match="damaged"):
        fetch.fetch(there, (honest,))
    git("-C", str(bare), "update-ref", "-d", f"{refs}/{honest}")
    (here.root / "file").write_text("honest\n")
    send.send(here.objects, honest)
    fetch.fetch(there, (honest,))
    assert there.read(honest, "file") == b"honest\n"


def test_a_manifest_that_names_other_objects_is_refused(tmp_path: Path, bare: Path) -> None:
    (here, send), (there, fetch) = machine(tmp_path / "a", bare), machine(tmp_path / "b", bare)
    (here.root / "file").write_text("honest\n")
    digest = here.snapshot().digest
    tree = here.objects.snapshot_tree(digest)
    assert tree is not None
    forged = here.objects.put("blob", b"forged\n")
    top = {name: oid for _, name, oid in here._store._tree_entries(tree)}
    ((_, _, record),) = here._store._tree_entries(top[b"manifest"])
    honest = here.objects.get(record, "blob")
    blob = here._store.load(digest)["file"].blob.hex().encode()
    swapped = here.objects.put("blob", honest.replace(blob, forged.hex().encode()))
    folder = here.objects.put("tree", b"100644 %\0" + swapped)
    content = here.objects.put("tree", b"100644 file\0" + forged)
    lie = here.objects.put("tree", b"40000 content\0" + content + b"40000 manifest\0" + folder)
    here.objects.commit(digest, lie)
    send.send(here.objects, digest)
    with pytest.raises(SignoffError, match="damaged"):
        fetch.fetch(there, (digest,))
    assert there.objects.snapshot_tree(digest) is None


def test_what_nobody_needs_is_taken_off_the_remote(tmp_path: Path, bare: Path) -> None:
    here, send = machine(tmp_path / "a", bare)
    digest = filled(here)
    send.send(here.objects, digest)
    send.remove(send.digests())
    assert send.digests() == ()
    send.send(here.objects, digest)
    assert send.digests() == (digest,)


def test_a_remote_that_is_not_there_is_told_with_gits_words(tmp_path: Path) -> None:
    here, send = machine(tmp_path / "a", tmp_path / "nowhere.git")
    with pytest.raises(ContentUnreachable, match="does not appear to be a git repository"):
        send.send(here.objects, filled(here))
