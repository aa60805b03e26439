"""The leaves of seeded conversations: private texts with their markers, ids and timestamps.

Texts hold any Unicode but NUL and surrogates, and keep their limit both in code points and in UTF-16 units, because
JSON Schema counts the former and many servers the latter (target interface, "Test control").
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

TextPolicy: TypeAlias = Callable[[random.Random, str, int, int], str]
"""Makes a text from a source of choices, a marker, and the least and greatest length; see ``plain``.

The text contains the marker where that fits and where the policy does not say otherwise.
"""

EARLIEST: Final = 0
"""The first instant that may be seeded, 1970-01-01T00:00:00.000Z, in milliseconds since then."""

LATEST: Final = 9_214_646_399_999
"""The last instant that may be seeded, 2261-12-31T23:59:59.999Z, in milliseconds since 1970."""

MARKER: Final = re.compile(r"canary-[0-9a-f]{16}")
"""What every marker looks like: ASCII that no JSON, URL or HTML escaping changes."""

LATIN: Final = "The panel read forty interviews and noted doubts about price, delivery and tone. "
THREE_BYTES: Final = (
    "\u8abf\u67fb\u306e\u7d50\u679c\u306f\u307e\u3060\u6b63\u3057\u304f\u306a\u3044\u3002"
    "\u0939\u093f\u0928\u094d\u0926\u0940\u0964"
)
ASTRAL: Final = "\U0001d49c\U00010348\U0001f600\U0002070e\U0001f71a\U0010fffd"
COMBINING: Final = "e\u0301 \u00e9 a\u0308 n\u0303 o\u0323\u0302 Z\u0351\u036b\u0343 \u1100\u1161\u11a8 \uac01 "
RIGHT_TO_LEFT: Final = "\u05e9\u05dc\u05d5\u05dd 12 \u0627\u0644\u0633\u0644\u0627\u0645 \u200f\u202eabc\u202c "
EMOJI: Final = "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f3f3\ufe0f\u200d\U0001f308 \U0001f44d\U0001f3fd "
SEPARATORS: Final = "\u2028\u2029\u0085\u00a0\u3000\u200b\ufeff\u2060"
CONTROLS: Final = "".join(map(chr, (*range(1, 32), *range(127, 160))))
NONCHARACTERS: Final = "\ufdd0\ufffe\uffff\U0001ffff\U0010ffff\ufffd"
SCRIPTS: Final = (
    LATIN, THREE_BYTES, ASTRAL, COMBINING, RIGHT_TO_LEFT, EMOJI, SEPARATORS, CONTROLS, NONCHARACTERS,
)  # fmt: skip

LOOK_ALIKES: Final = (
    "null", "true", "0", "-0", "1e400", "9007199254740993", "NaN", "undefined", "None", "{}", "[]",
    '{"answer": null}', '"quoted"', "\\u0041\\n\\\\", "2024-02-29T00:00:00Z", "2023-02-29",
    "11111111-1111-4111-8111-111111111111", "<script>alert(1)</script>", "<!-- -->", "&lt;b&gt;&amp;", "%00%0a%20",
    "'; DROP TABLE messages; --", "{{7*7}}", "${HOME}", "../../secret", "=1+1", "# heading", " ", "\t", "\r\n",
    "  spaces around  ", "\n line breaks around \n", "e\u0301", "\u00e9", "\ufeffmark", "\u2028", "a\u202eb",
)  # fmt: skip
"""Whole texts that careless code reads as something else, trims, normalises or rewrites."""


def new_marker(rng: random.Random) -> str:
    """Return a marker that nobody can guess: ``canary-`` and 16 hexadecimal digits."""
    return f"canary-{rng.getrandbits(64):016x}"


def new_uuid(rng: random.Random, version: int = 4) -> str:
    """Return an RFC 9562 UUID in lower case: that version, variant 10, and all other bits random."""
    bits = rng.getrandbits(128) & ~(0xF << 76) & ~(0x3 << 62) | version << 76 | 0x2 << 62
    digits = f"{bits:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def utf16_units(text: str) -> int:
    """Return the length of ``text`` as servers that count UTF-16 units see it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def fit(text: str, maximum: int) -> str:
    """Return the longest beginning of ``text`` that has at most ``maximum`` UTF-16 units."""
    text = text[:maximum]
    excess = utf16_units(text) - maximum
    while excess > 0:
        # Each code point dropped frees one or two units, so half the excess is never too many.
        text = text[: -((excess + 1) // 2)]
        excess = utf16_units(text) - maximum
    return text


def plain(rng: random.Random, marker: str, minimum: int, maximum: int) -> str:
    """Return a short English text that contains the marker; ``minimum`` is at most the length of a marker.

    Lengths are in UTF-16 units; where ``maximum`` leaves no room for a marker there is none.
    """
    return _around(rng, marker, slice_of(rng, LATIN, rng.randint(8, 60)), minimum, maximum)


def shortest(rng: random.Random, marker: str, minimum: int, maximum: int) -> str:
    """Return a text of the least length, hence without the marker."""
    del marker, maximum
    return "".join(rng.choices("a1 .\u00e9\u4e2d", k=minimum))


def in_script(script: str, most: int = 2000) -> TextPolicy:
    """Return the policy for texts of ``script`` that fill the greatest length, or ``most``, as far as they can."""

    def policy(rng: random.Random, marker: str, minimum: int, maximum: int) -> str:
        return _around(rng, marker, slice_of(rng, script, maximum), minimum, min(maximum, most))

    return policy


def exactly(text: str) -> TextPolicy:
    """Return the policy for this very text, cut where it does not fit, hence without the marker."""

    def policy(rng: random.Random, marker: str, minimum: int, maximum: int) -> str:
        del rng, marker
        return fit(text, maximum) or "a" * minimum

    return policy


def any_script(rng: random.Random, marker: str, minimum: int, maximum: int) -> str:
    """Return a text of one of ``SCRIPTS`` around the marker; short ones are more frequent than long ones."""
    length = rng.randint(0, maximum >> rng.randint(0, 8))
    return _around(rng, marker, slice_of(rng, rng.choice(SCRIPTS), length), minimum, maximum)


def any_look_alike(rng: random.Random, marker: str, minimum: int, maximum: int) -> str:
    """Return one of ``LOOK_ALIKES`` as it is, hence without the marker."""
    return exactly(rng.choice(LOOK_ALIKES))(rng, marker, minimum, maximum)


def mixed(rng: random.Random, marker: str, minimum: int, maximum: int) -> str:
    """Return a text by one of the other policies, mostly ``plain``."""
    policy = rng.choice((plain, plain, plain, plain, any_script, any_script, any_script, any_look_alike, shortest))
    return policy(rng, marker, minimum, maximum)


def slice_of(rng: random.Random, script: str, length: int) -> str:
    """Return ``length`` code points of the endlessly repeated ``script`` from a random place on."""
    start = rng.randrange(len(script))
    return (script * ((start + length) // len(script) + 1))[start : start + length]


def _around(rng: random.Random, marker: str, text: str, minimum: int, maximum: int) -> str:
    """Put the marker before, inside or after ``text``, which is cut to leave it room."""
    room = maximum - len(marker)
    if room < 0:
        return fit(text, maximum) or "a" * minimum
    text = fit(text, room)
    cut = rng.choice((0, len(text) // 2, len(text)))
    return text[:cut] + marker + text[cut:]


@dataclass(frozen=True)
class TimestampStyle:
    """How an instant is written: ``offset`` in minutes east of UTC, ``None`` for ``Z``; ``digits`` of the fraction.

    More digits are written where the instant needs them: a style never changes the instant.
    """

    offset: int | None = None
    digits: int = 3


UTC_MILLISECONDS: Final = TimestampStyle()


def any_style(rng: random.Random) -> TimestampStyle:
    """Return a style with ``Z``, ``+00:00`` or an offset between -23:59 and +23:59, and 0 to 3 digits."""
    offset = rng.choice((None, None, 0, 330, -570, 1439, -1439, rng.randint(-1439, 1439)))
    return TimestampStyle(offset, rng.randint(0, 3))


def timestamp(milliseconds: int, style: TimestampStyle = UTC_MILLISECONDS) -> str:
    """Write an instant, in milliseconds since 1970, as an RFC 3339 date-time with seconds.

    Where the offset would bring the written date out of the years 1970 to 2261, ``Z`` is used instead.
    """
    offset = style.offset
    local = milliseconds + (offset or 0) * 60_000
    if not EARLIEST <= local <= LATEST:
        offset, local = None, milliseconds
    seconds, fraction = divmod(local, 1000)
    digits = f"{fraction:03d}"
    digits = digits[: max(style.digits, len(digits.rstrip("0")))]
    text = (_EPOCH + timedelta(seconds=seconds)).isoformat()
    zone = "Z" if offset is None else f"{'-' if offset < 0 else '+'}{abs(offset) // 60:02d}:{abs(offset) % 60:02d}"
    return f"{text}.{digits}{zone}" if digits else text + zone


# Without a zone on purpose: it is calendar arithmetic on the local time that is written.
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001
