"""The specification of one conversation: thousands of legal histories are accepted, and every corruption is refused."""

from __future__ import annotations

import random

import pytest
from made_histories import CORRUPTIONS, FIRST, Corruption, legal_history, without_freedom

from conformance.judge.history import Event, is_linearizable
from conformance.judge.history_model import (
    Action,
    Answer,
    Archive,
    ConversationSpecification,
    Deadline,
    Read,
    Result,
    View,
    conversation_view,
    is_whole,
    status_view,
    with_copies_excused,
)
from conformance.judge.history_story import timeline

SPECIFICATION = ConversationSpecification(FIRST)
CANCELLED = frozenset({("a", "completed"), ("b", "cancelled"), ("c", "cancelled"), ("d", "failed")})
ARCHIVED = View(archived=True, availability="archived", revision=6, runs=CANCELLED, texts=frozenset())


def in_order(*actions: Action) -> bool:
    """Tell whether these actions may follow each other; a worker's result has happened or not."""
    events: list[Event[Action]] = [
        Event("one", action, 10 * index, None if isinstance(action, Result) else 10 * index + 1)
        for index, action in enumerate(actions)
    ]
    return is_linearizable(events, SPECIFICATION)


def archive(answer: Answer, key: str = "k", expected: int = 5) -> Archive:
    """Return an archive, by default with the first revision."""
    return Archive(key, expected, answer)


def test_what_is_said_for_people_tells_no_calls_apart() -> None:
    """Two calls with the same answer are the same, in whatever words the answer is told."""
    assert Archive("k", 5, "refused", "HTTP 409") == Archive("k", 5, "refused", "a conflict")
    assert Read(ARCHIVED, "HTTP 200") == Read(ARCHIVED, "a success")


@pytest.mark.parametrize("seed", range(20))
def test_legal_histories_are_accepted(seed: int) -> None:
    """Whatever a conforming server chose, with results, deadlines and answers that were lost."""
    rng = random.Random(seed)  # noqa: S311 - test data
    for _ in range(150):
        made = legal_history(rng, rng.choice((2, 4, 8)), rng.choice((1, 3, 5)))
        assert is_linearizable(made, SPECIFICATION), timeline(made)


@pytest.mark.parametrize("corruption", CORRUPTIONS, ids=lambda corruption: corruption.__name__)
def test_corrupted_histories_are_refused(corruption: Corruption) -> None:
    """Each kind of corruption, wherever a legal history offers an occasion."""
    rng = random.Random(corruption.__name__)  # noqa: S311 - test data
    refused = 0
    while refused < 60:
        made = legal_history(rng, rng.choice((2, 4, 8)), rng.choice((2, 3, 5)), beside=False)
        corrupted = corruption(rng, made) if without_freedom(made) else None
        if corrupted is not None:
            assert not is_linearizable(corrupted, SPECIFICATION), timeline(corrupted)
            refused += 1


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ((archive(ARCHIVED), archive("refused", "l")), True),
        ((archive(ARCHIVED), archive(ARCHIVED, "l")), False),
        ((archive("refused"),), False),
        ((archive("refused", expected=4),), True),
        ((archive(ARCHIVED), archive(ARCHIVED, "l", 6)), True),
        ((archive(ARCHIVED), archive("refused", "l", 6)), True),
        ((archive(ARCHIVED), archive(ARCHIVED)), True),
        ((archive(ARCHIVED), archive("refused")), False),
        ((archive(ARCHIVED), archive("put off")), True),
        ((archive(ARCHIVED._replace(revision=8)), Read(ARCHIVED._replace(revision=8))), True),
        ((archive(ARCHIVED._replace(revision=5)),), False),
        ((archive("unknown"), archive(ARCHIVED)), True),
        ((archive("unknown"), Read(ARCHIVED), archive(ARCHIVED)), True),
        ((archive("unknown"), archive("refused", "l")), True),
        ((Read("refused"), Read("unknown"), Read(FIRST)), True),
    ],
)
def test_archives_follow_each_other_as_the_contract_says(actions: tuple[Action, ...], *, expected: bool) -> None:
    """One winner, replays with the first result, conflicts; a second archive with the current revision is open."""
    assert expected == in_order(*actions)


def test_a_result_is_taken_or_not_and_never_after_an_archive() -> None:
    """It completes its run and adds a text; whether it raises the revision is open."""
    completed = (FIRST.runs - {("b", "processing")}) | {("b", "completed")}
    taken = FIRST._replace(runs=completed, texts=FIRST.texts | {("b", "assistant")})
    for shown in (FIRST, taken, taken._replace(revision=6)):
        assert in_order(Result("b"), Read(shown))
    assert in_order(Result("b"), Read(taken._replace(revision=6)), archive("refused"))
    assert not in_order(Result("b"), Read(taken), Read(FIRST))
    assert not in_order(archive(ARCHIVED), Result("b"), Read(taken._replace(revision=6)))
    assert not in_order(archive(ARCHIVED), Result("b"), Read(ARCHIVED._replace(runs=completed)))


def test_after_the_deadline_no_text_is_there_and_much_is_open() -> None:
    """Unfinished runs are expired, finished ones show one of three; an archive succeeds or not."""
    runs = frozenset({("a", "completed"), ("b", "expired"), ("c", "expired"), ("d", "unavailable")})
    expired = View(archived=False, availability="expired", revision=5, runs=runs, texts=frozenset())
    for shown in (expired, expired._replace(revision=6)):
        assert in_order(Deadline(), Read(shown))
    assert not in_order(Deadline(), Read(FIRST))
    assert not in_order(Deadline(), Read(expired._replace(texts=FIRST.texts)))
    assert not in_order(Deadline(), Read(expired._replace(runs=FIRST.runs)))
    assert in_order(Deadline(), archive("refused"), Read(expired))
    assert in_order(Deadline(), archive(expired), archive(expired, "l"))
    assert in_order(Deadline(), archive(ARCHIVED), archive("refused"))
    assert in_order(archive(ARCHIVED), Deadline(), Read(ARCHIVED._replace(availability="expired")))
    assert not in_order(archive(ARCHIVED), Deadline(), Read(expired))


def test_a_status_shows_the_answer_or_for_a_question_alone_either() -> None:
    """Of a run with an answer the answer, of one with only a question that or nothing."""

    def status(run: str, shown: str, *roles: str) -> Read:
        return Read(View(None, None, 5, frozenset({(run, shown)}), frozenset((run, role) for role in roles)))

    assert in_order(status("a", "completed", "assistant"))
    assert not in_order(status("a", "completed"))
    assert not in_order(status("a", "completed", "user"))
    assert in_order(status("b", "processing"), status("b", "processing", "user"))
    assert not in_order(status("b", "cancelled", "user"))
    assert not in_order(status("z", "completed"))


def test_a_view_is_whole_before_and_after_but_not_between() -> None:
    """A mixture of text and cancelled runs is neither."""
    assert is_whole(SPECIFICATION, FIRST)
    assert is_whole(SPECIFICATION, ARCHIVED)
    assert not is_whole(SPECIFICATION, FIRST._replace(runs=CANCELLED))
    assert not is_whole(SPECIFICATION, ARCHIVED._replace(runs=FIRST.runs))
    assert not is_whole(SPECIFICATION, ARCHIVED._replace(archived=False))


def test_a_refused_copy_is_excused_by_one_that_overlaps_it() -> None:
    """Not by one that had ended, nor by a call under another key."""
    copy: Event[Action] = Event("two", archive("refused"), 10, 20)
    cases: tuple[tuple[Action, int | None, Answer], ...] = (
        (archive(ARCHIVED), 10, "put off"),
        (archive("unknown"), None, "put off"),
        (archive(ARCHIVED), 9, "refused"),
        (archive(ARCHIVED, "l"), 15, "refused"),
    )
    for action, returned, expected in cases:
        excused = with_copies_excused([Event("one", action, 5, returned), copy])[1].action
        assert isinstance(excused, Archive)
        assert expected == excused.answer


def test_views_are_read_from_results() -> None:
    """Ids in lower case, texts that are not null, an empty question among them."""
    message = {"run_id": "A", "role": "user", "question": "", "answer": None}
    gone = {**message, "question": None}
    run = {"id": "A", "status": "queued"}
    value = {
        "conversation": {"archived": False, "availability": "available", "revision": 7.0},
        "messages": [message, gone],
        "runs": [run],
    }
    queued, texts = frozenset({("a", "queued")}), frozenset({("a", "user")})
    assert View(archived=False, availability="available", revision=7, runs=queued, texts=texts) == conversation_view(
        value
    )
    status = {"run": run, "message": None, "conversation_revision": 7}
    assert View(None, None, 7, queued, frozenset()) == status_view(status)
    assert View(None, None, 7, queued, texts) == status_view({**status, "message": message})
