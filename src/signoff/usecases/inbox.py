"""`inbox` and `answer`: questions for people, and their decisions."""

from __future__ import annotations

import os
from collections.abc import Iterator

from msgspec import Struct

from signoff.domain.ledger import Choice, Draft, Entry, Kind, Outcome
from signoff.domain.session import SESSION_PREFIX
from signoff.errors import NothingToAnswer
from signoff.storage.ledger import Ledger
from signoff.usecases.harness import Harness, find_plan
from signoff.usecases.person import PageDecision, open_sockets, require_person, word_of
from signoff.usecases.questions import InboxItem, open_items

LOOP = "signoff agent"  # the author of sessions of the built-in loop


class AnswerReport(Struct, frozen=True):
    item: InboxItem
    choice: Choice
    note: str
    author: str = ""  # of the session that asked, if one did
    ended: Outcome | None = None  # how the answer ended the run, unless somebody drives it
    role_words: str = ""  # roles that only the command line named, to be typed again


def questions(harness: Harness, plan: str | None = None) -> tuple[InboxItem, ...]:
    """Questions for a person in every repository, or of one plan: a path, a name, a session's id.

    Open questions, oldest first, then the work that awaits sign-off.
    """
    items = (*open_items(harness.ledger), *_unsigned(harness))
    if plan is None:
        return items
    # By where it was first: nothing else finds a plan whose folder is gone.
    path = os.path.realpath(harness.cwd / plan)
    asked = tuple(item for item in items if path == item.path or plan in (item.plan_id, item.id))
    if asked or plan.startswith(SESSION_PREFIX):
        return asked
    found = find_plan(harness.cwd, plan, environ=harness.environ, even_gone=True, staged=True)

    known = found.record.id, str(found.path)
    return tuple(item for item in items if item.plan_id in known)


def _unsigned(harness: Harness) -> Iterator[InboxItem]:
    # Folding sessions loads more than a list of questions does.
    from signoff.usecases.sessions import waiting_sessions  # noqa: PLC0415

    for line in waiting_sessions(harness):
        plan = line.plan or line.id
        yield InboxItem(
            id=line.id,
            plan=plan,
            plan_id=line.path or line.id,
            path=line.path or str(line.workspace),
            step=None,
            question=f"the work of `{line.author}` on `{line.objective or plan}` awaits sign-off",
            context={},
            choices=(),
            at=line.newest_at,
            cause=None,
            workspace=str(line.workspace),
        )


def answer(
    harness: Harness,
    item_id: str,
    choice: Choice,
    note: str,
    *,
    interactive: bool,
    page: PageDecision | None = None,
) -> AnswerReport:
    """Record a person's decision; a waiver is its own entry, always shown."""
    by = require_person(harness.environ, harness.home.path)
    found = [e for e in harness.ledger.open_escalations() if e.data["id"] == item_id]
    if item_id.startswith(SESSION_PREFIX):
        raise NothingToAnswer(f"`{item_id}` is an agent's session", f"signoff sign {item_id}")
    items = {item.id: item for item in open_items(harness.ledger)}
    if not found or item_id not in items:
        raise NothingToAnswer(_why_not_open(harness.ledger, item_id))
    entry, item = found[0], items[item_id]
    if choice not in item.choices:
        offered = ", ".join(item.choices)
        raise NothingToAnswer(
            f"`{choice}` is not an answer to `{item_id}`", f"choose one of: {offered}"
        )
    if page is not None:
        by = page.by
        page.require_unmoved(harness.ledger.head(entry.plan)[1])  # before a plan file is amended
    said = word_of(by, open_sockets(harness.settings, harness.environ), page)
    data = {"id": item_id, "choice": choice, "note": note, **said, "interactive": interactive}
    drafts = [Draft(Kind.ESCALATION_ANSWERED, data, entry.run, entry.step)]
    if choice is Choice.WAIVE:
        waiver = {"escalation": item_id, **said, "note": note}
        drafts.append(Draft(Kind.STEP_WAIVED, waiver, entry.run, entry.step))
    if choice is Choice.ALLOW:
        # Pins and plans load slowly, and most answers need neither.
        from signoff.usecases.approve import amend_plan  # noqa: PLC0415

        drafts.append(amend_plan(harness, item, entry, by))
    if note:
        # For the same reason.
        from signoff.usecases.openwork import learn_secrets  # noqa: PLC0415

        learn_secrets(harness, entry.plan)
    harness.ledger.append(entry.plan, drafts, onto=page.onto if page is not None else None)
    ended = None
    # A question without a run is a session's, or about a merge: there is no run to end.
    if entry.run is not None and choice in (Choice.REVISE, Choice.ABORT):
        # What knows how runs end takes longer to load than a list of questions.
        from signoff.usecases.cancel import end_decided_run  # noqa: PLC0415

        ended = end_decided_run(harness, entry.plan)
    roles = _role_words(harness, entry) if choice is Choice.REVISE else ""
    return AnswerReport(item, choice, note, _author(harness.ledger, entry.plan), ended, roles)


def _why_not_open(ledger: Ledger, item_id: str) -> str:
    """Tell a question that was answered from one that nobody asked."""
    for record in ledger.plans():
        for entry in ledger.entries(record.id):
            if entry.kind is Kind.ESCALATION_ANSWERED and entry.data["id"] == item_id:
                data = entry.data
                said = "withdrawn" if data.get("withdrawn") else f"answered: {data['choice']}"
                return f"question `{item_id}` is {said}, by {data['by']} at {entry.at[:19]}"
    return f"no open question has the id `{item_id}`"


def _role_words(harness: Harness, entry: Entry) -> str:
    if entry.run is None:
        return ""
    # For the same reason as above.
    from signoff.usecases.history import (  # noqa: PLC0415 - as above
        read_history,
        role_words,
        roles_given,
    )

    return role_words(roles_given(harness, read_history(harness.ledger, entry.plan)))


def _author(ledger: Ledger, chain: str) -> str:
    if not chain.startswith(SESSION_PREFIX):
        return ""
    began = (e for e in ledger.entries(chain) if e.kind is Kind.SESSION_STARTED)
    return str(next((e.data.get("author", "") for e in began), ""))
