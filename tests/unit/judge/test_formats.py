"""The formats to the letter, the table of timestamps, and exact instants."""

from __future__ import annotations

import calendar
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from typing import Any

import jsonschema_rs
import pytest
import regress
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.cases.timestamps import Timestamp, load_timestamps
from conformance.contract import load_contract
from conformance.judge import formats
from conformance.judge.formats import is_date_time, is_uuid, parse_instant
from conformance.judge.schema import SchemaJudge

CREATED_AT: Any = (
    load_contract()
    .operation("conversations_get")
    .output_schema["properties"]["conversation"]["properties"]["created_at"]
)
PATTERN: str = CREATED_AT["pattern"]
JUDGES = {
    "pattern": SchemaJudge({"type": "string", "pattern": PATTERN}),
    "format": SchemaJudge({"type": "string", "format": "date-time"}),
}
BOTH = SchemaJudge(CREATED_AT)
UUID = "5f0c1d2e-3a4b-4c5d-8e6f-708192a3b4c5"


@pytest.mark.parametrize("row", load_timestamps(), ids=lambda row: ascii(row.text) + " " + row.reason)
def test_every_engine_gives_the_verdict_of_the_table(row: Timestamp) -> None:
    """The deciding validator, the explaining one and the functions of our own agree with the written verdict."""
    expected = (row.pattern, row.date_time)
    assert expected == (JUDGES["pattern"].is_valid(row.text), JUDGES["format"].is_valid(row.text))
    assert expected == tuple(judge._explains.is_valid(row.text) for judge in JUDGES.values())
    assert expected == (regress.Regex(PATTERN, "u").find(row.text) is not None, is_date_time(row.text))
    assert row.valid == BOTH.is_valid(row.text)
    keywords = {name for name, kept in (("pattern", row.pattern), ("format", row.date_time)) if not kept}
    assert keywords == {violation.keyword for violation in BOTH.violations(row.text)}


def test_the_table_covers_what_it_must() -> None:
    """It is long, without repetition, and has rows that break either rule alone."""
    rows = load_timestamps()
    assert len(rows) >= 130
    assert len(rows) == len({row.text for row in rows})
    assert all(row.reason for row in rows)
    assert {(True, True), (True, False), (False, True), (False, False)} == {(r.pattern, r.date_time) for r in rows}
    fractions = {len(row.text.partition(".")[2].rstrip("Z")) for row in rows if row.valid}
    assert set(range(13)) <= fractions


def test_only_what_every_server_can_hold_is_seedable() -> None:
    """Seedable timestamps are valid, from 1970 to 2261 as written and as meant, and at most milliseconds precise."""
    seedable = {row.text: row.seedable for row in load_timestamps()}
    assert all(row.valid for row in load_timestamps() if row.seedable)
    assert [text for text in seedable if seedable[text] and text >= "2262"] == []
    for text, expected in {
        "1970-01-01T00:00:00Z": True,
        "2261-12-31T23:59:59.999Z": True,
        "2026-01-15T09:00:00.123Z": True,
        "2026-01-15T09:00:00-23:59": True,
        "2024-02-29T09:00:00Z": True,
        "1969-12-31T23:59:59Z": False,
        "1970-01-01T00:00:00+00:01": False,
        "2262-01-01T00:00:00Z": False,
        "2026-01-15T09:00:00.1234Z": False,
        "2026-01-15T09:00:00.999999999+05:45": False,
        "2026-01-15T09:00Z": False,
        "2016-12-31T23:59:60Z": False,
    }.items():
        assert expected is seedable[text], text


def test_every_leap_day_of_eight_centuries_is_right() -> None:
    """From 1600 to 2400, 29 February exists for both rules exactly in the leap years."""
    for year in range(1600, 2401):
        text = f"{year}-02-29T00:00:00Z"
        assert calendar.isleap(year) == is_date_time(text) == JUDGES["pattern"].is_valid(text), text


@pytest.mark.parametrize("year", [1900, 2000, 2023, 2024])
def test_every_day_of_a_year_is_right(year: int) -> None:
    """Day 1 to 32 of month 0 to 13: both rules accept exactly the days of the calendar."""
    for month in range(14):
        days = calendar.monthrange(year, month)[1] if 1 <= month <= 12 else 0
        for day in range(33):
            text = f"{year}-{month:02}-{day:02}T12:00:00Z"
            assert (1 <= day <= days) == is_date_time(text) == JUDGES["pattern"].is_valid(text), text


@pytest.mark.parametrize("text", [UUID, UUID.upper(), "0" * 8 + "-0000" * 3 + "-" + "0" * 12, "F" * 8 + UUID[8:]])
def test_a_uuid_is_hexadecimal_in_any_case_and_version(text: str) -> None:
    """The shape is all that is judged: version, variant and case are left open."""
    assert is_uuid(text)


@pytest.mark.parametrize(
    "text",
    [
        "", UUID.replace("-", ""), f"{{{UUID}}}", f"urn:uuid:{UUID}", f"{UUID}\n", f" {UUID}", f"{UUID} ", UUID[:-1],
        UUID + "0", "g" + UUID[1:], "\uff15" + UUID[1:], "\u0665" + UUID[1:], UUID.replace("-", "_"),
        UUID.replace("-", "\u2010"), "5f0c1d2e3-a4b-4c5d-8e6f-708192a3b4c5", UUID[:8] + UUID[9:] + "-", UUID + "\0",
    ],
)  # fmt: skip
def test_anything_else_is_no_uuid(text: str) -> None:
    """Braces, prefixes, other lengths and digits, spaces and newlines are refused, by the validator too."""
    assert not is_uuid(text)
    assert not SchemaJudge({"type": "string", "format": "uuid"}).is_valid(text)


@pytest.mark.parametrize("text", ["\u0663", "\uff13", "\u0969", "3\n", "3 ", "", "33"])
def test_patterns_are_those_of_ecma_262(text: str) -> None:
    r"""``\d`` is ASCII only and ``$`` takes no newline, in the validator that decides and in the one that explains."""
    judge = SchemaJudge({"pattern": r"^\d$"})
    assert not jsonschema_rs.Draft7Validator({"pattern": r"^\d$"}).is_valid(text)
    assert [violation.keyword for violation in judge.violations(text)] == ["pattern"]
    assert judge.is_valid("3")


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(
    st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 12, 31)),  # noqa: DTZ001 (the offset is drawn)
    st.integers(-(23 * 60 + 59), 23 * 60 + 59),
)
def test_an_instant_is_what_the_calendar_says(moment: datetime, offset: int) -> None:
    """Within the range of ``datetime`` both count the same microseconds."""
    aware = moment.replace(tzinfo=timezone(timedelta(minutes=offset)))
    microseconds = (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert Fraction(microseconds, 10**6) == parse_instant(aware.isoformat())


@pytest.mark.parametrize(
    ("one", "other", "seconds"),
    [
        ("2026-01-15T09:00:00Z", "2026-01-15T10:00:00+01:00", 0),
        ("2026-01-15T09:00:00Z", "2026-01-15t09:00:00.000-00:00", 0),
        ("0000-01-01T00:00:00Z", "0000-12-31T23:59:59Z", 366 * 86400 - 1),
        ("0000-02-28T23:59:59Z", "0000-03-01T00:00:00Z", 86401),
        ("0000-12-31T23:59:59Z", "0001-01-01T00:00:00Z", 1),
        ("0000-01-01T00:00:00+23:59", "0000-01-01T00:00:00Z", 23 * 3600 + 59 * 60),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59", 23 * 3600 + 59 * 60),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z", 0),
        ("2026-01-15T09:00:00Z", "2026-01-15T09:00:00.000000000001Z", Fraction(1, 10**12)),
        ("2026-01-15T09:00:00.5Z", "2026-01-15T09:00:00." + "5" + "0" * 6000 + "Z", 0),
        ("2026-01-15T09:00:00Z", "2026-01-15T09:00:00." + "0" * 5999 + "1Z", Fraction(1, 10**6000)),
    ],
)
def test_the_time_between_two_instants_is_exact(one: str, other: str, seconds: int | Fraction) -> None:
    """Offsets, year 0000 and any number of digits: no rounding and no limit of range."""
    assert seconds == parse_instant(other) - parse_instant(one)


def test_the_epoch_is_zero_and_what_is_no_date_time_is_refused() -> None:
    """An instant counts from 1970, and only RFC 3339 is read."""
    assert parse_instant("1970-01-01T00:00:00Z") == 0
    with pytest.raises(ValueError, match="not an RFC 3339 date-time"):
        parse_instant("2026-01-15T09:00Z")


def test_the_short_cut_for_ordinary_timestamps_accepts_nothing_more() -> None:
    """Whatever the short cut takes, the exact reading takes too."""
    for row in load_timestamps():
        if formats._ORDINARY.fullmatch(row.text):
            assert formats._seconds(row.text) is not None, row.text
