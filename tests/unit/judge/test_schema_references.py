"""References are replaced by what they refer to, wherever that is in the schema, and nothing else is fetched."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.judge import schema_references
from conformance.judge.schema_references import SchemaNotJudged, SchemaUnusable, without_references

TEXT = {"type": "string"}
INLINED: list[tuple[dict[str, Any], bool, Any]] = [
    ({"$ref": "#/$defs/a", "$defs": {"a": TEXT}}, False, TEXT),
    ({"$ref": "#/$defs/a", "minLength": 1, "$defs": {"a": TEXT}}, False, TEXT),
    ({"$ref": "#/$defs/a", "minLength": 1, "$defs": {"a": TEXT}}, True, {"minLength": 1, "allOf": [TEXT]}),
    (
        {"$ref": "#/$defs/a", "allOf": [{"minLength": 1}], "$defs": {"a": TEXT}},
        True,
        {"allOf": [{"minLength": 1}, TEXT]},
    ),
    ({"$ref": "#/$defs/a", "$defs": {"a": TEXT}}, True, TEXT),
    ({"$ref": "#/$defs/a", "$defs": {"a": True}}, True, {"allOf": [True]}),
    (
        {"items": {"$ref": "#a"}, "definitions": {"x": {"$id": "#a", "type": "string"}}},
        False,
        {"items": {"$id": "#a", "type": "string"}},
    ),
    (
        {"items": {"$ref": "#a"}, "$defs": {"x": {"$anchor": "a", "type": "string"}}},
        True,
        {"items": {"$anchor": "a", "type": "string"}},
    ),
    (
        {
            "items": {"$ref": "s.json"},
            "$id": "https://x.example/r.json",
            "$defs": {"x": {"$id": "s.json", "type": "string"}},
        },
        True,
        {"items": {"$id": "s.json", "type": "string"}, "$id": "https://x.example/r.json"},
    ),
    (
        {
            "items": {"$ref": "https://x.example/s.json"},
            "$id": "https://x.example/r.json#",
            "$defs": {"x": {"$id": "s.json", "type": "string"}},
        },
        True,
        {"items": {"$id": "s.json", "type": "string"}, "$id": "https://x.example/r.json#"},
    ),
    (
        {
            "items": {"$ref": "s.json#a"},
            "$id": "https://x.example/r.json",
            "$defs": {"x": {"$id": "s.json", "$defs": {"y": {"$anchor": "a", "type": "string"}}}},
        },
        True,
        {"items": {"$anchor": "a", "type": "string"}, "$id": "https://x.example/r.json"},
    ),
    (
        {
            "items": {"$ref": "s.json#/$defs/y"},
            "$id": "https://x.example/r.json",
            "$defs": {"x": {"$id": "s.json", "$defs": {"y": {"items": {"$ref": "#/$defs/z"}}, "z": TEXT}}},
        },
        True,
        {"items": {"items": TEXT}, "$id": "https://x.example/r.json"},
    ),
    (
        {
            "items": {"$ref": "#/$defs/x/$defs/y"},
            "$id": "https://x.example/r.json",
            "$defs": {
                "x": {"$id": "d/s.json", "$defs": {"y": {"$ref": "t.json"}, "z": {"$id": "t.json", "type": "string"}}}
            },
        },
        True,
        {"items": {"$id": "t.json", "type": "string"}, "$id": "https://x.example/r.json"},
    ),
    ({"properties": {"a": {"$ref": "#/properties/b"}, "b": TEXT}}, True, {"properties": {"a": TEXT, "b": TEXT}}),
    (
        {
            "patternProperties": {"a": {"$ref": "#/$defs/a"}},
            "dependentSchemas": {"b": {"$ref": "#/$defs/a"}},
            "$defs": {"a": TEXT},
        },
        True,
        {"patternProperties": {"a": TEXT}, "dependentSchemas": {"b": TEXT}},
    ),
    (
        {
            "patternProperties": {"enum": {"$ref": "#/$defs/a"}},
            "dependentSchemas": {"enum": {"$ref": "#/$defs/a"}},
            "$defs": {"a": TEXT},
        },
        True,
        {"patternProperties": {"enum": TEXT}, "dependentSchemas": {"enum": TEXT}},
    ),
    ({"anyOf": [{"$ref": "#/anyOf/1"}, TEXT]}, True, {"anyOf": [TEXT, TEXT]}),
    (
        {
            "not": {"$ref": "#/$defs/a~1b"},
            "if": {"$ref": "#/$defs/c~0d"},
            "then": {"$ref": "#/$defs/e%25f"},
            "$defs": {"a/b": TEXT, "c~d": TEXT, "e%f": TEXT},
        },
        True,
        {"not": TEXT, "if": TEXT, "then": TEXT},
    ),
    ({"$ref": TEXT}, True, {"$ref": TEXT}),
    ({"properties": {"$ref": TEXT}}, True, {"properties": {"$ref": TEXT}}),
    (
        {"const": {"$ref": "#/x"}, "default": {"$ref": "x"}, "examples": [{"$ref": "x"}, {"$id": "#q"}]},
        True,
        {"const": {"$ref": "#/x"}, "default": {"$ref": "x"}, "examples": [{"$ref": "x"}, {"$id": "#q"}]},
    ),
    ({"items": [{"$ref": "#/$defs/a"}, True], "$defs": {"a": TEXT}}, False, {"items": [TEXT, True]}),
    (
        {"items": {"$anchor": "a", "$id": 5}, "not": {"$anchor": 7}, "$defs": {"b": {"$anchor": ""}}},
        True,
        {"items": {"$anchor": "a", "$id": 5}, "not": {"$anchor": 7}},
    ),
    (
        {
            "anyOf": [{"$id": "https://x.example/i.json", "items": {"$ref": "#/$defs/a"}, "$defs": {"a": TEXT}}],
            "$defs": {"a": {"type": "null"}},
        },
        True,
        {"anyOf": [{"$id": "https://x.example/i.json", "items": TEXT}]},
    ),
    ({"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}], "$defs": {"a": TEXT}}, True, {"anyOf": [TEXT, TEXT]}),
]


@pytest.mark.parametrize(("schema", "siblings_count", "inlined"), INLINED, ids=str)
def test_what_is_referred_to_stands_in_the_place_of_the_reference(
    schema: dict[str, Any],
    siblings_count: bool,  # noqa: FBT001 - a column
    inlined: Any,
) -> None:
    """By pointer, anchor or URI, relative to the nearest ``$id``; values and names of members are no references."""
    assert inlined == without_references(schema, siblings_count=siblings_count)


UNUSABLE: list[tuple[dict[str, Any], bool, str, str]] = [
    ({"properties": [{"$ref": "#/x"}]}, True, "/properties/0/$ref", "it refers to '#/x', which is not there"),
    ({"$ref": "#/anyOf/2", "anyOf": [True, True]}, False, "/$ref", "it refers to '#/anyOf/2', which is not there"),
    ({"$ref": "#/anyOf/x", "anyOf": [True, True]}, False, "/$ref", "it refers to '#/anyOf/x', which is not there"),
    (
        {"$ref": "#/anyOf/\u0661", "anyOf": [True, True]},
        False,
        "/$ref",
        "it refers to '#/anyOf/\\u0661', which is not there",
    ),
    ({"$ref": "#/anyOf/-1", "anyOf": [True, True]}, False, "/$ref", "it refers to '#/anyOf/-1', which is not there"),
    ({"$ref": "#/type/0", "type": "null"}, False, "/$ref", "it refers to '#/type/0', which is not there"),
    ({"$ref": "#/$defs/none"}, False, "/$ref", "it refers to '#/$defs/none', which is not there"),
    ({"$ref": "#none"}, False, "/$ref", "it refers to '#none', which is not there"),
    (
        {"$ref": "#a", "$defs": {"x": {"$id": "#"}, "y": {"$anchor": ""}}},
        False,
        "/$ref",
        "it refers to '#a', which is not there",
    ),
    ({"$ref": "#q", "const": {"$anchor": "q"}}, False, "/$ref", "it refers to '#q', which is not there"),
    (
        {"items": {"$ref": "q.json"}, "enum": [{"$id": "q.json"}]},
        True,
        "/items/$ref",
        "it refers to 'q.json', which is outside of it",
    ),
    ({"items": {"$ref": "x.json"}}, True, "/items/$ref", "it refers to 'x.json', which is outside of it"),
    ({"items": {"$ref": "#"}}, True, "/items/$ref/items/$ref", "it refers to itself without end"),
    (
        {"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}},
        True,
        "/items/$ref/items/$ref",
        "it refers to itself without end",
    ),
]


@pytest.mark.parametrize(("schema", "siblings_count", "place", "reason"), UNUSABLE, ids=str)
def test_a_reference_to_nothing_is_told(schema: dict[str, Any], siblings_count: bool, place: str, reason: str) -> None:  # noqa: FBT001 - a column
    """Where it stands, and whether what it refers to is outside, not there, or the schema itself."""
    with pytest.raises(SchemaUnusable) as caught:
        without_references(schema, siblings_count=siblings_count)
    assert (place, reason) == (caught.value.place, caught.value.reason)


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"items": {"$dynamicRef": "#a"}}, "/items/$dynamicRef"),
        ({"items": {"$recursiveRef": "#"}}, "/items/$recursiveRef"),
    ],
    ids=str,
)
def test_a_dynamic_reference_is_not_judged(schema: dict[str, Any], place: str) -> None:
    """It depends on who refers to the schema."""
    with pytest.raises(SchemaNotJudged) as caught:
        without_references(schema, siblings_count=True)
    assert place == caught.value.place


@pytest.mark.parametrize(
    "schema",
    [
        {"$id": "a.json", "$defs": {"x": {"$id": "http://["}}},
        {"$id": "a.json", "items": {"$ref": "http://["}},
        {"$ref": "http://[#x"},
    ],
    ids=str,
)
def test_what_is_no_uri_is_told(schema: dict[str, Any]) -> None:
    """A name or a reference that nothing can be called makes the schema unusable, and the suite goes on."""
    with pytest.raises(SchemaUnusable, match="which is no URI"):
        without_references(schema, siblings_count=True)


@pytest.mark.parametrize(
    "named",
    [
        *(
            {keyword: {"enum": {"$id": "x.json", "type": "string"}}}
            for keyword in ("properties", "patternProperties", "dependentSchemas", "definitions", "$defs")
        ),
        {"items": {"$id": "x.json", "type": "string"}},
        {"not": {"items": {"$id": "x.json", "type": "string"}}},
        {"anyOf": [{"$id": "x.json", "type": "string"}]},
    ],
    ids=str,
)
def test_a_name_is_known_wherever_a_schema_stands(named: dict[str, Any]) -> None:
    """Also under a member that is called like a keyword."""
    inlined = without_references({**named, "allOf": [{"$ref": "x.json"}]}, siblings_count=True)
    assert [{"$id": "x.json", "type": "string"}] == inlined["allOf"]


def test_a_name_of_another_form_is_no_anchor() -> None:
    """What follows the first character of an ordinary ``$id`` cannot be referred to, and an anchor is text."""
    with pytest.raises(SchemaUnusable, match="not there"):
        without_references({"items": {"$ref": "foo#oo"}, "$defs": {"a": {"$id": "foo"}}}, siblings_count=True)
    odd = {"items": {"$anchor": ["x"], "type": "string"}}
    assert odd == without_references(odd, siblings_count=False)


def test_a_reference_inside_does_not_depend_on_how_the_schema_is_named() -> None:
    """An ``$id`` that joining would write in another way is the same schema."""
    schema = {"$id": "https://x.example/r.json?", "items": {"$ref": "#/$defs/a"}, "$defs": {"a": TEXT}}
    assert TEXT == without_references(schema, siblings_count=True)["items"]


def test_a_schema_may_have_so_many_places_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each schema in it is one, as often as it is referred to."""
    monkeypatch.setattr(schema_references, "_MOST_PLACES", 3)
    assert {"anyOf": [TEXT, TEXT]} == without_references({"anyOf": [TEXT, TEXT]}, siblings_count=True)
    with pytest.raises(SchemaUnusable, match="more than 3 places") as caught:
        without_references({"anyOf": [TEXT, TEXT, TEXT]}, siblings_count=True)
    assert "/anyOf/2" == caught.value.place


def test_a_schema_may_be_so_deep_and_no_deeper(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every keyword and every member on the way is a step."""
    monkeypatch.setattr(schema_references, "_DEEPEST", 2)
    assert {"items": {"items": TEXT}} == without_references({"items": {"items": TEXT}}, siblings_count=True)
    with pytest.raises(SchemaUnusable, match="more than 2 steps deep"):
        without_references({"items": {"items": {"items": TEXT}}}, siblings_count=True)


def test_the_limits_of_a_listed_schema() -> None:
    """Far more than any schema needs, and few enough to be judged in a moment."""
    assert (50_000, 200) == (schema_references._MOST_PLACES, schema_references._DEEPEST)
