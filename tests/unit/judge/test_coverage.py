"""Coverage says which assertions were exercised, and what cannot be reached by seeding."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from conformance.cases.directed import directed_documents
from conformance.contract import load_contract
from conformance.judge.coverage import Coverage

LEAP_DAY = int(datetime(2024, 2, 29, 12, tzinfo=UTC).timestamp()) * 1000
ORDINARY_DAY = int(datetime(2026, 11, 3, 12, tzinfo=UTC).timestamp()) * 1000
AVAILABILITY = {"configured": False, "reason": None, "processor": "Google Gemini", "retention_hours": 24}
OPERATIONS = ("conversations_get", "sentiment_status")


def seeded(seed: int) -> random.Random:
    """Return a source of choices that repeats."""
    return random.Random(seed)  # noqa: S311 - test data, not a secret


def results(operation: str, now: int) -> Iterator[Mapping[str, Any]]:
    """Yield what a server that stores all as it is answers for the directed documents."""
    for named in directed_documents(seeded(1), now):
        document = named.document
        if operation == "conversations_get":
            yield {
                "conversation": document.conversation,
                "messages": document.messages,
                "runs": document.runs,
                "availability": AVAILABILITY,
            }
            continue
        for run in document.runs:
            yield {
                "run": run,
                "message": document.message_of(run["id"]),
                "conversation_revision": document.conversation["revision"],
                "availability": AVAILABILITY,
            }


def coverage_of(operation: str, now: int) -> Coverage:
    """Return the coverage of the directed documents."""
    coverage = Coverage(load_contract().operation(operation).output_schema)
    for result in results(operation, now):
        coverage.record(result)
    return coverage


@pytest.mark.parametrize("operation", OPERATIONS)
def test_directed_documents_reach_all_that_can_be_reached(operation: str) -> None:
    """On a leap day only states of the server, and of conversations that cannot be seeded so, are missing."""
    coverage = coverage_of(operation, LEAP_DAY)
    obstacles = coverage.reachability(operation)
    assert set() == coverage.missing - obstacles.keys()
    own_state = {point for point in coverage.missing if point.startswith("/properties/availability/")}
    assert len(own_state) == 15
    conversation = "/properties/conversation/properties"
    expected = {
        f"{conversation}/archived/type#true": "archive",
        f"{conversation}/availability/enum#archived": "archive",
        f"{conversation}/availability/enum#expired": "clock",
        f"{conversation}/availability/enum#access_changed": "access",
        f"{conversation}/availability/enum#source_unavailable": "access",
    }
    found = {point: obstacles[point].needs for point in coverage.missing - own_state}
    assert (expected if operation == "conversations_get" else {}) == found


@pytest.mark.parametrize("operation", OPERATIONS)
def test_only_leap_days_depend_on_the_clock(operation: str) -> None:
    """On another day, nothing but the leap days is missing besides."""
    besides = coverage_of(operation, ORDINARY_DAY).missing - coverage_of(operation, LEAP_DAY).missing
    assert {"leap-day"} == {point.partition("#")[2] for point in besides}
    assert len(besides) == len([point for point in coverage_of(operation, LEAP_DAY).points if "#leap-day" in point])


@pytest.mark.parametrize("operation", load_contract().operations, ids=lambda operation: operation.name)
def test_every_assertion_has_points_and_every_rule_concerns_some(operation: Any) -> None:
    """No assertion goes uncounted; obstacles are points of the schema."""
    coverage = Coverage(operation.output_schema)
    counted = {point.partition("#")[0] for point in coverage.points}
    assert (223 if operation.name == "sentiment_status" else 283) == len(counted)
    assert coverage.reachability(operation.name).keys() <= coverage.points.keys()


@pytest.mark.parametrize(
    ("operation", "needs"),
    [
        ("conversations_get", {"clock": 7, "server": 30, "access": 2, "archive": 2}),
        ("sentiment_status", {"clock": 4, "server": 34}),
        ("conversations_archive", {"clock": 4, "server": 110, "never": 181}),
    ],
)
def test_so_many_points_take_more_than_seeding(operation: str, needs: dict[str, int]) -> None:
    """Each rule concerns some points; what the first rule says of a point counts."""
    coverage = Coverage(load_contract().operation(operation).output_schema)
    obstacles = coverage.reachability(operation)
    assert needs == dict(Counter(obstacle.needs for obstacle in obstacles.values()))
    reasons = {obstacle.reason for obstacle in obstacles.values()}
    assert len(reasons) == {"conversations_get": 6, "sentiment_status": 4, "conversations_archive": 7}[operation]


def test_an_archive_result_has_no_text() -> None:
    """In the result of an archive, text and active runs are never reached, and everything has one obstacle."""
    operation = load_contract().operation("conversations_archive")
    obstacles = Coverage(operation.output_schema).reachability(operation.name)
    messages = "/properties/messages/items/properties"
    assert obstacles[f"{messages}/question/anyOf/0/maxLength#maximum"].needs == "never"
    assert obstacles[f"{messages}/question/anyOf#branch-1"].needs == "server"
    assert obstacles["/properties/runs/items/properties/status/enum#queued"].needs == "never"
    assert "/properties/runs/items/properties/status/enum#cancelled" not in obstacles


def test_an_unknown_operation_has_no_obstacles_of_its_own() -> None:
    """Only those of timestamps apply to any schema."""
    coverage = Coverage({"type": "string", "format": "date-time"})
    assert {"/format#utc", "/format#offset", "/format#leap-day"} == coverage.reachability("made_up").keys()


@pytest.mark.parametrize(
    ("schema", "value", "reached"),
    [
        ({"type": "string"}, "a", {"/type#seen"}),
        ({"type": "boolean"}, True, {"/type#seen", "/type#true"}),
        ({"const": False}, False, {"/const#seen"}),
        ({"const": False}, 0, set()),
        ({"enum": ["a", 1, None]}, 1, {"/enum#1"}),
        ({"enum": ["a", 1, None]}, True, set()),
        ({"minLength": 1, "maxLength": 3}, "a", {"/minLength#minimum"}),
        ({"minLength": 1, "maxLength": 3}, "ab", {"/minLength#inside", "/maxLength#inside"}),
        ({"minLength": 1, "maxLength": 3}, "\U0001f600\U0001f600\U0001f600", {"/maxLength#maximum"}),
        ({"maxItems": 2}, [], {"/maxItems#empty"}),
        ({"maxItems": 2}, [1], {"/maxItems#inside"}),
        ({"minItems": 1}, [1, 2], {"/minItems#inside"}),
        ({"minItems": 1}, "a", set()),
        ({"type": "integer", "exclusiveMinimum": 0}, 1, {"/type#seen", "/exclusiveMinimum#lowest"}),
        ({"type": "integer", "exclusiveMinimum": 0}, 2, {"/type#seen", "/exclusiveMinimum#inside"}),
        ({"type": "integer", "exclusiveMaximum": 3}, 2, {"/type#seen", "/exclusiveMaximum#highest"}),
        ({"minimum": 0, "maximum": 1}, 0.5, {"/minimum#inside", "/maximum#inside"}),
        ({"minimum": 0, "maximum": 1}, True, set()),
        ({"maximum": 2**53 - 1}, 2**53 - 1, {"/maximum#highest"}),
        ({"required": ["a", "b"]}, {"a": 1}, {"/required/0#seen"}),
        ({"additionalProperties": False}, {}, {"/additionalProperties#seen"}),
        ({"uniqueItems": True}, [1, 2], {"/uniqueItems#seen"}),
        ({"multipleOf": 2}, 4, {"/multipleOf#seen"}),
        ({"pattern": "a"}, "a", {"/pattern#seen"}),
        ({"type": "boolean"}, False, {"/type#seen", "/type#false"}),
        ({"type": "boolean", "enum": [True]}, True, {"/type#seen", "/enum#true"}),
        ({"const": "boolean"}, "boolean", {"/const#seen"}),
        ({"const": "date-time"}, "date-time", {"/const#seen"}),
        ({"enum": ["a", 1, None]}, None, {"/enum#null"}),
        ({"maxLength": 0}, "", {"/maxLength#maximum"}),
        ({"maxLength": 3}, [], set()),
        ({"maxLength": 3}, [1], set()),
        ({"minLength": 1, "maxLength": 2}, "a", {"/minLength#minimum"}),
        ({"minLength": 1, "maxLength": 2}, "ab", {"/maxLength#maximum"}),
        ({"minProperties": 1, "maxProperties": 3}, {"a": 1}, {"/minProperties#minimum"}),
        ({"minProperties": 1, "maxProperties": 3}, {"a": 1, "b": 1, "c": 1}, {"/maxProperties#maximum"}),
        (
            {"minProperties": 1, "maxProperties": 3},
            {"a": 1, "b": 1},
            {"/minProperties#inside", "/maxProperties#inside"},
        ),
        ({"required": ["a"]}, "a", set()),
        ({"uniqueItems": True}, [1], set()),
        ({"uniqueItems": True}, "ab", set()),
        ({"type": ["integer", "boolean"], "minimum": 1, "maximum": 1}, True, {"/type#seen"}),
        ({"type": ["number", "string"], "minimum": 1, "maximum": 3}, "a", {"/type#seen"}),
        ({"type": "integer", "minimum": 1, "maximum": 3}, 2, {"/type#seen", "/minimum#inside", "/maximum#inside"}),
        ({"type": "integer", "minimum": 1, "maximum": 3}, 1, {"/type#seen", "/minimum#lowest"}),
        ({"type": ["string", "null"]}, None, {"/type#seen"}),
        ({"type": ["string", "null"], "format": "date-time"}, None, {"/type#seen"}),
        ({"anyOf": [{"type": "number"}, {"type": "string"}]}, "a", {"/anyOf#branch-1", "/anyOf/1/type#seen"}),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, 1, {"/anyOf#branch-1", "/anyOf/1/type#seen"}),
        (
            {"anyOf": [{"type": "string", "minimum": 1}, {"type": "integer"}]},
            1,
            {"/anyOf#branch-1", "/anyOf/1/type#seen"},
        ),
        ({"properties": {"a": {"type": "null"}}}, {}, set()),
        ({"items": {"type": "number"}}, None, set()),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, None, {"/anyOf#branch-1", "/anyOf/1/type#seen"}),
        ({"properties": {"a": {"type": "null"}}}, {"a": None}, {"/properties/a/type#seen"}),
        ({"items": {"type": "number"}}, [1], {"/items/type#seen"}),
        ({"format": "date-time"}, "2024-02-29T10:00:00Z", {"/format#seen", "/format#utc", "/format#leap-day"}),
        (
            {"format": "date-time"},
            "2024-03-01T10:00:00.5+01:00",
            {"/format#seen", "/format#offset", "/format#fraction"},
        ),
    ],
)
def test_ways_to_exercise(schema: dict[str, Any], value: Any, reached: set[str]) -> None:
    """Each keyword is exercised by exactly what it asserts something about."""
    coverage = Coverage(schema)
    coverage.record(value)
    assert reached == coverage.reached
    assert coverage.points.keys() - reached == coverage.missing


def test_coverage_travels_as_json() -> None:
    """Workers send what they reached; together it is as if one had seen all."""
    schema = load_contract().operation("conversations_get").output_schema
    answers = list(results("conversations_get", ORDINARY_DAY))
    whole, total = Coverage(schema), Coverage(schema)
    for half in (answers[::2], answers[1::2]):
        worker = Coverage(schema)
        for answer in half:
            worker.record(answer)
            whole.record(answer)
        total.add(json.loads(json.dumps(worker.to_json())))
    assert whole.reached == total.reached


def test_merged_coverage_goes_on_recording() -> None:
    """Merging skips what was reached elsewhere and nothing more."""
    schema = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    one, other = Coverage(schema), Coverage(schema)
    one.record("a")
    other.merge(one)
    other.record(None)
    assert set() == other.missing
    other.record("b")
    assert other.points.keys() == other.reached


def test_foreign_points_are_refused() -> None:
    """Coverage of another schema cannot be added."""
    with pytest.raises(ValueError, match="not a coverage point"):
        Coverage({"type": "string"}).add(["/type#seen", "/other#seen"])


@pytest.mark.parametrize(
    ("schema", "points"),
    [
        ({"minLength": 1, "maxLength": 2}, {"/minLength#minimum", "/maxLength#maximum"}),
        ({"minLength": 1, "maxLength": 1}, {"/minLength#minimum", "/maxLength#maximum"}),
        (
            {"type": "integer", "minimum": 1, "maximum": 2},
            {"/type#seen", "/minimum#lowest", "/maximum#highest"},
        ),
        (
            {"type": "integer", "minimum": 1, "maximum": 3},
            {"/type#seen", "/minimum#lowest", "/minimum#inside", "/maximum#highest", "/maximum#inside"},
        ),
        ({"type": "number", "exclusiveMinimum": 0}, {"/type#seen", "/exclusiveMinimum#inside"}),
        ({"type": "number", "exclusiveMaximum": 0}, {"/type#seen", "/exclusiveMaximum#inside"}),
        (
            {"type": "number", "minimum": 1, "maximum": 1.5},
            {"/type#seen", "/minimum#lowest", "/minimum#inside", "/maximum#highest", "/maximum#inside"},
        ),
        ({"type": "string", "pattern": "boolean"}, {"/type#seen", "/pattern#seen"}),
        ({"type": "string", "pattern": "date-time"}, {"/type#seen", "/pattern#seen"}),
    ],
    ids=lambda value: str(sorted(value)) if isinstance(value, set) else str(value),
)
def test_there_is_a_point_for_each_way_that_can_be_gone(schema: dict[str, Any], points: set[str]) -> None:
    """Between two neighbours there is nothing, and an exclusive bound of fractions is never reached."""
    assert points == Coverage(schema).points.keys()


@pytest.mark.parametrize(
    ("operation", "point", "needs"),
    [
        ("sentiment_status", "/properties/message/anyOf/0/properties/role/enum#user", "server"),
        ("conversations_archive", "/properties/conversation/properties/revision/maximum#highest", "never"),
        ("conversations_archive", "/properties/conversation/properties/availability/enum#expired", "server"),
        ("conversations_archive", "/properties/conversation/properties/availability/enum#access_changed", "server"),
        ("conversations_archive", "/properties/availability/properties/configured/type#true", "server"),
        ("sentiment_status", "/properties/availability/properties/configured/type#true", "server"),
        ("conversations_get", "/properties/availability/properties/configured/type#true", "server"),
    ],
)
def test_what_seeding_alone_is_not_sure_to_reach(operation: str, point: str, needs: str) -> None:
    """Each such point says what it takes."""
    coverage = Coverage(load_contract().operation(operation).output_schema)
    assert needs == coverage.reachability(operation)[point].needs
