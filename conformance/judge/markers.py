"""The markers of private texts, found in whatever form a server may give them back."""

from __future__ import annotations

import binascii
import re
import string
from collections.abc import Iterator
from typing import Final

from conformance.cases.texts import MARKER

_PREFIX: Final = b"canary-"
_LENGTH: Final = len(_PREFIX) + 16
_PLAIN: Final = re.compile(MARKER.pattern.encode())
_HEXADECIMAL_PREFIX: Final = _PREFIX.hex().encode()
_HEXADECIMAL: Final = re.compile(_HEXADECIMAL_PREFIX + rb"(?:3[0-9]|[46][1-6]){16}")
_CHARACTER: Final = rb"(2d|3[0-9]|[46][1-6e]|[57][29])"
"""The code of a character that a marker may have, in either case."""

_ESCAPES: Final = (
    (b"\\", rb"\u00", re.compile(rb"\\+u00" + _CHARACTER)),
    (b"%", b"%", re.compile(rb"%(?:25)*" + _CHARACTER)),
)
"""The sign of an escape, how the escape of a character begins, and one whole: JSON's and the URL's."""

_BASE64_BEFORE: Final = (0, 1, 2)
_BASE64_SIGNS: Final = (string.ascii_letters + string.digits + "+/").encode()
_BASE64_TABLE: Final = bytes(
    sign if sign in _BASE64_SIGNS else {ord("-"): ord("+"), ord("_"): ord("/")}.get(sign, ord("A"))
    for sign in range(256)
)
_BASE64_NEEDLES: Final = tuple(
    (before, binascii.b2a_base64(b"\0" * before + _PREFIX)[-(-before * 8 // 6) : (before + len(_PREFIX)) * 8 // 6])
    for before in _BASE64_BEFORE
)


def markers_in(text: bytes) -> frozenset[str]:
    """Return every marker that the text gives away: plain, in another case, escaped, percent, hex or base64."""
    lower = text.lower()
    found = set(_PLAIN.findall(lower)) if _PREFIX in lower else set()
    for sign, beginning, escape in _ESCAPES:
        # A single byte is found, or not, at a tenth of the cost of a longer needle.
        if sign in lower and beginning in lower:
            plain = escape.sub(lambda match: bytes([int(match[1], 16)]), lower).lower()
            found.update(_PLAIN.findall(plain))
    if _HEXADECIMAL_PREFIX in lower:
        found.update(bytes.fromhex(match.decode()).lower() for match in _HEXADECIMAL.findall(lower))
    for before, needle in _BASE64_NEEDLES:
        if needle in text:
            found.update(_in_base64(text, before, needle))
    return frozenset(marker.decode() for marker in found if _PLAIN.fullmatch(marker))


def _in_base64(text: bytes, before: int, needle: bytes) -> Iterator[bytes]:
    """Yield what stands at each needle; ``before`` is how many bytes of its group of three precede the marker."""
    signs = -(-(before + _LENGTH) * 8 // 6)
    position = text.find(needle)
    while position >= 0:
        start = position - -(-before * 8 // 6)
        piece = b"A" * max(0, -start) + text[max(0, start) : start + signs].translate(_BASE64_TABLE)
        whole = piece + b"A" * (-len(piece) % 4)
        yield binascii.a2b_base64(whole)[before : before + _LENGTH]
        position = text.find(needle, position + 1)
