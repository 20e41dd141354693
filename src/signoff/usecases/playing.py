"""`agent`: one turn of the built-in loop: session, tools, how calls are run and watched."""

from __future__ import annotations

import asyncio
import shlex
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic_ai.models import Model

import signoff
from signoff.agents.loop.acting import Confirm, LoopReporter, LoopSetup, Silent
from signoff.agents.loop.delegation import with_delegate
from signoff.agents.loop.drive import AgentLoop
from signoff.agents.loop.limits import Ended, LoopLimits, LoopReport, Used
from signoff.agents.loop.transcript import Past, Transcript
from signoff.agents.plantools import plan_tools
from signoff.agents.session import Delegation, PlanSession
from signoff.agents.tools.context import Changes, Files, Shell, ToolContext
from signoff.agents.tools.definition import Tool
from signoff.agents.tools.standard import STANDARD_TOOLS
from signoff.domain.ledger import Draft, Kind
from signoff.domain.plan import Budget, Plan
from signoff.domain.session import PLAN_TOOL_NAMES
from signoff.domain.verdict import Isolation
from signoff.errors import SandboxMissing, UsageError
from signoff.orchestrator.events import Event, Reporter
from signoff.process.environment import safe_search_path
from signoff.process.shell import find_tool
from signoff.settings.loading import REPOSITORY_FILE
from signoff.settings.roles import Role
from signoff.toolbatch.calls import Event as BatchEvent
from signoff.toolbatch.calls import Responded
from signoff.toolbatch.checkers import Thresholds
from signoff.toolbatch.deriving import CHECKER, CheckSources
from signoff.toolbatch.kept import Moment, Rollbacks, ThingKind
from signoff.toolbatch.opening import Parts
from signoff.toolbatch.paths import declared
from signoff.toolbatch.view import BatchLimits
from signoff.usecases.harness import Harness, PlanLocation
from signoff.usecases.inbox import LOOP
from signoff.usecases.open_session import open_session
from signoff.usecases.openwork import enclosure_of
from signoff.usecases.run import DurableEngine
from signoff.usecases.workspaces import open_pinned_workspace, workspace_lock
from signoff.verification.pins import Pins
from signoff.workspace.workspace import Workspace

AUTHOR = LOOP
LONGEST_TEXT = 2_000  # of what a person was told when a turn was halted
MOST_NAMED = 1_000  # of what a command changed; it rests on the content as a whole anyway
IGNORED = "ignored files"  # stands for by-products, of which nothing but a change is known


class Unheard:
    """Tells nobody what a run appends."""

    def tell(self, event: Event) -> None:
        """Do nothing."""


class AgentRequest(Struct, frozen=True):
    """The caller's task, with the model that does it and its limits."""

    task: str
    model: Model | str
    workspace: Path
    base_url: str | None = None
    tools: Sequence[Tool] | None = None  # None: the standard ones and those of the plan
    session: PlanSession | None = None  # opened by the caller, whose plan tools are in `tools`
    delegates: bool = True  # whoever has plan tools may hand a step to a sub-agent
    planned: bool = True  # False: no plan, no gate, and nothing is proved
    bound: PlanLocation | None = None  # a person's plan to work on
    limits: LoopLimits = field(default_factory=LoopLimits)
    system: str | None = None
    resume: str | None = None  # the id of a session to go on with
    reporter: LoopReporter = field(default_factory=Silent)
    ask: Callable[[str], str | None] | None = None
    confirm: Confirm | None = None  # asked before every call that may change something
    restore: bool = False  # when it gives up, put back what its unfinished step changed
    confidence: float | None = None  # below which a change is not made; None: as the settings say
    engine: Callable[[], DurableEngine] | None = None  # for the run that signs a person's plan
    run_reporter: Reporter = field(default_factory=Unheard)


class Play:
    """One period of work with all it needs: session, tools, context, transcript, children."""

    def __init__(
        self,
        harness: Harness,
        request: AgentRequest,
        place: PlanLocation,
        name: str,
        runner: asyncio.Runner,
    ):
        self._harness, self._request, self._runner = harness, request, runner
        self._place, self._name = place, name
        self._past = self._read_past()
        self.session = self._open()
        self._loops: list[AgentLoop] = []

    def run(self) -> LoopReport:
        request, past, followup = self._request, self._past, ""
        if past is not None:
            # What the person adds, and what became of sub-agents that were at work meanwhile.
            stopped = self.session.unfinished_children() if self.session is not None else ()
            told = [
                f"Step {step} was handed to `{child.id}`, which was stopped before it was finished."
                f" delegate({step}, …) takes it up again, with what is left of its budget."
                for child, step in stopped
            ]
            followup = "\n\n".join(filter(None, (request.task, "\n".join(told))))
        return self._play(
            LoopSetup(
                task=request.task,
                model=self._model,
                tools=self._tools(),
                context=self._context(),
                session=self.session,
                name=self._name,
                limits=request.limits,
                followup=followup,
                words=request.task if past is not None else "",
            ),
            self._name,
            past,
        )

    def _play(self, setup: LoopSetup, name: str, past: Past | None) -> LoopReport:
        """Set up one period of work, with what all of this request have in common."""
        request = self._request
        loop = AgentLoop(
            replace(
                self._with_runtime(setup),
                task=setup.task if past is None else past.task,
                system=request.system,
                transcript=self._transcript(name),
                reporter=request.reporter,
                past=past,
                confirm=request.confirm,
            ),
            self._runner,
        )
        self._loops.append(loop)
        try:
            return loop.run()
        finally:
            self._loops.pop()

    @property
    def _model(self) -> Model:
        assert isinstance(self._request.model, Model)
        return self._request.model

    def _child(
        self, begun: Delegation, objective: str, tools: Sequence[Tool], context: ToolContext
    ) -> LoopReport:
        """Let a child work: with its share of tokens, turns and time that are left above."""
        child, parent = begun.session, self._loops[-1]
        assert child is not None
        transcript = self._transcript(child.id)
        past = transcript.read() if begun.resumed and transcript.is_begun else None
        before = Used() if past is None else past.used
        share = child.left()
        limits = replace(parent.limits_left(), tokens=share.tokens, usd=share.usd)
        setup = LoopSetup(
            task=objective,
            model=self._model,
            tools=tools,
            context=context,
            session=child,
            limits=limits.after(before),
            followup=objective if past is not None and past.task != objective else "",
        )
        report = self._play(setup, child.id, past)
        parent.charge(report - before)  # what it used before is paid for already
        if report.ended is Ended.INTERRUPTED:
            raise KeyboardInterrupt
        return report

    def _with_runtime(self, setup: LoopSetup) -> LoopSetup:
        """Add the tool-call runtime: on a session's chain, else for the process's lifetime."""
        session, ledger, watch = setup.session, self._harness.ledger, setup.context.watch
        policy = (session.policy if session is not None else self._harness.settings.agent).batches
        sure = self._request.confidence
        chosen: dict[str, Any] = dict(policy.limits)
        parts = Parts(steering=policy.steering, limits=BatchLimits(**chosen))
        setup = replace(setup, parts=parts, confidence=policy.confidence if sure is None else sure)
        if session is None:
            return setup
        bound = self._request.bound if session is self.session else None
        steps = bound.parse().plan.steps if bound is not None else ()
        thin = Thresholds(policy.thin_words, policy.thin_sections)
        sources = CheckSources(checker=checker_command(setup.context.shell.search_path, thin))
        watched = watch.workspace if isinstance(watch, WorkspaceWatch) else None
        parts = replace(
            parts,
            planned=declared(path for step in steps for path in step.produces),
            derives=bound is None,  # a person's contracts decide about a person's plan
            books=session,
            keep=Rollbacks(ledger, session.id, watched) if watched is not None else None,
            sources=sources if bound is None else None,
            thresholds=thin,
        )

        def record_halt(event: BatchEvent) -> None:
            """Record a turn that the runtime ended, as a failure."""
            if isinstance(event, Responded) and event.failed:
                data = {"text": event.text[:LONGEST_TEXT]}
                ledger.append(session.id, [Draft(Kind.TURN_HALTED, data)])

        return replace(setup, parts=parts, subscribers=(record_halt,))

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
        if self._past is not None and self._harness.ledger.head(self._name)[0] == 0:
            return None  # it was begun without a plan
        limits = request.limits
        return open_session(
            self._harness,
            request.workspace,
            author=AUTHOR,
            session_id=self._name,
            bound=request.bound,
            budget=Budget(limits.tokens, limits.usd, limits.wall_s),
            resume=self._past is not None,
        )

    def _tools(self) -> list[Tool]:
        request, session = self._request, self.session
        tools = list(STANDARD_TOOLS if request.tools is None else request.tools)
        if request.tools is None and session is not None:
            tools += plan_tools(session)
        planning = not PLAN_TOOL_NAMES.isdisjoint(tool.name for tool in tools)
        if session is None or not (planning and request.delegates):
            return tools
        return with_delegate(session, tools, self._child)

    def _transcript(self, name: str) -> Transcript:
        folder = self._harness.home.conversations
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Transcript(folder / f"{name}.jsonl")

    def _context(self) -> ToolContext:
        harness, workspace = self._harness, self._request.workspace
        search_path = safe_search_path(harness.environ.get("PATH", ""), workspace)
        enclosure = enclosure_of(harness, self._place, search_path)
        configured = workspace / REPOSITORY_FILE
        enclosure = replace(enclosure, untouchable=(*enclosure.untouchable, configured))
        if harness.settings.policy.require_sandbox and enclosure.of_agents is Isolation.NONE:
            raise SandboxMissing("the policy requires a sandbox, and this agent would have none")
        readable = (Path(p).expanduser() for p in harness.settings.agent.readable)
        files = Files(
            workspace=workspace,
            readable=tuple(readable),
            untouchable=enclosure.untouchable,
            hidden=enclosure.hidden,
        )
        shell = Shell(
            role=Role("agent", ""),
            enclosure=enclosure,
            environ=harness.environ,
            search_path=search_path,
            mark=workspace_lock(self._place),
        )
        watch = None if self.session is None else watch_of(harness, self._place, self.session)
        return ToolContext(files, shell, ask=self._request.ask, watch=watch)


def checker_command(search_path: str, thin: Thresholds) -> str:
    """Command by which contracts run checkers; off their search path, as this process was started.

    Never from the folder it starts in: an agent could have put another one there.
    """
    asked = f"{CHECKER}{f' --thin-words {thin.words}' if thin.words else ''}"
    asked += f" --thin-sections {thin.sections}" if thin.sections else ""
    if find_tool("signoff", search_path) is not None:
        return asked
    source = Path(signoff.__file__).parents[1]
    words = [f"PYTHONPATH={shlex.quote(str(source))}", shlex.quote(sys.executable), "-P", "-m"]
    return " ".join([*words, asked])


class WorkspaceWatch(Struct):
    """Compares the workspace before and after a command."""

    workspace: Workspace
    _before: Moment | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)  # a workspace is for one thread

    def mark(self) -> str:
        """The digest of the content as it is now."""
        self._before = self._now()
        return self._before.digest

    def content(self) -> str:
        """The digest of the content, for a call that changes nothing."""
        with self._lock:
            seen = self.workspace.digest_now(quiet=False)
            self.workspace.remove_caches()
        return seen.digest

    def changed_since(self, mark: str) -> Changes:
        """Changes since then; only files that evidence can cite have a digest."""
        # Without a view of then, everything counts as changed.
        known = self._before is not None and self._before.digest == mark
        before = self._before if known and self._before is not None else Moment(mark, {}, {})
        after, files, others = self._now(), dict[str, str](), list[str]()
        for path in before.unlike(after):
            old, new = before.at(path), after.at(path)
            if ThingKind.FOLDER in (old.kind, new.kind) or old[:2] == new[:2]:
                others.append(path)
            elif new.kind in (ThingKind.FILE, ThingKind.NOTHING):
                files[path] = new.digest
            else:
                others.append(path)
        if before.environment != after.environment:
            others.append(IGNORED)
        named = dict(sorted(files.items())[:MOST_NAMED])
        return Changes(named, tuple(sorted(others))[:MOST_NAMED], after.digest)

    def _now(self) -> Moment:
        with self._lock:
            now = Moment.now(self.workspace)
            self.workspace.remove_caches()
        return now


def watch_of(harness: Harness, place: PlanLocation, session: PlanSession) -> WorkspaceWatch:
    """The workspace under what was pinned as the session began, as its judge sees it."""
    began = session.look().session.started
    assert began is not None
    pins = Pins.from_bytes(harness.ledger.get_blob(began.pins))
    return WorkspaceWatch(open_pinned_workspace(harness, place, pins, Plan(title="", steps=())))
