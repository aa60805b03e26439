"""Compares this suite with the alternatives on the same servers, in one run; ``tox -e compare``."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from compare_running import carry_out
from compare_summary import lines
from compare_trials import (
    TESTERS,
    Result,
    Tester,
    Trial,
    families,
    faults_over_http,
    plan,
    stratified,
    variants_over_http,
)
from compare_writing import Circumstances, table, write

FOLDER: Final = Path(__file__).parents[2] / "reports" / "comparison"
_CLEAN_RUNS: Final = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, print the table and write the results; return 1 when a trial ended in an error."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = _parser().parse_args(given)
    testers = [tester for tester in TESTERS if tester.name in (options.testers or [each.name for each in TESTERS])]
    results: list[Result] = []
    started, load = time.monotonic(), os.getloadavg()[0]

    def keep(result: Result) -> None:
        results.append(result)
        trial = result.trial
        server = f"{trial.kind} {trial.name}".strip()
        told = "; ".join(result.alarms) or result.detail.strip().rpartition("\n")[2]
        took = f"{result.seconds:.1f} s, {result.exchanges} exchanges"
        line = f"{len(results)}: {trial.tester}, {server}: {result.ending}, {took}{f', {told}' if told else ''}"
        sys.stderr.write(f"{line}\n")

    unbroken = [Trial(each.name, "unbroken", "", options.seed + run) for each in testers for run in range(_CLEAN_RUNS)]
    # One at a time: what a clean run takes is what it takes alone.
    carry_out(unbroken, 1, {}, keep)
    known = _alarms_by_tester(results)
    faults, variants = _servers(options)
    carry_out(plan(testers, faults, variants, options.seed), options.processes, known, keep)
    minutes = (time.monotonic() - started) / 60
    command = shlex.join(["tox", "-e", "compare", *(["--", *given] if given else [])])
    cores = os.cpu_count() or 1
    how = Circumstances(command, options.seed, options.processes, cores, (load, os.getloadavg()[0]), minutes)
    write(_in_order(results, testers), how, options.out)
    sys.stdout.write("\n".join(table(lines(results))) + f"\n\nWritten to {options.out}\n")
    return 1 if any(result.ending == "error" for result in results) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Compares this suite with the alternatives on the same servers.")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--faults", nargs="*", metavar="NAME", help="only these faults")
    chosen.add_argument(
        "--sample", type=int, metavar="N", default=120, help="so many faults, of each family its share; 0 is all"
    )
    parser.add_argument("--variants", type=int, metavar="N", default=20, help="so many conforming variants; 0 is all")
    parser.add_argument("--testers", nargs="+", choices=[tester.name for tester in TESTERS], help="only these")
    parser.add_argument("--seed", type=int, default=1, help="of the sample and of everybody's random data")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, metavar="N", help="trials at a time")
    parser.add_argument("--out", type=Path, default=FOLDER, metavar="DIR", help="where results go (%(default)s)")
    return parser


def _servers(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Return the faults and the variants to try."""
    faults, variants = faults_over_http(), variants_over_http()
    if options.faults is not None:
        unknown = sorted(set(options.faults) - set(faults))
        if unknown:
            raise SystemExit(f"not a fault that shows over plain HTTP: {', '.join(unknown)}")
        faults = list(options.faults)
    elif options.sample:
        faults = stratified(faults, families(), options.sample, options.seed)
    if options.variants:
        variants = stratified(variants, dict.fromkeys(variants, ""), options.variants, options.seed)
    return faults, variants


def _alarms_by_tester(results: Sequence[Result]) -> Mapping[str, set[str]]:
    known: dict[str, set[str]] = {}
    for result in results:
        known.setdefault(result.trial.tester, set()).update(result.alarms)
    return known


def _in_order(results: Sequence[Result], testers: Sequence[Tester]) -> list[Result]:
    """Return the results in an order that does not depend on which trial ended first."""
    of_testers = [tester.name for tester in testers]
    return sorted(results, key=lambda each: (of_testers.index(each.trial.tester), each.trial.kind, each.trial.name))


if __name__ == "__main__":
    sys.exit(main())
