"""The server of the board: views that read, and decisions that are those of the command line."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar
from urllib.parse import parse_qs

from msgspec import Struct
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from signoff.board.access import COOKIE_S, ENTER, cookie_name
from signoff.board.feed import Feed
from signoff.board.pages import STATIC, Pages, Words, static_text
from signoff.domain.ledger import Choice
from signoff.errors import (
    ApprovalRefused,
    Exit,
    PlanConflict,
    PlanNotFound,
    SignoffError,
    UsageError,
)
from signoff.storage.ledger import Ledger
from signoff.usecases.approve import Proposal, approve, propose
from signoff.usecases.board import BoardReader, find_record, place_of
from signoff.usecases.harness import Harness
from signoff.usecases.history import pinned_plan, read_history, read_pins
from signoff.usecases.inbox import answer, questions
from signoff.usecases.person import PageDecision
from signoff.usecases.planpage import (
    PlanPage,
    Shown,
    SubjectPage,
    read_attempt,
    read_plan_page,
    timeline,
)
from signoff.usecases.stats import read_stats
from signoff.wiring import open_harness

PATIENCE_S = 5  # for the head of a request, and for its body
ENTRIES = 100  # of the timeline at a time
STEPS = 120  # of a plan
CARDS = 60  # of a column
PLANS_KEPT = 3  # whose entries are not read again for every new one
_T = TypeVar("_T")
_STATUS = {
    PlanNotFound.__name__: 404,
    ApprovalRefused.__name__: 403,
}


class Board:
    """The views. What reads the ledger runs in one thread, so that pages and updates go on."""

    def __init__(self, harness: Harness, words: Words, deciding: str | None, *, secure: bool):
        self.harness, self.words, self.deciding, self.secure = harness, words, deciding, secure
        self.pages, self.reader = Pages(words), BoardReader(harness)
        self.readers = ThreadPoolExecutor(1, "board-read")
        self.watchers = ThreadPoolExecutor(1, "board-watch")
        self.feed = Feed(harness.ledger.heads, self.reader.without_driver, self.watchers)
        self.proposals: OrderedDict[str, tuple[Harness, Proposal, PlanPage]] = OrderedDict()
        self._harnesses: OrderedDict[str, Harness] = OrderedDict()

    def app(self) -> Starlette:
        get = {
            "/": self.needs,
            ENTER: self.enter,
            "/plans": self.plans,
            "/stats": self.stats,
            "/plan/{plan}": self.plan,
            "/plan/{plan}/attempt/{number:int}/{step:path}": self.attempt,
            "/plan/{plan}/entry/{seq:int}": self.evidence,
        }
        routes = [Route(path, self._view(view), methods=["GET"]) for path, view in get.items()]
        routes += [
            Route("/events", self.events, methods=["GET"]),
            Route("/static/{name}", self.static, methods=["GET"]),
        ]
        post = {
            "/plan/{plan}/proposal": self.propose,
            "/plan/{plan}/approve": self.approve,
            "/answer/{item}": self.answer,
        }
        routes += [Route(path, self._view(view), methods=["POST"]) for path, view in post.items()]
        return Starlette(routes=routes, lifespan=self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        watching = asyncio.create_task(self.feed.watch())
        yield
        watching.cancel()

    def _view(
        self, view: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def shown(request: Request) -> Response:
            try:
                return await view(request)
            except SignoffError as error:
                by_code = 409 if error.exit_code is Exit.CONFLICT else 400
                status = _STATUS.get(type(error).__name__, by_code)
                return self._page(request, "error.html", status, error=error, seq=0)

        return shown

    async def _read(self, act: Callable[..., _T], *values: Any) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self.readers, act, *values)

    def _page(
        self, request: Request, template: str, status: int = 200, /, **values: Any
    ) -> HTMLResponse:
        page: PlanPage | None = values.get("page")
        redactor = self.harness.ledger.redactor if page is None else page.redactor
        text = self.pages.render(
            template,
            redactor,
            path=request.url.path,
            decides=self.deciding is not None,
            **{"plan_id": "", **values},
        )
        return HTMLResponse(text, status)

    async def enter(self, request: Request) -> Response:
        """The page that keeps the deciding key, with the cookie; a new address is told."""
        page = self._page(request, "enter.html", key=request.state.key)
        page.set_cookie(
            cookie_name(request.scope),
            request.state.cookie,
            max_age=COOKIE_S,
            httponly=True,
            samesite="strict",
            secure=self.secure,
        )
        self.on_entered()
        return page

    def on_entered(self) -> None:
        """Called when the printed address was used."""

    async def needs(self, request: Request) -> Response:
        seq = self.feed.at("")
        overview = await self._read(self.reader.overview)
        shown = {"overview": overview, "heads": await self._read(self._heads, overview.items)}
        return self._page(request, "needs.html", seq=seq, **shown)

    async def plans(self, request: Request) -> Response:
        seq = self.feed.at("")
        overview = await self._read(self.reader.overview)
        most = len(overview.cards) if "all" in request.query_params else CARDS
        return self._page(request, "plans.html", seq=seq, overview=overview, most=most)

    async def stats(self, request: Request) -> Response:
        seq = self.feed.at("")
        report = await self._read(read_stats, self.harness)
        return self._page(request, "stats.html", seq=seq, report=report)

    async def plan(self, request: Request) -> Response:
        plan = request.path_params["plan"]
        asked, seq = request.query_params, self.feed.at(plan)
        shown = Shown(asked["show"]) if asked.get("show") in set(Shown) else Shown.ALL
        before = int(b) if (b := asked.get("before", "")).isdecimal() and len(b) < 16 else None
        page = await self._read(self._plan_page, plan)
        entries, older = timeline(page.entries, shown, before, ENTRIES)
        return self._page(
            request,
            "plan.html",
            page=page,
            chosen=(chosen := _chosen(page, asked.get("step"))),
            window=StepWindow.around(page.subjects, chosen),
            shown=shown,
            filters=list(Shown),
            entries=entries,
            older=older,
            seq=seq,
            plan_id=plan,
        )

    async def attempt(self, request: Request) -> Response:
        asked = request.path_params
        plan, step, number = asked["plan"], asked["step"], asked["number"]

        def read() -> dict[str, Any]:
            harness, place = self._harness_of(plan), place_of(self.harness, self._record(plan))
            page = read_plan_page(harness, place)
            found = read_attempt(harness, place, step, number)
            return {"page": page, "said": found.said, "diff_report": found.diff}

        seen = {"step": step, "number": number, "seq": self.feed.at(plan), "plan_id": plan}
        return self._page(request, "attempt.html", **seen, **await self._read(read))

    async def evidence(self, request: Request) -> Response:
        plan, number = request.path_params["plan"], request.path_params["seq"]
        seq, page = self.feed.at(plan), await self._read(self._plan_page, plan)
        entry = next((e for e in page.entries if e.seq == number), None)
        if entry is None:
            raise PlanNotFound(f"this plan has no entry {number}")
        return self._page(
            request,
            "evidence.html",
            page=page,
            entry=entry,
            seq=seq,
            plan_id=plan,
        )

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in STATIC:
            return Response("not found\n", 404)
        return Response(static_text(name), media_type=STATIC[name])

    async def events(self, request: Request) -> Response:
        given = request.headers.get("last-event-id") or request.query_params.get("since", "")
        seen = int(given) if given.isdecimal() and len(given) < 16 else 0
        stream = self.feed.stream(request.query_params.get("plan", ""), seen)
        return StreamingResponse(stream, media_type="text/event-stream")

    async def propose(self, request: Request) -> Response:
        """Show what approval would pin; a POST, because it keeps the workspace's content."""
        self._deciding()
        plan = request.path_params["plan"]

        def read() -> tuple[Harness, Proposal, PlanPage, Any]:
            place = place_of(self.harness, self._record(plan))
            page = read_plan_page(self._harness_of(plan), place)
            harness = open_harness(self.harness.environ, place.workspace, place.workspace)
            proposal = propose(harness, place)
            history = read_history(harness.ledger, place.id)
            last = read_pins(harness.ledger, history.approval) if history.approval else None
            return harness, proposal, page, last

        harness, proposal, page, last = await self._read(read)
        number = secrets.token_urlsafe(16)
        self.proposals[number] = harness, proposal, page
        while len(self.proposals) > CARDS:
            self.proposals.popitem(last=False)
        before = self.words.pinned(pinned_plan(last), last) if last is not None else ()
        shown = {"proposal": proposal, "page": page, "last": last, "number": number}
        shown["pinned_before"] = before
        return self._page(request, "proposal.html", seq=page.head.seq, plan_id=plan, **shown)

    async def approve(self, request: Request) -> Response:
        """Record the approval of the proposal that was shown, once, if nothing moved since."""
        by, form = self._deciding(), await _form(request)
        harness, proposal, page = self.proposals.pop(form.get("proposal", ""), (None, None, None))
        if harness is None or proposal is None or page is None:
            raise PlanConflict("this proposal is not on offer any more", "look at the plan again")
        decision = PageDecision(by, page.head.hash)

        def act() -> None:
            try:
                approve(harness, proposal, interactive=True, page=decision)
            finally:
                harness.ledger.database.close()

        return await self._decided(request, page.card.id, page, act, "approved")

    async def answer(self, request: Request) -> Response:
        by, form = self._deciding(), await _form(request)
        item = request.path_params["item"]
        asked = await self._read(questions, self.harness)
        found = next((one for one in asked if one.id == item), None)
        choice = form.get("choice", "")
        if found is None or choice not in set(Choice):
            raise PlanConflict("this question is not open any more", "look at the plan again")
        plan, note = found.plan_id, form.get("note", "").strip()
        if choice == Choice.WAIVE and not note:
            raise UsageError("a waiver says why", "write the reason into the note")
        page = await self._read(self._plan_page, plan)
        seen = form.get("head", "")
        if seen != page.moment:
            return self._moved(request, page, int(seen.partition(".")[0] or 0))
        decision = PageDecision(by, page.head.hash)

        def act() -> None:
            answer(self.harness, item, Choice(choice), note, interactive=True, page=decision)

        return await self._decided(request, plan, page, act, f"answered: {choice}")

    async def _decided(
        self, request: Request, plan: str, page: PlanPage, act: Callable[[], None], what: str
    ) -> Response:
        try:
            await self._read(act)
        except PlanConflict:
            now = await self._read(self._plan_page, plan)
            return self._moved(request, now, page.head.seq)
        now = await self._read(self._plan_page, plan)
        return self._page(
            request, "decided.html", page=now, what=what, seq=now.head.seq, plan_id=plan
        )

    def _moved(self, request: Request, page: PlanPage, seen: int) -> Response:
        """Nothing was recorded; what happened since the page was made."""
        since = [entry for entry in page.entries if entry.seq > seen]
        return self._page(
            request,
            "moved.html",
            409,
            page=page,
            since_then=since,
            seq=page.head.seq,
            plan_id=page.card.id,
        )

    def _deciding(self) -> str:
        if self.deciding is None:
            raise ApprovalRefused("this board only shows", "signoff board --decide")
        return self.deciding

    def _record(self, plan: str) -> Any:
        return find_record(self.harness, plan)

    def _harness_of(self, plan: str) -> Harness:
        """A harness that keeps this plan's entries as long as somebody looks at it."""
        if plan not in self._harnesses:
            ledger = Ledger(self.harness.ledger.database, self.harness.ledger.redactor)
            self._harnesses[plan] = replace(self.harness, ledger=ledger)
        self._harnesses.move_to_end(plan)
        while len(self._harnesses) > PLANS_KEPT:
            self._harnesses.popitem(last=False)
        return self._harnesses[plan]

    def _plan_page(self, plan: str) -> PlanPage:
        return read_plan_page(self._harness_of(plan), place_of(self.harness, self._record(plan)))

    def _heads(self, items: Any) -> dict[str, str]:
        """The moment that each question's plan is shown at, by plan."""
        heads = {}
        for plan in {item.plan_id for item in items if item.choices}:
            with suppress(SignoffError, OSError):
                heads[plan] = self._plan_page(plan).moment
        return heads


def _chosen(page: PlanPage, step: str | None) -> SubjectPage | None:
    """The step that is looked at: the named one, else one that somebody works on or has to see."""
    by_id = {subject.standing.id: subject for subject in page.subjects}
    if step in by_id:
        return by_id[step]
    busy = [s for s in page.subjects if s.standing.state in ("running", "blocked", "failed")]
    return next(iter((*busy, *page.subjects)), None)


class StepWindow(Struct, frozen=True):
    """The steps that are shown at once, and those to go on with."""

    subjects: tuple[SubjectPage, ...]
    before: SubjectPage | None
    after: SubjectPage | None

    @classmethod
    def around(cls, every: tuple[SubjectPage, ...], chosen: SubjectPage | None) -> StepWindow:
        at = every.index(chosen) if chosen is not None else 0
        first = max(0, min(at - STEPS // 2, len(every) - STEPS))
        last = first + STEPS
        before = every[first - 1] if first else None
        return cls(every[first:last], before, every[last] if last < len(every) else None)


async def _form(request: Request) -> dict[str, str]:
    async with asyncio.timeout(PATIENCE_S):
        body = await request.body()
    return {name: values[-1] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
