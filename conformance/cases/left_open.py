"""Inputs on which the contract leaves a choice: sent, recorded, and judged only for harm."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.cases.inputs import uuid_of_version
from conformance.cases.json_text import RawJson, encode
from conformance.contract import Operation
from conformance.judge.assertions import enumerate_assertions

Build = Callable[[Mapping[str, Any]], bytes]


@dataclass(frozen=True)
class DuplicateName:
    """An input in which one member occurs twice; ``harmless`` says that no value of it asks for what the twin does."""

    name: str
    build: Build
    neither_asks: bool


def duplicate_names(operation: Operation) -> Iterator[DuplicateName]:
    """Yield inputs with a top-level member given twice, in both orders, and with two values that are both wrong."""
    for name, schema in operation.input_schema["properties"].items():
        invalid: Any = "not-a-uuid" if schema.get("format") == "uuid" else 0
        yield DuplicateName(f"{name}-right-first", _twice(name, None, invalid), neither_asks=False)
        yield DuplicateName(f"{name}-wrong-first", _twice(name, invalid, None), neither_asks=False)
        if operation.bindings.get(name, "fresh uuid") == "fresh uuid":
            continue
        one, other = (uuid_of_version(4, 1), uuid_of_version(4, 2)) if schema.get("format") == "uuid" else (4711, 4712)
        yield DuplicateName(f"{name}-both-wrong", _twice(name, one, other), neither_asks=True)


def _twice(member: str, first: Any, second: Any) -> Build:
    """Write ``member`` twice; ``None`` stands for its right value."""

    def build(arguments: Mapping[str, Any]) -> bytes:
        parts = []
        for name, value in arguments.items():
            values = (first, second) if name == member else (value,)
            parts += [f"{json.dumps(name)}:{json.dumps(value if each is None else each)}" for each in values]
        return ("{" + ",".join(parts) + "}").encode()

    return build


def open_spellings(operation: Operation) -> Iterator[tuple[str, Build]]:
    """Yield the freedom and the input for every spelling that a server may accept or refuse."""
    for assertion in enumerate_assertions(operation.input_schema):
        name = assertion.instance_path.removeprefix("/")
        if "/" in name or not name:
            continue
        if assertion.keyword == "type" and assertion.value == "integer":
            yield "OPEN-INTEGER-FLOAT-FORM", _spelt(name, lambda value: RawJson(f"{value}.0"))
            yield "OPEN-INTEGER-FLOAT-FORM", _spelt(name, lambda value: RawJson(f"{value}e0"))
            yield "OPEN-INTEGER-LOST-FRACTION", _spelt(name, lambda _: RawJson("9007199254740991.2"))
        elif assertion.keyword == "format" and assertion.value == "uuid":
            yield "OPEN-UUID-UPPER-CASE", _spelt(name, str.upper)
            # Version 15, and a variant that RFC 9562 reserves.
            yield "OPEN-UUID-VERSION", _spelt(name, lambda value: f"{value[:14]}f{value[15:]}")
            yield "OPEN-UUID-VERSION", _spelt(name, lambda value: f"{value[:19]}f{value[20:]}")
    yield "OPEN-BYTE-ORDER-MARK", lambda arguments: b"\xef\xbb\xbf" + encode(arguments)


def _spelt(name: str, change: Callable[[Any], Any]) -> Build:
    return lambda arguments: encode({**arguments, name: change(arguments[name])})
