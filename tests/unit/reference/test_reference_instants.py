"""Instants are exact for every year of RFC 3339."""

from __future__ import annotations

import datetime

import pytest

from conformance.reference.instants import Instant, format_instant, parse_instant


@pytest.mark.parametrize(
    ("text", "second", "fraction"),
    [
        ("1970-01-01T00:00:00Z", 0, ""),
        ("1969-12-31T23:59:59.250Z", -1, "25"),
        ("2000-02-29T12:00:00+01:00", 951_822_000, ""),
        ("0000-01-01T00:00:00Z", -62_167_219_200, ""),
        ("9999-12-31T23:59:59.0000000000001-23:59", 253_402_387_139, "0000000000001"),
        ("2026-03-01t10:00:00.500z", 1_772_359_200, "5"),
    ],
)
def test_parse(text: str, second: int, fraction: str) -> None:
    """Years, offsets, fractions and lower case are read exactly."""
    assert Instant(second, fraction) == parse_instant(text)


@pytest.mark.parametrize(
    "text",
    [
        "2023-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z",
        "2026-01-01T23:59:60Z",
        "2026-01-01T00:00Z",
        "2026-01-01T00:00:00",
        "2026-01-01T00:00:00+0100",
        "2026-01-01T00:00:00+24:00",
        "2026-01-01T00:00:00Z\n",
        "2026-01-01 00:00:00Z",
        "\u0662026-01-01T00:00:00Z",
    ],
)
def test_refuse(text: str) -> None:
    """What is no date-time of RFC 3339 is refused."""
    with pytest.raises(ValueError, match=r"."):
        parse_instant(text)


def test_format_agrees_with_the_standard_library() -> None:
    """On days of all leap rules, formatting agrees with datetime and parsing reverses it."""
    for year in (1, 1600, 1899, 1900, 1970, 2000, 2023, 2024, 2100, 2261, 9999):
        for month, day in ((1, 1), (2, 28), (3, 1), (12, 31)):
            moment = datetime.datetime(year, month, day, 23, 59, 58, tzinfo=datetime.UTC)
            instant = Instant(int((moment - datetime.datetime.fromtimestamp(0, datetime.UTC)).total_seconds()), "")
            assert f"{year:04d}-{month:02d}-{day:02d}T23:59:58Z" == format_instant(instant)
            assert instant == parse_instant(format_instant(instant))
    assert format_instant(parse_instant("0000-02-29T00:00:00.10Z")) == "0000-02-29T00:00:00.1Z"


def test_a_year_beyond_four_digits_is_refused() -> None:
    """An instant before the year 0000 or after 9999 has no text."""
    for text in ("0000-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01"):
        with pytest.raises(ValueError, match="four digits"):
            format_instant(parse_instant(text))


def test_fractions_are_ordered_as_numbers() -> None:
    """Fractions compare by value, not by length."""
    texts = ["", ".05", ".1", ".12", ".2"]
    instants = [parse_instant(f"2026-01-01T00:00:00{text}Z") for text in texts]
    assert sorted(instants) == instants
