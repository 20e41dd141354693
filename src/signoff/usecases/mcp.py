"""`mcp`: what agents reach: the session they work in, the plans around it, evidence, the record.

Nothing here approves, answers, waives or edits a plan that a person wrote.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from signoff.agents.plantools import PLAN_TOOLS, call_plan_tool
from signoff.agents.session import PlanSession
from signoff.domain.names import shown_name
from signoff.domain.session import Reference, ReferenceKind, ToolCall
from signoff.domain.text import escape, escape_line, shortened
from signoff.errors import NotApproved, NoVault, SignoffError
from signoff.gate.ready import PlanState
from signoff.process.proctable import identify
from signoff.storage.active import find_vault
from signoff.storage.connected import ConnectedClient, connect_client
from signoff.usecases.harness import Harness, PlanLocation, find_plan
from signoff.usecases.history import approved_by, read_history
from signoff.usecases.hook import bound_plan, bound_session, open_for_client, own_session
from signoff.usecases.ready import find_ready
from signoff.workspace.folders import open_regular

MOST_PLANS = 50
MOST_ENTRIES = 200
LONGEST_ANSWER = 20_000
LONGEST_LINE = 300
LONGEST_ENTRY = 2_000
LARGEST_EVIDENCE = 64_000_000
EVIDENCE_TOOL = "evidence_add"


class McpTools:
    """Plan tools of one agent.

    Which session that is, is looked up at every call: a person may bind another plan meanwhile,
    and the client may begin another conversation.
    """

    def __init__(
        self,
        open_harness: Callable[[], Harness],
        *,
        plan: str | None = None,
        session: str | None = None,
        below_client: bool = True,
    ):
        self._open_harness = open_harness
        self._plan = plan
        self._session = session
        self._below_client = below_client  # whether the client is above us, where hooks find it too
        self._conversation = secrets.token_hex(16)
        self._harness: Harness | None = None

    def call(self, name: str, arguments: Any) -> tuple[str, bool]:
        """The answer of a tool, and whether it went wrong; never raises for what was sent."""
        given = arguments if isinstance(arguments, Mapping) else {}
        try:
            if name == "plan_list":
                said = self._list()
            elif name == "plan_next":
                said = self._next()
            elif name == EVIDENCE_TOOL:
                said = self._add_evidence(given.get("path"), given.get("note") or "")
            elif name in {tool.name for tool in PLAN_TOOLS}:
                said = call_plan_tool(self.session(), name, arguments)
            else:
                said = f"error: there is no tool `{escape_line(name)[:LONGEST_LINE]}`"
            return said[:LONGEST_ANSWER], False
        except SignoffError as error:
            return f"error: {escape(error.message)}\nnext: {escape(error.hint)}", True
        except OSError as error:
            return f"error: {escape_line(str(error))}\nnext: signoff doctor", True

    @property
    def harness(self) -> Harness:
        """The harness, opened when first needed: a client starts servers that nobody calls."""
        if self._harness is None:
            self._harness = self._open_harness()
        return self._harness

    def session(self) -> PlanSession:
        harness, author = self.harness, "mcp"
        if self._session is not None:
            workspace = self._workspace()
            note = self._note(workspace)
            return open_for_client(harness, workspace, note, self._session, author)
        bound = self._bound()
        if bound is None:
            workspace = self._workspace()
            note = self._note(workspace)
            return own_session(harness, workspace, note, self._conversation, author)
        history = read_history(harness.ledger, bound.id)
        if history.approval is None or not history.approves(bound.digest()):
            raise NotApproved(
                f"plan `{bound.name}` is not approved as it is now, so nobody works on it",
                f"a person runs: signoff approve {shlex.quote(bound.name)}",
            )
        approved = approved_by(harness.ledger, bound, history, history.approval)
        note = self._note(bound.workspace)
        return bound_session(harness, approved, note, self._conversation, author)

    def plan_text(self) -> str:
        bound = self._bound() if self._session is None else None
        if bound is None:
            return self.session().plan_show()[:LONGEST_ANSWER]
        return escape(bound.read())[:LONGEST_ANSWER]

    def ledger_text(self) -> str:
        """The newest entries of the chain in question, one JSON object a line."""
        bound = self._bound() if self._session is None else None
        chain = bound.id if bound is not None else self.session().id
        entries = list(self.harness.ledger.entries(chain))[-MOST_ENTRIES:]
        lines = []
        for entry in entries:
            shown = shortened(json.dumps(entry.data, default=str), LONGEST_ENTRY)
            head = {"seq": entry.seq, "at": entry.at, "kind": entry.kind, "step": entry.step}
            lines.append(json.dumps({**head, "data": shown}))
        return "\n".join(lines)

    def _bound(self) -> PlanLocation | None:
        if self._plan is not None:
            return find_plan(self.harness.cwd, self._plan, environ=self.harness.environ)
        return bound_plan(self.harness)

    def _note(self, workspace: Path) -> ConnectedClient | None:
        """Note the client: while it is connected, nothing of its sessions is signed."""
        # Nobody knows where the client of a web server runs; the server itself can be seen.
        client = None if self._below_client else identify(os.getpid())
        return connect_client(self.harness.home.path, workspace, client)

    def _workspace(self) -> Path:
        return find_vault(self.harness.cwd, self.harness.environ).worktree

    def _list(self) -> str:
        try:
            plans = find_ready(self.harness).plans
        except NoVault:
            plans = ()
        lines = [
            f"{shown_name(plan.name)}: {plan.standing.value}, {answer.state.value}"
            for plan, answer in plans
        ]
        more = len(lines) - MOST_PLANS
        if more > 0:
            lines[MOST_PLANS:] = [f"and {more} more"]
        mine = self._bound()
        lines.append(
            f"this workspace works on: {mine.name}" if mine is not None else "no plan is bound here"
        )
        return "\n".join(escape_line(line)[:LONGEST_LINE] for line in lines)

    def _next(self) -> str:
        """The first plan that may be started; handing it out is a worker's business."""
        for plan, answer in find_ready(self.harness).plans:
            if answer.state is PlanState.READY:
                waits = "" if answer.approved else "; a person has to approve it first"
                title = plan.plan.title if plan.plan is not None else ""
                shown = f"{shown_name(plan.name)}: {title}{waits}"
                return escape_line(shown)[:LONGEST_LINE]
        return "no plan can be started now; plan_list shows how all stand"

    def _add_evidence(self, path: Any, note: Any) -> str:
        if not isinstance(path, str) or not isinstance(note, str) or not path.strip():
            return "error: evidence_add needs `path`, the file that shows it, as text"
        session = self.session()
        name, digest, why = _read_evidence(session, path)
        if why:
            return f"error: `{escape_line(path)[:LONGEST_LINE]}` {why}"
        call = ToolCall("evidence", EVIDENCE_TOOL, ok=True, reads={name: digest})
        cited = session.record_call(call)
        reference = str(Reference(ReferenceKind.FILE, name, digest[:16]))
        if note.strip():
            session.note_scratchpad(cited, f"{note.strip()} {reference}")
        return f"recorded; cite it as `{escape_line(reference)}` or `tool:{cited}`"


def _read_evidence(session: PlanSession, path: str) -> tuple[str, str, str]:
    """The file's name in the workspace and its digest, or why it cannot be cited."""
    root = os.path.realpath(session.workspace)
    real = os.path.realpath(os.path.join(root, path))  # noqa: PTH118 - may hold anything
    if "\0" in path or not real.startswith(f"{root}/"):
        return "", "", "is not a file in the workspace"
    try:
        with open_regular(real) as file:
            if os.fstat(file.fileno()).st_size > LARGEST_EVIDENCE:
                return "", "", "is too large to be cited"
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return "", "", f"cannot be read: {error.strerror}"
    return os.path.relpath(real, root), digest, ""
