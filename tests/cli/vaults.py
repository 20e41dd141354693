"""A repository whose vault holds several plans, for the tests about working on many at once."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from signoff.domain.ledger import Draft, Kind
from signoff.storage.home import open_database, sqlite_url
from signoff.storage.ledger import Ledger
from tests.cli.ended import LIMIT_S
from tests.cli.kit import Desk
from tests.cli.plans import plan_text, step


def repository(desk: Desk, agent: str = "") -> Desk:
    """A repository with one commit, a vault, and an agent that does the work of every plan."""
    desk.git()
    (desk.workspace / ".harness").mkdir()
    desk.agent(agent or 'name=${SIGNOFF_PLAN##*PLAN-}; mkdir -p out; echo 1 > "out/${name%.md}"')
    git(desk, "add", "-A")
    git(desk, "commit", "--quiet", "-m", "first")
    return desk


def git(desk: Desk, *arguments: str) -> None:
    """Git as a person uses it."""
    who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    command = ["git", *who, "-C", str(desk.workspace), *arguments]
    subprocess.run(command, check=True, timeout=LIMIT_S, env=desk.environment())


def vault_file(desk: Desk, name: str) -> Path:
    """The file of a plan."""
    return desk.workspace / ".harness" / f"PLAN-{name}.md"


def write_plan(
    desk: Desk,
    name: str,
    *,
    after: Sequence[str] = (),
    touches: Sequence[str] | None = None,
    status: str = "draft",
    contract: str = "",
) -> Path:
    """A plan of one step; it touches its own output unless told otherwise."""
    globs = [f"out/{name}"] if touches is None else list(touches)
    lines = [f"status: {status}", f"depends_on: {json.dumps(list(after))}"]
    lines += [f"touches: {json.dumps(globs)}"] if globs else []
    text = plan_text([step("Do it", contract or f"test -s out/{name}")], title=f"Plan {name}")
    path = vault_file(desk, name)
    path.write_text(text.replace("status: draft", "\n".join(lines), 1))
    return path


def approve(desk: Desk, *names: str) -> None:
    """A person says yes."""
    for name in names:
        desk.signoff("approve", name, "--yes").exits(0)


def worktree(desk: Desk, name: str) -> Path:
    """A worktree of the repository, on a branch of its own."""
    path = desk.folder / "trees" / name
    git(desk, "worktree", "add", "--quiet", "-b", f"plan/{name}", str(path))
    return path


def merged(desk: Desk, name: str) -> None:
    """The entry that a merge leaves."""
    log = desk.signoff("log", name, "--json").exits(0).json_lines
    run = [entry["run"] for entry in log if entry["kind"] == "run.finished"][-1]
    command = ["git", "-C", str(desk.workspace), "rev-parse", "HEAD"]
    head = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    data = {"run": run, "base": "main", "branch": f"plan/{name}", "commit": head}
    ledger = Ledger(open_database(sqlite_url(desk.ledger_file)))
    (record,) = [plan for plan in ledger.plans() if plan.name == name]
    ledger.append(record.id, [Draft(Kind.PLAN_MERGED, data)])
    ledger.database.close()
