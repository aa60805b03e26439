"""What the results say of each tester: faults caught and how soon, false alarms, and what a clean run costs."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compare_trials import TESTERS, Result, Tester

from conformance.kill_matrix.summary import Rate, percentile


@dataclass(frozen=True)
class Cost:
    """What a run took."""

    seconds: float
    processor_seconds: float
    exchanges: float


@dataclass(frozen=True)
class Line:
    """One tester.

    ``alarmed`` is how many of the variants, which all keep the contract, it raised an alarm on; ``on_unbroken`` the
    different alarms on the unbroken server. ``median`` and ``ninety_fifth`` percentile are those of the trials that
    found the fault, None where none did; ``clean`` is the mean of the runs on the unbroken server. ``ended_early`` is
    how many trials ran out of time or into an error.
    """

    tester: Tester
    caught: Rate
    alarmed: Rate
    on_unbroken: tuple[str, ...]
    median: Cost | None
    ninety_fifth: Cost | None
    clean: Cost | None
    ended_early: int


def lines(results: Sequence[Result]) -> list[Line]:
    """Return a line for each tester that has results, in the order of ``TESTERS``."""
    tried = {result.trial.tester for result in results}
    return [
        _line(tester, [result for result in results if result.trial.tester == tester.name])
        for tester in TESTERS
        if tester.name in tried
    ]


def caught_by_family(results: Iterable[Result], families: Mapping[str, str]) -> dict[str, dict[str, Rate]]:
    """Return for each family of faults, in the order of ``families``, how many each tester caught."""
    counted: dict[str, dict[str, list[bool]]] = {family: {} for family in families.values()}
    for result in results:
        if result.trial.kind == "fault":
            row = counted[families[result.trial.name]]
            row.setdefault(result.trial.tester, []).append(result.ending == "finding")
    return {
        family: {tester: Rate(sum(caught), len(caught)) for tester, caught in row.items()}
        for family, row in counted.items()
        if row
    }


def first_alarms(results: Iterable[Result], tester: str) -> list[tuple[str, int]]:
    """Return by what a tester caught faults, the most frequent first; what stands in brackets is left out."""
    counted = Counter(
        result.alarms[0].partition(" (")[0].partition("[")[0]
        for result in results
        if result.trial.tester == tester and result.trial.kind == "fault" and result.ending == "finding"
    )
    return sorted(counted.items(), key=lambda item: (-item[1], item[0]))


def caught_names(results: Iterable[Result], tester: str) -> set[str]:
    """Return the faults that a tester caught."""
    return {
        result.trial.name
        for result in results
        if result.trial.tester == tester and result.trial.kind == "fault" and result.ending == "finding"
    }


def line_to_json(line: Line) -> dict[str, Any]:
    """Return a line as JSON values; rates with the ends of their 95 per cent intervals."""
    costs = {name: getattr(line, name) for name in ("median", "ninety_fifth", "clean")}
    return {
        "tester": line.tester.name,
        "label": line.tester.label,
        "caught": _rate_to_json(line.caught),
        "variants_alarmed": _rate_to_json(line.alarmed),
        "alarms_on_unbroken": list(line.on_unbroken),
        **{name: {key: round(value, 3) for key, value in vars(cost).items()} if cost else None
           for name, cost in costs.items()},
        "ended_early": line.ended_early,
    }  # fmt: skip


def _rate_to_json(rate: Rate) -> dict[str, Any]:
    low, high = rate.interval
    return {"hits": rate.hits, "of": rate.of, "low": round(low, 4), "high": round(high, 4)}


def _line(tester: Tester, results: Sequence[Result]) -> Line:
    of_faults = [result for result in results if result.trial.kind == "fault"]
    found = [result for result in of_faults if result.ending == "finding"]
    of_variants = [result for result in results if result.trial.kind == "variant"]
    unbroken = [result for result in results if result.trial.kind == "unbroken"]
    return Line(
        tester,
        Rate(len(found), len(of_faults)),
        Rate(sum(bool(result.alarms) for result in of_variants), len(of_variants)),
        tuple(dict.fromkeys(alarm for result in unbroken for alarm in result.alarms)),
        _cost(found, statistics.median),
        _cost(found, lambda values: percentile(values, 95)),
        _cost(unbroken, statistics.fmean),
        sum(result.ending in ("out of time", "error") for result in results),
    )


def _cost(results: Sequence[Result], middle: Any) -> Cost | None:
    if not results:
        return None
    return Cost(
        middle([result.seconds for result in results]),
        middle([result.processor_seconds for result in results]),
        middle([float(result.exchanges) for result in results]),
    )
