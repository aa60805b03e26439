"""The reference server keeps the rules of the contract."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema_rs import Draft7Validator
from reference_world import ARCHIVE, EXPIRES, GET, SECRET, STATUS, World, answer_object, contract, fresh

from conformance.reference.validation import is_uuid


@pytest.fixture
def world() -> Iterator[World]:
    """Return a server with a seeded conversation."""
    made = World()
    yield made
    made.close()


def statuses(document: dict[str, Any]) -> list[str]:
    """Return the statuses of the runs in their order."""
    return [run["status"] for run in document["runs"]]


def test_get_returns_what_was_seeded(world: World) -> None:
    """Conversation, messages and runs come back as given, in their order, with the service's availability."""
    result = world.call(GET).json()
    assert world.document == {name: result[name] for name in ("conversation", "messages", "runs")}
    assert result["availability"] == {
        "configured": True,
        "reason": None,
        "processor": "Google Gemini",
        "retention_hours": 24,
    }


@pytest.mark.parametrize("operation", [GET, STATUS, ARCHIVE])
def test_results_keep_the_output_schema(world: World, operation: str) -> None:
    """Every result validates against the operation's own output schema."""
    validator = Draft7Validator(
        dict(contract().operation(operation).output_schema), validate_formats=True, formats={"uuid": is_uuid}
    )
    assert validator.is_valid(world.call(operation).json())


def test_status_agrees_with_get(world: World) -> None:
    """Status shows the same run, the assistant's message and the conversation's revision."""
    status, seen = world.call(STATUS).json(), world.call(GET).json()
    assert seen["runs"][0] == status["run"]
    assert seen["messages"][1] == status["message"]
    assert seen["conversation"]["revision"] == status["conversation_revision"]


def test_archive_removes_text_and_cancels_active_runs(world: World) -> None:
    """Archive raises the revision, takes the text away for good and cancels queued and processing runs."""
    result = world.call(ARCHIVE).json()
    assert tuple(result["conversation"][key] for key in ("archived", "availability", "revision")) == (
        True,
        "archived",
        4,
    )
    assert statuses(result) == ["completed", "cancelled", "cancelled", "failed"]
    assert [run["failure_code"] for run in result["runs"]] == [None, "cancelled", "cancelled", "provider_unavailable"]
    assert all(message["question"] is message["answer"] is None for message in result["messages"])
    assert result == world.call(GET).json()
    stored = world.reference.store.conversation(world.conversation_id)
    assert stored is not None
    assert SECRET not in str(stored.document)


@pytest.mark.parametrize("revision", [2, 4, 2**53 - 1])
def test_another_revision_conflicts_and_changes_nothing(world: World, revision: int) -> None:
    """Older and newer revisions are refused with 409; the current one still works afterwards."""
    before = world.call(GET).json()
    assert world.call(ARCHIVE, expected_revision=revision).status_code == 409
    assert before == world.call(GET).json()
    assert world.call(ARCHIVE).status_code == 200


def test_replay_returns_the_first_result(world: World) -> None:
    """The same call gets the first answer again: in another case, with another token, after a restart, later on."""
    key = fresh()
    first = world.call(ARCHIVE, mutation_id=key).json()
    other_token = world.control("POST", f"/principals/{world.person}/tokens", {"scopes": ["agent:research"]}).json()
    assert first == world.call(ARCHIVE, mutation_id=key.upper(), workspace_id=world.workspace.upper()).json()
    assert first == world.call(ARCHIVE, mutation_id=key, token=other_token["token"]).json()
    assert world.control("POST", "/restart").status_code == 204
    assert first == world.call(ARCHIVE, mutation_id=key).json()
    assert first["conversation"]["revision"] == world.call(GET).json()["conversation"]["revision"]


def test_a_used_mutation_id_with_other_arguments_conflicts(world: World) -> None:
    """Another revision or conversation under a used key is refused and changes nothing."""
    key, other = fresh(), world.seed()["conversation"]["id"]
    world.call(ARCHIVE, mutation_id=key)
    assert world.call(ARCHIVE, mutation_id=key, expected_revision=4).status_code == 409
    assert world.call(ARCHIVE, mutation_id=key, conversation_id=other).status_code == 409
    assert world.call(GET, conversation_id=other).json()["conversation"]["archived"] is False


def test_a_replay_is_authorised_again(world: World) -> None:
    """Without the scope a replay is refused."""
    key = fresh()
    world.call(ARCHIVE, mutation_id=key)
    weak = world.control("POST", f"/principals/{world.person}/tokens", {"scopes": ["agent:other"]}).json()["token"]
    assert world.call(ARCHIVE, mutation_id=key, token=weak).status_code == 403


def test_mutation_ids_belong_to_the_person(world: World) -> None:
    """One person's key does not block another's."""
    key = fresh()
    person, token = world.principal()
    own = world.seed(person)["conversation"]["id"]
    world.call(ARCHIVE, mutation_id=key)
    assert world.call(ARCHIVE, mutation_id=key, token=token, conversation_id=own).status_code == 200


def test_foreign_unknown_and_misplaced_look_the_same(world: World) -> None:
    """A foreign id, an unknown one and a wrong workspace get byte-identical answers from each operation."""
    _, stranger = world.principal()
    other = fresh()
    for operation in (GET, STATUS, ARCHIVE):
        answers = [
            world.call(operation, token=stranger),
            world.call(operation, token=stranger, conversation_id=other),
            world.call(operation, conversation_id=other),
            world.call(operation, workspace_id=other),
        ]
        assert {(404, answers[0].content)} == {(answer.status_code, answer.content) for answer in answers}
        assert len({str(sorted(answer.headers.items())) for answer in answers}) == 1
    assert world.call(STATUS, run_id=other).content == answers[0].content


def test_ids_are_compared_without_case(world: World) -> None:
    """Upper-case ids find the lower-case row."""
    assert world.call(GET, conversation_id=world.conversation_id.upper()).status_code == 200


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("2026-03-02T09:59:59.999Z", "available"),
        ("2026-03-02T10:00:00Z", "expired"),
        ("2026-03-02T15:30:00.000+05:30", "expired"),
        ("2026-03-02T10:00:00.001Z", "expired"),
    ],
)
def test_expiry_is_decided_by_the_instant(world: World, now: str, expected: str) -> None:
    """Content is there before expires_at and gone at it and after it, in get and in status."""
    world.move_clock(now)
    seen, status = world.call(GET).json(), world.call(STATUS).json()
    assert expected == seen["conversation"]["availability"]
    gone = expected == "expired"
    assert gone == (SECRET not in str(seen)) == (SECRET not in str(status))
    assert statuses(seen) == ["completed", *(["expired", "expired"] if gone else ["queued", "processing"]), "failed"]
    assert status["run"] == seen["runs"][0]


@pytest.mark.parametrize(
    "expires_at", ["2026-03-01T17:30:00+05:30", "2026-03-01T12:00:00.5Z", "2026-03-01T04:00:00.250-08:00"]
)
def test_offsets_and_fractions_count(world: World, expires_at: str) -> None:
    """What is written with an offset or a fraction expires at its instant, and is returned as it was written."""
    document = world.seed(expires_at=expires_at)
    conversation_id = document["conversation"]["id"]
    world.move_clock("2026-03-01T11:59:59.999Z")
    assert document["conversation"] == world.call(GET, conversation_id=conversation_id).json()["conversation"]
    world.move_clock("2026-03-01T12:00:00.500Z")
    assert world.call(GET, conversation_id=conversation_id).json()["conversation"]["availability"] == "expired"


def test_a_message_and_a_run_expire_by_themselves(world: World) -> None:
    """An own earlier expires_at hides that message and ends that run only."""
    document = world.new_document()
    document["messages"][1]["expires_at"] = document["runs"][1]["expires_at"] = "2026-03-01T12:00:00Z"
    world.control("POST", "/conversations", {"principal_id": world.person, **document})
    world.move_clock("2026-03-01T12:00:00Z")
    seen = world.call(GET, conversation_id=document["conversation"]["id"]).json()
    assert [message["question"] for message in seen["messages"]] == [SECRET, None]
    assert seen["messages"][1]["answer"] is None
    assert statuses(seen) == ["completed", "expired", "processing", "failed"]


def test_reading_changes_nothing(world: World) -> None:
    """Reads leave every later read and the expiry as they were, also across a restart."""
    first = (world.call(GET).content, world.call(STATUS).content)
    world.control("POST", "/restart")
    assert first == (world.call(GET).content, world.call(STATUS).content)
    world.move_clock(EXPIRES)
    assert world.call(GET).json()["conversation"]["expires_at"] == EXPIRES


@pytest.mark.parametrize("state", ["access_changed", "source_unavailable"])
def test_withheld_content_is_hidden(world: World, state: str) -> None:
    """Access withdrawn or a source gone: that availability, no text; an archive shows none either."""
    assert world.control("PUT", f"/conversations/{world.conversation_id}/access", {"state": state}).status_code == 204
    seen = world.call(GET).json()
    assert state == seen["conversation"]["availability"]
    assert SECRET not in str(seen) + world.call(STATUS).text + world.call(ARCHIVE).text


def test_a_worker_result_completes_a_run(world: World) -> None:
    """The run is completed with the model, a message of the assistant is appended, the revision grows."""
    run = world.document["runs"][2]
    result = {"answer": answer_object(world.evidence), "model_id": "m", "model_version": None}
    assert world.control("POST", f"/runs/{run['id']}/result", result).status_code == 204
    seen = world.call(GET).json()
    assert (seen["runs"][2]["status"], seen["runs"][2]["model_id"]) == ("completed", "m")
    assert seen["conversation"]["revision"] == 4
    message = world.call(STATUS, run_id=run["id"]).json()["message"]
    assert (result["answer"], run["expires_at"], "2026-03-01T11:00:00Z") == (
        message["answer"],
        message["expires_at"],
        message["created_at"],
    )


@pytest.mark.parametrize("reason", ["archive", "expiry", "access", "finished"])
def test_a_late_worker_result_is_dropped(world: World, reason: str) -> None:
    """A result after archive, expiry, withdrawal or the run's end changes nothing."""
    run = world.document["runs"][0 if reason == "finished" else 1]
    if reason == "archive":
        world.call(ARCHIVE)
    elif reason == "expiry":
        world.move_clock(EXPIRES)
    elif reason == "access":
        world.control("PUT", f"/conversations/{world.conversation_id}/access", {"state": "access_changed"})
    before = world.call(GET).json()
    result = {"answer": answer_object(world.evidence), "model_id": None, "model_version": None}
    assert world.control("POST", f"/runs/{run['id']}/result", result).status_code == 204
    assert before == world.call(GET).json()


def test_a_second_archive_is_a_no_op(world: World) -> None:
    """Under a new key and the current revision an archived conversation stays as it is."""
    first = world.call(ARCHIVE).json()
    assert first == world.call(ARCHIVE, expected_revision=4).json()


@pytest.mark.parametrize("year", ["1970-01-01", "2000-02-29", "2038-01-20", "2260-12-31"])
def test_years_far_away(world: World, year: str) -> None:
    """Conversations of other years are kept where the clock of their workspace stands in that year."""
    workspace = world.workspace = fresh()
    person, token = world.principal()
    world.move_clock(f"{year}T00:00:00.001Z")
    document = world.new_document(created_at=f"{year}T00:00:00Z", expires_at=f"{year}T23:59:59.999Z")
    assert world.control("POST", "/conversations", {"principal_id": person, **document}).status_code == 201
    call = {"conversation_id": document["conversation"]["id"], "workspace_id": workspace, "token": token}
    assert document["conversation"] == world.call(GET, **call).json()["conversation"]
    world.move_clock(f"{year}T23:59:59.999Z")
    assert world.call(GET, **call).json()["conversation"]["availability"] == "expired"
