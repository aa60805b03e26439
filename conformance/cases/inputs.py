"""Valid inputs in every spelling that JSON and the input schema allow."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.cases.json_text import encode, path_parts, replaced
from conformance.contract import Operation
from conformance.judge.assertions import enumerate_assertions

NIL_UUID = str(uuid.UUID(int=0))
MAX_UUID = str(uuid.UUID(int=2**128 - 1))
_VERSIONS = range(1, 9)


@dataclass(frozen=True)
class Spelling:
    """A valid input, made from valid arguments. ``same_call`` says that it still means the same call."""

    name: str
    what: str
    build: Callable[[Mapping[str, Any]], bytes]
    same_call: bool = False


def valid_spellings(operation: Operation) -> tuple[Spelling, ...]:
    """Return the fixed spellings of an operation's input."""
    return (*_LAYOUTS, *_uuid_spellings(operation), *_integer_spellings(operation))


def uuid_of_version(version: int, digits: int = 0x1A2B3C4D5E6F708192A3B4C5D6E7F809) -> str:
    """Return a UUID of an RFC 9562 version, variant 10, its other digits taken from ``digits``."""
    value = digits & ~(0xF << 76) & ~(0x3 << 62) | version << 76 | 0x2 << 62
    return str(uuid.UUID(int=value))


def _escaped(text: str) -> str:
    return '"' + "".join(f"\\u{ord(character):04x}" for character in text) + '"'


def _all_escaped(arguments: Mapping[str, Any]) -> bytes:
    members = (
        f"{_escaped(name)}:{_escaped(value) if isinstance(value, str) else json.dumps(value)}"
        for name, value in arguments.items()
    )
    return ("{" + ",".join(members) + "}").encode()


_LAYOUTS: tuple[Spelling, ...] = (
    Spelling("compact", "input without white space", encode, same_call=True),
    Spelling(
        "indented", "input with white space", lambda arguments: json.dumps(arguments, indent=3).encode(), same_call=True
    ),
    Spelling(
        "spacious",
        "input with tabs, line breaks and blanks around it",
        lambda arguments: b" \r\n\t" + json.dumps(arguments, separators=("\t,\n", " \r: ")).encode() + b"\n\n ",
        same_call=True,
    ),
    Spelling(
        "reversed", "input with its members in another order",
        lambda arguments: encode(dict(reversed(list(arguments.items())))), same_call=True,
    ),
    Spelling("escaped", "input written with escapes", _all_escaped, same_call=True),
)  # fmt: skip


def _setting(parts: tuple[str | int, ...], value: Any) -> Callable[[Mapping[str, Any]], bytes]:
    return lambda arguments: encode(replaced(arguments, parts, value))


def _uuid_spellings(operation: Operation) -> Iterator[Spelling]:
    for assertion in enumerate_assertions(operation.input_schema):
        if assertion.keyword != "format" or assertion.value != "uuid":
            continue
        parts = path_parts(assertion.instance_path)
        field = ".".join(map(str, parts))
        for version in _VERSIONS:
            value = uuid_of_version(version)
            yield Spelling(f"{field}-v{version}", f"a version {version} UUID for {field}", _setting(parts, value))
        if operation.bindings.get(field) == "fresh uuid":
            # The nil and max UUIDs are expected only as ids that nobody has.
            continue
        for name, value in (("nil", NIL_UUID), ("max", MAX_UUID)):
            yield Spelling(f"{field}-{name}", f"the {name} UUID for {field}", _setting(parts, value))


def _integer_spellings(operation: Operation) -> Iterator[Spelling]:
    for assertion in enumerate_assertions(operation.input_schema):
        parts = path_parts(assertion.instance_path)
        field = ".".join(map(str, parts))
        if assertion.keyword == "maximum":
            yield Spelling(f"{field}-maximum", f"the largest {field}", _setting(parts, assertion.value))
            # A server that keeps 32 bits, or a double's 53 less one, refuses some of these.
            for power in (each for each in (31, 32, 52) if 2**each < assertion.value):
                what = f"a {field} of 2**{power} + 1"
                yield Spelling(f"{field}-above-{power}-bits", what, _setting(parts, 2**power + 1))
