"""Evidence resolved: what a claim cites happened, here, late enough, and still stands."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from signoff.agents.sessions.files import CitedFiles
from signoff.agents.sessions.urls import Response
from signoff.domain.plan import POSTCONDITION_PREFIX
from signoff.domain.session import (
    SHORTEST_DIGEST,
    Basis,
    Reference,
    ReferenceKind,
    ToolCall,
    references_in,
    shown_list,
)
from signoff.domain.text import escape_line
from signoff.gate.record import Claim
from signoff.gate.state import State
from signoff.settings.agent import EvidenceRule

HOW = (
    "cite what the harness can check: `tool:<call-id>`, `file:<path>@<sha256>`, "
    "`contract:<step>`, `url:<url>` or `scratchpad:<key>`"
)
_HEX = re.compile(rf"[0-9a-f]{{{SHORTEST_DIGEST},64}}")


class Unresolved(ValueError):
    """A piece of evidence that does not hold; the message says why and what would."""


@dataclass(frozen=True)
class Sources:
    """Where evidence is looked up."""

    state: State
    files: CitedFiles
    content: Callable[[], str]
    holds: Callable[[str], bool]  # whether a subject's contract holds now; judges it if need be
    ask: Callable[[str], Response]


def resolve(evidence: str, claim: Claim, sources: Sources, rule: EvidenceRule) -> Basis:
    """What the evidence rests on; Unresolved when any reference in it does not hold."""
    if rule is EvidenceRule.PROSE:
        return Basis()
    cited = references_in(evidence)
    if not cited:
        raise Unresolved(f"this evidence is prose only; {HOW}")
    return _all(cited, claim, sources)


def _all(cited: tuple[Reference, ...], claim: Claim, sources: Sources) -> Basis:
    basis = Basis()
    for reference in cited:
        try:
            basis += _RESOLVERS[reference.kind](reference, claim, sources)
        except Unresolved as error:
            raise Unresolved(f"`{escape_line(str(reference))}`: {error}") from None
    return basis


def _tool(reference: Reference, claim: Claim, sources: Sources) -> Basis:
    found = sources.state.session.calls.get(reference.target)
    if found is None:
        raise Unresolved("no call with this id happened in this session")
    seq, call = found
    if not call.can_prove:
        raise Unresolved(
            f"a call of `{escape_line(call.name)}` proves nothing about the work: it read and"
            " changed no file and ran nothing; cite a call that did, such as `read`"
        )
    if not call.ok:
        raise Unresolved("that call failed; cite one that succeeded")
    if call.says_no:
        raise Unresolved(
            "that call answered no (`false`, or nothing found), which proves nothing: do what is"
            " missing, call it again and cite that"
        )
    if seq <= claim.counts_from:
        raise Unresolved("that call happened before this step began; call it again and cite that")
    if call.hands_on and not claim.children:
        raise Unresolved("nothing of this step was delegated")
    return _unchanged(call, sources)


def _unchanged(call: ToolCall, sources: Sources) -> Basis:
    changed = [p for p, digest in call.basis().items() if sources.files.digest(p) != digest]
    if changed:
        names = shown_list(escape_line(p) for p in changed)
        raise Unresolved(f"{names} changed since that call; call it again and cite that")
    if call.content and call.content != sources.content():
        raise Unresolved("files changed since that call; call it again and cite that")
    return Basis(call.basis(), call.content)


def _file(reference: Reference, claim: Claim, sources: Sources) -> Basis:
    """A file may have lain there all along: a call since the step began must have met it so."""
    name = sources.files.name(reference.target)
    now = sources.files.digest(name)
    if not now:
        raise Unresolved("no such file that may be cited")
    met = [
        seq
        for seq, c in sources.state.session.calls.values()
        if c.ok and not c.says_no and c.basis().get(name) == now
    ]
    known = max(met, default=-1) > claim.counts_from
    if not _HEX.fullmatch(reference.digest):
        cited = escape_line(str(Reference(ReferenceKind.FILE, name, now[:16] if known else "")))
        raise Unresolved(
            f"say which content: `{cited}`"
            if known
            else f"say which content: read the file, then cite `{cited}@<sha256>`"
        )
    if not now.startswith(reference.digest):
        raise Unresolved("the file's content is not that; read it again")
    if not known:
        raise Unresolved("no call since this step began read or wrote that content; read the file")
    return Basis({name: now})


def _contract(reference: Reference, claim: Claim, sources: Sources) -> Basis:
    del claim
    subject = _subject(reference.target, sources.state)
    if subject is None or sources.state.contract(subject) is None:
        raise Unresolved("there is no step or postcondition with a check by that number")
    if not sources.holds(subject):
        raise Unresolved("that check does not hold now; step_check shows why")
    return Basis(contracts=(subject,))


def _subject(target: str, state: State) -> str | None:
    """`3` is the third step, `postcondition:2` the second postcondition."""
    kind, _, number = target.rpartition(":")
    plan = state.plan
    if plan is None or not (number.isascii() and number.isdigit()) or len(number) > 6:
        return None
    of_posts = f"{kind}:" == POSTCONDITION_PREFIX
    subjects = plan.postconditions if of_posts else plan.steps
    inside = 1 <= int(number) <= len(subjects) and (of_posts or kind in ("", "step"))
    return subjects[int(number) - 1].id if inside else None


def _url(reference: Reference, claim: Claim, sources: Sources) -> Basis:
    del claim
    answer = sources.ask(reference.target)
    if not answer.ok:
        raise Unresolved(answer.said)
    return Basis(urls=(reference.target,))


def _scratchpad(reference: Reference, claim: Claim, sources: Sources) -> Basis:
    """A note is the agent's own prose, so what it cites must hold."""
    found = sources.state.session.notes.get(reference.target)
    if found is None:
        raise Unresolved("nothing was kept under this key in this session")
    seq, text = found
    if seq <= claim.counts_from:
        raise Unresolved("that note is older than this step; write it again")
    cited = tuple(r for r in references_in(text) if r.kind is not ReferenceKind.SCRATCHPAD)
    if not cited:
        raise Unresolved("that note is prose of your own; let it cite a tool call, file or check")
    return _all(cited, claim, sources)


_Resolver = Callable[[Reference, Claim, Sources], Basis]
_RESOLVERS: dict[ReferenceKind, _Resolver] = {
    ReferenceKind.TOOL: _tool,
    ReferenceKind.FILE: _file,
    ReferenceKind.CONTRACT: _contract,
    ReferenceKind.URL: _url,
    ReferenceKind.SCRATCHPAD: _scratchpad,
}
