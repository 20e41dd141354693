"""What a hostile contract can leave behind in a clean room, one function per trace."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

Trace = Callable[[Path, Path], None]


def fill(root: Path) -> None:
    """The workspace that the traces are about; `*.log` and `build/` are by-products."""
    for path, content in {
        "src/a.py": "a = 1\n",
        "src/deep/b.py": "b = 2\n",
        "src/conftest.py": "# honest\n",
        "run.sh": "#!/bin/sh\n",
        "build/tool": "built\n",
        "build/lib/x.so": "shared object\n",
        "PLAN.md": "# Plan\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("src/a.py")
    (root / "empty").mkdir()


def edit_and_date_back(room: Path, _: Path) -> None:
    for path in ("src/conftest.py", "build/tool"):
        seen = (room / path).stat()
        with (room / path).open("r+") as file:
            file.write("!")
        os.utime(room / path, ns=(seen.st_atime_ns, seen.st_mtime_ns))


def replace_by_same_size(room: Path, _: Path) -> None:
    seen = (room / "src/a.py").stat()
    (room / "new").write_text("a = 2\n")
    (room / "new").rename(room / "src/a.py")
    os.utime(room / "src/a.py", ns=(seen.st_atime_ns, seen.st_mtime_ns))


def remove_and_add(room: Path, _: Path) -> None:
    (room / "run.sh").unlink()
    (room / "empty").rmdir()
    (room / "pytest.py").write_text("raise SystemExit(0)\n")
    (room / "src/sitecustomize.py").write_text("evil = 1\n")
    (room / os.fsdecode(b"\xff\xfe\n")).write_text("undecodable\n")


def folder_for_file(room: Path, _: Path) -> None:
    (room / "src/a.py").unlink()
    (room / "src/a.py/nested").mkdir(parents=True)
    (room / "src/a.py/nested/file").write_text("x")
    (room / "PLAN.md").unlink()
    (room / "PLAN.md").mkdir()


def file_for_folder(room: Path, outside: Path) -> None:
    (room / "src").rename(outside.parent / "taken")
    (room / "src").write_text("now a file")
    (room / "empty").rmdir()
    os.mkfifo(room / "empty")


def link_for_folder(room: Path, outside: Path) -> None:
    (room / "src").rename(room / "old")
    (room / "src").symlink_to(outside)
    (room / "build/lib").rename(room / "build/old")
    (room / "build/lib").symlink_to(outside)
    (room / "empty").rmdir()
    (room / "empty").symlink_to(outside)


def link_for_file(room: Path, outside: Path) -> None:
    for path in ("src/a.py", "build/tool", "run.sh", "PLAN.md"):
        (room / path).unlink()
        (room / path).symlink_to(outside / "a.py")


def link_elsewhere(room: Path, _: Path) -> None:
    (room / "link").unlink()
    (room / "link").symlink_to("/etc/passwd")
    (room / "loop").symlink_to("loop")


def hard_links(room: Path, outside: Path) -> None:
    os.link(room / "src/a.py", room / "build/alias")
    (room / "run.sh").unlink()
    os.link(outside / "a.py", room / "run.sh")
    os.link(outside / "a.py", room / "x.log")


def special_files(room: Path, _: Path) -> None:
    os.mkfifo(room / "src/pipe")
    (room / "run.sh").unlink()
    os.mkfifo(room / "run.sh")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(room)
        try:
            listener.bind("socket")
        finally:
            os.chdir(here)


def nested_repository(room: Path, _: Path) -> None:
    (room / "src/.git/hooks").mkdir(parents=True)
    (room / "src/.git/hooks/post-checkout").write_text("#!/bin/sh\nevil\n")
    (room / ".git").mkdir()
    (room / ".git/config").write_text("[core]\nfsmonitor = evil\n")


def caches_and_by_products(room: Path, _: Path) -> None:
    for path in ("src/__pycache__/a.pyc", ".pytest_cache/v/x", "src/a.pyc", "y.log", "build/new"):
        (room / path).parent.mkdir(parents=True, exist_ok=True)
        (room / path).write_text("planted")
    (room / "build/tool").unlink()


def special_rights(room: Path, _: Path) -> None:
    (room / "run.sh").chmod(0o4755)
    (room / "src/a.py").chmod(0o2755)
    (room / "src").chmod(0o3777)
    room.chmod(0o1777)


def closed_files(room: Path, _: Path) -> None:
    for path in ("src/a.py", "build/tool", "run.sh"):
        (room / path).chmod(0)


def read_only_folders(room: Path, _: Path) -> None:
    (room / "junk/deep").mkdir(parents=True)
    (room / "junk/deep/file").write_text("x")
    for path in ("junk/deep", "junk", "src/deep", "src", "build/lib", "build", ""):
        (room / path).chmod(0o555)


def closed_folders(room: Path, _: Path) -> None:
    (room / "junk/deep").mkdir(parents=True)
    (room / "junk/deep/file").write_text("x")
    for path in ("junk/deep", "junk", "src/deep", "src", "build/lib"):
        (room / path).chmod(0)


def attributes(room: Path, _: Path) -> None:
    for path in ("src", "build", "src/a.py"):
        os.setxattr(room / path, "user.note", b"remember me")


def deep_tree(room: Path, _: Path) -> None:
    """Deeper than Python recurses, longer than any path the system or a walk takes."""
    name = "d" * 16
    fd = os.open(room, os.O_RDONLY)
    for _level in range(1_200):
        os.mkdir(name, dir_fd=fd)
        below = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)


def wide_and_sparse(room: Path, _: Path) -> None:
    (room / "many").mkdir()
    for i in range(500):
        (room / f"many/{i}").write_text("")
    with (room / "giant").open("wb") as file:
        file.truncate(1 << 40)


TRACES: dict[str, Trace] = {
    function.__name__: function
    for function in (
        edit_and_date_back,
        replace_by_same_size,
        remove_and_add,
        folder_for_file,
        file_for_folder,
        link_for_folder,
        link_for_file,
        link_elsewhere,
        hard_links,
        special_files,
        nested_repository,
        caches_and_by_products,
        special_rights,
        closed_files,
        read_only_folders,
        closed_folders,
        attributes,
        deep_tree,
        wide_and_sparse,
    )
}
