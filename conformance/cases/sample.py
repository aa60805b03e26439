"""One valid value of a schema in which every assertion has a place to be broken."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final, TypeAlias

import jsonschema_rs

from conformance.errors import UsageProblem
from conformance.judge.formats import FORMATS
from conformance.judge.json_values import pointer

Schema: TypeAlias = Mapping[str, Any]

UUID: Final = "5f0c1d2e-3a4b-4c5d-8e6f-708192a3b4c5"
DATE_TIME: Final = "2026-01-15T09:00:00Z"
_TEXT: Final = "sample text "
_SHORT_TEXTS: Final = (UUID, DATE_TIME, "2026-01-15", "a", "A", "1", "00", "en", "a1", "")


def sample(schema: Schema, source: str = "schema") -> Any:
    """Return a valid value of ``schema``, the same on every call, that is as full as it can be.

    Every member is present, every array has an item (or ``minItems``), and of ``anyOf`` the first branch that is not
    null is taken, so that each object and item that the schema speaks of exists. Where the value must be of a kind
    that cannot be guessed (a pattern), ``examples`` or ``default`` of the schema help.

    Raises:
        UsageProblem: no value can be built; the message names the place in the schema.
    """
    return _build(schema, (), source)


def accepts(schema: Schema, value: Any) -> bool:
    """Tell whether ``value`` keeps ``schema``, by the validator that decides in the judge too."""
    return _validator(json.dumps(schema))(value)


@cache
def _validator(schema_text: str) -> Callable[[Any], bool]:
    return jsonschema_rs.Draft7Validator(schema_text, formats=dict(FORMATS), validate_formats=True).is_valid


def types(schema: Schema) -> list[str]:
    """Return the types that the ``type`` keyword names, none without it."""
    named = schema.get("type", [])
    return [named] if isinstance(named, str) else list(named)


def _build(schema: Schema, parts: tuple[str | int, ...], source: str) -> Any:
    for candidate in _candidates(schema, parts, source):
        if accepts(schema, candidate):
            return candidate
    where = f"{source}#{pointer(parts)}"
    raise UsageProblem("no valid sample can be built", where, "Add 'examples' with a valid value there.")


def _candidates(schema: Schema, parts: tuple[str | int, ...], source: str) -> Iterator[Any]:
    if "const" in schema:
        yield copy.deepcopy(schema["const"])
    yield from copy.deepcopy(schema.get("enum", []))
    # A null branch has nothing inside, so it comes last.
    branches = sorted(enumerate(schema.get("anyOf", ())), key=lambda branch: types(branch[1]) == ["null"])
    for index, branch in branches:
        yield _build(branch, (*parts, "anyOf", index), source)
    if "properties" in schema or "object" in types(schema):
        yield _object(schema, parts, source)
    if "items" in schema or "array" in types(schema):
        yield _array(schema, parts, source)
    yield from copy.deepcopy(schema.get("examples", []))
    if "default" in schema:
        yield copy.deepcopy(schema["default"])
    yield from _texts(schema)
    yield from _numbers(schema)
    yield from (False, True, [], {}, None)


def _object(schema: Schema, parts: tuple[str | int, ...], source: str) -> dict[str, Any]:
    properties = schema.get("properties", {})
    members = {name: _build(child, (*parts, "properties", name), source) for name, child in properties.items()}
    for name in schema.get("required", ()):
        members.setdefault(name, None)
    for index in range(schema.get("minProperties", 0) - len(members)):
        members[f"member_{index}"] = None
    return members


def _array(schema: Schema, parts: tuple[str | int, ...], source: str) -> list[Any]:
    length = max(1, schema.get("minItems", 0))
    if schema.get("maxItems") == 0:
        return []
    if "items" not in schema:
        return list(range(length))
    item = _build(schema["items"], (*parts, "items"), source)
    return [copy.deepcopy(item) for _ in range(length)]


def _texts(schema: Schema) -> Iterator[str]:
    least = schema.get("minLength", 0)
    most = schema.get("maxLength", max(least, len(_TEXT)))
    text = (_TEXT * (least // len(_TEXT) + 1))[:most]
    yield text.rstrip() if len(text.rstrip()) >= least else text
    yield from _SHORT_TEXTS


def _numbers(schema: Schema) -> Iterator[float]:
    step = schema.get("multipleOf", 1)
    yield from (1, step)
    for keyword in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"):
        if keyword in schema:
            bound = schema[keyword]
            nearest = bound // step * step
            yield from (bound, nearest, nearest + step, nearest - step)
    yield from (0, -1, 0.5)
    least = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    most = schema.get("maximum", schema.get("exclusiveMaximum", 0))
    yield (least + most) / 2
