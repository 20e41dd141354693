"""Only people decide: an approval or answer from inside an attempt is refused."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from pathlib import Path

from signoff.agents import ATTEMPT_VARIABLE
from signoff.errors import ApprovalRefused
from signoff.process import ancestors, environment_has
from signoff.storage import holders


def require_person(environ: Mapping[str, str], locks: Path) -> str:
    """The name to record, or ApprovalRefused when an agent is asking.

    An agent can clear its own variables, not those its ancestors were started with; and one that
    detaches itself is adopted by the driver, which holds a lock.
    """
    if ATTEMPT_VARIABLE in environ:
        raise ApprovalRefused("this comes from inside an attempt")
    drivers = {(holder.host, holder.pid) for holder in holders(locks)}
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
