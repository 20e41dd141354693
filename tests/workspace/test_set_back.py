"""Files set back for a second look: what stood there comes back, also after a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from signoff.workspace.workspace import Workspace

DIES = """
import os, signal, sys
from pathlib import Path
from signoff.workspace.workspace import Workspace
workspace = Workspace(Path(sys.argv[1]), Path(sys.argv[2]))
with workspace.set_back(sys.argv[3], ["settings", "added"]):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def _changed(tmp_path: Path) -> tuple[Workspace, Path, str]:
    root, store = tmp_path / "work", tmp_path / "store"
    root.mkdir()
    (root / "settings").write_text("strict\n")
    workspace = Workspace(root, store)
    approved = workspace.snapshot(durable=True).digest
    (root / "settings").write_text("lenient\n")
    (root / "added").write_text("new\n")
    (root / "work.py").write_text("x = 1\n")
    return workspace, root, approved


def test_for_a_while_some_files_are_as_approved_and_the_work_stays(tmp_path: Path) -> None:
    workspace, root, approved = _changed(tmp_path)
    before = workspace.snapshot().digest
    with workspace.set_back(approved, ["settings", "added"]) as then:
        assert (root / "settings").read_text() == "strict\n"
        assert not (root / "added").exists() and (root / "work.py").exists()
        assert then.digest not in (before, approved)
    assert workspace.snapshot().digest == before


def test_an_error_meanwhile_puts_them_forward_too(tmp_path: Path) -> None:
    workspace, root, approved = _changed(tmp_path)
    try:
        with workspace.set_back(approved, ["settings"]):
            raise ValueError("the contract could not be run")
    except ValueError:
        pass
    assert (root / "settings").read_text() == "lenient\n"


def test_after_a_kill_the_next_process_puts_them_forward(tmp_path: Path) -> None:
    workspace, root, approved = _changed(tmp_path)
    argv = [sys.executable, "-c", DIES, str(root), str(tmp_path / "store"), approved]
    died = subprocess.run(argv, check=False, env=dict(os.environ))
    assert died.returncode == -signal.SIGKILL
    assert (root / "settings").read_text() == "strict\n"
    changes = Workspace(root, tmp_path / "store").put_forward()
    assert {change.path for change in changes} == {"settings", "added"}
    assert (root / "settings").read_text() == "lenient\n"
    assert (root / "added").read_text() == "new\n"
    assert Workspace(root, tmp_path / "store").put_forward() == ()
    del workspace


def test_content_is_mixed_without_touching_the_folder(tmp_path: Path) -> None:
    workspace, root, approved = _changed(tmp_path)
    now = workspace.snapshot().digest
    mixed = workspace.content_with(now, approved, ["settings", "added"])
    assert set(mixed[""]) == {"settings", "work.py"}
    assert mixed[""]["settings"].state == workspace.manifest(approved)["settings"]
    assert (root / "settings").read_text() == "lenient\n"


def test_times_are_set_back_and_forward_too(tmp_path: Path) -> None:
    workspace, root, approved = _changed(tmp_path)
    then, left = 1_600_000_000_000_000_000, (root / "work.py").stat().st_mtime_ns
    with workspace.set_back(approved, ["settings"], {"settings": then, "work.py": then}):
        times = {name: (root / name).stat().st_mtime_ns for name in ("settings", "work.py")}
        assert times == {"settings": then, "work.py": then}
    assert (root / "work.py").stat().st_mtime_ns == left
    assert (root / "settings").read_text() == "lenient\n"


def test_a_link_in_the_place_of_a_file_leads_no_time_outside(tmp_path: Path) -> None:
    workspace, root, approved = _changed(tmp_path)
    outside = tmp_path / "outside"
    outside.write_text("")
    before = outside.stat().st_mtime_ns
    (root / "work.py").unlink()
    (root / "work.py").symlink_to(outside)
    with workspace.set_back(approved, ["settings"], {"work.py": 1}):
        pass
    assert outside.stat().st_mtime_ns == before
