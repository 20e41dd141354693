"""What one outcome means for the definition of done, as facts to record."""

from __future__ import annotations

from collections.abc import Callable

from signoff.domain.definition import Definition
from signoff.gate.definition import ArtifactsSeen, Fact, Touched, apply_all
from signoff.toolbatch import todo
from signoff.toolbatch.calls import Nature, Outcome, OutcomeKind
from signoff.toolbatch.shellwork import command_of, only_looks

Existing = Callable[[], tuple[str, ...]]


def facts_of(
    definition: Definition, outcome: Outcome, existing: Existing, *, repairing: bool
) -> tuple[Fact, ...]:
    """Files touched, artifacts seen, the list as sent, the item that was completed."""
    if outcome.kind is OutcomeKind.DUPLICATE:
        # What was seen and did not change is seen: that may be all that an item asks for.
        return todo.advance(definition, outcome.call, outcome)
    if outcome.kind is not OutcomeKind.EXECUTED:
        return ()
    call, facts = outcome.call, list[Fact]()
    changed = bool(outcome.changed) or _may_have_changed(outcome)
    if changed:
        others = outcome.result.touched if outcome.result is not None else ()
        facts.append(Touched((*outcome.changed, *others), call.id, call.tool))
    if changed or (definition.missing and _may_have_made(outcome)):
        there = existing()
        if there != definition.existing or definition.unchanged:
            facts.append(ArtifactsSeen(there))
    if call.shape.nature is Nature.LIST and outcome.ok:
        sent = next((call.arguments.get(name) for name in call.shape.payload), None)
        # A list that is sent during a repair would tidy away what the repair is about.
        facts.append(todo.listed(sent, aside=repairing))
        facts += todo.dropped(sent, call.id)
    facts += todo.advance(apply_all(definition, facts), call, outcome)
    return tuple(facts)


def _may_have_made(outcome: Outcome) -> bool:
    """Whether a command may have made files that nobody watches, as ignored ones are."""
    return outcome.call.shape.nature is Nature.SHELL and not only_looks(command_of(outcome.call))


def _may_have_changed(outcome: Outcome) -> bool:
    """Whether a command may have changed files that nobody saw: then nothing is proved any more."""
    call, result = outcome.call, outcome.result
    if result is None or result.touched:
        return result is not None
    unseen = call.shape.nature is Nature.SHELL and not result.content
    return unseen and not only_looks(command_of(call))
