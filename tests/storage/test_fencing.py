"""Who may write for a run: the latest driver, and nobody else."""

from __future__ import annotations

import pytest

from signoff.errors import Fenced, Held, NoSuchRun
from signoff.storage.ledger import Ledger
from signoff.storage.records import Fence, Holder, RunRecord
from tests.storage.kit import HOLDER, done, note


def test_the_driver_of_a_run_is_on_record(ledger: Ledger) -> None:
    assert ledger.run_record("r") is None
    fence = ledger.begin_run("p", "r", HOLDER)
    assert fence == Fence("r", 1)
    assert ledger.run_record("r") == RunRecord("r", "p", 1, HOLDER)
    ledger.append("p", [done()], fence=fence)


def test_a_late_writer_is_fenced_out(ledger: Ledger) -> None:
    old = ledger.begin_run("p", "r", HOLDER)
    successor = Holder(99, "build-8", "p", "2026-02-03T00:00:00.000000+00:00")
    new = ledger.take_over("r", successor)
    assert new.token == old.token + 1
    with pytest.raises(Fenced, match="taken over by process 99 on `build-8`") as caught:
        ledger.append("p", [done()], fence=old)
    assert caught.value.facts == {"token": 1, "current": 2}
    assert ledger.head("p")[0] == 0
    ledger.append("p", [done()], fence=new)


def test_an_old_fence_stays_void_however_often_it_is_replayed(ledger: Ledger) -> None:
    old = ledger.begin_run("p", "r", HOLDER)
    for _ in range(3):
        current = ledger.take_over("r", HOLDER)
        with pytest.raises(Fenced):
            ledger.append("p", [note()], fence=old)
    ledger.append("p", [note()], fence=current)


@pytest.mark.parametrize("fence", [Fence("r", 2), Fence("r", 0), Fence("s", 1)])
def test_an_invented_fence_opens_nothing(ledger: Ledger, fence: Fence) -> None:
    ledger.begin_run("p", "r", HOLDER)
    with pytest.raises(Fenced):
        ledger.append("p", [note()], fence=fence)


def test_the_fence_of_one_plan_or_run_does_not_serve_another(ledger: Ledger) -> None:
    fence = ledger.begin_run("p", "r", HOLDER)
    with pytest.raises(Fenced, match="of plan `q` was never begun"):
        ledger.append("q", [note()], fence=fence)
    with pytest.raises(ValueError, match="under the fence of run `r`"):
        ledger.append("p", [done(run="s")], fence=fence)


def test_a_run_is_begun_once(ledger: Ledger) -> None:
    ledger.begin_run("p", "r", HOLDER)
    with pytest.raises(Held, match="already begun by process 4711 on `build-7`"):
        ledger.begin_run("q", "r", HOLDER)


def test_a_run_that_was_never_begun_cannot_be_taken_over(ledger: Ledger) -> None:
    with pytest.raises(NoSuchRun, match="`r` was never begun"):
        ledger.take_over("r", HOLDER)
