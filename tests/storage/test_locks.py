"""A lock is held by a living process, and by nobody else."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from signoff.errors import Held, HomeUnsafe, StorageFailed
from signoff.storage.home import hold
from signoff.storage.records import Holder
from tests.storage.kit import HOLDER, WAIT_S, worker

HOLD_AND_WAIT = """
import sys
from pathlib import Path
from signoff.storage.home import hold
from signoff.storage.records import Holder
with hold(Path(sys.argv[1]), sys.argv[2], Holder.current("the-plan")):
    print("held", flush=True)
    sys.stdin.read()
"""

HOLD_AND_LEAVE_A_CHILD = """
import os, subprocess, sys
from pathlib import Path
from signoff.storage.home import hold
from signoff.storage.records import Holder
with hold(Path(sys.argv[1]), sys.argv[2], Holder.current("the-plan")):
    child = subprocess.Popen(["sleep", "600"], close_fds=False, start_new_session=True,
                             stdout=subprocess.DEVNULL)
    print(child.pid, flush=True)
    os.kill(os.getpid(), 9)
"""


def test_a_second_holder_is_told_who_has_it(tmp_path: Path) -> None:
    with (
        hold(tmp_path, "plan-1", HOLDER),
        pytest.raises(Held) as caught,
        hold(tmp_path, "plan-1", Holder.current("p")),
    ):
        pass
    assert str(caught.value) == (
        "`plan-1` is held by process 4711 on `build-7`"
        " since 2026-01-02T03:04:05.000006+00:00 (plan `p`)"
    )
    assert caught.value.facts["holder"] == HOLDER.facts()


def test_a_second_holder_is_told_what_and_how_to_stop_it(tmp_path: Path) -> None:
    driver = replace(HOLDER, plan="/repo/.harness/PLAN-it's.md")
    with (
        hold(tmp_path, "plan-e19c", driver, "plan `it's`"),
        pytest.raises(Held, match=r"^plan `it's` is held by process 4711") as caught,
        hold(tmp_path, "plan-e19c", HOLDER, "plan `it's`"),
    ):
        pass
    command = caught.value.hint.partition("stop it: ")[2]
    assert shlex.split(command) == ["signoff", "cancel", "/repo/.harness/PLAN-it's.md"]
    assert "plan-e19c" not in caught.value.message


def test_a_lock_is_free_again_after_use_and_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError), hold(tmp_path, "a", HOLDER):
        raise KeyError
    assert (tmp_path / "a.lock").read_bytes() == b""
    with hold(tmp_path, "a", HOLDER), hold(tmp_path, "b", HOLDER):
        pass
    with hold(tmp_path, "a", HOLDER):
        pass


@pytest.mark.parametrize(
    "name", ["plan", "/a workspace/with: odd\udcff name", "..", ".", "x" * 300]
)
def test_any_name_can_be_locked_inside_the_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "locks"
    folder.mkdir()
    with hold(folder, name, HOLDER), pytest.raises(Held), hold(folder, name, HOLDER):
        pass
    assert len(list(folder.iterdir())) == 1
    assert list(tmp_path.iterdir()) == [folder]


def test_a_process_that_dies_lets_go(tmp_path: Path) -> None:
    process = worker(HOLD_AND_WAIT, tmp_path, "a", stdin=subprocess.PIPE)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(Held) as caught, hold(tmp_path, "a", HOLDER):
            pass
        assert caught.value.facts["holder"]["pid"] == process.pid
        assert caught.value.facts["holder"]["plan"] == "the-plan"
    finally:
        process.kill()
        process.communicate(timeout=WAIT_S)
    with hold(tmp_path, "a", HOLDER):
        pass


def test_a_child_left_behind_does_not_keep_the_lock(tmp_path: Path) -> None:
    process = worker(HOLD_AND_LEAVE_A_CHILD, tmp_path, "a")
    text, _ = process.communicate(timeout=WAIT_S)
    child = int(text)
    try:
        os.kill(child, 0)  # it is alive, and was started with every descriptor it could get
        with hold(tmp_path, "a", HOLDER):
            pass
    finally:
        os.kill(child, 9)


def test_a_symlink_planted_as_the_lock_file_is_refused_and_its_target_untouched(
    tmp_path: Path,
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    folder = tmp_path / "locks"
    folder.mkdir()
    (folder / "a.lock").symlink_to(victim)
    with pytest.raises(HomeUnsafe, match="is a symbolic link"), hold(folder, "a", HOLDER):
        pass
    assert victim.read_text() == "precious"


def test_a_lock_folder_swapped_for_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "locks").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(HomeUnsafe), hold(tmp_path / "locks", "a", HOLDER):
        pass
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_lock_folder_that_is_gone_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match="lock folder"), hold(tmp_path / "no", "a", HOLDER):
        pass


@pytest.mark.parametrize("content", [b"", b"not json", b"[]", b'{"pid": "x"}'])
def test_a_lock_file_that_says_nonsense_still_locks(tmp_path: Path, content: bytes) -> None:
    with hold(tmp_path, "a", HOLDER):
        (tmp_path / "a.lock").write_bytes(content)
        with pytest.raises(Held, match="did not say who it is"), hold(tmp_path, "a", HOLDER):
            pass


def test_a_lock_file_left_by_a_dead_holder_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "a.lock").write_text('{"pid": 1, "host": "h", "plan": "p", "since": "s"}')
    with hold(tmp_path, "a", HOLDER):
        pass
