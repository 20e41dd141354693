"""What the storage tests share: drafts, raw access to a database, and worker processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from signoff.domain.ledger import Draft, Kind
from signoff.storage.home import sqlite_path
from signoff.storage.records import Holder

SOURCE = Path(__file__).resolve().parents[2] / "src"
HOLDER = Holder(pid=4711, host="build-7", plan="p", since="2026-01-02T03:04:05.000006+00:00")
WAIT_S = 120


def verdict(key: str, result: str = "kept", *, provisional: bool = False, note: str = "") -> Draft:
    """A verdict as judging records it."""
    data = {"key": key, "result": result, "provisional": provisional, "output_tail": note}
    return Draft(Kind.VERDICT, data, run="r", step="1", attempt=1)


def done(step: str = "1", run: str = "r") -> Draft:
    """An acceptance."""
    return Draft(Kind.STEP_DONE, {"verdict": 1}, run=run, step=step)


def note(text: str = "x") -> Draft:
    """An entry that no rule is about."""
    return Draft(Kind.PLAN_VERIFIED, {"text": text})


def run_sql(url: str, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """What somebody with access to the database can do behind the ledger's back."""
    if url.startswith("sqlite"):
        import sqlite3

        connection = sqlite3.connect(sqlite_path(url), isolation_level=None)
        try:
            return connection.execute(sql, values).fetchall()
        finally:
            connection.close()
    import psycopg

    with psycopg.connect(url, autocommit=True) as server:
        server.execute("SET search_path TO signoff")
        cursor = server.execute(sql.replace("?", "%s").encode(), values)
        return cursor.fetchall() if cursor.description else []


def worker(code: str, *arguments: object, **options: Any) -> subprocess.Popen[str]:
    """A Python process that has signoff on its path; `code` reads its arguments from sys.argv."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )


@contextmanager
def workers(code: str, count: int, *arguments: object) -> Iterator[list[subprocess.Popen[str]]]:
    """Several of them at once; none survives the test."""
    started = [worker(code, *arguments, number) for number in range(count)]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate(timeout=WAIT_S)


def outputs(processes: list[subprocess.Popen[str]]) -> list[str]:
    """What each printed, once all ended well."""
    texts = [process.communicate(timeout=WAIT_S)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return texts
