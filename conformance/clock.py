"""The suite's own clock: what it takes for the time of day, how it measures, and how it waits.

Nothing that judges asks the system for the time: when stored exchanges are judged again, the time is the recorded one.
"""

from __future__ import annotations

import time
from collections.abc import Callable


class Clock:
    """The clock of the machine. Safe to use from several threads."""

    def __init__(self) -> None:
        self.note: Callable[[float], None] = _unheard

    def now(self) -> float:
        """Return the time of day in seconds since 1970; each reading is noted, since cases are made from it."""
        reading = time.time()
        self.note(reading)
        return reading

    def reading(self) -> float:
        """Return seconds of a clock that is never set back, for measuring."""
        return time.monotonic()

    def instant(self) -> int:
        """Return the same in nanoseconds."""
        return time.monotonic_ns()

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)


def _unheard(_: float) -> None:
    """Leave a reading unnoted."""
