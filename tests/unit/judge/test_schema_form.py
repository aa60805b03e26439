"""The one form of schemas, keyword by keyword; what it does not know it leaves as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.judge.schema_form import normal_form, same_form

FORMS: list[tuple[Any, Any]] = [
    (True, True),
    ({}, {}),
    ({"title": "t", "default": 1}, {}),
    ({"const": 1}, {"enum": [1]}),
    ({"const": 1, "enum": [2, 1]}, {"const": 1, "enum": [1, 2]}),
    (
        {"enum": [2, 1, "a", None, True, 1.5]},
        {"anyOf": [{"enum": ["a"]}, {"enum": [1, 1.5, 2]}, {"enum": [None]}, {"enum": [True]}]},
    ),
    ({"type": "string", "minLength": 0, "pattern": "a"}, {"type": "string", "pattern": "a"}),
    (
        {"type": ["string", "null"], "maxLength": 3, "minimum": 1},
        {"anyOf": [{"enum": [None]}, {"type": "string", "maxLength": 3}]},
    ),
    ({"type": ["integer", "number"], "minimum": 1}, {"type": "number", "minimum": 1}),
    ({"type": ["integer", "string"], "enum": [1, "a", 1.5]}, {"anyOf": [{"enum": ["a"]}, {"enum": [1]}]}),
    (
        {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9.0},
        {"type": "integer", "minimum": 1, "maximum": 8},
    ),
    ({"type": "integer", "exclusiveMinimum": 0, "minimum": 5}, {"type": "integer", "minimum": 5}),
    ({"type": "integer", "exclusiveMinimum": 0, "minimum": "x"}, {"type": "integer", "minimum": 1}),
    ({"type": "integer", "exclusiveMinimum": 0.5}, {"type": "integer", "exclusiveMinimum": 0.5}),
    (
        {"type": "integer", "exclusiveMinimum": True, "minimum": 1},
        {"type": "integer", "exclusiveMinimum": True, "minimum": 1},
    ),
    ({"type": "number", "exclusiveMinimum": 0}, {"type": "number", "exclusiveMinimum": 0}),
    ({"type": "integer", "minimum": 1.0}, {"type": "integer", "minimum": 1.0}),
    ({"type": "boolean"}, {"enum": [False, True]}),
    ({"type": "null"}, {"enum": [None]}),
    ({"type": "boolean", "enum": [True]}, {"enum": [True]}),
    ({"type": "string", "enum": [1]}, {"anyOf": []}),
    ({"type": "array", "enum": [[1], 1]}, {"enum": [[1]]}),
    ({"type": "object", "enum": [{"a": 1}, 1]}, {"enum": [{"a": 1}]}),
    ({"type": ["string", "null"], "enum": [1, None]}, {"enum": [None]}),
    (
        {"type": "object", "required": ["b", "a"], "properties": {"a": {"title": "t"}, "b": {"const": 1}}},
        {"type": "object", "required": ["a", "b"], "properties": {"a": {}, "b": {"enum": [1]}}},
    ),
    ({"properties": [{"title": "t"}]}, {"properties": [{"title": "t"}]}),
    (
        {"type": "object", "properties": {"title": {"type": "null"}}},
        {"type": "object", "properties": {"title": {"enum": [None]}}},
    ),
    ({"patternProperties": {"a": {"title": "t"}}}, {"patternProperties": {"a": {"title": "t"}}}),
    ({"type": "array", "items": {"title": "t"}}, {"type": "array"}),
    ({"type": "array", "items": {"const": 1}}, {"type": "array", "items": {"enum": [1]}}),
    ({"type": "array", "items": [{"title": "t"}]}, {"type": "array", "items": [{"title": "t"}]}),
    ({"type": "object", "additionalProperties": {"title": "t"}, "propertyNames": {"title": "t"}}, {"type": "object"}),
    (
        {"type": "object", "additionalProperties": {"const": 1}, "propertyNames": {"const": "a"}},
        {"type": "object", "additionalProperties": {"enum": [1]}, "propertyNames": {"enum": ["a"]}},
    ),
    ({"not": {"title": "t"}}, {"not": True}),
    ({"not": {"const": 1}}, {"not": {"enum": [1]}}),
    ({"if": {"const": 1}}, {"if": {"const": 1}}),
    (
        {"anyOf": [{"type": "null"}, {"anyOf": [{"const": 1}, {"type": "null"}]}]},
        {"anyOf": [{"enum": [1]}, {"enum": [None]}]},
    ),
    ({"anyOf": [{"const": 2}, {"const": 1}], "title": "t"}, {"anyOf": [{"enum": [1]}, {"enum": [2]}]}),
    ({"anyOf": [{"const": 2}, {"const": 1}], "minimum": 1}, {"minimum": 1, "anyOf": [{"enum": [1]}, {"enum": [2]}]}),
    (
        {"anyOf": [{"const": 1, "anyOf": [True]}, {"type": "null"}]},
        {"anyOf": [{"enum": [1], "anyOf": [True]}, {"enum": [None]}]},
    ),
    ({"anyOf": [{"const": 1}]}, {"enum": [1]}),
    ({"anyOf": [{"const": 1}, True]}, {"anyOf": [True, {"enum": [1]}]}),
    ({"anyOf": {"const": 1}}, {"anyOf": {"const": 1}}),
    ({"oneOf": [{"const": 1}, {"title": "t"}]}, {"oneOf": [{"enum": [1]}, {}]}),
    ({"allOf": [{"type": "string"}, {"maxLength": 3}]}, {"type": "string", "maxLength": 3}),
    (
        {"type": "string", "allOf": [{"type": "string", "minLength": 1}, True, {"maxLength": 3}]},
        {"type": "string", "maxLength": 3, "allOf": [{"type": "string", "minLength": 1}]},
    ),
    ({"type": "string", "allOf": [False, {"type": "null"}]}, {"anyOf": []}),
    ({"allOf": [True, True]}, {}),
    ({"allOf": {"title": "t"}}, {"allOf": {"title": "t"}}),
    ({"required": "x"}, {"required": "x"}),
    ({"enum": "x"}, {"enum": ["x"]}),
    ({"required": ["b", "a", "a"]}, {"required": ["a", "b"]}),
    ({"minLength": 1, "maxItems": 2}, {"minLength": 1, "maxItems": 2}),
    ({"type": [], "minLength": 1}, {"type": [], "minLength": 1}),
    (
        {
            "uniqueItems": False,
            "additionalProperties": True,
            "items": True,
            "properties": {},
            "required": [],
            "propertyNames": True,
            "minItems": 0,
            "minProperties": 0,
            "minLength": 0,
        },
        {},
    ),
    ({"minimum": 1e300}, {"minimum": 1e300}),
    ({"enum": [1.0, 1]}, {"enum": [1]}),
    ({"multipleOf": 0.5, "type": "number"}, {"multipleOf": 0.5, "type": "number"}),
    ({"type": "integer", "multipleOf": 2.0}, {"type": "integer", "multipleOf": 2.0}),
]


@pytest.mark.parametrize(("schema", "form"), FORMS, ids=str)
def test_a_schema_has_one_form(schema: Any, form: Any) -> None:
    """Annotations and what asserts nothing go; lists are sorted; each type, constant and bound is said in one way."""
    assert json.dumps(form, sort_keys=True) == json.dumps(normal_form(schema), sort_keys=True)


def test_the_order_of_members_says_nothing() -> None:
    """In a schema and in the values that it holds."""
    assert same_form({"minLength": 1, "maxLength": 2}, {"maxLength": 2, "minLength": 1})
    assert same_form({"enum": [{"a": 1, "b": 2}]}, {"enum": [{"b": 2, "a": 1}]})


def test_the_order_of_a_list_says_something_unless_it_is_known_not_to() -> None:
    """Which schema an item has depends on where it stands."""
    one, other = {"type": "string"}, {"type": "null"}
    assert not same_form({"prefixItems": [one, other]}, {"prefixItems": [other, one]})
    assert not same_form({"items": [one, other]}, {"items": [other, one]})
    assert same_form({"required": ["a", "b"]}, {"required": ["b", "a"]})


@pytest.mark.parametrize(
    "keyword",
    [
        "$schema", "$id", "$anchor", "$comment", "$vocabulary", "title", "description", "default", "examples",
        "deprecated", "readOnly", "writeOnly",
        "minLength", "maxLength", "pattern", "format",
        "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
        "items", "minItems", "maxItems", "uniqueItems",
        "properties", "required", "additionalProperties", "minProperties", "maxProperties", "propertyNames",
    ],
)  # fmt: skip
def test_what_says_nothing_of_a_value_is_left_out(keyword: str) -> None:
    """Annotations, and keywords that speak of values of another type."""
    assert same_form({"type": "null", keyword: "x"}, {"type": "null"})
