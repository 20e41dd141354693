"""Everything that holds for root holds for an ordinary user: the same claims, under another uid."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import signoff

from .pens import SANDBOXES

_STRANGER = 65_534

_DRIVER = """
import json, os, sys, tempfile
sys.path[:0] = [sys.argv[1], sys.argv[2] + "/lib"]
from pathlib import Path
from signoff.domain.verdict import Isolation
from signoff.process.command import Command
from signoff.process.command import Confinement
from signoff.process.environment import STANDARD_PATH
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.sandboxes import probe_sandboxes
from signoff.process.shell import shell_command
root = Path(sys.argv[2])
ws, home, beside = root / "ws", root / "state", root / "beside"
answers = {}
for support in probe_sandboxes():
    told = {"available": support.available, "detail": support.detail}
    answers[str(support.isolation)] = told
for isolation in (Isolation.BUBBLEWRAP, Isolation.NAMESPACES, Isolation.LANDLOCK):
    told = answers[str(isolation)]
    if not told["available"]:
        continue
    pen = Confinement(isolation, (ws, home / "report"), readonly=(ws / ".git",), readable=(root,),
                      hidden=(home, beside / "config"))
    def bash(text, **limits):
        env = {"PATH": STANDARD_PATH, "SECRET": "inside"}
        limits = Limits(wall_s=60, **limits)
        seen = run(Command(shell_command(text), ws, env, limits, confinement=pen))
        return [str(seen.ending), seen.exit_code, seen.signal, seen.stdout.kept.decode()]
    told["works"] = bash("id -u; echo x > mine; cat ../beside/file; cat mine")
    told["outside"] = bash("echo lie > ../beside/file")
    told["vault"] = bash("echo lie > .git/config || mv .git x || rm -rf .git/config")
    told["hidden"] = bash("cat ../state/key; ls ../state; cat ../beside/config")
    told["report"] = bash("echo spent > ../state/report/usage")
    told["harness"] = bash(f"kill -0 {os.getpid()} || cat /proc/{os.getpid()}/environ")
    told["environ"] = bash("cat /proc/[0-9]*/environ /proc/$PPID/environ | grep -ac outside")
    told["signal"] = bash("kill -9 $$")
    told["code"] = bash("exit 3")
    bomb = "for i in $(seq 200); do sleep 5 & done; jobs -r | wc -l; exit 0"
    told["bomb"] = bash(bomb, processes=20)
    hungry = "sleep 0.2; head -c 900m /dev/zero | tail -c 800m > /dev/null"
    told["memory"] = bash(hungry, memory=100_000_000)
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def answers() -> Iterator[dict[str, Any]]:
    """What a driver under an ordinary user's uid saw."""
    if os.geteuid() != 0:
        uid, python = os.geteuid(), sys.executable
    else:
        uid, python = _STRANGER, ""
    root = Path(tempfile.mkdtemp(prefix="signoff-stranger-"))
    try:
        _furnish(root, uid)
        python = python or _python_for(uid, root)
        yield json.loads(_as_user(uid, [python, "-c", _DRIVER, _source(), str(root)]))
    finally:
        shutil.rmtree(root)


def _furnish(root: Path, uid: int) -> None:
    for folder in ("ws/.git", "state/report", "beside"):
        (root / folder).mkdir(parents=True)
    for name in ("ws/.git/config", "state/key", "beside/file", "beside/config"):
        (root / name).write_text(f"{name}\n")
    # What the process room needs beside the standard library, where the user can read it.
    shutil.copytree(Path(msgspec.__file__).parent, root / "lib" / "msgspec")
    if os.geteuid() == 0:
        for path in (root, *root.rglob("*")):
            os.chown(path, uid, uid)


def _source() -> str:
    return str(Path(signoff.__file__).parents[1])


def _python_for(uid: int, root: Path) -> str:
    """An interpreter that the user can start and that can import the package."""
    for python in (sys.executable, shutil.which("python3", path="/usr/bin:/usr/local/bin")):
        places = [_source(), str(root / "lib")]
        code = f"import sys; sys.path[:0] = {places!r}; import signoff.process.command"
        try:
            if python is not None:
                _as_user(uid, [python, "-c", code])
                return python
        except (OSError, subprocess.CalledProcessError):
            continue
    pytest.skip("no interpreter that another user could start")


def _as_user(uid: int, argv: list[str]) -> str:
    other: dict[str, Any] = {}
    if os.geteuid() == 0:
        other = {"user": uid, "group": uid, "extra_groups": []}
    done: subprocess.CompletedProcess[str] = subprocess.run(
        argv,
        cwd="/",
        env={"PATH": "/usr/bin:/bin", "SECRET": "outside"},
        capture_output=True,
        text=True,
        check=True,
        timeout=200,
        **other,
    )
    return done.stdout


@pytest.fixture(params=[str(isolation) for isolation in SANDBOXES])
def told(request: pytest.FixtureRequest, answers: dict[str, Any]) -> dict[str, Any]:
    """One sandbox's answers."""
    found: dict[str, Any] = answers[request.param]
    if not found["available"]:
        pytest.skip(f"{request.param} for an ordinary user: {found['detail']}")
    return {**found, "isolation": request.param}


def test_it_works_as_the_same_user(told: dict[str, Any]) -> None:
    uid = os.geteuid() or _STRANGER
    assert told["works"] == ["exited", 0, None, f"{uid}\nbeside/file\nx\n"]


def test_nothing_outside_can_be_changed(told: dict[str, Any]) -> None:
    assert told["outside"][:2] == ["exited", 1]


def test_a_hole_in_the_workspace_cannot_be_changed(told: dict[str, Any]) -> None:
    if told["isolation"] == "landlock":
        pytest.skip("Landlock has no holes in what may be written")
    assert told["vault"][:2] == ["exited", 1]


def test_what_is_hidden_cannot_be_read_but_what_is_opened_in_it_written(
    told: dict[str, Any],
) -> None:
    assert told["hidden"][3] == ""
    assert told["report"][:2] == ["exited", 0]


def test_the_harness_can_be_neither_signalled_nor_read(told: dict[str, Any]) -> None:
    assert told["harness"][1] != 0
    assert told["harness"][3] == ""
    assert told["environ"][3] == "0\n"


def test_endings_are_told_apart(told: dict[str, Any]) -> None:
    assert told["signal"][:3] == ["signalled", None, 9]
    assert told["code"][:2] == ["exited", 3]


def test_the_number_of_processes_is_capped(told: dict[str, Any]) -> None:
    ending, code, number, printed = told["bomb"]
    if told["isolation"] != "landlock":
        # The shell tries again for a while, then gives up; it never gets more.
        assert code != 0 or int(printed) < 20
    else:
        assert (ending, number) == ("signalled", 9)


def test_memory_is_capped(told: dict[str, Any]) -> None:
    assert told["memory"][1] not in (0, None)
