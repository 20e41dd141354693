"""The demo keeps its promises: four lies refused, a regression found, the plan signed off."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import signoff
from signoff.process.sandboxes import best_isolation

DEMOS = Path(__file__).parents[2] / "examples" / "demo"


def _play(
    folder: Path, name: str = "run_demo.py", **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(DEMOS / name)],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(Path(signoff.__file__).parents[1]),
            **variables,
        },
    )


def test_the_demo_refuses_every_lie_and_ends_signed_off(tmp_path: Path) -> None:
    done = _play(tmp_path)
    shown = done.stdout
    assert done.returncode == 0 and done.stderr == "", done
    claimed = "step 1 · attempt 1 · 1 test fails, 1 passed"
    edited = "step 1 · attempt 2 · tampered: `tests/test_discount.py`"
    half = "step 2 · attempt 1 · broken: exit code 1, expected 0: no summary for notes/"
    swept = "step 1 · final sweep · 1 test fails, 1 passed"
    suspect = "step 1 · broken again by step 3, attempt 1"
    places = [shown.find(part) for part in (claimed, edited, half, swept, suspect)]
    assert -1 not in places and places == sorted(places), shown
    assert "Repair the shop  [done]" in shown and "status: done" in shown
    assert shown.count(". ✅ ") == 3
    assert shown.rstrip().endswith("audit: kept") and "\n(exit code" not in shown
    assert "\x1b" not in shown
    assert list(tmp_path.glob("signoff-demo-*")) == [], "nothing of the demo is left"


def test_the_demo_heeds_no_setting_of_whoever_watches_and_touches_nothing_of_theirs(
    tmp_path: Path,
) -> None:
    own = f'database = "sqlite:///{tmp_path}/mine.sqlite3"\nno_such_setting = 1\n'
    usual = tmp_path / ".config" / "signoff" / "config.toml"
    usual.parent.mkdir(parents=True)
    (tmp_path / ".cache").mkdir()  # as everybody has; sandboxes show it empty
    for place in (usual, tmp_path / "named.toml"):
        place.write_text(own)
    before = sorted(tmp_path.rglob("*"))
    done = _play(
        tmp_path,
        SIGNOFF_CONFIG=str(tmp_path / "named.toml"),
        SIGNOFF_DATABASE=f"sqlite:///{tmp_path}/mine.sqlite3",
        SIGNOFF_HOME=str(tmp_path / "my-home"),
        SIGNOFF_VAULT=str(tmp_path / "my-vault"),
        SIGNOFF_PLAN="nowhere",
        SIGNOFF_WORKER="me",
    )
    assert done.returncode == 0 and done.stdout.rstrip().endswith("audit: kept"), done
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(not best_isolation(None).has_own_view, reason="lanes need their own view")
def test_the_demo_of_lanes_refuses_the_cheat_and_lands_what_collided(tmp_path: Path) -> None:
    done = _play(tmp_path, "run_lanes.py")
    shown = done.stdout
    assert done.returncode == 0 and done.stderr == "", done
    assert "A shop, by three agents at once  [done]" in shown
    # By the ledger's order: all three had begun before the first of them ended.
    _, _, log = shown.partition("$ signoff log")
    first = log.partition("attempt 1 · ended")[0]
    assert {n for n in "123" if f"coder begins in lane {n}" in first} == {*"123"}
    assert {n for n in "123" if f"step {n} · attempt 1 · coder begins" in first} == {*"123"}
    assert "step 3 · attempt 1 · tampered: `tests/test_receipt.py`" in shown
    assert "did not land: others changed the same files meanwhile: `shop.py`" in shown
