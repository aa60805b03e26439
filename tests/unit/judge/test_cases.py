"""Samples and breakages of schemas that the contract does not have yet."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.cases.breakage import Breakage, NoPlaceError, breakages
from conformance.cases.sample import sample
from conformance.contract import load_contract
from conformance.errors import UsageProblem
from conformance.judge.schema import SchemaJudge

SCHEMAS: list[dict[str, Any]] = [
    {"type": "integer", "minimum": 5, "exclusiveMaximum": 9, "multipleOf": 4},
    {"type": "number", "minimum": 0.25, "maximum": 0.75},
    {"type": "number", "exclusiveMinimum": 1.5, "maximum": 1.75, "multipleOf": 0.25},
    {"type": ["string", "null"], "minLength": 3, "maxLength": 4},
    {"type": "string", "minLength": 30},
    {"type": "array", "items": {"type": "integer", "minimum": 3}, "minItems": 2, "maxItems": 3},
    {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "maxItems": 2},
    {"type": "array", "maxItems": 0},
    {"type": "array", "minItems": 2, "uniqueItems": True},
    {"type": "object", "minProperties": 2, "maxProperties": 3},
    {"type": "object", "required": ["a"], "properties": {"b": {"type": "null"}}},
    {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3}$", "examples": ["AB-123"]},
    {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
    {"enum": [None, 1, "a"]},
    {"enum": [[1], {"a": 1}]},
    {"const": {"a": [1]}},
    {"const": None},
    {"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "boolean"}}, {"type": "integer", "minimum": 0}]},
    {"type": "string", "format": "uuid", "default": "5F0C1D2E-3A4B-4C5D-8E6F-708192A3B4C5"},
    {"properties": {"a/b": {"type": "object", "properties": {"~": {"type": "boolean"}}, "required": ["~"]}}},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_any_supported_schema_has_a_sample_and_breakages(schema: dict[str, Any]) -> None:
    """The sample is valid and the same each time; every breakage is refused and blamed on its assertion."""
    judge, good = SchemaJudge(schema), sample(schema)
    assert judge.is_valid(good)
    assert good == sample(schema)
    made = breakages(schema)
    assert {a.schema_pointer for a in judge.assertions} == {b.assertion.schema_pointer for b in made}
    for breakage in made:
        violations = judge.violations(breakage.apply(good))
        blamed = {(violation.pointer, pointer) for violation in violations for pointer in violation.assertions}
        assert (breakage.blamed(good), breakage.assertion.schema_pointer) in blamed, breakage


def test_a_sample_has_every_object_and_an_item_in_every_array() -> None:
    """In the answer of *get* no level is missing, so that every assertion has its place."""
    answer = sample(load_contract().operation("conversations_get").output_schema)
    assert len(answer["messages"]) == len(answer["runs"]) == len(answer["conversation"]["context"]["evidence"]) == 1
    inner = answer["messages"][0]["answer"]
    lists = ("findings", "sentiment", "query_suggestions", "limitations")
    assert [len(inner[name]) for name in lists] == [1, 1, 1, 1]
    assert len(inner["query_suggestions"][0]["excluded_terms"]) == 1


def test_items_of_a_sample_are_not_shared() -> None:
    """A test that changes one item does not change another."""
    items = sample({"type": "array", "minItems": 2, "items": {"type": "object"}})
    items[0]["a"] = 1
    assert items == [{"a": 1}, {}]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3}$"},
        {"type": "integer", "minimum": 2, "maximum": 1},
        {"type": "object", "required": ["a"], "additionalProperties": False},
    ],
    ids=str,
)
def test_a_schema_without_a_sample_is_a_usage_problem(schema: dict[str, Any]) -> None:
    """The place is named, and that an example would help."""
    with pytest.raises(UsageProblem, match=r"file#/properties/a: .*Add 'examples'"):
        sample({"type": "object", "properties": {"a": schema}}, "file")


def test_an_assertion_that_cannot_be_broken_is_a_usage_problem() -> None:
    """Rather than leave an assertion untested, the suite says so."""
    with pytest.raises(UsageProblem, match=r"file#/type: no value is known"):
        breakages({"type": ["string", "number", "boolean", "null", "array", "object"]}, "file")


ITEMS: dict[str, Any] = {
    "type": "array",
    "items": {"anyOf": [{"type": "object", "required": ["a"], "properties": {"a": {"minimum": 0}}}, {"type": "null"}]},
}


def of(keyword: str) -> Breakage:
    """Return the first breakage of that keyword."""
    return next(breakage for breakage in breakages(ITEMS) if breakage.assertion.keyword == keyword)


def test_the_first_place_that_suits_is_edited_and_the_rest_is_shared() -> None:
    """Items that cannot be edited so are passed over, and what is not on the way is not copied."""
    value: list[Any] = [None, {}, {"a": 1, "b": []}, {"a": 2}]
    broken = of("required").apply(value)
    assert broken == [None, {}, {"b": []}, {"a": 2}]
    assert value[2] == {"a": 1, "b": []}
    assert broken[3] is value[3]
    assert of("required").place(value) == (2,)
    assert of("minimum").blamed(value) == "/2/a"


@pytest.mark.parametrize("value", [[], [None], [{}]], ids=str)
def test_a_value_without_the_place_cannot_be_broken(value: Any) -> None:
    """An empty array, a null and an object without the member have nothing to edit."""
    with pytest.raises(NoPlaceError, match="required/0"):
        of("required").apply(value)
