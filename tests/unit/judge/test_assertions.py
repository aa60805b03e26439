"""Every assertion of a schema is enumerated once, and what cannot be judged is named."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from conformance.contract import load_contract
from conformance.errors import UsageProblem
from conformance.judge.assertions import Assertion, enumerate_assertions

CONTRACT = load_contract()


@pytest.mark.parametrize(
    ("operation", "side", "count"),
    [
        ("conversations_get", "output_schema", 283),
        ("conversations_archive", "output_schema", 283),
        ("sentiment_status", "output_schema", 223),
        ("conversations_get", "input_schema", 8),
        ("conversations_archive", "input_schema", 15),
        ("sentiment_status", "input_schema", 11),
    ],
)
def test_the_contract_has_this_many_assertions(operation: str, side: str, count: int) -> None:
    """The numbers are part of what the suite claims, and each assertion has a pointer of its own."""
    assertions = enumerate_assertions(getattr(CONTRACT.operation(operation), side))
    assert count == len(assertions)
    assert count == len({assertion.schema_pointer for assertion in assertions})


def test_the_contract_is_asserted_by_these_keywords() -> None:
    """By keyword, for the output of *get*; ``required`` counts once for each member."""
    assertions = enumerate_assertions(CONTRACT.operation("conversations_get").output_schema)
    assert Counter(assertion.keyword for assertion in assertions) == {
        "type": 92,
        "required": 73,
        "format": 20,
        "additionalProperties": 15,
        "maxLength": 14,
        "maxItems": 11,
        "exclusiveMinimum": 9,
        "maximum": 9,
        "enum": 9,
        "minLength": 8,
        "anyOf": 7,
        "pattern": 6,
        "minItems": 5,
        "const": 5,
    }


def test_an_assertion_says_where_it_stands_and_what_it_speaks_of() -> None:
    """Pointers into the schema are exact; paths of instances have a star for any item."""
    found = {a.schema_pointer: a for a in enumerate_assertions(CONTRACT.operation("conversations_get").output_schema)}
    finding = "/properties/messages/items/properties/answer/anyOf/0/properties/findings/items"
    path = "/messages/*/answer/findings/*"
    assert found[f"{finding}/properties/basis/enum"] == Assertion(
        f"{finding}/properties/basis/enum", "enum", None, f"{path}/basis", ["observed", "inferred", "generated"]
    )
    assert found[f"{finding}/required/1"] == Assertion(f"{finding}/required/1", "required", "basis", path, "basis")
    assert found["/additionalProperties"] == Assertion(
        "/additionalProperties", "additionalProperties", member=None, instance_path="", value=False
    )


def test_names_are_escaped_and_annotations_do_not_count() -> None:
    """A member's name may hold what a pointer must escape; titles, examples and the like assert nothing."""
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "t",
        "properties": {"a/~b": {"type": ["string", "null"], "examples": ["x"], "default": "y"}},
    }
    expected = Assertion("/properties/a~1~0b/type", "type", None, "/a~1~0b", ["string", "null"])
    assert enumerate_assertions(schema) == (expected,)


@pytest.mark.parametrize(
    ("keyword", "value"),
    [
        ("$schema", "http://json-schema.org/draft-07/schema"),
        ("$id", "https://research.example/schema"),
        ("$comment", "a"),
        ("title", "a"),
        ("description", "a"),
        ("default", 1),
        ("examples", [1]),
        ("readOnly", True),
        ("writeOnly", True),
    ],
)
def test_an_annotation_is_allowed_and_asserts_nothing(keyword: str, value: Any) -> None:
    """A contract may carry any annotation of draft-07."""
    assert enumerate_assertions({keyword: value}) == ()


def test_what_cannot_be_broken_is_no_assertion() -> None:
    """Bounds of nothing and permissions do not count, so that each assertion can be put to the test."""
    schema = {"minLength": 0, "minItems": 0, "minProperties": 0, "uniqueItems": False, "additionalProperties": True}
    assert enumerate_assertions({**schema, "required": []}) == ()


@pytest.mark.parametrize(
    ("schema", "where", "word"),
    [
        ({"properties": {"a": {"$ref": "#"}}}, "file.json#/properties/a/$ref", "'$ref'"),
        ({"allOf": []}, "file.json#/allOf", "'allOf'"),
        ({"items": {"if": {}}}, "file.json#/items/if", "'if'"),
        ({"maxlength": 3}, "file.json#/maxlength", "Did you mean 'maxLength'"),
        ({"items": [{}]}, "file.json#/items", "JSON object"),
        ({"properties": {"a": True}}, "file.json#/properties/a", "JSON object"),
        ({"additionalProperties": {}}, "file.json#/additionalProperties", "true or false"),
        ({"format": "uui"}, "file.json#/format", "Did you mean 'uuid'"),
        ({"format": "email"}, "file.json#/format", "'email'"),
        ({"anyOf": [{"const": 1}]}, "file.json#/anyOf", "'type'"),
        ({"anyOf": [{"type": "null"}, True]}, "file.json#/anyOf", "'type'"),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema"}, "file.json#/$schema", "draft-07"),
    ],
)
def test_what_cannot_be_judged_is_a_clear_problem(schema: dict[str, Any], where: str, word: str) -> None:
    """The file, the place in it and the keyword are named, so that a new operation can be corrected."""
    with pytest.raises(UsageProblem) as caught:
        enumerate_assertions(schema, "file.json")
    assert where == caught.value.where
    assert word in str(caught.value)
