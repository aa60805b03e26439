"""Strict JSON from bytes: what a lenient parser would let through, or change on the way, is a fault of the answer.

The C parser of the standard library decodes. Only when it or one of its hooks refuses does the exact scanner below
read the same bytes to name the rule, say what is wrong and give the byte offset.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Never

from conformance.errors import SuiteFault


@dataclass(frozen=True)
class DecodeLimits:
    """Bounds of a document: nesting of arrays and objects, decimal digits of one number, bytes of the whole."""

    depth: int = 128
    digits: int = 1000
    size: int = 64 * 1024 * 1024


DEFAULT: Final = DecodeLimits()


@dataclass(eq=False)
class DecodeFault(Exception):
    """The bytes are not one strict JSON document.

    ``rule`` is one of ``utf-8``, ``byte-order-mark``, ``syntax``, ``trailing-data``, ``duplicate-name``,
    ``non-finite-number``, ``lone-surrogate``, ``depth``, ``number-size``, ``size`` and ``empty``; ``offset`` is the
    first byte that cannot stand there, or the first byte of the name, number or escape that is refused.
    """

    rule: str
    message: str
    offset: int

    def __str__(self) -> str:
        return f"{self.message} (byte {self.offset}, rule {self.rule})"


def decode(raw: bytes, limits: DecodeLimits = DEFAULT) -> Any:
    """Return the JSON value (RFC 8259) that ``raw`` holds in UTF-8.

    Numbers are exact: every number without a fractional part becomes an ``int`` (``1.0`` and ``1e2`` too, as draft-07
    counts them integers), every other one the nearest ``float``.

    Raises:
        DecodeFault: the bytes are not one strict document within ``limits``.
        SuiteFault: the parser refuses the bytes and the exact scanner does not.
    """
    if len(raw) <= limits.size:
        try:
            return _decode_fast(raw, limits)
        except (ValueError, RecursionError):
            pass
    fault = find_fault(raw, limits)
    if fault is None:
        raise SuiteFault("the JSON parser refuses a document in which the exact scanner finds no fault")
    raise fault


def find_fault(raw: bytes, limits: DecodeLimits = DEFAULT) -> DecodeFault | None:
    """Return the first fault of ``raw`` as the exact scanner finds it, or ``None`` for a strict document."""
    try:
        _Scanner(raw, limits).scan()
    except DecodeFault as fault:
        return fault.with_traceback(None)
    return None


def exact_number(literal: str, most_digits: int) -> int | float:
    """Return the value of a JSON number: an ``int`` when it is integral, else the nearest ``float``.

    Raises:
        ValueError: it has more digits than ``most_digits``, written out, or a fraction too large for a double.
    """
    match = _NUMBER.fullmatch(literal)
    if match is None:
        raise ValueError("not a JSON number")
    sign, whole, fraction, exponent = (group or "" for group in match.groups())
    if len(whole) + len(fraction) + len(exponent.lstrip("+-")) > most_digits:
        raise ValueError("too many digits")
    written = (whole + fraction).lstrip("0")
    digits = written.rstrip("0")
    if not digits:
        return 0
    zeros = int(exponent or 0) - len(fraction) + len(written) - len(digits)
    if zeros < 0:
        value = float(literal)
        if value in (float("inf"), float("-inf")):
            raise ValueError("out of the range of a double")
        return value
    if len(digits) + zeros > most_digits:
        raise ValueError("too many digits")
    return int(sign + digits + "0" * zeros)


_NUMBER: Final = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")


def _decode_fast(raw: bytes, limits: DecodeLimits) -> Any:
    value = _decoder(limits.digits).decode(raw.decode("utf-8"))
    # A document with no more brackets than levels allowed cannot be too deep: most need no second look.
    if raw.count(b"[") + raw.count(b"{") > limits.depth:
        _refuse_depth(value, limits.depth)
    if b"\\u" in raw and not _PAIRED_ESCAPES.fullmatch(raw):
        raise ValueError("lone surrogate")
    return value


# A document whose escaped surrogates all come in pairs: in valid JSON every backslash begins an escape.
_PAIRED_ESCAPES: Final = re.compile(
    rb"(?:[^\\]++|\\[^u]|\\u(?:[dD][89abAB]..\\u[dD][c-fC-F]..|(?![dD][89a-fA-F])))*+", re.DOTALL
)


@cache
def _decoder(most_digits: int) -> json.JSONDecoder:
    def integer(literal: str) -> int:
        if len(literal) > most_digits:
            return int(exact_number(literal, most_digits))
        return int(literal)

    def number(literal: str) -> int | float:
        return exact_number(literal, most_digits)

    return json.JSONDecoder(
        object_pairs_hook=_unique_names, parse_int=integer, parse_float=number, parse_constant=_refuse_constant
    )


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("duplicate name")
    return members


def _refuse_constant(literal: str) -> Never:
    raise ValueError(literal)


def _refuse_depth(value: Any, depth: int) -> None:
    level = [value] if isinstance(value, (dict, list)) else []
    while level:
        if depth == 0:
            raise ValueError("too deep")
        depth -= 1
        level = [
            child
            for container in level
            for child in (container.values() if isinstance(container, dict) else container)
            if isinstance(child, (dict, list))
        ]


_SPACE: Final = re.compile(rb"[ \t\n\r]*")
_PLAIN_TEXT: Final = re.compile(rb'[^"\\\x00-\x1f]*')
_DIGITS: Final = re.compile(rb"[0-9]*")
_NON_FINITE: Final = re.compile(rb"-?(?:NaN|Infinity)")
_HIGH_SURROGATE: Final = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}")
_LOW_SURROGATE: Final = re.compile(rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_WORDS: Final = {b"t": b"true", b"f": b"false", b"n": b"null"}
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_CLOSING: Final = {b"{": b"}", b"[": b"]"}
_CONTAINER: Final = {b"{": "an object", b"[": "an array"}


class _Scanner:
    """Reads bytes from left to right with a stack of its own, so that no depth of nesting can exhaust Python's."""

    def __init__(self, raw: bytes, limits: DecodeLimits) -> None:
        self.raw = raw
        self.limits = limits
        self.position = 0

    def scan(self) -> None:
        """Raise the first DecodeFault, if there is one."""
        self.check_whole()
        open_containers: list[tuple[bytes, set[str]]] = []
        self.skip_space()
        if self.position == len(self.raw):
            raise DecodeFault("empty", "there is no JSON value", self.position)
        while True:
            if self.value_starts_container(open_containers):
                continue
            if not self.next_value(open_containers):
                return

    def check_whole(self) -> None:
        if len(self.raw) > self.limits.size:
            raise DecodeFault("size", f"the document is larger than {self.limits.size} bytes", self.limits.size)
        if self.raw.startswith(_BYTE_ORDER_MARK):
            raise DecodeFault("byte-order-mark", "the document begins with a byte order mark", 0)
        try:
            self.raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DecodeFault("utf-8", f"the document is not UTF-8: {error.reason}", error.start) from None

    def value_starts_container(self, open_containers: list[tuple[bytes, set[str]]]) -> bool:
        """Read a scalar, an empty container or an opening bracket; tell whether a value must follow at once."""
        byte = self.peek()
        if byte not in _CLOSING:
            self.scalar()
            return False
        if len(open_containers) == self.limits.depth:
            raise DecodeFault("depth", f"the value is nested deeper than {self.limits.depth} levels", self.position)
        self.position += 1
        self.skip_space()
        if self.peek() == _CLOSING[byte]:
            self.position += 1
            return False
        names: set[str] = set()
        open_containers.append((byte, names))
        if byte == b"{":
            self.name(names)
        return True

    def next_value(self, open_containers: list[tuple[bytes, set[str]]]) -> bool:
        """Close what ends here and step over a comma; tell whether another value must follow."""
        while True:
            self.skip_space()
            byte = self.peek()
            if not open_containers:
                if byte:
                    raise DecodeFault("trailing-data", "something follows the JSON value", self.position)
                return False
            opening, names = open_containers[-1]
            if byte == b",":
                self.position += 1
                self.skip_space()
                if opening == b"{":
                    self.name(names)
                return True
            if byte != _CLOSING[opening]:
                self.fail(f"a comma or the end of {_CONTAINER[opening]} is expected")
            self.position += 1
            open_containers.pop()

    def name(self, names: set[str]) -> None:
        start = self.position
        if self.peek() != b'"':
            self.fail("a member name in quotation marks is expected")
        self.string()
        name: str = json.loads(self.raw[start : self.position])
        if name in names:
            raise DecodeFault("duplicate-name", f"the name {name[:80]!a} occurs twice in one object", start)
        names.add(name)
        self.skip_space()
        self.expect(b":", "a colon is expected")
        self.skip_space()

    def scalar(self) -> None:
        byte = self.peek()
        if _NON_FINITE.match(self.raw, self.position):
            raise DecodeFault("non-finite-number", "JSON has no NaN and no Infinity", self.position)
        if byte == b'"':
            self.string()
        elif byte == b"-" or byte.isdigit():
            self.number()
        elif byte in _WORDS:
            for offset in range(len(_WORDS[byte])):
                self.expect(_WORDS[byte][offset : offset + 1], f"{_WORDS[byte].decode()} is expected")
        else:
            self.fail("a JSON value is expected")

    def string(self) -> None:
        self.position += 1
        while True:
            self.skip(_PLAIN_TEXT)
            byte = self.peek()
            if byte == b'"':
                self.position += 1
                return
            if byte != b"\\":
                self.fail("a control character must be escaped" if byte else "the string does not end")
            self.escape()

    def escape(self) -> None:
        start = self.position
        self.position += 1
        kind = self.peek()
        if not kind or kind not in b'"\\/bfnrtu':
            self.fail("an escape sequence of JSON is expected")
        self.position += 1
        if kind != b"u":
            return
        self.four_hexadecimal_digits()
        if _HIGH_SURROGATE.match(self.raw, start):
            if not _LOW_SURROGATE.match(self.raw, self.position):
                raise DecodeFault("lone-surrogate", "an escaped high surrogate has no low one after it", start)
            self.position += len(rb"\uDC00")
        elif _LOW_SURROGATE.match(self.raw, start):
            raise DecodeFault("lone-surrogate", "an escaped low surrogate has no high one before it", start)

    def four_hexadecimal_digits(self) -> None:
        for _ in range(4):
            if not self.peek() or self.peek() not in b"0123456789abcdefABCDEF":
                self.fail("four hexadecimal digits are expected")
            self.position += 1

    def number(self) -> None:
        start = self.position
        if self.peek() == b"-":
            self.position += 1
        leading_zero = self.peek() == b"0"
        if leading_zero:
            self.position += 1
            if self.peek().isdigit():
                self.fail("a number has no leading zero")
        else:
            self.digits()
        if self.peek() == b".":
            self.position += 1
            self.digits()
        if self.peek() in (b"e", b"E"):
            self.position += 1
            if self.peek() in (b"+", b"-"):
                self.position += 1
            self.digits()
        try:
            exact_number(self.raw[start : self.position].decode("ascii"), self.limits.digits)
        except ValueError as error:
            raise DecodeFault("number-size", f"the number cannot be held exactly: {error}", start) from None

    def digits(self) -> None:
        if not self.peek().isdigit():
            self.fail("a digit is expected")
        self.skip(_DIGITS)

    def peek(self) -> bytes:
        """Return the byte at the position, empty at the end."""
        return self.raw[self.position : self.position + 1]

    def skip(self, run: re.Pattern[bytes]) -> None:
        """Step over the longest run, which may be empty."""
        if match := run.match(self.raw, self.position):
            self.position = match.end()

    def skip_space(self) -> None:
        self.skip(_SPACE)

    def expect(self, byte: bytes, message: str) -> None:
        if self.peek() != byte:
            self.fail(message)
        self.position += 1

    def fail(self, message: str) -> Never:
        ending = "" if self.peek() else ", and the document ends"
        raise DecodeFault("syntax", message + ending, self.position)
