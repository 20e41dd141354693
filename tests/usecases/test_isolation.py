"""Confined runs: what agents and contracts cannot see, change or reach, in every sandbox here."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from signoff.domain.ledger import Kind, Outcome
from signoff.domain.verdict import Isolation
from signoff.errors import SandboxMissing
from signoff.process.sandboxes import probe_sandboxes
from tests.adversary.arena import HONEST, Arena

AVAILABLE = [s.isolation for s in probe_sandboxes() if s.available]
SEVERAL = pytest.mark.parametrize(
    "mode",
    [
        pytest.param(
            mode, marks=() if mode in AVAILABLE else pytest.mark.skip(f"no {mode} on this machine")
        )
        for mode in (Isolation.BUBBLEWRAP, Isolation.LANDLOCK)
    ],
)
BOXED = pytest.mark.skipif(
    Isolation.BUBBLEWRAP not in AVAILABLE, reason="no bubblewrap on this machine"
)


def confined(arena: Arena, mode: Isolation, more: str = "") -> Arena:
    """The same arena with a sandbox chosen in the user's configuration."""
    path = arena.base / "confined.toml"
    path.write_text(f'{more}\n[sandbox]\nisolation = "{mode}"\n')
    arena.environ["SIGNOFF_CONFIG"] = str(path)
    return arena


@pytest.fixture
def arena(tmp_path: Path) -> Arena:
    return Arena(tmp_path)


@SEVERAL
def test_honest_work_is_signed_off_and_says_what_confined_it(arena: Arena, mode: Isolation) -> None:
    assert confined(arena, mode).attack(HONEST).outcome is Outcome.DONE
    assert arena.verdict()["isolation"] == mode
    assert arena.entries_of_attempt()["isolation"] == mode


@SEVERAL
def test_signoffs_home_and_the_users_configuration_are_invisible(
    arena: Arena, mode: Isolation
) -> None:
    confined(arena, mode)
    script = (
        f'{HONEST}; (ls -R "$HOME_FOLDER"; cat "$HOME_FOLDER"/*.sqlite3; cat {arena.base}/*.toml)'
        " > seen.txt 2>&1"
    )
    assert arena.attack(script).outcome is Outcome.DONE
    seen = (arena.root / "seen.txt").read_text(errors="replace")
    assert "ledger" not in seen.replace("ledger.sqlite3: No such file", "")
    assert "isolation" not in seen and "SQLite format" not in seen


@SEVERAL
def test_nothing_outside_the_workspace_can_be_changed(arena: Arena, mode: Isolation) -> None:
    confined(arena, mode)
    (arena.base / "user" / ".bashrc").write_text("# mine\n")
    script = f'{HONEST}; echo evil > "$LOOT/x"; echo evil >> {arena.base}/user/.bashrc'
    assert arena.attack(script).outcome is Outcome.DONE
    assert list(arena.loot.iterdir()) == []
    assert (arena.base / "user" / ".bashrc").read_text() == "# mine\n"


@SEVERAL
def test_the_harness_cannot_be_read_or_killed(arena: Arena, mode: Isolation) -> None:
    confined(arena, mode)
    arena.environ["DEPLOY_TOKEN"] = "hunter2-hunter2"
    look = "for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ; done > env.txt"
    script = f"{HONEST}; exec 2>/dev/null; {look}; kill -9 -1; kill -9 $PPID; true"
    arena.attack(script)
    assert "hunter2" not in (arena.root / "env.txt").read_text(errors="replace")
    assert arena.entries(Kind.ATTEMPT_FINISHED)


@BOXED
@pytest.mark.parametrize("script", ["echo '- [x] all' >> PLAN.md", "rm PLAN.md", "> PLAN.md"])
def test_the_plan_file_cannot_be_changed(arena: Arena, script: str) -> None:
    before = arena.plan.read_bytes()
    report = confined(arena, Isolation.BUBBLEWRAP).attack(f"{HONEST}; {script} 2>/dev/null; true")
    assert report.outcome is Outcome.DONE
    assert arena.entries(Kind.PLAN_EDITED) == []
    assert arena.plan.read_text().count("\n") == before.decode().count("\n")


@BOXED
def test_git_metadata_is_read_only_until_the_user_widens_it(tmp_path: Path) -> None:
    commit = "git add -A && git -c user.name=a -c user.email=a@b.c commit -qm work"
    for widened, committed in ((False, False), (True, True)):
        arena = Arena(tmp_path / str(widened))
        confined(arena, Isolation.BUBBLEWRAP)
        if widened:
            path = Path(arena.environ["SIGNOFF_CONFIG"])
            path.write_text(path.read_text() + 'writable = [".git"]\n')
        subprocess.run(["git", "init", "-q", str(arena.root)], check=True)
        assert arena.attack(f"{HONEST}; {commit} || true").outcome is Outcome.DONE
        assert (arena.root / ".git" / "refs/heads").is_dir()
        assert any((arena.root / ".git" / "refs/heads").iterdir()) is committed


@pytest.fixture
def server() -> Iterator[int]:
    """Something that listens on loopback, outside every sandbox."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.2)
        stop = threading.Event()

        def serve() -> None:
            while not stop.is_set():
                try:
                    listening.accept()[0].close()
                except TimeoutError:
                    continue

        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        stop.set()
        thread.join()


@SEVERAL
@pytest.mark.parametrize("allowed", [False, True])
def test_a_contract_reaches_the_network_only_if_it_says_so(
    tmp_path: Path, mode: Isolation, server: int, allowed: bool
) -> None:
    fields = "**network:** yes\n" if allowed else ""
    contract = f"test -s product.txt && (exec 3<>/dev/tcp/127.0.0.1/{server})"
    arena = confined(Arena(tmp_path, contract, fields), mode)
    assert arena.attack(HONEST).outcome is (Outcome.DONE if allowed else None)


@BOXED
def test_nothing_a_contract_writes_reaches_the_workspace(tmp_path: Path) -> None:
    arena = Arena(tmp_path, "mkdir -p build && echo x > build/out && grep -q works product.txt")
    confined(arena, Isolation.BUBBLEWRAP)
    (arena.root / ".gitignore").write_text("build/\n")
    assert arena.attack(HONEST).outcome is Outcome.DONE
    assert arena.verdict()["judged_in"] == "clean"
    assert not (arena.root / "build").exists()


@BOXED
def test_a_contract_that_writes_in_its_clean_room_is_told_to_declare_it(tmp_path: Path) -> None:
    contract = "echo x > report && grep -q works product.txt"
    arena = confined(Arena(tmp_path, contract, ""), Isolation.BUBBLEWRAP)
    assert arena.attack(HONEST).outcome is None
    said = "moved while it was judged: `report` added; the contract wrote it: declare `**writes:** "
    (before,) = arena.entries(Kind.VERDICT)  # and no agent was started
    assert said in before.data["message"] and before.data["reason"] == "obstacle"


@BOXED
def test_what_somebody_else_writes_beside_a_clean_room_is_not_blamed_on_the_contract(
    tmp_path: Path,
) -> None:
    contract = "grep -q works product.txt && sleep 1"
    arena = confined(Arena(tmp_path, contract, ""), Isolation.BUBBLEWRAP)
    stop = threading.Event()

    def write() -> None:
        for number in count():
            (arena.root / "noise.txt").write_text(f"{number}\n")
            if stop.wait(0.02):
                return

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert arena.attack(HONEST).outcome is None
    finally:
        stop.set()
        thread.join()
    said = arena.verdict()["message"]
    assert "`noise.txt` modified; the contract cannot have done it: stop whatever else" in said
    assert "writes:" not in said


@BOXED
def test_a_step_can_ask_to_be_judged_in_the_workspace(tmp_path: Path) -> None:
    contract = "mkdir -p build && echo x > build/out && grep -q works product.txt"
    arena = confined(Arena(tmp_path, contract, "**judge_in:** workspace\n"), Isolation.BUBBLEWRAP)
    (arena.root / ".gitignore").write_text("build/\n")
    assert arena.attack(HONEST).outcome is Outcome.DONE
    assert arena.verdict()["judged_in"] == "workspace"
    assert (arena.root / "build/out").exists()


@BOXED
def test_a_file_the_agent_hides_in_a_cache_is_not_there_when_judged(tmp_path: Path) -> None:
    contract = "python3 -c 'import product; assert product.works'"
    arena = confined(Arena(tmp_path, contract, ""), Isolation.BUBBLEWRAP)
    plant = (
        "echo 'works = True' > product.py; python3 -m compileall -q -b product.py; rm product.py"
    )
    assert arena.attack(plant).outcome is None


WRITES = """import os, sys
ways = (
    lambda: open("tests/check.sh", "a"),
    lambda: os.rename("tests/data.txt", "tests/check.sh"),
    lambda: os.chmod("tests/check.sh", 0o777),
    lambda: os.utime("tests/check.sh"),
    lambda: os.link("tests/check.sh", "link"),
    lambda: os.unlink("tests/check.sh"),
)
done = []
for way in ways:
    try:
        done.append(way())
    except OSError:
        pass
open("tests/new", "w").close()
os.rename("tests/new", "new")
os.unlink("new")
sys.exit(len(done))
"""


@BOXED
@pytest.mark.parametrize("judge_in", ["clean", "workspace"])
def test_what_decides_a_check_is_read_only_in_the_room_and_what_lies_beside_is_not(
    tmp_path: Path, judge_in: str
) -> None:
    """What could not be written decides, and the verdict is kept."""
    fields = f"**protects:** tests/**\n**may_change:** product.py\n**judge_in:** {judge_in}\n"
    contract = "python3 product.py && bash tests/check.sh"
    arena = confined(Arena(tmp_path, contract, fields), Isolation.BUBBLEWRAP)
    assert arena.attack(f"{HONEST}\ncat > product.py <<'END'\n{WRITES}END").outcome is Outcome.DONE
    assert arena.verdict()["judged_in"] == judge_in


@BOXED
def test_a_check_that_cannot_write_to_what_decides_it_is_unknown_and_says_so(
    tmp_path: Path,
) -> None:
    contract = "echo more >> tests/data.txt && bash tests/check.sh"
    arena = confined(Arena(tmp_path, contract), Isolation.BUBBLEWRAP)
    arena.attack(HONEST)
    verdict = arena.verdict()
    assert (verdict["result"], verdict["reason"]) == ("unknown", "moved-while-judged")
    assert verdict["message"] == (
        "what decides the check could not be written to by the check: `tests/data.txt`; "
        "if the contract does that itself, let it work on a copy"
    )


def test_a_sandbox_that_is_required_and_missing_starts_nobody(arena: Arena) -> None:
    (arena.root / "signoff.toml").write_text("[policy]\nrequire_sandbox = true\n")
    with pytest.raises(SandboxMissing):
        arena.attack(HONEST)
    assert arena.entries(Kind.ATTEMPT_STARTED) == []


@SEVERAL
def test_secrets_are_taken_out_of_everything_that_is_stored(arena: Arena, mode: Isolation) -> None:
    confined(arena, mode)
    arena.environ["DEPLOY_TOKEN"] = "hunter2-hunter2"
    encoded = "aHVudGVyMi1odW50ZXIy"
    arena.attack(
        f"{HONEST}; echo hunter2-hunter2; echo {encoded}; echo 68756e746572322d68756e74657232"
    )
    stored = (arena.home / "ledger.sqlite3").read_bytes()
    stored += b"".join(p.read_bytes() for p in arena.home.glob("ledger.sqlite3-*"))
    assert b"hunter2" not in stored
    tail = arena.entries_of_attempt()["output_tail"]
    assert tail.count("[redacted:DEPLOY_TOKEN]") == 3
    assert "hunter2" not in tail and encoded not in tail
