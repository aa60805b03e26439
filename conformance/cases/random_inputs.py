"""Random inputs, valid and wrong by one edit, for what no table has thought of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st
from hypothesis_jsonschema import from_schema

from conformance.cases.inputs import Spelling, uuid_of_version
from conformance.cases.json_text import encode
from conformance.cases.negatives import Negative
from conformance.contract import Operation
from conformance.judge.decode import DecodeFault, decode
from conformance.judge.schema import SchemaJudge, Violation

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
UUIDS = st.builds(uuid_of_version, st.integers(1, 8), st.integers(0, 2**128 - 1))
"""UUIDs of every RFC 9562 version."""

_ANY_VALUE = st.one_of(
    from_schema({"type": ["null", "boolean", "number"]}),
    _TEXT,
    from_schema({"type": "array", "items": {"type": ["null", "integer"]}, "maxItems": 3}),
    st.dictionaries(_TEXT, st.integers(), max_size=2),
)
"""JSON values of every type, small ones."""

_REQUIREMENTS: Mapping[str, str] = {
    "type": "INPUT-TYPE",
    "required": "INPUT-REQUIRED-FIELD",
    "additionalProperties": "INPUT-UNKNOWN-FIELD",
    "format": "INPUT-UUID-FORMAT",
    "maximum": "INPUT-INTEGER-RANGE",
    "exclusiveMinimum": "INPUT-INTEGER-RANGE",
    "minimum": "INPUT-INTEGER-RANGE",
    "exclusiveMaximum": "INPUT-INTEGER-RANGE",
}


def random_spellings(operation: Operation) -> st.SearchStrategy[Spelling]:
    """Return inputs in which some fields hold random valid values; the rest point into the scene.

    For an operation that writes, all do: nothing random may change a conversation that others read.
    """
    properties: Mapping[str, Any] = operation.input_schema["properties"]
    leaves = {name: from_schema(schema, custom_formats={"uuid": UUIDS}) for name, schema in properties.items()}
    writes = operation.effect == "write"
    drawn = st.fixed_dictionaries(leaves) if writes else st.fixed_dictionaries({}, optional=leaves)
    return drawn.map(
        lambda values: Spelling("random", "random valid input", lambda arguments: encode({**arguments, **values}))
    )


def random_negatives(operation: Operation) -> st.SearchStrategy[Negative]:
    """Return inputs with one random edit that makes them wrong for exactly one reason."""
    judge = SchemaJudge(operation.input_schema, f"{operation.name}/input.schema.json")
    names = sorted(operation.input_schema["properties"])
    edits = st.one_of(
        st.tuples(st.just("set"), st.sampled_from(names), _ANY_VALUE),
        st.tuples(st.just("edit"), st.sampled_from(names), st.tuples(st.integers(0, 40), _TEXT.filter(bool))),
        st.tuples(st.just("set"), _TEXT, _ANY_VALUE),
        st.tuples(st.just("remove"), st.sampled_from(names), st.none()),
    )
    return edits.map(lambda edit: _negative(operation, judge, *edit))


def _negative(operation: Operation, judge: SchemaJudge, kind: str, name: str, value: Any) -> Negative:
    def build(arguments: Mapping[str, Any]) -> bytes:
        return encode(_edited(arguments, kind, name, value))

    violation = _only_violation(judge, build(operation.example_call["arguments"]))
    return Negative(
        operation,
        _REQUIREMENTS.get(violation.keyword, "INPUT-TYPE"),
        "random",
        f"a random input that breaks the rule {violation.schema_pointer}",
        "schema",
        build,
    )


def _edited(arguments: Mapping[str, Any], kind: str, name: str, value: Any) -> dict[str, Any]:
    changed = dict(arguments)
    if kind == "remove":
        del changed[name]
    elif kind == "edit":
        # Text put into the middle of the right value: near misses, where plain random text would be far off.
        position, inserted = value
        text = str(changed[name])
        changed[name] = text[:position] + inserted + text[position + 1 :]
    else:
        changed[name] = value
    return changed


def _only_violation(judge: SchemaJudge, text: bytes) -> Violation:
    """Return the one violation of an input; an input that is valid, or wrong twice, is no example."""
    try:
        violations = judge.violations(decode(text))
    except DecodeFault:
        violations = []
    assume(len(violations) == 1)
    return violations[0]
