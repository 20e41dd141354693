"""Facts about a definition of done, for tests: short names, and any order of any of them."""

from __future__ import annotations

from hypothesis import strategies as st

from signoff.domain.definition import (
    Artifact,
    Check,
    CheckSource,
    Definition,
    Item,
    RoundStatus,
    Seen,
    Support,
)
from signoff.gate.definition import (
    UNSTATED,
    Abandoned,
    ArtifactsSeen,
    Dropped,
    Fact,
    ItemCompleted,
    ItemsListed,
    RoundBegun,
    RoundDecided,
    RoundPlanned,
    Stated,
    Touched,
    apply_all,
)

PYTEST = Check("pytest -q", CheckSource.PROJECT)
THERE = Check("test -s ./a.txt", CheckSource.EXISTENCE)
A, B, SITE = Artifact("a.txt"), Artifact("b.txt"), Artifact("site", directory=True)
TEST_IT = Item("Run the tests")


def fold(*facts: Fact) -> Definition:
    """What the facts add up to."""
    return apply_all(UNSTATED, facts)


def for_it(*checks: Check) -> tuple[Seen, ...]:
    """One observation per check that supports it."""
    return tuple(Seen(c.source, c.command, Support.SUPPORTS, c.command) for c in checks)


def kept(*checks: Check, because: str = "work was done") -> tuple[Fact, ...]:
    """A whole round that is kept."""
    decided = RoundDecided(RoundStatus.KEPT, for_it(*checks))
    return (RoundPlanned(checks, because), RoundBegun(), decided)


def broken(*checks: Check) -> tuple[Fact, ...]:
    """A whole round that is broken."""
    against = Seen("project", "a.txt", Support.CONTRADICTS, checks[0].command, "a.txt:1: wrong")
    return (RoundPlanned(checks), RoundBegun(), RoundDecided(RoundStatus.BROKEN, (against,)))


_PATHS = st.sampled_from(["a.txt", "b.txt", "site", "site/x.html", "../up", "a\nb", "\udcff"])
_ARTIFACTS = st.builds(Artifact, _PATHS, st.booleans())
_TEXTS = st.sampled_from(
    ["Create a.txt", "Run the tests", "Read b", "create A.txt.", "", "\n", "…"]
)
_ITEMS = st.builds(
    Item,
    _TEXTS,
    st.lists(_ARTIFACTS, max_size=2).map(tuple),
    st.booleans(),
)
_CHECKS = st.builds(
    Check,
    st.sampled_from(["pytest -q", "test -s a.txt", "make test"]),
    st.sampled_from(CheckSource).map(str),
)
_SEEN = st.builds(
    Seen,
    st.just("judge"),
    _PATHS,
    st.sampled_from(Support),
    st.sampled_from(["pytest -q", "test -s a.txt", "make test", ""]),
    st.text(max_size=5),
)


def _several(strategy: st.SearchStrategy[object], most: int = 3) -> st.SearchStrategy[object]:
    return st.lists(strategy, max_size=most).map(tuple)


FACTS: st.SearchStrategy[Fact] = st.one_of(
    st.builds(
        Stated,
        st.sampled_from(["", "make a.txt", "make b.txt"]),
        _several(_ARTIFACTS),
        _several(_ITEMS),
        _several(_CHECKS),
        st.booleans(),
        st.sampled_from([0, 0, 7]),
    ),
    st.builds(ItemsListed, _several(_ITEMS), st.booleans()),
    st.builds(Dropped, _TEXTS | _PATHS, st.sampled_from(["", "not needed"])),
    st.builds(Touched, _several(_PATHS), st.text(max_size=3), st.sampled_from(["write", ""])),
    st.builds(ItemCompleted, _TEXTS),
    st.builds(ArtifactsSeen, _several(_PATHS, 7)),
    st.builds(RoundPlanned, _several(_CHECKS), st.text(max_size=3)),
    st.builds(RoundBegun),
    st.builds(RoundDecided, st.sampled_from(RoundStatus), _several(_SEEN, 4)),
    st.builds(RoundDecided, st.just(RoundStatus.KEPT), _several(_SEEN, 4)),
    st.builds(Abandoned, st.text(max_size=3)),
)
# A task that is nearly done, so that orders that end well are among those that are tried.
GOOD_ENDS = st.sampled_from(
    [
        (),
        (Touched(("a.txt",), "c", "write"), ArtifactsSeen(("a.txt",)), *kept(PYTEST)),
        (ArtifactsSeen(("a.txt", "b.txt", "site", "site/x.html", "../up", "a\nb", "\udcff")),),
        kept(PYTEST, Check("test -s a.txt", "existence"), Check("make test", "contract")),
    ]
)
HISTORIES = st.lists(FACTS | GOOD_ENDS, max_size=14).map(
    lambda parts: [f for part in parts for f in (part if isinstance(part, tuple) else (part,))]
)
