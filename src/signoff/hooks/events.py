"""The four events, each from what the client said to what it is answered."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from signoff.domain.clients import (
    Client,
    HookEvent,
    HookKind,
    add_context,
    block,
    deny_tool,
    read_event,
    tell_person,
)
from signoff.domain.text import escape_line
from signoff.errors import ActivePlanError
from signoff.hooks import tell
from signoff.hooks.quick import checkout, has_plan, works_by_plan
from signoff.places import any_clients, resolve_home

# Of the client's own limit: for judging, and for everything.
_JUDGING, _EVERYTHING = 0.8, 0.95
_Answer = dict[str, Any] | None
_MOST_DIGITS = 300
_TOO_DEEP = "(nested too deep)"  # no tool has a name like that


class TimeIsUp(BaseException):
    """The client would not wait any longer; not an Exception, so that nobody swallows it."""

    hint = "signoff sign, or signoff audit, judge without a limit"


def answer_event(client: Client, kind: HookKind, data: bytes, limit_s: float | None) -> _Answer:
    """The text to print for the client; None is a yes."""
    limit = limit_s if limit_s is not None else client.timeout_s(kind) * _EVERYTHING
    event = _read(client, kind, data)
    places = _places(event.cwd)
    if event.cwd and os.path.isdir(event.cwd):
        os.chdir(event.cwd)
    with _within(limit):
        return _EVENTS[kind](client, event, places, limit * _JUDGING / _EVERYTHING)


def _read(client: Client, kind: HookKind, data: bytes) -> HookEvent:
    """Read the client's event; where that makes no sense, the command line says what happened."""
    try:
        given = json.loads(data.decode("utf-8", "replace"), parse_int=_number)
        event = read_event(client, given, kind)
    except RecursionError:
        # An agent nests what it gives to a tool as it likes; what is hidden there counts as hidden.
        tell("the input is nested too deep to be read")
        event = HookEvent(kind=kind, tool=_TOO_DEEP)
    except ValueError as error:
        event = HookEvent(kind=kind, problem=f"the input is no JSON: {error}")
    if event.problem:
        tell(event.problem)
    return event._replace(kind=kind, cwd=event.cwd or os.getcwd())


def _number(digits: str) -> int:
    """Read a number, cut to a sane length: Python may refuse thousands of digits."""
    return int(digits[:_MOST_DIGITS])


def _places(cwd: str) -> tuple[str, ...]:
    """Folders with a plan at work, perhaps: the client's, the hook's, and that of its connection.
    An agent that makes a repository in the workspace goes into it in vain."""
    named = [cwd, os.getcwd()]
    if any_clients(os.environ):
        from signoff.storage.connected import own_workspaces  # noqa: PLC0415 - only with a client

        named += own_workspaces(resolve_home(os.environ))
    found: dict[str, str] = {}
    for place in named:
        if os.path.isdir(place):
            found.setdefault(checkout(place), place)
    return tuple(found.values()) or (cwd,)


def _session_start(
    client: Client, event: HookEvent, places: tuple[str, ...], limit_s: float
) -> _Answer:
    del places, limit_s
    # Only this event needs it, and every hook pays for what is loaded.
    from signoff.fastpath import session  # noqa: PLC0415

    if event.session and _person_has_plan(event.cwd):
        # From now on it is known which process the client is, wherever its agent goes.
        from signoff.usecases.hook import note_client  # noqa: PLC0415 - only for a plan

        note_client(_open_harness(event.cwd))
    return add_context(client, session.block(session.look_around()))


def _before_tool(
    client: Client, event: HookEvent, places: tuple[str, ...], limit_s: float
) -> _Answer:
    del limit_s
    from signoff.hooks.guarding import (  # noqa: PLC0415 - only this event needs it
        ADVICE,
        own_file_reason,
        written_paths,
    )

    paths = written_paths(event)
    reason = "what the tool is given is nested too deep to be read" * (event.tool == _TOO_DEEP)
    for place in places if paths else ():
        reason = reason or own_file_reason(paths, place, os.environ)
        if not reason and _plan_at_work(place):
            # Most tools only read.
            from signoff.usecases.hook import protected_by_plan  # noqa: PLC0415

            reason = protected_by_plan(_open_harness(place), paths)
    return deny_tool(client, f"signoff: {escape_line(reason)}. {ADVICE}.") if reason else None


def _stop(client: Client, event: HookEvent, places: tuple[str, ...], limit_s: float) -> _Answer:
    at_work = [] if event.problem else [place for place in places if _plan_at_work(place)]
    if not at_work:
        return None
    from signoff.usecases.hook import StopRequest, may_stop  # noqa: PLC0415 - only for a plan

    share_s = limit_s / len(at_work)
    request = StopRequest(client.name, event.session, event.last_message, share_s)
    notes = []
    for place in at_work:
        answer = may_stop(_open_harness(place), request)
        if answer.refused:
            return block(client, answer.text)
        if answer.text:
            tell(answer.text)
            notes.append(escape_line(f"signoff: {answer.text}"))
    return tell_person("\n".join(notes)) if notes else None


def _session_end(
    client: Client, event: HookEvent, places: tuple[str, ...], limit_s: float
) -> _Answer:
    del client, event, limit_s
    for place in places:
        if _plan_at_work(place):
            from signoff.usecases.hook import end_session  # noqa: PLC0415 - only for a plan

            answer = end_session(_open_harness(place))
            if answer.text:
                tell(answer.text)
    return None


def _person_has_plan(cwd: str) -> bool:
    try:
        return has_plan(cwd)
    except ActivePlanError:
        return False  # the session block says what is wrong


def _plan_at_work(cwd: str) -> bool:
    """A binding that cannot be trusted is at work too: it must be loud."""
    try:
        return works_by_plan(cwd)
    except ActivePlanError:
        return True


def _open_harness(cwd: str) -> Any:
    from signoff.wiring import open_harness  # noqa: PLC0415 - slow, and only for a plan

    return open_harness(dict(os.environ), Path(cwd), None)


@contextmanager
def _within(limit_s: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeIsUp(f"no answer within {limit_s:.0f} s")

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


_EVENTS: dict[HookKind, Callable[[Client, HookEvent, tuple[str, ...], float], _Answer]] = {
    HookKind.SESSION_START: _session_start,
    HookKind.BEFORE_TOOL: _before_tool,
    HookKind.STOP: _stop,
    HookKind.SESSION_END: _session_end,
}
