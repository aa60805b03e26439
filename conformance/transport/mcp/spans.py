"""Finds where the values of a JSON text begin and end, without reading or changing them.

What a server sent has to reach the judge as it was sent: a number written ``1.0``, a name that occurs twice, even a
number that JSON does not allow. So values are cut out of a message by their brackets and quotation marks alone.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from json.scanner import make_scanner
from typing import Final, NamedTuple

_SPACE: Final = re.compile(rb"[ \t\r\n]*+")
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_SCALAR: Final = re.compile(rb'[^ \t\r\n,:\[\]{}"]++')
_BETWEEN_BRACKETS: Final = re.compile(rb'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
_PARSED_BYTES: Final = 1024 * 1024
_DECODER: Final = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str, strict=False)
_scan = make_scanner(_DECODER)  # type: ignore[arg-type]  # the stubs take the scanner for its own argument
_CLOSING: Final = {ord("{"): ord("}"), ord("["): ord("]")}


class NoSpan(ValueError):
    """The text has no value where one must be; ``offset`` counts bytes."""

    def __init__(self, expected: str, offset: int) -> None:
        super().__init__(f"{expected} is expected at byte {offset}")
        self.offset = offset


class Span(NamedTuple):
    """Where a value stands: the offset of its first byte and that after its last."""

    start: int
    end: int

    def of(self, text: bytes) -> bytes:
        """Return the value's own bytes."""
        return text[self.start : self.end]


def whole(text: bytes) -> Span:
    """Return the span of the one value that ``text`` holds.

    Raises:
        NoSpan: there is no value, or something follows it.
    """
    span = _value(text, _skip(text, 0))
    end = _skip(text, span.end)
    if end != len(text):
        raise NoSpan("the end of the text", end)
    return span


def members(text: bytes, span: Span) -> list[tuple[str, Span]]:
    """Return the members of the object at ``span`` in their order; names may repeat.

    Raises:
        NoSpan: it is not an object.
    """
    found: list[tuple[str, Span]] = []
    position = _open(text, span, b"{", "an object")
    while text[position : position + 1] != b"}":
        name = _STRING.match(text, position)
        if name is None:
            raise NoSpan("a name in quotation marks", position)
        position = _skip(text, name.end())
        if text[position : position + 1] != b":":
            raise NoSpan("a colon", position)
        value = _value(text, _skip(text, position + 1))
        found.append((_name(name[0]), value))
        position = _next(text, value.end, b"}")
    return found


def elements(text: bytes, span: Span) -> list[Span]:
    """Return the elements of the array at ``span``.

    Raises:
        NoSpan: it is not an array.
    """
    found: list[Span] = []
    position = _open(text, span, b"[", "an array")
    while text[position : position + 1] != b"]":
        found.append(_value(text, position))
        position = _next(text, found[-1].end, b"]")
    return found


def _open(text: bytes, span: Span, bracket: bytes, expected: str) -> int:
    if text[span.start : span.start + 1] != bracket:
        raise NoSpan(expected, span.start)
    return _skip(text, span.start + 1)


def _next(text: bytes, position: int, closing: bytes) -> int:
    """Step over the comma between two values, or stay at the closing bracket."""
    position = _skip(text, position)
    byte = text[position : position + 1]
    if byte == b",":
        return _skip(text, position + 1)
    if byte != closing:
        raise NoSpan("a comma or a closing bracket", position)
    return position


def _value(text: bytes, start: int) -> Span:
    byte = text[start : start + 1]
    if byte in (b"{", b"["):
        return Span(start, _container_end(text, start))
    match = (_STRING if byte == b'"' else _SCALAR).match(text, start)
    if match is None:
        raise NoSpan("a value", start)
    return Span(start, match.end())


def _container_end(text: bytes, start: int) -> int:
    if len(text) <= _PARSED_BYTES:
        # The C parser is ten times as fast where there is nothing that it refuses; in Latin-1 offsets count bytes.
        try:
            end: int = _scan(_in_latin_1(text), start)[1]
        except (ValueError, RecursionError, StopIteration):
            pass
        else:
            return end
    closing = bytearray()
    position = start
    while True:
        byte = text[position] if position < len(text) else -1
        if byte in _CLOSING:
            closing.append(_CLOSING[byte])
        elif byte == closing[-1]:
            closing.pop()
        else:
            raise NoSpan(f"a closing {chr(closing[-1])}", position)
        position += 1
        if not closing:
            return position
        position = _end(_BETWEEN_BRACKETS, text, position)


@lru_cache(maxsize=2)
def _in_latin_1(text: bytes) -> str:
    # An array may hold a hundred thousand objects, and the text must not be decoded for each of them.
    return text.decode("latin-1")


def _skip(text: bytes, position: int) -> int:
    return _end(_SPACE, text, position)


def _end(run: re.Pattern[bytes], text: bytes, position: int) -> int:
    """Return where a run that may be empty ends."""
    match = run.match(text, position)
    return match.end() if match else position


def _name(literal: bytes) -> str:
    """Return a member's name; one that is not a JSON string is kept in a spelling that no known name has."""
    try:
        return str(json.loads(literal))
    except ValueError:
        return literal.decode("latin-1")
