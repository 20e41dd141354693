"""`signoff receipt`, `audit --bundle` and `stats`, as people type them."""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.kit import Desk
from tests.cli.plans import step

WORK = """
echo '{"tokens": 1200, "usd": 0.5, "model": "m-1"}' > "$SIGNOFF_USAGE_FILE"
case $attempt in 1) echo mud > ground ;; *) echo firm > ground ;; esac
"""
GROUND = step("Lay the ground", "grep -qx firm ground", on_fail="retry(2), then escalate")


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A plan that was signed off after one refused attempt; for tests that leave it as it is."""
    made = _build(Desk(tmp_path_factory.mktemp("signed")))
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def built(desk: Desk) -> Desk:
    """The same for one test alone."""
    return _build(desk)


def _build(desk: Desk) -> Desk:
    desk.agent(WORK).plan(GROUND)
    desk.run("--yes").exits(0)
    return desk


@pytest.fixture
def away(desk: Desk, signed: Desk) -> Desk:
    """Somebody else's desk, with nothing but the signer's key."""
    key = signed.signoff("receipt", "key").exits(0)
    assert key.stderr.startswith("key ")
    (desk.folder / "key.pem").write_text(key.stdout)
    return desk


def test_a_receipt_travels_and_is_checked_elsewhere(signed: Desk, away: Desk) -> None:
    signed.signoff("receipt", "export", "PLAN.md", "--output", "../r.json").exits(0).prints(
        "wrote ../r.json: run RUN, sha256 DIGEST"
    )
    (signed.folder / "r.json").rename(away.folder / "r.json")
    isolation = next(
        line
        for line in away.signoff("receipt", "verify", "../r.json").stdout.splitlines()
        if line.startswith("isolation: ")
    )
    away.signoff("receipt", "verify", "../r.json", "--key", "../key.pem").exits(0).prints(
        f"""
        Build a house  [plan PLAN, run RUN]
          kept       1  Lay the ground
        signed off at TIME on content DIGEST
        {isolation}
        signed by key DIGEST (../key.pem)
        receipt: genuine
        """
    )
    away.signoff("receipt", "verify", "../r.json").exits(3).shows(
        "signed with an unknown key; what follows is not vouched for:",
        "receipt: cannot tell: the key is not known here; pass the signer's with --key",
    )
    assert not away.home.exists()


def test_the_receipt_on_stdout_is_the_one_in_the_home_folder(signed: Desk) -> None:
    shown = signed.signoff("receipt", "export", "PLAN.md").exits(0)
    (stored,) = (signed.home / "receipts").rglob("*.json")
    assert shown.raw_stdout == stored.read_bytes()
    document = signed.signoff("receipt", "export", "PLAN.md", "--json").exits(0).json
    assert document["schema_version"] == 1 and document["envelope"] == json.loads(shown.stdout)


def test_a_changed_receipt_is_called_forged(signed: Desk, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    signed.signoff("receipt", "export", "PLAN.md", "--output", str(path)).exits(0)
    outer = json.loads(path.read_text())
    sig = outer["signatures"][0]["sig"]
    outer["signatures"][0]["sig"] = ("B" if sig[0] == "A" else "A") + sig[1:]
    path.write_text(json.dumps(outer, sort_keys=True, separators=(",", ":")) + "\n")
    signed.signoff("receipt", "verify", str(path)).exits(1).shows("receipt: forged")
    path.write_text("hello")
    signed.signoff("receipt", "verify", str(path)).fails(1, "is not a receipt")
    signed.signoff("receipt", "verify", "nowhere").fails(2, "no file at `nowhere`")


def test_a_bundle_is_audited_without_a_home(signed: Desk, away: Desk) -> None:
    entries = len(signed.log())
    wrote = ("receipt", "bundle", "PLAN.md", "--output", "../b.zip", "--with-content")
    signed.signoff(*wrote).exits(0).shows(
        f"wrote ../b.zip: 1 receipt, {entries} entries, 2 files, sha256 DIGEST"
    )
    (signed.folder / "b.zip").rename(away.folder / "b.zip")
    good = away.signoff("audit", "--bundle", "../b.zip", "--key", "../key.pem").exits(0)
    good.shows(
        "  kept       1  Lay the ground",
        f"ledger: {entries} entries, chain holds, gate open",
        "receipts: 1, each matches the ledger and names the one before",
        "content: 2 files, as signed off",
        "signed by key DIGEST (../key.pem)",
        "audit: kept",
    )
    away.signoff("audit", "--bundle", "../b.zip").exits(3).shows(
        "signed by unknown key DIGEST (from the bundle itself)", "audit: unknown"
    )
    document = away.signoff("--json", "audit", "--bundle", "../b.zip", "--key", "../key.pem").json
    assert (document["schema_version"], document["result"]) == (1, "kept")
    data = bytearray((away.folder / "b.zip").read_bytes())
    data[len(data) // 2] ^= 1
    (away.folder / "b.zip").write_bytes(data)
    away.signoff("audit", "--bundle", "../b.zip", "--key", "../key.pem").fails(1, "../b.zip")
    assert not away.home.exists()


def test_what_does_not_fit_together_is_wrong_usage(signed: Desk) -> None:
    signed.signoff("audit", "PLAN.md", "--key", "k").fails(2, "--key goes with --bundle")
    signed.signoff("audit", "PLAN.md", "--bundle", "b").fails(2, "leave out plan and workspace")
    signed.signoff("receipt", "anchor", "PLAN.md").fails(2, "--file")
    signed.signoff("receipt", "frobnicate").fails(2, "no such verb `frobnicate`")
    signed.signoff("receipt").exits(0).shows("export", "verify", "key", "bundle", "anchor")
    signed.signoff("stats", "--picture", "x.jpg").fails(2, "neither .svg nor .png")


def test_titles_from_a_receipt_cannot_steer_a_terminal(desk: Desk) -> None:
    desk.agent("echo firm > ground").plan(
        step("Lay \u202e\x9b31m the ground", "grep -qx firm ground")
    )
    desk.run("--yes").exits(0)
    desk.signoff("receipt", "export", "PLAN.md", "--output", "../r.json").exits(0)
    shown = desk.signoff("receipt", "verify", "../r.json").exits(0).is_plain()
    assert "\u202e" not in shown.stdout and "\\u202e" in shown.stdout


def test_an_anchor_outside_tells_that_the_ledger_was_cut(built: Desk) -> None:
    built.about_plan("audit").exits(0)
    last = len(built.log())
    built.signoff("receipt", "anchor", "PLAN.md", "--file", "../anchors").exits(0).prints(
        f"anchored entry {last}, DIGEST: ../anchors"
    )
    built.about_plan("audit", "--anchor", "../anchors").exits(0).shows(
        "anchors: 1 head, in the ledger", "audit: kept"
    )
    database = sqlite3.connect(built.ledger_file, isolation_level=None)
    database.execute("DELETE FROM entries WHERE seq >= ?", (last,))
    heads = database.execute("SELECT seq, at, hash FROM entries ORDER BY seq DESC LIMIT 1")
    database.execute("UPDATE chains SET seq = ?, at = ?, hash = ?", heads.fetchone())
    database.close()
    built.about_plan("audit", "--anchor", "../anchors").fails(
        3, f"the ledger no longer contains entry {last} as it was anchored at"
    )


def test_a_run_says_when_a_sign_off_has_no_receipt(desk: Desk) -> None:
    (desk.home / "keys").mkdir(parents=True, mode=0o700)
    os.mkfifo(desk.home / "keys" / "receipts.pem", 0o600)
    desk.agent("echo firm > ground").plan(GROUND)
    ended = desk.run("--yes").exits(0)
    assert "no receipt: the signing key" in ended.stderr
    (desk.home / "keys" / "receipts.pem").unlink()
    desk.signoff("receipt", "export", "PLAN.md").exits(0)


def test_stats_show_what_a_kept_step_cost(signed: Desk) -> None:
    shown = signed.signoff("stats").exits(0)
    head, titles, row = shown.stdout.splitlines()
    assert head == "1 run of 1 plan, 1 signed off, 1 receipt"
    assert titles.split() == [
        "role", "agent", "model", "claims", "kept", "refused", "tampered",
        "rate", "tries/step", "s/step", "tokens/step", "$/step",
    ]  # fmt: skip
    assert row.split()[0] == "coder"
    assert row.split()[-10:-3] == ["m-1", "2", "1", "1", "0", "50%", "2.0"]
    assert row.split()[-2:] == ["2,400", "1.00"]
    document = signed.signoff("stats", "PLAN.md", "--json").exits(0).json
    seconds = document["agents"][0]["seconds_per_kept_step"]
    assert seconds > 0 and row.split()[-3] == f"{seconds:.1f}"
    assert (document["schema_version"], document["total"]["tokens"]) == (1, 2400)
    assert document["agents"][0]["usd_per_kept_step"] == 1.0


def test_stats_are_stacked_where_the_terminal_is_narrow(signed: Desk) -> None:
    signed.variable(COLUMNS="60")
    shown = signed.at_terminal("stats").exits(0).stdout
    assert "…" not in shown.replace("…", "", 1), "a long command alone is cut"
    numbers = [line.split() for line in shown.splitlines() if line.startswith("  ")]
    assert ["claims", "2"] in numbers and ["tokens/step", "2,400"] in numbers


@pytest.mark.parametrize("name", ["stats.svg", "stats.png"])
def test_stats_draw_a_picture(signed: Desk, name: str) -> None:
    signed.signoff("stats", "--picture", f"../{name}").exits(0).shows(f"drew ../{name}")
    start = (signed.folder / name).read_bytes()[:8]
    assert start == b"\x89PNG\r\n\x1a\n" if name.endswith("png") else start.startswith(b"<?xml")


def test_a_picture_without_the_drawing_library_says_what_to_install(
    signed: Desk, desk: Desk
) -> None:
    blocked = desk.folder / "blocked" / "matplotlib"
    blocked.mkdir(parents=True)
    (blocked / "__init__.py").write_text("raise ImportError('not here', name='matplotlib')\n")
    source = desk.environment()["PYTHONPATH"]
    desk.variable(PYTHONPATH=f"{blocked.parent}:{source}", SIGNOFF_HOME=str(signed.home))
    desk.signoff("stats", "--picture", "../stats.svg").fails(
        2, "matplotlib", hint=shlex.quote(sys.executable)
    )
    assert not (desk.folder / "stats.svg").exists()
    desk.signoff("stats").exits(0).shows("1 signed off")


def test_stats_of_an_empty_home_are_empty(desk: Desk) -> None:
    desk.signoff("stats").exits(0).prints("0 runs of 0 plans, 0 signed off, 0 receipts")


def test_the_bundle_of_a_plan_that_was_never_signed_off_is_refused(desk: Desk) -> None:
    desk.agent("true").plan(GROUND)
    desk.signoff("receipt", "bundle", "PLAN.md", "--output", "../b.zip").fails(
        2, "was not signed off", hint="signoff run"
    )
    assert not Path(desk.folder / "b.zip").exists()
