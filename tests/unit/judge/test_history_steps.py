"""Every step from every state of a conversation: which answers the specification of races explains, and how.

The states and actions are small and complete. What came of them when they were last found to be right is kept as a
digest for each kind of action; where a change is meant, ``digests()`` gives the new ones.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator

import pytest

from conformance.judge.history import Event
from conformance.judge.history_model import (
    Action,
    Answer,
    Archive,
    ConversationSpecification,
    Deadline,
    Read,
    Result,
    State,
    View,
    conversation_view,
    explained,
    is_whole,
    with_copies_excused,
)

RUNS = frozenset({("a", "completed"), ("q", "queued"), ("f", "failed")})
CANCELLED = frozenset({("a", "completed"), ("q", "cancelled"), ("f", "failed")})
TEXTS = frozenset({("a", "assistant"), ("a", "user"), ("q", "user")})
FIRST = View(archived=False, availability="available", revision=5, runs=RUNS, texts=TEXTS)
GONE = View(archived=True, availability="archived", revision=6, runs=CANCELLED, texts=frozenset())
SPECIFICATION = ConversationSpecification(FIRST)


def states() -> Iterator[State]:
    """Yield states of all kinds."""
    applications: tuple[tuple[tuple[str, View | None], ...], ...] = ((), (("k", None),), (("k", GONE),))
    for revision, exact, archived, expired, applied in itertools.product(
        (5, 6), (True, False), (True, False), (True, False), applications
    ):
        yield State(
            revision=revision,
            exact=exact,
            archived=archived,
            expired=expired,
            runs=CANCELLED if archived else RUNS,
            texts=frozenset() if archived else TEXTS,
            applied=frozenset(applied),
        )


def views() -> Iterator[View]:
    """Yield views that differ from one another in one thing or two."""
    for archived, availability in ((False, "available"), (True, "archived"), (False, "expired"), (True, "expired")):
        for revision in (4, 5, 6, 7):
            for runs in (RUNS, CANCELLED, frozenset({("a", "expired"), ("q", "expired"), ("f", "unavailable")})):
                for texts in (TEXTS, frozenset[tuple[str, str]](), frozenset({("a", "user")})):
                    yield View(archived, availability, revision, runs, texts)
    for run, status in (("a", "completed"), ("q", "queued"), ("q", "cancelled"), ("q", "expired"), ("x", "queued")):
        for shown in ((), ("assistant",), ("user",), ("assistant", "user")):
            for revision in (4, 5, 6):
                yield View(None, None, revision, frozenset({(run, status)}), frozenset((run, role) for role in shown))


def actions() -> Iterator[tuple[str, Action]]:
    """Yield actions with their kinds."""
    answers: tuple[Answer, ...] = ("refused", "put off", "unknown", *views())
    for answer in answers:
        kind = answer if isinstance(answer, str) else "view"
        yield f"read {kind}", Read(answer)
        if isinstance(answer, str) or answer.archived is not None:
            for key, expected in itertools.product("kl", (4, 5, 6, 7)):
                yield f"archive {kind}", Archive(key, expected, answer)
    yield from ((f"result {run}", Result(run)) for run in "aqx")
    yield "deadline", Deadline()


def digests() -> dict[str, str]:
    """Return how many steps of each kind of action are explained, and a digest of where they lead."""
    led: dict[str, list[str]] = {}
    counted: dict[str, int] = {}
    for state in states():
        for kind, action in actions():
            reached = sorted(map(_written, SPECIFICATION.after(state, action)))
            led.setdefault(kind, []).append("; ".join(reached))
            counted[kind] = counted.get(kind, 0) + bool(reached)
    return {
        kind: f"{counted[kind]} {hashlib.sha256(chr(10).join(lines).encode()).hexdigest()[:12]}"
        for kind, lines in led.items()
    }


def _written(state: State) -> str:
    """Write a state down in one way."""
    applied = sorted((key, str(first and _sorted(first))) for key, first in state.applied)
    flags = (state.revision, state.exact, state.archived, state.expired)
    return str((*flags, sorted(state.runs), sorted(state.texts), applied))


def _sorted(view: View) -> tuple[object, ...]:
    return (view.archived, view.availability, view.revision, sorted(view.runs), sorted(view.texts))


def test_every_step_from_every_state_leads_where_it_did() -> None:
    """What can be explained, and the states that explain it."""
    assert EXPECTED == digests()


EXPECTED: dict[str, str] = {
    "read refused": "48 2a5fd54ae180",
    "archive refused": "312 f40987f2c5d7",
    "read put off": "48 2a5fd54ae180",
    "archive put off": "384 bd61ee97caa7",
    "read unknown": "48 2a5fd54ae180",
    "archive unknown": "240 d03d6a459f74",
    "read view": "297 dbb4345aaff3",
    "archive view": "2836 3b8e5ed0c930",
    "result a": "0 e6568902880e",
    "result q": "12 c6d176fd4588",
    "result x": "0 e6568902880e",
    "deadline": "48 9bff3eb8b4c0",
}


@pytest.mark.parametrize(
    ("action", "changes"),
    [
        (Read(FIRST), False),
        (Read("unknown"), False),
        (Archive("k", 5, "refused"), False),
        (Archive("k", 5, "put off"), False),
        (Archive("k", 5, "unknown"), True),
        (Archive("k", 5, GONE), True),
        (Result("q"), True),
        (Deadline(), True),
    ],
    ids=["get", "unknown-read", "refused", "put-off", "unknown-archive", "archive", "result", "deadline"],
)
def test_what_may_have_changed_something(action: Action, changes: bool) -> None:  # noqa: FBT001 - a column
    """A read and a refused archive have not; an archive without an answer may have."""
    assert changes == SPECIFICATION.changes(action)


def test_an_action_without_its_answer() -> None:
    """Only an archive has one that can be forgotten."""
    forgotten = SPECIFICATION.unanswered(Archive("k", 5, GONE, "said"))
    assert isinstance(forgotten, Archive)
    assert ("k", 5, "unknown") == (forgotten.key, forgotten.expected, forgotten.answer)
    assert Read(FIRST) == SPECIFICATION.unanswered(Read(FIRST))


@pytest.mark.parametrize(
    ("other", "copy", "answer"),
    [
        (("k", 5, GONE, 0, 20), ("k", 5, "refused", 10, 30), "put off"),
        (("k", 5, GONE, 0, 10), ("k", 5, "refused", 10, 30), "put off"),
        (("k", 5, GONE, 30, 40), ("k", 5, "refused", 10, 30), "put off"),
        (("k", 5, GONE, 31, 40), ("k", 5, "refused", 10, 30), "refused"),
        (("k", 5, GONE, 0, 9), ("k", 5, "refused", 10, 30), "refused"),
        (("k", 5, GONE, 40, 50), ("k", 5, "refused", 10, None), "put off"),
        (("k", 5, GONE, 0, None), ("k", 5, "refused", 10, 30), "put off"),
        (("k", 6, GONE, 0, 20), ("k", 5, "refused", 10, 30), "refused"),
        (("l", 5, GONE, 0, 20), ("k", 5, "refused", 10, 30), "refused"),
        (("k", 5, GONE, 0, 20), ("k", 5, GONE, 10, 30), GONE),
        (("k", 5, GONE, 0, 20), ("k", 5, "unknown", 10, 30), "unknown"),
    ],
    ids=lambda column: column if isinstance(column, str) else None,
)
def test_a_copy_is_excused_by_another_that_overlaps_it(
    other: tuple[str, int, Answer, int, int | None], copy: tuple[str, int, Answer, int, int | None], answer: Answer
) -> None:
    """It was refused, has the same key and revision, and they touch at least."""
    events: list[Event[Action]] = [Event("read", Read("refused"), 0, 100), Event("result", Result("q"), 0, None)]
    events += [Event(name, Archive(*made[:3]), made[3], made[4]) for name, made in (("one", other), ("two", copy))]
    excused = with_copies_excused(events)
    found = excused[3].action
    assert isinstance(found, Archive)
    assert answer == found.answer
    assert events[:2] == excused[:2]


def test_a_text_is_there_when_either_part_of_its_message_is() -> None:
    """A question or an answer."""
    frame = {"run_id": "A", "role": "user", "question": None, "answer": None}
    value = {
        "conversation": {"archived": False, "availability": "available", "revision": 1},
        "messages": [frame, {**frame, "role": "assistant", "answer": {}}, {**frame, "run_id": "b", "question": "q"}],
        "runs": [],
    }
    assert {("a", "assistant"), ("b", "user")} == conversation_view(value).texts


def test_an_expired_conversation_is_not_whole() -> None:
    """Only as it was first, or as an archive leaves it."""
    assert is_whole(SPECIFICATION, FIRST)
    assert is_whole(SPECIFICATION, GONE)
    assert is_whole(SPECIFICATION, GONE._replace(revision=9))
    assert not is_whole(SPECIFICATION, FIRST._replace(revision=6))
    assert not is_whole(SPECIFICATION, GONE._replace(revision=5))


def test_a_run_that_is_not_there_has_no_status() -> None:
    """Not even after expiry, when others may show what they like."""
    state = SPECIFICATION.initial()._replace(expired=True, exact=False)
    for run, told in (("a", True), ("x", False)):
        view = View(None, None, 5, frozenset({(run, "expired")}), frozenset())
        assert told == (explained(state, view) is not None)


def test_a_status_shows_no_text_of_another_run() -> None:
    """Of a run that has only a question it shows that, or nothing."""
    for texts, told in ((set(), True), ({("q", "user")}, True), ({("a", "user")}, False)):
        view = View(None, None, 5, frozenset({("q", "queued")}), frozenset(texts))
        assert told == (explained(SPECIFICATION.initial(), view) is not None)
