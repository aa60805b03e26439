"""The search for an order that explains a history: against all orders of small ones, and what is left of a failure."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest
from made_histories import CORRUPTIONS, FIRST, History, legal_history

from conformance.judge import history as history_module
from conformance.judge.history import Event, SearchExhausted, is_linearizable, smallest_part
from conformance.judge.history_model import Action, Archive, ConversationSpecification, Read, State, View
from conformance.judge.history_story import timeline

SPECIFICATION = ConversationSpecification(FIRST)
ARCHIVED = View(
    archived=True,
    availability="archived",
    revision=6,
    runs=frozenset({("a", "completed"), ("b", "cancelled"), ("c", "cancelled"), ("d", "failed")}),
    texts=frozenset(),
)


class Register:
    """A register that holds one number: ``(write, n)`` sets it and ``(read, n)`` shows it."""

    def initial(self) -> int:
        """It begins at zero."""
        return 0

    def after(self, state: int, action: tuple[str, int]) -> Iterable[int]:
        """A read shows what was written last."""
        kind, number = action
        return (number,) if kind == "write" or state == number else ()

    def changes(self, action: tuple[str, int]) -> bool:
        """Only writes change it."""
        return action[0] == "write"

    def unanswered(self, action: tuple[str, int]) -> tuple[str, int]:
        """A write has no answer."""
        return action


def register_event(client: str, kind: str, number: int, called: int, returned: int | None) -> Event[tuple[str, int]]:
    """Return a call on the register."""
    return Event(client, (kind, number), called, returned)


def by_every_order(events: Sequence[Event[Action]]) -> bool:
    """Decide by trying all orders of the calls that returned, with each choice of those that did not."""
    open_ended = [event for event in events if event.returned is None]
    returned = [event for event in events if event.returned is not None]
    for count in range(len(open_ended) + 1):
        for chosen in itertools.combinations(open_ended, count):
            for order in itertools.permutations([*returned, *chosen]):
                if keeps_what_was_observed(order) and explains(order):
                    return True
    return False


def keeps_what_was_observed(order: Sequence[Event[Action]]) -> bool:
    """Tell whether no call comes after one that began only when it had returned."""
    return all(
        later.returned is None or later.returned >= earlier.called
        for earlier, later in itertools.combinations(order, 2)
    )


def explains(order: Sequence[Event[Action]]) -> bool:
    """Tell whether the calls can be answered as they were, one after the other."""
    states: set[State] = {SPECIFICATION.initial()}
    for event in order:
        states = {reached for state in states for reached in SPECIFICATION.after(state, event.action)}
    return bool(states)


def small_history(rng: random.Random) -> History:
    """Return a legal history of at most six calls, or one that has been corrupted at random."""
    made = legal_history(rng, rng.choice((2, 3)), rng.choice((1, 2)))[:6]
    if rng.random() < 0.5:
        return made
    if rng.random() < 0.5:
        return rng.choice(CORRUPTIONS)(rng, made) or made
    # Answers that have changed places: most such histories are illegal, some are not.
    index, other = rng.randrange(len(made)), rng.randrange(len(made))
    swapped = list(made)
    swapped[index] = Event(made[index].client, made[other].action, made[index].called, made[index].returned)
    swapped[other] = Event(made[other].client, made[index].action, made[other].called, made[other].returned)
    return swapped


@pytest.mark.parametrize("seed", range(8))
def test_the_search_decides_as_trying_every_order_does(seed: int) -> None:
    """On small histories, legal and illegal, the search and the enumeration of all orders agree."""
    rng = random.Random(seed)  # noqa: S311 - test data
    decided = []
    for _ in range(60):
        made = small_history(rng)
        decided.append(is_linearizable(made, SPECIFICATION))
        assert by_every_order(made) == decided[-1], timeline(made)
    assert {True, False} == set(decided)


def test_calls_that_touch_overlap() -> None:
    """A call that ends at the instant at which another begins may come after it."""
    touching = [register_event("w", "write", 1, 10, 20), register_event("r", "read", 0, 20, 30)]
    apart = [register_event("w", "write", 1, 10, 20), register_event("r", "read", 0, 21, 30)]
    assert is_linearizable(touching, Register())
    assert not is_linearizable(apart, Register())


def test_a_call_without_an_answer_may_have_happened_or_not() -> None:
    """It may take effect at any time after it was called, and never before."""
    write = register_event("w", "write", 1, 10, None)
    for shown, called, expected in ((0, 11, True), (1, 11, True), (0, 900, True), (1, 900, True), (1, 5, False)):
        read = register_event("r", "read", shown, called, called + 1)
        assert expected == is_linearizable([write, read], Register()), (shown, called)


def test_a_write_that_was_seen_is_not_unseen() -> None:
    """A write without an answer that one read has shown is there for every later read."""
    write = register_event("w", "write", 1, 0, None)
    one, zero = register_event("r", "read", 1, 1, 2), register_event("s", "read", 0, 3, 4)
    assert not is_linearizable([write, one, zero], Register())


def test_an_empty_history_is_explained() -> None:
    """There is nothing to explain."""
    assert is_linearizable([], Register())


def test_a_search_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so, and claims neither."""
    monkeypatch.setattr(history_module, "_STEP_LIMIT", 50)
    writes = [register_event(f"w{number}", "write", number, 0, 100) for number in range(1, 9)]
    reads = [register_event("r", "read", 99, 0, 100)]
    with pytest.raises(SearchExhausted, match="9 calls"):
        is_linearizable([*writes, *reads], Register())


def test_the_smallest_part_is_what_cannot_be_explained() -> None:
    """Of many calls those remain that are needed, and a call that explains another stays, whatever its answer."""
    events = [
        register_event("w", "write", 1, 0, 10),
        register_event("r", "read", 1, 11, 12),
        register_event("r", "read", 1, 13, 14),
        register_event("s", "read", 0, 15, 16),
        register_event("s", "read", 1, 17, 18),
        register_event("w", "write", 2, 19, 20),
    ]
    part = smallest_part(events, Register())
    assert [("write", 1), ("read", 0)] == [event.action for event in part]
    assert not is_linearizable(part, Register())


@pytest.mark.parametrize("seed", range(4))
def test_what_remains_of_an_illegal_history_is_illegal_too(seed: int) -> None:
    """And small: a few calls of twenty."""
    rng = random.Random(seed)  # noqa: S311 - test data
    sizes = []
    for _ in range(30):
        made = legal_history(rng)
        corrupted = rng.choice(CORRUPTIONS)(rng, made)
        if corrupted is None or is_linearizable(corrupted, SPECIFICATION):
            continue
        part = smallest_part(corrupted, SPECIFICATION)
        assert not is_linearizable(part, SPECIFICATION)
        sizes.append(len(part))
    assert sizes
    assert sum(sizes) / len(sizes) < 8


def test_a_timeline_has_a_line_per_client_and_a_list_of_calls() -> None:
    """Bars are in order of time, so that what overlaps is seen; a call without an end goes on."""
    events: History = [
        Event("client 1", Archive("key-of-mine", 5, ARCHIVED, "200 OK"), 1_000_000, 2_500_000),
        Event("client 2", Archive("other-key", 5, "unknown", "no answer"), 1_200_000, None),
        Event("client 1", Read(FIRST, "200 OK"), 3_000_000, 4_000_000),
    ]
    archived = "200 OK, archived, revision 6, no texts, runs cancelled cancelled completed failed"
    available = "200 OK, available, revision 5, 5 texts, runs completed failed processing queued"
    expected = [
        "client 1  1[====]  3[=]",
        "client 2     2[==========...",
        "  1    0.000 to   1.500 ms  archive under key-of-m, expecting revision 5: " + archived,
        "  2    0.200 to     ... ms  archive under other-ke, expecting revision 5: no answer",
        "  3    2.000 to   3.000 ms  get: " + available,
    ]
    assert expected == timeline(events).splitlines()


def test_a_history_of_one_call_is_its_own_smallest_part() -> None:
    """There is nothing to leave out."""
    events = [register_event("r", "read", 1, 0, 10)]
    assert events == list(smallest_part(events, Register()))


def test_a_write_that_no_answer_needs_is_kept_without_its_answer() -> None:
    """It may have taken effect, so it is shown that even then nothing explains the rest."""
    write, read = register_event("w", "write", 1, 0, 10), register_event("r", "read", 2, 20, 30)
    assert [replace(write, returned=None), read] == list(smallest_part([write, read], Register()))


def test_a_history_is_cut_off_where_it_first_cannot_be_explained() -> None:
    """What begins later has no part in it."""
    wrong, later = register_event("r", "read", 1, 0, 10), register_event("w", "write", 1, 20, 30)
    assert [wrong] == list(smallest_part([wrong, later, register_event("r", "read", 1, 40, 50)], Register()))


@pytest.mark.parametrize("returned", [100, None])
@pytest.mark.parametrize("called", [0, 10])
def test_a_write_under_way_explains_a_read(called: int, returned: int | None) -> None:
    """Also one that begins as the read ends, and however late it returns."""
    write, right = register_event("w", "write", 1, called, returned), register_event("r", "read", 1, 5, 10)
    wrong = register_event("r", "read", 7, 110, 120)
    assert [replace(write, returned=None), wrong] == list(smallest_part([write, right, wrong], Register()))


def test_an_answer_that_came_after_the_cut_does_not_count() -> None:
    """A call that went on beyond it may have been answered in any way."""
    events: History = [
        Event("a", Archive("key", 4, ARCHIVED, "applied with a stale revision"), 0, 100),
        Event("b", Read(FIRST), 10, 20),
        Event("b", Read(FIRST._replace(revision=3)), 30, 40),
    ]
    part = smallest_part(events, SPECIFICATION)
    assert [("a", None), ("b", 40)] == [(event.client, event.returned) for event in part]


def test_a_search_may_take_so_many_steps_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as the limit says."""
    assert 2_000_000 == history_module._STEP_LIMIT
    events = [register_event("w", "write", 1, 0, 10), register_event("r", "read", 1, 20, 30)]
    monkeypatch.setattr(history_module, "_STEP_LIMIT", 2)
    assert is_linearizable(events, Register())
    monkeypatch.setattr(history_module, "_STEP_LIMIT", 1)
    with pytest.raises(SearchExhausted):
        is_linearizable(events, Register())
