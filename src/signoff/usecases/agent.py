"""`agent`: the built-in loop on a task, in a session whose gate decides, signed when it is over."""

from __future__ import annotations

import asyncio
import secrets
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic_ai.models import Model

from signoff.agents.loop.acting import Batching, Confirm, LoopReporter, Silent
from signoff.agents.loop.asking import open_model
from signoff.agents.loop.delegation import SecondModel, delegate_tool
from signoff.agents.loop.drive import AgentLoop, LoopSetup
from signoff.agents.loop.limits import Ended, LoopLimits, LoopReport, Used
from signoff.agents.loop.transcript import Past, Transcript
from signoff.agents.plantools import plan_tools
from signoff.agents.session import Delegation, PlanSession, SessionReport
from signoff.agents.tools.context import Files, Shell, ToolContext
from signoff.agents.tools.definition import Tool
from signoff.agents.tools.standard import STANDARD_TOOLS
from signoff.domain.escalation import Outcome
from signoff.domain.plan import Budget
from signoff.domain.session import (
    PLAN_TOOL_NAMES,
    SESSION_PREFIX,
    SessionStanding,
    session_id_of,
)
from signoff.domain.verdict import Isolation
from signoff.errors import (
    ApprovalRefused,
    Exit,
    PlanConflict,
    SandboxMissing,
    UsageError,
)
from signoff.orchestrator.events import Event, Reporter
from signoff.process.environment import safe_search_path
from signoff.settings.loading import REPOSITORY_FILE, Role
from signoff.storage.records import Holder
from signoff.usecases.ground.person import require_person
from signoff.usecases.ground.site import PlanPlace, Site, session_place
from signoff.usecases.ground.workbench import enclosure_of, taken, workspace_lock
from signoff.usecases.inbox import LOOP
from signoff.usecases.run import Engine, RunOptions, RunReport
from signoff.usecases.sessions.batching import batching_of
from signoff.usecases.sessions.opening import open_session, sign
from signoff.usecases.sessions.watching import WorkspaceWatch, watch_of
from signoff.usecases.sessions.workable import plan_of_past, require_workable
from signoff.usecases.sign import sign_work
from signoff.usecases.undo import UndoReport, restore_step

AUTHOR = LOOP


class Unheard:
    """Tells nobody what a run appends."""

    def tell(self, event: Event) -> None:
        """Nothing."""


@dataclass(frozen=True)
class AgentRequest:
    """What the caller wants done, by whom, and how far it may go."""

    task: str
    model: Model | str
    workspace: Path
    base_url: str | None = None
    tools: Sequence[Tool] | None = None  # None: the standard ones and those of the plan
    session: PlanSession | None = None  # opened by the caller, whose plan tools are in `tools`
    delegates: bool = True  # whoever has plan tools may hand a step to a sub-agent
    planned: bool = True  # False: no plan, no gate, and nothing is proved
    bound: PlanPlace | None = None  # a person's plan to work on
    limits: LoopLimits = field(default_factory=LoopLimits)
    system: str | None = None
    resume: str | None = None  # the id of a session to go on with
    reporter: LoopReporter = field(default_factory=Silent)
    ask: Callable[[str], str | None] | None = None
    confirm: Confirm | None = None  # asked before every call that may change something
    restore: bool = False  # when it gives up, put back what its unfinished step changed
    confidence: float | None = None  # below which a change is not made; None: as the settings say
    engine: Callable[[], Engine] | None = None  # for the run that signs a person's plan
    run_reporter: Reporter = field(default_factory=Unheard)


@dataclass(frozen=True)
class AgentReport:
    """What the loop did, and what the gate said when the agent was gone.

    `run` is the run that signed a person's plan: then it says how that plan stands.
    """

    loop: LoopReport
    plan: SessionReport | None
    run: RunReport | None = None
    restored: UndoReport | None = None

    @property
    def standing(self) -> SessionStanding:
        """Where the session stands; without a plan nothing was proved."""
        if self.run is not None:
            return _RUN_STANDINGS.get(self.run.outcome, SessionStanding.WORKING)
        if self.plan is not None:
            return self.plan.standing
        answered = self.loop.ended is Ended.ANSWERED
        return SessionStanding.UNPLANNED if answered else SessionStanding.WORKING

    @property
    def done(self) -> bool:
        """Signed off, by checks that count."""
        return self.standing is SessionStanding.DONE

    @property
    def exit_code(self) -> Exit:
        """As every command's: 0 is signed off, and nothing else is."""
        if self.done:
            return Exit.YES
        if self.loop.ended is Ended.INTERRUPTED:
            return Exit.INTERRUPTED
        return _CODES.get(self.standing, _ENDS.get(self.loop.ended, Exit.NOT_DONE))


_CODES = {
    SessionStanding.WAITING: Exit.WAITING,
    SessionStanding.ESCALATED: Exit.WAITING,
    SessionStanding.KEPT_SELF_SET: Exit.WAITING,
    SessionStanding.AWAITING_SIGN_OFF: Exit.WAITING,
    # There is no plan, so there is nothing to judge: neither yes nor no.
    SessionStanding.UNPLANNED: Exit.CANNOT_JUDGE,
}
_GAVE_UP = frozenset({Ended.STUCK, Ended.ESCALATED})
_ENDS = {Ended.MODEL_FAILED: Exit.CANNOT_JUDGE}
_RUN_STANDINGS = {None: SessionStanding.WAITING, Outcome.DONE: SessionStanding.DONE}
_SIGNED = {
    SessionStanding.DONE: "the answer was accepted, and the work is signed off",
    SessionStanding.KEPT_SELF_SET: "the answer was accepted; every check held once more",
    SessionStanding.WAITING: "the answer was accepted; the rest is a person's to decide",
}


def work(site: Site, request: AgentRequest) -> AgentReport:
    """Run the loop with the workspace taken; then, with the agent gone, sign what it proved."""
    site.home.keep_apart(request.workspace)
    if request.bound is None and request.resume is not None:
        request = replace(request, bound=plan_of_past(site, request.resume))
    if request.bound is not None:
        require_workable(site, request.bound)
    model = request.model
    if isinstance(model, str):
        model = open_model(model, request.base_url, site.environ)
    if request.resume is None and not request.task.strip():
        raise UsageError("the task is empty", "signoff agent 'WHAT TO DO' --model PROVIDER:NAME")
    name = session_id_of(request.resume or f"{SESSION_PREFIX}{secrets.token_hex(8)}")
    if request.session is not None:
        name = request.session.id
    place = request.bound or session_place(request.workspace, name)
    with taken(site, place, Holder.current(name)), asyncio.Runner() as runner:
        played = _Play(site, replace(request, model=model), place, name, runner)
        loop = played.run()
    session = played.session
    if session is None:
        return AgentReport(loop, None)
    if loop.ended in _GAVE_UP and request.restore:
        return _restored(site, request, session, loop)
    if loop.ended is not Ended.ANSWERED or not session.has_plan:
        return AgentReport(loop, session.report())
    report = _signed(site, request, session, loop)
    return replace(report, loop=replace(loop, reason=_SIGNED.get(report.standing, loop.reason)))


def _restored(
    site: Site, request: AgentRequest, session: PlanSession, loop: LoopReport
) -> AgentReport:
    """What its unfinished step changed is put back, unless somebody else changed it since."""
    try:
        restored = restore_step(site, session.id)
    except PlanConflict as error:
        request.reporter.noted(f"nothing was put back: {error}")
        restored = None
    return AgentReport(loop, session.report(), restored=restored)


def _signed(
    site: Site, request: AgentRequest, session: PlanSession, loop: LoopReport
) -> AgentReport:
    """An agent's own plan by its session; a person's by a run of that plan, which people watch."""
    if request.bound is None:
        return AgentReport(loop, sign(site, session.id, by=AUTHOR))
    try:
        require_person(site.environ, site.home.path)
    except ApprovalRefused:
        return AgentReport(loop, session.report())  # it awaits a sign-off at a terminal
    assert request.engine is not None
    signed = sign_work(
        site, request.bound, session.id, RunOptions(), request.run_reporter, request.engine
    )
    return AgentReport(loop, signed.session, signed.run)


class _Play:
    """One sitting with everything it needs: session, tools, context, transcript, children."""

    def __init__(
        self,
        site: Site,
        request: AgentRequest,
        place: PlanPlace,
        name: str,
        runner: asyncio.Runner,
    ):
        self._site, self._request, self._runner = site, request, runner
        self._place, self._name = place, name
        self._past = self._read_past()
        self.session = self._open()
        self._let_second_model_rule()
        self._loops: list[AgentLoop] = []

    def run(self) -> LoopReport:
        """Play the request itself."""
        request, past, context = self._request, self._past, self._context()
        setup = LoopSetup(
            task=past.task if past is not None else request.task,
            model=self._model,
            tools=self._tools(),
            context=context,
            session=self.session,
            name=self._name,
            system=request.system,
            limits=request.limits,
            transcript=self._transcript(self._name),
            reporter=request.reporter,
            past=past,
            followup=self._followup() if past is not None else "",
            words=request.task if past is not None else "",
            batching=self._batching(self.session, context),
            confirm=request.confirm,
        )
        return self._play(setup)

    def _batching(self, session: PlanSession | None, context: ToolContext) -> Batching:
        watch = context.watch if isinstance(context.watch, WorkspaceWatch) else None
        bound = self._request.bound if session is self.session else None
        found = batching_of(self._site, session, watch, context.shell.search_path, bound)
        sure = self._request.confidence
        return found if sure is None else replace(found, confidence=sure)

    def _followup(self) -> str:
        """What the person adds, and what became of sub-agents that were at work meanwhile."""
        stopped = self.session.unfinished_children() if self.session is not None else ()
        told = [
            f"Step {step} was handed to `{child.id}`, which was stopped before it was finished."
            f" delegate({step}, …) takes it up again, with what is left of its budget."
            for child, step in stopped
        ]
        return "\n\n".join(filter(None, (self._request.task, "\n".join(told))))

    @property
    def _model(self) -> Model:
        assert isinstance(self._request.model, Model)
        return self._request.model

    def _play(self, setup: LoopSetup) -> LoopReport:
        loop = AgentLoop(setup, self._runner)
        self._loops.append(loop)
        try:
            return loop.run()
        finally:
            self._loops.pop()

    def _child(
        self, begun: Delegation, objective: str, tools: Sequence[Tool], context: ToolContext
    ) -> LoopReport:
        """A child's sitting: its share of tokens, and no more turns or time than are left above."""
        child, parent = begun.session, self._loops[-1]
        assert child is not None
        transcript = self._transcript(child.id)
        past = transcript.read() if begun.resumed and transcript.is_begun else None
        share = child.left()
        limits = replace(parent.limits_left(), tokens=share.tokens, usd=share.usd)
        report = self._play(
            LoopSetup(
                task=objective if past is None else past.task,
                model=self._model,
                tools=tools,
                context=context,
                session=child,
                system=self._request.system,
                limits=limits if past is None else limits.after(past.used),
                transcript=transcript,
                reporter=self._request.reporter,
                past=past,
                followup=objective if past is not None and past.task != objective else "",
                batching=self._batching(child, context),
                confirm=self._request.confirm,
            )
        )
        # What it used before is paid for already.
        parent.charge(report - (Used() if past is None else past.used))
        if report.ended is Ended.INTERRUPTED:
            raise KeyboardInterrupt
        return report

    def _read_past(self) -> Past | None:
        if self._request.resume is None:
            return None
        past = self._transcript(self._name).read()
        here = str(self._request.workspace)
        if past.workspace != here:
            raise UsageError(
                f"session `{self._name}` works in `{past.workspace}`, not in `{here}`",
                f"cd {shlex.quote(past.workspace)}",
            )
        return past

    def _open(self) -> PlanSession | None:
        request = self._request
        if request.session is not None or not request.planned:
            return request.session
        if self._past is not None and self._site.ledger.head(self._name)[0] == 0:
            return None  # it was begun without a plan
        limits = request.limits
        return open_session(
            self._site,
            request.workspace,
            author=AUTHOR,
            session_id=self._name,
            bound=request.bound,
            budget=Budget(limits.tokens, limits.usd, limits.wall_s),
            resume=self._past is not None,
        )

    def _let_second_model_rule(self) -> None:
        if self.session is None or not self.session.policy.blocked_model:
            return
        policy, environ = self.session.policy, self._site.environ
        address = policy.blocked_base_url or None
        self.session.let_rule(
            SecondModel(
                policy.blocked_model,
                lambda: open_model(policy.blocked_model, address, environ),
                self._runner,
                self._request.reporter.noted,
                self._charge,
            )
        )

    def _charge(self, used: Used) -> None:
        self._loops[-1].charge(used)

    def _tools(self) -> list[Tool]:
        request, session = self._request, self.session
        tools = list(STANDARD_TOOLS if request.tools is None else request.tools)
        if request.tools is None and session is not None:
            tools += plan_tools(session)
        planning = not PLAN_TOOL_NAMES.isdisjoint(tool.name for tool in tools)
        if session is None or not (planning and request.delegates):
            return tools
        return [*tools, delegate_tool(session, tools, self._child)]

    def _transcript(self, name: str) -> Transcript:
        folder = self._site.home.path / "logs" / "sessions"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Transcript(folder / f"{name}.jsonl")

    def _context(self) -> ToolContext:
        site, workspace = self._site, self._request.workspace
        search_path = safe_search_path(site.environ.get("PATH", ""), workspace)
        enclosure = enclosure_of(site, self._place, search_path)
        configured = workspace / REPOSITORY_FILE
        enclosure = replace(enclosure, untouchable=(*enclosure.untouchable, configured))
        if site.settings.policy.require_sandbox and enclosure.of_agents is Isolation.NONE:
            raise SandboxMissing("the policy requires a sandbox, and this agent would have none")
        readable = (Path(p).expanduser() for p in site.settings.agent.readable)
        files = Files(
            workspace=workspace,
            readable=tuple(readable),
            untouchable=enclosure.untouchable,
            hidden=enclosure.hidden,
        )
        shell = Shell(
            role=Role("agent", ""),
            enclosure=enclosure,
            environ=site.environ,
            search_path=search_path,
            mark=workspace_lock(self._place),
        )
        watch = None if self.session is None else watch_of(site, self._place, self.session)
        return ToolContext(files, shell, ask=self._request.ask, watch=watch)
