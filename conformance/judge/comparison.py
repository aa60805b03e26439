"""Compares what a server shows with what it must show: JSON values, times as instants, ids in any case."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.judge.formats import parse_instant
from conformance.judge.json_values import MISSING, Difference, json_equal, pointer

TIME_FIELDS = frozenset({"created_at", "expires_at"})


def is_id_field(name: str) -> bool:
    """Tell whether a member of that name holds a UUID, whose case does not count."""
    return name == "id" or (name.endswith("_id") and name != "model_id")


def differences(expected: Any, found: Any) -> Iterator[Difference]:
    """Yield every place where ``found`` is not what ``expected`` is; both obey the contract's schemas."""
    # Values of one schema that Python calls equal are equal as JSON too: at no place are both 1 and true legal.
    if expected != found:
        yield from _walk(expected, found, ())


def _walk(expected: Any, found: Any, place: tuple[str | int, ...]) -> Iterator[Difference]:
    if isinstance(expected, dict) and isinstance(found, dict):
        for name in {**expected, **found}:
            yield from _walk(expected.get(name, MISSING), found.get(name, MISSING), (*place, name))
    elif isinstance(expected, list) and isinstance(found, list):
        if len(expected) != len(found):
            yield Difference(pointer(place), f"{len(expected)} entries", f"{len(found)} entries")
        for index, (one, other) in enumerate(zip(expected, found, strict=False)):
            yield from _walk(one, other, (*place, index))
    elif not _same(expected, found, str(place[-1]) if place else ""):
        yield Difference(pointer(place), expected, found)


def _same(expected: Any, found: Any, name: str) -> bool:
    if isinstance(expected, str) and isinstance(found, str) and expected != found:
        if name in TIME_FIELDS:
            return parse_instant(expected) == parse_instant(found)
        return is_id_field(name) and expected.lower() == found.lower()
    return json_equal(expected, found)
