"""Whether a listed schema means what the contract's schema means.

Schemas of one form do. Of any others examples decide: the two must agree on each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from conformance.judge.json_values import pointer
from conformance.judge.listed_schema import DRAFT_04, ListedSchema
from conformance.judge.schema import SchemaJudge, show
from conformance.judge.schema_form import same_form


@dataclass(frozen=True, slots=True)
class Example:
    """A value to ask both schemas about.

    ``is_legal`` says that a conforming client or server may really send it. One that is not so counts only where the
    contract's schema refuses it: a schema may also refuse what no rule of the contract lets happen.
    """

    value: Any
    description: str
    is_legal: bool


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A place at which the schemas differ, and what shows it.

    ``place`` is a JSON Pointer into the contract's schema where the listed one ``allows`` what it refuses, and into
    the listed schema where that refuses what the contract's allows. ``example`` is printable ASCII.
    """

    allows: bool
    place: str
    contract_says: str
    listed_says: str
    example: str


def disagreements(
    contract_judge: SchemaJudge, listed: ListedSchema, examples: Iterable[Example]
) -> Iterator[Disagreement]:
    """Yield one disagreement for each place of the schemas where an example shows one; none if they mean the same.

    Draft-04 spells the same words with another meaning, so there the form does not decide.
    """
    if listed.dialect != DRAFT_04 and same_form(contract_judge.schema, listed.plain):
        return
    seen: set[tuple[bool, str]] = set()
    for example in examples:
        allowed = contract_judge.is_valid(example.value)
        if listed.is_valid(example.value) == allowed or (allowed and not example.is_legal):
            continue
        found = _refuses(listed, example) if allowed else _allows(contract_judge, example)
        if (found.allows, found.place) not in seen:
            seen.add((found.allows, found.place))
            yield found


def _allows(contract_judge: SchemaJudge, example: Example) -> Disagreement:
    violation = contract_judge.violations(example.value, 1)[0]
    where = ascii(violation.pointer)[1:-1] or "the whole value"
    return Disagreement(
        allows=True,
        place=violation.schema_pointer,
        contract_says=f"{where}: {violation.expected}",
        listed_says=f"allows {violation.found}",
        example=example.description,
    )


def _refuses(listed: ListedSchema, example: Example) -> Disagreement:
    refusal = listed.refusal(example.value)
    value = example.value
    for part in refusal.value_parts:
        value = value[part]
    where = ascii(pointer(refusal.value_parts))[1:-1] or "the whole value"
    return Disagreement(
        allows=False,
        place=pointer(refusal.schema_parts),
        contract_says=f"{where}: may be {show(value)}",
        listed_says=f"refuses it: {refusal.sentence}",
        example=example.description,
    )
