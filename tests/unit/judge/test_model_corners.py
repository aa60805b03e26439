"""The reference model in corners that a story seldom reaches: what is no fault there, and which fault it is."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import pytest
from made_answers import GET, OWNER, exchange
from told import ANN, BOB, FAILURES, START, Told

from conformance.cases.stories import story_document
from conformance.judge.model import Judgement
from conformance.judge.model_calls import ModelCall
from conformance.judge.model_state import Result
from conformance.transport.exchange import Answer, Call, ErrorKind

COMPLETED, FAILED, PROCESSING, QUEUED = range(4)
HOUR = 3_600_000


@pytest.fixture
def told() -> Told:
    """Return a model with a conversation that has a run of every kind of progress."""
    return Told()


def told_with(messages: Sequence[int] | None = None, **changes: Any) -> Told:
    """Return a model with such a conversation that was stored with only these messages, and with changed members."""
    told = Told()
    stored = told.document
    conversation = {**stored.conversation, **changes}
    kept = stored.messages if messages is None else [stored.messages[index] for index in messages]
    told.document = dataclasses.replace(stored, conversation=conversation, messages=kept)
    told.model.begin("Ann", told.document, Fraction(START, 1000))
    return told


def without_text(told: Told, role: str) -> None:
    """Store the conversation so that the messages of a role have no text."""
    bare = [
        {**each, "question": None, "answer": None} if each["role"] == role else each for each in told.document.messages
    ]
    told.document = dataclasses.replace(told.document, messages=bare)
    told.model.begin("Ann", told.document, Fraction(START, 1000))


def given_back(told: Told) -> None:
    """Withdraw access and grant it again."""
    told.model.set_access(told.document.conversation_id, "access_changed")
    told.model.set_access(told.document.conversation_id, "granted")


def judged(told: Told, call: ModelCall, answer: Answer) -> list[str]:
    """Return what an answer without a result breaks, and keep the choices that it shows."""
    judgement: Judgement = told.model.judge(call, answer, None)
    told.freedoms |= judgement.freedoms
    return sorted(finding.requirement for finding in judgement.findings)


def refusal(status: int, kinds: frozenset[ErrorKind] | None) -> Answer:
    """Return a refusal of these kinds."""
    return Answer(Call(GET, b"{}", OWNER), exchange(status), "refused", kinds, None)


def names(told: Told) -> set[str]:
    """Return the names of the choices that were seen."""
    return {name for name, _ in told.freedoms}


def moment(milliseconds: int) -> str:
    """Return the time so long after the start."""
    return datetime.fromtimestamp((START + milliseconds) / 1000, UTC).isoformat(timespec="milliseconds")


# Refusals and failures


def test_where_anything_is_allowed_a_failure_of_the_server_is_not(told: Told) -> None:
    """Any refusal will do, also one of no known kind; a 5xx will not."""
    told.at(told.lifetime)
    failed = Answer(Call(GET, b"{}", OWNER), exchange(500), "server-error", frozenset(), None)
    assert ["HTTP-NO-SERVER-ERROR"] == judged(told, told.archive_call(), failed)
    assert [] == judged(told, told.archive_call(), refusal(418, frozenset()))


def test_how_an_unknown_id_is_refused_is_seen_by_the_status_alone(told: Told) -> None:
    """A binding without such statuses shows no choice."""
    assert [] == judged(told, told.call("get", BOB), refusal(200, None))
    assert "OPEN-UNKNOWN-ID-KIND" not in names(told)
    assert [] == judged(told, told.call("get", BOB), refusal(404, None))
    assert ("OPEN-UNKNOWN-ID-KIND", "not_found") in told.freedoms


def test_a_refusal_of_no_told_kind_is_one(told: Told) -> None:
    """The archive was not applied, and works with the right revision."""
    assert [] == judged(told, told.archive_call(revision=told.revision - 1), refusal(200, None))
    assert [] == told.get(told.live())
    assert [] == told.archive(told.archived())


# Replays


def test_a_replay_shows_the_first_messages(told: Told) -> None:
    """One that is left out is another result."""
    assert [] == told.archive(told.archived())
    fewer = told.archived()
    fewer["messages"].pop()
    assert ["REPLAY-SAME-RESULT"] == told.archive(fewer)


def test_a_replay_that_shows_the_present_revision_was_not_applied_again(told: Told) -> None:
    """When something else has raised the revision, that is another result and no second archive."""
    assert [] == told.archive(told.archived())
    told.deliver(QUEUED)
    now = told.archived(revision=told.revision + 2)
    assert [] == told.get(now)
    assert ["REPLAY-SAME-RESULT"] == told.archive(now)
    assert ["REPLAY-APPLIED-ONCE"] == told.archive(told.archived(revision=told.revision + 3))


def test_a_replay_of_what_was_withheld_may_show_anything_without_text(told: Told) -> None:
    """Left open 4 and 17: it may be withheld still."""
    assert [] == told.archive(told.archived())
    given_back(told)
    assert [] == told.archive(told.archived(revision=told.revision + 5))


def test_a_person_does_not_block_himself(told: Told) -> None:
    """A key that only he has used before is no other person's."""
    assert [] == told.archive("not_found", BOB)
    assert ["ARCHIVE-OTHER-USER", "PRIVACY-OTHER-USER"] == told.archive(told.archived(), BOB)


def test_a_key_of_another_person_explains_more_than_a_conflict_before(told: Told) -> None:
    """Where both may be the reason of a refusal, the key is blamed."""
    bobs = told.another("Bob")
    assert [] == told.archive(told.archived(bobs), BOB, document=bobs)
    assert [] == told.archive("conflict", key=1, revision=told.revision - 1)
    assert ["REPLAY-OTHER-USER-UNBLOCKED"] == told.archive("conflict")


def test_own_gone_text_in_an_answer_about_another_person(told: Told) -> None:
    """It does not stand in its place there, so it is told besides."""
    bobs = told.another("Bob")
    assert [] == told.archive(told.archived(bobs), BOB, document=bobs)
    foreign = {**told.gone("available", None, title=None), "debug": bobs.messages[0]["question"]}
    assert ["PRIVACY-ERROR-TEXT", "PRIVACY-OTHER-USER"] == told.get(foreign, BOB)


# Messages


def test_a_message_whose_time_is_over_may_be_left_out() -> None:
    """Its text must be gone; its frame need not stay."""
    told = Told("parts that expire early")
    state = told.model.conversation(told.document.conversation_id)
    told.at(int(max(run.expires_at for run in state.runs) * 1000) - START)
    value = told.gone("available", "expired")
    now = told.model.conversation(told.document.conversation_id)
    over = {each.id for each in now.messages if now.past(each)}
    value["messages"] = [each for each in value["messages"] if each["id"].lower() not in over]
    assert over
    assert [] == told.get(value)


def test_text_is_gone_everywhere_at_the_instant_and_not_before() -> None:
    """A message that expires by itself is looked for in headers from then on."""
    told = Told("parts that expire early")
    state = told.model.conversation(told.document.conversation_id)
    first = min(state.messages, key=lambda each: each.expires_at)
    text = str(first.value["question"] or first.value["answer"])
    instant = int(first.expires_at * 1000) - START
    for after, found in ((-1, []), (0, ["PRIVACY-HEADER"])):
        told.at(instant + after)
        value = told.live()
        for message in value["messages"]:
            if after == 0 and message["expires_at"] == first.value["expires_at"]:
                message |= {"question": None, "answer": None}
        assert found == told.judge(told.call("get", ANN), value, header=text.encode().hex())


def test_messages_that_are_missing_beside_a_wrong_expiry_are_one_fault(told: Told) -> None:
    """A server that takes the conversation for expired leaves them out for that."""
    assert ["EXPIRY-BEFORE"] == told.get({**told.live(availability="expired"), "messages": []})


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_message_that_was_stored_without_text_has_none(told: Told, role: str) -> None:
    """That is how it must come back."""
    without_text(told, role)
    assert [] == told.get(told.live())


def _new_message(told: Told, expires_at: str) -> dict[str, Any]:
    """Return the conversation with a delivered result, whose message expires at that time."""
    result = told.deliver(QUEUED)
    given_back(told)
    value = _completed(told.live(), result)
    value["messages"][-1]["expires_at"] = expires_at
    return value


@pytest.mark.parametrize(("later", "broken"), [(-1, ["EXPIRY-MESSAGE"]), (0, ["EXPIRY-MESSAGE"]), (1, [])])
def test_the_message_of_a_result_has_a_time_of_its_own(told: Told, later: int, broken: list[str]) -> None:
    """Once that is over it must show no text, though the conversation does; the instant decides."""
    told.at(HOUR)
    assert broken == told.get(_new_message(told, moment(HOUR + later)))


def test_text_past_its_time_is_blamed_on_time(told: Told) -> None:
    """Not on having been delivered while access was withdrawn, when it is granted again."""
    told.at(HOUR)
    told.model.set_access(told.document.conversation_id, "access_changed")
    assert ["EXPIRY-MESSAGE"] == told.get(_new_message(told, moment(HOUR)))


# Access that is granted again


@pytest.mark.parametrize("status", ["failed", "cancelled", "expired", "unavailable"])
def test_an_active_run_may_have_ended_while_access_was_withdrawn(told: Told, status: str) -> None:
    """Left open 15: in whatever way, and it may show so afterwards."""
    given_back(told)
    value = told.live()
    value["runs"][QUEUED] |= {"status": status, "failure_code": FAILURES[status]}
    assert [] == told.get(value)


def test_available_without_its_text_has_stayed_gone(told: Told) -> None:
    """Left open 17: whatever availability is shown, a text that is due and null was not given back."""
    given_back(told)
    assert [] == told.get(told.gone("available", None))
    assert ("OPEN-ACCESS-GRANTED-AGAIN", "stays gone") in told.freedoms


def test_a_question_alone_shows_whether_text_has_stayed_gone() -> None:
    """It is a private text as an answer is."""
    questions = [index for index, each in enumerate(Told().document.messages) if each["role"] == "user"]
    told = told_with(questions)
    given_back(told)
    assert [] == told.get(told.gone("available", None))
    assert ("OPEN-ACCESS-GRANTED-AGAIN", "stays gone") in told.freedoms


def test_a_conversation_without_text_does_not_show_what_came_of_it() -> None:
    """Nothing can come back, and nothing stays gone."""
    told = told_with()
    for role in ("user", "assistant"):
        without_text(told, role)
    given_back(told)
    assert [] == told.get(told.live())
    assert "OPEN-ACCESS-GRANTED-AGAIN" not in names(told)


def test_an_archive_of_what_stayed_gone_is_the_reason_from_then_on(told: Told) -> None:
    """Text that comes back breaks the rules of the archive."""
    given_back(told)
    assert [] == told.get(told.gone("access_changed", None))
    assert [] == told.archive(told.archived())
    assert [] == told.get(told.archived())
    shown = {**told.archived(), "messages": told.live()["messages"]}
    assert ["ARCHIVE-LASTS"] == told.get(shown)


def test_text_may_be_given_back_after_a_second_time(told: Told) -> None:
    """What runs showed while it stayed gone says nothing of how they are."""
    given_back(told)
    away = told.gone("access_changed", "unavailable")
    away["runs"][COMPLETED] |= {"model_id": None, "model_version": None}
    assert [] == told.get(away)
    given_back(told)
    assert [] == told.get(told.live())


def test_a_run_that_was_seen_to_have_ended_does_not_go_on(told: Told) -> None:
    """Once text is back, what a run shows is what it is."""
    given_back(told)
    value = told.live()
    value["runs"][QUEUED] |= {"status": "expired", "failure_code": "expired"}
    assert [] == told.get(value)
    told.deliver(PROCESSING)
    assert [] == told.get(value)
    assert [] != told.get(told.live())
    told.deliver(PROCESSING)
    assert [] != told.get(told.live())


# Workers' results


def _completed(value: dict[str, Any], result: Result, digit: str = "a") -> dict[str, Any]:
    """Add the worker's result for the queued run to what is shown, with a message of its own."""
    run = value["runs"][QUEUED]
    run |= {"status": "completed", "model_id": result.model_id, "model_version": result.model_version}
    value["messages"].append({
        "id": f"00000000-0000-4000-8000-00000000000{digit}", "run_id": run["id"], "role": "assistant",
        "question": None, "answer": result.answer, "created_at": run["created_at"], "expires_at": run["expires_at"],
    })  # fmt: skip
    return value


def test_a_result_has_one_message(told: Told) -> None:
    """A second one was never delivered, whatever has happened meanwhile."""
    result = told.deliver(QUEUED)
    once = _completed(told.live(), result)
    assert [] == told.get(once)
    told.deliver(PROCESSING)
    assert [] == told.get(once)
    told.deliver(PROCESSING)
    assert [] != told.get(_completed(_completed(told.live(), result), result, "b"))


def test_a_result_that_was_dropped_does_not_come_later(told: Told) -> None:
    """Whatever has happened meanwhile."""
    result = told.deliver(QUEUED)
    assert [] == told.get(told.live())
    told.deliver(PROCESSING)
    assert [] != told.get(_completed(told.live(), result))
    unfinished = {**_completed(told.live(), result), "runs": told.live()["runs"]}
    assert [] != told.get(unfinished)


@pytest.mark.parametrize("member", ["model_id", "model_version"])
def test_a_completed_run_names_the_model_of_its_worker(told: Told, member: str) -> None:
    """Or none."""
    value = _completed(told.live(), told.deliver(QUEUED))
    value["runs"][QUEUED][member] = "another"
    assert ["IDENTITY-SEEDED-CONTENT"] == told.get(value)
    value["runs"][QUEUED][member] = None
    assert [] == told.get(value)


def test_a_run_that_goes_on_keeps_the_model_that_it_has(told: Told) -> None:
    """A result that is not taken says nothing of it."""
    told.document.runs[QUEUED] |= {"model_id": "its own", "model_version": "its own"}
    told.model.begin("Ann", told.document, Fraction(START, 1000))
    told.deliver(QUEUED)
    assert [] == told.get(told.live())


def told_of_a_short_run() -> Told:
    """Return a model in which the queued run, and nothing else, expires after an hour."""
    told = Told()
    told.document.runs[QUEUED] |= {"expires_at": moment(HOUR)}
    told.model.begin("Ann", told.document, Fraction(START, 1000))
    return told


def test_a_run_expires_by_itself() -> None:
    """Also where no message expires with it."""
    told = told_of_a_short_run()
    told.at(HOUR)
    assert ["EXPIRY-RUN"] == told.get(told.live())
    value = told.live()
    value["runs"][QUEUED] |= {"status": "expired", "failure_code": "expired"}
    assert [] == told.get(value)


def test_an_expired_run_may_have_been_completed_in_time() -> None:
    """Left open 15: it may show itself expired, and later its own status."""
    told = told_of_a_short_run()
    result = told.deliver(QUEUED)
    told.at(HOUR)
    value = told.live()
    value["runs"][QUEUED] |= {"status": "expired", "failure_code": "expired"}
    assert [] == told.get(value)
    told.deliver(PROCESSING)
    value["runs"][QUEUED] |= {"status": "completed", "failure_code": None, "model_id": result.model_id}
    assert [] == told.get(value)


# Clocks and frames


def test_each_workspace_has_its_clock(told: Told) -> None:
    """What expires in one does not in another."""
    other = story_document("an answer and a queued run", START, told.rng, "00000000-0000-4000-9000-0000000000ff")
    told.model.begin("Ann", other, Fraction(START, 1000))
    told.at(told.lifetime)
    assert [] == told.get(told.live(other), document=other)
    assert [] == told.get(told.gone("expired", "expired"))


def test_the_frame_of_a_message_whose_time_is_over_stays_as_it_was() -> None:
    """Where it is shown at all."""
    told = Told("parts that expire early")
    state = told.model.conversation(told.document.conversation_id)
    told.at(int(max(run.expires_at for run in state.runs) * 1000) - START)
    value = told.gone("available", "expired")
    value["messages"][0]["created_at"] = moment(-HOUR)
    assert ["IDENTITY-SEEDED-CONTENT"] == told.get(value)


# Choices that are none


def test_a_run_without_messages_shows_no_choice() -> None:
    """Neither while the conversation is available nor afterwards."""
    told = told_with([])
    assert [] == told.get(told.live())
    assert [] == told.status(QUEUED, told.status_of(told.live(), QUEUED, None))
    told.at(told.lifetime)
    frame = {**Told().document.messages[0], "question": None, "answer": None}
    gone = told.gone("expired", "expired")
    assert [] == told.status(COMPLETED, told.status_of(gone, COMPLETED, frame))
    assert not {"OPEN-QUESTION-ONLY-MESSAGE", "OPEN-WITHHELD-STATUS-FORM"} & names(told)


def test_an_answer_without_text_shows_no_choice(told: Told) -> None:
    """Whether its frame is shown once all is gone says nothing of texts."""
    without_text(told, "assistant")
    told.at(told.lifetime)
    gone = told.gone("expired", "expired")
    assert [] == told.status(COMPLETED, told.status_of(gone, COMPLETED, None))
    assert "OPEN-WITHHELD-STATUS-FORM" not in names(told)


def test_a_title_that_never_was_shows_no_choice() -> None:
    """Left open 8 is about a title that there is."""
    told = told_with(title=None)
    assert [] == told.archive(told.archived())
    assert "OPEN-ARCHIVED-TITLE" not in names(told)
    assert "OPEN-ARCHIVED-CONTEXT" in names(told)
