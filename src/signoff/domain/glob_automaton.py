"""Globs as automata: matching without backtracking, and a path that two globs both cover."""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from heapq import heappop, heappush
from typing import NamedTuple

from signoff.domain.glob_tokens import (
    ANY,
    IN_NAME,
    SLASH,
    Chars,
    Kind,
    Token,
    both,
    readable,
    tokens_of,
)

_DOT: Chars = ((ord("."), ord(".")),)
# A file name holds neither NUL nor slash.
_NAME: Chars = ((1, ord("/") - 1), (ord("/") + 1, 0x10FFFF))
_NOT_DOT: Chars = ((1, ord(".") - 1), (ord("/") + 1, 0x10FFFF))


class _Within(IntEnum):
    """Where in a component a path stands: none may be empty, `.` or `..`."""

    START = 0
    DOT = 1
    DOTS = 2
    NAME = 3


_TURNS: dict[_Within, tuple[tuple[Chars, _Within], ...]] = {
    _Within.START: ((_NOT_DOT, _Within.NAME), (_DOT, _Within.DOT)),
    _Within.DOT: ((_NOT_DOT, _Within.NAME), (_DOT, _Within.DOTS)),
    _Within.DOTS: ((_NAME, _Within.NAME),),
    _Within.NAME: ((_NAME, _Within.NAME), (SLASH, _Within.START)),
}


class Automaton:
    """States in the order of the glob's tokens; a set of states is the bits of one integer.

    Every edge leads to the same state, the next or the one before, so a whole set moves by shifts.
    Folders (`**/`) take three states: between two of them, inside one, and behind the last.
    """

    def __init__(self, tokens: tuple[Token, ...]):
        self.edges: list[list[tuple[Chars, int]]] = [[]]
        self._before_folders = 0
        self._between_folders = 0
        for token in tokens:
            self._append(token)
        last = len(self.edges) - 1
        self.ends = (last, last + 1)
        self.edges[last].append((SLASH, 1))
        self.edges.append([(ANY, 0)])
        self.alike = tuple(self._alike(state) for state in range(last + 2))
        self._groups = self._edges_by_chars()
        self._moves: dict[Chars, tuple[tuple[int, int], ...]] = {}

    def _append(self, token: Token) -> None:
        here = len(self.edges) - 1
        if token.kind is Kind.ONE:
            self.edges[here].append((token.chars, 1))
            self.edges.append([])
        elif token.kind is Kind.FOLDERS:
            self._before_folders |= 1 << here
            self._between_folders |= 2 << here
            self.edges += [[(IN_NAME, 1)], [(IN_NAME, 0), (SLASH, -1)], []]
        else:
            self.edges[here].append((IN_NAME if token.kind is Kind.STAR else ANY, 0))

    def _alike(self, state: int) -> tuple[int, ...]:
        """The state, and those reached from it without a character."""
        reached = self.closed(1 << state)
        return tuple(s for s in range(state, state + 4) if reached >> s & 1)

    def _edges_by_chars(self) -> dict[tuple[Chars, int], int]:
        groups: dict[tuple[Chars, int], int] = {}
        for state, edges in enumerate(self.edges):
            for edge in edges:
                groups[edge] = groups.get(edge, 0) | 1 << state
        return groups

    def closed(self, states: int) -> int:
        """With the states that are reached without a character."""
        states |= (states & self._before_folders) << 1
        return states | (states & self._between_folders) << 2

    def moved(self, states: int, chars: Chars) -> int:
        """The states after one character of the set, whichever suits each of them."""
        if chars not in self._moves:
            self._moves[chars] = self._moves_on(chars)
        out = 0
        for shift, able in self._moves[chars]:
            moving = states & able
            out |= moving << shift if shift >= 0 else moving >> -shift
        return self.closed(out)

    def _moves_on(self, chars: Chars) -> tuple[tuple[int, int], ...]:
        able = {-1: 0, 0: 0, 1: 0}
        for (wanted, shift), states in self._groups.items():
            if both(wanted, chars):
                able[shift] |= states
        return tuple((shift, states) for shift, states in able.items() if states)

    def accepts(self, path: str) -> bool:
        """Whether the glob covers the path."""
        states = self.closed(1)
        for char in path:
            states = self.moved(states, ((ord(char), ord(char)),))
        return any(states >> end & 1 for end in self.ends)


@lru_cache(maxsize=4096)
def automaton(pattern: str) -> Automaton:
    """The automaton of a glob."""
    return Automaton(tokens_of(pattern))


class _Place(NamedTuple):
    """A state of the first automaton, and where in a component the path stands."""

    state: int
    within: _Within


class _Arrival(NamedTuple):
    """States of the second automaton as they were first reached, and from which ones."""

    new: int
    source: _Place
    before: int
    chars: Chars


_START = _Place(0, _Within.START)


class Meeting:
    """Two automata that read the same path, together with what makes it a real one.

    For each place of the first, the set of states that the second can be in. Each arrival is
    noted once, after those it came from: going back from the end spells a path.
    """

    def __init__(self, first: Automaton, second: Automaton):
        self._first, self._second = first, second
        self._reached: dict[_Place, int] = {}
        self._waiting: dict[_Place, int] = {}
        self._queue: list[_Place] = []
        self._arrivals: dict[_Place, list[_Arrival]] = {}
        self._arrive(0, _Within.START, _Arrival(second.closed(1), _START, 0, ()))
        while self._queue:
            self._advance(heappop(self._queue))

    def _advance(self, place: _Place) -> None:
        states = self._waiting.pop(place)
        for chars, shift in self._first.edges[place.state]:
            for allowed, within in _TURNS[place.within]:
                common = both(chars, allowed)
                moved = self._second.moved(states, common) if common else 0
                if moved:
                    arrival = _Arrival(moved, place, states, common)
                    self._arrive(place.state + shift, within, arrival)

    def _arrive(self, state: int, within: _Within, arrival: _Arrival) -> None:
        for reached in self._first.alike[state]:
            self._note(_Place(reached, within), arrival)

    def _note(self, place: _Place, arrival: _Arrival) -> None:
        known = self._reached.get(place, 0)
        new = arrival.new & ~known
        if not new:
            return
        self._reached[place] = known | new
        noted = _Arrival(new, arrival.source, arrival.before, arrival.chars)
        self._arrivals.setdefault(place, []).append(noted)
        if place not in self._waiting:
            self._waiting[place] = 0
            heappush(self._queue, place)
        self._waiting[place] |= new

    def path(self) -> str | None:
        """A path that both accept, if there is one."""
        for end in self._first.ends:
            place = _Place(end, _Within.NAME)
            for state in self._second.ends:
                if self._reached.get(place, 0) >> state & 1:
                    return self._spelled(place, state)
        return None

    def _spelled(self, place: _Place, state: int) -> str:
        out: list[str] = []
        while True:
            arrival = next(a for a in self._arrivals[place] if a.new >> state & 1)
            if not arrival.before:
                return "".join(reversed(out))
            state, chars = self._step_back(arrival, state)
            out.append(readable(chars))
            place = arrival.source

    def _step_back(self, arrival: _Arrival, state: int) -> tuple[int, Chars]:
        """Which state the second was in before, and what it can have read."""
        edges, alike = self._second.edges, self._second.alike
        # One step forwards and folders skipped are four states at most, a step back is one.
        for before in range(max(0, state - 4), min(state + 2, len(edges))):
            if arrival.before >> before & 1:
                for chars, shift in edges[before]:
                    common = both(chars, arrival.chars)
                    if common and state in alike[before + shift]:
                        return before, common
        raise AssertionError("every arrival has a state it came from")
