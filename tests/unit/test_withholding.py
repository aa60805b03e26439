"""Steps of the checks of what is withheld: what is seeded, expected, and told apart."""

from __future__ import annotations

import random
from typing import Any

import pytest
from made_answers import exchange

from conformance.cases.conversations import DAY, MINUTE, Document, markers
from conformance.cases.texts import MARKER, TimestampStyle
from conformance.checks.test_expiry import SECOND, Boundary
from conformance.checks.test_privacy import distinguishing, look_of
from conformance.checks.withholding import (
    ACTIVE,
    Blame,
    Expectation,
    by_the_clock,
    each_once,
    expiring,
    fresh_answer,
    instant,
    texts_of,
)
from conformance.judge.finding import Finding
from conformance.judge.invariants import conversation_breaches

NOW = 20_000 * DAY
DEADLINE = NOW + 10 * MINUTE + 250


def made(subject: str, style: TimestampStyle | None = None) -> Document:
    """Return a conversation of which ``subject`` expires at the deadline."""
    rng = random.Random(1)  # noqa: S311 - test data, not secrets
    return expiring(rng, NOW, DEADLINE, subject=subject, style=style or TimestampStyle())


def ends(document: Document) -> dict[str, set[int]]:
    """Return when what kind of thing expires."""
    return {
        "conversation": {instant(document.conversation["expires_at"])},
        "messages": {instant(each["expires_at"]) for each in document.messages},
        "unfinished": {instant(each["expires_at"]) for each in document.runs if each["status"] in ACTIVE},
        "finished": {instant(each["expires_at"]) for each in document.runs if each["status"] not in ACTIVE},
    }


HOUR_LATER = DEADLINE + 60 * MINUTE
ENDS: dict[str, dict[str, set[int]]] = {
    "conversation": {
        "conversation": {DEADLINE},
        "messages": {DEADLINE},
        "unfinished": {DEADLINE},
        "finished": {DEADLINE},
    },
    "message": {
        "conversation": {HOUR_LATER},
        "messages": {DEADLINE},
        "unfinished": {HOUR_LATER},
        "finished": {HOUR_LATER},
    },
    "run": {
        "conversation": {HOUR_LATER},
        "messages": {DEADLINE, HOUR_LATER},
        "unfinished": {DEADLINE},
        "finished": {DEADLINE, HOUR_LATER},
    },
}


@pytest.mark.parametrize("subject", ENDS)
@pytest.mark.parametrize("style", [TimestampStyle(), TimestampStyle(-1439, 0), TimestampStyle(345, 2)])
def test_the_subject_expires_at_the_instant(subject: str, style: TimestampStyle) -> None:
    """However the instant is written, to the millisecond; no run expires before its messages."""
    document = made(subject, style)
    assert ENDS[subject] == ends(document)
    of_run = {run["id"]: instant(run["expires_at"]) for run in document.runs}
    assert all(instant(message["expires_at"]) <= of_run[message["run_id"]] for message in document.messages)


@pytest.mark.parametrize("subject", ENDS)
def test_what_is_seeded_is_legal(subject: str) -> None:
    """It keeps the invariants, and every text has a marker."""
    document = made(subject)
    result: dict[str, Any] = {
        "conversation": document.conversation,
        "messages": document.messages,
        "runs": document.runs,
        "availability": {"retention_hours": 24},
    }
    asked = {"conversation_id": document.conversation_id, "workspace_id": document.workspace_id}
    assert [] == list(conversation_breaches(result, asked))
    assert markers(document) == texts_of(document.messages)
    assert all(texts_of([message]) for message in document.messages)


def test_the_clock_decides_what_is_gone() -> None:
    """Until the millisecond before the deadline nothing is, from it on all that expires then."""
    blame = Blame.of("EXPIRY-BEFORE")
    document = made("message")
    before, at = (by_the_clock(document, now, blame) for now in (DEADLINE - 1, DEADLINE))
    assert [False, True] == [each.is_gone(document, document.messages[0]) for each in (before, at)]
    assert [{"available"}, {"available"}] == [each.availability for each in (before, at)]
    assert {"expired"} == by_the_clock(document, HOUR_LATER, blame).availability
    withheld = Expectation(NOW, frozenset({"access_changed"}), blame, withheld=True)
    assert withheld.is_gone(document, document.messages[0])


def test_a_late_answer_cites_what_the_conversation_has() -> None:
    """Only the conversation's evidence, with markers that nothing else has."""
    document = made("conversation")
    answer = fresh_answer(random.Random(2), document)  # noqa: S311 - test data, not secrets
    known = [(each["evidence_id"], each["revision"]) for each in document.conversation["context"]["evidence"]]
    cited = [*answer["answer"]["evidence"], *answer["sentiment"]]
    assert cited
    assert all((each["evidence_id"], each["revision"]) in known for each in cited)
    assert MARKER.findall(repr(answer))
    assert not set(MARKER.findall(repr(answer))) & markers(document)


def test_a_finding_is_told_once() -> None:
    """The first one of each requirement, operation and sentence."""
    first, second = Finding("A", "get", "One.", "x"), Finding("A", "get", "One.", "y")
    assert (first, Finding("B", "get", "One.")) == each_once([first, second, Finding("B", "get", "One.")])


@pytest.mark.parametrize(
    ("identifier", "moment", "shown", "get"),
    [
        ("EXPIRY-BEFORE", -1, "EXPIRY-BEFORE", "EXPIRY-GET-WITHOUT-TEXT"),
        ("EXPIRY-BEFORE", 0, "EXPIRY-AT-INSTANT", "EXPIRY-AT-INSTANT"),
        ("EXPIRY-BEFORE", 1, "EXPIRY-BEFORE", "EXPIRY-GET-WITHOUT-TEXT"),
        ("EXPIRY-OFFSET", -1, "EXPIRY-OFFSET", "EXPIRY-OFFSET"),
        ("EXPIRY-MESSAGE", -1, "EXPIRY-BEFORE", "EXPIRY-GET-WITHOUT-TEXT"),
        ("EXPIRY-MESSAGE", 0, "EXPIRY-MESSAGE", "EXPIRY-MESSAGE"),
    ],
)
def test_each_moment_has_its_requirement(identifier: str, moment: int, shown: str, get: str) -> None:
    """What is wrong before, at and after the deadline is laid to what the case is about."""
    blame = Boundary("conversation", identifier).blame(moment)
    assert (shown, get) == (blame.shown, blame.get)


def test_a_deadline_is_never_at_a_full_minute() -> None:
    """Else a server that counts in minutes would not be noticed."""
    deadline = Boundary("conversation", "EXPIRY-BEFORE", fraction=250).deadline(NOW)
    assert (37, 250) == (deadline // SECOND % 60, deadline % SECOND)
    assert 0 < deadline - NOW <= 11 * MINUTE


def test_refusals_that_differ_in_ids_and_noise_look_alike() -> None:
    """Ids are replaced; what changes from call to call, such as a rate limit's counter, tells nothing."""
    looks = [
        look_of(
            exchange(
                404,
                b'{"id": "%032x", "at": %d}' % (number, number),
                ("X-Remaining", str(number)),
                ("Date", str(number)),
            )
        )
        for number in range(10, 16)
    ]
    assert [] == list(distinguishing(looks[::2], looks[1::2]))


@pytest.mark.parametrize(
    ("foreign", "features"),
    [
        (exchange(403, b"{}"), ["status"]),
        (exchange(404, b"{ }"), ["body", "size of the body"]),
        (
            exchange(404, b"{}", ("Content-Type", "application/json"), ("Vary", "*")),
            ["names of the headers", "header vary"],
        ),
        (exchange(404, b"{}", ("Content-Type", "text/plain")), ["header content-type"]),
        (exchange(404, b"{}", reason="Not yours"), ["reason phrase"]),
    ],
)
def test_refusals_that_differ_are_told_apart(foreign: Any, features: list[str]) -> None:
    """By status, reason phrase, headers, text or size."""
    told = distinguishing([look_of(foreign)] * 3, [look_of(exchange(404, b"{}"))] * 3)
    assert features == [feature for feature, _, _ in told]
