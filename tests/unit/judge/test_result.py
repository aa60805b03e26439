"""The requirement that each broken keyword of an output schema breaks."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.contract import load_contract
from conformance.judge.result import KEYWORD_REQUIREMENTS, OUTPUT_REQUIREMENTS, schema_finding
from conformance.judge.schema import SchemaJudge
from conformance.requirements import load_registry

BROKEN: list[tuple[dict[str, Any], Any, str]] = [
    ({"type": "string"}, 1, "OUTPUT-TYPE"),
    ({"required": ["a"]}, {}, "OUTPUT-REQUIRED-FIELD"),
    ({"additionalProperties": False}, {"a": 1}, "OUTPUT-UNKNOWN-FIELD"),
    ({"const": 1}, 2, "OUTPUT-CONST"),
    ({"enum": [1]}, 2, "OUTPUT-ENUM"),
    ({"minLength": 1}, "", "OUTPUT-LENGTH"),
    ({"maxLength": 1}, "ab", "OUTPUT-LENGTH"),
    ({"minItems": 1}, [], "OUTPUT-ITEMS"),
    ({"maxItems": 1}, [1, 2], "OUTPUT-ITEMS"),
    ({"uniqueItems": True}, [1, 1], "OUTPUT-ITEMS"),
    ({"minimum": 1}, 0, "OUTPUT-INTEGER-RANGE"),
    ({"maximum": 1}, 2, "OUTPUT-INTEGER-RANGE"),
    ({"exclusiveMinimum": 1}, 1, "OUTPUT-INTEGER-RANGE"),
    ({"exclusiveMaximum": 1}, 1, "OUTPUT-INTEGER-RANGE"),
    ({"multipleOf": 2}, 1, "OUTPUT-INTEGER-RANGE"),
    ({"minProperties": 1}, {}, "OUTPUT-REQUIRED-FIELD"),
    ({"maxProperties": 0}, {"a": 1}, "OUTPUT-UNKNOWN-FIELD"),
    ({"pattern": "a"}, "b", "OUTPUT-DATE-TIME"),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 1, "OUTPUT-UNION"),
    ({"format": "uuid"}, "a", "OUTPUT-UUID-FORMAT"),
    ({"format": "date-time"}, "a", "OUTPUT-DATE-TIME"),
]


@pytest.mark.parametrize(("schema", "value", "requirement"), BROKEN, ids=str)
def test_a_broken_keyword_breaks_its_requirement(schema: dict[str, Any], value: Any, requirement: str) -> None:
    """Whatever operation it is; the finding says where and by which rule."""
    (violation,) = SchemaJudge(schema).violations(value)
    finding = schema_finding(violation, "an operation")
    assert (requirement, "an operation", violation.pointer) == (finding.requirement, finding.operation, finding.place)
    assert finding.summary.endswith(violation.schema_pointer)


def test_every_keyword_and_every_requirement_of_outputs_has_its_case() -> None:
    """The keywords are those of the table above, the requirements those that the contract publishes for outputs."""
    assert {keyword for schema, *_ in BROKEN for keyword in schema} - {"format"} == KEYWORD_REQUIREMENTS.keys()
    published = {name for name in load_registry(load_contract()).by_id if name.startswith("OUTPUT-")}
    assert published == set(OUTPUT_REQUIREMENTS) == {requirement for *_, requirement in BROKEN} | {"OUTPUT-WELL-FORMED"}
    assert len(published) == len(OUTPUT_REQUIREMENTS)
