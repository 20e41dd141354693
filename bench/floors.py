"""What the same work costs at least: bare spawns, a bare interpreter, a bare walk, git, SQLite."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

BARE_SPAWN = ("/bin/bash", "--noprofile", "--norc", "-c", "true")
BARE_PYTHON = (sys.executable, "-c", "pass")


def seconds_of(argv: Sequence[str], cwd: Path, env: dict[str, str] | None = None) -> float:
    """How long one command takes, its output thrown away; its exit code is its own affair."""
    began = time.perf_counter()
    subprocess.run(
        argv, cwd=cwd, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    return time.perf_counter() - began


def bare_spawns_s(count: int) -> float:
    """So many shells that do nothing, one after the other."""
    began = time.perf_counter()
    for _ in range(count):
        subprocess.Popen(BARE_SPAWN).wait()
    return time.perf_counter() - began


def bare_commits_s(path: Path, count: int, data: bytes) -> float:
    """So many transactions of one insert each, durable as the ledger's are."""
    connection = sqlite3.connect(path, isolation_level=None)
    for setting in ("journal_mode=WAL", "synchronous=FULL"):
        connection.execute(f"PRAGMA {setting}")
    connection.execute("CREATE TABLE IF NOT EXISTS entries (id INTEGER PRIMARY KEY, data BLOB)")
    began = time.perf_counter()
    for _ in range(count):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO entries (data) VALUES (?)", (data,))
        connection.execute("COMMIT")
    took = time.perf_counter() - began
    connection.close()
    return took


def bare_walk_s(root: Path) -> float:
    """Every folder listed, every file looked at, nothing remembered."""
    began = time.perf_counter()
    ahead = [str(root)]
    while ahead:
        with os.scandir(ahead.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    ahead.append(entry.path)
                else:
                    entry.stat(follow_symlinks=False)
    return time.perf_counter() - began


def git(folder: Path, *arguments: str) -> float:
    """Seconds of one git command without anybody's configuration."""
    env = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    return seconds_of(("git", *arguments), folder, env)
