"""`board`: every plan as a card, and what waits for a person.

Nothing is decided here: states are those of `status`, and questions those of `inbox`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.ledger import GENESIS
from signoff.domain.names import shown_name
from signoff.domain.plan import PlanStatus
from signoff.domain.session import SESSION_PREFIX
from signoff.errors import PlanNotFound, SignoffError
from signoff.gate.ready import ReasonKind
from signoff.gate.subjects import StepState
from signoff.storage.active import find_vault
from signoff.storage.identity import plan_identity
from signoff.storage.ledger import Ledger
from signoff.storage.records import ChainHead, PlanRecord
from signoff.storage.vault import Vault
from signoff.usecases.harness import Harness, PlanLocation, find_plan
from signoff.usecases.history import (
    Driver,
    driver_of,
)
from signoff.usecases.inbox import questions
from signoff.usecases.questions import InboxItem
from signoff.usecases.ready import find_ready
from signoff.usecases.status import Spending, StatusReport, status_of

_ON_CARD = (ReasonKind.PERSON, ReasonKind.HELD)  # the card says so already
NO_HEAD = ChainHead(0, "", GENESIS)
_MARKS_AGAIN_S = 5.0  # who waits for whom changes seldom, and is asked of all plans at once


class CardState(StrEnum):
    """The word on a card: there is no fourth."""

    PROVED = "PROVED"
    NOT_YET = "NOT YET"
    NEEDS_YOU = "NEEDS YOU"


class BoardColumn(StrEnum):
    """Columns of the board, in the order in which they are shown."""

    NEEDS_YOU = "needs you"
    RUNNING = "running"
    APPROVED = "approved"
    DRAFT = "draft"
    FAILED = "failed"
    PROVED = "proved"

    @property
    def state(self) -> CardState:
        """The word of the cards in it."""
        by_name = {BoardColumn.NEEDS_YOU: CardState.NEEDS_YOU, BoardColumn.PROVED: CardState.PROVED}
        return by_name.get(self, CardState.NOT_YET)


class Card(Struct, frozen=True):
    """One plan on the board, as of its newest entry."""

    id: str
    name: str
    path: str
    project: str
    title: str
    column: BoardColumn
    since: str
    seq: int
    done: int = 0
    total: int = 0
    why: str = ""  # what is missing, or to be done
    remarks: tuple[str, ...] = ()
    spent: Spending | None = None
    driver: Driver | None = None

    @property
    def state(self) -> CardState:
        return self.column.state

    @property
    def shown_path(self) -> str:
        """The path below the folder of its repository, which has a name that people know."""
        above = Path(self.project).parent
        path = Path(self.path)
        return str(path.relative_to(above) if self.project and path.is_relative_to(above) else path)


class Overview(Struct, frozen=True):
    """All plans, what waits for a person, and which plans wait for each other."""

    cards: tuple[Card, ...]
    items: tuple[InboxItem, ...]
    marks: dict[str, tuple[str, ...]]  # by plan

    @property
    def columns(self) -> tuple[tuple[BoardColumn, tuple[Card, ...]], ...]:
        """Cards by where they stand; columns without any are left out."""
        every = ((c, tuple(card for card in self.cards if card.column is c)) for c in BoardColumn)
        return tuple((column, cards) for column, cards in every if cards)

    @property
    def for_you(self) -> tuple[Card, ...]:
        """Plans that need a person although they ask no question: to be approved, or looked at."""
        asking = {item.plan_id for item in self.items} | {item.path for item in self.items}
        mine = (card for card in self.cards if card.column is BoardColumn.NEEDS_YOU)
        return tuple(card for card in mine if not {card.id, card.path} & asking)


class BoardReader:
    """Reads all plans; of a plan that nobody touched since, what was read before is shown."""

    def __init__(self, harness: Harness):
        self.harness = harness
        self._cards: dict[str, tuple[object, Card]] = {}
        self._marks: dict[str, tuple[str, ...]] = {}
        self._marked: tuple[object, float] = (None, 0.0)

    def overview(self) -> Overview:
        heads = self.harness.ledger.heads()
        found = {record.id: record for record in self._records()}
        cards = [self._card(r, heads.get(r.id, NO_HEAD)) for r in found.values()]
        self._cards = {plan: known for plan, known in self._cards.items() if plan in found}
        cards.sort(key=lambda card: card.since, reverse=True)
        return Overview(tuple(cards), questions(self.harness), self._relations(heads, cards))

    def without_driver(self) -> frozenset[str]:
        """Plans that were running when they were read last, and whose driver is gone by now."""
        cards = [card for _, card in list(self._cards.values())]
        running = (card.id for card in cards if card.column is BoardColumn.RUNNING)
        drivers = ((plan, driver_of(self.harness, plan)) for plan in running)
        return frozenset(plan for plan, driver in drivers if driver is None or not driver.alive)

    def _records(self) -> Iterator[PlanRecord]:
        """Plans that the ledger knows, and those in their vaults that it does not know yet."""
        known = self.harness.ledger.plans()
        yield from (record for record in known if not record.id.startswith(SESSION_PREFIX))
        folders = {str(Path(r.path).parent): Path(r.repository) for r in known if r.repository}
        here = find_vault(self.harness.cwd, self.harness.environ)
        folders[str(here.folder)] = self.harness.cwd
        for folder, cwd in folders.items():
            with suppress(SignoffError, OSError):
                around, vault = find_vault(cwd, self.harness.environ), Vault(folder)
                for name in vault.list_plans():
                    yield plan_identity(vault.plan_path(name), around)

    def _card(self, record: PlanRecord, head: ChainHead) -> Card:
        stamp = None
        with suppress(OSError):
            about = Path(record.path).stat()
            stamp = about.st_mtime_ns, about.st_size
        key, known = (head, stamp), self._cards.get(record.id)
        # Whether a driver lives is told by no entry.
        if known is not None and known[0] == key and known[1].column is not BoardColumn.RUNNING:
            return known[1]
        card = read_card(_alone(self.harness), record, head)
        self._cards[record.id] = key, card
        return card

    def _relations(
        self, heads: dict[str, ChainHead], cards: list[Card]
    ) -> dict[str, tuple[str, ...]]:
        """Dependencies and overlaps within each vault, looked at again now and then."""
        known, at = self._marked
        now = time.monotonic()
        if known != heads and now - at > _MARKS_AGAIN_S:
            self._marks = {}
            for project in {card.project for card in cards if card.project}:
                with suppress(SignoffError, OSError):
                    self._marks.update(_marks(replace(_alone(self.harness), cwd=Path(project))))
            self._marked = heads, time.monotonic()
        return self._marks


def _alone(harness: Harness) -> Harness:
    """The harness with a ledger of its own, so that nothing of what it reads is kept in memory."""
    return replace(harness, ledger=Ledger(harness.ledger.database, harness.ledger.redactor))


def _marks(harness: Harness) -> Iterator[tuple[str, tuple[str, ...]]]:
    for plan, answer in find_ready(harness).plans:
        said = [f"overlaps {shown_name(o.other)}" for o in answer.overlaps]
        said += [str(reason) for reason in answer.reasons if reason.kind not in _ON_CARD]
        yield plan.record.id, tuple(dict.fromkeys(said))


def place_of(harness: Harness, record: PlanRecord) -> PlanLocation:
    """A plan found from anywhere: as if its owner stood in its repository."""
    cwd = Path(record.repository) if record.repository else Path(record.path).parent
    if not cwd.is_dir():
        raise PlanNotFound(f"the folder `{cwd}` is gone")
    return find_plan(cwd, record.path, environ=harness.environ, even_gone=True, staged=True)


def read_card(harness: Harness, record: PlanRecord, head: ChainHead) -> Card:
    """A plan that cannot be read, or whose ledger was touched, is for a person to look at."""
    name, project = shown_name(record.name) if record.name else "PLAN", record.repository or ""
    card = Card(
        record.id,
        name,
        record.path,
        project,
        name,
        BoardColumn.NEEDS_YOU,
        head.at,
        head.seq,
    )
    try:
        return card_of(card, status_of(harness, place_of(harness, record)))
    except (SignoffError, OSError) as error:
        return replace(card, why=str(error))


def card_of(card: Card, report: StatusReport) -> Card:
    column, why = _column(report)
    steps = report.gate.steps
    waived = len(report.gate.waived)
    remarks = [f"{waived} waived"] if waived else []
    remarks += ["edited since it was approved"] if report.edited else []
    if report.signed_off_at and column is not BoardColumn.PROVED:
        remarks.append(f"signed off before, at {report.signed_off_at[:16]}")
    gone = report.driver is not None and not report.driver.alive
    remarks += ["its driver is gone"] if gone else []
    signed = report.signed_off_at if column is BoardColumn.PROVED else None
    return replace(
        card,
        title=report.title or card.name,
        column=column,
        since=signed or card.since,
        done=sum(s.state in (StepState.DONE, StepState.WAIVED) for s in steps),
        total=len(steps),
        why=why,
        remarks=tuple(remarks),
        spent=report.spent if report.run else None,
        driver=report.driver,
    )


def _column(report: StatusReport) -> tuple[BoardColumn, str]:
    """The column of a plan, and what is to be done next."""
    asked = [item for item in report.waiting if item.until is None]
    if report.status is PlanStatus.DONE:
        return BoardColumn.PROVED, ""
    if asked:
        return BoardColumn.NEEDS_YOU, "it waits for your answer"
    if report.older:
        return BoardColumn.NEEDS_YOU, "approved by an older version: approve it again"
    if report.status is PlanStatus.VERIFIED:
        return BoardColumn.NEEDS_YOU, "it waits for your approval"
    if report.session is not None and report.session.standing.persons_verb:
        return BoardColumn.NEEDS_YOU, f"the work of an agent: {report.session.standing}"
    missing = report.gate.missing[0].what if report.gate.missing else ""
    parked = "parked by a usage limit" if report.waiting else ""
    return {
        PlanStatus.IN_PROGRESS: (BoardColumn.RUNNING, parked),
        PlanStatus.APPROVED: (BoardColumn.APPROVED, ""),
        PlanStatus.FAILED: (BoardColumn.FAILED, missing),
    }.get(report.status, (BoardColumn.DRAFT, ""))


def find_record(harness: Harness, plan_id: str) -> PlanRecord:
    """The plan with this id, on record or in a vault around here; PlanNotFound."""
    records = BoardReader(harness)._records()
    found = next((record for record in records if record.id == plan_id), None)
    if found is None:
        raise PlanNotFound("the board knows no such plan")
    return found
