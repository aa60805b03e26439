"""What a set of results says: rates with their intervals, how soon a fault is found, and what is not caught."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from conformance.kill_matrix.trials import BAD, Result
from conformance.reference.catalogue import faults

_Z = 1.959963984540054
"""The normal quantile of a two-sided 95 per cent interval."""


@dataclass(frozen=True)
class Rate:
    """How many of how many, and between what the true rate lies with 95 per cent confidence (Wilson's interval)."""

    hits: int
    of: int

    @property
    def rate(self) -> float:
        """The share of hits; 1 of nothing."""
        return self.hits / self.of if self.of else 1.0

    @property
    def interval(self) -> tuple[float, float]:
        """The lower and the upper end of the interval."""
        if not self.of:
            return 0.0, 1.0
        share, square = self.rate, _Z * _Z
        middle = (share + square / (2 * self.of)) / (1 + square / self.of)
        half = _Z * math.sqrt(share * (1 - share) / self.of + square / (4 * self.of**2)) / (1 + square / self.of)
        return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True)
class Effort:
    """Seconds and exchanges to the first detection: the median and the 95th percentile of each."""

    seconds: tuple[float, float]
    exchanges: tuple[float, float]


@dataclass(frozen=True)
class Line:
    """One transport and profile: faults killed, and how soon where that was measured; servers that must conform."""

    transport: str
    profile: str
    seeds: int
    killed: Rate
    effort: Effort | None
    conforming: Rate


def lines(results: Iterable[Result]) -> list[Line]:
    """Return a line for each transport and profile, in that order.

    Effort is that of a user's run where there are trials in the natural order, otherwise there is none.
    """
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.trial.transport, result.trial.profile), []).append(result)
    return [_line(transport, profile, group) for (transport, profile), group in sorted(groups.items())]


def _line(transport: str, profile: str, results: Sequence[Result]) -> Line:
    of_faults = [result for result in results if result.trial.kind == "fault"]
    others = [result for result in results if result.trial.kind != "fault"]
    natural = [result for result in of_faults if result.trial.natural and result.outcome == "killed"]
    return Line(
        transport,
        profile,
        len({result.trial.seed for result in results}),
        Rate(sum(result.outcome == "killed" for result in of_faults), len(of_faults)),
        _effort(natural) if natural else None,
        Rate(sum(result.outcome == "conforms" for result in others), len(others)),
    )


def _effort(results: Sequence[Result]) -> Effort:
    seconds = [result.seconds for result in results]
    exchanges = [float(result.exchanges) for result in results]
    return Effort(
        (statistics.median(seconds), percentile(seconds, 95)), (statistics.median(exchanges), percentile(exchanges, 95))
    )


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least ``share`` per cent of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * share / 100) - 1)]


def rates_by_requirement(results: Iterable[Result]) -> dict[str, dict[tuple[str, str], Rate]]:
    """Return for each requirement, transport and profile how many trials of faults that break it were killed."""
    counted: dict[str, dict[tuple[str, str], list[bool]]] = {}
    for result in results:
        if result.trial.kind == "fault":
            where = (result.trial.transport, result.trial.profile)
            for requirement in faults()[result.trial.name].breaks:
                counted.setdefault(requirement, {}).setdefault(where, []).append(result.outcome == "killed")
    return {
        requirement: {where: Rate(sum(killed), len(killed)) for where, killed in sorted(by_where.items())}
        for requirement, by_where in sorted(counted.items())
    }


def what_is_wrong(results: Iterable[Result]) -> list[Result]:
    """Return the results that say that the suite, or the catalogue, has to be mended."""
    return [result for result in results if result.outcome in BAD]


def kills(results: Iterable[Result]) -> dict[str, dict[str, int]]:
    """Return the matrix: for each fault, by which requirement it was found first, and how often."""
    matrix: dict[str, dict[str, int]] = {}
    for result in results:
        if result.outcome == "killed":
            row = matrix.setdefault(result.trial.name, {})
            row[result.requirement] = row.get(result.requirement, 0) + 1
    return matrix
