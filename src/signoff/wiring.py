"""The one place that builds concrete things."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from msgspec.structs import replace

from signoff.errors import StorageFailed, UsageError
from signoff.places import ATTEMPT_VARIABLE, DATABASE_VARIABLE, HOME_VARIABLE, resolve_home
from signoff.settings.loading import load_settings
from signoff.settings.policy import SessionPolicy
from signoff.storage.home import Home, open_database, sqlite_url
from signoff.storage.ledger import Ledger
from signoff.usecases.harness import Harness, known_secrets
from signoff.workspace.folders import find_repository

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from signoff.agents.loop.acting import Confirm, LoopReporter
    from signoff.agents.loop.limits import LoopLimits
    from signoff.agents.plantools import PlanView
    from signoff.agents.session import PlanSession
    from signoff.agents.tools.definition import Tool
    from signoff.usecases.agent import AgentReport
    from signoff.usecases.run import DurableEngine

_P = ParamSpec("_P")
_T = TypeVar("_T")


def existing_home(environ: Mapping[str, str]) -> Home | None:
    """The home folder if there is one; for commands that must work without, and make none."""
    path = resolve_home(environ)
    return Home(path, create=False) if path.is_dir() else None


def open_harness(
    environ: Mapping[str, str],
    cwd: Path,
    workspace: Path | None,
    roles: Mapping[str, str] | None = None,
) -> Harness:
    """Home, ledger and settings; the configuration is the workspace's, else the one around here."""
    if workspace is None:
        repository = find_repository(cwd)
        workspace = repository.top if repository else cwd
    settings = load_settings(workspace, environ).with_roles(roles or {})
    if any(role.agent or role.hosts for role in settings.roles.values()):
        from signoff.agents.presets import with_presets  # noqa: PLC0415 - hooks seldom need it

        settings = with_presets(settings)
    try:
        home = Home(resolve_home(environ))
        database = open_database(settings.database_url or home.database_url)
    except StorageFailed as error:
        raise _hidden(error, environ) from error
    if any(home.snapshots.glob("*/aside-*")):
        from signoff.workspace.caches import put_back_caches  # noqa: PLC0415 - seldom needed

        put_back_caches(home.snapshots)
    return Harness(
        environ=environ,
        cwd=cwd,
        home=home,
        ledger=Ledger(database, known_secrets(environ, settings, settings.database_url)),
        settings=settings,
    )


@contextmanager
def open_to_look(
    environ: Mapping[str, str], cwd: Path, workspace: Path | None, roles: Mapping[str, str]
) -> Iterator[Harness]:
    """A harness of the files alone, with an empty ledger that is gone afterwards.

    For who may write nothing and is shown no home, such as a contract that checks a plan.
    """
    from tempfile import TemporaryDirectory  # noqa: PLC0415 - loads compression

    with TemporaryDirectory(prefix="signoff-") as empty:
        own = {HOME_VARIABLE: empty, DATABASE_VARIABLE: sqlite_url(Path(empty) / "ledger")}
        heldout = resolve_home(environ) / "heldout"
        with suppress(PermissionError):  # a home that is hidden shows none
            if heldout.is_dir():
                (Path(empty) / "heldout").symlink_to(heldout)
        harness = open_harness({**environ, **own}, cwd, workspace, roles)
        try:
            yield replace(harness, environ=environ)
        finally:
            harness.ledger.database.close()


def _hidden(error: StorageFailed, environ: Mapping[str, str]) -> StorageFailed:
    """An agent is shown no home, and nobody is to make it writable for one."""
    if ATTEMPT_VARIABLE not in environ:
        return error
    return StorageFailed(
        "this command runs inside an attempt, where signoff's own files are hidden",
        "end your work: it is judged once you have ended; run this command outside the attempt",
        error.facts,
    )


def open_engine(harness: Harness) -> DurableEngine:
    """Load what makes a run durable; that takes longer than everything before it."""
    from signoff.orchestrator.engine import Engine  # noqa: PLC0415

    return Engine(harness.settings.database_url, harness.home.path)


def start_session(
    workspace: str | Path = ".",
    *,
    policy: SessionPolicy | None = None,
    session_id: str | None = None,
) -> PlanSession:
    """A session to make plan tools for; the ledger and the policy are the user's own."""
    from signoff.usecases.open_session import open_session  # noqa: PLC0415 - judging loads slowly

    folder = Path(workspace).resolve()
    harness = open_harness(dict(os.environ), Path.cwd(), folder)
    return open_session(
        harness, folder, author="signoff.start_session", session_id=session_id, policy=policy
    )


class PlanHolder:
    """Holds the plan that an agent writes; its session begins when it is first needed."""

    def __init__(
        self,
        workspace: str | Path = ".",
        policy: SessionPolicy | None = None,
        session_id: str | None = None,
    ):
        self.workspace, self.policy, self.session_id = workspace, policy, session_id
        self._session: PlanSession | None = None
        self._view: PlanView | None = None

    @property
    def session(self) -> PlanSession:
        """The session in which the plan is written and proved."""
        if self._session is None:
            self._session = start_session(
                self.workspace, policy=self.policy, session_id=self.session_id
            )
        return self._session

    @property
    def plan(self) -> PlanView | None:
        """The plan as it stands now; None before there is one."""
        if self._session is None:
            return None
        if self._view is None:
            from signoff.agents.plantools import PlanView  # noqa: PLC0415 - only libraries ask

            # Read by itself: an agent that is awaited works on its session in another thread.
            agents = self._session
            own = start_session(agents.workspace, policy=agents.policy, session_id=agents.id)
            self._view = PlanView(own)
        return self._view if self._view.session.has_plan else None

    def require(self) -> PlanView:
        """The plan; UsageError before there is one."""
        plan = self.plan
        if plan is None:
            raise UsageError("there is no plan yet", "have the agent call plan_create first")
        return plan


def run_agent(
    task: str,
    *,
    model: Model | str,
    tools: Sequence[Tool] | None = None,
    session: PlanSession | None = None,
    plan_holder: PlanHolder | None = None,
    plan: bool = True,
    delegate: bool = True,
    workspace: str | Path = ".",
    policy: SessionPolicy | None = None,
    limits: LoopLimits | None = None,
    system: str | None = None,
    base_url: str | None = None,
    resume: str | None = None,
    reporter: LoopReporter | None = None,
    ask: Callable[[str], str | None] | None = None,
    confirm: Confirm | None = None,
    restore: bool = False,
) -> AgentReport:
    """Have a model do a task under the gate; what it proved is signed when it is gone.

    `model` is `provider:name` or a pydantic-ai model. Without `tools` it gets the standard ones and
    those of its plan; with `tools` of your own, make the plan tools from a `PlanHolder` or a
    `session` and name it here. Whoever has plan tools may `delegate` a step. `plan=False` runs it
    without a plan: then nothing is proved. `confirm(tool, arguments)` is asked before every call
    that may change something. With `restore`, what an unfinished step changed is put back when the
    agent gives up. `await arun(...)` takes the same arguments; cancelling interrupts the agent.
    """
    from signoff.agents.loop.interrupting import outside_event_loop  # noqa: PLC0415 - as below
    from signoff.usecases.agent import AgentRequest, work  # noqa: PLC0415 - loads model libraries

    if plan_holder is not None and (session is not None or not plan):
        raise UsageError("`plan_holder` brings its own session", "leave out `session` and `plan`")
    session = plan_holder.session if plan_holder is not None else session
    folder = session.workspace if session is not None else Path(workspace).resolve()
    harness = open_harness(dict(os.environ), Path.cwd(), folder)
    rules = session.policy if session is not None else policy
    if rules is not None:
        harness = replace(harness, settings=replace(harness.settings, agent=rules))
    request = AgentRequest(
        task,
        model,
        folder,
        base_url,
        tools,
        session,
        delegates=delegate,
        planned=plan,
        system=system,
        resume=resume,
        ask=ask,
        confirm=confirm,
        restore=restore,
        engine=lambda: open_engine(harness),
    )
    request = replace(request, limits=limits) if limits is not None else request
    request = replace(request, reporter=reporter) if reporter is not None else request
    return outside_event_loop(partial(work, harness, request))


def _awaitable(call: Callable[_P, _T]) -> Callable[_P, Coroutine[Any, Any, _T]]:
    @wraps(call)
    async def awaited(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        from signoff.agents.loop.interrupting import in_thread  # noqa: PLC0415 - loads model libraries

        return await in_thread(partial(call, *args, **kwargs))

    return awaited


arun = _awaitable(run_agent)
