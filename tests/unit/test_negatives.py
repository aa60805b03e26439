"""Every fixed case is wrong for exactly one reason beside a valid twin, for the published operations and any other."""

from __future__ import annotations

import dataclasses
import random
import re
from typing import Any

import pytest
from made_answers import ARCHIVE, CONTRACT, GET, STATUS

from conformance.cases.json_text import RawJson, encode, path_parts, removed, replaced
from conformance.cases.malformed import BROKEN_STRINGS, BROKEN_TEXTS
from conformance.cases.negatives import Negative, confirm, near_misses, negatives
from conformance.cases.sample import sample
from conformance.checks.declare import checked_requirements
from conformance.contract import Operation
from conformance.errors import SuiteFault
from conformance.judge.assertions import enumerate_assertions
from conformance.judge.decode import DecodeFault, decode
from conformance.judge.schema import SchemaJudge
from conformance.requirements import load_registry
from conformance.stage import fresh_uuid

REGISTRY = load_registry(CONTRACT)
CHECKED = checked_requirements(CONTRACT)
OPERATIONS = CONTRACT.operations


def judge(operation: Operation) -> SchemaJudge:
    """Return the judge of an operation's input."""
    return SchemaJudge(operation.input_schema)


def plain(operation: Operation, revision: int = 1) -> dict[str, Any]:
    """Return arguments as a run makes them."""
    rng = random.Random(str(revision))  # noqa: S311 - test data
    made: dict[str, Any] = {name: fresh_uuid(rng) for name in operation.input_schema["properties"]}
    if "expected_revision" in made:
        made["expected_revision"] = revision
    return made


@pytest.mark.parametrize("revision", [1, 2, 7, 2**31, 2**53 - 2, 2**53 - 1])
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_case_is_wrong_for_exactly_one_reason(operation: Operation, revision: int) -> None:
    """Whatever the arguments are that it is made from, the smallest and the largest revision among them."""
    accepts = judge(operation)
    for negative in negatives(operation):
        text = confirm(negative, plain(operation, revision), accepts)
        assert encode(plain(operation, revision)) != text, negative.name


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_cases_have_names_for_test_ids_and_known_requirements(operation: Operation) -> None:
    """A name is unique, can be pasted into a shell within quotes, and stands for a requirement that is checked."""
    made = negatives(operation)
    assert len(made) == len({negative.name for negative in made})
    for negative in made:
        assert re.fullmatch(r"[A-Za-z0-9_.-]+", negative.name), negative.name
        assert negative.requirement in REGISTRY.by_id
        assert negative.requirement in CHECKED


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_assertion_is_broken_by_some_case(operation: Operation) -> None:
    """No rule of an input schema is left out."""
    accepts = judge(operation)
    broken: set[str] = set()
    for negative in negatives(operation):
        if negative.level == "schema":
            violation = accepts.violations(decode(negative.build(plain(operation))))[0]
            broken.update(violation.assertions)
    assert {assertion.schema_pointer for assertion in accepts.assertions} == broken


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_no_damage_of_the_tables_is_left_out_for_the_published_operations(operation: Operation) -> None:
    """A damage that does no harm to an input is left out, which must not happen here."""
    names = {negative.name for negative in negatives(operation) if negative.level == "text"}
    assert {name for _, name, _, _ in (*BROKEN_TEXTS, *BROKEN_STRINGS)} <= names


def test_what_the_job_asks_for_is_there() -> None:
    """The cases that a reader of the contract would look for first."""
    names = {negative.name for negative in negatives(ARCHIVE)}
    revision = "missing null true string one-and-a-half 0 -1 9007199254740992 huge-exponent nan array object"
    workspace = "missing null braces urn no-hyphens trailing-newline trailing-space full-width-digit"
    expected = {
        *(f"expected_revision-{kind}" for kind in revision.split()),
        *(f"workspace_id-{kind}" for kind in workspace.split()),
        *["input-unknown", "input-array", "input-string", "empty-body", "truncated", "invalid-utf-8", "trailing-comma"],
    }
    assert set() == expected - names


def test_near_misses_are_other_names() -> None:
    """None of them is the name itself."""
    assert "expectedRevision" == near_misses("expected_revision")["camel-case"]
    assert {"ID", "Id", "d", "id "} == set(near_misses("id").values())


MADE_UP: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["text", "level", "flag", "nested", "tags"],
    "properties": {
        "text": {"type": "string", "minLength": 2, "maxLength": 10},
        "level": {"enum": ["low", "high"]},
        "mode": {"const": "plain"},
        "flag": {"type": "boolean"},
        "count": {"type": "integer", "minimum": 0, "maximum": 1},
        "ratio": {"type": "number", "minimum": 0.5, "maximum": 1},
        "maybe": {"type": ["string", "null"], "maxLength": 20},
        "when": {"type": "string", "format": "date-time"},
        "nested": {
            "type": "object",
            "additionalProperties": False,
            "required": ["id"],
            "properties": {"id": {"type": "string", "format": "uuid"}},
        },
        "loose": {"type": "object", "properties": {"a_b": {"type": "string"}}},
        "tags": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "string", "maxLength": 5}},
    },
}


def made_up(schema: dict[str, Any]) -> Operation:
    """Return an operation that the contract does not have."""
    return dataclasses.replace(GET, name="made_up", input_schema=schema, bindings={})


def test_an_operation_that_nobody_knows_gets_every_case() -> None:
    """Nested objects, arrays, enum, const, booleans, lengths: each assertion is broken, each case confirmed."""
    operation = made_up(MADE_UP)
    accepts, twin = judge(operation), sample(MADE_UP)
    made = negatives(operation)
    broken: set[str] = set()
    for negative in made:
        text = confirm(negative, twin, accepts)
        if negative.level == "schema":
            broken.update(accepts.violations(decode(text))[0].assertions)
    assert {assertion.schema_pointer for assertion in enumerate_assertions(MADE_UP)} == broken
    names = {negative.name for negative in made}
    assert {
        "nested.id-missing",
        "nested-unknown",
        "nested.id-near-miss-upper-case",
        "tags.0-number",
        "flag-null",
    } <= names
    assert not any(name.startswith("loose.a_b-near-miss") for name in names)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "additionalProperties": False, "properties": {}},
        {"type": "object", "additionalProperties": False, "required": ["a"], "properties": {"a": {"type": "integer"}}},
        {
            "type": "object",
            "additionalProperties": False,
            "required": ["t"],
            "properties": {"t": {"type": "string", "maxLength": 1}},
        },
        {"type": "object", "required": ["a"], "properties": {"a": {"type": "array", "items": {"type": "string"}}}},
        {
            "type": "object",
            "properties": {"a": {"type": "array", "uniqueItems": True, "maxItems": 1, "items": {"type": "null"}}},
        },
    ],
    ids=["no-field", "one-integer", "one-letter", "one-array", "unique-items"],
)
def test_small_operations_get_cases_that_hold(schema: dict[str, Any]) -> None:
    """Damage that needs a comma, a string or a second field is left out where there is none."""
    operation = made_up(schema)
    made = negatives(operation)
    assert len(made) > 10
    for negative in made:
        confirm(negative, sample(schema), judge(operation))


def test_a_case_that_says_nothing_is_a_fault_of_the_suite() -> None:
    """A wrong twin, a valid input, an input wrong twice, and text that is JSON after all."""
    good = plain(STATUS)
    by_name = {negative.name: negative for negative in negatives(STATUS)}

    def made(level: Any, text: bytes) -> Negative:
        return dataclasses.replace(by_name["input-unknown"], level=level, build=lambda _: text)

    for negative, arguments, told in (
        (by_name["input-unknown"], {}, "the valid twin of case"),
        (made("schema", encode(good)), good, "it is valid JSON"),
        (made("schema", b"{}"), good, "is not wrong for exactly one reason"),
        (made("schema", b"{"), good, "is not JSON"),
        (made("text", encode(good)), good, "it is valid JSON"),
    ):
        with pytest.raises(SuiteFault, match=told):
            confirm(negative, arguments, judge(STATUS))


def test_json_text_is_written_as_it_is_meant() -> None:
    """Members in their order, raw fragments as they are, all else as JSON."""
    assert b'{"b":1e400,"a":["\xc3\xa4",null,true,1.5,{}]}' == encode(
        {"b": RawJson("1e400"), "a": ["ä", None, True, 1.5, {}]}
    )
    with pytest.raises(DecodeFault):
        decode(encode({"a": RawJson("NaN")}))


def test_edits_leave_the_original_alone() -> None:
    """A changed and a shortened copy."""
    original = {"a": [{"b/c": 1}]}
    parts = path_parts("/a/*/b~1c")
    assert ("a", 0, "b/c") == parts
    assert {"a": [{"b/c": 2}]} == replaced(original, parts, 2)
    assert {"a": [{}]} == removed(original, parts)
    assert 3 == replaced(original, (), 3)
    assert {"a": [{"b/c": 1}]} == original
