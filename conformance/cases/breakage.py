"""Small edits of a valid value, each of which breaks one assertion of its schema and, where logic allows, only that.

Some assertions cannot be broken apart: a wrong ``type`` also misses an ``enum`` or ``const`` beside it, and what no
branch of an ``anyOf`` takes breaks the ``anyOf`` together with the ``type`` of each branch. They break as one group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from conformance.cases.replacements import replacements
from conformance.cases.sample import Schema, sample
from conformance.errors import UsageProblem
from conformance.judge.assertions import ANY_ITEM, Assertion, enumerate_assertions
from conformance.judge.json_values import pointer, pointer_parts

Parts: TypeAlias = tuple[str | int, ...]


class NoPlaceError(LookupError):
    """A value has no place at which an assertion could be broken, such as an item of an empty array."""


@dataclass(frozen=True)
class Breakage:
    """An edit that breaks ``assertion``; ``description`` says what is done.

    ``suits`` tells whether a value at a place that the assertion speaks of can be edited so, and ``edit`` makes the
    broken one from it, leaving it as it is. ``added`` is the unknown member that the edit adds, if that is the fault.
    """

    assertion: Assertion
    description: str
    suits: Callable[[Any], bool]
    edit: Callable[[Any], Any]
    added: str | None = None

    def place(self, value: Any) -> Parts:
        """Return the steps to the first place in ``value`` that can be edited so.

        Raises:
            NoPlaceError: there is none.
        """
        for parts, found in _places(value, pointer_parts(self.assertion.instance_path), ()):
            if self.suits(found):
                return parts
        raise NoPlaceError(f"the value has no place to break {self.assertion.schema_pointer}")

    def blamed(self, value: Any) -> str:
        """Return the JSON Pointer that a judge must name once this edit is made in ``value``.

        Raises:
            NoPlaceError: ``value`` has no place for the edit.
        """
        return pointer(self.place(value) if self.added is None else (*self.place(value), self.added))

    def apply(self, value: Any) -> Any:
        """Return ``value`` with this one edit; what lies on the way to it is copied, the rest is shared.

        Raises:
            NoPlaceError: ``value`` has no place for the edit.
        """
        return _edited(value, self.place(value), self.edit)


def breakages(schema: Schema, source: str = "schema") -> list[Breakage]:
    """Return at least one breakage for each assertion of ``schema``, in the order of ``enumerate_assertions``.

    Raises:
        UsageProblem: the schema has an assertion that this suite does not know how to break.
    """
    found: list[Breakage] = []
    for assertion in enumerate_assertions(schema, source):
        before = len(found)
        found.extend(_breakages_of(assertion, schema))
        if len(found) == before:
            where = f"{source}#{assertion.schema_pointer}"
            raise UsageProblem("no value is known that breaks this assertion", where, "Restate the schema.")
    return found


def _breakages_of(assertion: Assertion, schema: Schema) -> Iterator[Breakage]:
    steps = pointer_parts(assertion.schema_pointer)
    owner_steps = steps[: -2 if assertion.keyword == "required" else -1]
    owner = _schema_at(schema, owner_steps)
    if assertion.keyword in _CONTAINER_EDITS:
        yield from _CONTAINER_EDITS[assertion.keyword](assertion, owner)
        return
    outermost = owner_steps
    while outermost[-2:-1] == ("anyOf",):
        outermost = outermost[:-2]
    for description, value in replacements(assertion.keyword, owner, _schema_at(schema, outermost)):
        yield Breakage(assertion, description, _anything, partial(_replaced, value))


def _anything(_old: Any) -> bool:
    return True


def _replaced(new: Any, _old: Any) -> Any:
    return new


def _required(assertion: Assertion, _owner: Schema) -> Iterator[Breakage]:
    member = assertion.value

    def suits(old: Any) -> bool:
        return isinstance(old, dict) and member in old

    def edit(old: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in old.items() if name != member}

    yield Breakage(assertion, f"the member {member!r} left out", suits, edit)


def _additional_properties(assertion: Assertion, owner: Schema) -> Iterator[Breakage]:
    for name, value in (("unexpected_member", None), ("Unexpected/~member", "text")):
        if name not in owner.get("properties", {}):
            edit = partial(_with_member, name, value)
            yield Breakage(assertion, f"the unknown member {name!r} added", _is_object, edit, added=name)


def _with_member(name: str, value: Any, old: Mapping[str, Any]) -> dict[str, Any]:
    return {**old, name: value}


def _min_properties(assertion: Assertion, owner: Schema) -> Iterator[Breakage]:
    def edit(old: Mapping[str, Any]) -> dict[str, Any]:
        optional_last = sorted(old, key=lambda name: name not in owner.get("required", ()))
        return {name: old[name] for name in optional_last[: assertion.value - 1]}

    yield Breakage(assertion, f"{assertion.value - 1} members", _is_object, edit)


def _max_properties(assertion: Assertion, _owner: Schema) -> Iterator[Breakage]:
    def edit(old: Mapping[str, Any]) -> dict[str, Any]:
        extra = range(assertion.value + 1 - len(old))
        return {**old, **{f"extra_member_{index}": None for index in extra}}

    yield Breakage(assertion, f"{assertion.value + 1} members", _is_object, edit)


def _min_items(assertion: Assertion, _owner: Schema) -> Iterator[Breakage]:
    yield Breakage(assertion, f"{assertion.value - 1} items", _is_array, lambda old: old[: assertion.value - 1])


def _max_items(assertion: Assertion, owner: Schema) -> Iterator[Breakage]:
    def edit(old: list[Any]) -> list[Any]:
        item = old[0] if old else sample(owner.get("items", {}))
        return [*old, *[item] * (assertion.value + 1 - len(old))]

    yield Breakage(assertion, f"{assertion.value + 1} items", _is_array, edit)


def _unique_items(assertion: Assertion, _owner: Schema) -> Iterator[Breakage]:
    def edit(old: list[Any]) -> list[Any]:
        return [old[0], *old][: max(2, len(old))]

    yield Breakage(assertion, "the first item twice", lambda old: _is_array(old) and len(old) > 0, edit)


_CONTAINER_EDITS: Final[Mapping[str, Callable[[Assertion, Schema], Iterator[Breakage]]]] = {
    "required": _required,
    "additionalProperties": _additional_properties,
    "minProperties": _min_properties,
    "maxProperties": _max_properties,
    "minItems": _min_items,
    "maxItems": _max_items,
    "uniqueItems": _unique_items,
}


def _is_object(old: Any) -> bool:
    return isinstance(old, dict)


def _is_array(old: Any) -> bool:
    return isinstance(old, list)


def _schema_at(schema: Any, steps: Iterable[str]) -> Any:
    for step in steps:
        schema = schema[int(step)] if isinstance(schema, list) else schema[step]
    return schema


def _places(value: Any, steps: tuple[str, ...], parts: Parts) -> Iterator[tuple[Parts, Any]]:
    if not steps:
        yield parts, value
    elif steps[0] == ANY_ITEM and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _places(item, steps[1:], (*parts, index))
    elif isinstance(value, dict) and steps[0] in value:
        yield from _places(value[steps[0]], steps[1:], (*parts, steps[0]))


def _edited(value: Any, parts: Parts, edit: Callable[[Any], Any]) -> Any:
    if not parts:
        return edit(value)
    copied = value.copy()
    copied[parts[0]] = _edited(value[parts[0]], parts[1:], edit)
    return copied
