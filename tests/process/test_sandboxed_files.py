"""A confined run changes what it may change, sees what it may see, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from signoff.domain.verdict import Ending
from signoff.process.command import Mount

from .pens import SECRET, Pen

REACH_FOR_SECRET = """
import os, sys
home, found = sys.argv[1], []
ways = [home + "/keys/key", "/proc/1/root" + home + "/keys/key",
        "/proc/self/root" + home + "/keys/key", "/proc/self/cwd/../state/keys/key"]
for pid in filter(str.isdecimal, os.listdir("/proc")):
    ways += [f"/proc/{pid}/root{home}/keys/key", f"/proc/{pid}/cwd/../state/keys/key"]
os.symlink(home, "link")
ways.append("link/keys/key")
for way in ways:
    try:
        found.append(open(way).read())
    except OSError:
        pass
for way in (home, home + "/keys", "link"):
    try:
        found += os.listdir(way)
    except OSError:
        pass
try:
    os.link(home + "/keys/key", "hard")
    found.append("linked")
except OSError:
    pass
print(found)
"""


def _names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_the_workspace_can_be_changed_and_the_rest_can_be_read(pen: Pen) -> None:
    text = "echo mine > new; mkdir -p a/b; echo x > a/b/c; mv a z; rm z/b/c; cat ../beside/file"
    seen = pen.bash(text)
    assert (seen.ending, seen.exit_code, seen.stdout.head) == (Ending.EXITED, 0, b"bystander\n")
    assert (pen.workspace / "new").read_text() == "mine\n"
    assert (pen.workspace / "z" / "b").is_dir()


@pytest.mark.parametrize(
    "text",
    [
        "echo lie > ../beside/file",
        "echo lie >> ../beside/file",
        "truncate -s 0 ../beside/file",
        "rm ../beside/file",
        "mv ../beside/file ../beside/moved",
        "mv ../beside ../moved",
        "ln ../beside/file hard && echo lie > hard",
        "ln -s ../beside/file soft && echo lie > soft",
        "mkdir ../beside/new",
        "ln -s /etc/passwd ../beside/new",
        "mkfifo ../beside/new",
        "mknod ../beside/new c 1 3",
        ": >> /etc/passwd",
        ": >> /proc/sys/kernel/core_pattern || : >> /proc/irq/default_smp_affinity",
        ": >> /proc/sysrq-trigger",
        ": >> /sys/power/state",
        "echo core >> /proc/sys/kernel/core_pattern",
        "dd if=/dev/zero of=../beside/file bs=1 count=1 conv=notrunc",
    ],
)
def test_nothing_outside_can_be_changed(text: str, pen: Pen) -> None:
    before = sorted((p.name, p.stat().st_mtime_ns) for p in pen.beside.iterdir())
    seen = pen.bash(text)
    assert seen.ending is Ending.EXITED
    assert seen.exit_code != 0
    assert sorted((p.name, p.stat().st_mtime_ns) for p in pen.beside.iterdir()) == before
    assert (pen.beside / "file").read_text() == "bystander\n"


def test_landlock_lets_permissions_times_and_attributes_outside_be_changed(fence: Pen) -> None:
    """The kernel gives it no say in that: the threat model tells it."""
    file = fence.beside / "file"
    tried = (
        "import os, sys; os.chmod(sys.argv[1], 0o604); os.setxattr(sys.argv[1], 'user.x', b'1');"
        " os.utime(sys.argv[1], (1, 1))"
    )
    try:
        os.setxattr(file, "user.x", b"0")
    except OSError:
        pytest.skip("the file system of the tests knows no attributes")
    assert fence.python(tried, str(file)).exit_code == 0
    assert os.getxattr(file, "user.x") == b"1"
    assert (file.stat().st_mode & 0o777, file.stat().st_mtime) == (0o604, 1)
    assert file.read_text() == "bystander\n"


def test_what_is_hidden_can_be_neither_listed_nor_read(pen: Pen) -> None:
    seen = pen.python(REACH_FOR_SECRET, str(pen.home))
    assert (seen.exit_code, seen.stdout.head) == (0, b"[]\n"), seen.stderr.kept
    assert (pen.home / "keys" / "key").read_text() == SECRET


def test_nothing_can_be_put_into_what_is_hidden(pen: Pen) -> None:
    seen = pen.bash("echo x > ../state/new || mkdir ../state/folder || rmdir ../state/keys")
    assert seen.exit_code == 1
    assert _names(pen.home) == ["keys"]


def test_a_single_hidden_file_cannot_be_read(pen: Pen) -> None:
    hidden = (pen.home / "keys" / "key", pen.beside / "file")
    seen = pen.with_rules(hidden=hidden).bash("cat ../state/keys/key || cat ../beside/file")
    assert (seen.exit_code, seen.stdout.size) == (1, 0)


def test_a_folder_opened_inside_what_is_hidden_is_all_that_is_seen(pen: Pen) -> None:
    """A usage report is written into the home, which stays hidden around it."""
    report = pen.home / "logs" / "attempt"
    report.mkdir(parents=True)
    opened = pen.with_rules(writable=(pen.workspace, report))
    seen = opened.bash(
        "echo spent > ../state/logs/attempt/usage; cat ../state/keys/key; ls ../state"
    )
    assert seen.stdout.size == 0
    assert (report / "usage").read_text() == "spent\n"


def test_what_is_shown_inside_what_is_hidden_can_be_read_and_not_changed(pen: Pen) -> None:
    shown = pen.home / "copy"
    (shown / "work").mkdir(parents=True)
    (shown / "file").write_text("the answer")
    opened = pen.with_rules(shown=(shown,), writable=(pen.workspace, shown / "work"))
    seen = opened.bash("cat ../state/copy/file; ls ../state/copy; ls ../state ../state/keys")
    assert seen.stdout.kept == b"the answerfile\nwork\n"
    assert opened.bash("echo x > ../state/copy/file").exit_code != 0
    assert opened.bash("echo x > ../state/copy/work/new").exit_code == 0
    assert (shown / "file").read_text() == "the answer" and (shown / "work" / "new").exists()


def test_readable_does_not_uncover_what_is_hidden(pen: Pen) -> None:
    named = pen.with_rules(readable=(pen.root, pen.home / "keys", pen.home / "keys" / "key"))
    assert named.bash("cat ../state/keys/key; ls ../state/keys").stdout.size == 0


def test_paths_that_are_not_there_change_nothing(pen: Pen) -> None:
    gone = pen.root / "gone"
    rules = pen.with_rules(
        readable=(pen.root, gone), readonly=(gone,), hidden=(gone, pen.home), scratch=(gone,)
    )
    assert rules.bash("cat ../beside/file").stdout.head == b"bystander\n"


def test_a_writable_folder_that_is_not_there_is_not_started(pen: Pen) -> None:
    gone = pen.root / "gone"
    seen = pen.with_rules(writable=(pen.workspace, gone)).bash("true")
    assert (seen.ending, seen.detail) == (
        Ending.NOT_STARTED,
        f"`{gone}` is to be writable and is not there",
    )


def test_the_temporary_folder_is_private_and_gone_afterwards(pen: Pen) -> None:
    first = pen.bash('echo "$TMPDIR"; file=$(mktemp); echo x > $file; echo $file', TMPDIR="/etc")
    folder, file = first.stdout.head.decode().split()
    assert first.exit_code == 0
    assert file.startswith(folder + "/")
    assert not Path(file).exists()


class TestBubblewrap:
    """What only mounts can do."""

    @pytest.mark.parametrize(
        "text",
        [
            "echo lie > docs/vault/PLAN.md",
            "rm docs/vault/PLAN.md",
            "touch docs/vault/new",
            "mv docs/vault docs/other",
            "mv docs other",
            "rm -rf docs",
            "umount docs/vault",
            "umount -l docs/vault",
            "mount -o remount,rw,bind docs/vault",
            "mount -t tmpfs none docs/vault",
            "mount --bind . docs/vault",
            "chmod 777 docs/vault/PLAN.md",
            "ln docs/vault/PLAN.md hard && echo lie > hard",
            "ln -sfn /etc docs/vault",
        ],
    )
    def test_a_vault_inside_the_workspace_stays_as_it_is(self, text: str, cell: Pen) -> None:
        seen = cell.bash(text)
        assert seen.ending is Ending.EXITED
        assert seen.exit_code != 0
        assert (cell.vault / "PLAN.md").read_text() == "plan\n"
        assert _names(cell.vault) == ["PLAN.md"]
        assert cell.bash("cat docs/vault/PLAN.md").stdout.head == b"plan\n"

    def test_namespaces_of_its_own_are_refused(self, cell: Pen) -> None:
        assert cell.bash("unshare -U true").exit_code != 0

    def test_no_capability_is_left(self, cell: Pen) -> None:
        seen = cell.bash("grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status")
        assert {line.split()[1] for line in seen.stdout.head.splitlines()} == {b"0" * 16}

    def test_a_vault_that_is_one_file_stays_in_its_place(self, cell: Pen) -> None:
        plan = cell.vault / "PLAN.md"
        pinned = cell.with_rules(readonly=(plan,))
        for text in ("echo lie > {}", "rm {}", "mv {} x", "mv docs/vault x", "mv docs x"):
            assert pinned.bash(text.format("docs/vault/PLAN.md")).exit_code != 0
        assert plan.read_text() == "plan\n"
        assert pinned.bash("echo new > docs/vault/other").exit_code == 0

    def test_what_is_not_there_cannot_be_made(self, cell: Pen) -> None:
        absent = tuple(cell.workspace / name for name in (".made", "made.toml"))
        held = cell.with_rules(absent=absent)
        text = (
            "mkdir -p .made; echo x > .made/file; echo x > made.toml; rm -rf .made made.toml; ls -A"
        )
        seen = held.bash(text)
        assert seen.stdout.kept == b".made\ndocs\nmade.toml\n", seen
        assert not any(path.exists() for path in absent), "nothing is left of the placeholders"
        assert held.bash("echo x > .made/file; echo x > made.toml; true").exit_code == 0
        assert not any(path.exists() for path in absent)

    def test_what_somebody_else_makes_meanwhile_stays(self, cell: Pen) -> None:
        absent = cell.workspace / ".made"
        held = cell.with_rules(absent=(absent,))
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(held.bash, "touch begun; until test -e go; do sleep 0.05; done")
            give_up = time.monotonic() + 60
            while not (cell.workspace / "begun").exists():
                assert time.monotonic() < give_up
                time.sleep(0.01)
            (absent / "of a person").write_text("mine")
            (cell.workspace / "go").touch()
            assert running.result().exit_code == 0
        assert (absent / "of a person").read_text() == "mine"

    def test_temporary_folders_of_others_are_out_of_sight(self, cell: Pen) -> None:
        alone = cell.with_rules(readable=(), readonly=(), hidden=())
        seen = alone.bash("ls -A /tmp /var/tmp /run; ls -A /dev/shm")
        top = cell.root.parts[2] if cell.root.parts[1] == "tmp" else ""
        listed = set(seen.stdout.head.decode().split())
        assert listed <= {"/tmp:", "/var/tmp:", "/run:", top, "current-system", "opengl-driver"}

    def test_a_scratch_folder_is_empty_writable_and_private(self, cell: Pen) -> None:
        rules = cell.with_rules(scratch=(cell.beside,))
        seen = rules.bash("ls -A ../beside; echo x > ../beside/new && cat ../beside/new")
        assert seen.stdout.head == b"x\n"
        assert _names(cell.beside) == ["file"]

    def test_another_folder_can_be_seen_in_the_workspaces_place(self, cell: Pen) -> None:
        room = cell.home / "room"
        shutil.copytree(cell.workspace, room)
        (room / "only-here").touch()
        (room / "docs" / "vault" / "PLAN.md").write_text("plan of the room\n")
        rules = cell.with_rules(writable=(), mounts=(Mount(room, cell.workspace, writable=True),))
        seen = rules.bash("ls; echo x > new; cat docs/vault/PLAN.md; echo lie > docs/vault/PLAN.md")
        assert seen.stdout.head == b"docs\nonly-here\nplan of the room\n"
        assert (room / "new").exists()
        assert not (cell.workspace / "new").exists()
        assert (room / "docs" / "vault" / "PLAN.md").read_text() == "plan of the room\n"

    def test_a_read_only_mount_inside_a_writable_one(self, cell: Pen) -> None:
        (cell.workspace / "shared").mkdir()
        mounts = (Mount(cell.beside, cell.workspace / "shared"),)
        seen = cell.with_rules(mounts=mounts).bash("cat shared/file; touch shared/new || touch new")
        assert (seen.stdout.head, seen.exit_code) == (b"bystander\n", 0)
        assert _names(cell.beside) == ["file"]

    def test_a_link_of_the_agent_does_not_widen_what_is_writable(self, cell: Pen) -> None:
        (cell.workspace / "build").symlink_to(cell.beside)
        seen = cell.with_rules(writable=(cell.workspace, cell.workspace / "build")).bash("true")
        assert seen.ending is Ending.NOT_STARTED
        assert "a link leads from" in seen.detail

    def test_a_link_of_the_agent_does_not_uncover_what_is_private(self, cell: Pen) -> None:
        (cell.workspace / "tool").symlink_to(cell.beside)
        named = cell.with_rules(readable=(cell.workspace / "tool",), hidden=(), readonly=())
        assert named.bash("cat tool/file").exit_code != 0

    def test_a_value_cannot_smuggle_in_mounts(self, cell: Pen) -> None:
        smuggled = f"x\0--bind\0{cell.home}\0{cell.home}"
        seen = cell.bash("cat ../state/keys/key", EVIL=smuggled)
        assert (seen.ending, seen.stdout.size) == (Ending.NOT_STARTED, 0)

    def test_the_environment_does_not_steer_the_sandbox_itself(self, cell: Pen) -> None:
        """A library of the workspace would otherwise be loaded into `bwrap`, outside."""
        marker = cell.root / "loaded"
        (cell.workspace / "evil.so").write_bytes(b"not a library")
        seen = cell.bash("true", LD_PRELOAD=str(cell.workspace / "evil.so"), LD_DEBUG="files")
        assert b"bwrap" not in seen.stderr.kept
        assert b"evil.so" in seen.stderr.kept
        assert not marker.exists()

    def test_more_rules_than_the_sandbox_takes_are_not_started(self, cell: Pen) -> None:
        many = cell.root / "many"
        many.mkdir()
        folders = tuple(many / str(n) for n in range(10_000))
        for folder in folders:
            folder.mkdir()
        seen = cell.with_rules(hidden=folders).bash("true")
        assert seen.ending is Ending.NOT_STARTED
        assert seen.detail.startswith("bubblewrap: ")

    def test_many_rules_work(self, cell: Pen) -> None:
        many = cell.root / "many"
        many.mkdir()
        folders = tuple(many / str(n) for n in range(300))
        for folder in folders:
            folder.mkdir()
            (folder / "secret").touch()
        assert cell.with_rules(hidden=folders).bash("cat ../many/*/secret").exit_code != 0
        assert cell.with_rules(hidden=folders).bash("test -d ../many/299").exit_code == 0


def _fences() -> set[int | None]:
    return {t.ident for t in threading.enumerate() if t.name == "signoff-landlock"}


class TestLandlock:
    """What Landlock cannot do is said, never silently left out."""

    def test_what_lies_beside_the_writable_stays_as_it_is(self, fence: Pen) -> None:
        outside = fence.with_rules(readonly=(fence.beside,))
        assert outside.bash("echo lie > ../beside/file").exit_code != 0

    def test_hiding_inside_what_is_writable_is_refused(self, fence: Pen) -> None:
        seen = fence.with_rules(hidden=(fence.vault,)).bash("true")
        assert seen.ending is Ending.NOT_STARTED
        assert "cannot hide" in seen.detail

    def test_another_folder_in_the_workspaces_place_is_refused(self, fence: Pen) -> None:
        mounts = (Mount(fence.beside, fence.workspace),)
        seen = fence.with_rules(mounts=mounts).bash("true")
        assert seen.ending is Ending.NOT_STARTED

    def test_what_cannot_be_private_is_not_writable_either(self, fence: Pen) -> None:
        rules = fence.with_rules(scratch=(fence.beside,))
        seen = rules.bash('touch ../beside/new || echo x > "$XDG_CACHE_HOME/new"')
        assert seen.exit_code == 0
        assert _names(fence.beside) == ["file"]

    def test_mounting_is_refused_and_no_capability_is_left(self, fence: Pen) -> None:
        mount = "mount -t tmpfs none ."
        text = f"{mount} || unshare -Urm {mount} || grep CapEff /proc/self/status"
        assert fence.bash(text).stdout.head.split() == [b"CapEff:", b"0" * 16]

    def test_disks_and_terminals_are_out_of_reach(self, fence: Pen) -> None:
        code = (
            "import os\n"
            "for folder, _, names in os.walk('/dev'):\n"
            "    for name in names:\n"
            "        try:\n"
            "            os.close(os.open(os.path.join(folder, name), os.O_RDWR | os.O_NONBLOCK))\n"
            "            print(name)\n"
            "        except OSError:\n"
            "            pass\n"
            "for name in ('vda', 'sda', 'mem', 'kmem', 'pts/0', 'tty', 'ptmx'):\n"
            "    try:\n"
            "        os.close(os.open('/dev/' + name, os.O_RDONLY | os.O_NONBLOCK))\n"
            "        print(name)\n"
            "    except OSError:\n"
            "        pass\n"
        )
        assert fence.python(code).stdout.head == b""

    def test_the_harness_itself_keeps_its_rights(self, fence: Pen) -> None:
        assert fence.bash("true").exit_code == 0
        (fence.beside / "ours").write_text("written by the harness")
        assert (fence.home / "keys" / "key").read_text() == SECRET

    def test_the_python_of_the_tests_is_found(self, fence: Pen) -> None:
        assert fence.python("print(1)").stdout.head == b"1\n", sys.executable

    def test_commands_confined_alike_are_started_by_one_thread(self, fence: Pen) -> None:
        rules = fence.with_rules(hidden=())
        first, threads = rules.bash('echo "$TMPDIR"').stdout.head, _fences()
        assert {rules.bash('echo "$TMPDIR"').stdout.head for _ in range(3)} == {first}
        assert _fences() <= threads

    def test_a_folder_of_a_harness_that_was_killed_is_removed_by_the_next(
        self, fence: Pen, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        place = fence.root / "tmp"
        place.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(place))
        code = (
            "from signoff.process.leftovers import make_temporary_folder\n"
            "folder, lock = make_temporary_folder()\n"
            "print(folder.name, flush=True)\n"
            "input()\n"
        )
        env = {**os.environ, "TMPDIR": str(place), "PYTHONPATH": ":".join(sys.path)}
        argv = (sys.executable, "-c", code)
        pipe = subprocess.PIPE
        with subprocess.Popen(argv, env=env, stdin=pipe, stdout=pipe, text=True) as harness:
            assert harness.stdout is not None
            used = harness.stdout.readline().strip()
            assert fence.with_rules(hidden=()).bash("true").exit_code == 0
            assert used in _names(place), "while it lives, it is left alone"
            harness.kill()
        assert fence.bash("true").exit_code == 0
        assert used not in _names(place)

    def test_what_came_after_the_rules_were_made_can_be_read(self, fence: Pen) -> None:
        fence.bash("true")
        (fence.root / "new").write_text("new\n")
        (fence.beside / "file").rename(fence.root / "moved")
        assert fence.bash("cat ../new ../moved").stdout.head == b"new\nbystander\n"

    def test_what_is_hidden_once_it_is_there_cannot_be_read(self, fence: Pen) -> None:
        rules = fence.with_rules(hidden=(fence.home, fence.beside / "late"))
        assert rules.bash("cat ../beside/file").exit_code == 0
        (fence.beside / "late").write_text(SECRET)
        seen = rules.bash("cat ../beside/file && cat ../beside/late")
        assert (seen.exit_code, seen.stdout.head) == (1, b"bystander\n")

    @pytest.mark.parametrize(
        "leave",
        [
            "open(here + '/note', 'w')",
            "open(above + '/note', 'w')",
            "os.setxattr(above, 'user.note', b'x')",
            "os.chmod(above, 0o711)",
        ],
    )
    def test_no_command_leaves_a_note_for_the_next_one(self, leave: str, fence: Pen) -> None:
        rules = fence.with_rules(hidden=())
        start = "import os; here = os.environ['TMPDIR']; above = here + '/..'; "
        look = (
            "print(*(len(os.listdir(f)) for f in (here, above)), os.listxattr(above),"
            " os.stat(above).st_mode)"
        )
        told = [rules.python(start + code) for code in (look, f"{leave}; {look}", look)]
        assert told[0].stdout == told[2].stdout != told[1].stdout
