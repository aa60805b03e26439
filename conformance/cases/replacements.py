"""Values that break one keyword of a schema when they replace a whole value, and only that one where it can be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from conformance.cases.sample import Schema, accepts, sample, types
from conformance.judge.json_values import json_equal

_MOST_VARIANTS: Final = 6
_ASTRAL: Final = "\N{GRINNING FACE}"
"""One code point that takes two UTF-16 units and four UTF-8 bytes."""

_WRONG_FOR: Final[Mapping[str, tuple[Any, ...]]] = {
    "integer": ("1", True, 1.5, None),
    "number": ("1", True, None),
    "boolean": (0, 1, "false", None),
    "string": (None, 1, True, []),
    "array": ({}, None, "text"),
    "object": ([], None, "text"),
    "null": (),
}
_OF_EVERY_TYPE: Final[tuple[Any, ...]] = (1, True, [], {}, 1.5, "text", None)

_NOT_UUID: Final = (
    ("a uuid without hyphens", "5f0c1d2e3a4b4c5d8e6f708192a3b4c5"),
    ("a uuid in braces", "{5f0c1d2e-3a4b-4c5d-8e6f-708192a3b4c5}"),
    ("a uuid as urn", "urn:uuid:5f0c1d2e-3a4b-4c5d-8e6f-708192a3b4c5"),
    ("a uuid with the letter g", "5f0c1d2e-3a4b-4c5d-8e6f-708192a3b4cg"),
    ("a uuid and a newline", "5f0c1d2e-3a4b-4c5d-8e6f-708192a3b4c5\n"),
    ("a uuid with a full-width digit", "\N{FULLWIDTH DIGIT FIVE}f0c1d2e-3a4b-4c5d-8e6f-708192a3b4c5"),
)
_NOT_DATE_TIME: Final = (
    ("seconds missing", "2026-01-15T09:00Z"),
    ("seconds missing, with an offset", "2026-01-15T09:00+01:00"),
    ("29 February of a common year", "2026-02-29T09:00:00Z"),
    ("no offset", "2026-01-15T09:00:00"),
)
_NOT_FORMAT: Final = {"uuid": _NOT_UUID, "date-time": _NOT_DATE_TIME}
_RARE_TEXTS: Final = (
    ("a leap second, which RFC 3339 allows", "2016-12-31T23:59:60Z"),
    ("lower-case t and z, which RFC 3339 allows", "2026-01-15t09:00:00z"),
    ("empty text", ""),
    ("a space", " "),
    ("an exclamation mark", "!"),
    ("a letter", "a"),
    ("a digit", "0"),
)

_Described = tuple[str, Any]


def replacements(keyword: str, owner: Schema, outermost: Schema) -> list[_Described]:
    """Return described values that break ``keyword`` of ``owner``; none when no such value is known.

    ``outermost`` is the schema that speaks of the same values and in whose ``anyOf``, however deep, ``owner`` is a
    branch; it is ``owner`` itself where there is no ``anyOf``. Every value returned is refused by it. Values that keep
    all other keywords of ``owner`` are preferred, and the only ones returned where there are any.
    """
    if keyword == "anyOf" or (keyword == "type" and owner is not outermost):
        taken = {"type": list(_types_taken(outermost))}
        wrong = [value for value in _OF_EVERY_TYPE if not accepts(taken, value)]
        return [(f"{value!r}, of a type that no branch takes", value) for value in wrong][:_MOST_VARIANTS]
    alone = {keyword: owner[keyword]}
    others = {name: value for name, value in owner.items() if name != keyword}
    breaking = [
        (description, value)
        for description, value in _CANDIDATES[keyword](owner)
        if not accepts(alone, value) and not accepts(outermost, value)
    ]
    only = [(description, value) for description, value in breaking if accepts(others, value)]
    return (only or breaking)[:_MOST_VARIANTS]


def _types_taken(schema: Schema) -> Iterator[str]:
    for branch in schema.get("anyOf", ()):
        yield from dict.fromkeys((*types(branch), *_types_taken(branch)))


def _wrong_type(owner: Schema) -> Iterator[_Described]:
    stated = (owner["const"],) if "const" in owner else owner.get("enum", ())[:1]
    as_text = tuple(str(value) for value in stated if isinstance(value, (int, float)) and not isinstance(value, bool))
    wrong = [value for name in types(owner) for value in _WRONG_FOR[name]]
    for value in (*as_text, *wrong, *_OF_EVERY_TYPE[: 0 if wrong else None]):
        yield f"{value!r} instead of {' or '.join(types(owner))}", value


def _other_value(owner: Schema) -> Iterator[_Described]:
    stated = [owner["const"]] if "const" in owner else owner["enum"]
    for value in _values_like(stated[0]):
        if not any(json_equal(value, each) for each in stated):
            yield f"{value!r} instead of what is allowed", value


def _values_like(value: Any) -> tuple[Any, ...]:
    """Return other values of the type of ``value`` first, then some of other types."""
    match value:
        case bool():
            alike: tuple[Any, ...] = (not value,)
        case int() | float():
            alike = (value + 1, value - 1, 0)
        case str():
            alike = (value + "_", value.upper(), value + " ", "")
        case list():
            alike = ([*value, None], [])
        case dict():
            alike = ({**value, "unexpected_member": None}, {})
        case _:
            alike = ()
    return (*alike, *(() if alike else _OF_EVERY_TYPE))


def _bad_format(owner: Schema) -> Iterator[_Described]:
    yield from _NOT_FORMAT[owner["format"]]


def _bad_pattern(owner: Schema) -> Iterator[_Described]:
    yield from _RARE_TEXTS
    typical = sample(owner)
    yield "a trailing newline", f"{typical}\n"
    yield "a trailing exclamation mark", f"{typical}!"


def _too_short(owner: Schema) -> Iterator[_Described]:
    length = owner["minLength"] - 1
    yield f"{length} code points", "a" * length
    yield f"{length} code points outside the BMP", _ASTRAL * length


def _too_long(owner: Schema) -> Iterator[_Described]:
    length = owner["maxLength"] + 1
    yield f"{length} code points", "a" * length
    yield f"{length} code points outside the BMP", _ASTRAL * length


def _number_near(keyword: str, *steps: float) -> Callable[[Schema], Iterator[_Described]]:
    def candidates(owner: Schema) -> Iterator[_Described]:
        for step in steps:
            value = owner[keyword] + step
            yield f"{value} for {keyword} {owner[keyword]}", value

    return candidates


def _no_multiple(owner: Schema) -> Iterator[_Described]:
    typical, divisor = sample(owner), owner["multipleOf"]
    for value in (typical + 1, typical - 1, typical + divisor / 2, typical - divisor / 2):
        yield f"{value} for multipleOf {divisor}", value


_CANDIDATES: Final[Mapping[str, Callable[[Schema], Iterator[_Described]]]] = {
    "type": _wrong_type,
    "enum": _other_value,
    "const": _other_value,
    "format": _bad_format,
    "pattern": _bad_pattern,
    "minLength": _too_short,
    "maxLength": _too_long,
    "minimum": _number_near("minimum", -1, -0.5),
    "maximum": _number_near("maximum", 1, 0.5),
    "exclusiveMinimum": _number_near("exclusiveMinimum", 0, -1),
    "exclusiveMaximum": _number_near("exclusiveMaximum", 0, 1),
    "multipleOf": _no_multiple,
}
