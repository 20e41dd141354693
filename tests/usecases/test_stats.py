"""Stats count what agents claimed and what judging made of it; costs fall on kept steps."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from signoff.domain.ledger import Choice, Outcome
from signoff.usecases.inbox import answer
from signoff.usecases.questions import open_items
from signoff.usecases.stats import StatsReport, Tally, read_stats
from tests.cli.plans import step
from tests.usecases.library import Library
from tests.usecases.signed import GROUND, drop_receipts, sign_off_again, signed_library


def stats_of(library: Library) -> StatsReport:
    harness, _ = library.open()
    return read_stats(harness)


def test_claims_verdicts_and_costs_are_counted_per_agent(tmp_path: Path) -> None:
    report = stats_of(signed_library(tmp_path))
    assert (report.plans, report.runs, report.signed_off, report.receipts) == (1, 1, 1, 1)
    (tally,) = report.agents
    assert (tally.role, tally.model) == ("coder", "m-1") and "agent.sh" in tally.command
    assert (tally.attempts, tally.claims, tally.kept, tally.refused) == (3, 3, 2, 1)
    assert (tally.broken, tally.tampered, tally.unknown) == (1, 0, 0)
    assert tally.kept_steps == 2 and tally.attempts_per_kept_step == 1.5
    assert tally.tokens_per_kept_step == 1500 and tally.usd_per_kept_step == 0.375
    assert report.total == replace(tally, role="all", command="", model="")


def test_costs_fall_on_the_steps_whose_agents_reported_any(tmp_path: Path) -> None:
    report = """test "$SIGNOFF_STEP" = 2 || echo '{"tokens": 1200}' > "$SIGNOFF_USAGE_FILE"
    echo firm > "ground$SIGNOFF_STEP"
    """
    steps = [step(f"Lay {n}", f"grep -qx firm ground{n}") for n in (1, 2)]
    library = Library(tmp_path, script=report).plan(*steps)
    assert library.run().outcome is Outcome.DONE
    total = stats_of(library).total
    assert (total.kept_steps, total.reported_steps, total.tokens) == (2, 1, 1200)
    assert total.tokens_per_kept_step == 1200 and total.attempts_per_kept_step == 1.0


def test_a_step_that_an_earlier_run_did_is_not_counted_again(tmp_path: Path) -> None:
    library = signed_library(tmp_path)
    before = stats_of(library)
    sign_off_again(library)
    after = stats_of(library)
    assert (after.runs, after.signed_off, after.receipts) == (2, 2, 2)
    assert after.total == before.total


def test_tampering_is_told_apart_from_honest_failure(tmp_path: Path) -> None:
    script = "case $SIGNOFF_ATTEMPT in *:1) echo 'true' > check.sh;; *) echo firm > ground;; esac"
    plan = step("Lay", "bash check.sh", protects=["check.sh"], on_fail="retry(2), then escalate")
    library = Library(tmp_path, script=script).plan(plan)
    (library.workspace / "check.sh").write_text("grep -qx firm ground\n")
    assert library.run().outcome is Outcome.DONE
    (tally,) = stats_of(library).agents
    assert (tally.claims, tally.kept, tally.broken, tally.tampered) == (2, 1, 0, 1)
    assert tally.refused == 1


def test_what_could_not_be_judged_is_refused_and_called_unknown(tmp_path: Path) -> None:
    plan = step("Lay", "sh check.sh", on_fail="escalate")
    library = Library(tmp_path).plan(plan)
    (library.workspace / "check.sh").write_text("test -e ground && exit 126\nexit 1\n")
    assert library.run().outcome is None
    total = stats_of(library).total
    assert (total.kept, total.unknown, total.refused) == (0, total.claims, total.claims)
    assert total.claims >= 1 and total.kept_steps == 0
    assert total.attempts_per_kept_step is None and total.tokens_per_kept_step is None


def test_a_step_that_a_person_repaired_is_nobodys_kept_claim(tmp_path: Path) -> None:
    library = Library(tmp_path, script="echo soft > ground").plan(GROUND)
    assert library.run().outcome is None
    (library.workspace / "ground").write_text("firm\n")
    harness, _ = library.open()
    (item,) = open_items(harness.ledger)
    answer(harness, item.id, Choice.RETRY, "", interactive=True)
    assert library.run().outcome is Outcome.DONE
    total = stats_of(library).total
    assert (total.claims, total.kept, total.broken, total.kept_steps) == (1, 0, 1, 0)


def test_an_agent_that_reports_no_usage_has_no_cost_rather_than_none(tmp_path: Path) -> None:
    library = Library(tmp_path).plan(GROUND)
    library.run()
    (tally,) = stats_of(library).agents
    assert tally.kept_steps == 1 and tally.reports == 0
    assert tally.tokens_per_kept_step is None and tally.usd_per_kept_step is None


def test_models_of_one_command_are_told_apart(tmp_path: Path) -> None:
    script = (
        'report=\'{"tokens": 10, "model": "m-%s"}\'\n'
        'printf "$report" "${SIGNOFF_ATTEMPT##*:}" > "$SIGNOFF_USAGE_FILE"\n'
        "case $SIGNOFF_ATTEMPT in *:2) echo firm > ground;; *) echo soft > ground;; esac"
    )
    plan = step("Lay", "grep -qx firm ground", on_fail="retry(2), then escalate")
    library = Library(tmp_path, script=script).plan(plan)
    assert library.run().outcome is Outcome.DONE
    one, two = stats_of(library).agents
    assert [(t.model, t.claims, t.kept_steps) for t in (one, two)] == [("m-1", 1, 0), ("m-2", 1, 1)]


def test_receipts_that_are_gone_are_not_counted(tmp_path: Path) -> None:
    library = signed_library(tmp_path)
    drop_receipts(library)
    report = stats_of(library)
    assert (report.signed_off, report.receipts) == (1, 0)


def test_only_the_named_plans_are_counted(tmp_path: Path) -> None:
    library = signed_library(tmp_path)
    harness, place = library.open()
    assert read_stats(harness, [place.record.id, place.record.id]).runs == 1
    nothing = read_stats(harness, ["other"])
    assert (nothing.plans, nothing.runs, nothing.agents) == (0, 0, ())
    assert nothing.total == Tally("all")


@pytest.mark.parametrize("form", ["svg", "png"])
def test_the_same_numbers_give_the_same_picture(tmp_path: Path, form: str) -> None:
    from signoff.cli.picture import draw

    odd = Tally("co\x1bder", "x" * 99, "m$_{$ \u202e名", attempts=2, claims=2, kept=1, tampered=1)
    report = StatsReport(1, 1, 1, 1, (odd, replace(odd, kept_steps=1, reports=1, usd=0.5)), odd)
    first = draw(report, form)
    assert first == draw(report, form) and len(first) > 1000
    assert first != draw(replace(report, runs=2), form)
    assert b"\x1b" not in first or form == "png"


def test_nothing_to_show_is_still_a_picture() -> None:
    from signoff.cli.picture import draw

    assert draw(StatsReport(0, 0, 0, 0, (), Tally("all")), "svg").startswith(b"<?xml")
