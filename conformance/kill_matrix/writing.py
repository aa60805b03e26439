"""Writes results: as JSON, as Markdown, and as a page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from conformance.kill_matrix.page import page
from conformance.kill_matrix.summary import Line, Rate, kills, lines, rates_by_requirement, what_is_wrong
from conformance.kill_matrix.tables import SUMMARY, places, requirement_rows, sentence, summary_row
from conformance.kill_matrix.trials import BAD, Result
from conformance.reference.catalogue import faults


def document(results: Sequence[Result]) -> dict[str, Any]:
    """Return what is known, as JSON values: the lines, the rates and the matrix.

    Of the results there are those in the order of a user's run and those that are not as they should be.
    ``reports`` has the addresses of the public reports that faults which were tried come from.
    """
    tried = {result.trial.name for result in results}
    return {
        "matrix_version": 1,
        "lines": [_line_to_json(line) for line in lines(results)],
        "requirements": {
            requirement: [
                {"transport": transport, "profile": profile, **_rate_to_json(rate)}
                for (transport, profile), rate in by_where.items()
            ]
            for requirement, by_where in rates_by_requirement(results).items()
        },
        "kills": kills(results),
        "reports": {name: list(fault.reports) for name, fault in faults().items() if fault.reports and name in tried},
        "trials": len(results),
        "results": [result.to_json() for result in results if result.outcome in BAD or result.trial.natural],
    }


def write(results: Sequence[Result], folder: Path) -> None:
    """Write ``kill-matrix.json``, ``kill-matrix.md`` and ``kill-matrix.html`` into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document(results), indent=1)
    (folder / "kill-matrix.json").write_text(text + "\n", encoding="utf-8")
    (folder / "kill-matrix.md").write_text(markdown(results), encoding="utf-8")
    (folder / "kill-matrix.html").write_text(page(results), encoding="utf-8")


def markdown(results: Sequence[Result]) -> str:
    """Return the summary, what is not caught, and the rate of each requirement, as Markdown."""
    written = ["# Kill matrix", "", *_table(SUMMARY, [summary_row(line) for line in lines(results)]), ""]
    wrong = what_is_wrong(results)
    written += ["## Not as it should be", "", *([f"- {sentence(each)}" for each in wrong] or ["Nothing."]), ""]
    written += ["## By requirement", ""]
    written += _table(("requirement", "faults", *places(results)), requirement_rows(results))
    return "\n".join([*written, ""])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    written = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return [*written, *(f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in rows)]


def _rate_to_json(rate: Rate) -> dict[str, Any]:
    low, high = rate.interval
    return {"hits": rate.hits, "of": rate.of, "low": round(low, 4), "high": round(high, 4)}


def _line_to_json(line: Line) -> dict[str, Any]:
    effort = line.effort
    return {
        "transport": line.transport,
        "profile": line.profile,
        "seeds": line.seeds,
        "killed": _rate_to_json(line.killed),
        "seconds": [round(value, 3) for value in effort.seconds] if effort else None,
        "exchanges": list(effort.exchanges) if effort else None,
        "conforming": _rate_to_json(line.conforming),
    }
