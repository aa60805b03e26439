"""Inputs that are wrong for exactly one reason, each one edit away from a valid twin.

The tables are fixed: one row per assertion of the input schema and way to break it, then the ways in which the bytes
are no JSON text. Nothing here knows an operation by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from conformance.cases.breakage import breakages
from conformance.cases.json_text import RawJson, encode, path_parts, removed, replaced, value_at
from conformance.cases.malformed import (
    BROKEN_STRINGS,
    BROKEN_TEXTS,
    HUGE_NUMBERS,
    MALFORMED_TIMES,
    MALFORMED_UUIDS,
    NO_NUMBERS,
)
from conformance.cases.sample import sample
from conformance.contract import Operation
from conformance.errors import SuiteFault
from conformance.judge.assertions import Assertion, enumerate_assertions
from conformance.judge.decode import DecodeFault, decode
from conformance.judge.schema import SchemaJudge

Build = Callable[[Mapping[str, Any]], bytes]


@dataclass(frozen=True)
class Negative:
    """An input that must be refused.

    ``name`` is unique within the operation and becomes part of the test id; ``what`` completes the sentence
    "Accepted ..."; ``build`` makes the JSON text from valid arguments. ``level`` says whether the text itself is no
    JSON, or JSON that the schema refuses.
    """

    operation: Operation
    requirement: str
    name: str
    what: str
    level: Literal["schema", "text"]
    build: Build


def confirm(negative: Negative, arguments: Mapping[str, Any], judge: SchemaJudge) -> bytes:
    """Return the text of the case, once the judge agrees that it is wrong for exactly one reason and its twin right.

    Raises:
        SuiteFault: it is not; such a case would say nothing about a server.
    """
    case = f"{negative.operation.name} {negative.name}"
    if not judge.is_valid(decode(encode(arguments))):
        raise SuiteFault(f"the valid twin of case {case} is not valid: {judge.violations(arguments)[0].sentence}")
    text = negative.build(arguments)
    try:
        value = decode(text)
    except DecodeFault as fault:
        if negative.level == "text":
            return text
        raise SuiteFault(f"case {case} is not JSON: {fault}") from None
    violations = judge.violations(value)
    if negative.level == "text" or len(violations) != 1:
        reasons = "; ".join(violation.sentence for violation in violations) or "it is valid JSON"
        raise SuiteFault(f"case {case} is not wrong for exactly one reason: {reasons}")
    return text


def negatives(operation: Operation) -> tuple[Negative, ...]:
    """Return every fixed case of an operation, in the order of its input schema."""
    found: dict[str, Negative] = {}
    for negative in (*_schema_negatives(operation), *_text_negatives(operation)):
        if negative.name in found:
            raise SuiteFault(f"two negative cases of {operation.name} are called {negative.name}")
        found[negative.name] = negative
    return tuple(found.values())


def _schema_negatives(operation: Operation) -> Iterator[Negative]:
    assertions = enumerate_assertions(operation.input_schema, f"{operation.name}/input.schema.json")
    closed = {assertion.instance_path for assertion in assertions if assertion.keyword == "additionalProperties"}
    for assertion in assertions:
        parts = path_parts(assertion.instance_path)
        place = slug(parts)
        make = _ROWS.get(assertion.keyword)
        rows: list[Row] = []
        if make is None or (assertion.keyword == "type" and str(assertion.value) not in _WRONG_TYPES):
            yield from _by_breakage(operation, assertion)
        else:
            rows += make(assertion, parts, place)
        if assertion.keyword == "type" and parts and assertion.instance_path.rpartition("/")[0] in closed:
            rows += _near_miss_rows(parts, place)
        for requirement, name, what, edit in rows:
            yield Negative(operation, requirement, name, what, "schema", _edited(edit))


Edit = Callable[[Mapping[str, Any]], Any]
Row = tuple[str, str, str, Edit]


def _damaged(damage: Callable[[bytes], bytes]) -> Build:
    return lambda arguments: damage(encode(arguments))


def _edited(edit: Edit) -> Build:
    return lambda arguments: encode(edit(arguments))


def slug(parts: tuple[str | int, ...]) -> str:
    """Return the name of a place for use in a case's name."""
    return ".".join(map(str, parts)) or "input"


def _setting(parts: tuple[str | int, ...], change: Callable[[Any], Any]) -> Edit:
    return lambda arguments: replaced(arguments, parts, change(value_at(arguments, parts)))


def _constant(value: Any) -> Callable[[Any], Any]:
    return lambda _: value


_WRONG_TYPES: Mapping[str, tuple[tuple[str, str, Callable[[Any], Any]], ...]] = {
    "string": (
        ("null", "null", _constant(None)),
        ("number", "a number", _constant(1)),
        ("true", "true", lambda _: True),
        ("array", "an array", lambda value: [value]),
        ("object", "an object", lambda value: {"value": value}),
    ),
    "integer": (
        ("null", "null", _constant(None)),
        ("string", "its digits as a string", str),
        ("overflowing-string", "a number that overflows a double as a string", _constant("1e999")),
        ("true", "true", lambda _: True),
        ("false", "false", lambda _: False),
        ("fraction", "a number with a fraction", lambda value: value - 0.5 if 1 < value < 2**50 else 1.5),
        ("one-and-a-half", "1.5", _constant(1.5)),
        ("array", "an array", lambda value: [value]),
        ("object", "an object", lambda value: {"value": value}),
        ("empty-string", "an empty string", _constant("")),
    ),
    "boolean": (
        ("null", "null", _constant(None)),
        ("number", "0 or 1", int),
        ("string", "its name as a string", lambda value: str(value).lower()),
    ),
    "object": (
        ("null", "null", _constant(None)),
        ("array", "an array", lambda value: [value]),
        ("string", "a string", _constant("text")),
        ("number", "a number", _constant(1)),
        ("true", "true", lambda _: True),
    ),
    "array": (
        ("null", "null", _constant(None)),
        ("object", "an object", lambda value: {"0": value}),
        ("string", "a string", _constant("text")),
    ),
}


def _type_rows(assertion: Assertion, parts: tuple[str | int, ...], place: str) -> Iterator[Row]:
    requirement = "INPUT-TYPE" if parts else "INPUT-OBJECT"
    for name, what, change in _WRONG_TYPES[assertion.value]:
        yield requirement, f"{place}-{name}", f"{what} for {place}", _setting(parts, change)
    if parts and assertion.value in ("string", "integer"):
        nested = _constant(RawJson("[" * 100 + "]" * 100))
        yield requirement, f"{place}-nested", f"an array nested 100 deep for {place}", _setting(parts, nested)


def _required_rows(assertion: Assertion, parts: tuple[str | int, ...], _: str) -> Iterator[Row]:
    member = str(assertion.member)
    path = (*parts, member)
    yield (
        "INPUT-REQUIRED-FIELD",
        f"{slug(path)}-missing",
        f"an input without {slug(path)}",
        lambda arguments: removed(arguments, path),
    )


_UNKNOWN_NAMES = (
    ("unknown", "zz_unknown", "a field that nobody knows"),
    ("empty-name", "", "a field with an empty name"),
    ("prototype", "__proto__", "a field named __proto__"),
    ("schema", "$schema", "a field named $schema"),
    ("output-name", "archived", "a field that only results have"),
)


def _unknown_rows(_: Assertion, parts: tuple[str | int, ...], place: str) -> Iterator[Row]:
    for name, member, what in _UNKNOWN_NAMES:
        yield "INPUT-UNKNOWN-FIELD", f"{place}-{name}", what, _adding(parts, member, _constant(1))
    yield (
        "INPUT-UNKNOWN-FIELD",
        f"{place}-unknown-null",
        "a field that nobody knows, with null in it",
        _adding(parts, "zz_unknown", _constant(None)),
    )


def near_misses(member: str) -> Mapping[str, str]:
    """Return names that a person or a naming convention would write for ``member``, by what they are."""
    words = member.split("_")
    names = {
        "camel-case": words[0] + "".join(word.capitalize() for word in words[1:]),
        "pascal-case": "".join(word.capitalize() for word in words),
        "kebab-case": "-".join(words),
        "upper-case": member.upper(),
        "misspelled": member[:-2] + member[-1],
        "trailing-space": member + " ",
    }
    return {kind: name for kind, name in names.items() if name != member}


def _near_miss_rows(parts: tuple[str | int, ...], place: str) -> Iterator[Row]:
    """Near misses stand beside the right field: the only thing wrong is that they are there."""
    member = str(parts[-1])
    for kind, name in near_misses(member).items():
        yield (
            "INPUT-UNKNOWN-FIELD",
            f"{place}-near-miss-{kind}",
            f"the near miss {name!r} beside {place}",
            _adding(parts[:-1], name, lambda arguments: value_at(arguments, parts)),
        )


def _adding(parts: tuple[str | int, ...], member: str, value: Callable[[Any], Any]) -> Edit:
    return lambda arguments: replaced(arguments, parts, {**value_at(arguments, parts), member: value(arguments)})


def _format_rows(assertion: Assertion, parts: tuple[str | int, ...], place: str) -> Iterator[Row]:
    is_uuid = assertion.value == "uuid"
    table = MALFORMED_UUIDS if is_uuid else MALFORMED_TIMES
    requirement = "INPUT-UUID-FORMAT" if is_uuid else "INPUT-TYPE"
    for name, what, change in table:
        yield requirement, f"{place}-{name}", f"{what} for {place}", _setting(parts, change)


def _bound_rows(assertion: Assertion, parts: tuple[str | int, ...], place: str) -> Iterator[Row]:
    bound: int = assertion.value
    is_lower = assertion.keyword in ("minimum", "exclusiveMinimum")
    first = bound if assertion.keyword.startswith("exclusive") else bound + (-1 if is_lower else 1)
    step = -1 if is_lower else 1
    for value in (first, first + step):
        yield "INPUT-INTEGER-RANGE", f"{place}-{value}", f"{value} for {place}", _setting(parts, _constant(value))
    far = (("large-negative", "-9007199254740991"),) if is_lower else HUGE_NUMBERS
    for name, text in far:
        shown = text if len(text) < 30 else "a number of 301 digits"
        yield (
            "INPUT-INTEGER-RANGE",
            f"{place}-{name}",
            f"{shown} for {place}",
            _setting(parts, _constant(RawJson(text))),
        )


_ROWS: Mapping[str, Callable[[Assertion, tuple[str | int, ...], str], Iterator[Row]]] = {
    "type": _type_rows,
    "required": _required_rows,
    "additionalProperties": _unknown_rows,
    "format": _format_rows,
    "minimum": _bound_rows,
    "maximum": _bound_rows,
    "exclusiveMinimum": _bound_rows,
    "exclusiveMaximum": _bound_rows,
}

_OTHER_REQUIREMENTS = {"minLength": "INPUT-TYPE", "maxLength": "INPUT-TYPE"}


def _by_breakage(operation: Operation, assertion: Assertion) -> Iterator[Negative]:
    """Fall back on the generic breakages for keywords that the published operations do not use."""
    judge, twin = SchemaJudge(operation.input_schema), sample(operation.input_schema)
    for number, breakage in enumerate(breakages(operation.input_schema)):
        # Some assertions cannot be broken alone, and what is wrong twice is no case.
        if breakage.assertion == assertion and len(judge.violations(breakage.apply(twin))) == 1:
            place = slug(path_parts(assertion.instance_path))
            yield Negative(
                operation,
                _OTHER_REQUIREMENTS.get(assertion.keyword, "INPUT-TYPE"),
                f"{place}-{assertion.keyword}-{number}",
                f"{breakage.description} for {place}",
                "schema",
                _edited(breakage.apply),
            )


def _is_broken(change: Callable[[bytes], bytes], text: bytes) -> bool:
    try:
        decode(change(text))
    except DecodeFault:
        return True
    return False


def _text_negatives(operation: Operation) -> Iterator[Negative]:
    # Where the input has no string at all, there is nothing to put a wrong byte into.
    has_text = any(
        assertion.keyword == "type" and assertion.value == "string"
        for assertion in enumerate_assertions(operation.input_schema)
    )
    for requirement, name, what, change in (*BROKEN_TEXTS, *(BROKEN_STRINGS if has_text else ())):
        if not _is_broken(change, encode(sample(operation.input_schema))):
            # An input of one field has no comma that could be missing.
            continue
        yield Negative(operation, requirement, name, what, "text", _damaged(change))
    integers = [
        path_parts(assertion.instance_path)
        for assertion in enumerate_assertions(operation.input_schema)
        if assertion.keyword == "type" and assertion.value == "integer"
    ]
    for parts in integers:
        for name, text in NO_NUMBERS:
            edit = _setting(parts, _constant(RawJson(text)))
            what = f"{text} for {slug(parts)}, which is no JSON"
            yield Negative(operation, "INPUT-WELL-FORMED", f"{slug(parts)}-{name}", what, "text", _edited(edit))
