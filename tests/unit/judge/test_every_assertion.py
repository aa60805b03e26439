"""Each assertion of each schema of the contract, broken alone: the judge names exactly that place and rule.

Where assertions cannot be broken apart, the rule of the group holds: a wrong ``type`` stands for the ``enum`` or
``const`` beside it, and an ``anyOf`` stands for what its branches ask of the value's type.
"""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import pytest

from conformance.cases.breakage import Breakage, breakages
from conformance.cases.sample import sample
from conformance.contract import load_contract
from conformance.judge.schema import SchemaJudge

CONTRACT = load_contract()


@cache
def prepared(operation: str, side: str) -> tuple[SchemaJudge, Any, dict[str, list[Breakage]]]:
    """Return the judge, the valid sample and the breakages by assertion of one schema."""
    schema = getattr(CONTRACT.operation(operation), f"{side}_schema")
    judge = SchemaJudge(schema, f"{operation} {side}")
    by_assertion: dict[str, list[Breakage]] = {assertion.schema_pointer: [] for assertion in judge.assertions}
    for breakage in breakages(schema):
        by_assertion[breakage.assertion.schema_pointer].append(breakage)
    return judge, sample(schema), by_assertion


ALL = [
    pytest.param(operation.name, side, pointer, id=f"{operation.name}-{side}-{pointer}")
    for operation in CONTRACT.operations
    for side in ("input", "output")
    for pointer in prepared(operation.name, side)[2]
]


def test_no_assertion_is_left_out() -> None:
    """Two outputs of 283, one of 223, and the inputs: each assertion has a test of its own below."""
    assert len(ALL) == 283 + 283 + 223 + 8 + 15 + 11


@pytest.mark.parametrize(("operation", "side", "schema_pointer"), ALL)
def test_an_assertion_broken_alone_is_named_alone(operation: str, side: str, schema_pointer: str) -> None:
    """Every variant gives one violation, at the very place, for the very rule or that of its group."""
    judge, good, by_assertion = prepared(operation, side)
    assert by_assertion[schema_pointer]
    for breakage in by_assertion[schema_pointer]:
        before = copy.deepcopy(good)
        broken = breakage.apply(good)
        assert before == good, "the edit changed the valid value"
        assert not judge.is_valid(broken), breakage.description
        (violation,) = judge.violations(broken)
        assert expected_place(breakage) == violation.pointer == breakage.blamed(good)
        assert violation.schema_pointer == violation.assertions[0]
        assert schema_pointer in violation.assertions
        assert breakage.assertion.member in (None, violation.member)
        if violation.assertions != (schema_pointer,):
            assert is_group(violation.keyword, violation.assertions), violation
        assert violation.sentence.isascii()
        assert len(violation.found) < 100


def expected_place(breakage: Breakage) -> str:
    """Return the pointer of the first item everywhere, and of the unknown member."""
    added = "" if breakage.added is None else "/" + breakage.added.replace("~", "~0").replace("/", "~1")
    return breakage.assertion.instance_path.replace("*", "0") + added


def is_group(keyword: str, assertions: tuple[str, ...]) -> bool:
    """Tell whether these assertions cannot be broken apart."""
    rule, *others = assertions
    owner = rule.rpartition("/")[0]
    if keyword == "type":
        return set(others) <= {f"{owner}/enum", f"{owner}/const"}
    branch_rules = [other.removeprefix(f"{rule}/") for other in others]
    return keyword == "anyOf" and all(
        branch.partition("/")[0].isdigit() and branch.partition("/")[2] in ("type", "enum", "const")
        for branch in branch_rules
    )


@pytest.mark.parametrize("keyword", ["pattern", "format", "enum", "const", "maxLength", "minLength", "maximum"])
def test_these_keywords_can_always_be_broken_alone(keyword: str) -> None:
    """For the rules about contents no group is needed: the violation lists nothing but the one assertion."""
    for operation in CONTRACT.operations:
        judge, good, by_assertion = prepared(operation.name, "output")
        for assertion in judge.assertions:
            if assertion.keyword == keyword:
                violations = [judge.violations(b.apply(good)) for b in by_assertion[assertion.schema_pointer]]
                assert {violation.assertions for (violation,) in violations} == {(assertion.schema_pointer,)}


def test_the_variants_include_what_servers_get_wrong() -> None:
    """A number as text, a boolean as number, missing seconds, a leap second, text outside the BMP."""
    _, _, by_assertion = prepared("conversations_get", "output")

    def values(pointer: str) -> list[Any]:
        return [breakage.edit(None) for breakage in by_assertion[pointer]]

    availability, conversation = "/properties/availability/properties", "/properties/conversation/properties"
    assert "24" in values(f"{availability}/retention_hours/type")
    assert {"1", True, 1.5, None} <= set(values(f"{conversation}/revision/type"))
    assert values(f"{conversation}/archived/type")[:2] == [0, 1]
    assert "2016-12-31T23:59:60Z" in values(f"{conversation}/created_at/pattern")
    assert "2026-01-15T09:00Z" in values(f"{conversation}/created_at/format")
    assert "\N{GRINNING FACE}" * 36 in values(f"{conversation}/language/maxLength")
