"""The reference model: every derived rule, kept and broken, and every choice that the contract leaves open."""

from __future__ import annotations

from typing import Any

import pytest
from told import ANN, BOB, DAY, NO_SCOPE, OTHER_TOKEN, START, Told

from conformance.errors import SuiteFault

COMPLETED, FAILED, PROCESSING, QUEUED = range(4)
"""The runs of the conversation "runs of every kind of progress"."""


@pytest.fixture
def told() -> Told:
    """Return a model with a conversation that has a run of every kind of progress."""
    return Told()


def with_run(value: dict[str, Any], run: int, **changes: Any) -> dict[str, Any]:
    """Return the result with changed members of one run."""
    value["runs"][run] |= changes
    return value


def test_an_available_conversation_is_shown_as_stored(told: Told) -> None:
    """Its own reader gets everything, again and again, and the status of each run agrees."""
    assert [] == told.get(told.live())
    assert [] == told.get(told.live(), OTHER_TOKEN)
    for run in range(4):
        assert [] == told.status(run, told.status_of(told.live(), run))
    assert [] == told.get(told.live())


@pytest.mark.parametrize(
    ("member", "value", "requirement"),
    [
        ("title", "another", "IDENTITY-SEEDED-CONTENT"),
        ("title", None, "IDENTITY-SEEDED-CONTENT"),
        ("language", "xx", "IDENTITY-SEEDED-CONTENT"),
        ("archived", True, "IDENTITY-SEEDED-CONTENT"),
        ("expires_at", "2026-09-23T00:00:00Z", "IDENTITY-SEEDED-INSTANT"),
        ("availability", "expired", "EXPIRY-BEFORE"),
        ("availability", "access_changed", "READ-AVAILABLE"),
    ],
)
def test_another_conversation_than_stored(told: Told, member: str, value: Any, requirement: str) -> None:
    """At the first read, what differs was not kept as it was stored."""
    assert [requirement] == told.get(told.live(**{member: value}))


def test_another_revision_than_stored(told: Told) -> None:
    """At the first read it was stored wrong; later something has changed it."""
    assert ["IDENTITY-SEEDED-CONTENT"] == told.get(told.live(revision=told.revision + 1))
    assert [] == told.get(told.live())
    assert ["READ-UNCHANGED"] == told.get(told.live(revision=told.revision + 1))


def test_missing_changed_and_invented_messages(told: Told) -> None:
    """Every message comes back in its place with its text, and no other."""
    missing, bare, reversed_, changed, invented = (told.live() for _ in range(5))
    missing["messages"].pop()
    bare["messages"][0]["question"] = None
    reversed_["messages"].reverse()
    changed["messages"][0]["question"] = "another"
    invented["messages"].append({**invented["messages"][0], "id": "00000000-0000-4000-8000-0000000000ff"})
    for value in (missing, bare, reversed_, changed, invented):
        assert ["IDENTITY-SEEDED-CONTENT"] == told.get(value)


def test_missing_and_changed_runs(told: Told) -> None:
    """Every run comes back as it was stored."""
    missing = told.live()
    missing["runs"].pop()
    assert ["IDENTITY-SEEDED-CONTENT"] == told.get(missing)
    assert ["IDENTITY-SEEDED-CONTENT"] == told.get(with_run(told.live(), QUEUED, status="processing"))
    assert ["EXPIRY-BEFORE"] == told.get(with_run(told.live(), QUEUED, status="expired", failure_code="expired"))
    assert [] == told.get(told.live())
    assert ["READ-NEVER-GENERATES"] == told.get(with_run(told.live(), FAILED, generation=7))


def test_the_status_disagrees(told: Told) -> None:
    """Another run object, message or revision than the conversation has."""
    right = told.status_of(told.live(), COMPLETED)
    question = next(each for each in told.document.messages if each["role"] == "user")
    assert ["IDENTITY-STATUS-RUN"] == told.status(COMPLETED, {**right, "run": {**right["run"], "model_id": "x"}})
    assert ["IDENTITY-STATUS-REVISION"] == told.status(COMPLETED, {**right, "conversation_revision": 1})
    assert ["IDENTITY-STATUS-MESSAGE"] == told.status(COMPLETED, {**right, "message": None})
    assert ["IDENTITY-STATUS-MESSAGE"] == told.status(COMPLETED, {**right, "message": question})


def test_a_run_with_only_a_question_shows_it_or_nothing(told: Told) -> None:
    """Left open 16; but one answer like the other while nothing happens."""
    question = next(each for each in told.document.messages if each["run_id"] == told.document.runs[QUEUED]["id"])
    shown = told.status_of(told.live(), QUEUED, question)
    assert [] == told.status(QUEUED, shown)
    assert ("OPEN-QUESTION-ONLY-MESSAGE", "the question") in told.freedoms
    assert ["READ-UNCHANGED"] == told.status(QUEUED, told.status_of(told.live(), QUEUED, None))


def test_status_may_insist_on_a_sentiment_run(told: Told) -> None:
    """Left open 9: the processing run is of another kind; for the others a refusal is a fault."""
    assert [] == told.status(PROCESSING, "not_found")
    assert ["READ-AVAILABLE"] == told.status(QUEUED, "not_found")


@pytest.mark.parametrize("channel", ["get", "status"])
def test_who_may_read(told: Told, channel: str) -> None:
    """The owner with any token that has the scope, and nobody else."""

    def read(came: Any, caller: Any) -> list[str]:
        return told.get(came, caller) if channel == "get" else told.status(COMPLETED, came, caller)

    right = told.live() if channel == "get" else told.status_of(told.live(), COMPLETED)
    assert ["READ-AVAILABLE"] == read("not_found", ANN)
    assert ["READ-OTHER-TOKEN"] == read("forbidden", OTHER_TOKEN)
    assert [] == read("not_found", BOB)
    assert [] == read("forbidden", BOB)
    assert ["READ-UNKNOWN-ID"] == read("conflict", BOB)
    assert ["PRIVACY-OTHER-USER"] == read(right, BOB)
    assert [] == read("forbidden", NO_SCOPE)
    assert ["AUTH-SCOPE-MISSING"] == read("unauthenticated", NO_SCOPE)
    assert ["AUTH-NO-CONTENT", "AUTH-SCOPE-MISSING"] == read(right, NO_SCOPE)


def test_what_is_refused_changes_nothing(told: Told) -> None:
    """A change is blamed on what was refused before it."""
    assert [] == told.get(told.live())
    assert [] == told.get("not_found", BOB)
    assert ["READ-FAILED-UNCHANGED"] == told.get(told.live(revision=told.revision + 1))
    assert [] == told.archive("forbidden", NO_SCOPE)
    assert ["AUTH-REFUSED-UNCHANGED"] == told.get(told.live(revision=told.revision + 1))


# Archive


def test_a_proper_archive(told: Told) -> None:
    """It succeeds, and all that follows shows it."""
    assert [] == told.archive(told.archived())
    assert [] == told.get(told.archived())
    for run in range(4):
        assert [] == told.status(run, told.status_of(told.archived(), run))
    assert ("OPEN-REVISION-STEP", "by one") in told.freedoms


@pytest.mark.parametrize(
    ("changes", "freedom"),
    [
        ({"title": None}, ("OPEN-ARCHIVED-TITLE", "gone")),
        ({"language": "und"}, ("OPEN-ARCHIVED-LANGUAGE", "replaced")),
        ({"revision": 100_000}, ("OPEN-REVISION-STEP", "by more")),
    ],
)
def test_what_an_archive_may_leave(told: Told, changes: dict[str, Any], freedom: tuple[str, str]) -> None:
    """Left open 8 and 16."""
    assert [] == told.archive(told.archived(**changes))
    assert [] == told.get(told.archived(**changes))
    assert freedom in told.freedoms


def test_withheld_messages_may_be_left_out(told: Told) -> None:
    """Left open 10: an empty list, or a null message beside a run."""
    value = told.archived()
    empty = {**value, "messages": []}
    assert [] == told.archive(empty)
    assert [] == told.get(empty)
    assert [] == told.status(COMPLETED, told.status_of(value, COMPLETED, None))
    assert {("OPEN-WITHHELD-FORM", "empty list"), ("OPEN-WITHHELD-STATUS-FORM", "null message")} <= told.freedoms


def _with_text(told: Told) -> dict[str, Any]:
    return {**told.archived(), "messages": told.live()["messages"]}


@pytest.mark.parametrize(
    ("make", "requirement"),
    [
        (_with_text, "ARCHIVE-ANSWER-WITHOUT-TEXT"),
        (lambda told: told.archived(archived=False), "ARCHIVE-FLAG"),
        (lambda told: told.archived(availability="available"), "ARCHIVE-AVAILABILITY"),
        (lambda told: told.archived(availability="expired"), "ARCHIVE-AVAILABILITY"),
        (lambda told: told.archived(revision=told.revision), "REVISION-GROWS"),
        (lambda told: with_run(told.archived(), QUEUED, status="queued"), "ARCHIVE-ACTIVE-CANCELLED"),
        (lambda told: with_run(told.archived(), PROCESSING, status="completed"), "ARCHIVE-ACTIVE-CANCELLED"),
        (lambda told: with_run(told.archived(), COMPLETED, status="cancelled"), "ARCHIVE-FINISHED-KEPT"),
        (lambda told: told.archived(title="another"), "IDENTITY-SEEDED-CONTENT"),
        (lambda _: "conflict", "ARCHIVE-ACCEPTED"),
    ],
)
def test_a_wrong_archive(told: Told, make: Any, requirement: str) -> None:
    """Each way in which an archive's own answer can be wrong."""
    assert [requirement] == told.archive(make(told))


@pytest.mark.parametrize(
    ("make", "requirement"),
    [
        (_with_text, "ARCHIVE-GET-WITHOUT-TEXT"),
        (lambda told: told.archived(archived=False), "ARCHIVE-FLAG"),
        (lambda told: told.archived(revision=told.revision + 2), "REVISION-CHAINS"),
        (lambda told: told.archived(title=None), "ARCHIVE-READ-BACK"),
        (lambda _: "not_found", "ARCHIVE-READ-BACK"),
    ],
)
def test_a_read_back_that_differs(told: Told, make: Any, requirement: str) -> None:
    """The next read must show what the archive's answer did."""
    assert [] == told.archive(told.archived())
    assert [requirement] == told.get(make(told))


def test_a_status_that_keeps_text(told: Told) -> None:
    """After an archive the status of a run has no text either."""
    assert [] == told.archive(told.archived())
    shown = told.status_of(told.archived(), COMPLETED, told.status_of(told.live(), COMPLETED)["message"])
    assert ["ARCHIVE-STATUS-WITHOUT-TEXT"] == told.status(COMPLETED, shown)


@pytest.mark.parametrize(("restart", "requirement"), [(False, "ARCHIVE-LASTS"), (True, "ARCHIVE-SURVIVES-RESTART")])
def test_an_archive_lasts(told: Told, restart: bool, requirement: str) -> None:  # noqa: FBT001 - a table of two
    """What was seen to be gone does not come back, nor does a restart bring it back."""
    assert [] == told.archive(told.archived())
    assert [] == told.get(told.archived())
    if restart:
        told.model.restart()
        assert [] == told.get(told.archived())
        told.model.restart()
    assert [requirement] == told.get(_with_text(told))


def test_other_conversations_are_untouched(told: Told) -> None:
    """An archive changes nothing in a neighbour."""
    neighbour = told.another("Ann")
    assert [] == told.get(told.live(neighbour), document=neighbour)
    assert [] == told.archive(told.archived())
    changed = told.live(neighbour, revision=neighbour.conversation["revision"] + 1)
    assert ["ARCHIVE-OTHERS-UNTOUCHED"] == told.get(changed, document=neighbour)


def test_nobody_else_archives(told: Told) -> None:
    """Another person is refused as with an unknown id, and nothing changes."""
    assert [] == told.archive("not_found", BOB)
    assert ["ARCHIVE-OTHER-USER"] == told.archive("conflict", BOB, key=1)
    assert ["ARCHIVE-OTHER-USER", "PRIVACY-OTHER-USER"] == told.archive(told.archived(), BOB, key=2)
    assert ["ARCHIVE-OTHER-USER"] == told.get(told.live(revision=told.revision + 1))


def test_a_second_archive(told: Told) -> None:
    """Left open 6: with a new key and the current revision a no-op or a conflict; with another one a conflict."""
    assert [] == told.archive(told.archived())
    current = told.revision + 1
    assert [] == told.archive("conflict", key=1, revision=current)
    assert [] == told.archive(told.archived(), key=2, revision=current)
    assert {("OPEN-SECOND-ARCHIVE", "conflict"), ("OPEN-SECOND-ARCHIVE", "no-op success")} <= told.freedoms
    assert ["REVISION-CONFLICT-KIND"] == told.archive("not_found", key=3, revision=current)
    assert ["REVISION-STALE-REFUSED"] == told.archive(told.archived(), key=3, revision=told.revision)


# Revisions


def test_revision_conflicts(told: Told) -> None:
    """Another revision than the current one is a conflict, changes nothing, and the right one works afterwards."""
    assert [] == told.archive("conflict", revision=told.revision - 1)
    assert [] == told.archive("conflict", revision=told.revision + 1, key=1)
    assert ["REVISION-CONFLICT-KIND"] == told.archive("not_found", revision=told.revision - 1, key=2)
    assert ["REVISION-STALE-REFUSED"] == told.archive(told.archived(), revision=told.revision - 1, key=2)
    assert ["REVISION-AHEAD-REFUSED"] == told.archive(told.archived(), revision=told.revision + 1, key=2)
    assert ["REVISION-CONFLICT-UNCHANGED"] == told.get(told.live(revision=told.revision + 1))
    assert ["REVISION-CURRENT-AFTER-CONFLICT"] == told.archive("conflict", key=3)
    assert [] == told.archive(told.archived(), key=3)


def test_a_refused_attempt_may_bind_its_key(told: Told) -> None:
    """Left open 5: the key of a refused attempt may be used for another call, or conflict."""
    assert [] == told.archive("conflict", revision=told.revision - 1)
    assert [] == told.archive("conflict")
    assert [] == told.archive(told.archived())
    assert {("OPEN-REFUSED-KEY", "bound"), ("OPEN-REFUSED-KEY", "free")} <= told.freedoms


# Replay


def test_a_replay_brings_the_first_result(told: Told) -> None:
    """At once, by another token, after reads, after time and after a restart."""
    assert [] == told.archive(told.archived())
    assert [] == told.archive(told.archived())
    assert [] == told.get(told.archived())
    assert [] == told.archive(told.archived(), OTHER_TOKEN)
    told.at(3_600_000)
    assert [] == told.archive(told.archived())
    told.model.restart()
    assert [] == told.archive(told.archived())


@pytest.mark.parametrize(
    ("event", "caller", "requirement"),
    [
        (lambda _: None, ANN, "REPLAY-SAME-RESULT"),
        (lambda _: None, OTHER_TOKEN, "REPLAY-OTHER-TOKEN"),
        (lambda told: told.at(23 * 3_600_000), ANN, "REPLAY-AFTER-TIME"),
        (lambda told: told.model.restart(), ANN, "REPLAY-AFTER-RESTART"),
    ],
)
def test_a_replay_that_is_not_recognised(told: Told, event: Any, caller: Any, requirement: str) -> None:
    """A refusal is blamed on what lies between."""
    assert [] == told.archive(told.archived())
    event(told)
    assert [requirement] == told.archive("conflict", caller)


def test_a_replay_that_is_applied_again(told: Told) -> None:
    """It is seen in its own answer, or in the next read."""
    assert [] == told.archive(told.archived())
    again = told.archived(revision=told.revision + 2)
    assert ["REPLAY-APPLIED-ONCE"] == told.archive(again)
    assert [] == told.archive(told.archived())
    assert ["REPLAY-APPLIED-ONCE"] == told.get(again)


def test_a_replay_with_another_result(told: Told) -> None:
    """The first result, and not another one."""
    assert [] == told.archive(told.archived())
    assert ["REPLAY-SAME-RESULT"] == told.archive(told.archived(title=None))


def test_a_used_key_with_other_arguments(told: Told) -> None:
    """It is refused as a conflict and changes nothing, here or there."""
    neighbour = told.another("Ann")
    assert [] == told.archive(told.archived())
    assert [] == told.archive("conflict", revision=told.revision + 1)
    assert [] == told.archive("conflict", document=neighbour)
    assert ["REPLAY-CONFLICT-KIND"] == told.archive("not_found", document=neighbour)
    first = told.archived()
    assert ["REPLAY-OTHER-ARGUMENTS-REFUSED"] == told.archive(first, revision=told.revision + 1)
    changed = told.live(neighbour, revision=neighbour.conversation["revision"] + 1)
    assert ["REPLAY-REFUSED-UNCHANGED"] == told.get(changed, document=neighbour)


def test_keys_belong_to_the_person(told: Told) -> None:
    """Another person's key neither answers nor blocks; a replay without the scope is refused."""
    bobs = told.another("Bob")
    assert [] == told.archive(told.archived())
    assert ["REPLAY-SCOPE-CHECKED"] == told.archive("conflict", NO_SCOPE)
    assert [] == told.archive("not_found", BOB)
    answered = told.archive(told.archived(), BOB)
    assert ["PRIVACY-OTHER-USER", "REPLAY-OTHER-USER-UNANSWERED"] == answered
    assert [] == told.archive(told.archived(bobs), BOB, key=0, document=bobs)


def test_a_key_of_another_person_blocks(told: Told) -> None:
    """A person's first use of a key that somebody else has used must succeed."""
    bobs = told.another("Bob")
    assert [] == told.archive(told.archived())
    assert ["REPLAY-OTHER-USER-UNBLOCKED"] == told.archive("conflict", BOB, document=bobs)


def test_an_answer_that_was_lost(told: Told) -> None:
    """It may have been applied or not; either is held against everything that follows, and never both."""
    told.model.lose(told.archive_call())
    assert 2 == len(told.model.worlds)
    assert [] == told.archive("in_progress")
    assert [] == told.archive(told.archived(revision=told.revision + 3))
    assert [] == told.archive(told.archived(revision=told.revision + 3))
    assert ["REPLAY-SAME-RESULT"] == told.archive("conflict")


@pytest.mark.parametrize("applied", [True, False])
def test_a_read_shows_whether_a_lost_call_was_applied(told: Told, applied: bool) -> None:  # noqa: FBT001 - a table of two
    """The world that an answer contradicts is dropped."""
    told.model.lose(told.archive_call())
    assert [] == told.get(told.archived() if applied else told.live())
    assert 1 == len(told.model.worlds)
    assert applied == told.model.world.conversations[told.document.conversation_id].archived
    assert [] != told.get(told.live() if applied else told.archived())


# Expiry


def test_the_boundary_of_expiry(told: Told) -> None:
    """A millisecond before all is there; at the instant and after it nothing."""
    told.at(told.lifetime - 1)
    assert ["EXPIRY-BEFORE"] == told.get(told.gone("expired", "expired"))
    assert [] == told.get(told.live())
    told.at(told.lifetime)
    assert ["EXPIRY-AT-INSTANT", "EXPIRY-RUNS-EXPIRED"] == told.get(told.live())
    assert [] == told.get(told.gone("expired", "expired"))
    assert [] == told.status(QUEUED, told.status_of(told.gone("expired", "expired"), QUEUED))
    told.at(told.lifetime + DAY)
    assert ["EXPIRY-FINAL", "EXPIRY-RUNS-EXPIRED"] == told.get(told.live())


def test_what_is_wrong_after_expiry(told: Told) -> None:
    """Availability, text and unfinished runs, each by itself."""
    told.at(told.lifetime + 1)
    expired = told.gone("expired", "expired")
    assert ["EXPIRY-AVAILABILITY"] == told.get(told.gone("available", "expired"))
    assert ["EXPIRY-AVAILABILITY"] == told.get("not_found")
    assert ["EXPIRY-GET-WITHOUT-TEXT"] == told.get({**expired, "messages": told.live()["messages"]})
    assert ["EXPIRY-RUNS-EXPIRED"] == told.get(told.gone("expired", None))
    text = told.status_of(told.live(), COMPLETED)["message"]
    assert ["EXPIRY-STATUS-WITHOUT-TEXT"] == told.status(COMPLETED, told.status_of(expired, COMPLETED, text))
    with_text = {**expired, "messages": told.live()["messages"]}
    assert ["EXPIRY-ARCHIVE-WITHOUT-TEXT"] == told.archive(with_text)


def test_expiry_survives_a_restart(told: Told) -> None:
    """What has expired does not come back with a restart."""
    told.at(told.lifetime + 1)
    assert [] == told.get(told.gone("expired", "expired"))
    told.model.restart()
    assert "EXPIRY-SURVIVES-RESTART" in told.get(told.live())


@pytest.mark.parametrize("status", ["completed", "expired", "unavailable"])
@pytest.mark.parametrize("grown", [0, 1, 5])
def test_choices_after_expiry(told: Told, status: str, grown: int) -> None:
    """Left open 15 and 16: the status of finished runs, a revision that has grown once, and the title."""
    told.at(told.lifetime)
    codes = {"completed": None, "expired": "expired", "unavailable": "source_unavailable"}
    value = told.gone("expired", "expired", revision=told.revision + grown, title=None)
    with_run(value, COMPLETED, status=status, failure_code=codes[status])
    assert [] == told.get(value)
    assert [] == told.get(value)
    choice = "its own" if status == "completed" else status
    assert {("OPEN-FINISHED-RUN-WITHHELD", choice), ("OPEN-WITHHELD-TITLE", "gone")} <= told.freedoms
    assert ("OPEN-EXPIRY-REVISION", "grows" if grown else "stays") in told.freedoms
    value["conversation"]["revision"] += 1
    assert ["READ-UNCHANGED"] == told.get(value)


def test_an_archive_after_expiry_may_be_anything_without_text(told: Told) -> None:
    """Left open 12."""
    told.at(told.lifetime)
    assert [] == told.archive("not_found")
    assert [] == told.archive("conflict", key=1)
    assert [] == told.archive(told.gone("archived", "expired", archived=True, revision=told.revision + 1), key=2)
    assert [] == told.get(told.gone("expired", "expired", archived=True, revision=told.revision + 1))
    assert {("OPEN-ARCHIVE-EXPIRED", "error"), ("OPEN-ARCHIVE-EXPIRED", "success")} <= told.freedoms
    assert ("OPEN-AVAILABILITY-CHOICE", "expired") in told.freedoms


def test_a_replay_after_expiry(told: Told) -> None:
    """Left open 4: the first result, the present one, or an error; never text."""
    assert [] == told.archive(told.archived())
    told.at(told.lifetime)
    assert [] == told.archive(told.archived())
    assert [] == told.archive(told.archived(availability="expired"))
    assert [] == told.archive("not_found")
    assert ["REPLAY-EXPIRED-PRIVATE"] == told.archive(_with_text(told))


def test_parts_that_expire_early() -> None:
    """A message loses its text and an unfinished run its status at their own time; the rest stays as it is."""
    told = Told("parts that expire early")
    state = told.model.conversation(told.document.conversation_id)
    first = min(state.messages, key=lambda each: each.expires_at)
    told.at(int(first.expires_at * 1000) - START)
    assert "EXPIRY-MESSAGE" in told.get(told.live())
    told.at(max(int(run.expires_at * 1000) for run in state.runs) - START)
    value = told.gone("available", "expired")
    assert [] == told.get(value)
    assert [] == told.get(value)
    value["runs"] = told.live()["runs"]
    assert ["EXPIRY-RUN"] == told.get(value)


def test_time_alone_changes_nothing(told: Told) -> None:
    """Between deadlines everything stays as it was shown."""
    assert [] == told.get(told.live())
    told.at(3_600_000)
    assert [] == told.get(told.live())
    assert ["READ-UNCHANGED"] == told.get(told.live(revision=told.revision + 1))


# Access


@pytest.mark.parametrize(
    ("state", "name"), [("access_changed", "ACCESS-WITHDRAWN"), ("source_unavailable", "ACCESS-SOURCE")]
)
def test_withheld_content(told: Told, state: Any, name: str) -> None:
    """Availability and text, on each call; other conversations stay as they are."""
    neighbour = told.another("Ann")
    assert [] == told.get(told.live(neighbour), document=neighbour)
    told.model.set_access(told.document.conversation_id, state)
    withheld = told.gone(state, None)
    with_text = {**withheld, "messages": told.live()["messages"]}
    assert [f"{name}-AVAILABILITY"] == told.get(told.gone("available", None))
    assert [f"{name}-AVAILABILITY"] == told.get("forbidden")
    assert [f"{name}-GET-WITHOUT-TEXT"] == told.get(with_text)
    text = told.status_of(told.live(), COMPLETED)["message"]
    shown = told.status_of(withheld, COMPLETED, text)
    assert [f"{name}-STATUS-WITHOUT-TEXT"] == told.status(COMPLETED, shown)
    assert ["ACCESS-ARCHIVE-WITHOUT-TEXT"] == told.archive(_with_text(told))
    assert [] == told.get(withheld)
    changed = told.live(neighbour, revision=neighbour.conversation["revision"] + 1)
    assert ["ACCESS-OTHERS-UNTOUCHED"] == told.get(changed, document=neighbour)


@pytest.mark.parametrize("status", ["queued", "completed", "failed", "cancelled", "expired", "unavailable"])
def test_active_runs_while_withheld(told: Told, status: str) -> None:
    """Left open 15: anything."""
    told.model.set_access(told.document.conversation_id, "access_changed")
    assert [] == told.get(told.gone("access_changed", status))
    assert ("OPEN-ACTIVE-RUN-WITHHELD", status) in told.freedoms


def test_access_granted_again() -> None:
    """Left open 17: all comes back, and then stays; or all stays gone, and then stays so."""
    for comes_back in (True, False):
        again = Told(seed=5)
        again.model.set_access(again.document.conversation_id, "source_unavailable")
        again.model.set_access(again.document.conversation_id, "granted")
        back, away = again.live(), again.gone("source_unavailable", None)
        assert [] == again.get(back if comes_back else away)
        assert ("OPEN-ACCESS-GRANTED-AGAIN", "comes back" if comes_back else "stays gone") in again.freedoms
        assert [] == again.get(back if comes_back else away)
        assert [] != again.get(away if comes_back else back)


def test_half_of_it_comes_back(told: Told) -> None:
    """What comes back comes back whole."""
    told.model.set_access(told.document.conversation_id, "access_changed")
    told.model.set_access(told.document.conversation_id, "granted")
    half = told.live()
    half["messages"][0]["question"] = None
    assert ["IDENTITY-SEEDED-CONTENT"] == told.get(half)


def test_an_archive_of_what_is_withheld(told: Told) -> None:
    """Left open 12; but with a wrong revision it must not be applied, and once applied it lasts."""
    told.model.set_access(told.document.conversation_id, "access_changed")
    assert [] == told.get(told.gone("access_changed", None))
    assert [] == told.archive("forbidden")
    assert ["REVISION-STALE-REFUSED"] == told.archive(told.archived(), key=1, revision=told.revision - 1)
    assert [] == told.archive(told.archived(), key=2)
    assert [] == told.archive("not_found", key=2)
    assert ["REPLAY-WITHHELD-PRIVATE"] == told.archive(_with_text(told), key=2)
    told.model.set_access(told.document.conversation_id, "granted")
    assert [] != told.get(told.live(revision=told.revision + 1))
    assert [] == told.get(told.archived())


# Worker's results


def _answered(told: Told, run: int, result: Any, **changes: Any) -> dict[str, Any]:
    """Return the conversation with a worker's result for a run."""
    value = told.live(**changes)
    entry = value["runs"][run]
    entry |= {"status": "completed", "model_id": result.model_id, "model_version": result.model_version}
    message = {
        "id": "00000000-0000-4000-8000-0000000000aa", "run_id": entry["id"], "role": "assistant", "question": None,
        "answer": result.answer, "created_at": entry["created_at"], "expires_at": entry["expires_at"],
    }  # fmt: skip
    value["messages"].append(message)
    return value


@pytest.mark.parametrize("grown", [0, 1])
def test_a_result_in_time(told: Told, grown: int) -> None:
    """It is shown as delivered or not taken, and either lasts; the revision may grow."""
    result = told.deliver(QUEUED)
    value = _answered(told, QUEUED, result, revision=told.revision + grown)
    assert [] == told.get(value)
    assert [] == told.status(QUEUED, told.status_of(value, QUEUED))
    assert ("OPEN-RESULT-REVISION", "grows" if grown else "stays") in told.freedoms
    value["messages"].pop()
    assert ["READ-UNCHANGED"] == told.get(value)


def test_a_result_that_is_not_taken(told: Told) -> None:
    """A server that drops it shows the run as it was, and not the answer later."""
    result = told.deliver(QUEUED)
    assert [] == told.get(told.live())
    assert [] != told.get(_answered(told, QUEUED, result))


def test_another_answer_than_delivered(told: Told) -> None:
    """The answer is the worker's."""
    result = told.deliver(QUEUED)
    value = _answered(told, QUEUED, result)
    value["messages"][-1]["answer"] = {**value["messages"][-1]["answer"], "limitations": ["another"]}
    assert ["IDENTITY-SEEDED-CONTENT"] == told.get(value)


@pytest.mark.parametrize(
    ("event", "availability", "requirement"),
    [
        (lambda told: told.archive(told.archived()), "archived", "LATE-AFTER-ARCHIVE"),
        (lambda told: told.at(told.lifetime), "expired", "LATE-AFTER-EXPIRY"),
        (
            lambda told: told.model.set_access(told.document.conversation_id, "access_changed"),
            "access_changed",
            "LATE-WHILE-WITHHELD",
        ),
    ],
)
def test_a_late_result_brings_nothing_back(told: Told, event: Any, availability: str, requirement: str) -> None:
    """Its text is never shown; that the revision grows is left open."""
    event(told)
    result = told.deliver(QUEUED)
    archived = availability == "archived"
    active = {"archived": "cancelled", "expired": "expired", "access_changed": None}[availability]
    gone = told.gone(availability, active, archived=archived, revision=told.revision + 2)
    reopened = {**gone, "messages": [*gone["messages"], _answered(told, QUEUED, result)["messages"][-1]]}
    assert [requirement] == told.get(reopened)
    assert [] == told.get(gone)


@pytest.mark.parametrize("kept", [True, False])
def test_a_result_while_withheld_is_kept_or_dropped(told: Told, kept: bool) -> None:  # noqa: FBT001 - a table of two
    """Left open 15."""
    told.model.set_access(told.document.conversation_id, "access_changed")
    result = told.deliver(QUEUED)
    assert [] == told.get(told.gone("access_changed", None))
    told.model.set_access(told.document.conversation_id, "granted")
    assert [] == told.get(_answered(told, QUEUED, result) if kept else told.live())
    assert ("OPEN-RESULT-WHILE-WITHHELD", "kept" if kept else "dropped") in told.freedoms


# Privacy


def test_text_in_a_header(told: Told) -> None:
    """Gone text is looked for in everything that comes back, in other forms too."""
    marker = told.document.messages[0]["question"]
    assert [] == told.judge(told.call("get", ANN), told.live(), header=marker)
    assert [] == told.archive(told.archived())
    assert ["PRIVACY-HEADER"] == told.judge(told.call("get", ANN), told.archived(), header=marker)
    assert ["PRIVACY-HEADER"] == told.judge(told.call("get", ANN), told.archived(), header=marker.upper())
    assert "PRIVACY-OTHER-USER" in told.judge(told.call("get", BOB), "not_found", header=marker)


def test_encoded_text_in_a_body(told: Told) -> None:
    """Text that hides in a result is found there."""
    assert [] == told.archive(told.archived())
    value = {**told.archived(), "debug": told.document.messages[0]["question"].encode().hex()}
    assert ["PRIVACY-BODY"] == told.get(value)


def test_a_conversation_that_was_never_told_of(told: Told) -> None:
    """Asking the model about it is a fault of the suite."""
    stranger = Told(seed=9).document
    with pytest.raises(SuiteFault, match="does not know"):
        told.get("not_found", document=stranger)
