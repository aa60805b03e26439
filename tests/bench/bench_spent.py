"""What something took, on the clock and of the processors."""

from __future__ import annotations

import resource
import statistics
from dataclasses import dataclass


@dataclass(frozen=True)
class Spent:
    """Seconds on the clock, and seconds of processor time, which a busy machine disturbs less."""

    seconds: float
    processor: float


def processor_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def median(spent: list[Spent]) -> Spent:
    """Return the median of the times, each by itself."""
    return Spent(statistics.median(each.seconds for each in spent), statistics.median(each.processor for each in spent))
