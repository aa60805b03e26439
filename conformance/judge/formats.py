"""The two string formats of the contract, checked to the letter, and timestamps as exact instants.

Library checkers are wrong in both directions here: some accept a trailing newline or non-ASCII digits, some refuse
year 0000, some need an extra package or check nothing (RFC 4122 and 9562 for uuid, RFC 3339 for date-time).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias

Instant: TypeAlias = Fraction
"""Exact seconds since 1970-01-01T00:00:00Z, without leap seconds; negative before it."""

_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_DATE_TIME: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)
# Most timestamps need no calendar: a day that every month has, in a minute without a leap second.
_ORDINARY: Final = re.compile(
    r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?"
    r"(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)
_DAYS_IN_MONTH: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAY: Final = 86_400
_EPOCH_DAYS: Final = 719_528  # days from 0000-01-01 to 1970-01-01
_LEAP_SECOND: Final = 60


def is_uuid(text: str) -> bool:
    """Tell whether ``text`` is 8-4-4-4-12 hexadecimal ASCII digits, in either case, and nothing else."""
    return _UUID.fullmatch(text) is not None


@lru_cache(4096)
def is_date_time(text: str) -> bool:
    """Tell whether ``text`` is an RFC 3339 ``date-time``: exact calendar, seconds and an offset, ASCII digits only.

    Lower-case ``t`` and ``z`` and ``-00:00`` are allowed (RFC 3339, 5.6 and 4.3). A second of 60 is allowed only
    where it can be a leap second: at 23:59:60 UTC.
    """
    return _ORDINARY.fullmatch(text) is not None or _seconds(text) is not None


# The same few times stand in a conversation, its messages, its runs and every later answer.
@lru_cache(4096)
def parse_instant(text: str) -> Instant:
    """Return the exact instant that an RFC 3339 ``date-time`` names; a leap second is the start of the next day.

    Raises:
        ValueError: ``text`` is not a ``date-time``.
    """
    seconds = _seconds(text)
    if seconds is None:
        raise ValueError(f"not an RFC 3339 date-time: {text[:80]!a}")
    match = _DATE_TIME.fullmatch(text)
    fraction = match and match[7]
    # Decimal reads any number of digits; int() refuses more than 4300.
    return seconds + Fraction(Decimal("0." + fraction)) if fraction else Fraction(seconds)


FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {"uuid": is_uuid, "date-time": is_date_time}
"""The formats that a contract schema may use, by the name in its ``format`` keyword."""


def _seconds(text: str) -> int | None:
    """Return the whole seconds since the epoch, or ``None`` when ``text`` is not a date-time."""
    match = _DATE_TIME.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    sign, offset_hour, offset_minute = match[8], int(match[9] or 0), int(match[10] or 0)
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not (1 <= month <= 12 and 1 <= day <= _DAYS_IN_MONTH[month - 1] + (leap and month == 2)):
        return None
    if hour > 23 or minute > 59 or second > _LEAP_SECOND or offset_hour > 23 or offset_minute > 59:
        return None
    offset = (offset_hour * 60 + offset_minute) * (-60 if sign == "-" else 60)
    seconds = _days(year, month, day, leap=leap) * _DAY + hour * 3600 + minute * 60 + second - offset
    if second == _LEAP_SECOND and seconds % _DAY != 0:
        return None
    return seconds


def _days(year: int, month: int, day: int, *, leap: bool) -> int:
    """Return the days from 1970-01-01 to this date of the proleptic Gregorian calendar, year 0000 included."""
    before = year - 1
    leap_days = before // 4 - before // 100 + before // 400 + 1  # the one is year 0000 itself
    in_year = sum(_DAYS_IN_MONTH[: month - 1]) + (leap and month > 2) + day - 1
    return year * 365 + leap_days + in_year - _EPOCH_DAYS
