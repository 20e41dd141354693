"""Evidence resolved: what a claim cites happened, here, late enough, and still stands.

And files that change although no step in progress declares them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from signoff.agents.sessions.chain import Refused, SessionChain
from signoff.domain.globs import matches_any
from signoff.domain.ledger import Draft, Kind
from signoff.domain.plan import POSTCONDITION_PREFIX, Author, Postcondition, Step
from signoff.domain.session import (
    SHORTEST_DIGEST,
    Basis,
    ClaimStatus,
    Reference,
    ReferenceKind,
    references_in,
)
from signoff.domain.text import escape_line, shown_list, storable_path
from signoff.gate.record import Claim
from signoff.settings.policy import EvidenceRule

HOW = (
    "cite what the harness can check: `tool:<call-id>`, `file:<path>@<sha256>`, "
    "`contract:<step>` or `scratchpad:<key>`"
)
# A word with a dot or slash inside, as people name files in prose and commands.
_NAMED = re.compile(r"[\w~-][\w.~+-]*(?:/[\w.~+-]+)+|[\w-][\w-]*\.[A-Za-z]\w{0,9}")
_HEX = re.compile(rf"[0-9a-f]{{{SHORTEST_DIGEST},64}}")


def resolve(evidence: str, claim: Claim, session: SessionChain) -> Basis:
    """Facts on which the evidence rests; Refused when any reference in it does not hold."""
    if session.policy.evidence is EvidenceRule.PROSE:
        return Basis()
    cited = references_in(evidence)
    if not cited:
        raise Refused(f"this evidence is prose only; {HOW}")
    return _all(cited, claim, session)


def _all(cited: tuple[Reference, ...], claim: Claim, session: SessionChain) -> Basis:
    basis = Basis()
    for reference in cited:
        try:
            basis += _RESOLVERS[reference.kind](reference, claim, session)
        except Refused as error:
            raise Refused(f"`{escape_line(str(reference))}`: {error}") from None
    return basis


def _tool(reference: Reference, claim: Claim, session: SessionChain) -> Basis:
    found = session.state.session.calls.get(reference.target)
    if found is None:
        raise Refused("no call with this id happened in this session")
    seq, call = found
    if not call.can_prove:
        raise Refused(
            f"a call of `{escape_line(call.name)}` proves nothing about the work: it read and"
            " changed no file and ran nothing; cite a call that did, such as `read`"
        )
    if not call.ok:
        raise Refused("that call failed; cite one that succeeded")
    if call.says_no:
        raise Refused(
            "that call answered no (`false`, or nothing found), which proves nothing: do what is"
            " missing, call it again and cite that"
        )
    if seq <= claim.counts_from:
        raise Refused("that call happened before this step began; call it again and cite that")
    if call.hands_on and not claim.children:
        raise Refused("nothing of this step was delegated")
    changed = [p for p, digest in call.basis().items() if session.files.digest(p) != digest]
    if changed:
        names = shown_list(escape_line(p) for p in changed)
        raise Refused(f"{names} changed since that call; call it again and cite that")
    if call.content and call.content != session.content():
        raise Refused("files changed since that call; call it again and cite that")
    return Basis(call.basis(), call.content)


def _file(reference: Reference, claim: Claim, session: SessionChain) -> Basis:
    """A file may have lain there all along: a call since the step began must have met it so."""
    name = session.files.name(reference.target)
    now = session.files.digest(name)
    if not now:
        raise Refused("no such file that may be cited")
    met = [
        seq
        for seq, c in session.state.session.calls.values()
        if c.ok and not c.says_no and c.basis().get(name) == now
    ]
    known = max(met, default=-1) > claim.counts_from
    if not _HEX.fullmatch(reference.digest):
        cited = escape_line(str(Reference(ReferenceKind.FILE, name, now[:16] if known else "")))
        raise Refused(
            f"say which content: `{cited}`"
            if known
            else f"say which content: read the file, then cite `{cited}@<sha256>`"
        )
    if not now.startswith(reference.digest):
        raise Refused("the file's content is not that; read it again")
    if not known:
        raise Refused("no call since this step began read or wrote that content; read the file")
    return Basis({name: now})


def _contract(reference: Reference, claim: Claim, session: SessionChain) -> Basis:
    """`3` is the third step, `postcondition:2` the second postcondition."""
    del claim
    kind, _, number = reference.target.rpartition(":")
    plan, of_posts = session.state.plan, f"{kind}:" == POSTCONDITION_PREFIX
    subjects: tuple[Step | Postcondition, ...] = ()
    if plan is not None:
        subjects = plan.postconditions if of_posts else plan.steps
    known = {str(n): subject for n, subject in enumerate(subjects, 1)}
    subject = known.get(number) if of_posts or kind in ("", "step") else None
    if subject is None or subject.contract is None:
        raise Refused("there is no step or postcondition with a check by that number")
    if not session.holds(subject.id):
        raise Refused("that check does not hold now; step_check shows why")
    return Basis(contracts=(subject.id,))


def _url(reference: Reference, claim: Claim, session: SessionChain) -> Basis:
    del reference, claim, session
    raise Refused("URLs are not fetched; give the step a contract that does it: curl -fsS URL")


def _scratchpad(reference: Reference, claim: Claim, session: SessionChain) -> Basis:
    """A note is the agent's own prose, so what it cites must hold."""
    found = session.state.session.notes.get(reference.target)
    if found is None:
        raise Refused("nothing was kept under this key in this session")
    seq, text = found
    if seq <= claim.counts_from:
        raise Refused("that note is older than this step; write it again")
    cited = tuple(r for r in references_in(text) if r.kind is not ReferenceKind.SCRATCHPAD)
    if not cited:
        raise Refused("that note is prose of your own; let it cite a tool call, file or check")
    return _all(cited, claim, session)


_Resolver = Callable[[Reference, Claim, SessionChain], Basis]
_RESOLVERS: dict[ReferenceKind, _Resolver] = {
    ReferenceKind.TOOL: _tool,
    ReferenceKind.FILE: _file,
    ReferenceKind.CONTRACT: _contract,
    ReferenceKind.URL: _url,
    ReferenceKind.SCRATCHPAD: _scratchpad,
}


def note_strays(session: SessionChain, paths: Iterable[str], call_id: str = "") -> str:
    """Note what changed although no step in progress declares it; text, or nothing to say."""
    state = session.look()
    changed = sorted({session.files.name(path) for path in paths})
    if state.plan is None or state.author is Author.DERIVED or not changed:
        return ""
    at_work = [
        s for s in state.plan.steps if state.record(s.id).claim.status is ClaimStatus.IN_PROGRESS
    ]
    declared: list[str] = []  # what they say they touch, and files that task and contract name
    for step in at_work:
        known = state.session.declared.get(step.id)
        text = f"{step.task}\n{step.contract.command if step.contract else ''}"
        declared += [*(known.touches if known else ()), *step.produces]
        declared += [found.removeprefix("./") for found in _NAMED.findall(text)]
    if not at_work:
        stray, why = changed, "no step is in progress"
    elif declared:
        stray = [p for p in changed if not _in(declared, p)]
        why = f"the step in progress ({', '.join(s.id for s in at_work)}) does not name them"
    else:
        touches = state.plan.touches
        stray = [p for p in changed if touches and not _in(touches, p)]
        why = "the plan does not touch them"
    if not stray:
        return ""
    names = [storable_path(p) for p in stray]
    data = {"paths": names, "call": call_id, "why": why}
    about = at_work[0].id if len(at_work) == 1 else None
    session.append(Draft(Kind.STEP_STRAYED, data, step=about))
    return (
        f"note: {shown_list(escape_line(n) for n in names)} changed, but {why}. If that is right,"
        " update the plan or the step's status; the report names it either way"
    )


def _in(globs: Iterable[str], path: str) -> bool:
    """Under a glob, the path itself, or in a folder that was named."""
    every = tuple(globs)
    return matches_any(every, path) or any(
        path == glob or path.startswith(f"{glob.rstrip('/')}/") for glob in every
    )
