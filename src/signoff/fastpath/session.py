"""The text block a session begins with: which plan is bound here, and what else to know.

Never fatal: whatever goes wrong becomes a line of the block. Light, like all fast paths.
"""

from __future__ import annotations

import os
import sys
from stat import S_ISREG

from signoff.domain.names import copied_from, name_of_file, plan_file, shown_name
from signoff.domain.text import escape_line, shortened
from signoff.errors import ActivePlanError, Exit, SignoffError
from signoff.fastpath.answers import put_json, read_ledger, status_of, vault_files
from signoff.storage.active import find_vault
from signoff.storage.glance import open_glance

# Not `typing.TYPE_CHECKING`: loading `typing` and `pathlib` takes longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from signoff.storage.active import VaultPlace
    from signoff.storage.glance import NotedStanding, Question

# For a project with the unnamed plan only; a hook may compare it byte by byte.
SOLO = (
    "signoff: this project works by a plan.\n"
    "read it: signoff show; where it stands: signoff status\n"
    "only signoff decides what is done, by running each step's contract itself\n"
)
LONGEST_TEXT = 300
MOST_LISTED = 20
_SCANNED_BYTES = 256 * 1024
_MARKS = "✅❌⏳⛔"


class Session:
    """Everything the block is made of; `troubles` are whole lines."""

    def __init__(self) -> None:
        self.vault = True
        self.names: list[str] = []
        self.copies: list[str] = []
        self.standings: Mapping[str, NotedStanding] | None = None
        self.bound: str | None = None
        self.dangling = False
        self.binding_known = True
        self.next_step = ""
        self.questions: tuple[Question, ...] = ()
        self.troubles: list[str] = []

    @property
    def works_on(self) -> str | None:
        """The plan that a command without a name is about; None: none, or nobody can tell."""
        if self.dangling or not self.binding_known:
            return None
        return "" if self.bound is None and "" in self.names else self.bound

    @property
    def solo(self) -> bool:
        """True when there is nothing to tell but that there is a plan."""
        told = self.names not in ([], [""]) or self.copies or self.questions or self.troubles
        return not told and self.bound is None


def session_start(as_json: bool = False) -> int:
    """`session-start`: the block on stdout, always with exit code 0."""
    session = look_around()
    text = block(session)
    if as_json:
        put_json(
            {
                "text": text,
                "bound": None if session.dangling else session.bound,
                "dangling": session.dangling,
                "binding_known": session.binding_known,
                "next_step": session.next_step or None,
                "plans": [shown_name(name) for name in session.names],
                "conflicts": session.copies,
                "questions": [question.id for question in session.questions],
                "troubles": session.troubles,
            }
        )
        return Exit.YES
    try:
        sys.stdout.write(text)
    except UnicodeEncodeError:
        sys.stdout.write(text.encode("ascii", "backslashreplace").decode("ascii"))
    return Exit.YES


def look_around() -> Session:
    """Gather what there is; one thing that is broken hides no other."""
    session = Session()
    try:
        place = find_vault(os.getcwd(), os.environ)
        session.vault = os.path.isdir(place.at)
        files = vault_files(place.at)
        session.names = sorted(n for n in map(name_of_file, files) if n is not None)
        session.copies = sorted(n for n in files if copied_from(n) is not None)
        recorded = read_ledger(place)
        session.standings, session.bound, session.binding_known, troubles = recorded
        session.dangling = any(isinstance(error, ActivePlanError) for error in troubles)
        session.troubles += map(_trouble, troubles)
        if session.standings is not None:
            with open_glance(os.environ) as ledger:
                session.questions = ledger.questions_of(place.main, place.at)
        session.next_step = _next_step(session, place)
    except Exception as error:
        # A session must begin, whatever is broken here; the line says what is.
        session.troubles.append(_trouble(error))
    return session


def block(session: Session) -> str:
    """The text; empty where there are no plans at all."""
    if not session.vault and session.bound is None and not session.troubles:
        return ""
    if session.solo:
        return SOLO
    return "".join(f"{line}\n" for line in _lines(session))


def _lines(session: Session) -> Iterator[str]:
    yield "signoff: this project works by plans; only signoff decides what is done."
    yield from session.troubles
    mine = session.works_on
    if mine is not None:
        yield from _mine(session, mine)
    elif not session.binding_known:
        yield "cannot tell which plan this worktree is bound to: name one in each command"
    elif session.names and not session.dangling:
        yield "this worktree is bound to no plan: name one in each command, or signoff bind NAME"
    others = [name for name in session.names if name != mine]
    if others:
        words = [f"{shown_name(n)} ({status_of(n, session.standings)})" for n in others]
        yield f"other plans: {_listed(words, 'signoff list-plans')}"
    if session.copies:
        shown = [f"`{_short(name)}`" for name in session.copies]
        yield f"conflict copies: {_listed(shown, 'signoff conflicts')}; next: signoff conflicts"
    if session.questions:
        asked = [
            f"{_short(q.id)} ({_short(shown_name(q.name))}"
            f"{f', step {_short(q.step)}' if q.step else ''})"
            for q in session.questions
        ]
        yield f"waiting for a person: {_listed(asked, 'signoff inbox')}; next: signoff inbox"


def _mine(session: Session, name: str) -> Iterator[str]:
    known = (session.standings or {}).get(name)
    steps = f", {known.done} of {known.total} steps done" if known else ""
    status = status_of(name, session.standings)
    yield f"this worktree works on plan {shown_name(name)} ({status}{steps})"
    if session.next_step:
        yield f"next step, as its plan words it: {session.next_step}"


def _next_step(session: Session, place: VaultPlace) -> str:
    name = session.works_on
    if name is None:
        return ""
    known = (session.standings or {}).get(name)
    if known is not None:
        return _short(f"{known.step}. {known.title}") if known.step else ""
    return _short(first_step(os.path.join(place.at, plan_file(name))))


def first_step(path: str) -> str:
    """The first step's heading by a scan of the beginning of the file; empty if there is none."""
    fence = ""
    for line in _beginning(path).split("\n"):
        text = line.strip()
        if fence:
            if text.startswith(fence) and not text.strip(fence[0]):
                fence = ""
        elif text.startswith(("```", "~~~")):
            fence = text[: len(text) - len(text.lstrip(text[0]))]
        elif line.startswith("### "):
            number, dot, title = text[4:].strip().partition(". ")
            if dot and number and " " not in number:
                return f"{number}. {title.strip().lstrip(_MARKS).strip()}"
    return ""


def _beginning(path: str) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return os.read(descriptor, _SCANNED_BYTES).decode("utf-8", "replace")
    finally:
        os.close(descriptor)


def _trouble(error: Exception) -> str:
    if not isinstance(error, SignoffError):
        return f"trouble: {_short(f'{type(error).__name__}: {error}')}; next: signoff doctor"
    start = "DANGLING binding" if isinstance(error, ActivePlanError) else "trouble"
    return f"{start}: {_short(error.message)}; next: {_short(error.hint)}"


def _listed(words: list[str], everything: str) -> str:
    more = len(words) - MOST_LISTED
    end = f" and {more} more ({everything})" if more > 0 else ""
    return ", ".join(words[:MOST_LISTED]) + end


def _short(text: str) -> str:
    """Text from files and ledger: one line, no characters that a terminal or a reader obeys."""
    return shortened(escape_line(text), LONGEST_TEXT)
