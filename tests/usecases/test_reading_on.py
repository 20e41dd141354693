"""A history that is read on folds only what is new, and notices a chain that is another one."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from signoff.usecases.audit import audit_plan
from signoff.usecases.harness import Harness
from signoff.usecases.history import PlanHistory, approved_by, read_history
from tests.usecases.library import Library
from tests.usecases.signed import entries_of, rehashed, signed_library, store_chain


def _read(library: Library) -> tuple[Harness, str, PlanHistory]:
    harness, place = library.open()
    history = read_history(harness.ledger, place.record.id)
    assert history.run is not None
    assert approved_by(harness.ledger, place, history, history.run).state.seq == len(
        history.entries
    )
    return harness, place.record.id, history


def test_what_was_appended_since_is_added_to_the_same_states(tmp_path: Path) -> None:
    library = signed_library(tmp_path)
    harness, plan, first = _read(library)
    audit_plan(*library.open())
    again = read_history(harness.ledger, plan)
    assert again.entries == entries_of(library) and len(again.entries) == len(first.entries) + 1
    assert again.states is first.states


def test_a_chain_that_was_cut_or_rewritten_meanwhile_is_read_from_its_beginning(
    tmp_path: Path,
) -> None:
    library = signed_library(tmp_path)
    harness, plan, first = _read(library)
    store_chain(library, first.entries[:-1])
    cut = read_history(harness.ledger, plan)
    assert cut.entries == first.entries[:-1] and cut.running and cut.states == {}
    other = replace(first.entries[0], data={**first.entries[0].data, "by": "somebody else"})
    store_chain(library, rehashed([other, *first.entries[1:]]))
    rewritten = read_history(harness.ledger, plan)
    assert rewritten.approval is not None and rewritten.approval.data["by"] == "somebody else"
