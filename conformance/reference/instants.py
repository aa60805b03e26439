"""Exact instants read from and written as RFC 3339 text, for years 0000 to 9999 and fractions of any length."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_PATTERN = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII
)
_DAYS_BEFORE_MONTH = (0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
_DAYS_IN_MONTH = (0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAY = 86_400
_EPOCH_DAYS = 719_528
_LAST_HOUR, _LAST_MINUTE, _MONTHS, _FEBRUARY, _FEBRUARY_LENGTH, _LAST_YEAR = 23, 59, 12, 2, 28, 9999


class Instant(NamedTuple):
    """A point in time: whole seconds since 1970-01-01T00:00:00Z, and the decimal digits after the point.

    The digits carry no trailing zero, so tuples compare as the instants do: "" < "05" < "5" < "51".
    """

    second: int
    fraction: str

    @classmethod
    def from_nanoseconds(cls, nanoseconds: int) -> Instant:
        """Return the instant so many nanoseconds after 1970, cut to milliseconds."""
        second, rest = divmod(nanoseconds, 1_000_000_000)
        return cls(second, f"{rest // 1_000_000:03d}".rstrip("0"))


@lru_cache(maxsize=8192)
def parse_instant(text: str) -> Instant:
    """Return the instant that an RFC 3339 date-time names.

    Raises:
        ValueError: the text is no RFC 3339 date-time, or names a leap second.
    """
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise ValueError("not an RFC 3339 date-time")
    year, month, day, hour, minute, second = map(int, match.group(1, 2, 3, 4, 5, 6))
    if not (1 <= month <= _MONTHS and 1 <= day <= _days_in_month(year, month)):
        raise ValueError("no such day")
    if hour > _LAST_HOUR or minute > _LAST_MINUTE or second > _LAST_MINUTE:
        raise ValueError("no such time of day")
    offset = 0
    if match[8] is not None:
        offset_hour, offset_minute = int(match[9]), int(match[10])
        if offset_hour > _LAST_HOUR or offset_minute > _LAST_MINUTE:
            raise ValueError("no such offset")
        offset = (offset_hour * 60 + offset_minute) * 60 * (1 if match[8] == "+" else -1)
    days = _days_before_year(year) + _DAYS_BEFORE_MONTH[month] + (month > _FEBRUARY and _is_leap(year)) + day - 1
    total = (days - _EPOCH_DAYS) * _DAY + hour * 3600 + minute * 60 + second - offset
    return Instant(total, (match[7] or "").rstrip("0"))


def format_instant(instant: Instant) -> str:
    """Return the instant as an RFC 3339 date-time in UTC, ending in Z.

    Raises:
        ValueError: the year has not four digits.
    """
    days, rest = divmod(instant.second, _DAY)
    days += _EPOCH_DAYS
    year = days * 400 // 146_097
    while _days_before_year(year + 1) <= days:
        year += 1
    while _days_before_year(year) > days:
        year -= 1
    if not 0 <= year <= _LAST_YEAR:
        raise ValueError("the year has not four digits")
    day = days - _days_before_year(year)
    month = 1
    while day >= _days_in_month(year, month):
        day -= _days_in_month(year, month)
        month += 1
    hour, rest = divmod(rest, 3600)
    minute, second = divmod(rest, 60)
    fraction = f".{instant.fraction}" if instant.fraction else ""
    return f"{year:04d}-{month:02d}-{day + 1:02d}T{hour:02d}:{minute:02d}:{second:02d}{fraction}Z"


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days_in_month(year: int, month: int) -> int:
    return _FEBRUARY_LENGTH if month == _FEBRUARY and not _is_leap(year) else _DAYS_IN_MONTH[month]


def _days_before_year(year: int) -> int:
    """Days from 0000-01-01 to the first of January of that year; the year 0000 is a leap year."""
    past = year - 1
    return year * 365 + past // 4 - past // 100 + past // 400 + 1
