"""Find files whose time alone may decide a check: touched ones, and changed ones dated back."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from signoff.domain.globs import has_wildcard, matches_any
from signoff.domain.snapshot import Change, ChangeKind, Manifest
from signoff.verification.influences.changed import Approved, CheckFacts, Influence, find_influences
from signoff.workspace.opened import OpenedFiles
from signoff.workspace.times import ApprovedTimes, Times

_UNSEEN = OpenedFiles(why_not="a look at a time is not seen")


def find_retimed(
    seen: Mapping[str, Times],
    then: ApprovedTimes,
    now: Manifest,
    approved: Approved,
    facts: CheckFacts,
) -> dict[Influence, int]:
    """Influences by their time, each with the time that it has when it is judged once more.

    Work may be newer than approved: an agent could change it as well. Nothing may be older, or a
    tool takes what was made of it before for current. A file that changed has the time of the
    system's own record then, so that what is made of it is made again.
    """
    touched: dict[str, int] = {}
    older: dict[str, int] = {}
    for path, times in seen.items():
        if path in then.files and now.get(path) == approved.manifest.get(path):
            if times.modified_ns != then.files[path]:
                found = older if times.modified_ns < then.files[path] else touched
                found[path] = then.files[path]
        elif times.modified_ns < then.taken_ns <= times.changed_ns:
            older[path] = times.changed_ns
    exact = {path for path in facts.produces if not has_wildcard(path)}
    meant = (path for path in older if not (path in exact or matches_any(facts.allowed, path)))
    changes = (Change(path, ChangeKind.MODIFIED) for path in touched)
    # Neither words nor what the contract looks into say that a time may change.
    silent = replace(facts, task="", makes=True)
    decide = find_influences(changes, now, approved, silent, _UNSEEN)
    return {
        **{Influence(path, "dated before what was made of it"): older[path] for path in meant},
        **{Influence(i.path, f"touched and not changed, {i.why}"): touched[i.path] for i in decide},
    }
