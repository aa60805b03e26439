"""JSON values compared as JSON compares them, and the pointers that name places in them."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any, Final, NamedTuple


class Missing(Enum):
    """The type of ``MISSING``."""

    MISSING = "nothing"

    def __repr__(self) -> str:
        return self.value


MISSING: Final = Missing.MISSING
"""Stands in a difference for a member or item that one side does not have."""


class Difference(NamedTuple):
    """Where two values first differ, and what stands there on either side."""

    pointer: str
    expected: Any
    found: Any


def pointer(parts: Iterable[str | int]) -> str:
    """Return the JSON Pointer (RFC 6901) of the place that ``parts`` lead to; the whole document is ``""``."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def pointer_parts(text: str) -> tuple[str, ...]:
    """Return the steps of a JSON Pointer, all as text."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:])


def json_type(value: Any) -> str:
    """Return the draft-07 type of a decoded value; a float without a fraction is an ``integer``.

    Raises:
        TypeError: the value is not one that JSON can hold.
    """
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    try:
        return _TYPES[type(value)]
    except KeyError:
        raise TypeError(f"{type(value).__name__} is not a JSON value") from None


_TYPES: Final = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    str: "string",
    list: "array",
    dict: "object",
}


def json_equal(one: Any, other: Any) -> bool:
    """Tell whether two decoded values are the same JSON value: ``1`` equals ``1.0`` and never ``true``."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return one == other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(json_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(json_equal(value, other[name]) for name, value in one.items())
    return type(one) is type(other) and bool(one == other)


def first_difference(expected: Any, found: Any) -> Difference | None:
    """Return the first place at which ``found`` differs from ``expected`` as a JSON value, or ``None``.

    Members are compared in the order of ``expected``, then those that only ``found`` has.
    """
    return _difference(expected, found, ())


def _difference(expected: Any, found: Any, parts: tuple[str | int, ...]) -> Difference | None:
    pairs: Iterable[tuple[str | int, Any, Any]]
    if isinstance(expected, dict) and isinstance(found, dict):
        pairs = ((name, expected.get(name, MISSING), found.get(name, MISSING)) for name in {**expected, **found})
    elif isinstance(expected, list) and isinstance(found, list):
        length = max(len(expected), len(found))
        pairs = ((index, _item(expected, index), _item(found, index)) for index in range(length))
    elif json_equal(expected, found):
        return None
    else:
        return Difference(pointer(parts), expected, found)
    for part, one, other in pairs:
        if difference := _difference(one, other, (*parts, part)):
            return difference
    return None


def _item(items: list[Any], index: int) -> Any:
    return items[index] if index < len(items) else MISSING
