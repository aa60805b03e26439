"""The table of timestamps with verdicts (``fixtures/timestamps.toml``): calendar, clock, offsets, digits and more."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache

from conformance.judge.formats import parse_instant
from conformance.resources import data_folder


@dataclass(frozen=True)
class Timestamp:
    """A text, whether it keeps the contract's pattern and RFC 3339, and the reason in words.

    ``seedable`` tells whether a conversation may be seeded with it: it is valid, written and meant in the years 1970
    to 2261, and has at most milliseconds.
    """

    text: str
    pattern: bool
    date_time: bool
    reason: str
    seedable: bool

    @property
    def valid(self) -> bool:
        """Tell whether a server may answer with it: both rules are kept."""
        return self.pattern and self.date_time


@cache
def load_timestamps() -> tuple[Timestamp, ...]:
    """Return the table in the order of the file."""
    table = tomllib.loads((data_folder("fixtures") / "timestamps.toml").read_text(encoding="utf-8"))
    return tuple(
        Timestamp(**row, seedable=row["pattern"] and row["date_time"] and _may_be_seeded(row["text"]))
        for row in table["timestamp"]
    )


_MILLISECONDS = 3
_FIRST, _END = parse_instant("1970-01-01T00:00:00Z"), parse_instant("2262-01-01T00:00:00Z")


def _may_be_seeded(text: str) -> bool:
    """Judge a valid timestamp; servers count from the instant, and some from the year as it is written."""
    _, _, after_dot = text.partition(".")
    fraction = after_dot.rstrip("Z").split("+")[0].split("-")[0]
    written_year_fits = "1970" <= text[:4] <= "2261"
    return written_year_fits and _FIRST <= parse_instant(text) < _END and len(fraction) <= _MILLISECONDS
