"""Listed schemas are compared with the contract's by what they mean."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conformance.cases.json_text import encode
from conformance.cases.results import legal_results
from conformance.cases.schema_corpus import input_examples, output_examples
from conformance.contract import Operation, load_contract
from conformance.judge.coverage import Coverage
from conformance.judge.decode import decode
from conformance.judge.invariants import BREACHES
from conformance.judge.listed_schema import DRAFT_07, DRAFT_2020_12, ListedSchema
from conformance.judge.schema import SchemaJudge
from conformance.judge.schema_form import same_form
from conformance.judge.schema_meaning import Disagreement, Example, disagreements
from conformance.judge.schema_references import SchemaNotJudged, SchemaUnusable, without_references

CONTRACT = load_contract()
GET, ARCHIVE = CONTRACT.operation("conversations_get"), CONTRACT.operation("conversations_archive")
STATUS = CONTRACT.operation("sentiment_status")
Edit = Callable[[dict[str, Any]], Any]
UUID_PATTERN = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"


def revision(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the part of archive's input schema that speaks of the revision."""
    part: dict[str, Any] = schema["properties"]["expected_revision"]
    return part


def conversation(schema: dict[str, Any]) -> dict[str, Any]:
    """Return what get's output schema says of the members of a conversation."""
    part: dict[str, Any] = schema["properties"]["conversation"]["properties"]
    return part


def messages(schema: dict[str, Any]) -> dict[str, Any]:
    """Return what get's output schema says of the list of messages."""
    part: dict[str, Any] = schema["properties"]["messages"]
    return part


def input_disagreements(edit: Edit, default_dialect: str = DRAFT_2020_12) -> list[Disagreement]:
    """Compare archive's input schema with a copy that was edited."""
    schema = copy.deepcopy(dict(ARCHIVE.input_schema))
    edit(schema)
    listed = ListedSchema(schema, default_dialect)
    return list(disagreements(SchemaJudge(ARCHIVE.input_schema), listed, input_examples(ARCHIVE, listed.plain)))


def output_disagreements(edit: Edit) -> list[Disagreement]:
    """Compare get's output schema with a copy that was edited."""
    schema = copy.deepcopy(dict(GET.output_schema))
    edit(schema)
    listed = ListedSchema(schema, DRAFT_2020_12)
    return list(disagreements(SchemaJudge(GET.output_schema), listed, output_examples(GET, listed.plain)))


SAME_INPUT: dict[str, Edit] = {
    "as it is": lambda _: None,
    "annotations": lambda schema: schema.update(title="t", description="d", default={}, examples=[{}], **{"$id": "x"}),
    "dialect": lambda schema: schema.update({"$schema": "http://json-schema.org/draft-07/schema#"}),
    "newer dialect": lambda schema: schema.update({"$schema": DRAFT_2020_12}),
    "required in another order": lambda schema: schema["required"].reverse(),
    "bound by the least number": lambda schema: revision(schema).update(
        minimum=revision(schema).pop("exclusiveMinimum") + 1
    ),
    "bound as a float": lambda schema: revision(schema).update(exclusiveMinimum=0.0),
    "bounds beside the bounds": lambda schema: revision(schema).update(minimum=-(2**53), exclusiveMaximum=2**53),
    "pattern for UUIDs": lambda schema: schema["properties"]["mutation_id"].update(pattern=UUID_PATTERN),
    "closed by a schema": lambda schema: schema.update(additionalProperties={"not": {}}),
    "closed by names": lambda schema: (
        schema.pop("additionalProperties"),
        schema.update(propertyNames={"enum": list(schema["properties"])}),
    ),
    "vacuous keywords": lambda schema: schema.update(minProperties=0, patternProperties={}),
    "whole in a part": lambda schema: schema.update(allOf=[{"type": "object"}]),
    "reference": lambda schema: (
        schema.update({"$defs": {"id": schema["properties"]["mutation_id"]}}),
        schema["properties"].update(mutation_id={"$ref": "#/$defs/id", "description": "an id"}),
    ),
    "reference through an id": lambda schema: (
        schema.update({"$id": "https://a.example/s/in.json", "definitions": {"a/b": {"type": "integer"}}}),
        schema["properties"].update(
            expected_revision={"allOf": [{"$ref": "in.json#/definitions/a~1b"}, revision(schema)]}
        ),
    ),
    "reference to an anchor": lambda schema: (
        schema.update({"$defs": {"id": {"$anchor": "id", **schema["properties"]["mutation_id"]}}}),
        schema["properties"].update(workspace_id={"$ref": "#id"}),
    ),
    "unused definition that refers outside": lambda schema: schema.update(
        {"$defs": {"other": {"$ref": "https://schemas.example/never.json"}}}
    ),
}


@pytest.mark.parametrize("name", SAME_INPUT)
def test_an_input_schema_that_means_the_same_is_not_reported(name: str) -> None:
    """However a schema says it, what allows and refuses the same is the same."""
    assert [] == input_disagreements(SAME_INPUT[name])


OTHER_INPUT: dict[str, tuple[Edit, bool, str]] = {
    "open": (lambda schema: schema.pop("additionalProperties"), True, "/additionalProperties"),
    "open to some": (
        lambda schema: schema.update(additionalProperties={"type": "integer"}),
        True,
        "/additionalProperties",
    ),
    "another member": (
        lambda schema: schema["properties"].update(dry_run={"type": "boolean"}),
        True,
        "/additionalProperties",
    ),
    "a member with one value": (
        lambda schema: schema["properties"].update(mode={"const": "soft"}),
        True,
        "/additionalProperties",
    ),
    "required lost": (lambda schema: schema["required"].remove("mutation_id"), True, "/required/1"),
    "all required lost": (lambda schema: schema.pop("required"), True, "/required/0"),
    "format lost": (
        lambda schema: schema["properties"]["mutation_id"].pop("format"),
        True,
        "/properties/mutation_id/format",
    ),
    "widened to number": (
        lambda schema: revision(schema).update(type="number"),
        True,
        "/properties/expected_revision/type",
    ),
    "widened to text": (
        lambda schema: revision(schema).update(type=["integer", "string"]),
        True,
        "/properties/expected_revision/type",
    ),
    "widened to null": (
        lambda schema: schema["properties"].update(mutation_id={"anyOf": [{"format": "uuid"}, {"type": "null"}]}),
        True,
        "/properties/mutation_id/type",
    ),
    "zero allowed": (
        lambda schema: revision(schema).update(exclusiveMinimum=-1),
        True,
        "/properties/expected_revision/exclusiveMinimum",
    ),
    "maximum lost": (
        lambda schema: revision(schema).pop("maximum"),
        True,
        "/properties/expected_revision/maximum",
    ),
    "maximum of 32 bits": (
        lambda schema: revision(schema).update(maximum=2**31 - 1),
        False,
        "/properties/expected_revision/maximum",
    ),
    "one refused": (
        lambda schema: revision(schema).update(exclusiveMinimum=1),
        False,
        "/properties/expected_revision/exclusiveMinimum",
    ),
    "version 4 only": (
        lambda schema: schema["properties"]["workspace_id"].update(pattern="^.{14}4"),
        False,
        "/properties/workspace_id/pattern",
    ),
    "lower-case names required": (
        lambda schema: schema["required"].append("dry_run"),
        False,
        "/required",
    ),
    "false": (lambda schema: schema["properties"].update(mutation_id=False), False, "/properties/mutation_id"),
}


@pytest.mark.parametrize("name", OTHER_INPUT)
def test_an_input_schema_that_means_something_else_is_reported(name: str) -> None:
    """The finding says in which direction, and at which place of the schema."""
    edit, allows, place = OTHER_INPUT[name]
    found = input_disagreements(edit)
    assert (allows, place) in [(each.allows, each.place) for each in found]
    assert all(each.allows == allows for each in found)
    assert all(each.contract_says and each.listed_says and each.example for each in found)


SAME_OUTPUT: dict[str, Edit] = {
    "list of types": lambda schema: conversation(schema).update(
        title={"type": ["null", "string"], "minLength": 1, "maxLength": 200}
    ),
    "exactly one of": lambda schema: conversation(schema)["title"].update(
        oneOf=conversation(schema)["title"].pop("anyOf")
    ),
    "choices without a type": lambda schema: conversation(schema)["availability"].pop("type"),
    "const as a choice of one": lambda schema: schema["properties"]["availability"]["properties"].update(
        retention_hours={"enum": [24.0]}, processor={"enum": ["Google Gemini"]}
    ),
    "boolean as two choices": lambda schema: conversation(schema).update(archived={"enum": [True, False]}),
    "ids are told apart": lambda schema: messages(schema).update(uniqueItems=True),
    "a rule of the contract in the schema": lambda schema: messages(schema)["items"].update(
        {
            "if": {"properties": {"role": {"const": "user"}}},
            "then": {"properties": {"answer": {"type": "null"}}},
        }
    ),
    "pattern for UUIDs": lambda schema: conversation(schema)["id"].update(pattern=UUID_PATTERN),
}


@pytest.mark.parametrize("name", SAME_OUTPUT)
def test_an_output_schema_that_means_the_same_is_not_reported(name: str) -> None:
    """A schema may also refuse what no rule of the contract lets happen."""
    assert [] == output_disagreements(SAME_OUTPUT[name])


OTHER_OUTPUT: dict[str, tuple[Edit, bool, str]] = {
    "a nested object open": (
        lambda schema: conversation(schema)["context"].pop("additionalProperties"),
        True,
        "/properties/conversation/properties/context/additionalProperties",
    ),
    "null lost": (
        lambda schema: conversation(schema)["title"]["anyOf"].pop(),
        False,
        "/properties/conversation/properties/title/anyOf",
    ),
    "choice lost": (
        lambda schema: conversation(schema)["availability"]["enum"].remove("archived"),
        False,
        "/properties/conversation/properties/availability/enum",
    ),
    "choice added": (
        lambda schema: conversation(schema)["availability"]["enum"].append("deleted"),
        True,
        "/properties/conversation/properties/availability/enum",
    ),
    "pattern lost": (
        lambda schema: conversation(schema)["created_at"].pop("pattern"),
        True,
        "/properties/conversation/properties/created_at/pattern",
    ),
    "format of a time lost": (
        lambda schema: conversation(schema)["created_at"].pop("format"),
        True,
        "/properties/conversation/properties/created_at/format",
    ),
    "shorter list": (lambda schema: messages(schema).update(maxItems=39), False, "/properties/messages/maxItems"),
    "longer list": (lambda schema: messages(schema).update(maxItems=41), True, "/properties/messages/maxItems"),
    "list never empty": (lambda schema: messages(schema).update(minItems=1), False, "/properties/messages/minItems"),
    "no bound": (
        lambda schema: conversation(schema)["language"].pop("maxLength"),
        True,
        "/properties/conversation/properties/language/maxLength",
    ),
}


@pytest.mark.parametrize("name", OTHER_OUTPUT)
def test_an_output_schema_that_means_something_else_is_reported(name: str) -> None:
    """The finding says in which direction, and at which place of the schema."""
    edit, allows, place = OTHER_OUTPUT[name]
    found = output_disagreements(edit)
    assert (allows, place) in [(each.allows, each.place) for each in found]


def lost_keywords(operation: Operation) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield copies of an output schema, each without one keyword at one place."""
    judge = SchemaJudge(operation.output_schema)
    for assertion in judge.assertions:
        schema = copy.deepcopy(dict(operation.output_schema))
        owner: Any = schema
        *steps, keyword = assertion.schema_pointer.split("/")[1:]
        for step in steps:
            owner = owner[int(step)] if isinstance(owner, list) else owner[step]
        del owner[int(keyword) if isinstance(owner, list) else keyword]
        yield assertion.schema_pointer, schema


@pytest.mark.parametrize("operation", [GET, STATUS], ids=lambda operation: operation.name)
def test_every_lost_keyword_is_seen(operation: Operation) -> None:
    """Whatever one keyword is lost, an example shows it, unless another keyword beside it says it too."""
    judge = SchemaJudge(operation.output_schema)
    wrong = [each for each in output_examples(operation, {}) if not judge.is_valid(each.value)]
    unseen = [
        place
        for place, schema in lost_keywords(operation)
        if not any(disagreements(judge, ListedSchema(schema, DRAFT_07), wrong))
    ]
    assert [] == [place for place in unseen if not (place.endswith("/type") and says_it_too(operation, place))]


def says_it_too(operation: Operation, place: str) -> bool:
    """Tell whether beside the keyword at this place the values are listed one by one."""
    owner: Any = operation.output_schema
    for step in place.split("/")[1:-1]:
        owner = owner[int(step)] if isinstance(owner, list) else owner[step]
    return "enum" in owner or "const" in owner


@pytest.mark.parametrize("operation", CONTRACT.operations, ids=lambda operation: operation.name)
def test_the_legal_results_are_legal_and_reach_every_bound(operation: Operation) -> None:
    """They keep the schema and the invariants, and exercise every point of the schema."""
    judge, coverage = SchemaJudge(operation.output_schema), Coverage(operation.output_schema)
    for value in legal_results(operation):
        whole = value.get("conversation") or value["run"]
        asked = {
            "conversation_id": whole["id"] if "conversation" in value else whole["conversation_id"],
            "workspace_id": whole["workspace_id"],
            "run_id": whole["id"],
        }
        assert [] == judge.violations(value)
        assert [] == list(BREACHES[operation.result](value, asked))
        coverage.record(value)
    assert set() == coverage.missing


UNUSABLE: dict[str, Any] = {
    "no object": True,
    "null": None,
    "unknown type": {"type": "uuid"},
    "bound of draft-04": {"exclusiveMinimum": True, "minimum": 0},
    "broken pattern": {"pattern": "("},
    "dialect that is no text": {"$schema": 7},
    "reference outside": {"$ref": "https://schemas.example/x.json"},
    "reference to a neighbour": {"$id": "https://schemas.example/x.json", "$ref": "y.json"},
    "reference to nothing": {"$ref": "#/$defs/none"},
    "reference to no anchor": {"$ref": "#none"},
    "reference to itself": {"$ref": "#"},
    "reference in a circle": {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"items": {"$ref": "#/$defs/a"}}},
    },
    "references that go deep": {
        "$ref": "#/$defs/0",
        "$defs": {str(n): {"not": {"$ref": f"#/$defs/{n + 1}"}} for n in range(300)} | {"300": {}},
    },
    "references that double": {
        "$ref": "#/$defs/0",
        "$defs": {str(n): {"allOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(60)} | {"60": {}},
    },
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_what_is_no_usable_schema_is_refused_at_once(name: str) -> None:
    """Nothing is fetched, nothing goes on for ever, and the reason is told."""
    with pytest.raises(SchemaUnusable) as caught:
        ListedSchema(UNUSABLE[name], DRAFT_2020_12)
    assert caught.value.reason


@pytest.mark.parametrize(
    "schema", [{"$schema": "https://schemas.example/dialect"}, {"$dynamicRef": "#meta"}], ids=["dialect", "dynamic"]
)
def test_what_the_suite_cannot_judge_is_no_fault(schema: dict[str, Any]) -> None:
    """An unknown dialect and dynamic references are said to be not judged; neither is fetched."""
    with pytest.raises(SchemaNotJudged):
        ListedSchema(schema, DRAFT_2020_12)


def test_the_dialect_decides_whether_keywords_beside_a_reference_count() -> None:
    """Draft-07 ignores what stands beside $ref, 2020-12 does not."""
    schema = {"properties": {"a": {"$ref": "#/$defs/a", "minLength": 3}}, "$defs": {"a": {"type": "string"}}}
    assert ListedSchema(schema, DRAFT_07).is_valid({"a": "x"})
    assert not ListedSchema(schema, DRAFT_2020_12).is_valid({"a": "x"})


def test_a_schema_may_be_a_reference_to_true() -> None:
    """A reference can lead to a schema that is no object."""
    assert ListedSchema({"$ref": "#/$defs/any", "$defs": {"any": True}}, DRAFT_07).is_valid(1)


def test_a_schema_that_declares_its_dialect_is_read_in_it() -> None:
    """What $schema says wins over the revision's default."""
    schema = {"$schema": DRAFT_07 + "#", "items": [{"type": "string"}], "additionalItems": False}
    assert not ListedSchema(schema, DRAFT_2020_12).is_valid(["a", "b"])


def test_const_means_nothing_in_draft_04() -> None:
    """The same words in draft-04 do not pass as the same schema."""
    listed = ListedSchema({"$schema": "http://json-schema.org/draft-04/schema#", "const": 1}, DRAFT_2020_12)
    examples = [Example(2, "another number", is_legal=False)]
    assert [True] == [each.allows for each in disagreements(SchemaJudge({"const": 1}), listed, examples)]


def test_names_of_members_are_no_keywords() -> None:
    """Members called as keywords are, and values that look like schemas, are left alone."""
    schema = {
        "properties": {
            "$ref": {"type": "string"},
            "enum": {"$ref": "#/definitions/e"},
            "definitions": {"type": "null"},
        },
        "enum": [{"$ref": "#/nowhere"}],
        "definitions": {"e": {"type": "integer"}},
    }
    assert {
        "properties": {"$ref": {"type": "string"}, "enum": {"type": "integer"}, "definitions": {"type": "null"}},
        "enum": [{"$ref": "#/nowhere"}],
    } == without_references(schema, siblings_count=False)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"const": 1}, {"enum": [1.0]}, True),
        ({"const": 1}, {"const": True}, False),
        ({"const": True}, {"enum": [1]}, False),
        ({"type": ["string", "null"], "minLength": 3}, {"anyOf": [{"const": None}, {"type": "string", "minLength": 3}]},
         True),
        ({"type": ["string", "null"], "maxLength": 3}, {"anyOf": [{"type": "null"}, {"type": "string"}]}, False),
        ({"enum": ["a", None]}, {"anyOf": [{"type": "null"}, {"const": "a", "type": "string"}]}, True),
        ({"type": ["integer", "number"]}, {"type": "number"}, True),
        ({"type": "integer", "exclusiveMinimum": 0}, {"type": "integer", "minimum": 1}, True),
        ({"type": "number", "exclusiveMinimum": 0}, {"type": "number", "minimum": 1}, False),
        ({"type": "integer", "maximum": 5, "minLength": 2}, {"type": "integer", "maximum": 5}, True),
        ({"type": "string", "enum": ["a", 1]}, {"const": "a"}, True),
        ({"items": True, "type": "array"}, {"type": "array"}, True),
        ({"type": "object", "properties": {"title": {}}}, {"type": "object", "title": "x"}, False),
        ({"type": "string", "default": "x"}, {"type": "string"}, True),
        ({"type": "string", "format": "uuid"}, {"type": "string"}, False),
    ],
)  # fmt: skip
def test_the_form_says_what_is_plainly_the_same(one: Any, other: Any, same: bool) -> None:  # noqa: FBT001 (a column)
    """Two ways to say one thing have one form; what differs does not."""
    assert same == same_form(one, other)


def test_examples_do_not_touch_what_is_left_open() -> None:
    """No example has an id in upper case, of an unknown version, or an integer with a fraction of zero."""
    judge = SchemaJudge(ARCHIVE.input_schema)
    for example in input_examples(ARCHIVE, {}):
        value = example.value
        if not judge.is_valid(value):
            continue
        assert type(value["expected_revision"]) is int
        assert decode(encode(value)) == value
        for name in ("workspace_id", "mutation_id", "conversation_id"):
            assert value[name] == value[name].lower()
            assert value[name][14] in "12345678" or len(set(value[name])) == 2


def test_a_disagreement_is_told_once_for_each_place_and_direction() -> None:
    """Many examples of one place are one disagreement; that one allows and the other refuses are two."""
    judge, listed = SchemaJudge({"const": 1}), ListedSchema({"const": 2}, DRAFT_07)
    examples = [Example(value, str(value), is_legal=True) for value in (1, 2, 1, 2)]
    assert [(False, "/const"), (True, "/const")] == [
        (each.allows, each.place) for each in disagreements(judge, listed, examples)
    ]
    judge, listed = SchemaJudge({"properties": {"a": {"const": 1}, "b": {"const": 1}}}), ListedSchema({}, DRAFT_07)
    examples = [Example({name: 2}, name, is_legal=False) for name in ("a", "b")]
    assert ["/properties/a/const", "/properties/b/const"] == [
        each.place for each in disagreements(judge, listed, examples)
    ]


def test_what_no_rule_lets_happen_may_be_refused() -> None:
    """An example that is not legal counts only where the contract's schema refuses it."""
    judge, listed = SchemaJudge({"type": "string"}), ListedSchema({"const": "a"}, DRAFT_07)
    for is_legal, told in ((False, []), (True, [False])):
        examples = [Example("b", "another text", is_legal=is_legal)]
        assert told == [each.allows for each in disagreements(judge, listed, examples)]


def test_a_refusal_names_its_place_and_there_is_one_only_for_what_is_refused() -> None:
    """The steps to the rule and to the value."""
    listed = ListedSchema({"properties": {"a": {"type": "null"}}}, DRAFT_07)
    refusal = listed.refusal({"a": 1})
    assert (("properties", "a", "type"), ("a",)) == (refusal.schema_parts, refusal.value_parts)
    with pytest.raises(ValueError, match="not refused"):
        listed.refusal({})


@pytest.mark.parametrize(
    ("schema", "place"),
    [({"exclusiveMinimum": True, "minimum": 0}, "/exclusiveMinimum"), ({"minLength": -1}, "/minLength")],
)
def test_what_is_no_schema_is_named_at_its_place(schema: dict[str, Any], place: str) -> None:
    """The rules of the dialect say where."""
    with pytest.raises(SchemaUnusable, match="it is no schema") as caught:
        ListedSchema(schema, DRAFT_07)
    assert place == caught.value.place


@pytest.mark.parametrize(
    ("dialect", "siblings_count"),
    [
        ("http://json-schema.org/draft-04/schema", False),
        ("http://json-schema.org/draft-06/schema", False),
        ("http://json-schema.org/draft-07/schema", False),
        ("https://json-schema.org/draft/2019-09/schema", True),
        ("https://json-schema.org/draft/2020-12/schema", True),
    ],
)
def test_every_dialect_from_draft_04_on_is_judged(dialect: str, siblings_count: bool) -> None:  # noqa: FBT001 - a column
    """With and without an empty fragment; since 2019-09 what stands beside a reference counts."""
    text = {"$ref": "#/definitions/a", "maxLength": 1, "definitions": {"a": {"type": "string"}}}
    for declared in (dialect, dialect + "#"):
        listed = ListedSchema({**text, "$schema": declared}, DRAFT_07)
        assert (dialect, siblings_count) == (listed.dialect, not listed.is_valid("ab"))
        assert not listed.is_valid(1)


def test_a_schema_without_a_dialect_is_checked_by_the_default_one() -> None:
    """A list of schemas for items is right in draft-07, and wrong in 2020-12."""
    assert not ListedSchema({"items": [{"type": "string"}]}, DRAFT_07).is_valid([1])
    with pytest.raises(SchemaUnusable, match="it is no schema"):
        ListedSchema({"items": [{"type": "string"}]}, DRAFT_2020_12)


def test_what_a_schema_is_called_does_not_matter() -> None:
    """Neither its name nor its dialect is a part of what it says."""
    listed = ListedSchema({"$schema": DRAFT_2020_12, "$id": "not a URI", "type": "string"}, DRAFT_07)
    assert {"type": "string"} == listed.plain
    assert listed.is_valid("a")


def test_a_disagreement_says_where_in_the_value() -> None:
    """By a pointer, and in words for the whole of it."""
    for contract, listed, value, place in (
        ({"const": 1}, {}, 2, "the whole value"),
        ({}, {"const": 1}, 2, "the whole value"),
        ({"items": {"const": 1}}, {}, [2], "/0"),
        ({}, {"items": {"const": 1}}, [2], "/0"),
    ):
        examples = [Example(value, "a value", is_legal=True)]
        (told,) = disagreements(SchemaJudge(contract), ListedSchema(listed, DRAFT_07), examples)
        assert told.contract_says.startswith(f"{place}: ")
