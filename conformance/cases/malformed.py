"""Tables of damage: malformed UUIDs, times, numbers and JSON texts, each with what it is in words."""

from __future__ import annotations

import re
from collections.abc import Callable

MALFORMED_UUIDS: tuple[tuple[str, str, Callable[[str], str]], ...] = (
    ("empty", "an empty string", lambda _: ""),
    ("word", "a word", lambda _: "not-a-uuid"),
    ("braces", "a UUID in braces", lambda uuid: "{" + uuid + "}"),
    ("urn", "a UUID behind urn:uuid:", lambda uuid: "urn:uuid:" + uuid),
    ("no-hyphens", "a UUID without hyphens", lambda uuid: uuid.replace("-", "")),
    ("one-hyphen-missing", "a UUID that lacks one hyphen", lambda uuid: uuid[:8] + uuid[9:]),
    ("last-hyphen-missing", "a UUID that lacks its last hyphen", lambda uuid: uuid[:23] + uuid[24:]),
    ("hyphen-moved", "a UUID with a hyphen moved by one", lambda uuid: uuid[:7] + "-" + uuid[7] + uuid[9:]),
    ("underscores", "a UUID with underscores", lambda uuid: uuid.replace("-", "_")),
    ("too-short", "a UUID one digit short", lambda uuid: uuid[:-1]),
    ("too-long", "a UUID one digit long", lambda uuid: uuid + "0"),
    ("not-hexadecimal", "a UUID with the letter g", lambda uuid: uuid[:-1] + "g"),
    ("letter-o", "a UUID with the letter O", lambda uuid: "O" + uuid[1:]),
    ("leading-space", "a UUID after a space", lambda uuid: " " + uuid),
    ("trailing-space", "a UUID before a space", lambda uuid: uuid + " "),
    ("trailing-newline", "a UUID before a line feed", lambda uuid: uuid + "\n"),
    ("leading-newline", "a UUID after a line feed", lambda uuid: "\n" + uuid),
    ("trailing-tab", "a UUID before a tab", lambda uuid: uuid + "\t"),
    ("trailing-nul", "a UUID before a NUL", lambda uuid: uuid + "\x00"),
    ("no-break-space", "a UUID before a no-break space", lambda uuid: uuid + "\u00a0"),
    ("zero-width-space", "a UUID with a zero-width space in it", lambda uuid: uuid[:8] + "\u200b" + uuid[8:]),
    ("full-width-digit", "a UUID with a full-width digit", lambda uuid: "\uff11" + uuid[1:]),
    ("arabic-digit", "a UUID with an Arabic-Indic digit", lambda uuid: "\u0661" + uuid[1:]),
    ("full-width-letter", "a UUID with a full-width letter", lambda uuid: uuid[:-1] + "\uff41"),
    ("unicode-hyphens", "a UUID with Unicode hyphens", lambda uuid: uuid.replace("-", "\u2010")),
    ("two", "two UUIDs", lambda uuid: f"{uuid},{uuid}"),
    ("quoted", "a UUID in quotation marks", lambda uuid: f'"{uuid}"'),
    ("base64", "a UUID in base64", lambda _: "EREREREREREREREREREREQ=="),
    ("wildcard", "a wildcard", lambda _: "*"),
)
"""Texts made from a valid UUID that no UUID format allows; upper case and other versions are left open and not here."""

MALFORMED_TIMES: tuple[tuple[str, str, Callable[[str], str]], ...] = (
    ("date-only", "a date without a time", lambda time: time[:10]),
    ("no-offset", "a time without an offset", lambda time: time[:19]),
    ("leap-day", "29 February of a common year", lambda time: "2023-02-29" + time[10:]),
    ("century", "29 February 2100", lambda time: "2100-02-29" + time[10:]),
    ("space", "a space for the T", lambda time: time.replace("T", " ")),
    ("trailing-newline", "a time before a line feed", lambda time: time + "\n"),
)
"""Texts made from a valid date-time that are none."""

HUGE_NUMBERS = (
    ("huge-exponent", "1e400"),
    ("larger-exponent", "1e999"),
    ("twenty-digits", "18446744073709551617"),
    ("three-hundred-digits", "1" + "0" * 300),
)
"""Numbers beyond any bound of the contract, some of which wrap round to 1 in 64 bits or overflow a double."""

NO_NUMBERS = (
    ("nan", "NaN"),
    ("infinity", "Infinity"),
    ("negative-infinity", "-Infinity"),
    ("leading-zero", "01"),
    ("plus-sign", "+1"),
    ("no-digits-after-point", "1."),
    ("hexadecimal", "0x1"),
    ("separator", "1_000"),
    ("undefined", "undefined"),
)
"""What stands where a number should, in text that is therefore no JSON."""


def _first_string(raw: bytes) -> int:
    """Return where the first string value begins, as a member or as the first item of an array."""
    match = re.search(rb'[:\[]"', raw)
    return match.end() if match else len(raw)


def _inside_first_string(raw: bytes, inserted: bytes) -> bytes:
    """Put bytes in place of the first character of the first member's value."""
    start = _first_string(raw)
    return raw[:start] + inserted + raw[start + 1 :]


BROKEN_TEXTS: tuple[tuple[str, str, str, Callable[[bytes], bytes]], ...] = (
    ("INPUT-OBJECT", "empty-body", "an empty body", lambda _: b""),
    ("INPUT-OBJECT", "blank-body", "a body of white space", lambda _: b" \r\n\t"),
    ("INPUT-WELL-FORMED", "truncated", "truncated JSON", lambda raw: raw[:-1]),
    ("INPUT-WELL-FORMED", "trailing-brace", "JSON with a closing brace too many", lambda raw: raw + b"}"),
    ("INPUT-WELL-FORMED", "two-documents", "two JSON documents", lambda raw: raw + raw),
    ("INPUT-WELL-FORMED", "trailing-comma", "a comma after the last member", lambda raw: raw[:-1] + b",}"),
    ("INPUT-WELL-FORMED", "missing-comma", "a missing comma", lambda raw: raw.replace(b",", b" ", 1)),
    ("INPUT-WELL-FORMED", "single-quotes", "single quotation marks", lambda raw: raw.replace(b'"', b"'")),
    (
        "INPUT-WELL-FORMED",
        "bare-names",
        "names without quotation marks",
        lambda raw: re.sub(rb'"(\w+)":', rb"\1:", raw),
    ),
    ("INPUT-WELL-FORMED", "comment", "JSON with a comment", lambda raw: b"/* */" + raw),
    ("INPUT-WELL-FORMED", "word", "a word that is no JSON", lambda _: b"hello"),
    ("INPUT-WELL-FORMED", "form", "a form instead of JSON", lambda _: b"workspace_id=1&conversation_id=2"),
    ("INPUT-WELL-FORMED", "nul-byte", "a NUL byte after the JSON", lambda raw: raw + b"\x00"),
)
"""Bytes made from valid JSON text that are not the JSON text of an object."""

BROKEN_STRINGS: tuple[tuple[str, str, str, Callable[[bytes], bytes]], ...] = (
    (
        "INPUT-WELL-FORMED",
        "truncated-in-string",
        "JSON that ends within a string",
        lambda raw: raw[: _first_string(raw) + 1],
    ),
    (
        "INPUT-WELL-FORMED",
        "control-character",
        "a raw control character in a string",
        lambda raw: _inside_first_string(raw, b"\x01"),
    ),
    ("INPUT-WELL-FORMED", "invalid-utf-8", "a byte that is not UTF-8", lambda raw: _inside_first_string(raw, b"\xff")),
    (
        "INPUT-WELL-FORMED",
        "overlong-utf-8",
        "an overlong UTF-8 sequence",
        lambda raw: _inside_first_string(raw, b"\xc0\xb1"),
    ),
    (
        "INPUT-WELL-FORMED",
        "raw-surrogate",
        "a surrogate encoded in UTF-8",
        lambda raw: _inside_first_string(raw, b"\xed\xa0\x80"),
    ),
    ("INPUT-WELL-FORMED", "latin-1", "text in ISO 8859-1", lambda raw: _inside_first_string(raw, b"\xe9")),
    (
        "INPUT-WELL-FORMED",
        "bad-escape",
        "an escape that JSON does not have",
        lambda raw: _inside_first_string(raw, b"\\x31"),
    ),
)
"""The same, with the damage inside the first string."""
