"""The verdict on a value and its explanation."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from conformance.cases.sample import sample
from conformance.contract import load_contract
from conformance.errors import SuiteFault, UsageProblem
from conformance.judge.schema import SchemaJudge, Violation, show

CONTRACT = load_contract()
GET = SchemaJudge(CONTRACT.operation("conversations_get").output_schema)


@pytest.fixture
def answer() -> Any:
    """Return a valid, full answer of *get* that the test may change."""
    return copy.deepcopy(sample(GET.schema))


@pytest.mark.parametrize("operation", CONTRACT.operations, ids=lambda operation: operation.name)
def test_the_published_examples_are_valid(operation: Any) -> None:
    """What the pages show is accepted, input and output."""
    assert SchemaJudge(operation.input_schema).violations(operation.example_call["arguments"]) == []
    assert SchemaJudge(operation.output_schema).violations(operation.example_result) == []


def test_a_violation_says_all_there_is_to_say(answer: Any) -> None:
    """The place, the rule, what was expected and found, and a sentence."""
    answer["messages"][0]["answer"]["findings"][0]["basis"] = "guessed"
    rule = "/properties/messages/items/properties/answer/anyOf/0/properties/findings/items/properties/basis/enum"
    assert GET.violations(answer) == [
        Violation(
            pointer="/messages/0/answer/findings/0/basis",
            schema_pointer=rule,
            keyword="enum",
            member=None,
            expected='one of "observed", "inferred", "generated"',
            found='"guessed"',
            sentence=(
                '/messages/0/answer/findings/0/basis must be one of "observed", "inferred", "generated", '
                'but is "guessed".'
            ),
            assertions=(rule,),
        )
    ]


def test_a_wrong_type_is_one_violation_and_lists_what_it_also_breaks(answer: Any) -> None:
    """The enum beside the type is broken too, but is no second violation."""
    answer["conversation"]["availability"] = 7
    (violation,) = GET.violations(answer)
    owner = "/properties/conversation/properties/availability"
    assert (violation.pointer, violation.keyword) == ("/conversation/availability", "type")
    assert violation.assertions == (f"{owner}/type", f"{owner}/enum")


def test_the_branch_that_takes_the_type_is_the_one_explained(answer: Any) -> None:
    """Every fault inside the answer is told, and nothing of the null branch."""
    del answer["messages"][0]["answer"]["limitations"]
    answer["messages"][0]["answer"]["sentiment"][0]["label"] = "happy"
    answer["messages"][0]["question"] = "q" * 2001
    found = {(violation.pointer, violation.keyword, violation.member) for violation in GET.violations(answer)}
    assert found == {
        ("/messages/0/answer", "required", "limitations"),
        ("/messages/0/answer/sentiment/0/label", "enum", None),
        ("/messages/0/question", "maxLength", None),
    }


def test_a_type_that_no_branch_takes_is_told_as_any_of(answer: Any) -> None:
    """The types of all branches are expected, and listed as broken."""
    answer["conversation"]["title"] = 5
    (violation,) = GET.violations(answer)
    owner = "/properties/conversation/properties/title/anyOf"
    assert violation.sentence == "/conversation/title must be of type string or null, but is 5."
    assert violation.assertions == (owner, f"{owner}/0/type", f"{owner}/1/type")


def test_each_unknown_and_each_missing_member_is_told(answer: Any) -> None:
    """Unknown members are pointed to, missing ones named with the object that lacks them."""
    answer["availability"] = {"configured": True, "reason": None, "a/b": 1, "\u202e": 2}
    found = [(violation.pointer, violation.keyword, violation.member) for violation in GET.violations(answer)]
    assert found == [
        ("/availability", "required", "processor"),
        ("/availability", "required", "retention_hours"),
        ("/availability/a~1b", "additionalProperties", "a/b"),
        ("/availability/\u202e", "additionalProperties", "\u202e"),
    ]
    assert all(violation.sentence.isascii() for violation in GET.violations(answer))


def test_the_number_of_violations_is_limited(answer: Any) -> None:
    """At most as many as asked for, in the order of the schema."""
    answer["messages"] = [{} for _ in range(30)]
    assert len(GET.violations(answer)) == 20
    assert [violation.member for violation in GET.violations(answer, limit=2)] == ["id", "run_id"]


@pytest.mark.parametrize(
    ("schema", "good", "bad", "keyword"),
    [
        ({"const": 24}, 24.0, "24", "const"),
        ({"const": False}, False, 0, "const"),
        ({"const": [0]}, [0], [False], "const"),
        ({"enum": [1, "a"]}, 1, True, "enum"),
        ({"type": "integer"}, 1.0, True, "type"),
        ({"type": ["integer", "null"]}, None, 1.5, "type"),
        ({"type": "number"}, 1.5, True, "type"),
        ({"maximum": 9007199254740991}, 9007199254740991, 9007199254740992, "maximum"),
        ({"maximum": 9007199254740991}, -(10**400), 10**400, "maximum"),
        ({"exclusiveMinimum": 0}, 5e-324, 0, "exclusiveMinimum"),
        ({"minimum": 1}, 1, 0.999, "minimum"),
        ({"exclusiveMaximum": 1}, 0, 1, "exclusiveMaximum"),
        ({"multipleOf": 0.1}, 0.3, 0.35, "multipleOf"),
        ({"multipleOf": 3}, 10**30 - 1, 10**30, "multipleOf"),
        ({"maxLength": 1}, "\N{GRINNING FACE}", "e\u0301", "maxLength"),
        ({"minLength": 2}, "e\u0301", "\N{GRINNING FACE}", "minLength"),
        ({"uniqueItems": True}, [[1], [True]], [[1], [True], [1.0]], "uniqueItems"),
        ({"minProperties": 1}, {"a": 1}, {}, "minProperties"),
        ({"maxProperties": 1}, {"a": 1}, {"a": 1, "b": 1}, "maxProperties"),
        ({"minItems": 1}, [1], [], "minItems"),
        ({"maxItems": 1}, [1], [1, 2], "maxItems"),
        ({"pattern": "^a$"}, "a", "a\n", "pattern"),
        ({"pattern": r"^\w$"}, "a", "\u00e9", "pattern"),
        ({"pattern": "^.$"}, "\N{GRINNING FACE}", "\n", "pattern"),
        ({"format": "uuid"}, 5, "5", "format"),
    ],
)
def test_both_validators_mean_the_same(schema: dict[str, Any], good: Any, bad: Any, keyword: str) -> None:
    """JSON types in equality, exact numbers, code points, ECMA patterns: in the verdict and in the explanation."""
    judge = SchemaJudge(schema)
    assert judge.is_valid(good)
    assert judge._explains.is_valid(good)
    assert [violation.keyword for violation in judge.violations(bad)] == [keyword]


def test_a_nested_any_of_is_told_with_the_types_of_all_its_branches() -> None:
    """However deep the branches lie, all that refuse the type are listed."""
    inner = {"type": ["string", "integer"], "anyOf": [{"type": "string"}, {"type": "integer", "minimum": 1}]}
    judge = SchemaJudge({"anyOf": [inner, {"type": "null"}]})
    assert [violation.schema_pointer for violation in judge.violations(0)] == ["/anyOf/0/anyOf/1/minimum"]
    assert set(judge.violations([])[0].assertions) == {
        "/anyOf", "/anyOf/0/type", "/anyOf/0/anyOf", "/anyOf/0/anyOf/0/type", "/anyOf/0/anyOf/1/type", "/anyOf/1/type",
    }  # fmt: skip


def test_a_refusal_that_cannot_be_explained_is_a_fault_of_the_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two validators that disagree cannot be trusted with a verdict."""
    judge = SchemaJudge({"type": "string"}, "the schema")
    monkeypatch.setattr(judge, "is_valid", lambda _value: False)
    with pytest.raises(SuiteFault, match="the schema"):
        judge.violations("text")


@pytest.mark.parametrize("schema", [{"type": "text"}, {"pattern": "("}, {"minLength": -1}, {"properties": 5}])
def test_a_schema_that_is_none_is_a_usage_problem(schema: dict[str, Any]) -> None:
    """The file is named, and no traceback of a library is seen."""
    with pytest.raises(UsageProblem, match=r"file\.json: not a valid draft-07 schema"):
        SchemaJudge(schema, "file.json")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ("a\u202e\n", '"a\\u202e\\n"'),
        ("x" * 70, '"' + "x" * 60 + '"... (70 code points)'),
        ("\N{GRINNING FACE}" * 9, '"' + "\\ud83d\\ude00" * 4 + '"... (9 code points)'),
        (10**100, "1" + "0" * 59 + "... (101 characters)"),
        (10**59, "1" + "0" * 59),
        ([1], "an array of 1 items"),
        ({}, "an object of 0 members"),
    ],
)
def test_a_value_is_shown_short_and_printable(value: Any, text: str) -> None:
    """Nothing that a server sends can disturb a terminal or fill a report."""
    assert text == show(value)


@pytest.mark.parametrize(
    ("schema", "value", "broken"),
    [
        ({"multipleOf": 2, "maxLength": 1}, "abc", ["/maxLength"]),
        ({"uniqueItems": False, "maxItems": 1}, [1, 1], ["/maxItems"]),
        ({"uniqueItems": True, "maxLength": 1}, "aa", ["/maxLength"]),
        ({"uniqueItems": True, "maxProperties": 1}, {"a": 1, "b": 1}, ["/maxProperties"]),
        ({"additionalProperties": True, "maxProperties": 1}, {"a": 1, "b": 1}, ["/maxProperties"]),
        (
            {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
            {"a": 1, "b": 2},
            ["/properties/a/type", "/properties/b/type"],
        ),
        ({"items": {"type": "string", "maxLength": 1}}, [1, 2], ["/items/type", "/items/type"]),
    ],
    ids=str,
)
def test_a_keyword_is_blamed_only_where_it_is_broken(schema: dict[str, Any], value: Any, broken: list[str]) -> None:
    """One that speaks of another type, or allows all, is not; and each place has a violation of its own."""
    assert broken == [violation.schema_pointer for violation in SchemaJudge(schema).violations(value)]


def test_what_a_branch_asks_deeper_down_is_not_broken_here() -> None:
    """A value that no branch takes breaks the types of the branches, not what they say of its items."""
    schema = {"anyOf": [{"type": "string", "items": {"type": "null"}}, {"type": "null"}]}
    (violation,) = SchemaJudge(schema).violations([1])
    assert ("/anyOf", "/anyOf/0/type", "/anyOf/1/type") == violation.assertions


def test_a_format_is_explained() -> None:
    """The explanation knows the formats that the verdict knows."""
    (violation,) = SchemaJudge({"type": "string", "format": "uuid"}).violations("a")
    assert ("", "/format", "a valid uuid") == (violation.pointer, violation.schema_pointer, violation.expected)
    assert [] == SchemaJudge({"format": "uuid"}).violations(1)


def test_a_wrong_document_is_called_the_whole() -> None:
    """Its pointer is empty; the sentence says what that is."""
    (violation,) = SchemaJudge({"type": "string"}).violations(1)
    assert "the whole document must be of type string, but is 1." == violation.sentence
