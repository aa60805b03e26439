"""Everything that a schema asserts, one by one, so that a run can show that each was really put to the test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from conformance.errors import UsageProblem, nearest
from conformance.judge.formats import FORMATS
from conformance.judge.json_values import pointer

ANY_ITEM: Final = "*"
"""Stands for the index of any array item in the path of an instance."""


@dataclass(frozen=True)
class Assertion:
    """One thing that a schema asserts about the values at one place.

    ``schema_pointer`` is the JSON Pointer of the keyword in the schema and unique; for ``required``, which asserts
    one thing for each member, it goes on to the name (``/required/0``) and ``member`` is that name.
    ``instance_path`` is the pointer of the values concerned, with ``*`` for any array item; ``value`` is what the
    keyword holds (for ``required``: the member's name).
    """

    schema_pointer: str
    keyword: str
    member: str | None
    instance_path: str
    value: Any


_DRAFT_07: Final = ("http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-07/schema")
_ANNOTATIONS: Final = {
    "$schema", "$id", "$comment", "title", "description", "default", "examples", "readOnly", "writeOnly",
}  # fmt: skip
_STRUCTURE: Final = {"properties", "items"}
# What a keyword must not hold to assert anything: such a keyword cannot be broken, so it does not count.
_VACUOUS: Final = {
    "minLength": 0,
    "minItems": 0,
    "minProperties": 0,
    "uniqueItems": False,
    "additionalProperties": True,
}
_PLAIN: Final = {
    "type", "enum", "const", "format", "pattern",
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
    "minLength", "maxLength", "minItems", "maxItems", "uniqueItems",
    "minProperties", "maxProperties", "additionalProperties", "anyOf",
}  # fmt: skip
_KNOWN: Final = _ANNOTATIONS | _STRUCTURE | _PLAIN | {"required"}


def enumerate_assertions(schema: Mapping[str, Any], source: str = "schema") -> tuple[Assertion, ...]:
    """Return the assertions of a draft-07 schema in the order of its text; ``source`` names it in messages.

    Each keyword counts once, ``required`` once for each member; ``properties`` and ``items`` only lead further.
    A keyword that cannot be broken (``minLength: 0``, ``additionalProperties: true``) asserts nothing.

    Raises:
        UsageProblem: the schema uses what this suite cannot judge; the message names the place and the keyword.
    """
    return tuple(_walk(schema, (), (), source))


def _walk(
    schema: Any, schema_parts: tuple[str | int, ...], instance_parts: tuple[str, ...], source: str
) -> Iterator[Assertion]:
    if not isinstance(schema, Mapping):
        raise _unsupported(source, schema_parts, "a schema must be a JSON object here", "Write it as an object.")
    for keyword, value in schema.items():
        here = (*schema_parts, keyword)
        _check(keyword, value, here, source)
        if keyword == "required":
            for index, member in enumerate(value):
                yield Assertion(pointer((*here, index)), keyword, member, pointer(instance_parts), member)
        elif keyword in _PLAIN and not (keyword in _VACUOUS and value == _VACUOUS[keyword]):
            yield Assertion(pointer(here), keyword, None, pointer(instance_parts), value)
        for parts, steps, child in _children(keyword, value):
            yield from _walk(child, (*here, *parts), (*instance_parts, *steps), source)


_Child: TypeAlias = tuple[tuple[str | int, ...], tuple[str, ...], Any]


def _children(keyword: str, value: Any) -> list[_Child]:
    """Return the subschemas that a keyword holds, each after the steps to it in the schema and in the instance."""
    if keyword == "properties":
        return [((name,), (name,), child) for name, child in value.items()]
    if keyword == "items":
        return [((), (ANY_ITEM,), value)]
    if keyword == "anyOf":
        return [((index,), (), branch) for index, branch in enumerate(value)]
    return []


def _check(keyword: str, value: Any, here: tuple[str | int, ...], source: str) -> None:
    if keyword not in _KNOWN:
        raise _unsupported(source, here, f"the keyword {keyword!r} is not supported", nearest(keyword, _KNOWN))
    if keyword == "$schema" and value not in _DRAFT_07:
        raise _unsupported(source, here, f"the dialect {value!r} is not draft-07", f"Write {_DRAFT_07[0]!r}.")
    if keyword == "additionalProperties" and not isinstance(value, bool):
        raise _unsupported(source, here, f"{keyword!r} is not true or false", "Write true or false.")
    if keyword == "format" and value not in FORMATS:
        raise _unsupported(source, here, f"the format {value!r} is not supported", nearest(str(value), FORMATS))
    if keyword == "anyOf" and not all(isinstance(branch, Mapping) and "type" in branch for branch in value):
        # The type of a value is what decides which branch its author meant.
        raise _unsupported(source, here, "a branch of 'anyOf' has no 'type'", "Give each branch a type.")


def _unsupported(source: str, parts: tuple[str | int, ...], what: str, remedy: str) -> UsageProblem:
    return UsageProblem(what, f"{source}#{pointer(parts)}", remedy)
