"""A JSON Schema as a server lists it, in whatever draft it declares, made fit to judge values by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import jsonschema_rs

from conformance.judge.formats import FORMATS
from conformance.judge.json_values import pointer
from conformance.judge.schema_references import SchemaNotJudged, SchemaUnusable, without_references

_DIALECTS: Final[Mapping[str, type[jsonschema_rs.Validator]]] = {
    "http://json-schema.org/draft-04/schema": jsonschema_rs.Draft4Validator,
    "http://json-schema.org/draft-06/schema": jsonschema_rs.Draft6Validator,
    "http://json-schema.org/draft-07/schema": jsonschema_rs.Draft7Validator,
    "https://json-schema.org/draft/2019-09/schema": jsonschema_rs.Draft201909Validator,
    "https://json-schema.org/draft/2020-12/schema": jsonschema_rs.Draft202012Validator,
}
DRAFT_04: Final = "http://json-schema.org/draft-04/schema"
DRAFT_07: Final = "http://json-schema.org/draft-07/schema"
DRAFT_2020_12: Final = "https://json-schema.org/draft/2020-12/schema"

_SIBLINGS_COUNT: Final = ("https://json-schema.org/draft/2019-09/schema", DRAFT_2020_12)


@dataclass(frozen=True)
class Refusal:
    """Why a listed schema refuses a value: the steps to the rule and to the value, and a sentence in ASCII."""

    schema_parts: tuple[str | int, ...]
    value_parts: tuple[str | int, ...]
    sentence: str


def dialect_of(schema: Any, default: str) -> str:
    """Return the URI of the dialect that a schema declares, without an empty fragment, or ``default``.

    Raises:
        SchemaUnusable: what it declares is no dialect.
        SchemaNotJudged: it declares one that this suite does not know.
    """
    declared = schema.get("$schema", default) if isinstance(schema, dict) else default
    if not isinstance(declared, str):
        raise SchemaUnusable("/$schema", "it declares a dialect that is no text")
    dialect = declared.removesuffix("#")
    if dialect not in _DIALECTS:
        raise SchemaNotJudged("/$schema", f"it declares the dialect {declared[:100]!a}")
    return dialect


class ListedSchema:
    """A listed schema. ``default_dialect`` is how a schema is read that declares no dialect.

    ``plain`` is the schema without references, ``is_valid`` judges a decoded value by it. ``uuid`` and ``date-time``
    are asserted in every dialect, to the letter; what lies outside the schema is never fetched.

    Raises:
        SchemaUnusable: it is no schema of its dialect, or what it refers to is not in it.
        SchemaNotJudged: it is in a dialect or uses a keyword that this suite does not judge.
    """

    def __init__(self, schema: Any, default_dialect: str) -> None:
        self.dialect = dialect_of(schema, default_dialect)
        if not isinstance(schema, dict):
            raise SchemaUnusable("", "it is no JSON object")
        text = {**schema, "$schema": self.dialect}
        try:
            jsonschema_rs.meta.validate(text)
        except jsonschema_rs.ValidationError as error:
            raise SchemaUnusable(pointer(error.instance_path), f"it is no schema: {_line(error)}") from None
        plain = without_references(schema, siblings_count=self.dialect in _SIBLINGS_COUNT)
        self.plain = {name: value for name, value in plain.items() if name not in ("$schema", "$id")}
        try:
            self._validator = _DIALECTS[self.dialect](self.plain, formats=dict(FORMATS), validate_formats=True)
        except (ValueError, TypeError, jsonschema_rs.ReferencingError) as error:
            raise SchemaUnusable("", f"it cannot be compiled: {_line(error)}") from None
        self.is_valid = self._validator.is_valid

    def refusal(self, value: Any) -> Refusal:
        """Return the first reason for which ``value`` is refused.

        Raises:
            ValueError: it is not.
        """
        for error in self._validator.iter_errors(value):
            return Refusal(tuple(error.schema_path), tuple(error.instance_path), ascii(_line(error))[1:-1][:200])
        raise ValueError("the value is not refused")


def _line(error: Exception) -> str:
    message = getattr(error, "message", None) or str(error) or type(error).__name__
    return str(message).splitlines()[0][:200]
