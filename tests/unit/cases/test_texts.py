"""Texts, ids and timestamps that are seeded stay within what every server must store."""

from __future__ import annotations

import random
import uuid

import pytest

from conformance.cases import texts
from conformance.cases.texts import TextPolicy, TimestampStyle, timestamp
from conformance.judge.formats import parse_instant

LIMITS = [(0, 128), (0, 1000), (0, 2000), (1, 100), (1, 200), (1, 1000), (1, 2000)]
POLICIES: dict[str, TextPolicy] = {
    "plain": texts.plain,
    "shortest": texts.shortest,
    "any_script": texts.any_script,
    "any_look_alike": texts.any_look_alike,
    "mixed": texts.mixed,
    **{f"script-{index}": texts.in_script(script) for index, script in enumerate(texts.SCRIPTS)},
    **{f"look-alike-{index}": texts.exactly(text) for index, text in enumerate(texts.LOOK_ALIKES)},
}


def seeded(seed: int) -> random.Random:
    """Return a source of choices that repeats."""
    return random.Random(seed)  # noqa: S311 - test data, not a secret


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_texts_keep_both_ways_of_counting(policy: TextPolicy) -> None:
    """A text is within its limits in code points and UTF-16 units, and has neither NUL nor surrogates."""
    rng = seeded(1)
    for minimum, maximum in LIMITS * 20:
        text = policy(rng, texts.new_marker(rng), minimum, maximum)
        assert minimum <= len(text)
        assert len(text.encode("utf-16-le")) // 2 <= maximum
        assert "\0" not in text
        assert text == text.encode().decode()


@pytest.mark.parametrize("script", [texts.LATIN, texts.THREE_BYTES])
def test_long_texts_reach_the_limit_in_code_points(script: str) -> None:
    """Text within the basic plane fills the limit exactly."""
    assert [maximum for _, maximum in LIMITS] == [
        len(texts.in_script(script)(seeded(1), "m", minimum, maximum)) for minimum, maximum in LIMITS
    ]


def test_astral_texts_reach_the_limit_in_utf16_units() -> None:
    """Text of surrogate pairs leaves at most one unit free."""
    text = texts.in_script(texts.ASTRAL)(seeded(1), "", 1, 2000)
    assert (len(text), len(text.encode("utf-16-le")) // 2) == (1000, 2000)


@pytest.mark.parametrize("policy", [texts.plain, texts.any_script, texts.in_script(texts.ASTRAL)])
def test_the_marker_is_whole(policy: TextPolicy) -> None:
    """The marker is in every text that has room for it, wherever the text was cut."""
    rng = seeded(2)
    for minimum, maximum in LIMITS * 20:
        marker = texts.new_marker(rng)
        assert [marker] == texts.MARKER.findall(policy(rng, marker, minimum, maximum))


@pytest.mark.parametrize("version", range(1, 9))
def test_uuids_have_the_version_asked_for(version: int) -> None:
    """Python's own reader finds the version and the RFC 9562 variant, in canonical lower case."""
    text = texts.new_uuid(seeded(version), version)
    parsed = uuid.UUID(text)
    assert (text, version, uuid.RFC_4122) == (str(parsed), parsed.version, parsed.variant)


@pytest.mark.parametrize("text", ["", "abc", "a\U0001f600b", "\U0001f600\U0001f600"])
def test_fit_returns_the_longest_beginning(text: str) -> None:
    """No longer beginning would fit, and what fits whole is not cut."""
    for maximum in range(6):
        beginnings = [text[:end] for end in range(len(text) + 1)]
        assert texts.fit(text, maximum) == max(
            (part for part in beginnings if len(part.encode("utf-16-le")) // 2 <= maximum), key=len
        )


@pytest.mark.parametrize(
    ("milliseconds", "style", "expected"),
    [
        (0, TimestampStyle(), "1970-01-01T00:00:00.000Z"),
        (0, TimestampStyle(digits=0), "1970-01-01T00:00:00Z"),
        (0, TimestampStyle(offset=-1), "1970-01-01T00:00:00.000Z"),
        (0, TimestampStyle(offset=1439, digits=0), "1970-01-01T23:59:00+23:59"),
        (120, TimestampStyle(offset=0, digits=0), "1970-01-01T00:00:00.12+00:00"),
        (1_709_164_800_007, TimestampStyle(offset=-1439, digits=1), "2024-02-28T00:01:00.007-23:59"),
        (1_709_164_800_500, TimestampStyle(offset=330, digits=2), "2024-02-29T05:30:00.50+05:30"),
        (texts.LATEST, TimestampStyle(offset=60), "2261-12-31T23:59:59.999Z"),
    ],
)
def test_timestamps(milliseconds: int, style: TimestampStyle, expected: str) -> None:
    """A style decides offset and digits, but never the instant, nor brings the date out of 1970 to 2261."""
    assert expected == timestamp(milliseconds, style)
    assert milliseconds == parse_instant(expected) * 1000


def test_any_style_reaches_every_kind() -> None:
    """Z, +00:00, the widest offsets and all numbers of digits occur."""
    rng = seeded(3)
    styles = {texts.any_style(rng) for _ in range(500)}
    assert {None, 0, 1439, -1439} <= {style.offset for style in styles}
    assert {0, 1, 2, 3} == {style.digits for style in styles}
