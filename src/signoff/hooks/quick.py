"""Decide if a hook has anything to do at all: no plan, no binding, no session, no answer."""

from __future__ import annotations

import os

from signoff.domain.names import UNNAMED_PLAN
from signoff.places import any_clients
from signoff.storage.active import find_vault, read_binding


def nothing_here(data: bytes) -> bool:
    """True when there is nothing to do in the current folder; an error is something to do."""
    try:
        here = os.getcwd()
        if not _is_about(here, data):
            return False
        place = find_vault(here, os.environ)
        if os.path.isdir(place.at) or any_clients(os.environ):
            return False
        return read_binding(place, os.environ) is None
    except Exception:
        return False


def works_by_plan(cwd: str) -> bool:
    """True when some plan is at work here: bound, unnamed, or made in a client's session."""
    return any_clients(os.environ) or has_plan(cwd)


def has_plan(cwd: str) -> bool:
    """True when a person's plan is at work here: bound, or unnamed."""
    place = find_vault(cwd, os.environ)
    if os.path.exists(os.path.join(place.at, UNNAMED_PLAN)):
        return True
    return read_binding(place, os.environ) is not None


def checkout(cwd: str) -> str:
    """The top of the checkout around a folder."""
    return find_vault(cwd, os.environ).top


def _is_about(here: str, data: bytes) -> bool:
    """True when the client means the folder we are in; reading JSON for that takes too long."""
    if b'"cwd"' not in data:
        return True
    spelled = here.replace("\\", "\\\\").replace('"', '\\"').encode("utf-8", "surrogateescape")
    return any(start + spelled + b'"' in data for start in (b'"cwd":"', b'"cwd": "'))
