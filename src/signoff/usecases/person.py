"""Tell who asks: a person, or an agent in an attempt or a client; and which worker.

One answer for every verb that is a person's: approve, reject, answer, sign, bind, install, undo.
Where an agent could type a person's word, because Landlock leaves sockets open, that is recorded.
"""

from __future__ import annotations

import getpass
import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.digests import digest_bytes
from signoff.domain.text import shown_list, storable_path
from signoff.domain.verdict import Isolation
from signoff.errors import ApprovalRefused, NoSuchRun, PlanConflict, UsageError
from signoff.places import ATTEMPT_VARIABLE
from signoff.process.proctable import ProcessIdentity, ancestors, environment_has, identify
from signoff.process.sandboxes import best_isolation, own_view_advice, reachable_sockets
from signoff.settings.loading import SandboxChoice, Settings
from signoff.storage.active import find_vault
from signoff.storage.connected import ConnectedClient, client_above, end_notes, shells_above
from signoff.storage.home import holders
from signoff.storage.leases import home_identity
from signoff.storage.records import Holder
from signoff.usecases.harness import Harness

# Clients set these for the commands that they run.
CLIENT_VARIABLES = ("CLAUDECODE", "CODEX_THREAD_ID", "CODEX_SANDBOX", "GEMINI_CLI", "QWEN_CODE")
ELSEWHERE = "run the same command in a terminal of your own, outside the client"
_LOCKS = "locks"


def require_person(environ: Mapping[str, str], home: Path, hint: str = ELSEWHERE) -> str:
    """The name to record, or ApprovalRefused when an agent may be asking.

    What a client's shell runs is the agent's, and nobody can tell whether a person asked for it.
    """
    by = refuse_in_attempt(environ, home)
    for name in CLIENT_VARIABLES:
        # Of ourselves, or of a shell that started us: `env -u` takes it from one process only.
        if environ.get(name) or any(environment_has(shell.pid, name) for shell in shells_above()):
            said = f"this command runs inside a client's session (`{name}` is set)"
            raise ApprovalRefused(said, hint)
    client = client_above(home)
    if client is not None:
        raise ApprovalRefused(
            f"process {client.pid}, which started this command, is a client at work: its agent may"
            " be asking, and only people decide",
            hint,
        )
    return by


def end_client(harness: Harness, session: str | None) -> tuple[ConnectedClient, ...]:
    """Forget the clients that hold a session, or this workspace; none of them may ask for it."""
    home = harness.home.path
    require_person(harness.environ, home)
    workspace = find_vault(harness.cwd, harness.environ).worktree
    ended = end_notes(home, workspace, session)
    if not ended:
        where = f"on `{session}`" if session else "here"
        raise NoSuchRun(f"no client is at work {where}", "signoff sessions")
    return ended


def refuse_in_attempt(environ: Mapping[str, str], home: Path) -> str:
    """The name to record, or ApprovalRefused inside an attempt of a run.

    An agent can clear its own variables, not those its ancestors were started with; and one that
    detaches itself is adopted by the driver, which holds a lock.
    """
    if ATTEMPT_VARIABLE in environ:
        raise ApprovalRefused("this command runs inside an attempt")
    drivers = {(holder.host, holder.pid) for holder in holders(home / _LOCKS)}
    host = os.uname().nodename
    for ancestor in ancestors():
        if environment_has(ancestor.pid, ATTEMPT_VARIABLE):
            raise ApprovalRefused(
                f"process {ancestor.pid}, which started this command, is part of an attempt"
            )
        if (host, ancestor.pid) in drivers:
            raise ApprovalRefused(
                f"process {ancestor.pid}, which started this command, is driving a run"
            )
    return user_name()


def user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


UNPROVEN = "person not proven"
_NAMED = 5


def open_sockets(settings: Settings, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Sockets that an agent of this machine could use from inside its sandbox."""
    chosen = settings.sandbox.isolation
    if chosen not in (SandboxChoice.AUTO, SandboxChoice.LANDLOCK):
        return ()
    found = reachable_sockets(environ)
    if not found:
        return ()
    boxed = best_isolation(Isolation.LANDLOCK if chosen is SandboxChoice.LANDLOCK else None)
    return tuple(map(storable_path, found)) if boxed is Isolation.LANDLOCK else ()


def advice() -> str:
    """Say how such a socket is hidden, or not there."""
    return (
        f"{own_view_advice()}, which hides them; or end the programs that listen there, and work"
        " where they do not run"
    )


def in_words(sockets: tuple[str, ...]) -> str:
    named = shown_list(sockets, _NAMED)
    return f"Landlock does not keep agents from programs that listen on {named}"


def word_of(
    by: str, sockets: tuple[str, ...], page: PageDecision | None = None
) -> dict[str, object]:
    """The decider's name, as recorded and shown; with the sockets that others could have used."""
    door: dict[str, object] = {} if page is None else {"door": page.door}
    by = by if page is None else page.by
    if not sockets:
        return {"by": by, **door}
    return {"by": f"{by} ({UNPROVEN})", "open_sockets": list(sockets), **door}


class PageDecision(Struct, frozen=True):
    """A decision made on a page: whose, and the last entry of the plan that the page showed."""

    by: str
    onto: str
    door: str = "board"

    def require_unmoved(self, head: str) -> None:
        """PlanConflict when the chain ends with another entry by now."""
        if head != self.onto:
            raise PlanConflict("something happened since this was shown", "look at it again")


WORKER_VARIABLE = "SIGNOFF_WORKER"
LONGEST_NAME = 100
_NAME = re.compile(r"[^\s\x00-\x1f\x7f]+")


class Worker(Struct, frozen=True):
    """`named` ones are the same wherever they ask from; others are as long as their process."""

    name: str
    pid: int
    named: bool

    def owns(self, holder: Holder) -> bool:
        """True when a claim is this worker's own.

        A script that asks in a shell of its own and runs in another is one worker all the same:
        what a process took that is no more may be used by anybody on its machine without a name.
        """
        if holder.worker == self.name:
            return True
        there = f"{re.escape(holder.host)}:{holder.pid}:[0-9a-f]{{8}}"
        unnamed = holder.host == socket.gethostname() and re.fullmatch(there, holder.worker)
        if self.named or not unnamed:
            return False
        process = identify(holder.pid)
        return process is None or _unnamed(process) != holder.worker

    def claimant(self, harness: Harness, plan: str) -> Holder:
        """Holder of a claim: not this short command, but the process that gave it."""
        here = self.driver(harness, plan)
        return replace(here, pid=self.pid)

    def driver(self, harness: Harness, plan: str) -> Holder:
        """Holder of a run: this process, its driver."""
        return Holder.current(plan, self.name, home_identity(harness.home.path))


def find_worker(environ: Mapping[str, str], chosen: str | None = None) -> Worker:
    """The name that was given, else the variable's, else the process that started us."""
    name = chosen if chosen is not None else environ.get(WORKER_VARIABLE) or None
    above = ancestors()
    parent = above[0] if above else ProcessIdentity(os.getppid(), "")
    if name is None:
        return Worker(_unnamed(parent), parent.pid, named=False)
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        raise UsageError(
            f"`{name[:LONGEST_NAME]}` cannot be the name of a worker",
            f"choose up to {LONGEST_NAME} characters without spaces",
        )
    return Worker(name, parent.pid, named=True)


def _unnamed(process: ProcessIdentity) -> str:
    born = digest_bytes(process.started.encode())[:8]
    return f"{socket.gethostname()}:{process.pid}:{born}"
