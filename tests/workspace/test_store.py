"""The store is a git repository of our own, shared by processes, and survives being cut short."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from signoff.errors import StorageFailed
from signoff.workspace.objects import ObjectStore
from signoff.workspace.workspace import Workspace
from tests.workspace.conftest import Desk


def git(store: Path, *arguments: str) -> str:
    environment = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    done = subprocess.run(
        ["git", f"--git-dir={store}", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def fill(desk: Desk) -> None:
    desk.write("src/a.py", "print(1)\n")
    desk.write("run.sh", "true\n").chmod(0o755)
    desk.write("a-b", "order\n")
    desk.write("a/file", "order\n")
    desk.write("a.txt", "order\n")
    desk.write("big.bin", os.urandom(3 << 20))
    (desk.root / "link").symlink_to("src/a.py")
    (desk.root / "empty").mkdir()


def test_git_reads_every_sealed_snapshot(desk: Desk) -> None:
    fill(desk)
    workspace = desk.workspace()
    first = workspace.snapshot().digest
    desk.write("src/a.py", "print(2)\n")
    second = workspace.snapshot().digest
    workspace.objects.seal()
    ref = f"refs/snapshots/{second}"
    assert git(desk.store, "fsck", "--full", "--strict") == ""
    assert git(desk.store, "cat-file", "-p", f"{ref}:content/src/a.py") == "print(2)\n"
    assert git(desk.store, "cat-file", "-p", f"refs/snapshots/{first}:content/src/a.py") == (
        "print(1)\n"
    )
    listed = git(desk.store, "ls-tree", "-r", f"{ref}:content").splitlines()
    assert [line.split("\t")[1] for line in listed] == [
        "a-b",
        "a.txt",
        "a/file",
        "big.bin",
        "link",
        "run.sh",
        "src/a.py",
    ]
    modes = {line.split("\t")[1]: line.split()[0] for line in listed}
    assert (modes["run.sh"], modes["link"], modes["a-b"]) == ("100755", "120000", "100644")


def test_git_and_we_agree_on_the_tree_of_the_same_files(desk: Desk) -> None:
    fill(desk)
    (desk.root / "empty").rmdir()
    workspace = desk.workspace()
    digest = workspace.snapshot().digest
    workspace.objects.seal()
    theirs = desk.folder / "theirs"
    git(theirs, "init", "-q", "--bare")
    git(theirs, f"--work-tree={desk.root}", "add", "-A")
    tree = git(theirs, "write-tree").strip()
    assert git(desk.store, "rev-parse", f"refs/snapshots/{digest}:content").strip() == tree


def test_snapshots_stay_readable_after_sealing(desk: Desk) -> None:
    fill(desk)
    workspace = desk.workspace()
    digest = workspace.snapshot().digest
    before = workspace.manifest(digest)
    other = desk.workspace()
    assert other.read(digest, "a/file") == b"order\n"
    workspace.objects.seal()
    for reader in (workspace, other, desk.workspace()):
        assert reader.manifest(digest) == before
        assert reader.read(digest, "src/a.py") == b"print(1)\n"
    desk.write("more")
    more = workspace.snapshot().digest
    workspace.objects.seal()
    assert other.read(more, "more") == b"content\n"
    assert len(git(desk.store, "for-each-ref").splitlines()) == 2


def test_a_large_store_seals_itself(desk: Desk) -> None:
    for i in range(70):
        for j in range(60):
            desk.write(f"d{i}/f{j}", f"{i} {j}")
    digest = desk.workspace().snapshot().digest
    assert list((desk.store / "open").iterdir()) == []
    assert git(desk.store, "fsck", "--full") == ""
    assert git(desk.store, "cat-file", "-p", f"refs/snapshots/{digest}:content/d7/f8") == "7 8"
    assert len(desk.workspace().manifest(digest)) == 4_200


def test_an_unchanged_workspace_writes_nothing(desk: Desk) -> None:
    fill(desk)
    workspace = desk.workspace()
    workspace.snapshot()

    def sizes() -> dict[str, int]:
        return {str(f): f.stat().st_size for f in desk.store.rglob("*") if f.is_file()}

    before = sizes()
    workspace.snapshot()
    workspace.digest_now()
    desk.workspace().snapshot()
    assert sizes() == before


def test_processes_share_a_store_and_none_loses_anything(desk: Desk) -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from signoff.workspace.workspace import Workspace\n"
        "root, store, name = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]\n"
        "workspace = Workspace(root, store)\n"
        "for i in range(20):\n"
        "    (root / 'file').write_text(f'{name} {i}')\n"
        "    print(workspace.snapshot().digest, flush=True)\n"
        "    if i % 7 == 6: workspace.objects.seal()\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    started = []
    for name in ("one", "two", "three"):
        (desk.folder / name).mkdir()
        started.append(
            subprocess.Popen(
                [sys.executable, "-c", program, str(desk.folder / name), str(desk.store), name],
                stdout=subprocess.PIPE,
                text=True,
                env=environment,
            )
        )
    reader = desk.workspace()
    for name, process in zip(("one", "two", "three"), started, strict=True):
        digests = process.communicate()[0].split()
        assert process.returncode == 0
        assert len(digests) == 20
        for i, digest in enumerate(digests):
            assert reader.read(digest, "file") == f"{name} {i}".encode()


def test_a_killed_process_loses_nothing_it_acknowledged(desk: Desk) -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from signoff.workspace.workspace import Workspace\n"
        "root = Path(sys.argv[1])\n"
        "workspace = Workspace(root, Path(sys.argv[2]))\n"
        "for i in range(10_000):\n"
        "    (root / 'file').write_text(str(i) * 500)\n"
        "    print(i, workspace.snapshot().digest, flush=True)\n"
        "    if i % 5 == 4: workspace.objects.seal()\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    for enough in (3, 8, 14):
        with subprocess.Popen(
            [sys.executable, "-c", program, str(desk.root), str(desk.store)],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        ) as process:
            assert process.stdout is not None
            acknowledged = [process.stdout.readline().split() for _ in range(enough)]
            process.kill()
            acknowledged += [line.split() for line in process.stdout.read().splitlines()]
        reader = desk.workspace()
        for i, digest in acknowledged:
            assert reader.read(digest, "file") == (i * 500).encode()
    workspace = desk.workspace()
    workspace.snapshot()
    workspace.objects.seal()
    assert "error" not in git(desk.store, "fsck", "--full")


@pytest.mark.parametrize("cut", [1, 10, 100])
def test_a_torn_open_pack_is_written_again_not_trusted(desk: Desk, cut: int) -> None:
    desk.write("a", os.urandom(200))
    digest = desk.workspace().snapshot().digest
    (pack,) = (desk.store / "open").glob("*.pack")
    with pack.open("r+b") as file:
        file.truncate(pack.stat().st_size - cut)
    with pytest.raises(StorageFailed):
        desk.workspace().manifest(digest)
    again = desk.workspace()
    assert again.snapshot().digest == digest
    assert again.read(digest, "a") == (desk.root / "a").read_bytes()
    again.objects.seal()
    assert git(desk.store, "fsck", "--full") == ""


def test_a_torn_line_of_the_open_index_is_ignored(desk: Desk) -> None:
    desk.write("a", "1")
    first = desk.workspace().snapshot().digest
    (index,) = (desk.store / "open").glob("*.index")
    with index.open("ab") as file:
        file.write(b"o 0123")
    workspace = desk.workspace()
    desk.write("a", "2")
    second = workspace.snapshot().digest
    reader = desk.workspace()
    assert (reader.read(first, "a"), reader.read(second, "a")) == (b"1", b"2")


def test_everything_stays_readable_when_somebody_lets_git_tidy_the_store(desk: Desk) -> None:
    text = "".join(f"line {number}\n" for number in range(500))
    workspace = desk.workspace()
    digests = []
    for turn in range(12):
        desk.write("src/a.py", f"{text}turn {turn}\n")
        desk.write(f"new-{turn}", text)
        digests.append(workspace.snapshot().digest)
        if turn < 10:
            workspace.objects.seal()
    git(desk.store, "gc", "--aggressive", "--quiet")
    again = desk.workspace()
    for turn, digest in enumerate(digests):
        assert again.read(digest, "src/a.py").endswith(f"turn {turn}\n".encode())
        again.restore(digest, desk.folder / f"again-{turn}")
    desk.write("src/a.py", "later\n")
    later = again.snapshot().digest
    again.objects.seal()
    assert desk.workspace().read(later, "src/a.py") == b"later\n"


@pytest.mark.parametrize("torn", ["packed-refs", "objects/pack/pack-x.idx"])
def test_a_store_that_cannot_be_read_is_a_clear_error(desk: Desk, torn: str) -> None:
    desk.write("a", "1\n")
    workspace = desk.workspace()
    digest = workspace.snapshot().digest
    workspace.objects.seal()
    (desk.store / torn).write_bytes(b"\xfftOc\x00\x00\x00\x02 torn in the middle")
    (desk.store / "objects/pack/pack-x.pack").write_bytes(b"PACK")
    with pytest.raises(StorageFailed, match="is damaged") as caught:
        desk.workspace().read(digest, "a")
    assert "backup" in caught.value.hint


@pytest.mark.parametrize("sealed", [True, False])
def test_damaged_content_is_noticed_never_returned(desk: Desk, sealed: bool) -> None:
    desk.write("a", os.urandom(5_000))
    workspace = desk.workspace()
    digest = workspace.snapshot().digest
    if sealed:
        workspace.objects.seal()
    (pack,) = desk.store.rglob("*.pack")
    pack.chmod(0o600)
    data = bytearray(pack.read_bytes())
    data[600] ^= 1
    pack.write_bytes(data)
    with pytest.raises(StorageFailed):
        desk.workspace().read(digest, "a")
    with pytest.raises(StorageFailed):
        desk.workspace().restore(digest, desk.folder / "again")


@pytest.mark.parametrize("digest", ["", "0" * 64, "../../HEAD", "x" * 100])
def test_an_unknown_digest_is_a_clear_error(desk: Desk, digest: str) -> None:
    with pytest.raises(StorageFailed, match="no snapshot"):
        desk.workspace().manifest(digest)


def test_a_path_that_a_snapshot_does_not_have_is_a_clear_error(desk: Desk) -> None:
    desk.write("a")
    workspace = desk.workspace()
    digest = workspace.snapshot().digest
    with pytest.raises(StorageFailed, match="nothing"):
        workspace.read(digest, "nothing")


def test_a_store_that_cannot_be_made_is_a_clear_error(desk: Desk) -> None:
    desk.write("a")
    desk.store.write_text("a file stands where the store should be")
    with pytest.raises(StorageFailed, match="snapshot store"):
        desk.workspace().snapshot()


def test_the_same_content_is_kept_once(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path)
    one = store.put("blob", b"x" * 1_000)
    assert store.put("blob", b"x" * 1_000) == one
    store.commit("0" * 64, one)
    store.seal()
    assert "in-pack: 1" in git(tmp_path, "count-objects", "-v")


def test_workspaces_can_share_a_store(desk: Desk) -> None:
    (desk.folder / "other").mkdir()
    (desk.folder / "other/a").write_text("theirs")
    desk.write("a", "ours")
    other = Workspace(desk.folder / "other", desk.store)
    digests = [desk.workspace().snapshot().digest, other.snapshot().digest]
    assert [other.read(d, "a") for d in digests] == [b"ours", b"theirs"]
