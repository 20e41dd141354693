"""Budgets down a tree of sessions: what a child gets, its parent cannot use."""

from __future__ import annotations

from collections.abc import Mapping

from signoff.domain.plan import Budget, Cost
from signoff.gate.state import State


def budget_left(state: State, below: Mapping[str, Cost], over: frozenset[str]) -> Budget:
    """What is left of a session's own budget; a child that is over gives back what it left."""
    started = state.session.started
    tokens, usd = (started.tokens, started.usd) if started is not None else (None, None)
    used = state.spent
    for child, share in state.session.shares.items():
        spent = below.get(child, Cost())
        # A child that used more than its share has used it all the same.
        given_tokens = 0 if child in over else share.budget.tokens or 0
        given_usd = 0.0 if child in over else share.budget.usd or 0.0
        used += Cost(max(spent.tokens, given_tokens), max(spent.usd, given_usd))
    return Budget(
        None if tokens is None else max(0, tokens - used.tokens),
        None if usd is None else max(0.0, round(usd - used.usd, 9)),
    )


def offered_share(left: Budget, tokens: int | None, usd: float | None) -> Budget | str:
    """What a child gets: what was asked for, else half of what is left; text when it cannot be."""
    if tokens is not None and (type(tokens) is not int or tokens < 1):
        return "error: `tokens` must be a number above 0"
    if usd is not None and not (type(usd) in (int, float) and 0 < usd < float("inf")):
        return "error: `usd` must be a number above 0"
    if left.tokens is not None:
        tokens = left.tokens // 2 if tokens is None else tokens
        if not 0 < tokens <= left.tokens:
            return f"refused: {left.tokens} tokens are left of this session's budget"
    if left.usd is not None:
        usd = round(left.usd / 2, 9) if usd is None else usd
        if not 0 < usd <= left.usd:
            return f"refused: {left.usd} USD are left of this session's budget"
    return Budget(tokens, None if usd is None else float(usd))
