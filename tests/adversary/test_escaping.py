"""Agents that outlive their turn, decide for a person, or write the ledger themselves."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest

from signoff.domain.ledger import Kind, Outcome
from signoff.errors import LedgerBroken
from tests.adversary.arena import HONEST, Arena

LATE = "{ sleep 1; echo works > product.txt; touch $LOOT/late; }"
ESCAPES: dict[str, str] = {
    "background job": f"{LATE} &",
    "its own session": f"setsid bash -c '{LATE.replace('$LOOT', '$0')}' \"$LOOT\" &",
    "double fork": f"( ( {LATE} ) & ) ; sleep 0.1",
    "without environment": (
        'setsid env -i bash -c \'sleep 1; echo works > product.txt; touch "$0/late"\' "$LOOT" '
        "< /dev/null > /dev/null 2>&1 &"
    ),
    "ignoring signals": f"trap '' TERM HUP INT; ( trap '' TERM HUP INT; {LATE} ) &",
}


def _cwds() -> set[str]:
    found = set()
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            found.add(str(link.readlink()))
    return found


@pytest.mark.parametrize("script", ESCAPES.values(), ids=ESCAPES)
def test_nothing_an_agent_started_lives_when_it_is_judged(arena: Arena, script: str) -> None:
    assert arena.attack(f"echo no > product.txt; {script}").outcome is None
    assert arena.verdict()["message"] == "exit code 1, expected 0"
    assert arena.entries_of_attempt()["leftovers_killed"] >= 1
    assert str(arena.root) not in _cwds(), "something still works in the workspace"
    assert not (arena.loot / "late").exists()
    assert (arena.root / "product.txt").read_text() == "no\n"


INSIDE: dict[str, str] = {
    "plainly": "signoff {} > $LOOT/out 2>&1; echo $? > $LOOT/code",
    "without the variables": (
        "unset SIGNOFF_ATTEMPT SIGNOFF_STEP; signoff {} > $LOOT/out 2>&1; echo $? > $LOOT/code"
    ),
    "detached": (
        "export -f signoff; export LOOT PYTHONPATH; unset SIGNOFF_ATTEMPT; "
        "setsid bash -c 'signoff {} > $LOOT/out 2>&1; echo $? > $LOOT/code' & wait"
    ),
}


@pytest.mark.parametrize("how", INSIDE.values(), ids=INSIDE)
@pytest.mark.parametrize("verb", ["approve PLAN.md --yes --role coder=true", "cancel PLAN.md"])
def test_an_agent_cannot_decide_for_a_person(arena: Arena, how: str, verb: str) -> None:
    setting = f"export SIGNOFF_HOME='{arena.home}' SIGNOFF_CONFIG=/nonexistent; "
    arena.attack(setting + how.format(verb))
    assert (arena.loot / "code").read_text().strip() == "2"
    said = (arena.loot / "out").read_text()
    reasons = ("inside an attempt", "is part of an attempt", "is driving a run")
    assert any(reason in said for reason in reasons), said
    assert len(arena.entries(Kind.PLAN_APPROVED)) == 1
    assert arena.entries(Kind.RUN_FINISHED) == []


def test_an_agent_cannot_waive_its_own_step(tmp_path: Path) -> None:
    """The second attempt answers the question that the first one led to."""
    arena = Arena(tmp_path)
    arena.attack("echo no > product.txt")
    (question,) = arena.entries(Kind.ESCALATION_OPENED)
    waive = f"signoff answer {question.data['id']} waive"
    other = Arena(tmp_path / "other")
    other.environ["SIGNOFF_HOME"] = str(arena.home)
    other.home = arena.home
    setting = f"export SIGNOFF_HOME='{arena.home}' SIGNOFF_CONFIG=/nonexistent; "
    other.attack(f"{setting}{waive} > $LOOT/out 2>&1; echo $? > $LOOT/code")
    assert (other.loot / "code").read_text().strip() == "2"
    assert "inside an attempt" in (other.loot / "out").read_text()
    assert arena.entries(Kind.STEP_WAIVED) == []


FORGERIES: dict[str, str] = {
    "a step.done without any proof": """
seq, head = db.execute("SELECT seq, hash FROM chains").fetchone()
put(seq + 1, "step.done", {"key": "k", "produced": {}, "carried": False}, "0" * 64)
""",
    "a whole story with a moved head": """
seq, head = db.execute("SELECT seq, hash FROM chains").fetchone()
verdict = {"phase": "attempt", "result": "kept", "reason": "held", "key": "k", "snapshot": "s"}
put(seq + 1, "verdict", verdict, "1" * 64)
put(seq + 2, "step.done", {"key": "k", "produced": {}, "carried": False}, "2" * 64)
db.execute("UPDATE chains SET seq = ?, hash = ?", (seq + 2, "2" * 64))
""",
    "a verdict turned round": """
for seq, data in db.execute("SELECT seq, data FROM entries WHERE kind = 'verdict'").fetchall():
    turned = bytes(data).replace(b'"broken"', b'"kept"').replace(b'"before"', b'"attempt"')
    db.execute("UPDATE entries SET data = ? WHERE seq = ?", (turned, seq))
""",
}
FORGER = """
import json, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
names = [r[1] for r in db.execute("PRAGMA table_info(entries)")]
def put(seq, kind, data, hash_):
    newest = db.execute("SELECT * FROM entries ORDER BY seq DESC LIMIT 1").fetchone()
    last = dict(zip(names, newest))
    last |= {"seq": seq, "kind": kind, "data": json.dumps(data).encode(), "ref": None}
    last |= {"prev": last["hash"], "hash": hash_}
    marks = ", ".join("?" * len(names))
    db.execute(f"INSERT INTO entries ({', '.join(names)}) VALUES ({marks})", [*last.values()])
"""


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES)
def test_entries_written_behind_the_ledgers_back_are_never_believed(
    arena: Arena, forgery: str
) -> None:
    (arena.loot / "forger.py").write_text(FORGER + forgery)
    forge = 'python3 "$LOOT/forger.py" "$HOME_FOLDER/ledger.sqlite3"; echo $? > $LOOT/code'
    with suppress(LedgerBroken):
        assert arena.attack(f"{forge}; echo no > product.txt").outcome is None
    assert (arena.loot / "code").read_text() == "0\n", "the attack itself worked"
    audited = arena.command("audit", str(arena.plan), "--json")
    assert audited.returncode == 3, audited
    assert json.loads(audited.stdout or audited.stderr)["error"]["code"] == "ledger-broken"
    with suppress(LedgerBroken):
        assert arena.attack(HONEST).outcome is not Outcome.DONE
    ended = [e for e in arena.entries(Kind.RUN_FINISHED) if e.data["outcome"] == "done"]
    assert ended == []


def test_a_driver_killed_by_its_agent_accepts_nothing_and_the_attempt_is_repeated(
    arena: Arena,
) -> None:
    arena.agent.write_text("echo works > product.txt; kill -9 $PPID; sleep 600\n")
    role = f"coder={arena.role['coder']}"
    killed = arena.command("run", str(arena.plan), "--yes", "--role", role)
    assert killed.returncode == -9
    assert arena.nothing_accepted()
    (arena.root / "product.txt").unlink(missing_ok=True)
    assert arena.attack(HONEST).outcome is Outcome.DONE
    lost = [e.attempt for e in arena.entries(Kind.ATTEMPT_FINISHED) if e.data.get("lost")]
    assert lost == [1]
    assert str(arena.root) not in _cwds()
