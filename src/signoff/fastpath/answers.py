"""`resolve-active-plan` and `list-plans`, and how failures are told, on plain text."""

from __future__ import annotations

import os
import sys
from collections import namedtuple

from signoff.domain.names import name_of_file, plan_file
from signoff.domain.text import escape_line
from signoff.errors import (
    ActivePlanError,
    Exit,
    NoVault,
    SignoffError,
    StorageFailed,
    UsageError,
    VaultClash,
)
from signoff.storage.active import (
    STAGED_FOLDER,
    VaultPlace,
    find_vault,
    read_binding,
    resolve_active_plan,
)
from signoff.storage.glance import open_glance

# Not `typing.TYPE_CHECKING`: loading `typing` and `pathlib` takes longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from signoff.storage.glance import NotedStanding

SCHEMA_VERSION = 1
LONGEST_WORD = 200
UNKNOWN_TO_THE_LEDGER = "draft"
CANNOT_TELL = "unknown"
_NEEDS_NO_QUOTES = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


def resolve(plan: str | None, as_json: bool = False) -> int:
    """`resolve-active-plan`: the pair of files, or an error; never silently another plan."""
    try:
        found = resolve_active_plan(plan)
        pair = (found.plan_at, found.progress_at)
        if not as_json and not all(path.isprintable() for path in pair):
            raise UsageError(
                f"the vault `{found.place.at}` has a name that does not fit on a line",
                "signoff resolve-active-plan --json",
            )
    except (SignoffError, OSError) as error:
        failure = as_our_own(error)
        return show_failure(failure, as_json, _code_of(failure))
    if as_json:
        body = {"plan": found.name, "plan_path": pair[0], "progress_path": pair[1]}
        put_json({**body, "source": found.source.value})
    else:
        # The very bytes of the paths, whatever the terminal's encoding: scripts open them.
        sys.stdout.buffer.write(os.fsencode(f"{pair[0]}\t{pair[1]}\n"))
    return Exit.YES


def _code_of(error: SignoffError) -> Exit:
    """Exit code of an error: no vault is a normal result; a ledger that cannot be read is not."""
    if isinstance(error, NoVault):
        return Exit.NOT_DONE
    return Exit.CANNOT_JUDGE if error.exit_code is Exit.CANNOT_JUDGE else Exit.USAGE


def list_plans(as_json: bool = False, staged: bool = False) -> int:
    """`list-plans`: every plan with its status, and which one this worktree is bound to."""
    try:
        place = find_vault(os.getcwd(), os.environ)
        folder = os.path.join(place.at, STAGED_FOLDER) if staged else place.at
        names = sorted(n for n in map(name_of_file, vault_files(folder)) if n is not None)
    except VaultClash as error:
        # None of the plans there is ours: an empty list is the true answer, and this is why.
        if as_json:
            put_json({"vault": error.facts["folder"], "plans": [], "active_binding": None})
        show_failure(error, as_json)
        return Exit.YES
    except (SignoffError, OSError) as error:
        return show_failure(as_our_own(error), as_json)
    if staged:
        return _list_staged(folder, names, as_json)
    standings, binding, _, troubles = read_ledger(place)
    if as_json:
        plans = [_plan_json(place, name, standings) for name in names]
        put_json({"vault": place.at, "plans": plans, "active_binding": binding})
    else:
        for name in names:
            sys.stdout.write(f"{plan_file(name)}\t{status_of(name, standings)}\n")
        if binding is not None:
            sys.stdout.write(f"active-binding={escape_line(binding)[:LONGEST_WORD]}\n")
    for trouble in troubles:
        show_failure(trouble, as_json)
    return Exit.YES


def list_names() -> int:
    """`list-plans --names`: for a shell that completes them, so none that it had to quote."""
    try:
        files = vault_files(find_vault(os.getcwd(), os.environ).at)
    except (SignoffError, OSError) as error:
        return show_failure(as_our_own(error), False)
    for name in sorted(filter(None, map(name_of_file, files))):
        if not set(name) - _NEEDS_NO_QUOTES:
            sys.stdout.write(f"{name}\n")
    return Exit.YES


def _list_staged(folder: str, names: list[str], as_json: bool) -> int:
    if as_json:
        plans = [{"name": n, "path": os.path.join(folder, plan_file(n))} for n in names]
        put_json({"staged": folder, "plans": plans})
    else:
        for name in names:
            sys.stdout.write(f"{plan_file(name)}\tstaged\n")
    return Exit.YES


def vault_files(folder: str) -> list[str]:
    """The names of everything in the vault; no vault, nothing."""
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []


class Recorded(namedtuple("Recorded", ("standings", "binding", "binding_known", "troubles"))):
    """Standings by name (None: cannot tell), the binding as it is shown, and what went wrong.

    Without a binding, `binding_known` tells "none" from "cannot tell".
    """

    __slots__ = ()
    standings: Mapping[str, NotedStanding] | None
    binding: str | None
    binding_known: bool
    troubles: list[SignoffError]


def read_ledger(place: VaultPlace) -> Recorded:
    """Read the record about the vault, as far as it can be read."""
    standings, binding, known, troubles = None, None, True, []
    try:
        with open_glance(os.environ) as ledger:
            standings = ledger.standings_of(place.main, place.at)
    except (SignoffError, OSError) as error:
        troubles.append(as_our_own(error))
    try:
        binding = read_binding(place, os.environ)
    except ActivePlanError as error:
        named = error.facts.get("dangling") or error.facts.get("recorded") or "?"
        binding = f"DANGLING:{named}"
        troubles.append(error)
    except (SignoffError, OSError) as error:
        known = False
        if not troubles:
            troubles.append(as_our_own(error))
    return Recorded(standings, binding, known, troubles)


def status_of(name: str, standings: Mapping[str, NotedStanding] | None) -> str:
    """One word for where a plan stood when the harness last wrote it down."""
    if standings is None:
        return CANNOT_TELL
    known = standings.get(name)
    return escape_line(known.status)[:LONGEST_WORD] if known else UNKNOWN_TO_THE_LEDGER


def _plan_json(
    place: VaultPlace, name: str, standings: Mapping[str, NotedStanding] | None
) -> dict[str, Any]:
    known = (standings or {}).get(name)
    return {
        "name": name,
        "path": os.path.join(place.at, plan_file(name)),
        "status": status_of(name, standings),
        "done": known.done if known else None,
        "total": known.total if known else None,
    }


def put_json(body: dict[str, Any]) -> None:
    """One JSON value on a line of its own; pure ASCII, so that no terminal obeys any of it."""
    import json  # noqa: PLC0415 - most callers read the plain lines, and start-up pays for it

    text = json.dumps({"schema_version": SCHEMA_VERSION, **body})
    sys.stdout.write(text.replace("\x7f", "\\u007f") + "\n")


def show_failure(error: SignoffError, as_json: bool, code: int | None = None) -> int:
    """Facts and the next step on stderr; returns the exit code."""
    shown = int(error.exit_code if code is None else code)
    try:  # noqa: SIM105 - `contextlib` would have to be loaded
        print(failure_text(error, as_json, shown), file=sys.stderr)
    except OSError:
        pass  # whoever read our errors may have left; the exit code still counts
    return shown


def failure_text(error: SignoffError, as_json: bool, code: int) -> str:
    """Facts first, then what to do; the same for machines."""
    if not as_json:
        first, *rest = error.message.split("\n")
        lines = [f"error: {escape_line(first)}", *map(escape_line, rest)]
        return "\n".join([*lines, f"next: {escape_line(error.hint)}"])
    import json  # noqa: PLC0415 - most callers read the plain lines, and start-up pays for it

    body = {
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "exit_code": code,
        "facts": error.facts,
    }
    return json.dumps({"schema_version": SCHEMA_VERSION, "error": body}, default=str)


def as_our_own(error: SignoffError | OSError) -> SignoffError:
    """Word a refusal of the operating system as our own error."""
    if isinstance(error, SignoffError):
        return error
    where = f" (`{error.filename}`)" if error.filename else ""
    return StorageFailed(f"{error.strerror or error}{where}")
