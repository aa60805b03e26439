"""From the bytes of a request to arguments that keep the input schema: strict JSON, strict schema, strict UUIDs."""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Iterable
from typing import Any

from jsonschema_rs import Draft7Validator

from conformance.contract import Operation
from conformance.reference.refusals import InvalidInput

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)


class Validator:
    """Decides what input is valid. The rules are the input schemas of the contract and RFC 8259."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._validators = {
            operation.name: Draft7Validator(
                dict(operation.input_schema),
                validate_formats=True,
                formats={"uuid": lambda text: self.read_uuid(text) is not None},
            )
            for operation in operations
        }

    def decode(self, raw: bytes) -> Any:
        """Return the JSON value that the bytes are.

        Raises:
            InvalidInput: they are not one JSON text in UTF-8, or it holds a duplicate name, a number that is not
                finite, or a lone surrogate.
        """
        try:
            return decode_strictly(raw)
        except (ValueError, RecursionError):
            raise InvalidInput("the body is not strict JSON") from None

    def check(self, operation: Operation, value: Any) -> dict[str, Any]:
        """Return the arguments in canonical form: ids in lower case, integers as ``int``.

        Raises:
            InvalidInput: the value does not keep the input schema.
        """
        prepared = self.prepare(operation, value)
        if not self._validators[operation.name].is_valid(prepared):
            raise InvalidInput("the body does not keep the input schema")
        return {name: self._canonical(item) for name, item in prepared.items()}

    def prepare(self, operation: Operation, value: Any) -> Any:
        """Return the value that the schema judges: the one received, with nothing dropped or converted."""
        del operation
        return value

    def read_uuid(self, text: str) -> str | None:
        """Return a UUID in canonical form, or None when the text is none."""
        return text.lower() if is_uuid(text) else None

    def _canonical(self, item: Any) -> Any:
        return self.read_uuid(item) if isinstance(item, str) else int(item)


def is_uuid(text: str) -> bool:
    """Tell whether the text is a UUID as RFC 9562 writes it: 8-4-4-4-12 hexadecimal digits in either case."""
    return _UUID.fullmatch(text) is not None


def decode_strictly(raw: bytes) -> Any:
    """Decode one JSON text from UTF-8 bytes.

    Raises:
        ValueError: it is not strict JSON.
        RecursionError: it is nested too deeply.
    """
    if raw.startswith(codecs.BOM_UTF8):
        raise ValueError("byte order mark")
    value = json.loads(raw.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)
    if b"\\u" in raw:
        # Only an escape can smuggle in a lone surrogate; UnicodeEncodeError is a ValueError.
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("duplicate name")
    return value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("number out of range")
    return number
