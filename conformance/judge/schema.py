"""Whether a value keeps a schema, and if not, exactly where, why, and which assertions it breaks.

jsonschema-rs decides: it is exact and fast. jsonschema, taught the same semantics, explains what was refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import combinations, groupby, islice
from typing import Any, Final

import jsonschema
import jsonschema_rs
import regress
from jsonschema.exceptions import ValidationError

from conformance.errors import SuiteFault, UsageProblem
from conformance.judge.assertions import enumerate_assertions
from conformance.judge.formats import FORMATS
from conformance.judge.json_values import json_equal, json_type, pointer


@dataclass(frozen=True)
class Violation:
    """One thing that is wrong with a value.

    ``pointer`` is the JSON Pointer of the place: the value concerned, the unknown member, or the object that lacks a
    member. ``schema_pointer`` and ``keyword`` name the rule. ``expected`` and ``found`` are short, printable ASCII;
    ``sentence`` says the same in words. ``member`` is the missing or unknown member, if it is about one.
    ``assertions`` are the schema pointers of all assertions that this value breaks here, that of the rule first.
    """

    pointer: str
    schema_pointer: str
    keyword: str
    member: str | None
    expected: str
    found: str
    sentence: str
    assertions: tuple[str, ...]


class SchemaJudge:
    """Judges values by one draft-07 schema; ``source`` names the schema in messages.

    Raises:
        UsageProblem: the schema is not a valid one, or uses what this suite cannot judge.
    """

    def __init__(self, schema: Mapping[str, Any], source: str = "schema") -> None:
        self.schema = schema
        self.source = source
        try:
            # Formats that are unknown are refused below, with a better message than the library's.
            decides = jsonschema_rs.Draft7Validator(dict(schema), formats=dict(FORMATS), validate_formats=True)
        except (ValueError, TypeError) as error:
            what = f"not a valid draft-07 schema ({str(error).splitlines()[0]})"
            raise UsageProblem(what, source, "Correct it.") from None
        self.assertions = enumerate_assertions(schema, source)
        self.is_valid = decides.is_valid
        """The verdict alone, by the fast validator and nothing else: ``is_valid(value) -> bool``."""

    def violations(self, value: Any, limit: int = 20) -> list[Violation]:
        """Return what is wrong with ``value``, at most ``limit`` entries; empty exactly when it is valid.

        Raises:
            SuiteFault: the value is refused, but no reason can be found.
        """
        if self.is_valid(value):
            return []
        found = list(islice(_explain(self._explains.iter_errors(value)), limit))
        if not found:
            raise SuiteFault(f"{self.source}: a value is refused for which no violation can be named")
        return found

    @cached_property
    def _explains(self) -> Any:
        return _Explainer(self.schema, format_checker=_format_checker())


@cache
def _format_checker() -> jsonschema.FormatChecker:
    checker = jsonschema.FormatChecker(formats=())
    for name, accepts in FORMATS.items():
        checker.checks(name)(partial(_keeps_format, accepts))
    return checker


def _keeps_format(accepts: Callable[[str], bool], value: Any) -> bool:
    return not isinstance(value, str) or accepts(value)


@cache
def _compiled(pattern: str) -> regress.Regex:
    return regress.Regex(pattern, "u")


def _pattern(_validator: Any, pattern: str, value: Any, _schema: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and _compiled(pattern).find(value) is None:
        yield ValidationError("")


def _const(_validator: Any, const: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
    if not json_equal(const, value):
        yield ValidationError("")


def _enum(_validator: Any, choices: Sequence[Any], value: Any, _schema: Any) -> Iterator[ValidationError]:
    if not any(json_equal(choice, value) for choice in choices):
        yield ValidationError("")


def _multiple_of(_validator: Any, divisor: float, value: Any, _schema: Any) -> Iterator[ValidationError]:
    # Through the shortest decimal text, so that 0.3 is a multiple of 0.1.
    if json_type(value) in ("integer", "number") and (Fraction(str(value)) / Fraction(str(divisor))).denominator != 1:
        yield ValidationError("")


def _unique_items(_validator: Any, unique: bool, value: Any, _schema: Any) -> Iterator[ValidationError]:  # noqa: FBT001 (the library's signature)
    if unique and isinstance(value, list) and any(json_equal(*pair) for pair in combinations(value, 2)):
        yield ValidationError("")


def _required(_validator: Any, members: Sequence[str], value: Any, _schema: Any) -> Iterator[ValidationError]:
    if isinstance(value, dict):
        for index, member in enumerate(members):
            if member not in value:
                yield ValidationError("", schema_path=(index,))


def _additional_properties(
    _validator: Any,
    allowed: bool,  # noqa: FBT001 (the library's signature)
    value: Any,
    schema: Mapping[str, Any],
) -> Iterator[ValidationError]:
    if isinstance(value, dict) and not allowed:
        for member in value:
            if member not in schema.get("properties", {}):
                yield ValidationError("", path=(member,), instance=value[member])


_Explainer: Final = jsonschema.validators.extend(  # type: ignore[no-untyped-call]  # the stubs leave it untyped
    jsonschema.Draft7Validator,
    {
        "pattern": _pattern,
        "const": _const,
        "enum": _enum,
        "multipleOf": _multiple_of,
        "uniqueItems": _unique_items,
        "required": _required,
        "additionalProperties": _additional_properties,
    },
)


def _explain(errors: Iterable[ValidationError]) -> Iterator[Violation]:
    """Turn errors into violations: one where the type is wrong, and the inner cause where a branch was meant."""
    for _, group in groupby(errors, key=_schema_and_place):
        together = list(group)
        wrong_type = next((error for error in together if error.validator == "type"), None)
        if wrong_type:
            yield _violation(wrong_type, _broken_here([wrong_type, *together]))
            continue
        for error in together:
            if error.validator == "anyOf":
                yield from _explain_branches(error)
            else:
                yield _violation(error, [error])


def _explain_branches(error: ValidationError) -> Iterator[Violation]:
    """Explain by the branch whose ``type`` takes the value, or by ``anyOf`` itself when there is none."""
    branches: dict[str | int, list[ValidationError]] = {}
    for inner in error.context or ():
        branches.setdefault(inner.relative_schema_path[0], []).append(inner)
    meant = [inner for inner in branches.values() if not any(map(_is_type_of_branch, inner))]
    if meant:
        fewest: list[ValidationError] = min(meant, key=len)
        yield from _explain(fewest)
    else:
        yield _violation(error, _broken_here([error]))


def _is_type_of_branch(error: ValidationError) -> bool:
    return error.validator == "type" and len(error.relative_schema_path) == len(("branch", "type"))


def _broken_here(errors: Iterable[ValidationError]) -> Iterator[ValidationError]:
    for error in errors:
        yield error
        yield from _broken_here(inner for inner in error.context or () if not inner.relative_path)


def _schema_and_place(error: ValidationError) -> tuple[tuple[str | int, ...], tuple[str | int, ...]]:
    return tuple(error.absolute_schema_path)[:-1], tuple(error.absolute_path)


def _violation(error: ValidationError, broken: Iterable[ValidationError]) -> Violation:
    keyword = str(error.validator)
    rule: Any = error.validator_value
    place = pointer(error.absolute_path)
    shown_place = _ascii(place) or "the whole document"
    member: str | None = None
    if keyword == "required":
        member = str(rule[error.absolute_schema_path[-1]])
        expected, found = f"the member {show(member)}", "no such member"
        sentence = f"{shown_place} must have {expected}, and has not."
    elif keyword == "additionalProperties":
        member = str(error.absolute_path[-1])
        expected, found = "no member of this name", show(error.instance)
        sentence = f"{shown_place} is a member that the schema does not allow."
    else:
        expected, found = _expected(keyword, rule), show(error.instance)
        sentence = f"{shown_place} must be {expected}, but is {found}."
    return Violation(
        pointer=place,
        schema_pointer=pointer(error.absolute_schema_path),
        keyword=keyword,
        member=member,
        expected=expected,
        found=found,
        sentence=sentence,
        assertions=tuple(dict.fromkeys(pointer(each.absolute_schema_path) for each in broken)),
    )


_EXPECTED: Final = {
    "minLength": "text of at least {} code points",
    "maxLength": "text of at most {} code points",
    "minItems": "an array of at least {} items",
    "maxItems": "an array of at most {} items",
    "minProperties": "an object of at least {} members",
    "maxProperties": "an object of at most {} members",
    "uniqueItems": "an array without equal items",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "greater than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "format": "a valid {}",
    "pattern": "text that matches {}",
}


def _expected(keyword: str, rule: Any) -> str:
    if keyword == "type":
        return "of type " + " or ".join([rule] if isinstance(rule, str) else rule)
    if keyword == "anyOf":
        return _expected("type", list(dict.fromkeys(name for branch in rule for name in _types(branch))))
    if keyword == "enum":
        return "one of " + ", ".join(map(show, rule))
    if keyword == "const":
        return show(rule)
    return _EXPECTED[keyword].format(rule)


def _types(branch: Mapping[str, Any]) -> list[str]:
    return [branch["type"]] if isinstance(branch["type"], str) else branch["type"]


_SHOWN: Final = 60


def show(value: Any) -> str:
    """Return a short description of a JSON value in printable ASCII."""
    if isinstance(value, dict):
        return f"an object of {len(value)} members"
    if isinstance(value, list):
        return f"an array of {len(value)} items"
    if isinstance(value, str):
        shown = value[:_SHOWN]
        while len(json.dumps(shown)) > _SHOWN + len('""'):  # an escaped character takes up to twelve
            shown = shown[: len(shown) // 2]
        return json.dumps(shown) + (f"... ({len(value)} code points)" if shown != value else "")
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"


def _ascii(text: str) -> str:
    return json.dumps(text)[1:-1]
