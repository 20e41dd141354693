"""One driver per plan and per workspace, on every machine that shares the database."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from signoff.errors import Fenced, Held, Interrupted
from signoff.storage.claims import Offer, claim_first, find_tenancy, plan_resource
from signoff.storage.engine import Database
from signoff.storage.home import open_database
from signoff.storage.leases import acquire_lease, home_identity, is_gone, leased
from signoff.storage.ledger import Ledger
from signoff.storage.records import Holder
from tests.storage.kit import done, note, run_sql
from tests.storage.leaseholders import (
    ELSEWHERE,
    REPOSITORY,
    SINCE,
    begin,
    claimant,
    driver,
    finish,
    let_time_pass,
    offer,
    resources,
    wants,
)

TERM_S = 3.0  # long enough for a busy machine, short enough to wait for


def test_a_driver_elsewhere_is_told_who_holds_the_plan_and_since_when(ledger: Ledger) -> None:
    acquire_lease(ledger, wants("a", driver("ann"), "w"))
    with pytest.raises(Held) as caught:
        acquire_lease(ledger, wants("a", ELSEWHERE, "other"))
    assert str(caught.value) == (
        f"plan `a` is held by process 4711 on `build-7` since {SINCE}, worker `ann`"
        " (plan `/somewhere/PLAN-a.md`)"
    )
    assert "its lease ends in 30 s" in caught.value.hint


def test_another_plan_in_the_same_workspace_is_told_who_works_there(
    ledger: Ledger, database_url: str
) -> None:
    acquire_lease(ledger, wants("a", driver(), "w"))
    with pytest.raises(Held, match="`/somewhere/w` is held by process 4711 on `build-7`"):
        acquire_lease(ledger, wants("b", ELSEWHERE, "w"))
    assert resources(database_url) == ["plan:a", "workspace:w"], "both, or neither"


def test_a_free_lock_of_the_same_home_proves_the_holder_dead(ledger: Ledger) -> None:
    """Whoever asks holds the locks already, so one who shares them cannot be alive."""
    acquire_lease(ledger, wants("a", driver("ann")))
    acquire_lease(ledger, wants("a", driver("bob")))


@pytest.mark.parametrize("holder", [driver(host="build-8"), driver(home="home-8"), driver(home="")])
def test_only_the_same_host_and_home_prove_it(ledger: Ledger, holder: Holder) -> None:
    acquire_lease(ledger, wants("a", driver()))
    with pytest.raises(Held):
        acquire_lease(ledger, wants("a", holder))


def test_a_lease_ends_by_the_clock_of_the_database(ledger: Ledger, database_url: str) -> None:
    first = acquire_lease(ledger, wants("a", driver()))
    let_time_pass(database_url)
    acquire_lease(ledger, wants("a", ELSEWHERE))
    assert not first.renew()
    assert first.lost()


def test_a_driver_whose_lapsed_lease_was_taken_writes_nothing_more(
    ledger: Ledger, database_url: str
) -> None:
    fence = begin(ledger, acquire_lease(ledger, wants("a", driver())))
    let_time_pass(database_url)
    acquire_lease(ledger, wants("a", ELSEWHERE))
    with pytest.raises(Fenced, match="taken over by process 4711 on `build-8`"):
        ledger.append("a", [done()], fence=fence)


def test_it_is_fenced_out_even_if_the_newcomer_drives_another_plan_in_its_workspace(
    ledger: Ledger, database_url: str
) -> None:
    fence = begin(ledger, acquire_lease(ledger, wants("a", driver(), "w")))
    let_time_pass(database_url)
    acquire_lease(ledger, wants("b", ELSEWHERE, "w"))
    with pytest.raises(Fenced):
        ledger.append("a", [done()], fence=fence)


def test_a_driver_that_nobody_replaced_goes_on_however_late(
    ledger: Ledger, database_url: str
) -> None:
    lease = acquire_lease(ledger, wants())
    fence = begin(ledger, lease)
    let_time_pass(database_url)
    assert lease.renew()
    ledger.append("a", [done()], fence=fence)
    with pytest.raises(Held):
        acquire_lease(ledger, wants("a", ELSEWHERE))


def test_a_lease_that_lapsed_before_its_run_began_begins_nothing(
    ledger: Ledger, database_url: str
) -> None:
    """It kept nobody away meanwhile: somebody may be at the same files now."""
    lease = acquire_lease(ledger, wants("a"))
    let_time_pass(database_url)
    assert not lease.renew(), "it is not revived either"
    with pytest.raises(Fenced, match="lost its lease on plan `a`"):
        begin(ledger, lease)
    assert ledger.head("a")[0] == 0


def test_an_old_lease_does_not_renew_or_release_a_newer_one(
    ledger: Ledger, database_url: str
) -> None:
    old = acquire_lease(ledger, wants("a", driver()))
    old.release()
    acquire_lease(ledger, wants("a", ELSEWHERE))
    old.renew()
    old.release()
    assert resources(database_url) == ["plan:a", "workspace:w"]
    with pytest.raises(Held, match="on `build-8`"):
        acquire_lease(ledger, wants("a", driver()))


def test_a_released_lease_leaves_nothing_once_its_run_is_over(
    ledger: Ledger, database_url: str
) -> None:
    lease = acquire_lease(ledger, wants())
    begin(ledger, lease)
    finish(ledger)
    lease.release()
    assert resources(database_url) == []


def test_a_released_lease_of_an_unfinished_run_keeps_its_files_but_not_its_driver(
    ledger: Ledger, database_url: str
) -> None:
    lease = acquire_lease(ledger, wants("a", touches=("src/**",)))
    begin(ledger, lease)
    lease.release()
    assert resources(database_url) == ["plan:a", "workspace:w"]
    assert claim_first(ledger, REPOSITORY, [offer("b", "src/x")], _asks("bob")).offer is None
    assert acquire_lease(ledger, wants("a", ELSEWHERE)).renew()


def test_the_pinned_files_of_an_unfinished_run_outlive_an_edit_of_the_plan(
    ledger: Ledger,
) -> None:
    """Whoever resumes may find other `touches` in the file; the run has those it began with."""
    begin(ledger, acquire_lease(ledger, wants("a", touches=("src/**",))))
    acquire_lease(ledger, wants("a", touches=("docs/**",)))
    assert claim_first(ledger, REPOSITORY, [offer("b", "src/x")], _asks("bob")).offer is None


def test_a_row_whose_run_is_over_is_free_at_once(ledger: Ledger) -> None:
    """Its driver was killed between the last entry and the release."""
    begin(ledger, acquire_lease(ledger, wants("a", driver())))
    finish(ledger)
    acquire_lease(ledger, wants("a", ELSEWHERE))


def test_a_driver_renews_while_it_works_and_gives_back_at_the_end(
    ledger: Ledger, database_url: str
) -> None:
    with leased(ledger, wants("a", driver()), term_s=TERM_S) as lease:
        first = _ends(database_url)
        _until(lambda: _ends(database_url) > first)
        assert not lease.lost()
        with pytest.raises(Held):
            acquire_lease(ledger, wants("a", ELSEWHERE))
    assert resources(database_url) == []


def test_a_driver_that_lost_its_lease_learns_it_from_the_renewal(
    ledger: Ledger, database_url: str
) -> None:
    def drive() -> None:
        with leased(ledger, wants("a", driver()), term_s=TERM_S) as lease:
            run_sql(database_url, "DELETE FROM leases")
            acquire_lease(ledger, wants("a", ELSEWHERE))
            _until(lease.lost)
            raise Interrupted("as the drive does when it is told to stop")

    with pytest.raises(Fenced, match="lost its lease on plan `a`"):
        drive()
    assert resources(database_url) == ["plan:a", "workspace:w"], "the newcomer's are untouched"


def test_an_interruption_by_a_person_stays_one(ledger: Ledger) -> None:
    with pytest.raises(Interrupted), leased(ledger, wants()):
        raise Interrupted("as a person asked")


def test_a_driver_that_cannot_reach_the_database_for_a_whole_term_has_lost(
    database: Database, ledger: Ledger
) -> None:
    lease = acquire_lease(ledger, wants(), term_s=TERM_S)
    database.execute("ALTER TABLE leases RENAME TO away")
    assert lease.renew(), "it may come back in time"
    _until(lease.lost)
    database.execute("ALTER TABLE away RENAME TO leases")
    assert lease.lost(), "lost is lost"


def test_of_many_drivers_at_once_exactly_one_gets_the_plan(database_url: str) -> None:
    barrier, got = threading.Barrier(8), []

    def drive(number: int) -> None:
        ours = Ledger(open_database(database_url))
        barrier.wait()
        try:
            acquire_lease(ours, wants("a", driver(host=f"host-{number}"), f"w{number}"))
            got.append(number)
        except Held:
            pass
        ours.database.close()

    open_database(database_url).close()
    racers = [threading.Thread(target=drive, args=(n,)) for n in range(8)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    assert len(got) == 1


def test_taking_over_waits_for_the_append_in_flight(ledger: Ledger, database_url: str) -> None:
    """Between its fence check and its commit nobody may void the fence."""
    fence = begin(ledger, acquire_lease(ledger, wants("a", driver())))
    let_time_pass(database_url)
    other = Ledger(open_database(database_url))
    taken = threading.Thread(target=lambda: acquire_lease(other, wants("a", ELSEWHERE)))
    with ledger.database.transaction():
        ledger.append_within("a", [note()], fence=fence)
        taken.start()
        taken.join(timeout=0.3)
        assert taken.is_alive()
    taken.join()
    other.database.close()
    with pytest.raises(Fenced):
        ledger.append("a", [note()], fence=fence)


def test_a_home_keeps_its_identity_and_shares_it_with_no_other(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for home in (one, other):
        home.mkdir()
    found = {home_identity(one) for _ in range(3)}
    assert len(found) == 1 and found != {home_identity(other)}
    assert one.rename(tmp_path / "moved") and {home_identity(tmp_path / "moved")} == found


def test_a_driver_is_known_to_be_dead_only_where_its_process_would_be_seen() -> None:
    ours = Holder.current("p", "w", "home")
    nobody = 2**22 + 1
    assert is_gone(Holder(nobody, ours.host, "p", SINCE, "x", "home"), ours)
    assert not is_gone(Holder(ours.pid, ours.host, "p", SINCE, "x", "home"), ours)
    assert not is_gone(Holder(nobody, ours.host, "p", SINCE, "x", "elsewhere"), ours)
    assert not is_gone(Holder(nobody, "elsewhere", "p", SINCE, "x", "home"), ours)


def test_a_row_says_who_what_and_how_long(ledger: Ledger, database: Database) -> None:
    acquire_lease(ledger, wants("a", driver(), touches=("src/**", "docs")), term_s=30)
    row = find_tenancy(database, plan_resource("a"))
    assert row is not None and row.live and not row.unfinished
    assert (row.holder, row.touches) == (driver(), ("src/**", "docs"))
    assert 20 < row.left_s <= 30


def _asks(worker: str) -> Callable[[Offer], Holder]:
    return lambda offered: claimant(worker, offered.name)


def _ends(url: str) -> float:
    return float(run_sql(url, "SELECT until_s FROM leases WHERE resource = 'plan:a'")[0][0])


def _until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < give_up, "it never came true"
        time.sleep(0.01)
