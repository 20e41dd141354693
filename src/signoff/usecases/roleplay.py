"""`agent --role-prompt`: the built-in loop as a role of a plan, in an attempt, without a home.

No session and no gate here: the step's contract decides when the attempt is over, and the sandbox
hides the ledger. What the loop leaves is what any agent may leave: usage and an honest answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from signoff.agents.assignment import ANSWER_VARIABLE, USAGE_VARIABLE, write_report
from signoff.agents.loop.acting import LoopReporter, LoopSetup
from signoff.agents.loop.asking import open_model
from signoff.agents.loop.drive import AgentLoop
from signoff.agents.loop.limits import Ended, LoopLimits, LoopReport, Used
from signoff.agents.loop.transcript import Transcript
from signoff.agents.tools.context import Files, Shell, ToolContext, ToolError
from signoff.agents.tools.definition import Tool, tool
from signoff.agents.tools.standard import STANDARD_TOOLS
from signoff.errors import UsageError
from signoff.process.environment import safe_search_path
from signoff.settings.loading import REPOSITORY_FILE
from signoff.settings.roles import Role
from signoff.storage.active import VAULT_FOLDER

_NOT_SERVED = (Ended.MODEL_FAILED,)
_PLAN_VARIABLE = "SIGNOFF_PLAN"


class RoleRequest(Struct, frozen=True):
    prompt: str
    model: str
    base_url: str | None
    workspace: Path
    environ: Mapping[str, str]
    limits: LoopLimits
    reporter: LoopReporter


def play_role(request: RoleRequest) -> LoopReport:
    """Work on the prompt until the model answers; report what was used, however it ends."""
    if not request.prompt.strip():
        raise UsageError("the prompt on standard input is empty", "signoff run PLAN gives it one")
    usage_file = _place(request.environ, USAGE_VARIABLE)
    # Nobody is there to ask; who cannot finish says so instead.
    tools = [t for t in STANDARD_TOOLS if t.name != "ask_user"]
    if answer_file := _place(request.environ, ANSWER_VARIABLE):
        tools.append(_give_up(answer_file))
    workspace, plan = request.workspace, _place(request.environ, _PLAN_VARIABLE)
    untouchable = [workspace / name for name in (".git", REPOSITORY_FILE, VAULT_FOLDER)]
    untouchable += [plan] if plan is not None else []
    search_path = safe_search_path(request.environ.get("PATH", ""), workspace)
    # The attempt as a whole is confined already; what the model runs is inside it.
    shell = Shell(role=Role("agent", ""), environ=request.environ, search_path=search_path)
    context = ToolContext(Files(workspace, untouchable=tuple(untouchable)), shell)
    loop = AgentLoop(
        LoopSetup(
            task=request.prompt,
            model=open_model(request.model, request.base_url, request.environ),
            tools=tools,
            context=context,
            name="attempt",
            limits=request.limits,
            transcript=Transcript(usage_file and usage_file.with_suffix(".transcript.jsonl")),
            reporter=request.reporter,
            on_used=lambda used: _tell(usage_file, request.model, used),
        )
    )
    report = loop.run()
    _tell(usage_file, request.model, report, report.reason if report.ended in _NOT_SERVED else "")
    return report


def _tell(file: Path | None, model: str, used: Used, failed: str = "") -> None:
    """Report what was used so far, while the budget can still end the attempt."""
    if file is not None:
        told = {"tokens": used.tokens, "usd": used.usd, "model": model, "failed": failed}
        write_report(file, told)


def _place(environ: Mapping[str, str], variable: str) -> Path | None:
    named = environ.get(variable)
    return Path(named) if named else None


def _give_up(answer_file: Path) -> Tool:
    @tool(effects={"write"})
    def give_up(kind: Literal["blocked", "impossible", "needs input"], reason: str) -> str:
        """Say honestly that this task cannot be finished; a person reads it. Then answer.

        reason: what is in the way, and what you would need.
        """
        if not reason.strip():
            raise ToolError("say why in `reason`")
        answer_file.write_text(json.dumps({"answer": kind, "reason": reason}))
        return "noted for the person; end with a short answer now"

    return give_up
