"""The fixed examples by which two schemas for one operation are compared, and some that a listed schema suggests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, Final

from conformance.cases.breakage import Breakage, NoPlaceError, breakages
from conformance.cases.inputs import valid_spellings
from conformance.cases.negatives import negatives
from conformance.cases.results import legal_results
from conformance.cases.sample import DATE_TIME, UUID, sample
from conformance.contract import Operation
from conformance.judge.assertions import ANY_ITEM, Assertion, enumerate_assertions
from conformance.judge.decode import decode
from conformance.judge.json_values import pointer, pointer_parts
from conformance.judge.schema_meaning import Example

Schema = Mapping[str, Any]
Parts = tuple[str, ...]

_ANYWHERE: Final[tuple[Any, ...]] = (None, True, 1, 1.5, "text", "", [], {}, UUID, DATE_TIME)
_MOST_SUGGESTED: Final = 5_000


def input_examples(operation: Operation, listed: Schema) -> Iterator[Example]:
    """Yield inputs, right and wrong; ``listed`` is the schema to compare with, without references.

    None of them is one that a server may accept or refuse as it likes.
    """
    twin = sample(operation.input_schema)
    yield Example(twin, "a plain input", is_legal=True)
    for spelling in valid_spellings(operation):
        yield Example(decode(spelling.build(twin)), spelling.what, is_legal=True)
    for negative in negatives(operation):
        if negative.level == "schema":
            yield Example(decode(negative.build(twin)), negative.what, is_legal=True)
    yield from _edited(operation.input_schema, listed, (twin,), is_legal=True)


def output_examples(operation: Operation, listed: Schema) -> Iterator[Example]:
    """Yield results, right and wrong; ``listed`` is the schema to compare with, without references.

    Where the kind of result is known, the right ones also keep what the schema alone does not say.
    """
    values = tuple(legal_results(operation))
    for value in values:
        yield Example(value, "a legal result", is_legal=True)
    bases = (*values, sample(operation.output_schema))
    yield from _edited(operation.output_schema, listed, bases, is_legal=not operation.result)


def _edited(schema: Schema, listed: Schema, bases: tuple[Any, ...], *, is_legal: bool) -> Iterator[Example]:
    """Yield values with one edit, each made in the first of ``bases`` that has a place for it."""
    found = (*breakages(schema), *_everywhere(schema), *islice(_suggested(schema, listed), _MOST_SUGGESTED))
    for breakage in found:
        value = _applied(breakage, bases)
        if value is not None:
            place = breakage.assertion.instance_path or "the whole value"
            yield Example(value, f"{breakage.description} ({place})", is_legal=is_legal)


def _applied(breakage: Breakage, bases: tuple[Any, ...]) -> Any:
    for base in bases:
        try:
            return breakage.apply(base)
        except NoPlaceError:
            continue
    return None


def _edit(instance_path: str, description: str, edit: Callable[[Any], Any], *, adds: str | None = None) -> Breakage:
    def suits(old: Any) -> bool:
        return adds is None or (isinstance(old, dict) and adds not in old)

    return Breakage(Assertion("", "", None, instance_path, None), description, suits, edit, adds)


def _put(new: Any, _old: Any) -> Any:
    return new


def _with_member(name: str, new: Any, old: Mapping[str, Any]) -> dict[str, Any]:
    return {**old, name: new}


def _everywhere(schema: Schema) -> Iterator[Breakage]:
    """Yield a value of every type at every place, and values at the bounds that the contract's schema names."""
    assertions = enumerate_assertions(schema)
    for path in dict.fromkeys(assertion.instance_path for assertion in assertions):
        for new in _ANYWHERE:
            yield _edit(path, f"{new!r}", partial(_put, new))
    for assertion in assertions:
        for new in _at_bound(assertion):
            yield _edit(assertion.instance_path, f"a value at {assertion.keyword}", partial(_put, new))


def _at_bound(assertion: Assertion) -> list[Any]:
    value = assertion.value
    match assertion.keyword:
        case "enum":
            return list(value)
        case "const" | "minimum" | "maximum":
            return [value]
        case "exclusiveMinimum":
            return [value + 1]
        case "exclusiveMaximum":
            return [value - 1]
        case "minLength" | "maxLength":
            return ["a" * value]
        case _:
            return []


@dataclass
class _Suggestions:
    """What a listed schema speaks of at each place of the values: members by name, and single values."""

    names: dict[Parts, dict[str, None]] = field(default_factory=dict)
    values: dict[Parts, list[Any]] = field(default_factory=dict)

    def gather(self, schema: Any, parts: Parts) -> None:
        """Take note of one schema and of those in it."""
        if isinstance(schema, list):
            for each in schema:
                self.gather(each, parts)
        if not isinstance(schema, dict):
            return
        properties = schema.get("properties")
        for name, child in properties.items() if isinstance(properties, dict) else ():
            self.names.setdefault(parts, {})[name] = None
            self.gather(child, (*parts, name))
        for keyword in ("items", "prefixItems"):
            self.gather(schema.get(keyword), (*parts, ANY_ITEM))
        for keyword in ("anyOf", "oneOf", "allOf", "not", "if", "then", "else"):
            self.gather(schema.get(keyword), parts)
        self.values.setdefault(parts, []).extend(_values_in(schema))


def _values_in(schema: Schema) -> Iterator[Any]:
    """Yield the values that a schema gives one by one."""
    for keyword in ("enum", "examples"):
        if isinstance(schema.get(keyword), list):
            yield from schema[keyword]
    for keyword in ("const", "default"):
        if keyword in schema:
            yield schema[keyword]


def _suggested(schema: Schema, listed: Schema) -> Iterator[Breakage]:
    """Yield values and members that only the listed schema speaks of, where the contract's schema has a place."""
    suggestions = _Suggestions()
    suggestions.gather(listed, ())
    assertions = enumerate_assertions(schema)
    known: dict[str, None] = dict.fromkeys(assertion.instance_path for assertion in assertions)
    for path in known:
        parts = pointer_parts(path)
        for new in suggestions.values.get(parts, ()):
            yield _edit(path, f"{new!r:.60}, which the listed schema names", partial(_put, new))
        for name in suggestions.names.get(parts, ()):
            if pointer((*parts, name)) in known:
                continue
            values = (*suggestions.values.get((*parts, name), ()), *_ANYWHERE)
            for new in values:
                yield _edit(path, f"a member {name[:40]!r}", partial(_with_member, name, new), adds=name)
