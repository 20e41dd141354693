"""Only people decide: whether a person is at the keyboard, or an agent in an attempt or a client.

One answer for every verb that is a person's: approve, reject, answer, sign, bind, install, undo.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from pathlib import Path

from signoff.agents.assignment import ATTEMPT_VARIABLE
from signoff.errors import ApprovalRefused
from signoff.process.ancestry import ancestors, environment_has
from signoff.storage.locks import holders
from signoff.usecases.clients.seats import client_above, shells_above

# Clients set these for the commands that they run.
CLIENT_VARIABLES = (
    "CLAUDECODE",
    "CODEX_THREAD_ID",
    "CODEX_SANDBOX",
    "GEMINI_CLI",
    "QWEN_CODE",
)
ELSEWHERE = "open a terminal of your own, outside the client, and say it there"
_LOCKS = "locks"


def require_person(environ: Mapping[str, str], home: Path, hint: str = ELSEWHERE) -> str:
    """The name to record, or ApprovalRefused when an agent may be asking.

    What a client's shell runs is the agent's, and nobody can tell whether a person asked for it.
    """
    by = refuse_in_attempt(environ, home)
    inside = _client_variable(environ)
    if inside:
        raise ApprovalRefused(
            f"this comes from inside a client's session (`{inside}` is set)", hint
        )
    client = client_above(home)
    if client is not None:
        raise ApprovalRefused(f"process {client.pid} above this one is a client at work", hint)
    return by


def refuse_in_attempt(environ: Mapping[str, str], home: Path) -> str:
    """The name to record, or ApprovalRefused inside an attempt of a run.

    An agent can clear its own variables, not those its ancestors were started with; and one that
    detaches itself is adopted by the driver, which holds a lock.
    """
    if ATTEMPT_VARIABLE in environ:
        raise ApprovalRefused("this comes from inside an attempt")
    drivers = {(holder.host, holder.pid) for holder in holders(home / _LOCKS)}
    host = os.uname().nodename
    for ancestor in ancestors():
        if environment_has(ancestor.pid, ATTEMPT_VARIABLE):
            raise ApprovalRefused(f"process {ancestor.pid} above this one is part of an attempt")
        if (host, ancestor.pid) in drivers:
            raise ApprovalRefused(f"process {ancestor.pid} above this one is driving a run")
    return user_name()


def user_name() -> str:
    """Who is at the terminal, as the system knows them."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def _client_variable(environ: Mapping[str, str]) -> str:
    """Of ourselves, or of a shell that started us: `env -u` takes it from one process only."""
    for name in CLIENT_VARIABLES:
        if environ.get(name):
            return name
        if any(environment_has(shell.pid, name) for shell in shells_above()):
            return name
    return ""
