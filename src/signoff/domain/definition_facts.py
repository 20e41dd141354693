"""What can happen to a definition of done, as facts in their stored form: add, never rename."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from signoff.domain.definition import (
    Artifact,
    Check,
    Item,
    ItemKind,
    ProjectCheck,
    RoundStatus,
    Seen,
    Support,
)


@dataclass(frozen=True)
class Stated:
    """A person's task, or what a plan declares; it only ever adds."""

    statement: str = ""
    artifacts: tuple[Artifact, ...] = ()
    items: tuple[Item, ...] = ()
    checks: tuple[Check, ...] = ()
    declared: bool = False  # by a plan: it counts while it is there, and cannot be dropped
    unread: int = 0  # characters of the statement in which nobody looked for artifacts


@dataclass(frozen=True)
class ItemsListed:
    """A list of things to do as the model sent it: a claim, to be reconciled."""

    items: tuple[Item, ...]
    aside: bool = False  # sent during a repair: nothing of it is taken up


@dataclass(frozen=True)
class Dropped:
    """The model gives up something planned: an item by its text, or an artifact by its path."""

    what: str
    reason: str
    call: str = ""


@dataclass(frozen=True)
class Touched:
    """A call changed files; no paths: it changed something, nobody knows what."""

    paths: tuple[str, ...]
    call: str = ""
    tool: str = ""


@dataclass(frozen=True)
class ItemCompleted:
    """A successful call did what an item asks for."""

    text: str
    call: str = ""


@dataclass(frozen=True)
class ArtifactsSeen:
    """Somebody looked: of the planned artifacts these are there, and no others."""

    existing: tuple[str, ...]
    signs: tuple[()] = ()  # stored; earlier versions told by them what was only to be changed


@dataclass(frozen=True)
class RoundPlanned:
    """A round is to be judged by these checks."""

    checks: tuple[Check, ...]
    because: str = ""


@dataclass(frozen=True)
class RoundBegun:
    """The planned round is being judged."""


@dataclass(frozen=True)
class RoundDecided:
    """What judging gave; a kept round needs an observation that supports each of its checks."""

    status: RoundStatus
    seen: tuple[Seen, ...] = ()


@dataclass(frozen=True)
class ProjectSeen:
    """What the project documented when the work began; only the first look counts."""

    checks: tuple[ProjectCheck, ...]


@dataclass(frozen=True)
class TakenUp:
    """A person lets the work go on after it was given up, or failed too often."""


@dataclass(frozen=True)
class Abandoned:
    """Nobody goes on."""

    reason: str


Fact = (
    Stated
    | ItemsListed
    | Touched
    | ItemCompleted
    | ArtifactsSeen
    | RoundPlanned
    | RoundBegun
    | RoundDecided
    | Abandoned
    | Dropped
    | ProjectSeen
    | TakenUp
)


def to_data(fact: Fact) -> dict[str, Any]:
    """The stored form."""
    name = FACT_NAMES[type(fact)]
    if isinstance(fact, ProjectSeen):
        return {"fact": name, "checks": [check.to_data() for check in fact.checks]}
    return {"fact": name, **asdict(fact)}


def from_data(data: Mapping[str, Any]) -> Fact:
    """The stored form read back; ValueError when no version before this one wrote it."""
    name = data.get("fact")
    read = _READERS.get(name) if isinstance(name, str) else None
    if read is None:
        raise ValueError(f"`{name}` is no fact about a definition of done")
    try:
        return read(data)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"the fact `{name}` cannot be read: {error!r}") from error


def _artifacts(data: Any) -> tuple[Artifact, ...]:
    return tuple(Artifact(str(a["path"]), bool(a["directory"])) for a in data)


def _items(data: Any) -> tuple[Item, ...]:
    return tuple(
        Item(str(i["text"]), _artifacts(i["artifacts"]), bool(i["done"]), ItemKind(i["kind"]))
        for i in data
    )


def _checks(data: Any) -> tuple[Check, ...]:
    return tuple(Check(str(c["command"]), str(c["source"])) for c in data)


def _seen(data: Any) -> tuple[Seen, ...]:
    return tuple(
        Seen(
            str(s["source"]),
            str(s["subject"]),
            Support(s["status"]),
            str(s["command"]),
            str(s["detail"]),
        )
        for s in data
    )


def _texts(data: Any) -> tuple[str, ...]:
    return tuple(str(text) for text in data)


_READERS: dict[str, Callable[[Mapping[str, Any]], Fact]] = {
    "stated": lambda d: Stated(
        str(d["statement"]),
        _artifacts(d["artifacts"]),
        _items(d["items"]),
        _checks(d["checks"]),
        bool(d.get("declared", False)),
        int(d.get("unread", 0)),
    ),
    "items_listed": lambda d: ItemsListed(_items(d["items"]), bool(d.get("aside", False))),
    "touched": lambda d: Touched(_texts(d["paths"]), str(d["call"]), str(d["tool"])),
    "item_completed": lambda d: ItemCompleted(str(d["text"]), str(d["call"])),
    "artifacts_seen": lambda d: ArtifactsSeen(_texts(d["existing"])),
    "round_planned": lambda d: RoundPlanned(_checks(d["checks"]), str(d["because"])),
    "round_begun": lambda _d: RoundBegun(),
    "round_decided": lambda d: RoundDecided(RoundStatus(d["status"]), _seen(d["seen"])),
    "abandoned": lambda d: Abandoned(str(d["reason"])),
    "dropped": lambda d: Dropped(str(d["what"]), str(d["reason"]), str(d["call"])),
    "project_seen": lambda d: ProjectSeen(tuple(map(ProjectCheck.from_data, d["checks"]))),
    "taken_up": lambda _d: TakenUp(),
}
FACT_NAMES: dict[type, str] = {
    Stated: "stated",
    ItemsListed: "items_listed",
    Touched: "touched",
    ItemCompleted: "item_completed",
    ArtifactsSeen: "artifacts_seen",
    RoundPlanned: "round_planned",
    RoundBegun: "round_begun",
    RoundDecided: "round_decided",
    Abandoned: "abandoned",
    Dropped: "dropped",
    ProjectSeen: "project_seen",
    TakenUp: "taken_up",
}
