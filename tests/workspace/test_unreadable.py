"""A workspace that cannot be read or a disk that is full is said, not skipped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from signoff.errors import StorageFailed
from signoff.workspace.workspace import Workspace
from tests.workspace.conftest import Desk

PROGRAM = """
import os, sys
from pathlib import Path
from signoff.errors import SignoffError
from signoff.workspace.workspace import Workspace
workspace = Workspace(Path(sys.argv[1]), Path(sys.argv[2]))
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    print(workspace.digest_now().files)
except SignoffError as error:
    print(error.code, error.message)
"""


def digest_as_somebody_else(desk: Desk) -> str:
    """Root reads everything, so the walk runs as a user who does not."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(desk.root), str(desk.store)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_an_unreadable_file_is_named(shared_desk: Desk) -> None:
    shared_desk.write("open")
    shared_desk.write("closed").chmod(0)
    assert digest_as_somebody_else(shared_desk) == (
        "storage-failed `closed` in the workspace: Permission denied"
    )


def test_an_unreadable_folder_is_named(shared_desk: Desk) -> None:
    shared_desk.write("closed/file")
    (shared_desk.root / "closed").chmod(0)
    try:
        assert digest_as_somebody_else(shared_desk) == (
            "storage-failed `closed` in the workspace: Permission denied"
        )
    finally:
        (shared_desk.root / "closed").chmod(0o755)


@pytest.mark.skipif(os.getuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_is_an_error_and_the_next_snapshot_is_complete(desk: Desk) -> None:
    desk.store.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(desk.store)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("this system does not let us mount")
    try:
        desk.write("small", "small")
        workspace = desk.workspace()
        first = workspace.snapshot()
        large = desk.write("large", os.urandom(400_000))
        with pytest.raises(StorageFailed, match="No space left"):
            workspace.snapshot()
        assert workspace.read(first.digest, "small") == b"small"
        large.write_bytes(os.urandom(1_000))
        second = workspace.snapshot()
        assert workspace.read(second.digest, "large") == large.read_bytes()
        reader = Workspace(desk.root, desk.store)
        assert set(reader.manifest(second.digest)) == {"large", "small"}
    finally:
        subprocess.run(["umount", "-l", str(desk.store)], check=True)


@pytest.mark.skipif(os.getuid() != 0, reason="to others the walk fails there")
def test_root_names_what_the_owner_may_not_read(desk: Desk) -> None:
    desk.write("open")
    desk.write("closed").chmod(0)
    desk.write("folder/inside")
    (desk.root / "folder").chmod(0o600)
    workspace = desk.workspace()
    workspace.snapshot()
    assert workspace.closed == ["closed", "folder"]
