"""What holds inside one result: each rule broken alone is named exactly, at its place and nowhere else."""

from __future__ import annotations

import copy
import dataclasses
import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from made_answers import CONTRACT, GET, OWNER, STATUS, exchange

from conformance.cases.conversations import AnswerPlan, Plan, RunPlan, compose
from conformance.contract import Operation
from conformance.errors import SuiteFault
from conformance.judge.invariants import BREACHES, cited_evidence
from conformance.judge.result import INVARIANT_REQUIREMENTS, ResultJudge, content_findings
from conformance.judge.schema import SchemaJudge
from conformance.transport.exchange import Answer, Call

AVAILABILITY = {"configured": True, "reason": None, "processor": "Google Gemini", "retention_hours": 24}
ANSWER = AnswerPlan(findings=2, sentiment=2, suggestions=2, cited=2)
STATUSES = ("completed", "queued", "processing", "failed", "cancelled", "expired", "unavailable")
DOCUMENT = compose(
    random.Random(1),  # noqa: S311 - test data
    1_800_000_000_000,
    Plan(runs=(RunPlan("completed", question=True, answer=ANSWER), *(RunPlan(status) for status in STATUSES[1:]))),
)
CONVERSATION = {
    "conversation": DOCUMENT.conversation,
    "messages": DOCUMENT.messages,
    "runs": DOCUMENT.runs,
    "availability": AVAILABILITY,
}
RUN = {
    "run": DOCUMENT.runs[0],
    "message": DOCUMENT.message_of(DOCUMENT.runs[0]["id"]),
    "conversation_revision": DOCUMENT.conversation["revision"],
    "availability": AVAILABILITY,
}
OTHER = "5f0c1d2e-3a4b-4c5d-8e6f-708192a3b4c5"
ASKED = {
    "conversation_id": DOCUMENT.conversation_id,
    "workspace_id": DOCUMENT.workspace_id,
    "run_id": DOCUMENT.runs[0]["id"],
}
REVISION = DOCUMENT.conversation["revision"]
ASSISTANT = next(index for index, message in enumerate(DOCUMENT.messages) if message["role"] == "assistant")
USER = next(index for index, message in enumerate(DOCUMENT.messages) if message["role"] == "user")
INDEX = {
    status: next(index for index, run in enumerate(DOCUMENT.runs) if run["status"] == status) for status in STATUSES
}


def at(*path: str | int, value: Any) -> Callable[[Any], None]:
    """Return an edit that puts ``value`` at a place."""

    def edit(result: Any) -> None:
        for part in path[:-1]:
            result = result[part]
        result[path[-1]] = value

    return edit


def breaches(operation: Operation, result: Any) -> list[tuple[str, str]]:
    """Return the requirements that a result breaks, each with its place."""
    assert SchemaJudge(operation.output_schema).is_valid(result), "a breach is judged on what obeys the schema"
    return [(requirement, place) for requirement, _, place, _, _ in BREACHES[operation.result](result, ASKED)]


@pytest.mark.parametrize(("operation", "result"), [(GET, CONVERSATION), (STATUS, RUN)], ids=["get", "status"])
def test_a_legal_result_breaks_nothing(operation: Operation, result: Any) -> None:
    """Nor does it with ids in upper case, or no message beside a run."""
    assert [] == breaches(operation, result)
    shouted = copy.deepcopy(result)
    for entry in (
        *shouted.get("runs", ()),
        *shouted.get("messages", ()),
        shouted.get("run"),
        shouted.get("conversation"),
    ):
        if entry:
            entry["id"] = entry["id"].upper()
    assert [] == breaches(operation, shouted)
    if operation is STATUS:
        assert [] == breaches(operation, {**result, "message": None})


EVIDENCE_PLACES = [
    ("messages", ASSISTANT, "answer", *path) for path, _ in cited_evidence(DOCUMENT.messages[ASSISTANT]["answer"])
]


CONVERSATION_EDITS = [
    (at("conversation", "id", value=OTHER), "IDENTITY-CONVERSATION-ASKED", "/conversation/id"),
    (at("conversation", "workspace_id", value=OTHER), "IDENTITY-CONVERSATION-ASKED", "/conversation/workspace_id"),
    (at("runs", 1, "conversation_id", value=OTHER), "IDENTITY-RUN-MEMBERSHIP", "/runs/1/conversation_id"),
    (at("runs", 1, "workspace_id", value=OTHER), "IDENTITY-RUN-MEMBERSHIP", "/runs/1/workspace_id"),
    (at("messages", USER, "run_id", value=OTHER), "IDENTITY-MESSAGE-RUN", f"/messages/{USER}/run_id"),
    (at("messages", 1, "id", value=DOCUMENT.messages[0]["id"]), "IDENTITY-UNIQUE-IDS", "/messages"),
    (at("runs", 2, "id", value=DOCUMENT.runs[1]["id"]), "IDENTITY-UNIQUE-IDS", "/runs"),
    (
        at("messages", USER, "answer", value=DOCUMENT.messages[ASSISTANT]["answer"]),
        "IDENTITY-ROLE-CONTENT",
        f"/messages/{USER}/answer",
    ),
    (at("messages", ASSISTANT, "question", value="?"), "IDENTITY-ROLE-CONTENT", f"/messages/{ASSISTANT}/question"),
    (
        at("runs", 1, "conversation_revision", value=REVISION + 1),
        "IDENTITY-RUN-REVISION",
        "/runs/1/conversation_revision",
    ),
    (
        at("conversation", "expires_at", value="2020-01-01T00:00:00Z"),
        "IDENTITY-TIME-ORDER",
        "/conversation/expires_at",
    ),
    (at("runs", 0, "expires_at", value="2020-01-01T00:00:00Z"), "IDENTITY-TIME-ORDER", "/runs/0/expires_at"),
    (
        at("messages", 0, "expires_at", value="2020-01-01T00:00:00Z"),
        "IDENTITY-TIME-ORDER",
        "/messages/0/expires_at",
    ),
    (
        at("conversation", "expires_at", value="2099-01-01T00:00:00Z"),
        "IDENTITY-TIME-WINDOW",
        "/conversation/expires_at",
    ),
    (at("runs", 0, "expires_at", value="2099-01-01T00:00:00Z"), "IDENTITY-TIME-WINDOW", "/runs/0/expires_at"),
    (
        at("messages", 0, "created_at", value="2020-01-01T00:00:00Z"),
        "IDENTITY-TIME-WINDOW",
        "/messages/0/expires_at",
    ),
    *(
        (
            at("runs", INDEX[status], "failure_code", value="invalid_output"),
            "IDENTITY-FAILURE-CODE",
            f"/runs/{INDEX[status]}/failure_code",
        )
        for status in ("completed", "queued", "processing")
    ),
    *(
        (
            at("runs", INDEX[status], "failure_code", value=None),
            "IDENTITY-FAILURE-CODE",
            f"/runs/{INDEX[status]}/failure_code",
        )
        for status in ("failed", "cancelled", "expired", "unavailable")
    ),
    *(
        (
            at("runs", INDEX[status], "failure_code", value="invalid_output"),
            "IDENTITY-FAILURE-CODE-NAME",
            f"/runs/{INDEX[status]}/failure_code",
        )
        for status in ("cancelled", "expired")
    ),
    *(
        (at(*place, "evidence_id", value=OTHER), "IDENTITY-EVIDENCE-CITED", "/" + "/".join(map(str, place)))
        for place in EVIDENCE_PLACES
    ),
    (
        at(*EVIDENCE_PLACES[0], "revision", value=999_999),
        "IDENTITY-EVIDENCE-CITED",
        "/" + "/".join(map(str, EVIDENCE_PLACES[0])),
    ),
]


@pytest.mark.parametrize(("edit", "requirement", "place"), CONVERSATION_EDITS)
def test_a_conversation_that_breaks_one_rule(edit: Callable[[Any], None], requirement: str, place: str) -> None:
    """The rule is named once, where it is broken, and no other is."""
    result = copy.deepcopy(CONVERSATION)
    edit(result)
    expected = [(requirement, place)]
    if requirement == "IDENTITY-CONVERSATION-ASKED":
        # The runs name the conversation that was asked for, and so no longer the one that holds them.
        field = "conversation_id" if place.endswith("/id") else "workspace_id"
        expected += [("IDENTITY-RUN-MEMBERSHIP", f"/runs/{index}/{field}") for index in range(len(DOCUMENT.runs))]
    assert expected == breaches(GET, result)


STATUS_EDITS = [
    (at("run", "workspace_id", value=OTHER), "IDENTITY-RUN-ASKED", "/run/workspace_id"),
    (at("run", "conversation_id", value=OTHER), "IDENTITY-RUN-ASKED", "/run/conversation_id"),
    (at("message", "run_id", value=OTHER), "IDENTITY-MESSAGE-RUN", "/message/run_id"),
    (at("message", "question", value="?"), "IDENTITY-ROLE-CONTENT", "/message/question"),
    (at("run", "conversation_revision", value=REVISION + 1), "IDENTITY-RUN-REVISION", "/run/conversation_revision"),
    (at("run", "failure_code", value="invalid_output"), "IDENTITY-FAILURE-CODE", "/run/failure_code"),
    (at("run", "expires_at", value="2020-01-01T00:00:00Z"), "IDENTITY-TIME-ORDER", "/run/expires_at"),
    (at("message", "expires_at", value="2099-01-01T00:00:00Z"), "IDENTITY-TIME-WINDOW", "/message/expires_at"),
]


@pytest.mark.parametrize(("edit", "requirement", "place"), STATUS_EDITS)
def test_a_status_that_breaks_one_rule(edit: Callable[[Any], None], requirement: str, place: str) -> None:
    """The rule is named once, where it is broken, and no other is."""
    result = copy.deepcopy(RUN)
    edit(result)
    assert [(requirement, place)] == breaches(STATUS, result)


def test_another_run_than_asked_for_is_named_with_its_message() -> None:
    """The message beside it belongs to the one that was asked for."""
    result = copy.deepcopy(RUN)
    at("run", "id", value=OTHER)(result)
    assert [("IDENTITY-RUN-ASKED", "/run/id"), ("IDENTITY-MESSAGE-RUN", "/message/run_id")] == breaches(STATUS, result)


def test_a_window_of_exactly_the_retention_is_legal() -> None:
    """Times count as instants: offsets and fractions included."""
    for expires, found in (
        ("2026-01-02T01:00:00+01:00", []),
        ("2026-01-02T00:00:00.001Z", ["IDENTITY-TIME-WINDOW"]),
        ("2026-01-01T00:00:00Z", []),
        ("2026-01-01T00:59:59.999+01:00", ["IDENTITY-TIME-ORDER"]),
    ):
        result = copy.deepcopy(RUN)
        at("run", "created_at", value="2026-01-01T00:00:00Z")(result)
        at("run", "expires_at", value=expires)(result)
        assert found == [requirement for requirement, _ in breaches(STATUS, result)], expires


def test_an_identifier_shown_in_another_case_is_the_same() -> None:
    """Two entries whose ids differ only in case have one id."""
    result = copy.deepcopy(CONVERSATION)
    at("runs", 2, "id", value=DOCUMENT.runs[1]["id"].upper())(result)
    assert [("IDENTITY-UNIQUE-IDS", "/runs")] == breaches(GET, result)


def test_a_failure_code_is_expected_where_one_belongs() -> None:
    """A breach says what should stand there, and what does."""
    result = copy.deepcopy(CONVERSATION)
    at("runs", INDEX["queued"], "failure_code", value="invalid_output")(result)
    at("runs", INDEX["failed"], "failure_code", value=None)(result)
    assert {
        ("null for a run that is queued", "invalid_output"),
        ("a failure code for a run that is failed", "null"),
    } == {(expected, found) for *_, expected, found in BREACHES["conversation"](result, ASKED)}


@pytest.mark.parametrize(("role", "other"), [(USER, "an answer"), (ASSISTANT, "a question")])
def test_what_a_message_must_not_carry_is_named(role: int, other: str) -> None:
    """An answer beside the user, a question beside the assistant."""
    result = copy.deepcopy(CONVERSATION)
    at("messages", role, "question", value="?")(result)
    at("messages", role, "answer", value=DOCUMENT.messages[ASSISTANT]["answer"])(result)
    assert [other] == [found for *_, found in BREACHES["conversation"](result, ASKED)]


def test_every_invariant_of_a_kind_is_declared() -> None:
    """What the functions can yield is what the checks declare to test."""
    run = {*(requirement for _, requirement, _ in STATUS_EDITS), "IDENTITY-FAILURE-CODE-NAME"}
    assert {requirement for _, requirement, _ in CONVERSATION_EDITS} == set(INVARIANT_REQUIREMENTS["conversation"])
    assert run == set(INVARIANT_REQUIREMENTS["run"])
    assert BREACHES.keys() == INVARIANT_REQUIREMENTS.keys()
    assert all(len(each) == len(set(each)) for each in INVARIANT_REQUIREMENTS.values())


def answer_of(body: bytes, operation: Operation = GET) -> Answer:
    """Return a success that carries these bytes."""
    return Answer(Call(operation, b"{}", OWNER), exchange(200, body), "success", frozenset(), body)


def test_a_result_is_judged_in_steps() -> None:
    """Bytes first, then the schema, then the invariants; only what passes the first two has a value."""
    judge = ResultJudge(CONTRACT)
    good = judge.judge(answer_of(json.dumps(CONVERSATION).encode()), ASKED)
    assert (CONVERSATION, ()) == (good.value, good.findings)
    broken = judge.judge(answer_of(b'{"a":1,"a":2}'), ASKED)
    assert (None, ["OUTPUT-WELL-FORMED"]) == (broken.value, [each.requirement for each in broken.findings])
    other = judge.judge(answer_of(b"[]"), ASKED)
    assert (None, ["OUTPUT-TYPE"]) == (other.value, [each.requirement for each in other.findings])
    wrong = copy.deepcopy(CONVERSATION)
    at("conversation", "id", value=OTHER)(wrong)
    judged = judge.judge(answer_of(json.dumps(wrong).encode()), ASKED)
    assert wrong == judged.value
    assert "IDENTITY-CONVERSATION-ASKED" == judged.findings[0].requirement
    assert (judged.answer.exchange,) == judged.findings[0].exchanges


def test_a_refusal_has_no_result_to_judge() -> None:
    """To judge one is a fault of the suite."""
    refusal = Answer(Call(GET, b"{}", OWNER), exchange(404), "refused", frozenset({"not_found"}), None)
    with pytest.raises(SuiteFault):
        ResultJudge(CONTRACT).judge(refusal, ASKED)


def test_content_and_times_count_under_their_own_requirements() -> None:
    """A long value is shortened and printable."""
    expected = {"title": "é" * 300, "created_at": "2026-01-01T00:00:00Z"}
    found = {"title": "\u202e", "created_at": "2026-01-01T00:00:01Z"}
    made = list(content_findings(answer_of(b"{}"), expected, found, "A-B", "C-D", "Another text comes back"))
    assert [("A-B", "/title"), ("C-D", "/created_at")] == [(each.requirement, each.place) for each in made]
    assert all(each.expected.isascii() and len(each.expected) < 200 and each.found.isascii() for each in made)


class WithOtherAbsence(Answer):
    """An answer of a binding in which a result that is not there breaks another rule."""

    @property
    def absence(self) -> str:
        """The requirement that a success without a result breaks."""
        return "A-B"


def test_an_empty_result_lacks_what_its_binding_names() -> None:
    """Where nothing came, the requirement is that of the answer."""
    empty = WithOtherAbsence(Call(GET, b"{}", OWNER), exchange(200), "success", frozenset(), b"")
    judged = ResultJudge(CONTRACT).judge(empty, ASKED)
    assert ["A-B"] == [each.requirement for each in judged.findings]
    broken = dataclasses.replace(empty, result=b"{")
    judged = ResultJudge(CONTRACT).judge(broken, ASKED)
    assert ["OUTPUT-WELL-FORMED"] == [each.requirement for each in judged.findings]


def test_a_result_of_an_unknown_kind_is_judged_by_its_schema() -> None:
    """An operation that names no kind of result has no invariants."""
    operation = dataclasses.replace(GET, name="other", result="", output_schema={"type": "object"})
    judge = ResultJudge(dataclasses.replace(CONTRACT, operations=(operation,)))
    assert ({"a": 1}, ()) == ((judged := judge.judge(answer_of(b'{"a":1}', operation), {})).value, judged.findings)


@pytest.mark.parametrize(
    ("member", "value", "requirement"),
    [
        ("id", "x", "OUTPUT-UUID-FORMAT"),
        ("created_at", "2026-02-30T00:00:00Z", "OUTPUT-DATE-TIME"),
        ("revision", 0, "OUTPUT-INTEGER-RANGE"),
        ("availability", "x", "OUTPUT-ENUM"),
    ],
)
def test_a_broken_rule_of_the_schema_has_its_requirement(member: str, value: Any, requirement: str) -> None:
    """By its keyword, and of a format by the format."""
    wrong = copy.deepcopy(CONVERSATION)
    at("conversation", member, value=value)(wrong)
    judged = ResultJudge(CONTRACT).judge(answer_of(json.dumps(wrong).encode()), ASKED)
    assert {requirement} == {each.requirement for each in judged.findings}
