"""Decides whether the answers to overlapping calls can be explained by the calls happening one after the other.

The search is Wing and Gong's with Lowe's memory of where it has been: take calls in an order that keeps what was
observed (a call that returned before another began comes first), step through a sequential specification, go back
where an answer cannot be explained. A specification may leave choices, so a step leads from a set of states to a set.

Instants are nanoseconds of one monotonic clock. Two calls of which one ends at the instant at which the other begins
count as overlapping: an order that was not observed is never claimed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Generic, Protocol, TypeVar

from conformance.errors import SuiteFault

State = TypeVar("State", bound=Hashable)
Action = TypeVar("Action")

_STEP_LIMIT: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class Event(Generic[Action]):
    """One call of one client: what was done and answered, and when it began and ended.

    ``returned`` is ``None`` where nothing tells whether the call has taken effect yet: it may do so at any time after
    it was called, or never.
    """

    client: str
    action: Action
    called: int
    returned: int | None


class Specification(Protocol[State, Action]):
    """What may happen when one call follows another."""

    def initial(self) -> State:
        """Return the state before the first call."""

    def after(self, state: State, action: Action) -> Iterable[State]:
        """Return the states to which the action, answered as it was, may lead; none when it cannot be so answered."""

    def changes(self, action: Action) -> bool:
        """Tell whether the action may have changed the state; without one that may not, the rest is as explicable."""

    def unanswered(self, action: Action) -> Action:
        """Return the action as if its answer were unknown."""


class SearchExhausted(SuiteFault):
    """A history has so many possible orders that the search was given up."""


def is_linearizable(events: Sequence[Event[Action]], specification: Specification[State, Action]) -> bool:
    """Tell whether some order of the calls that keeps what was observed explains every answer.

    Raises:
        SearchExhausted: there are too many orders to say.
    """
    return _Search(events, specification).succeeds()


def smallest_part(
    events: Sequence[Event[Action]], specification: Specification[State, Action]
) -> tuple[Event[Action], ...]:
    """Return a part of a history that is not linearizable which is not so either, as small as can be had in one pass.

    The history is cut off as early as possible; then calls that change nothing are left out, and of those that may
    have changed something the answer is forgotten (``returned`` is ``None`` then), wherever what remains is still not
    linearizable. So everything left is needed, and nothing left out could have explained it.
    """
    part = _shortest_beginning(events, specification)
    for event in sorted(part, key=lambda event: (specification.changes(event.action), -event.called)):
        rest = [each for each in part if each is not event]
        if specification.changes(event.action):
            rest.append(replace(event, action=specification.unanswered(event.action), returned=None))
        if not is_linearizable(rest, specification):
            part = rest
    return tuple(sorted(part, key=lambda event: event.called))


def _shortest_beginning(
    events: Sequence[Event[Action]], specification: Specification[State, Action]
) -> list[Event[Action]]:
    """Return the calls up to the first return that leaves no explanation; what goes on then is unanswered."""
    ends = sorted(event.returned for event in events if event.returned is not None)
    low, high = 0, len(ends) - 1
    while low < high:
        middle = (low + high) // 2
        if is_linearizable(_until(events, ends[middle], specification), specification):
            low = middle + 1
        else:
            high = middle
    return _until(events, ends[low], specification)


def _until(
    events: Sequence[Event[Action]], end: int, specification: Specification[State, Action]
) -> list[Event[Action]]:
    begun = [event for event in events if event.called <= end]
    return [
        event
        if event.returned is not None and event.returned <= end
        else replace(event, action=specification.unanswered(event.action), returned=None)
        for event in begun
        if specification.changes(event.action) or (event.returned is not None and event.returned <= end)
    ]


class _Search(Generic[State, Action]):
    """One search. Beginnings and ends of calls form a ring in order of time, from which calls are taken as they come.

    Place 0 of the ring is its start. The memory holds the calls taken, as bits, with the states that they led to.
    """

    def __init__(self, events: Sequence[Event[Action]], specification: Specification[State, Action]) -> None:
        self._events = events
        self._specification = specification
        marks = [(event.called, 0, number) for number, event in enumerate(events)]
        marks += [(event.returned, 1, number) for number, event in enumerate(events) if event.returned is not None]
        marks.sort()
        self._number = [-1, *(number for _, _, number in marks)]
        self._begins = [False, *(not ends for _, ends, _ in marks)]
        self._next = [*range(1, len(marks) + 1), 0]
        self._previous = [len(marks), *range(len(marks))]
        self._end: Mapping[int, int] = {number: place for place, (_, ends, number) in enumerate(marks, 1) if ends}
        self._open = len(self._end)
        self._steps: dict[tuple[frozenset[State], int], frozenset[State]] = {}

    def succeeds(self) -> bool:
        """Search; true when every call that returned has been taken."""
        states = frozenset({self._specification.initial()})
        taken: list[tuple[int, frozenset[State]]] = []
        seen: set[tuple[int, frozenset[State]]] = set()
        done, place = 0, self._next[0]
        while self._open:
            if self._begins[place]:
                number = self._number[place]
                reached = self._after(states, number)
                visit = (done | 1 << number, reached)
                if not reached or visit in seen:
                    place = self._next[place]
                    continue
                if len(seen) >= _STEP_LIMIT:
                    raise SearchExhausted(f"the history of {len(self._events)} calls has too many possible orders")
                seen.add(visit)
                taken.append((place, states))
                self._take(place)
                (done, states), place = visit, self._next[0]
            elif taken:
                # Here something returned that has not been taken: the order so far cannot be right.
                place, states = taken.pop()
                self._put_back(place)
                done &= ~(1 << self._number[place])
                place = self._next[place]
            else:
                return False
        return True

    def _after(self, states: frozenset[State], number: int) -> frozenset[State]:
        key = (states, number)
        if key not in self._steps:
            after, action = self._specification.after, self._events[number].action
            self._steps[key] = frozenset(reached for state in states for reached in after(state, action))
        return self._steps[key]

    def _take(self, place: int) -> None:
        self._unlink(place)
        end = self._end.get(self._number[place])
        if end is not None:
            self._unlink(end)
            self._open -= 1

    def _put_back(self, place: int) -> None:
        end = self._end.get(self._number[place])
        if end is not None:
            self._link(end)
            self._open += 1
        self._link(place)

    def _unlink(self, place: int) -> None:
        self._next[self._previous[place]] = self._next[place]
        self._previous[self._next[place]] = self._previous[place]

    def _link(self, place: int) -> None:
        self._next[self._previous[place]] = place
        self._previous[self._next[place]] = place
