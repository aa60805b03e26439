"""Writes the comparison: numbers as JSON, a page to read, and the picture."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from compare_plot import plot
from compare_summary import Cost, Line, caught_by_family, caught_names, first_alarms, line_to_json, lines
from compare_trials import Result, families, faults_over_http, variants_over_http

from conformance.kill_matrix.summary import Rate
from conformance.reference.catalogue import faults, variants

DISTRIBUTIONS: Final = (
    "sosoapi-conformance",
    "schemathesis",
    "hypothesis",
    "hypothesis-jsonschema",
    "jsonschema",
    "jsonschema-rs",
    "pytest",
    "httpx",
)


@dataclass(frozen=True)
class Circumstances:
    """How the results came about. ``load`` is the machine's one-minute load average before and after."""

    command: str
    seed: int
    processes: int
    cores: int
    load: tuple[float, float]
    minutes: float


def write(results: Sequence[Result], how: Circumstances, folder: Path) -> None:
    """Write ``comparison.json``, ``comparison.svg`` and ``README.md`` into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document(results, how), indent=1)
    (folder / "comparison.json").write_text(text + "\n", encoding="utf-8")
    of_faults = {result.trial.name for result in results if result.trial.kind == "fault"}
    of_variants = {result.trial.name for result in results if result.trial.kind == "variant"}
    subtitle = (
        f"{len(of_faults)} of the {len(faults_over_http())} seeded faults that show over plain HTTP, "
        f"{len(of_variants)} conforming variants; whiskers: 95 % intervals"
    )
    picture = plot(lines(results), caught_by_family(results, families()), subtitle)
    (folder / "comparison.svg").write_text(picture, encoding="utf-8")
    (folder / "README.md").write_text(page(results, how), encoding="utf-8")


def document(results: Sequence[Result], how: Circumstances) -> dict[str, Any]:
    """Return everything that is known, as JSON values."""
    return {
        "comparison_version": 1,
        "circumstances": {**vars(how), "load": list(how.load), "python": platform.python_version()},
        "versions": versions(),
        "lines": [line_to_json(line) for line in lines(results)],
        "results": [result.to_json() for result in results],
    }


def versions() -> dict[str, str]:
    """Return the versions of what takes part."""
    return {name: importlib.metadata.version(name) for name in DISTRIBUTIONS}


def page(results: Sequence[Result], how: Circumstances) -> str:
    """Return the page, as Markdown."""
    told = lines(results)
    return "\n".join(
        [
            "# This suite and the alternatives",
            "",
            f"`{how.command}` writes this folder again. {_sizes(results)}",
            "",
            "![Faults caught by each tester](comparison.svg)",
            "",
            *table(told),
            "",
            _part("reading"),
            "",
            "## By family of faults",
            "",
            *family_table(told, caught_by_family(results, families())),
            "",
            "## By what they were caught",
            "",
            *_by_what(results, told),
            "",
            "## Who catches what the other does not",
            "",
            *_differences(results, told),
            "",
            "## False alarms",
            "",
            *_false_alarms(results, told),
            "",
            _part("method"),
            "",
            "## Versions and machine",
            "",
            f"Python {platform.python_version()}, " + ", ".join(f"{name} {each}" for name, each in versions().items())
            + f"; {how.cores} cores, {how.processes} trials at a time, load {how.load[0]:.1f} at the beginning and "
            f"{how.load[1]:.1f} at the end, {how.minutes:.0f} minutes in all; seed {how.seed}.",
            "",
        ]
    )  # fmt: skip


def _part(name: str) -> str:
    """Return the part of the page that is the same whatever the results are."""
    return Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8").strip()


def table(told: Iterable[Line]) -> list[str]:
    """Return the table of all testers, as Markdown."""
    head = (
        "tester", "faults caught", "95 %", "variants with a false alarm", "alarms on the unbroken server",
        "first finding: s (median / p95)", "exchanges (median)", "clean run: s", "processor s", "exchanges",
    )  # fmt: skip
    rows = []
    for line in told:
        low, high = line.caught.interval
        rows.append(
            (
                line.tester.label,
                f"{line.caught.hits} / {line.caught.of}",
                f"{low:.0%} to {high:.0%}",
                f"{line.alarmed.hits} / {line.alarmed.of}",
                str(len(line.on_unbroken)),
                f"{line.median.seconds:.1f} / {line.ninety_fifth.seconds:.1f}"
                if line.median and line.ninety_fifth
                else "-",
                f"{line.median.exchanges:.0f}" if line.median else "-",
                *_clean(line.clean),
            )
        )
    return _table(head, rows)


def family_table(told: Sequence[Line], by_family: Mapping[str, Mapping[str, Rate]]) -> list[str]:
    """Return how many of each family every tester caught, as Markdown."""
    rows = []
    for family, rates in by_family.items():
        found = (rates.get(line.tester.name, Rate(0, 0)) for line in told)
        rows.append((family, *(f"{rate.hits} / {rate.of}" for rate in found)))
    return _table(("family", *(line.tester.label for line in told)), rows)


def _clean(cost: Cost | None) -> tuple[str, str, str]:
    if cost is None:
        return "-", "-", "-"
    return f"{cost.seconds:.1f}", f"{cost.processor_seconds:.1f}", f"{cost.exchanges:.0f}"


def _sizes(results: Sequence[Result]) -> str:
    tried = len({result.trial.name for result in results if result.trial.kind == "fault"})
    whole = len(faults_over_http())
    sample = "" if tried == whole else ", a random sample, of each family its share"
    open_ways = len({result.trial.name for result in results if result.trial.kind == "variant"})
    return (
        f"Tried were {tried} of the {whole} seeded faults of the catalogue that show over plain HTTP{sample}, and "
        f"{open_ways} of its {len(variants_over_http())} variants that keep the contract."
    )


def _by_what(results: Sequence[Result], told: Iterable[Line]) -> list[str]:
    written = []
    for line in told:
        counted = first_alarms(results, line.tester.name)
        shown = ", ".join(f"{alarm} ({times})" for alarm, times in counted[:8])
        more = f", and {len(counted) - 8} others" if len(counted) > 8 else ""
        written.append(f"- {line.tester.label}: {shown or 'nothing'}{more}")
    return written


def _differences(results: Sequence[Result], told: Sequence[Line]) -> list[str]:
    caught = {line.tester: caught_names(results, line.tester.name) for line in told}
    ours = set().union(*(names for tester, names in caught.items() if tester.profile == "standard"))
    theirs = set().union(*(names for tester, names in caught.items() if not tester.profile))
    missed = [name for name in faults() if name in theirs - ours]
    alone = [name for name in faults() if name in ours - theirs]
    return [
        f"Caught by an alternative and not by this suite's standard profile: {_listed(missed)}",
        "",
        f"Caught by the standard profile and by no alternative, {len(alone)}: {_listed(alone)}",
    ]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) + "." if names else "none."


def _false_alarms(results: Sequence[Result], told: Iterable[Line]) -> list[str]:
    rows = []
    for line in told:
        rows += [(line.tester.label, "(the unbroken server)", alarm, "") for alarm in line.on_unbroken]
        for result in results:
            if result.trial.tester == line.tester.name and result.trial.kind == "variant" and result.alarms:
                does = variants()[result.trial.name].summary
                rows.append((line.tester.label, f"`{result.trial.name}`", "; ".join(result.alarms), does))
    if not rows:
        return ["None."]
    return _table(("tester", "server", "alarm", "what the server does, which the contract leaves open"), rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    written = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return [*written, *(f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in rows)]
