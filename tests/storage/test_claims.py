"""A plan is handed out to one worker at a time, never beside one that changes the same files."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace

from signoff.errors import Held
from signoff.storage.claims import Offer, claim_first, give_back_claim, renew_claim
from signoff.storage.home import open_database
from signoff.storage.leases import acquire_lease
from signoff.storage.ledger import Ledger
from signoff.storage.records import Holder
from tests.storage.kit import note, outputs, workers
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
    wants,
)

CLAIM_ONE = """
import json, sys
from signoff.storage.claims import Offer, claim_first
from signoff.storage.home import open_database
from signoff.storage.ledger import Ledger
from signoff.storage.records import Holder
url, offers, number = sys.argv[1:]
ledger = Ledger(open_database(url))
made = [Offer(o[0], o[0], 0, tuple(o[1])) for o in json.loads(offers)]
holder = lambda offer: Holder(1, "h", offer.name, "now", f"worker-{number}", "home")
found = claim_first(ledger, "/repo", made, holder)
print(found.offer.plan if found.offer else "")
"""


def claim(ledger: Ledger, worker: str, *offers: Offer) -> str | None:
    """The name of the plan that the worker is given."""
    found = claim_first(ledger, REPOSITORY, offers, lambda o: claimant(worker, o.name))
    return found.offer.name if found.offer else None


def by(worker: str) -> Callable[[Holder], bool]:
    """Whether a claim is this worker's own."""
    return lambda holder: holder.worker == worker


APART = [offer("a", "a/**"), offer("b", "b/**"), offer("c", "c/**")]


def test_workers_are_given_different_plans_and_then_nothing(ledger: Ledger) -> None:
    given = [claim(ledger, f"w{n}", *APART) for n in range(4)]
    assert given == ["a", "b", "c", None]


@pytest.mark.parametrize("overlapping", [False, True])
def test_eight_workers_at_once_never_get_the_same_plan(
    database_url: str, overlapping: bool
) -> None:
    open_database(database_url).close()
    offers = [(f"p{n}", [f"src/{n // 2 if overlapping else n}/**"]) for n in range(8)]
    with workers(CLAIM_ONE, 8, database_url, json.dumps(offers)) as racers:
        given = sorted(text.strip() for text in outputs(racers))
    if overlapping:
        assert given == ["", "", "", "", "p0", "p2", "p4", "p6"]
    else:
        assert given == sorted(name for name, _ in offers)


@pytest.mark.parametrize(
    ("touches", "others"),
    [
        (("src/**",), ("src/a.py",)),
        (("docs/*.md", "src/a*.py"), ("src/**/ab.py",)),
        ((), ("src/**",)),
        (("src/**",), ()),
        (("src/**",), (".",)),
        ((), ()),
    ],
)
def test_a_claim_keeps_away_who_may_change_the_same_files(
    ledger: Ledger, touches: Sequence[str], others: Sequence[str]
) -> None:
    assert claim(ledger, "ann", offer("a", *touches)) == "a"
    assert claim(ledger, "bob", offer("b", *others)) is None


def test_a_plan_that_declares_nothing_is_handed_out_alone(ledger: Ledger) -> None:
    assert claim(ledger, "ann", offer("a")) == "a"
    assert claim(ledger, "bob", offer("b"), *APART[1:]) is None


def test_a_claim_ends_by_the_clock_of_the_database(ledger: Ledger, database_url: str) -> None:
    assert claim(ledger, "ann", APART[0]) == "a"
    assert claim(ledger, "bob", APART[0]) is None
    let_time_pass(database_url)
    assert claim(ledger, "bob", APART[0]) == "a"


def test_a_plan_about_which_something_was_written_since_is_looked_at_again(ledger: Ledger) -> None:
    ledger.append("a", [note()])
    found = claim_first(ledger, REPOSITORY, [APART[0]], lambda o: claimant("ann", o.name))
    assert (found.offer, found.outdated) == (None, True)
    assert claim(ledger, "ann", offer("a", "a/**", seq=1)) == "a"


def test_a_plan_that_is_driven_is_not_handed_out(ledger: Ledger, database_url: str) -> None:
    lease = acquire_lease(ledger, wants("a"))
    assert claim(ledger, "bob", APART[0]) is None
    lease.release()
    assert claim(ledger, "bob", APART[0]) == "a"


def test_a_driver_known_to_be_dead_does_not_keep_its_plan(ledger: Ledger) -> None:
    lease = acquire_lease(ledger, wants("a", driver("ann"), touches=("src/**",)))
    begin(ledger, lease)
    given = claim_first(
        ledger,
        REPOSITORY,
        [offer("b", "src/x"), offer("a", "src/**", seq=1)],
        lambda o: claimant("bob", o.name),
        gone=lambda holder: holder.worker == "ann",
    )
    assert given.offer is not None
    assert given.offer.name == "a", "its files stay its own: only the plan itself is free"


def test_two_interrupted_plans_do_not_wait_for_each_other_for_ever(ledger: Ledger) -> None:
    """People began them by hand, at the same files; one goes first, then the other."""
    for plan in ("a", "b"):
        lease = acquire_lease(ledger, wants(plan, workspace=plan))
        begin(ledger, lease, plan, run=plan)
        lease.release()
    either = [offer("a", "src/**", seq=1), offer("b", "src/**", seq=1)]
    resumed = [replace(o, beside=frozenset({"a", "b"})) for o in either]
    assert claim(ledger, "ann", *either) is None
    assert claim(ledger, "ann", *resumed) == "a"
    assert claim(ledger, "bob", *resumed) is None


def test_the_workers_own_claim_becomes_its_lease(ledger: Ledger) -> None:
    assert claim(ledger, "ann", APART[0]) == "a"
    lease = acquire_lease(ledger, wants("a", driver("ann")), by("ann"))
    begin(ledger, lease)
    finish(ledger)
    lease.release()
    assert claim(ledger, "bob", offer("a", "a/**", seq=2)) == "a", "the claim is used up"


def test_another_worker_is_told_who_claimed_the_plan(ledger: Ledger) -> None:
    assert claim(ledger, "ann", APART[0]) == "a"
    with pytest.raises(Held) as caught:
        acquire_lease(ledger, wants("a", ELSEWHERE), by("bob"))
    assert str(caught.value) == f"plan `a` is claimed by worker `ann` since {SINCE}"
    assert caught.value.hint.startswith("signoff next --give-back a --worker ann")


def test_a_claim_of_somebody_else_that_ended_is_in_nobodys_way(
    ledger: Ledger, database_url: str
) -> None:
    assert claim(ledger, "ann", APART[0]) == "a"
    let_time_pass(database_url)
    acquire_lease(ledger, wants("a", ELSEWHERE), by("bob"))


def test_a_worker_whose_claim_ended_does_not_start_beside_who_came_after(
    ledger: Ledger, database_url: str
) -> None:
    """It was slow: its claim kept nobody away any more, and an overlapping plan was handed out."""
    assert claim(ledger, "ann", offer("a", "src/**")) == "a"
    let_time_pass(database_url)
    assert claim(ledger, "bob", offer("b", "src/x")) == "b"
    with pytest.raises(Held, match="claim of worker `ann` on plan `a` ended, and plan `b`"):
        acquire_lease(ledger, wants("a", driver("ann")), by("ann"))
    assert not give_back_claim(ledger, "a", by("ann"))
    assert give_back_claim(ledger, "b", by("bob"))
    acquire_lease(ledger, wants("a", driver("ann")), by("ann"))


def test_a_worker_whose_claim_ended_unnoticed_may_still_start(
    ledger: Ledger, database_url: str
) -> None:
    assert claim(ledger, "ann", offer("a", "src/**")) == "a"
    let_time_pass(database_url)
    assert claim(ledger, "bob", offer("b", "docs/**")) == "b"
    acquire_lease(ledger, wants("a", driver("ann")), by("ann"))


def test_a_claim_given_back_is_free_at_once(ledger: Ledger) -> None:
    assert claim(ledger, "ann", APART[0]) == "a"
    with pytest.raises(Held, match="claimed by worker `ann`"):
        give_back_claim(ledger, "a", by("bob"))
    assert give_back_claim(ledger, "a", by("ann"))
    assert not give_back_claim(ledger, "a", by("ann"))
    assert claim(ledger, "bob", APART[0]) == "a"


def test_a_claim_is_renewed_by_its_own_worker_only_and_only_in_time(
    ledger: Ledger, database_url: str
) -> None:
    assert claim(ledger, "ann", APART[0]) == "a"
    assert not renew_claim(ledger, REPOSITORY, "a", claimant("bob", "a"), 60)
    assert renew_claim(ledger, REPOSITORY, "a", claimant("ann", "a"), 60)
    let_time_pass(database_url)
    assert not renew_claim(ledger, REPOSITORY, "a", claimant("ann", "a"), 60)
    assert not renew_claim(ledger, REPOSITORY, "b", claimant("ann", "b"), 60)


def test_claims_of_another_repository_are_in_nobodys_way(ledger: Ledger) -> None:
    assert claim(ledger, "ann", offer("a")) == "a"
    found = claim_first(ledger, "/another", [offer("b")], lambda o: claimant("bob", o.name))
    assert found.offer is not None
