"""Judges what a successful call carries: strict JSON, the output schema, and the invariants on top of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.contract import Contract, Operation
from conformance.errors import SuiteFault
from conformance.judge.comparison import TIME_FIELDS, differences
from conformance.judge.decode import DecodeFault, decode
from conformance.judge.finding import Finding
from conformance.judge.invariants import BREACHES
from conformance.judge.schema import SchemaJudge, Violation
from conformance.transport.exchange import Answer

KEYWORD_REQUIREMENTS: Mapping[str, str] = {
    "type": "OUTPUT-TYPE",
    "required": "OUTPUT-REQUIRED-FIELD",
    "additionalProperties": "OUTPUT-UNKNOWN-FIELD",
    "const": "OUTPUT-CONST",
    "enum": "OUTPUT-ENUM",
    "minLength": "OUTPUT-LENGTH",
    "maxLength": "OUTPUT-LENGTH",
    "minItems": "OUTPUT-ITEMS",
    "maxItems": "OUTPUT-ITEMS",
    "uniqueItems": "OUTPUT-ITEMS",
    "minimum": "OUTPUT-INTEGER-RANGE",
    "maximum": "OUTPUT-INTEGER-RANGE",
    "exclusiveMinimum": "OUTPUT-INTEGER-RANGE",
    "exclusiveMaximum": "OUTPUT-INTEGER-RANGE",
    "multipleOf": "OUTPUT-INTEGER-RANGE",
    "minProperties": "OUTPUT-REQUIRED-FIELD",
    "maxProperties": "OUTPUT-UNKNOWN-FIELD",
    "pattern": "OUTPUT-DATE-TIME",
    "anyOf": "OUTPUT-UNION",
}
"""The requirement that a broken keyword of an output schema breaks; ``format`` depends on the format."""

OUTPUT_REQUIREMENTS: tuple[str, ...] = (
    "OUTPUT-WELL-FORMED",
    *sorted(set(KEYWORD_REQUIREMENTS.values()) | {"OUTPUT-UUID-FORMAT"}),
)
"""Every requirement that judging one result puts to the test."""

INVARIANT_REQUIREMENTS: Mapping[str, tuple[str, ...]] = {
    "conversation": (
        "IDENTITY-CONVERSATION-ASKED",
        "IDENTITY-RUN-MEMBERSHIP",
        "IDENTITY-MESSAGE-RUN",
        "IDENTITY-UNIQUE-IDS",
        "IDENTITY-ROLE-CONTENT",
        "IDENTITY-EVIDENCE-CITED",
        "IDENTITY-TIME-ORDER",
        "IDENTITY-TIME-WINDOW",
        "IDENTITY-RUN-REVISION",
        "IDENTITY-FAILURE-CODE",
        "IDENTITY-FAILURE-CODE-NAME",
    ),
    "run": (
        "IDENTITY-RUN-ASKED",
        "IDENTITY-MESSAGE-RUN",
        "IDENTITY-ROLE-CONTENT",
        "IDENTITY-TIME-ORDER",
        "IDENTITY-TIME-WINDOW",
        "IDENTITY-RUN-REVISION",
        "IDENTITY-FAILURE-CODE",
        "IDENTITY-FAILURE-CODE-NAME",
    ),
}
"""The invariants that a result of each kind puts to the test."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A result as the judge read it. ``value`` is ``None`` unless it could be decoded and obeys the schema."""

    answer: Answer
    value: Any
    findings: tuple[Finding, ...]


class ResultJudge:
    """Judges results of every operation of one contract."""

    def __init__(self, contract: Contract) -> None:
        self._outputs = {
            operation.name: SchemaJudge(operation.output_schema, f"{operation.name}/output.schema.json")
            for operation in contract.operations
        }

    def schema(self, operation: Operation) -> SchemaJudge:
        """Return the judge of that operation's output schema."""
        return self._outputs[operation.name]

    def judge(self, answer: Answer, arguments: Mapping[str, Any]) -> Judged:
        """Judge a successful answer to a call with these arguments.

        Raises:
            SuiteFault: the answer is not a success, or the judge's two validators disagree.
        """
        if answer.result is None:
            raise SuiteFault("a result was to be judged where there is none")
        operation = answer.call.operation
        try:
            value = decode(answer.result)
        except DecodeFault as fault:
            finding = Finding(
                "OUTPUT-WELL-FORMED" if answer.result else answer.absence,
                operation.name,
                f"The result is not strict JSON: {fault.rule.replace('-', ' ')}",
                f"byte {fault.offset}",
                "one JSON document in UTF-8",
                fault.message,
            )
            return Judged(answer, None, (finding.shown_by(answer.exchange),))
        judge = self._outputs[operation.name]
        if not judge.is_valid(value):
            findings = tuple(
                schema_finding(violation, operation.name).shown_by(answer.exchange)
                for violation in judge.violations(value)
            )
            return Judged(answer, None, findings)
        return Judged(answer, value, tuple(self._invariants(answer, value, arguments)))

    def _invariants(self, answer: Answer, value: Any, arguments: Mapping[str, Any]) -> Iterator[Finding]:
        breaches = BREACHES.get(answer.call.operation.result)
        if breaches is None:
            return
        for requirement, summary, place, expected, found in breaches(value, arguments):
            yield Finding(requirement, answer.call.operation.name, summary, place, expected, found, (answer.exchange,))


def schema_finding(violation: Violation, operation: str) -> Finding:
    """Return the finding that a violation of an output schema amounts to."""
    if violation.keyword == "format":
        requirement = "OUTPUT-UUID-FORMAT" if "uuid" in violation.expected else "OUTPUT-DATE-TIME"
    else:
        requirement = KEYWORD_REQUIREMENTS[violation.keyword]
    return Finding(
        requirement,
        operation,
        f"The result breaks the schema's rule {violation.schema_pointer}",
        violation.pointer,
        violation.expected,
        violation.found,
    )


def content_findings(
    answer: Answer, expected: Any, found: Any, requirement: str, time_requirement: str, summary: str
) -> Iterator[Finding]:
    """Yield a finding for each place where ``found`` is not ``expected``; times count under their own requirement."""
    for difference in differences(expected, found):
        is_time = difference.pointer.rsplit("/", 1)[-1] in TIME_FIELDS
        yield Finding(
            time_requirement if is_time else requirement,
            answer.call.operation.name,
            "A time comes back as another instant" if is_time else summary,
            difference.pointer,
            _short(difference.expected),
            _short(difference.found),
            (answer.exchange,),
        )


def _short(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 200 else f"{text[:150]}... ({len(text)} characters)"
