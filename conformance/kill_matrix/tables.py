"""The rows that every written form of the kill matrix shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from conformance.kill_matrix.summary import Line, Rate, rates_by_requirement
from conformance.kill_matrix.trials import Result
from conformance.reference.catalogue import faults

SUMMARY = (
    "transport", "profile", "seeds", "faults killed", "95 % interval", "seconds to the first finding (median, p95)",
    "exchanges (median, p95)", "conforming servers left alone",
)  # fmt: skip


def summary_row(line: Line) -> tuple[str, ...]:
    """Return the cells of a line, under the heads of ``SUMMARY``."""
    effort = line.effort
    return (
        line.transport,
        line.profile,
        str(line.seeds),
        f"{line.killed.hits} of {line.killed.of}",
        _percent(line.killed),
        f"{effort.seconds[0]:.2f}, {effort.seconds[1]:.2f}" if effort else "",
        f"{effort.exchanges[0]:.0f}, {effort.exchanges[1]:.0f}" if effort else "",
        f"{line.conforming.hits} of {line.conforming.of}",
    )


def _percent(rate: Rate) -> str:
    low, high = rate.interval
    return f"{100 * low:.1f} to {100 * high:.1f} %" if rate.of else ""


def places(results: Iterable[Result]) -> list[str]:
    """Return where faults were tried, each transport and profile as a head."""
    found = {(each.trial.transport, each.trial.profile) for each in results if each.trial.kind == "fault"}
    return [f"{transport} {profile}" for transport, profile in sorted(found)]


def requirement_rows(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """Return a row for each requirement: its id, how many faults break it, and what was killed at each place."""
    breaking: dict[str, int] = {}
    for fault in faults().values():
        for requirement in fault.breaks:
            breaking[requirement] = breaking.get(requirement, 0) + 1
    rows = []
    for requirement, by_where in rates_by_requirement(results).items():
        named = {f"{transport} {profile}": rate for (transport, profile), rate in by_where.items()}
        cells = (f"{named[where].hits}/{named[where].of}" if where in named else "" for where in places(results))
        rows.append((requirement, str(breaking[requirement]), *cells))
    return rows


def sentence(result: Result) -> str:
    """Return in a sentence what came of a trial that did not come out as it should."""
    trial = result.trial
    said = f"{result.outcome}: {trial.kind} {trial.name}".strip()
    said += f" over {trial.transport}, profile {trial.profile}, seed {trial.seed}"
    if result.others:
        said += f"; instead: {', '.join(result.others[:4])}"
    return said + (f"; {result.detail.strip().splitlines()[-1][:200]}" if result.detail.strip() else "")
